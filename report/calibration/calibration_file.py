"""Reads calibration.json as a picture needs it: what `strictbench calibrate` wrote, or UnusableInput."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from result_folder import UnusableInput, load  # noqa: E402  (found through the line above)
from words import plain  # noqa: E402

VERDICTS = ("slower", "inconclusive", "same", "faster", "other")
LARGEST = 1e30  # beyond it a number is no share and no time
MOST_ROWS = 2 ** 53  # what a double still counts one by one
MOST_COLUMNS = 200  # of all timers together


def whole(value: Any) -> bool:
    """Whether this is a count. Python reads integers of any length."""
    return type(value) is int and 0 <= value <= MOST_ROWS


def finite(value: Any) -> bool:
    """Whether this is a number to calculate with: not NaN, not infinite, no integer that no double holds."""
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST


def check_counts(place: str, entry: Any) -> None:
    if not isinstance(entry, dict) or not all(whole(entry.get(key)) for key in ("rows", *VERDICTS)):
        raise UnusableInput(f"{place}: counts are missing or are none")
    if sum(entry[key] for key in VERDICTS) != entry["rows"]:
        raise UnusableInput(f"{place}: verdicts that do not add up to its {entry['rows']:,} rows")
    check_numbers(place, entry, "reached_low", "reached_high")


def check_numbers(place: str, holder: dict[str, Any], *keys: str) -> None:
    """Each is a number or not there (null)."""
    for key in keys:
        if holder.get(key) is not None and not finite(holder[key]):
            raise UnusableInput(f"{place}: {key} is no number")


def check_timer(file: Path, timer: Any) -> None:
    if not isinstance(timer, dict) or not isinstance(timer.get("timer"), str) or not isinstance(timer.get("sizes"), list):
        raise UnusableInput(f"{file}: a timer without name and sizes")
    place = f"{file}: timer {plain(timer['timer'])}"
    if timer.get("processes") is not None and not whole(timer["processes"]):
        raise UnusableInput(f"{place}: processes is no count")
    for entry in [timer.get("identical"), *timer["sizes"]]:
        check_counts(place, entry)
    if not all(finite(entry.get("size")) for entry in timer["sizes"]):
        raise UnusableInput(f"{place}: a size is no number")


def check_settings(file: Path, settings: Any) -> None:
    if settings is None:
        return
    if not isinstance(settings, dict):
        raise UnusableInput(f"{file}: settings is not an object")
    for key in ("threshold", "alpha"):
        if settings.get(key) is not None and not (finite(settings[key]) and 0 < settings[key] <= 1):
            raise UnusableInput(f"{file}: settings: {key} is no share above 0 and up to 1")
    if type(settings.get("sides")) in (int, float) and not whole(settings["sides"]):
        raise UnusableInput(f"{file}: settings: sides is no count")


def read(path: Path) -> dict[str, Any]:
    """The calibration of a folder or file, or UnusableInput. Every number that is drawn is one, or null."""
    file = path / "calibration.json" if path.is_dir() else path
    document = load(file)
    timers, cases = document.get("timers"), document.get("cases")
    if not isinstance(timers, list) or not isinstance(cases, list):
        raise UnusableInput(f"{file}: not a calibration: no lists named timers and cases")
    if not timers:
        raise UnusableInput(f"{file}: no case was judged, so there is nothing to draw")
    for timer in timers:
        check_timer(file, timer)
    if (columns := sum(1 + len(timer["sizes"]) for timer in timers)) > MOST_COLUMNS:
        raise UnusableInput(f"{file}: {columns:,} sizes of all timers; a picture has room for {MOST_COLUMNS}")
    for case in cases:
        if not isinstance(case, dict) or not isinstance(case.get("timer"), str):
            raise UnusableInput(f"{file}: a case without a timer")
        check_numbers(f"{file}: case {plain(str(case.get('name')))}", case, "time_ns", "smallest_visible")
    check_settings(file, document.get("settings"))
    return document
