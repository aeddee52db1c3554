#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets from the project's test cases and committed files.

Writes OUT/<target>/<name>, in place of what was there. An input that stands for several files has lines of `=====`
between them. Files are cut to a few rows: a small seed is mutated where it matters.
"""
from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)

SOURCE = Path(__file__).resolve().parent.parent.parent
TESTDATA = SOURCE / "report" / "testdata"
FOUND = Path(__file__).resolve().parent / "found"  # inputs that once broke something
BETWEEN = "\n=====\n"
LARGEST = 24_000  # characters

CONTEXT = {"date": "2026-11-29T10:00:00+00:00", "host_name": "node", "build_type": "release",
           "gpu_name": "NVIDIA H200", "gpu_uuid": "GPU-1", "boot_id": "boot-1", "driver_version": "580.10",
           "cuda_version": "13.0", "compiler": "GNU 12.2.0", "git_commit": "abc", "git_dirty": "false",
           "binary_sha256": "f00d", "cpu_model": "CPU"}
LEGACY = "op/legacy/rows:8/dtype:fp32/timer:graph"
NEW = "op/new/rows:8/dtype:fp32/timer:graph"


def row(name: str, time: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "run_name": name, "run_type": "iteration", "iterations": 1, "real_time": time,
            "cpu_time": time, "time_unit": "us", "check": 1, **more}


def result(context: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    return json.dumps({"context": context, "benchmarks": rows}, indent=1)


def acceptable(session: str, factor: float = 1.0, **more: Any) -> str:
    """Results that `accept` takes."""
    rows = [row(name, time * factor * (1 + 0.0003 * process), process=process, **more)
            for process in range(3) for name, time in ((LEGACY, 3000), (NEW, 1000))]
    return result({**CONTEXT, "boot_id": session}, rows)


def cut(path: Path, rows: int) -> str:
    document = json.loads(path.read_text(encoding="utf-8"))
    document["benchmarks"] = document["benchmarks"][:rows]
    return json.dumps(document, indent=1)


def short(path: Path) -> str:
    """A file as it stands, cut where it has very many rows."""
    return cut(path, 20) if path.stat().st_size > LARGEST / 4 else path.read_text(encoding="utf-8", errors="surrogateescape")


def committed() -> list[Path]:
    """The H200's baselines, whatever their names."""
    files = sorted((SOURCE / "baselines" / "h200").glob("*.json"))
    if not files:
        raise FileNotFoundError(f"no baseline in {SOURCE / 'baselines' / 'h200'}")
    return files


def results() -> dict[str, str]:
    seeds = {}
    for case in sorted((TESTDATA / "cases").iterdir()):
        sides = [short(next(iter(sorted(case.glob(f"{side}.*.json"))))) for side in ("baseline", "contender")]
        seeds[case.name] = BETWEEN.join(sides)
    google = {file.stem: file.read_text(encoding="utf-8") for file in sorted((TESTDATA / "google_benchmark").iterdir())}
    seeds.update(google)
    seeds["other_files"] = BETWEEN.join([google["gbench_2016_a"], google["gbench_2016_b"]])
    seeds["sessions"] = BETWEEN.join([acceptable("boot-1"), acceptable("boot-2", 1.04)])
    seeds["suffix"] = BETWEEN.join([result(CONTEXT, [row(NEW, 5)]),
                                    result(CONTEXT, [row(NEW, 5), row(f"{NEW}/manual_time", 6)])])
    seeds["claims"] = BETWEEN.join([result(CONTEXT, [row(NEW, 5, tolerance=1e-3, relative_error=1e-5, control=1)]),
                                    result(CONTEXT, [row(NEW, 5, tolerance=None), row(LEGACY, 5, suspect=1)])])
    seeds["floors"] = BETWEEN.join([result(CONTEXT, [row(NEW, 5, floor_us=0.004), row(LEGACY, 5, floor_us=None)]),
                                    result(CONTEXT, [row(NEW, 5, floor_us=1e300), row(LEGACY, 5, floor_us="1")])])
    seeds["committed"] = BETWEEN.join(cut(file, 8) for file in (2 * committed())[:2])
    return seeds


def baseline() -> dict[str, str]:
    seeds = {"plain": acceptable("boot-1"),
             "beside": BETWEEN.join([acceptable("boot-1"), acceptable("boot-2", 1.1)]),
             "same_session": BETWEEN.join([acceptable("boot-1"), acceptable("boot-1")]),
             "tolerance": acceptable("boot-1", tolerance=1e-3, relative_error=1e-5, control=1),
             "cpu": result({key: value for key, value in CONTEXT.items() if not key.startswith(("gpu", "driver", "cuda"))},
                           [row("op/new/rows:8/timer:cpu", 7), row("op/legacy/rows:8/timer:cpu", 9)]),
             "skipped": result(CONTEXT, [row(NEW, 5), row(LEGACY, 0, skipped=True, skip_message="no room")])}
    for file in committed():
        seeds[file.name] = BETWEEN.join([acceptable("boot-1"), cut(file, 8)])
    seeds["published"] = cut(SOURCE / "baselines" / "h100-80gb" / "published.json", 8)
    return seeds


