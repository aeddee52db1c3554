"""Result folders made up for tests: rows and files as Google Benchmark and a run write them."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONTEXT = {"date": "2026-11-29T18:02:11+00:00", "host_name": "node-a", "gpu_name": "NVIDIA H200",
           "git_commit": "0123456789abcdef0123456789abcdef01234567", "git_dirty": "false"}

FOLD = "row_fold/{}/rows:{}/cols:128/dtype:fp32/timer:wall"


def row(name: str, time: Any, unit: str = "us", **more: Any) -> dict[str, Any]:
    """One sample."""
    return {"name": name + "/manual_time", "run_name": name + "/manual_time", "run_type": "iteration",
            "repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 1, "real_time": time,
            "cpu_time": time, "time_unit": unit, **more}


def error(name: str, message: str) -> dict[str, Any]:
    """A row of a failure, whose time Google Benchmark writes as 0."""
    return row(name, 0.0, error_occurred=True, error_message=message)


def skipped(name: str, message: str) -> dict[str, Any]:
    return row(name, 0.0, skipped=True, skip_message=message)


def write(folder: Path, process: int, rows: list[dict[str, Any]], operator: str = "row_fold",
          context: dict[str, Any] = CONTEXT) -> Path:
    """One process's file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{operator}.{process}.json"
    file.write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")
    return file
