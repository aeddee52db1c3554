"""The nights of a device: one time a case and night, what was accepted in between, and where a level changed."""
from __future__ import annotations

import bisect
import math
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from result_folder import UnusableInput, files_of, load_benchmarks, seconds, single_rows, trouble  # noqa: E402
from sides import canonical  # noqa: E402

try:
    import ruptures
except ModuleNotFoundError:
    ruptures = None  # then the page says so

DATE = re.compile(r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?")
FOLDER_DATE = re.compile(r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z")

SMALLEST_STEP = 0.01  # what moved by less than this is no change that anyone would look into
FEWEST_NIGHTS = 4  # a level that lasts for less cannot be told from a bad night
FEWEST_TO_LOOK = 2 * FEWEST_NIGHTS
LEAST_NOISE = 5e-4  # in logs; keeps a history of near equal numbers from being cut at every tick of a clock


@dataclass
class Night:
    """One session: when, of what, and the time of each case, seconds."""

    date: str
    commit: str = ""
    machine: str = ""  # which GPU of its model, or which start of the machine
    device: str = ""
    source: str = ""
    times: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """From this night on another level, in seconds."""

    index: int
    before: float
    after: float


@dataclass
class Series:
    name: str
    values: list[Optional[float]]  # one a night
    changes: list[Change]
    accepted: list[tuple[int, float]]  # night at which a baseline was accepted, and its time

    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]


@dataclass
class History:
    nights: list[Night] = field(default_factory=list)
    accepted: list[Night] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    other_devices: int = 0
    looked_for_changes: bool = ruptures is not None

    def changed(self) -> list[Series]:
        """The cases whose level changed, the latest change first."""
        return sorted((series for series in self.series if series.changes), key=lambda one: -one.changes[-1].index)


def date_of(context: dict[str, Any], session: Any, path: Path) -> str:
    """As far as it can be trusted to be one: what is no date would sort and read as anything."""
    for text in (context.get(f"session.{session}.date"), context.get("date")):
        if isinstance(text, str) and (match := DATE.match(text)):
            return match[0].replace("T", " ")
    if match := FOLDER_DATE.match(path.name):
        return "{}-{}-{} {}:{}:{}".format(*match.groups())
    return ""


def documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of a night, the small one that sums it up alone where there is one."""
    if path.is_dir() and (path / "summary.json").is_file():
        path = path / "summary.json"
    for file in files_of(path):
        yield file.name, load_benchmarks(file)


def read_nights(path: Path) -> list[Night]:
    """A result folder is one night, a baseline one for each of its sessions. Published figures are none."""
    samples: dict[str, dict[str, dict[str, list[float]]]] = {}  # by session, name, process
    bad: set[tuple[str, str]] = set()
    contexts: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}  # a name is cut to its canonical form once
    for file, document in documents(path):
        context = document.get("context") if isinstance(document.get("context"), dict) else {}
        if context.get("provenance") == "published":
            continue
        for row in single_rows(document["benchmarks"]):
            session, raw = str(row.get("session", "")), row["name"]
            name = names.get(raw) or names.setdefault(raw, canonical(raw))
            contexts.setdefault(session, context)
            if (reason := trouble(row)) is None:
                process = f"{file}/{row['process']}" if "process" in row else file
                samples.setdefault(session, {}).setdefault(name, {}).setdefault(process, []).append(seconds(row))
            elif reason[0] in ("wrong", "failed"):
                bad.add((session, name))
    nights = []
    for session, rows in samples.items():
        context = contexts[session]

        def said(*keys: str) -> str:
            return next((str(context[k]) for key in keys for k in (f"session.{session}.{key}", key) if context.get(k)),
                        "")

        times = {name: statistics.median(map(statistics.median, processes.values()))
                 for name, processes in rows.items() if (session, name) not in bad}
        nights.append(Night(date_of(context, session, path), said("git_commit"), said("gpu_uuid"),
                            said("gpu_name", "cpu_model", "host_name"), path.name, times))
    return nights


def is_result(path: Path) -> bool:
    return any((path / name).is_file() for name in ("run.json", "summary.json"))


def entries_of(path: Path) -> list[Path]:
    """What a --history names: a file, a result folder, or a folder of results."""
    try:
        if path.is_file() or is_result(path):
            return [path]
        if not path.is_dir():
            raise UnusableInput(f"{path}: no such file or folder")
        return sorted(entry for entry in path.iterdir() if entry.is_dir() and is_result(entry))
    except OSError as error:
        raise UnusableInput(f"{path}: {error.strerror}") from error


def collect(history: History, paths: Iterable[Path], device: str) -> list[Night]:
    """Every night of the device. One night that cannot be read must not cost the other 364."""
    nights = []
    for path in paths:
        try:
            found = read_nights(path)
        except UnusableInput as error:
            history.unreadable.append(str(error))
            continue
        except OSError as error:
            history.unreadable.append(f"{path}: {error.strerror}")
            continue
        for night in found:
            if device and night.device and night.device != device:
                history.other_devices += 1
            else:
                nights.append(night)
    return sorted(nights, key=lambda night: (night.date, night.source))


def without_spikes(logs: list[float], noise: float) -> list[float]:
    """Nights far off their neighbours, and too few for a level, are bad nights: they take the neighbours' level."""
    window, smooth = 2 * FEWEST_NIGHTS - 1, []
    for index, value in enumerate(logs):
        start = max(0, min(index - window // 2, len(logs) - window))
        level = statistics.median(logs[start:start + window])
        smooth.append(level if abs(value - level) > 4 * noise else value)
    return smooth


def find_changes(values: list[Optional[float]]) -> list[Change]:
    """Change points of a history, found on the logs of its times, so that 1 % is 1 % at any length."""
    at = [index for index, value in enumerate(values) if value is not None]
    if ruptures is None or len(at) < FEWEST_TO_LOOK:
        return []
    import numpy

    times = [values[index] for index in at]
    logs = [math.log(time) for time in times]
    # Differences of neighbours see no level and no step: their median gives the noise of one night.
    steps = [abs(b - a) for a, b in zip(logs, logs[1:])]
    noise = max(LEAST_NOISE, statistics.median(steps) * 1.4826 / math.sqrt(2))
    signal = numpy.array(without_spikes(logs, noise)).reshape(-1, 1)
    # A split must save more than noise alone does at the best of all places, for hundreds of cases at once.
    penalty = noise ** 2 * (16 + 4 * math.log(len(at)))
    ends = ruptures.KernelCPD(kernel="linear", min_size=FEWEST_NIGHTS).fit(signal).predict(pen=penalty)
    return steps_worth_naming(times, ends, at)


def steps_worth_naming(times: list[float], ends: list[int], at: list[int]) -> list[Change]:
    """Levels between the cuts, joined again, the closest first, until each step is large enough to matter."""
    ends = list(ends)
    while True:
        starts = [0, *ends[:-1]]
        levels = [statistics.median(times[start:end]) for start, end in zip(starts, ends)]
        sizes = [abs(math.log(after / before)) for before, after in zip(levels, levels[1:])]
        if not sizes or min(sizes) >= math.log(1 + SMALLEST_STEP):
            return [Change(at[end], before, after) for end, before, after in zip(ends, levels, levels[1:])]
        del ends[sizes.index(min(sizes))]


def read_history(paths: list[Path], baselines: list[Path], device: str, names: Iterable[str]) -> History:
    """`names` are the cases to follow: those of the result. Cases that only older nights had come after them."""
    history = History()
    unique = {path.resolve(): path for path in paths}
    history.nights = collect(history, unique.values(), device)
    history.accepted = collect(history, baselines, device)
    if not history.nights:
        return history
    dates = [night.date for night in history.nights]
    order = dict.fromkeys([*names, *(name for night in history.nights for name in night.times)])
    for name in order:
        values = [night.times.get(name) for night in history.nights]
        if not any(value is not None for value in values):
            continue
        accepted = [(min(max(bisect.bisect_right(dates, night.date) - 1, 0), len(dates) - 1), night.times[name])
                    for night in history.accepted if name in night.times]
        history.series.append(Series(name, values, find_changes(values), accepted))
    return history
