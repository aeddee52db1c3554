#!/usr/bin/env python3
"""Holds a kernel record to the clock: what CUPTI recorded for a case against what the graph timer measured.

usage: agreement.py RESULT... [--out FILE]

RESULT is a folder of `strictbench run --kernels`. The record repeats one variant back to back, the timers of a run take
its variants by turns, and rows that just fit the L2 feel that: give a folder for each variant, run by itself. Compared
are cases of the graph timer that measured as they should
and whose kernels take over 20 us each: below, the launch itself is a share of both. Prints the cases, worst first;
FILE gets them as JSON. Exit codes: 0 all within 5 %, 1 some are not, 2 unusable input, 3 nothing to compare.
"""
from __future__ import annotations

import argparse
import collections
import json
import statistics
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from program import run_program  # noqa: E402
from result_folder import LONGEST, UnusableInput, load, parse_name, read  # noqa: E402  (found through the line above)
from whole_file import files_of_each, require_apart, write_whole  # noqa: E402
from words import plain  # noqa: E402

LONG_US = 20.0
WITHIN = 0.05


def recorded(file: Path) -> dict[str, float]:
    """GPU seconds of one call, by row name, of cases whose kernels are all long."""
    document = load(file)
    try:
        calls = {}
        for name, times in collections.Counter(case["name"] for case in document["cases"]).items():
            if not isinstance(name, str):
                raise UnusableInput(f"{file}: not a record of kernels: a case is named {name!r}, which is no text")
            if times > 1:
                raise UnusableInput(f"{file}: {name} is recorded {times} times: which one holds?")
        for case in document["cases"]:
            kernels = case["kernels"]
            if kernels and all(k["total_ns"] > LONG_US * 1e3 * k["launches"] > 0 for k in kernels):
                if not case["calls"] > 0:
                    raise UnusableInput(f"{file}: {case['name']} was called {case['calls']} times and has kernels")
                time = sum(k["total_ns"] for k in kernels) / case["calls"] / 1e9
                if not time < LONGEST:  # nor is NaN
                    raise UnusableInput(f"{file}: the kernels of {case['name']} took {time} s a call: no measured time")
                calls[case["name"]] = time
        return calls
    except (KeyError, TypeError, OverflowError) as error:
        raise UnusableInput(f"{file}: not a record of kernels: {error!r}") from error


def agreement(folder: Path) -> dict[str, Any]:
    """Every case that can be compared, with the seconds of both; or UnusableInput."""
    results = read(folder)
    cases: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.kernels.json")):
        for name, by_cupti in recorded(file).items():
            parsed = parse_name(name)
            if parsed is None or ("timer", "graph") not in parsed[0].shape:
                continue
            measured = results.cases.get(parsed[0], {}).get(parsed[1])
            if measured is None or (by_clock := measured.time()) is None:
                continue
            case = {"name": name, "cupti_us": round(by_cupti * 1e6, 3), "graph_us": round(by_clock * 1e6, 3)}
            if case["graph_us"] > 0:  # under half a nanosecond nothing ran
                cases.append(case)
    said = {key: values[0] for key in ("gpu_name", "git_commit", "driver_version", "cuda_version", "date")
            if (values := results.said(key))}
    return {**said, "processes": results.processes, "cases": cases}


def ratio(case: dict[str, Any]) -> float:
    return case["cupti_us"] / case["graph_us"]


def main(given: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="agreement.py", usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(given)
    try:
        require_apart([("--out", arguments.out)], files_of_each("RESULT", arguments.results))
        folders = [agreement(folder) for folder in arguments.results]
        differing = {key for key in ("gpu_name", "git_commit") if len({folder.get(key) for folder in folders}) > 1}
        if differing:
            raise UnusableInput(f"{arguments.results[1]}: another {' and '.join(sorted(differing))} than "
                                f"{arguments.results[0]}'s: measure all on one GPU with one build")
        found = {**folders[0], "cases": [case for folder in folders for case in folder["cases"]]}
        if arguments.out:
            write_whole(arguments.out, json.dumps(found, indent=1) + "\n", named=True)
    except UnusableInput as error:
        print(f"agreement.py: {plain(str(error), 1000)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agreement.py: {plain(str(error.filename or arguments.out), 1000)}: {error.strerror}", file=sys.stderr)
        return 2
    cases = sorted(found["cases"], key=lambda case: -abs(ratio(case) - 1))
    if not cases:
        print(f"agreement.py: {plain(str(arguments.results[0]), 1000)}: no case of the graph timer has a record of "
              f"kernels over {LONG_US:.0f} us each; was it run with --kernels?", file=sys.stderr)
        return 3
    for case in cases:
        print(f"{ratio(case):.3f}  {case['cupti_us']:12,.1f} {case['graph_us']:12,.1f} us  {plain(case['name'], 200)}")
    outside = sum(abs(ratio(case) - 1) > WITHIN for case in cases)
    noun = "case" if len(cases) == 1 else "cases"
    print(f"{len(cases) - outside} of {len(cases)} {noun} within {WITHIN:.0%} of the graph timer, median "
          f"{statistics.median(map(ratio, cases)):.3f}")
    return 1 if outside else 0


if __name__ == "__main__":
    run_program(main)
