"""Reads a result folder, or one Google Benchmark JSON file, into cases with a time per variant and process.

The one rule behind every line here: a row that failed, is wrong or was skipped never turns into a time.
"""
from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional

from words import plain

A_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
SHORTEST, LONGEST = 1e-12, 1e9  # seconds; beyond these a number is no measured time

# What Google Benchmark appends to a name; none of it is part of the case.
SUFFIX = re.compile(r"^(manual_time|real_time|process_time|(iterations|repeats|min_time|min_warmup_time|threads):.*)$")
LARGEST = 256 * 1024 * 1024  # bytes; a night of 200 cases with every sample has some 10 MB
# A string, or a word that JSON lacks and that writers of numbers write all the same.
STRING_OR_WORD = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[-+]?\b(?:nan|inf|infinity)\b', re.IGNORECASE | re.DOTALL)
PROCESS_FILE = re.compile(r"^(?P<operator>.+)\.(?P<process>\d+)\.json$")


class UnusableInput(Exception):
    """One line: which file, why."""


@dataclass(frozen=True)
class Case:
    """What is compared: everything a row's name says except the variant."""

    operator: str
    shape: tuple[tuple[str, str], ...]  # (key, value) in the name's order, the timer among them


@dataclass
class Measured:
    """One variant of one case, over all processes."""

    samples: dict[str, list[float]] = field(default_factory=dict)  # seconds, by process
    trouble: dict[str, str] = field(default_factory=dict)  # wrong, failed, skipped or suspect: the first message
    floors: dict[str, float] = field(default_factory=dict)  # seconds, by process, where rows state them

    def status(self) -> str:
        """`ok`, or the gravest thing that happened. Skipped or suspect processes do not spoil the others."""
        for kind in ("wrong", "failed"):
            if kind in self.trouble:
                return kind
        if self.samples:
            return "ok"
        return "skipped" if "skipped" in self.trouble else "suspect"

    def message(self) -> str:
        return self.trouble.get(self.status(), "")

    def medians(self) -> dict[str, float]:
        """The process is the unit of evidence: one time for each. Empty unless the status is `ok`."""
        if self.status() != "ok":
            return {}
        return {process: statistics.median(samples) for process, samples in self.samples.items()}

    def time(self) -> Optional[float]:
        medians = self.medians()
        return statistics.median(medians.values()) if medians else None

    def share_of_floor(self) -> Optional[float]:
        """The least time the hardware allows / the measured one: the median over processes that state a floor."""
        return median_share(self.medians(), self.floors)


@dataclass(frozen=True)
class Speedup:
    """legacy / variant: the median over processes, and the least and the greatest process."""

    median: float
    low: float
    high: float
    processes: int


@dataclass
class Results:
    """Everything a picture needs: cases in the order of the files, and what was measured where."""

    cases: dict[Case, dict[str, Measured]]
    contexts: list[dict[str, Any]]
    processes: int
    unnamed: int  # rows that are not named <operator>/<variant>/..., so belong to no case
    unfinished: str = ""  # the status of a run that did not end by itself

    def operators(self) -> list[str]:
        return list(dict.fromkeys(case.operator for case in self.cases))

    def said(self, key: str) -> list[str]:
        """Each different value that the files give for a context key."""
        return list(dict.fromkeys(str(c[key]) for c in self.contexts if c.get(key) not in (None, "")))


def speedup(variants: dict[str, Measured], variant: str) -> Optional[Speedup]:
    """Paired: both times come from one process, so that drift between processes cancels."""
    if "legacy" not in variants:
        return None
    legacy, other = variants["legacy"].medians(), variants[variant].medians()
    ratios = [legacy[process] / other[process] for process in legacy if process in other]
    if not ratios:
        return None
    # A ratio's middle is a geometric one: of 1/2 and 2 it is 1.
    middle = math.sqrt(statistics.median_low(ratios) * statistics.median_high(ratios))
    return Speedup(middle, min(ratios), max(ratios), len(ratios))


def parse_name(name: str) -> Optional[tuple[Case, str]]:
    """Case and variant of a row name, or None where it is not one of ours."""
    parts = name.split("/")
    if len(parts) < 2 or not parts[0] or not parts[1]:
        return None
    shape = []
    for part in parts[2:]:
        if not SUFFIX.match(part):
            key, _, value = part.partition(":")
            shape.append((key, value))
    return Case(parts[0], tuple(shape)), parts[1]


