"""Pictures of the report for places that show no page: the ratios, and the histories that changed, as PNG and SVG."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from speedup import FAINT, INK, MUTED, plain, text_width  # noqa: E402  (sets up matplotlib's fonts)

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FixedLocator, NullLocator  # noqa: E402

from figure_files import save_both  # noqa: E402
from history import History, Series  # noqa: E402
from markup import change_text, time_text  # noqa: E402
from past import day, levels  # noqa: E402
from read import REGRESSED, UNDECIDED, ComparedRow, Comparison  # noqa: E402
from sections import MARKS, Report, threshold_text  # noqa: E402
from svg import RatioScale  # noqa: E402

RED, AMBER, GREEN, BLUE = "#b42318", "#8a5300", "#1a6e37", "#0b5cad"

# Inches.
MARGIN, HEADER, FOOTER, LINE = 0.25, 1.0, 0.75, 0.235
PLOT, VALUE = 5.0, 1.1
MOST_HISTORIES = 24
LONGEST_NAME = 100


def colour(verdict: str) -> str:
    return RED if verdict in REGRESSED else AMBER if verdict in UNDECIDED else GREEN if verdict == "faster" else MUTED


def headline(report: Report) -> str:
    """What a picture on its own must still say."""
    commits = [commit[:12] for commit in report.result.said("git_commit")]
    dates = sorted(date[:16].replace("T", " ") for date in report.result.said("date"))
    commit = f"commit {', '.join(commits[:2])}" if commits else "commit not recorded"
    return plain("  ·  ".join([report.result.device() or "device not recorded",
                               dates[0] if dates else "date not recorded", commit]), 110)


def clear(axes: Axes) -> None:
    for side in ("top", "left", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_minor_locator(NullLocator())


def draw_ratio(axes: Axes, line: int, row: ComparedRow, scale: RatioScale) -> None:
    """One row of the plot; the axis counts in shares of its width."""
    shade = colour(row.verdict)
    outside = axes.get_yaxis_transform()
    style = {"transform": outside, "va": "center", "fontsize": 9, "color": shade}
    axes.text(-0.02, line, plain(row.name, LONGEST_NAME), ha="right", **{**style, "color": INK})
    axes.text(1.02 + VALUE / PLOT, line, change_text(row.ratio), ha="right", **style,
              fontweight="bold" if row.verdict in REGRESSED else "normal")
    axes.text(1.035, line, MARKS[row.verdict], ha="center", **style)
    if row.visible is not None and not scale.beyond(1 + row.visible):
        axes.plot([scale.share(1 + row.visible)] * 2, [line - 0.3, line + 0.3], color=INK, alpha=0.5, linewidth=1)
    if row.low is not None and row.high is not None:
        axes.plot([scale.share(row.low), scale.share(row.high)], [line, line], color=shade, linewidth=1.6)
        for end in (row.low, row.high):
            mark = "|" if not scale.beyond(end) else ">" if end > 1 else "<"
            axes.plot(scale.share(end), line, marker=mark, color=shade, markersize=6)
    if not scale.beyond(row.ratio):
        axes.plot(scale.share(row.ratio), line, "o", color=shade, markersize=5)


def draw_ratios(report: Report, comparison: Comparison, rows: list[ComparedRow]) -> Figure:
    scale = RatioScale([ratio for row in rows for ratio in (row.low, row.high, row.ratio) if ratio is not None],
                       comparison.threshold)
    left = MARGIN + max(text_width(plain(row.name, LONGEST_NAME), 9) for row in rows) + 0.2
    width, body = left + PLOT + VALUE + 0.3 + MARGIN, LINE * len(rows)
    height = HEADER + body + FOOTER
    figure = Figure(figsize=(width, height), facecolor="white")
    figure.text(MARGIN / width, 1 - 0.42 / height, f"Contender / baseline: {comparison.verdict}", fontsize=17,
                fontweight="bold", color=INK)
    figure.text(MARGIN / width, 1 - 0.7 / height, headline(report), fontsize=10, color=MUTED)
    axes = figure.add_axes((left / width, FOOTER / height, PLOT / width, body / height))
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    bands = [(scale.share(1 / (1 + row.threshold)), scale.share(1 + row.threshold)) for row in rows]
    axes.barh(range(len(rows)), [high - low for low, high in bands], left=[low for low, _ in bands], height=1.0,
              color="#eaeef2", linewidth=0, zorder=0)
    axes.axvline(scale.share(1), color=MUTED, linewidth=1, zorder=0.5)
    for line, row in enumerate(rows):
        draw_ratio(axes, line, row, scale)
    clear(axes)
    axes.xaxis.set_major_locator(FixedLocator([scale.share(tick) for tick in scale.ticks()]))
    axes.set_xticklabels([f"{100 * (tick - 1):+.3g} %" if tick != 1 else "0" for tick in scale.ticks()])
    axes.tick_params(axis="x", colors=MUTED, labelsize=9, length=3)
    axes.grid(axis="x", color=FAINT, linewidth=0.6, zorder=0.3)
    figure.text(MARGIN / width, 0.2 / height, f"Grey: the threshold of {threshold_text(comparison)}. Upright line: "
                "the smallest slowdown that would have shown. Right is slower.", fontsize=8.5, color=MUTED)
    return figure


def draw_history(report: Report, history: History, chosen: list[Series]) -> Figure:
    """The cases whose level changed, latest first, one line each."""
    each, width = 0.95, 11.5
    height = HEADER + each * len(chosen) + 0.3
    figure = Figure(figsize=(width, height), facecolor="white")
    figure.text(MARGIN / width, 1 - 0.42 / height, "Where a level changed", fontsize=17, fontweight="bold", color=INK)
    figure.text(MARGIN / width, 1 - 0.7 / height, f"{headline(report)}  ·  {len(history.nights)} nights from "
                f"{plain(day(history.nights[0]))}", fontsize=10, color=MUTED)
    for line, series in enumerate(chosen):
        bottom = height - HEADER - each * (line + 1) + 0.1
        axes = figure.add_axes((MARGIN / width, bottom / height, 1 - 2 * MARGIN / width, (each - 0.4) / height))
        axes.set_facecolor("#f6f8fa")
        at = [index for index, value in enumerate(series.values) if value is not None]
        axes.semilogy(at, [series.values[index] for index in at], color=INK, linewidth=0.8)
        for start, end, level in levels(series):
            axes.plot([start - 0.5, end - 0.5], [level, level], color=BLUE, linewidth=4, alpha=0.4)
        for change in series.changes:
            axes.axvline(change.index - 0.5, color=AMBER, linewidth=1, linestyle=(0, (3, 3)))
        axes.plot(*zip(*series.accepted), "s", color=INK, markersize=5) if series.accepted else None
        axes.set_xlim(-0.5, len(series.values) - 0.5)
        clear(axes)
        axes.xaxis.set_major_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
        last = series.changes[-1]
        told = f"{change_text(last.after / last.before)} from {day(history.nights[last.index])}"
        axes.text(0, 1.08, plain(series.name, LONGEST_NAME), transform=axes.transAxes, fontsize=9, color=INK)
        axes.text(1, 1.08, plain(f"{time_text(last.after)}  {told}"), transform=axes.transAxes, fontsize=9, ha="right",
                  color=RED if last.after > last.before else GREEN, fontweight="bold")
    return figure


def save_all(report: Report, folder: Path, stem: str) -> list[Path]:
    """The pictures that there is anything to show on; one of an earlier report goes, so that none is out of date."""
    drawn: dict[str, Optional[Figure]] = {f"{stem}-ratios": None, f"{stem}-history": None}
    if report.comparison and (rows := [row for row in report.comparison.rows if row.ratio is not None]):
        drawn[f"{stem}-ratios"] = draw_ratios(report, report.comparison, rows)
    if chosen := report.history.changed()[:MOST_HISTORIES]:
        drawn[f"{stem}-history"] = draw_history(report, report.history, chosen)
    saved = []
    for name, figure in drawn.items():
        if figure is not None:
            saved += save_both(figure, folder, name, 110)
        else:
            for kind in ("png", "svg"):
                (folder / f"{name}.{kind}").unlink(missing_ok=True)
    return saved
