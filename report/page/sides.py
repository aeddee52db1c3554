"""Reads the rows of one side of a comparison with their samples, counters and context: what the page draws.

A side is a result folder, or any number of Google Benchmark files: committed baselines, the files of processes.
"""
from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from result_folder import (SUFFIX, UnusableInput, files_of, floor_of, load, load_benchmarks,  # noqa: E402
                           median_share, seconds, single_rows, trouble)


def canonical(name: str) -> str:
    """A row's name without what Google Benchmark appends to it."""
    parts = name.split("/")
    while len(parts) > 1 and SUFFIX.match(parts[-1]):
        parts.pop()
    return "/".join(parts)


@dataclass
class Row:
    """All that one side says about one benchmark."""

    samples: dict[str, list[float]] = field(default_factory=dict)  # seconds, by process
    trouble: dict[str, str] = field(default_factory=dict)  # wrong, failed, skipped or suspect: the first message
    floors: dict[str, float] = field(default_factory=dict)  # seconds, by process, where rows state them

    def spoiled(self) -> str:
        """`wrong` or `failed`: then there is no time, whatever other processes measured."""
        return next((kind for kind in ("wrong", "failed") if kind in self.trouble), "")

    def medians(self) -> dict[str, float]:
        """One time for each process."""
        return {} if self.spoiled() else {process: statistics.median(samples) for process, samples in self.samples.items()}

    def time(self) -> Optional[float]:
        """Median over processes of each one's median."""
        medians = self.medians()
        return statistics.median(medians.values()) if medians else None

    def floor(self) -> Optional[float]:
        return statistics.median(self.floors.values()) if self.floors and not self.spoiled() else None

    def share_of_floor(self) -> Optional[float]:
        """The least time the hardware allows / the measured one: the median over processes that state a floor."""
        return median_share(self.medians(), self.floors)


@dataclass
class Side:
    rows: dict[str, Row] = field(default_factory=dict)  # by canonical name, in the order of the files
    context: dict[str, list[str]] = field(default_factory=dict)  # each different value that is given for a key
    record: dict[str, Any] = field(default_factory=dict)  # run.json
    files: list[Path] = field(default_factory=list)

    def says(self, key: str, value: Any) -> None:
        text = "true" if value is True else "false" if value is False else str(value)
        if value not in (None, "") and not isinstance(value, (dict, list)) and text not in self.context.get(key, ()):
            self.context.setdefault(key, []).append(text)

    def said(self, key: str) -> list[str]:
        return self.context.get(key, [])

    def device(self) -> str:
        return next((self.said(key)[0] for key in ("gpu_name", "cpu_model", "host_name") if self.said(key)), "")

    def published(self) -> bool:
        return self.said("provenance") == ["published"]

    def processes(self) -> int:
        return max((len(row.samples) for row in self.rows.values()), default=0)


def process_of(row: dict[str, Any], file: Path) -> str:
    """Which process a row comes from: the number it carries, else the file's own."""
    if "process" in row:
        session = f"session {row['session']}, " if "session" in row else ""
        return f"{session}process {row['process']}"
    return f"process {file.stem.rpartition('.')[2]}"


def add_context(side: Side, context: Any) -> None:
    """Every value; `session.<n>.key`, as a baseline has it for each of its sessions, counts for `key`."""
    for key, value in context.items() if isinstance(context, dict) else ():
        parts = key.split(".", 2)
        side.says(parts[2] if parts[0] == "session" and len(parts) == 3 else key, value)


def add_file(side: Side, file: Path) -> None:
    document = load_benchmarks(file)
    add_context(side, document.get("context"))
    side.files.append(file)
    for found in single_rows(document["benchmarks"]):
        row = side.rows.setdefault(canonical(found["name"]), Row())
        if (reason := trouble(found)) is not None:
            row.trouble.setdefault(*reason)
            continue
        process = process_of(found, file)
        row.samples.setdefault(process, []).append(seconds(found))
        if (floor := floor_of(found)) is not None:
            row.floors.setdefault(process, floor)


def problems(record: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a run's record says about cases whose process died before it wrote a row: name, state, reason."""
    processes = record.get("processes")
    for process in processes if isinstance(processes, list) else ():
        listed = process.get("problems") if isinstance(process, dict) else None
        for problem in listed if isinstance(listed, list) else ():
            if isinstance(problem, dict) and problem.get("state") in ("wrong", "failed", "skipped"):
                yield canonical(str(problem.get("case"))), problem["state"], str(problem.get("reason", ""))


def add_record(side: Side, file: Path) -> None:
    """The files speak first, each for its own process; the record fills in what none of them says."""
    side.record = load(file)
    machine = side.record.get("machine")
    before = machine.get("before") if isinstance(machine, dict) else None
    known = set(side.context)
    for key, value in {**(before if isinstance(before, dict) else {}), "gpu_name": side.record.get("gpu_name"),
                       "git_commit": side.record.get("commit"), "git_dirty": side.record.get("dirty"),
                       "date": side.record.get("started_utc")}.items():
        if key not in known and key != "host":
            side.says(key, value)
    for name, state, reason in problems(side.record):
        side.rows.setdefault(name, Row()).trouble.setdefault(state, reason)


def read_side(paths: list[Path]) -> Side:
    """Everything in result folders and files, or UnusableInput."""
    side = Side()
    for path in paths:
        try:
            files = files_of(path)
        except OSError as error:
            raise UnusableInput(f"{path}: {error.strerror}") from error
        if not files and (path / "summary.json").is_file():
            files = [path / "summary.json"]
        for file in files:
            add_file(side, file)
        if (path / "run.json").is_file():
            add_record(side, path / "run.json")
    if not side.rows:
        raise UnusableInput(f"{', '.join(map(str, paths))}: no rows of any case in it")
    return side