def unknown_unit(row: dict[str, Any]) -> str:
    """Why a row's unit is none that a time can be read by, or nothing. Without any it is Google Benchmark's default."""
    unit = row.get("time_unit", "ns")
    if isinstance(unit, str) and unit in A_SECOND:
        return ""
    said = unit or "(empty)" if isinstance(unit, str) else "(no text)"
    return f'its time_unit is "{plain(said)}", and ns, us, ms and s are known'


def seconds(row: dict[str, Any]) -> Optional[float]:
    """The row's time, or None where it is none: zero, negative, NaN, infinite, absurd or without a known unit."""
    time = row.get("real_time")
    if type(time) not in (int, float) or unknown_unit(row) or not 0 < time < 1e30:
        return None
    value = time / A_SECOND[row.get("time_unit", "ns")]
    return value if SHORTEST <= value <= LONGEST else None


def floor_of(row: dict[str, Any]) -> Optional[float]:
    """The row's floor in seconds, or None where it states none that a time could have."""
    floor = row.get("floor_us")
    known = type(floor) in (int, float) and SHORTEST * 1e6 <= floor <= LONGEST * 1e6
    return floor * 1e-6 if known else None


def median_share(times: dict[str, float], floors: dict[str, float]) -> Optional[float]:
    """floor / time, the median over the processes that state a floor. What a row says of its own share is not asked."""
    shares = [floors[process] / time for process, time in times.items() if process in floors]
    return statistics.median(shares) if shares else None


def trouble(row: dict[str, Any]) -> Optional[tuple[str, str]]:
    """Why a row's time does not count: (kind, message), or None where it does."""
    message = str(row.get("error_message", ""))
    if row.get("error_occurred"):
        return ("wrong" if message.startswith("check failed:") else "failed"), message
    if row.get("skipped"):
        return "skipped", str(row.get("skip_message", message))
    if why := unknown_unit(row):
        return "failed", why
    if seconds(row) is None:
        time = row.get("real_time")
        number = type(time) in (int, float) and -math.inf < time < math.inf
        return "failed", "no usable time: " + (f"{time} {row.get('time_unit', 'ns')}" if number else "not a number")
    suspect = row.get("suspect")
    if type(suspect) in (int, float) and suspect > 0:  # of an aggregate: the share of its rows
        return "suspect", "measured while the machine was throttled or shared"
    return None


def mended(text: str) -> str:
    """NaN and infinity in the one spelling that Python's parser takes; strings stay as they are."""
    def spelling(match: re.Match[str]) -> str:
        word = match[0].lower()
        return match[0] if word[0] == '"' else "NaN" if "nan" in word else "-Infinity" if word[0] == "-" else "Infinity"

    return STRING_OR_WORD.sub(spelling, text)


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        other = mended(text)
        if other == text:
            raise
        return json.loads(other)


