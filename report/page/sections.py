"""The verdicts on the page: the line at the top, what is not the same, all rows, the plot of ratios."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import svg
from history import History
from markup import (NONE, Markup, cell, change_text, counted, el, interval_text, join, percent_text, row_name, table,
                    time_text, value_text)
from read import PASSED, REGRESSED, UNDECIDED, VERDICTS, ComparedRow, Comparison, Kernels, Table
from result_folder import parse_name
from sides import Side
from words import pair_text

# Of one verdict; all of them stand in the table. Rows that are merely new need nobody's eye.
MOST_CARDS, MOST_NEW_CARDS = 24, 3

# Colour is never the only sign: each verdict has its mark and is written out.
MARKS = {"wrong": "≠", "failed": "✕", "missing": "∅", "slower": "▲", "incomparable": "⊘", "inconclusive": "?",
         "faster": "▼", "new": "+", "same": "=", "skipped": "»"}
HEADLINES = {"pass": ("✓", "Passed"), "regressed": ("▲", "Regressed"), "undecided": ("?", "Undecided")}
COMPARE = "strictbench compare --baseline BASELINE --contender RESULT --format json --output RESULT/compare.json"


@dataclass
class Report:
    """Everything that was read. What is None was not given."""

    title: str
    result: Side
    baseline: Optional[Side] = None
    comparison: Optional[Comparison] = None
    table: Optional[Table] = None
    kernels: list[Kernels] = field(default_factory=list)
    history: History = field(default_factory=History)
    again: dict[str, dict[str, Side]] = field(default_factory=dict)  # by commit: base and head, measured by turns
    alarms: list[str] = field(default_factory=list)  # what was looked for and cannot be used


def section(id_: str, title: str, *content: Any, lead: Any = None) -> Markup:
    return el("section", el("h2", title, id=f"{id_}-title"), el("p", lead, class_="lead") if lead else None, *content,
              id=id_, aria_labelledby=f"{id_}-title")


def absent(what: str, command: str = "") -> Markup:
    """What a section says instead, where its file was not given."""
    return el("p", what, [" It is written by ", el("code", command), "."] if command else None, class_="absent")


def badge(verdict: str) -> Markup:
    return el("span", el("span", MARKS[verdict], class_="mark", aria_hidden="true"), " ", verdict,
              class_=f"badge {verdict}")


def said(side: Side, key: str, missing: str) -> str:
    values = side.said(key)
    return ", ".join(values[:3]) + (", …" if len(values) > 3 else "") if values else missing


def facts(report: Report) -> Markup:
    """Device, commit, date and what else a verdict stands on."""
    result, comparison = report.result, report.comparison
    commits = [commit[:12] for commit in result.said("git_commit")]
    dates = sorted(date[:16].replace("T", " ") for date in result.said("date"))
    dirty = " with local changes" if set(result.said("git_dirty")) & {"true", "1"} else ""
    listed = [("Device", result.device() or "not recorded"),
              ("Commit", ", ".join(commits[:3]) + dirty if commits else "not recorded"),
              ("Date", dates[0] if dates else "not recorded"),
              ("Processes", f"{result.processes()} a row")]
    if comparison:
        listed += [("Threshold", threshold_text(comparison)),
                   ("Error of the table", percent_text(comparison.alpha))]
    return el("dl", *(el("div", el("dt", key), el("dd", value)) for key, value in listed), class_="facts")


def threshold_text(comparison: Comparison) -> str:
    """The threshold, and that of the rows that were measured again by turns, where it is another."""
    again = [threshold for threshold in comparison.thresholds_again() if threshold != comparison.threshold]
    rest = f"; {', '.join(map(percent_text, again))} for what was measured again" if again else ""
    return percent_text(comparison.threshold) + rest


def warnings(report: Report) -> list[str]:
    """What spoils a verdict, whatever it is."""
    record, found = report.result.record, []
    status = record.get("status")
    if status in ("running", "interrupted"):
        found.append(f"The run is not complete: it is recorded as {status}.")
    processes = record.get("processes")
    bad = [process for process in processes if isinstance(process, dict) and process.get("status") != "ok"] \
        if isinstance(processes, list) else []
    if bad:
        found.append(f"{counted(len(bad), 'process', 'processes')} of {len(processes)} did not end well; first "
                     f"{bad[0].get('operator')}, process {bad[0].get('process')}: "
                     f"{bad[0].get('reason') or bad[0].get('status')}")
    if report.result.published():
        found.append("These figures were published by others, not measured here.")
    return found + report.alarms


def top(report: Report) -> Markup:
    """The verdict in one line, the counts, and what it stands on."""
    comparison = report.comparison
    kicker = el("p", el("b", "StrictBench"), " ", report.title, class_="kicker")
    alarms = [el("p", alarm, class_="alarm") for alarm in warnings(report)]
    if comparison is None:
        head = el("h1", el("span", "○", class_="mark", aria_hidden="true"), " Not compared ",
                  el("small", f"{counted(len(report.result.rows), 'row')} measured"))
        return el("header", kicker, head, facts(report), alarms, class_="top none")
    counts = {"regressed": comparison.count(*REGRESSED), "undecided": comparison.count(*UNDECIDED),
              "passed": comparison.count(*PASSED)}
    mark, word = HEADLINES[comparison.verdict]
    all_rows = sum(counts.values())
    about = {"regressed": counts["regressed"], "undecided": counts["undecided"], "pass": counts["passed"]}
    count = about[comparison.verdict]
    share = "all" if count == all_rows and count > 1 else f"{count:,} of"
    of = f"{share} {counted(all_rows, 'row')}"
    head = el("h1", el("span", mark, class_="mark", aria_hidden="true"), f" {word} ", el("small", of))
    tiles = [el("li", el("b", f"{number:,}"), " ", kind, el("span", details(comparison, verdicts), class_="details"),
                class_=kind + ("" if number else " zero"))
             for (kind, number), verdicts in zip(counts.items(), (REGRESSED, UNDECIDED, PASSED))]
    notes = el("ul", *(el("li", note) for note in comparison.notes), class_="notes") if comparison.notes else None
    return el("header", kicker, head, el("ul", tiles, class_="tiles"), proportions(counts), facts(report), alarms, notes,
              class_=f"top {comparison.verdict}")


def details(comparison: Comparison, verdicts: tuple[str, ...]) -> str:
    return ", ".join(f"{comparison.count(verdict):,} {verdict}" for verdict in verdicts if comparison.count(verdict)) \
        or "none"


def proportions(counts: dict[str, int]) -> Markup:
    """The counts as one bar."""
    total = sum(counts.values()) or 1
    rects, x = [], 0.0
    for kind, count in counts.items():
        rects.append(el("rect", x=svg.percent(x), width=svg.percent(count / total), y=0, height=6, class_=kind))
        x += count / total
    label = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return el("svg", *rects, role="img", aria_label=label, class_="proportions", width="100%", height=6)


def interesting(comparison: Comparison) -> list[ComparedRow]:
    return [row for row in comparison.gravest_first() if row.verdict != "same"]


def card(row: ComparedRow, target: Optional[str]) -> Markup:
    """A row that is not the same."""
    change = el("p", el("b", change_text(row.ratio)), " ", el("span", interval_text(row.low, row.high)),
                class_="change") if row.ratio is not None else None
    sides = [value_text(figures.median, row.unit) for figures in (row.baseline, row.contender)]
    times = el("p", sides[0], el("span", " → ", aria_hidden="true"), el("span", " became ", class_="aloud"), sides[1],
               class_="times") if sides != [NONE, NONE] else None
    return el("article", el("p", badge(row.verdict), " ", row_name(row.name)),
              el("div", change, times, class_="numbers"),
              el("p", row.reason, class_="reason") if row.reason else None,
              el("p", el("a", "samples", href=f"#{target}"), class_="more") if target else None,
              class_=f"card {row.verdict}")


def findings(report: Report, drawn: dict[str, str]) -> Markup:
    """Rows that are not `same`, gravest first."""
    if report.comparison is None:
        return section("findings", "What is not the same",
                       absent("No comparison was given, so nothing has a verdict.", COMPARE))
    rows = interesting(report.comparison)
    if not rows:
        return section("findings", "What is not the same", el("p", "Nothing: every row is the same.", class_="absent"))
    parts = []
    for verdict in VERDICTS:
        chosen = [row for row in rows if row.verdict == verdict]
        most = MOST_NEW_CARDS if verdict == "new" else MOST_CARDS
        parts += [card(row, drawn.get(row.name)) for row in chosen[:most]]
        if len(chosen) > most:
            parts.append(el("p", f"and {len(chosen) - most:,} more {verdict}, all of them in the ",
                            el("a", "table of all rows", href="#rows"), class_="rest"))
    return section("findings", "What is not the same", el("div", parts, class_="cards"))


def all_rows(report: Report) -> Markup:
    """Every row; sorted by a click on a head where scripts run."""
    if report.comparison is None:
        return section("rows", "All rows", measured_rows(report.result),
                       lead="Times of this run alone: the median over processes of each one's median.")
    # Sorting by verdict is by gravity, by names as they stand in the files otherwise.
    rows = [el("tr", cell(badge(row.verdict), sort=VERDICTS.index(row.verdict)),
               el("th", row_name(row.name), scope="row"),
               cell(value_text(row.baseline.median, row.unit), "number", row.baseline.median),
               cell(value_text(row.contender.median, row.unit), "number", row.contender.median),
               cell(change_text(row.ratio), "number", row.ratio),
               cell(interval_text(row.low, row.high), "number", row.low),
               cell(change_text(None if row.visible is None else 1 + row.visible), "number", row.visible),
               cell(f"{row.baseline.processes} / {row.contender.processes}", "number", row.contender.processes),
               class_=row.verdict) for row in report.comparison.gravest_first()]
    heads = [("verdict", ""), ("row", ""), ("baseline", "number"), ("contender", "number"), ("change", "number"),
             ("interval", "number"), ("shows from", "number"), ("processes", "number")]
    return section("rows", "All rows",
                   table("Every row of the comparison, gravest verdict first", heads, rows, "rows", True),
                   lead="Change is contender against baseline, above 0 is slower. “Shows from” is the smallest "
                        "slowdown that the row's data would have called slower.")


def measured_rows(side: Side) -> Markup:
    """The rows of a result that nothing was compared with."""
    rows = []
    for name, row in side.rows.items():
        state = row.spoiled() or ("" if row.samples else next(iter(row.trouble), ""))
        rows.append(el("tr", el("th", row_name(name), scope="row"),
                       cell(NONE if row.time() is None else time_text(row.time()), "number", row.time()),
                       cell(str(len(row.samples)), "number", len(row.samples)),
                       cell(": ".join(filter(None, (state, row.trouble.get(state, "")))) if state else "ok")))
    heads = [("row", ""), ("time", "number"), ("processes", "number"), ("state", "")]
    return table("Every row that was measured", heads, rows, "rows", True)


def ratios(report: Report) -> Markup:
    """The forest plot: each ratio with its interval, against the threshold and what would have shown."""
    comparison = report.comparison
    title = "Ratio of every case"
    if comparison is None:
        return section("ratios", title, absent("No comparison was given, so there are no ratios."))
    rows = [row for row in comparison.rows if row.ratio is not None]
    if not rows:
        return section("ratios", title, absent("No row has a ratio."))
    known = [ratio for row in rows for ratio in (row.low, row.high, row.ratio) if ratio is not None]
    scale = svg.RatioScale(known, comparison.threshold)
    words = ["0" if tick == 1 else f"{100 * (tick - 1):+.3g} %".replace("-", "−") for tick in scale.ticks()]
    numbers = el("div", el("span"), svg.axis(scale, words), el("span"), class_="ratio axis-line")
    groups: dict[str, list[ComparedRow]] = {}
    for row in rows:
        groups.setdefault(row.name.split("/")[0], []).append(row)
    plots = []
    for operator, members in groups.items():
        labels, shared = short_names([row.name for row in members])
        lines = [ratio_line(row, label, scale) for row, label in zip(members, labels)]
        plots.append(el("div", el("h3", operator, " ", el("span", shared, class_="shape")), numbers,
                        el("ul", lines, class_="forest-plot"), class_="operator"))
    lead = join("Dot and line: contender / baseline with its interval, slower to the right. Shaded: less than the "
                f"threshold of {threshold_text(comparison)}. Short upright line: the smallest slowdown that "
                "would have shown. An arrow goes on beyond the drawing.")
    return section("ratios", title, plots, numbers, lead=lead)


def short_names(names: list[str]) -> tuple[list[Markup], str]:
    """Names of one operator's rows without what they share, and that."""
    parsed = [parse_name(name) for name in names]
    shapes = {case.shape for case, _ in filter(None, parsed)}
    first = next(iter(shapes), ())
    ours = len(shapes) > 1 and None not in parsed
    shared = [pair for pair in first if ours and all(pair in shape for shape in shapes)]
    labels = []
    for name, found in zip(names, parsed):
        if found is None:
            labels.append(row_name(name))
            continue
        own = [pair_text(*pair) for pair in found[0].shape if pair not in shared]
        labels.append(el("span", el("b", found[1]), " ", el("span", " · ".join(own), class_="shape"), class_="name"))
    return labels, " · ".join(pair_text(*pair) for pair in shared)


def ratio_line(row: ComparedRow, label: Markup, scale: svg.RatioScale) -> Markup:
    told = f"{row.verdict}: {change_text(row.ratio)}, {interval_text(row.low, row.high)}"
    return el("li", label, svg.forest_line(scale, row.threshold, row.ratio, row.low, row.high, row.visible, told),
              el("span", el("span", MARKS[row.verdict], class_="mark", title=row.verdict), " ", change_text(row.ratio),
                 class_="value"), class_=f"ratio {row.verdict}")
