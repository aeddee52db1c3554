#!/usr/bin/env python3
"""Results made up for tests, and for looking at the page: a run in which everything happens, and a year of nights.

usage: made_up.py FOLDER [--cases N] [--nights N] [--processes N]

FOLDER/results gets one folder a night, each with a summary.json, and the last one, `last`, with the files of its
processes, verdicts, table and kernels; FOLDER/baselines the baseline that it is compared with.
"""
from __future__ import annotations

import argparse
import datetime
import json
import math
import random
import statistics
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)

GPU = "NVIDIA H200"
FIRST = datetime.date(2025, 11, 29)
SHAPES = {"row_fold": [f"rows:{rows}/cols:{cols}/dtype:fp32" for rows, cols in
                       ((1, 128), (64, 128), (1024, 128), (16384, 128), (64, 4096), (1024, 4096), (4096, 4096))],
          "dw_gemm": [f"tokens:{tokens}/in:{a}/out:{b}/dtype:bf16" for tokens in (1, 8, 31)
                      for a, b in ((4096, 12288), (12288, 4096))],
          "embedding_backward": [f"tokens:{tokens}/vocab:151936/hidden:4096/ids:uniform/dtype:bf16/part:kernel"
                                 for tokens in (8, 32, 128, 512)]}


def case_names(count: int) -> list[str]:
    """As many row names as asked for, the first ones those of real operators."""
    names = [f"{operator}/{variant}/{shape}/timer:{'cold' if operator[0] == 'e' else 'graph'}"
             for operator, shapes in SHAPES.items() for shape in shapes for variant in ("legacy", "new")]
    names += [f"row_fold/{variant}/rows:{3 * k}/cols:256/dtype:fp32/timer:graph" for k in range(1, count)
              for variant in ("legacy", "new")]
    return names[:count]


def commit_of(day: int) -> str:
    return f"{random.Random(day // 3).getrandbits(160):040x}"  # a new one every third day


def context(day: int, commit: Optional[str] = None, **more: str) -> dict[str, str]:
    date = FIRST + datetime.timedelta(days=day)
    said = {"date": f"{date}T02:10:00+00:00", "gpu_name": GPU, "gpu_sm_count": "132", "driver_version": "580.159.04",
            "cuda_version": "13.0", "compiler": "GNU 12.2.0", "build_type": "release", "cpu_model": "Intel(R) Xeon(R)",
            "sm_clock_mhz": "1980", "memory_clock_mhz": "3201", "power_limit_w": "700", **more}
    session = {"gpu_uuid": f"GPU-{'a' if day < 200 else 'b'}4b236e9", "boot_id": f"{day // 20:08x}",
               "git_commit": commit or commit_of(day), "date": said["date"]}
    return {**said, **{f"session.1.{key}": value for key, value in session.items()}}


