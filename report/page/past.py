"""The history on the page: where levels changed, and one small drawing a case."""
from __future__ import annotations

import math
import statistics
from typing import Optional

import svg
from history import FEWEST_NIGHTS, FEWEST_TO_LOOK, SMALLEST_STEP, Change, History, Night, Series
from markup import NONE, Markup, cell, change_text, counted, el, percent_text, row_name, table, time_text
from sections import MARKS, Report, absent, section

MOST_CHANGES = 100
MOST_UNREADABLE = 5


def day(night: Night) -> str:
    return night.date[:10] or night.source or "no date"


def commits(history: History, series: Series, change: Change) -> str:
    """Between which commits a level changed: the last that was measured before it, and the first after."""
    earlier = [index for index in range(change.index) if series.values[index] is not None]
    before = history.nights[earlier[-1]].commit[:10] if earlier else ""
    after = history.nights[change.index].commit[:10]
    if not before or not after:
        return NONE
    return f"{before}..{after}" if before != after else f"{after}, the same"


def other_machine(history: History, series: Series, change: Change) -> str:
    """A step where the machine changed too is not the code's alone."""
    earlier = [index for index in range(change.index) if series.values[index] is not None]
    machines = [history.nights[index].machine for index in (*earlier[-1:], change.index)]
    return "another GPU from then on" if all(machines) and len(set(machines)) > 1 else ""


def changes_table(history: History) -> Optional[Markup]:
    found = [(change, series) for series in history.series for change in series.changes]
    if not found:
        return None
    found.sort(key=lambda pair: -pair[0].index)
    rows = []
    for change, series in found[:MOST_CHANGES]:
        ratio = change.after / change.before
        kind = "slower" if ratio > 1 else "faster"
        step = el("b", f"{MARKS[kind]} {change_text(ratio)}")
        rows.append(el("tr", cell(day(history.nights[change.index]), "date", change.index),
                       el("th", row_name(series.name), scope="row"), cell(step, f"number step {kind}", ratio),
                       cell(f"{time_text(change.before)} → {time_text(change.after)}", "number", change.after),
                       cell(commits(history, series, change), "commits"), cell(other_machine(history, series, change))))
    heads = [("from", ""), ("row", ""), ("step", "number"), ("level", "number"), ("commits", ""), ("", "")]
    caption = "Where a level changed, latest first"
    if len(found) > MOST_CHANGES:
        caption += f": {MOST_CHANGES} of {len(found):,}"
    return table(caption, heads, rows, "changes", True)


def levels(series: Series) -> list[tuple[int, int, float]]:
    """Stretches between changes with their level, for the drawing."""
    measured = [index for index, value in enumerate(series.values) if value is not None]
    first, last = measured[0], measured[-1]
    if not series.changes:
        return [(first, last + 1, statistics.median(series.known()))]
    starts = [first, *(change.index for change in series.changes)]
    ends = [*starts[1:], last + 1]
    heights = [series.changes[0].before, *(change.after for change in series.changes)]
    return list(zip(starts, ends, heights))


def scatter(series: Series) -> str:
    """How far 19 of 20 nights lie from the middle one; says nothing where nights are few."""
    known = series.known()
    if len(known) < 20:
        return ""
    middle = statistics.median(known)
    sizes = sorted(abs(math.log(value / middle)) for value in known)
    return f"19 of 20 nights within {100 * math.expm1(sizes[math.ceil(0.95 * len(sizes)) - 1]):.2g} %"


def drawing(history: History, series: Series) -> Markup:
    known = series.known()
    last = max(index for index, value in enumerate(series.values) if value is not None)
    told = [f"{counted(len(known), 'night')}"]
    told += [f"{change_text(change.after / change.before)} from {day(history.nights[change.index])}"
             for change in series.changes[-3:]]
    stale = f"not since {day(history.nights[last])}" if last + 1 < len(series.values) else ""
    shown = ", ".join(filter(None, (stale, *told[1:]))) or scatter(series)
    return el("figure", el("figcaption", row_name(series.name)),
              svg.sparkline(series.values, levels(series), series.accepted, f"{series.name}: {', '.join(told)}"),
              el("p", el("b", time_text(series.values[last])), " ", el("span", shown), class_="now"),
              class_="history" + (" changed" if series.changes else ""))


def missing(history: History) -> list[Markup]:
    """What is not in the drawings, and why."""
    notes = []
    if history.unreadable:
        notes.append(el("p", f"{counted(len(history.unreadable), 'file')} could not be read: ",
                        "; ".join(history.unreadable[:MOST_UNREADABLE]),
                        " …" if len(history.unreadable) > MOST_UNREADABLE else None, class_="alarm"))
    if history.other_devices:
        notes.append(el("p", f"{counted(history.other_devices, 'night')} of other devices left out.", class_="rest"))
    if not history.looked_for_changes:
        notes.append(el("p", "Changes of level were not looked for: the Python package ruptures is not installed "
                             "(report/requirements.txt).", class_="rest"))
    return notes


def past(report: Report) -> Markup:
    history, title = report.history, "History"
    if len(history.nights) < 2:
        return section("history", title, absent(
            f"{counted(len(history.nights), 'night')} of this device was found; a history takes two. Results beside "
            "this one are found by themselves, others are named with --history."), missing(history))
    first, last = day(history.nights[0]), day(history.nights[-1])
    steady = [series for series in history.series if not series.changes]
    accepted = f" Squares: {counted(len(history.accepted), 'accepted baseline')}." if history.accepted else ""
    lead = (f"{counted(len(history.nights), 'night')} from {first} to {last}, evenly spaced, each drawing with its own "
            f"log scale. Thin: each night. Thick: the level. A change is a step of {percent_text(SMALLEST_STEP)} or more "
            f"that lasts {FEWEST_NIGHTS} nights or longer, looked for in cases of {FEWEST_TO_LOOK} nights and more."
            f"{accepted}")
    drawings = [drawing(history, series) for series in (*history.changed(), *steady)]
    return section("history", title, *missing(history),
                   changes_table(history) or el("p", "No case changed its level.", class_="absent"),
                   el("div", drawings, class_="sparks"), lead=lead)
