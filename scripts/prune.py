#!/usr/bin/env python3
"""Makes room for the nights to come: removes the oldest results of the device that RESULT was measured on.

usage: prune.py RESULT --keep N

Looks only at the folders beside RESULT that are named as `strictbench run` names its own and hold a run.json of the
same device. RESULT counts and is never removed, nor is a result that a living process still writes. One line says so
where results stay because of their names alone.

Exit codes: 0; 1 where a result could not be removed; 2 where RESULT is none, and nothing is removed.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report" / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)
from result_folder import UnusableInput, load  # noqa: E402
from words import plain  # noqa: E402

NAME = re.compile(r"(?P<utc>\d{8}T\d{6}Z)_[0-9A-Za-z]+(-dirty)?_[a-z0-9.-]+")


class NoResult(Exception):
    """Why there is no result where one was named."""


def run_of(folder: Path) -> dict[str, Any]:
    """What run.json says; nothing where it cannot be read."""
    try:
        return load(folder / "run.json")
    except UnusableInput:
        return {}


def device_of(run: dict[str, Any]) -> str:
    """The GPU, else the CPU; empty where neither is said."""
    machine = run.get("machine")
    before = machine.get("before") if isinstance(machine, dict) else None
    return str(run.get("gpu_name") or (before.get("cpu_model") if isinstance(before, dict) else "") or "")


def being_written(run: dict[str, Any]) -> bool:
    pid = run.get("runner_pid")
    if run.get("status") != "running" or type(pid) is not int or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the latter: a number that no process has
        return False
    except OSError:
        pass  # it is another user's
    return True


def results_beside(result: Path) -> tuple[list[Path], int]:
    """The other results of its device: those that may go, the oldest first, and how many their names alone keep.
    Raises NoResult."""
    device, found, kept = device_of(run_of(result)), [], 0
    if not device:
        raise NoResult("no run.json in it that names a device")
    for folder in result.parent.iterdir():
        if folder == result or folder.is_symlink() or not folder.is_dir():
            continue
        run = run_of(folder)
        if device_of(run) != device or being_written(run):
            continue
        if NAME.fullmatch(folder.name):
            found.append(folder)
        else:
            kept += 1
    return sorted(found, key=lambda folder: folder.name), kept


def names_keep(result: Path, others: list[Path], kept: int, keep: int) -> str:
    """Why nothing is removed: more than `keep` results stand there, or RESULT itself is named otherwise. Else nothing."""
    named = "named as `strictbench run` names results, UTC_COMMIT_DEVICE"
    if len(others) + kept + 1 > keep and kept:
        return f"nothing is removed: {kept} of the results beside it {'is' if kept == 1 else 'are'} not {named}"
    if not NAME.fullmatch(result.name):
        return f"nothing is removed: it is not {named}; beside it stand {len(others)} that are"
    return ""


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="prune.py", description="Removes the oldest results of a device.")
    parser.add_argument("result", type=Path, metavar="RESULT", help="a result folder: the one just made")
    parser.add_argument("--keep", type=int, required=True, metavar="N", help="how many stay, RESULT among them")
    options = parser.parse_args(arguments)
    if options.keep < 1:
        parser.error("--keep must be 1 or more")
    code, removed, shown = 0, [], plain(str(options.result), 1000)
    try:
        if not stat.S_ISDIR(os.stat(options.result).st_mode):
            raise NoResult("not a folder")
        result = options.result.resolve()
        others, kept = results_beside(result)
    except (OSError, NoResult) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        print(f"prune.py: {shown}: {plain(why, 1000)}; nothing is removed", file=sys.stderr)
        return 2
    leaving = others[:max(0, len(others) + 1 - options.keep)]
    if not leaving and (why := names_keep(result, others, kept, options.keep)):
        print(f"prune.py: {shown}: {why}", file=sys.stderr)
    for folder in leaving:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            print(f"prune.py: {plain(str(folder), 1000)}: not removed: {error.strerror}", file=sys.stderr)
            code = 1
        else:
            removed.append(f"removed {folder.name}")
    print(*removed, sep="\n", end="\n" if removed else "")  # at the end: an output that is full stops no removal
    return code


if __name__ == "__main__":
    run_program(main)