def kernels() -> dict[str, str]:
    csv = {file.stem: "".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:16])
           for file in sorted((TESTDATA / "nsight_systems").glob("*.csv"))}
    record = json.loads((SOURCE / "report" / "kernel_records" / "h200" / "qwen3_ffn.kernels.json").read_text())
    record["cases"] = record["cases"][:4]
    text = json.dumps(record, indent=1)
    other = {**record, "context": {"gpu_name": "NVIDIA H100"}, "cases": record["cases"][:2]}
    failed = {"operator": "op", "cases": [{"name": LEGACY, "error": "out of memory"}, *record["cases"][2:3]]}
    quoted = 'Processing [x.sqlite] with...\n"Time (%)","Total Time (us)","Instances","Name"\n' \
             '60.0,"1.5","3","void f<(int)3, ""a"">(float*)"\n40.0,1,1,"two\nlines"\n'
    skipped = "SKIPPED: x.sqlite does not contain CUDA kernel data.\n"
    return {**csv, "csvs": BETWEEN.join(csv.values()), "record": text, "records": BETWEEN.join([text, json.dumps(other)]),
            "failed": BETWEEN.join([text, json.dumps(failed)]), "both_kinds": BETWEEN.join([next(iter(csv.values())), text]),
            "quoted": quoted, "skipped": skipped}


def process(number: int, **more: Any) -> dict[str, Any]:
    return {"operator": "op", "process": number, "file": f"op.{number}.json", "status": "ok", "exit_code": 0,
            "seconds": 1.5, "cases": [LEGACY, NEW], **more}


def run(*processes: dict[str, Any], **more: Any) -> str:
    return json.dumps({"format": 1, "status": "complete", "command": ["strictbench", "run"],
                       "started_utc": "2026-11-29T10:00:00Z", "finished_utc": "2026-11-29T10:01:00Z", "commit": "abc",
                       "dirty": False, "device": "h200", "gpu_name": "NVIDIA H200", "seed": 7, "runner_pid": 1,
                       "options": {"processes": 3, "most_processes": 20, "budget": 600, "timeout": 600,
                                   "allow_debug": False, "executables": "/nowhere", "filter": "op"},
                       "build": {"git_commit": "abc", "git_dirty": False}, "executables":
                           {"op": {"sha256": "f00d", "device": "cuda", "gpu_name": "NVIDIA H200"}},
                       "machine": {"before": {"cpu_model": "CPU", "boot_id": "boot-1"}, "after": {"boot_id": "boot-1"}},
                       "notes": ["resumed"], "not_selected": ["op/new/rows:9/timer:cpu"], "processes": list(processes),
                       **more}, indent=1)


def record() -> dict[str, str]:
    times = [acceptable("boot-1"), acceptable("boot-1", 1.01)]
    problem = {"case": NEW, "state": "wrong", "reason": "check failed: 3 elements"}
    crashed = process(1, status="crashed", signal=11, reason="ended by SIGSEGV", problems=[{**problem, "state": "failed"}])
    kernels = {**process(0, file="op.kernels.json"), "exit_code": 1, "status": "failed", "reason": "no CUPTI"}
    del kernels["process"]
    return {"complete": BETWEEN.join([run(process(0), process(1)), *times]),
            "crashed": BETWEEN.join([run(process(0), crashed, status="running"), *times]),
            "lost": BETWEEN.join([run(process(0), crashed, status="interrupted"), times[0], times[1][:300]]),
            "wrong": BETWEEN.join([run(process(0, status="failed", exit_code=1, problems=[problem])), times[0]]),
            "pending": run(process(0, status="pending"), process(1, status="timed_out")),
            "evidence": BETWEEN.join([run(process(0), evidence={"stopped_early": 1, "wide": [
                {"case": NEW, "half_width": 0.02}, {"case": LEGACY, "half_width": None}]}), times[0]]),
            "kernels": BETWEEN.join([run(process(0), kernels=[kernels]), times[0]])}


def child() -> dict[str, str]:
    case = {"name": NEW, "variant": "new", "shape": "rows:8/dtype:fp32", "timer": "graph", "gating": True,
            "selected": True, "bytes": 33280, "operations": 8192, "memory": 99840}
    description = json.dumps({"operator": "op", "device": "cuda", "build_type": "release", "gpu_name": "NVIDIA H200",
                              "gpu_uuid": "GPU-1", "cases": [case, {**case, "name": LEGACY, "variant": "legacy"}]})
    progress = "\n".join(json.dumps({"case": NEW, "index": index, "total": 2, "phase": phase})
                         for index, phase in enumerate(("inputs", "check", "measure", "done")))
    rows = result(CONTEXT, [row(NEW, 5), row(LEGACY, 0, error_occurred=True, error_message="check failed: bits")])
    return {"described": BETWEEN.join([description, progress, rows]),
            "cut_off": BETWEEN.join([description, progress[:50], rows[:-60]]),
            "bare_words": BETWEEN.join([description, "", rows.replace('"check": 1', '"check": -nan')])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", type=Path, help="the folder that gets them")
    out = parser.parse_args().out
    for target in (results, baseline, kernels, record, child):
        folder = out / target.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, text in target().items():
            (folder / name).write_text(text[:LARGEST], encoding="utf-8", errors="surrogateescape")
        for file in sorted((FOUND / target.__name__).glob("*")):
            shutil.copy(file, folder / f"found_{file.name}")
    return 0


if __name__ == "__main__":
    run_program(main)
