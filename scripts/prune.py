#!/usr/bin/env python3
"""Makes room for the nights to come: removes the oldest results of the device that RESULT was measured on.

usage: prune.py RESULT --keep N

Looks only at the folders beside RESULT that are named as `strictbench run` names its own and hold a run.json of the
same device. RESULT counts and is never removed, nor is a result that a living process still writes.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report" / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)
from words import plain  # noqa: E402

NAME = re.compile(r"(?P<utc>\d{8}T\d{6}Z)_[0-9A-Za-z]+(-dirty)?_[a-z0-9.-]+")


def run_of(folder: Path) -> dict[str, Any]:
    """What run.json says; nothing where it cannot be read."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # the last: nested without end
        return {}
    return run if isinstance(run, dict) else {}


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


def results_beside(result: Path) -> list[Path]:
    """The other results of its device, the oldest first."""
    device, found = device_of(run_of(result)), []
    for folder in result.parent.iterdir():
        if folder == result or folder.is_symlink() or not folder.is_dir() or not NAME.fullmatch(folder.name):
            continue
        run = run_of(folder)
        if device and device_of(run) == device and not being_written(run):
            found.append(folder)
    return sorted(found, key=lambda folder: folder.name)


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="prune.py", description="Removes the oldest results of a device.")
    parser.add_argument("result", type=Path, metavar="RESULT", help="a result folder: the one just made")
    parser.add_argument("--keep", type=int, required=True, metavar="N", help="how many stay, RESULT among them")
    options = parser.parse_args(arguments)
    if options.keep < 1:
        parser.error("--keep must be 1 or more")
    code, removed = 0, []
    try:
        others = results_beside(options.result.resolve())
    except OSError as error:
        print(f"prune.py: {plain(str(options.result), 1000)}: {error.strerror}; nothing is removed", file=sys.stderr)
        return 2
    for folder in others[:max(0, len(others) + 1 - options.keep)]:
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
