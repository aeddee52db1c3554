"""The samples of rows that are not the same; and the sections of the verdicts, which point at them, in their order."""
from __future__ import annotations

from typing import Optional

import svg
from markup import Markup, counted, el, row_name, time_text
from read import ComparedRow
from sections import Report, absent, all_rows, badge, findings, interesting, ratios, section
from sides import Row, Side, canonical

MOST_STRIPS = 40  # all rows stand in the table


def lanes(row: Optional[Row]) -> list[tuple[str, list[float]]]:
    return [] if row is None or row.spoiled() else list(row.samples.items())


def lanes_text(side: list[tuple[str, list[float]]]) -> str:
    count = sum(len(samples) for _, samples in side)
    if count == 0:
        return "no samples"
    processes = counted(len(side), "process", "processes")
    return f"the medians of {processes}" if count == len(side) else f"{processes}, {counted(count, 'sample')}"


def sides_of(row: ComparedRow, report: Report) -> list[tuple[str, str, Optional[Side]]]:
    """What the numbers of a row were made of: where it was measured again, the two builds and not the baseline."""
    if not row.again:
        return [("before", "baseline", report.baseline), ("after", "contender", report.result)]
    again = report.again.get(row.again, {})
    return [("before", f"{row.again}, by turns", again.get("base")), ("after", "contender, by turns", again.get("head"))]


def strip(row: ComparedRow, anchor: str, report: Report) -> Optional[Markup]:
    """The samples of one row, both sides."""
    name = canonical(row.name)
    sides = [(kind, title, lanes(side.rows.get(name) if side else None)) for kind, title, side in sides_of(row, report)]
    if not any(side for _, _, side in sides) or row.verdict in ("wrong", "failed"):
        return None
    values = [value for _, _, side in sides for _, samples in side for value in samples]
    told = [f"{title}: {lanes_text(side)}" for _, title, side in sides]
    drawing = svg.strips([(kind, side) for kind, _, side in sides if side], f"Samples of {row.name}: {'; '.join(told)}")
    return el("figure", el("figcaption", badge(row.verdict), " ", row_name(row.name)), drawing,
              el("div", el("span", time_text(min(values))), el("span", time_text(max(values))), class_="ends"),
              el("p", el("span", told[0], class_="key before"), " ", el("span", told[1], class_="key after"),
                 class_="keys"),
              id=anchor)


def samples(report: Report, drawings: list[Markup], left: int) -> Markup:
    """Strips of all rows that are not `same` and have samples."""
    title = "Samples by process"
    if report.comparison is None:
        return section("samples", title, absent("No comparison was given: samples are drawn of rows that differ."))
    if not interesting(report.comparison):
        return section("samples", title, absent("Every row is the same, so there is nothing to look into."))
    if not drawings:
        return section("samples", title, absent("None of the rows that are not the same has samples here."))
    lead = ("One lane a process, one dot a sample, the bar its median; time runs to the right. Lanes that agree "
            "among themselves and differ between the sides are a change; lanes that scatter are noise.")
    rest = el("p", f"and {counted(left, 'row')} more, not drawn", class_="rest") if left else None
    return section("samples", title, el("div", drawings, class_="strips"), rest, lead=lead)


def verdict_sections(report: Report) -> list[Markup]:
    """In the order of the page."""
    drawings, drawn, left = [], {}, 0
    for index, row in enumerate(interesting(report.comparison) if report.comparison else []):
        anchor = f"samples-{index}"  # made of a number: nothing of a name goes into an address
        if (figure := strip(row, anchor, report)) is None:
            continue
        if len(drawings) < MOST_STRIPS:
            drawings.append(figure)
            drawn[row.name] = anchor
        else:
            left += 1
    return [findings(report, drawn), all_rows(report), ratios(report), samples(report, drawings, left)]
