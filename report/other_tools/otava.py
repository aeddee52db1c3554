#!/usr/bin/env python3
"""Results as a table for Apache Otava, which finds the nights at which a level changed.

usage: otava.py RESULT... --output FILE.csv [--config FILE.yaml] [--device NAME] [--filter RE]

A RESULT is a result folder, a folder of them, or a baseline. FILE.csv gets a line a night, the oldest first: time,
commit, and for each case the median of its processes' medians, in nanoseconds. Otava takes no gaps: a case that was
not measured in every night is left out, and how many were is said on standard error.

--config writes what Otava needs to read it:

  tests:
    strictbench:
      type: csv
      file: FILE.csv
      time_column: time
      attributes: [commit]
      metrics:
        row_fold/new/rows:64/cols:128/dtype:fp32/timer:graph:   # a column; direction -1: less is better
          {column: "row_fold/new/rows:64/cols:128/dtype:fp32/timer:graph", direction: -1}

Then: otava analyze strictbench --config-file FILE.yaml --since 2026-01-01
"""
from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Optional

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("page", "pictures")]

from history import Night, entries_of, read_nights  # noqa: E402  (found through the line above)
from program import run_program  # noqa: E402
from result_folder import UnusableInput  # noqa: E402
from whole_file import files_of_each, require_apart, write_whole  # noqa: E402
from words import plain  # noqa: E402


def nights_of(paths: list[Path], device: str) -> list[Night]:
    """The nights of one device, the oldest first. What has no date has no place in a history."""
    entries = {path.resolve(): path for given in paths for path in entries_of(given)}
    nights = [night for path in entries.values() for night in read_nights(path)]
    if device:
        nights = [night for night in nights if night.device == device]
    devices = sorted({night.device or "(not recorded)" for night in nights})
    if len(devices) > 1:
        raise UnusableInput(f"results of {len(devices)} devices, {', '.join(devices)}: name one with --device")
    dated = [night for night in nights if night.date]
    if not dated:
        raise UnusableInput(f"no measured row with a date{' of ' + device if device else ''} in what was given")
    return sorted(dated, key=lambda night: (night.date, night.source))


def time_of(night: Night) -> str:
    """ISO 8601; times of results are UTC."""
    return night.date.replace(" ", "T") + ("+00:00" if " " in night.date else "")


def complete_cases(nights: list[Night], expression: str) -> tuple[list[str], int]:
    """The cases that every night has, and how many others some night has."""
    wanted = [name for name in dict.fromkeys(name for night in nights for name in night.times)
              if re.search(expression, name)]
    complete = [name for name in wanted if all(name in night.times for night in nights)]
    if not complete:
        which = "the one night" if len(nights) == 1 else f"every one of {len(nights)} nights"
        raise UnusableInput(f"no case was measured in {which}: name fewer results, or choose "
                            "cases with --filter")
    return complete, len(wanted) - len(complete)


def cell(text: str) -> str:
    """Text of a result as a cell: nothing that commands a terminal, and no formula to a spreadsheet."""
    shown = plain(text, sys.maxsize)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def table_of(nights: list[Night], cases: list[str]) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["time", "commit", *map(cell, cases)])
    for night in nights:
        lines.writerow([cell(time_of(night)), cell(night.commit), *(f"{night.times[case] * 1e9:.7g}" for case in cases)])
    return text.getvalue()


def config_of(file: Path, cases: list[str]) -> str:
    """YAML; strings are written as JSON's, which YAML reads."""
    lines = ["tests:", "  strictbench:", "    type: csv", f"    file: {json.dumps(str(file))}", "    time_column: time",
             "    attributes: [commit]", "    metrics:"]
    lines += [f"      {name}: {{column: {name}, direction: -1}}" for name in (json.dumps(cell(case)) for case in cases)]
    return "\n".join(lines) + "\n"


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="otava.py", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__.split("usage:")[0] + __doc__.split("\n\n", 2)[2])
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT", help="result folders, folders of them, baselines")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.csv", help="the table")
    parser.add_argument("--config", type=Path, metavar="FILE.yaml", help="also write Otava's configuration")
    parser.add_argument("--device", default="", metavar="NAME", help="only results of this device, as results name it")
    parser.add_argument("--filter", default="", metavar="RE", help="only cases in whose names RE is found")
    options = parser.parse_args(arguments)
    try:
        entries = [entry for path in options.results for entry in entries_of(path)]
        require_apart([("--output", options.output), ("--config", options.config)], files_of_each("RESULT", entries))
        nights = nights_of(options.results, options.device)
        cases, left_out = complete_cases(nights, options.filter)
        write_whole(options.output, table_of(nights, cases), named=True)
        if options.config:
            write_whole(options.config, config_of(options.output.resolve(), cases), named=True)
    except UnusableInput as error:
        print(f"otava.py: {plain(str(error), 1000)}", file=sys.stderr)
        return 2
    except re.error as error:
        print(f"otava.py: --filter {plain(options.filter)}: no regular expression: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"otava.py: {plain(str(error.filename), 1000)}: {error.strerror}", file=sys.stderr)
        return 2
    if left_out:
        noun = "case is left out: it was" if left_out == 1 else "cases are left out: they were"
        print(f"otava.py: {left_out} {noun} not measured in every night", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_program(main)