def write_summary(file: Path, said: dict[str, str], times: dict[str, list[float]], samples: int = 20) -> None:
    """Nanoseconds of each case and process, one line a row, as a baseline is written."""
    rows = ",\n  ".join(
        f'{{"name": {quoted}, "run_name": {quoted}, "run_type": "iteration", "iterations": 1, "real_time": {time:.7g}, '
        f'"cpu_time": 490, "time_unit": "ns", "process": {process}, "session": 1, "samples": {samples}, "check": 1}}'
        for quoted, processes in ((json.dumps(name), processes) for name, processes in times.items())
        for process, time in enumerate(processes))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{{\n "context": {json.dumps(said)},\n "benchmarks": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


def level(index: int, name: str) -> float:
    """Nanoseconds that a case takes before anything happens to it."""
    return (40_000 if "/legacy/" in name else 9_000) * (1 + index % 17) ** 1.3


def drift(index: int, day: int, nights: int) -> float:
    """Some cases get slower or faster for good, one comes back."""
    if index % 9 == 1 and day >= 0.6 * nights:
        return 1.04
    if index % 13 == 5 and day >= 0.3 * nights:
        return 0.80
    return 1.08 if index == 3 and 0.5 * nights <= day < 0.7 * nights else 1.0


def write_nights(folder: Path, cases: int, nights: int, processes: int, seed: int = 1) -> list[str]:
    """One folder a night with a summary.json."""
    chance, names = random.Random(seed), case_names(cases)
    for day in range(nights):
        said = context(day)
        times = {}
        for index, name in enumerate(names):
            tonight = level(index, name) * drift(index, day, nights) * math.exp(chance.gauss(0, 0.002))
            if chance.random() < 0.004:
                tonight *= 1.15  # a bad night
            times[name] = [tonight * math.exp(chance.gauss(0, 0.001)) for _ in range(processes)]
        date = said["date"][:10].replace("-", "")
        write_summary(folder / f"{date}T021000Z_{commit_of(day)[:10]}_h200" / "summary.json", said, times)
    return names


def row(name: str, index: int, time: float, more: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 20, "repetition_index": index,
            "threads": 1, "iterations": 1, "real_time": time / 1000, "cpu_time": 4.3, "time_unit": "us", **more}


# What the last night did to some of its rows: by what its times are multiplied, and how far processes scatter.
EVENTS = {3: (1.034, 0.0012), 9: (1.6, 0.002), 14: (0.72, 0.001), 17: (1.012, 0.0009), 6: (1.004, 0.012),
          21: (0.99, 0.03)}
WRONG, FAILED, MISSING, SKIPPED = 25, 29, 11, 19
NEW = "row_fold/tuned/rows:4096/cols:4096/dtype:fp32/timer:graph"


def write_last(root: Path, cases: int, nights: int, processes: int, seed: int = 2) -> Path:
    """The run to be reported: rows of every verdict, and the baseline they are held against."""
    chance, names, folder = random.Random(seed), case_names(cases), root / "results" / "last"
    folder.mkdir(parents=True, exist_ok=True)
    base = {name: level(index, name) * drift(index, nights, nights) for index, name in enumerate(names)}
    accepted = {name: [base[name] * math.exp(chance.gauss(0, 0.0012)) for _ in range(7)] for name in names}
    write_summary(root / "baselines/h200/main.json", context(round(0.8 * nights)), accepted)
    files: dict[tuple[str, int], list[dict[str, Any]]] = {}
    measured: dict[str, list[float]] = {}
    for index, name in [*enumerate(names), (len(names), NEW)]:
        factor, scatter = EVENTS.get(index, (1.0, 0.0012))
        for process in range(processes):
            rows = files.setdefault((name.split("/")[0], process), [])
            if index == MISSING:
                continue
            if index == WRONG:
                rows.append(row(name, 0, 0, {"error_occurred": True, "error_message":
                    "check failed: 3 of 622,329,856 elements differ from oracle ascending; first at [17, 4031]: 1.0034 "
                    "instead of 1.0036"}))
                continue
            if index == FAILED and process == 2:
                rows.append(row(name, 0, 0, {"error_occurred": True, "error_message": "CUDA error: out of memory"}))
                continue
            if index == SKIPPED:
                rows.append(row(name, 0, 0, {"skipped": True, "skip_message": "needs 3.7 GB, 2.1 GB are free"}))
                continue
            time = base.get(name, 9_100.0) * factor * math.exp(chance.gauss(0, scatter))
            samples = [time * math.exp(chance.gauss(0, 0.0015)) * (1.01 if chance.random() < 0.05 else 1)
                       for _ in range(20)]
            floor = 0.0 if "/legacy/" in name else round(time / 1000 * (0.35 + 0.6 * (index % 7) / 7), 2)
            more = {"floor_us": floor, "share_of_floor": floor * 1000 / time, "check": 1} if floor else {"check": 1}
            rows += [row(name, k, sample, more) for k, sample in enumerate(samples)]
            measured.setdefault(name, []).append(statistics.median(samples))
    said = {**context(nights), "driver_version": "580.159.09", "git_commit": commit_of(nights), "host_name": "node-7"}
    said = {key: value for key, value in said.items() if not key.startswith("session.")}
    for (operator, process), rows in files.items():
        document = {"context": {**said, "process_index": str(process), "gpu_uuid": "GPU-b4b236e9"}, "benchmarks": rows}
        (folder / f"{operator}.{process}.json").write_text(json.dumps(document), encoding="utf-8")
    record = {"format": 1, "status": "complete", "command": ["strictbench", "run"], "started_utc": said["date"],
              "commit": said["git_commit"], "dirty": False, "device": "cuda", "gpu_name": GPU, "notes": [],
              "processes": [{"operator": operator, "process": process, "file": f"{operator}.{process}.json",
                             "status": "ok"} for operator, process in files]}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    for name, made in (("compare", comparison(names, accepted, measured)), ("table", speedup_table(measured)),
                       ("kernels", kernels())):
        (folder / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


def verdict_of(low: float, high: float, t: float) -> str:
    return "slower" if low > 1 + t else "faster" if high < 1 / (1 + t) else \
        "same" if low >= 1 / (1 + t) and high <= 1 + t else "inconclusive"


def comparison(names: list[str], accepted: dict[str, list[float]], measured: dict[str, list[float]]) -> dict[str, Any]:
    """In the form of `strictbench compare --format json`, its intervals by a rule of thumb."""
    rows = []
    for index, name in [*enumerate(names), (len(names), NEW)]:
        old, new = accepted.get(name, []), measured.get(name, [])
        told: dict[str, Any] = {"name": name, "ratio": None, "ratio_low": None, "ratio_high": None,
                                "smallest_visible": None, "unit": "ns", "reason": ""}
        for side, values in (("baseline", old), ("contender", new)):
            told[side] = {"median": statistics.median(values) if values else None, "processes": len(values),
                          "samples": 20 * len(values)}
        special = {WRONG: ("wrong", "check failed: 3 of 622,329,856 elements differ from oracle ascending"),
                   FAILED: ("failed", "process 2: CUDA error: out of memory"),
                   MISSING: ("missing", "in the baseline alone"), len(names): ("new", "no baseline row"),
                   SKIPPED: ("skipped", "needs 3.7 GB, 2.1 GB are free")}
        if index in special:
            told["verdict"], told["reason"] = special[index]
        elif old and new:
            ratio = statistics.median(new) / statistics.median(old)
            spread = 3.6 * math.hypot(*(statistics.stdev(map(math.log, v)) / math.sqrt(len(v)) for v in (old, new)))
            low, high = ratio * math.exp(-spread), ratio * math.exp(spread)
            told.update(verdict=verdict_of(low, high, 0.01), ratio=ratio, ratio_low=low, ratio_high=high,
                        smallest_visible=1.01 * math.exp(spread) - 1)
            if told["verdict"] == "inconclusive":
                told["reason"] = (f"could be {100 * (low - 1):+.2f} % to {100 * (high - 1):+.2f} %; a slowdown shows "
                                  f"from {100 * told['smallest_visible']:+.2f} % on")
        rows.append(told)
    bad = any(told["verdict"] in ("slower", "missing", "failed", "wrong") for told in rows)
    return {"verdict": "regressed" if bad else "pass", "exit_code": int(bad), "threshold": 0.01, "alpha": 0.01,
            "metric": "real_time", "counts": {}, "rows_read": {"baseline": 0, "contender": 0},
            "notes": ["spread between sessions: 1.00 %, assumed: the baseline has one session"], "rows": rows}


def speedup_table(measured: dict[str, list[float]]) -> dict[str, Any]:
    operators = []
    for operator, shapes in SHAPES.items():
        lines = []
        for shape in shapes:
            timer = "cold" if operator[0] == "e" else "graph"
            variants: dict[str, Any] = {}
            for variant in ("legacy", "new"):
                values = measured.get(f"{operator}/{variant}/{shape}/timer:{timer}")
                trouble = "" if values else "wrong: check failed: 3 of 622,329,856 elements differ"
                variants[variant] = {"time_ns": statistics.median(values) if values else None, "trouble": trouble}
            old, new = (variants[variant]["time_ns"] for variant in ("legacy", "new"))
            speedup = old / new if old and new else None
            variants["new"].update(speedup=speedup, speedup_low=speedup and speedup * 0.995,
                                   speedup_high=speedup and speedup * 1.004)
            control = "steady" if operator == "dw_gemm" and "tokens:31" in shape else ""
            lines.append({"shape": shape, "timer": timer, "check": "within 0.02" if control else "bits",
                          "control": control, "variants": variants})
        operators.append({"op": operator, "variants": ["legacy", "new"], "lines": lines})
    published = [{"name": "embedding_backward/legacy/tokens:32/vocab:151936/hidden:4096", "published_ns": 374177000.0,
                  "measured_ns": 373867000.0, "published_on": "NVIDIA H100 80GB", "measured_on": GPU},
                 {"name": "row_fold/new/rows:1024/cols:128", "published_ns": 159000.0, "measured_ns": None,
                  "published_on": "NVIDIA H100 80GB", "measured_on": ""}]
    return {"header": [f"device: {GPU}"], "notes": [], "operators": operators, "published": published}


def kernels() -> dict[str, Any]:
    def side(launches: int, total: float, share: float) -> dict[str, Any]:
        return {"launches": launches, "total_ns": total, "average_ns": total / launches, "share": share}

    rows = [("weight_gradient_tree", side(270, 4.8e8, 0.61), None, None, None, False),
            ("weight_gradient_tiles", None, side(270, 5.2e7, 0.145), None, None, False),
            ("tensor_core_gemm", side(540, 2.9e8, 0.37), side(540, 2.91e8, 0.815), 0.9966, -0.0034, True),
            ("swiglu_backward", side(90, 1.6e7, 0.02), side(90, 1.4e7, 0.04), 1.14, 0.125, False)]
    total = (side(900, 7.86e8, 1.0), side(900, 3.57e8, 1.0), 2.2, 0.546, False)
    keys = ("before", "after", "speedup", "reduction", "control")
    return {"before": "qwen3_ffn/legacy", "after": "qwen3_ffn/new",
            "rows": [{"name": name, **dict(zip(keys, rest))} for name, *rest in rows], "total": dict(zip(keys, total))}


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="made_up.py", description="Makes results up, for tests and for looking at.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    for name, count in (("cases", 34), ("nights", 60), ("processes", 10)):
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N", help=f"default: {count}")
    options = parser.parse_args(arguments)
    write_nights(options.folder / "results", options.cases, options.nights, options.processes)
    print(write_last(options.folder, options.cases, options.nights, options.processes))
    return 0


if __name__ == "__main__":
    run_program(main)