def load(path: Path) -> dict[str, Any]:
    """One JSON object, or UnusableInput."""
    try:
        if path.exists() and not path.is_file():
            raise UnusableInput(f"{path}: not a file")
        if path.stat().st_size > LARGEST:
            raise UnusableInput(f"{path}: {path.stat().st_size:,} bytes, more than any result has")
        document = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnusableInput(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnusableInput(f"{path}: not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise UnusableInput(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise UnusableInput(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UnusableInput(f"{path}: not a JSON object")
    return document


def load_benchmarks(path: Path) -> dict[str, Any]:
    """One Google Benchmark document, or UnusableInput."""
    document = load(path)
    if not isinstance(document.get("benchmarks"), list):
        raise UnusableInput(f"{path}: not a Google Benchmark file: no list named benchmarks")
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in document["benchmarks"]):
        raise UnusableInput(f"{path}: not a Google Benchmark file: a row without a name")
    return document


def single_rows(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows that are times: single ones, or where a name has aggregates alone its median, else its mean."""
    aggregates: dict[str, dict[str, dict[str, Any]]] = {}
    singles = set()
    for row in rows:
        if row.get("run_type") == "aggregate":
            aggregates.setdefault(str(row.get("run_name", row["name"])), {})[str(row.get("aggregate_name"))] = row
        else:
            singles.add(row["name"])
            yield row
    for run_name, by_kind in aggregates.items():
        row = by_kind.get("median") or by_kind.get("mean")
        if run_name not in singles and row:
            # A median is 0 where few rows are suspect; the mean tells even those.
            suspect = max((by_kind[kind].get("suspect", 0) for kind in ("median", "mean") if kind in by_kind
                           and type(by_kind[kind].get("suspect", 0)) in (int, float)), default=0)
            yield {**row, "name": run_name, "suspect": suspect}


def files_of(path: Path) -> list[Path]:
    """The files of a result folder, process by process; a file stands for itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UnusableInput(f"{path}: no such result folder")
    named = [(match, file) for file in path.iterdir() if (match := PROCESS_FILE.match(file.name))]
    files = [file for match, file in sorted(named, key=lambda pair: (pair[0]["operator"], int(pair[0]["process"])))]
    require_once(files)
    return files


def require_once(files: list[Path]) -> None:
    """Refuses a link to another process's file, or a copy of it: one process would count as two that agree."""
    seen: dict[int, list[Path]] = {}  # by size
    for file in files:
        if not file.is_file() or not 0 < file.stat().st_size <= LARGEST:
            continue
        for other in seen.setdefault(file.stat().st_size, []):
            # Files of others say nothing of processes, and may be alike.
            if (content := file.read_bytes()) == other.read_bytes() and b'"process_index"' in content:
                raise UnusableInput(f"{file}: holds the same bytes as {other}, and one process must not count as two")
        seen[file.stat().st_size].append(file)


def add_rows(results: Results, file: Path, processes: dict[str, set[str]]) -> None:
    """The rows of one file. `processes` collects them by operator, each operator having its own."""
    document = load_benchmarks(file)
    context = document.get("context")
    results.contexts.append(context if isinstance(context, dict) else {})
    for row in single_rows(document["benchmarks"]):
        parsed = parse_name(row["name"])
        if parsed is None:
            results.unnamed += 1
            continue
        case, variant = parsed
        process = f"{file.name} {row.get('session', '')} {row.get('process', '')}"
        processes.setdefault(case.operator, set()).add(process)
        measured = results.cases.setdefault(case, {}).setdefault(variant, Measured())
        if (reason := trouble(row)) is not None:
            measured.trouble.setdefault(*reason)
        else:
            measured.samples.setdefault(process, []).append(seconds(row))
            if (floor := floor_of(row)) is not None:
                measured.floors.setdefault(process, floor)


def add_record(results: Results, path: Path) -> None:
    """What the run itself recorded: cases whose process died before it wrote a row, and where and when it ran."""
    record = load(path)
    machine = record.get("machine")
    before = machine.get("before") if isinstance(machine, dict) else None
    context = {"gpu_name": record.get("gpu_name"), "git_commit": record.get("commit"),
               "git_dirty": record.get("dirty"), "date": record.get("started_utc"),
               "cpu_model": before.get("cpu_model") if isinstance(before, dict) else None}
    # The files speak first, each for its own process; the record fills in what none of them says.
    results.contexts.append({key: value for key, value in context.items() if not results.said(key)})
    if record.get("status") in ("running", "interrupted"):
        results.unfinished = record["status"]
    entries = record.get("processes")
    for entry in entries if isinstance(entries, list) else []:
        problems = entry.get("problems") if isinstance(entry, dict) else None
        for problem in problems if isinstance(problems, list) else []:
            parsed = parse_name(str(problem.get("case"))) if isinstance(problem, dict) else None
            if parsed and problem.get("state") in ("wrong", "failed", "skipped"):
                measured = results.cases.setdefault(parsed[0], {}).setdefault(parsed[1], Measured())
                measured.trouble.setdefault(problem["state"], str(problem.get("reason", "")))


def read(path: Path) -> Results:
    """Every case of a result folder."""
    results = Results(cases={}, contexts=[], processes=0, unnamed=0)
    processes: dict[str, set[str]] = {}
    for file in files_of(path):
        add_rows(results, file, processes)
    if (path / "run.json").is_file():
        add_record(results, path / "run.json")
    if not results.cases:
        what = "rows" if results.contexts else "result files (<operator>.<process>.json)"
        raise UnusableInput(f"{path}: no {what} of any case in it")
    results.processes = max((len(names) for names in processes.values()), default=0)
    return results
