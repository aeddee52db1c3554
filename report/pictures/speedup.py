#!/usr/bin/env python3
"""Draws the speedup over legacy, case by case, from a result folder: speedup.png and speedup.svg.

usage: speedup.py RESULT [--out DIR]

One panel an operator, one line a case and variant, a log scale that starts at the line "legacy = 1". The times
stand beside it as numbers. What is wrong, failed or skipped says so in place of a time.
"""
from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import matplotlib

matplotlib.use("Agg")
from matplotlib.axes import Axes  # noqa: E402  (the backend is chosen first)
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.textpath import text_to_path  # noqa: E402
from matplotlib.ticker import FixedLocator, NullLocator  # noqa: E402

import result_folder  # noqa: E402
from figure_files import any_letters, save_both  # noqa: E402
from program import run_program  # noqa: E402
from result_folder import Measured, Results, Speedup, UnusableInput  # noqa: E402
from words import pair_text, plain, speedup_text, time_text  # noqa: E402

matplotlib.rcParams.update({
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 11,
    "text.parse_math": False,  # names are data: a dollar sign in one is no formula
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and tested
    "svg.hashsalt": "strictbench",  # the same results give the same bytes
})

INK, MUTED, FAINT, ALARM = "#1c2128", "#57606a", "#d8dee4", "#b42318"
SLOWER_GROUND = "#fbeceb"
COLOURS = {"legacy": "#57606a", "new": "#0b5cad"}
MORE_COLOURS = ["#b35900", "#1a7f5a", "#8250df", "#a3306e", "#4d6b00"]

# Inches.
TITLE, AXIS, GAP = 0.64, 0.34, 0.12
HEADER, FOOTER, MARGIN = 1.02, 0.62, 0.25
PLOT_WIDTH, COLUMN_WIDTH = 5.0, 0.98


@dataclass
class Panel:
    """One operator: its cases with their labels, and what all of them share, which moves into the title."""

    operator: str
    shared: str
    cases: list[tuple[str, dict[str, Measured]]]
    variants: list[str]  # legacy first

    def others(self) -> list[str]:
        return [variant for variant in self.variants if variant != "legacy"]

    def lines(self) -> int:
        return len(self.cases) * max(1, len(self.others()))

    def plot_height(self) -> float:
        """Lines of one case stand a little closer together than lines of different cases must."""
        return self.lines() * (0.285 if len(self.others()) <= 1 else 0.24)

    def height(self) -> float:
        return TITLE + self.plot_height() + AXIS + GAP


def panels_of(results: Results) -> list[Panel]:
    """Cuts the results into panels and each case's name into what it shares and what sets it apart."""
    panels = []
    for operator in results.operators():
        cases = {case: variants for case, variants in results.cases.items() if case.operator == operator}
        shapes = [case.shape for case in cases]
        shared = [pair for pair in shapes[0] if len(shapes) > 1 and all(pair in shape for shape in shapes)]
        labelled = []
        for case, variants in cases.items():
            own = [pair_text(*pair) for pair in case.shape if pair not in shared]
            labelled.append((plain(" · ".join(own) or operator), variants))
        names = list(dict.fromkeys(name for variants in cases.values() for name in variants))
        names.sort(key=lambda name: name != "legacy")
        panels.append(Panel(operator, " · ".join(pair_text(*pair) for pair in shared), labelled, names))
    return panels


def colour(variant: str, others: list[str]) -> str:
    named = COLOURS.get(variant)
    return named or MORE_COLOURS[[o for o in others if o not in COLOURS].index(variant) % len(MORE_COLOURS)]


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Inches that a text takes in the drawing's own font."""
    if not text:
        return 0.0
    font = matplotlib.font_manager.FontProperties(family="DejaVu Sans", weight=weight, size=size)
    with any_letters():
        return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def fitting(text: str, size: float, room: float) -> str:
    """The text, or as much of its beginning as fits into so many inches."""
    text = plain(text, 200)
    while text_width(text, size) > room and len(text) > 1:
        text = text[:-2] + "…"
    return text


def limits(speedups: list[Speedup], floors: bool) -> tuple[float, float]:
    """From a little under the least to enough above the greatest for its number, and for the share of its floor
    where there is one; the line at 1 always inside."""
    low = min([0.9, *(s.low * 0.9 for s in speedups)])
    high = max([1.5, *(s.high for s in speedups)])
    return low, high * (high / low) ** (0.6 if floors else 0.2)


def share_text(share: float) -> str:
    """The share of its floor that a variant reaches. Ten floors and more come from a wrong one, however wrong."""
    if share > 10:
        return "over 1,000 % of floor"
    percent = 100 * share
    return f"{percent:.0f} % of floor" if percent >= 9.95 else f"{percent:.2g} % of floor"


def ticks(low: float, high: float) -> list[float]:
    """Round numbers on a log scale: decades where there are several, halves and fifths where there is one."""
    decades = [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    if high / low > 2e5:
        steps = decades[::2] if 1.0 in decades[::2] else decades[1::2]
    elif high / low > 200:
        steps = decades
    elif high / low > 6:
        steps = [decade * step for decade in decades for step in (1, 2, 5)]
    else:
        close = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5)
        steps = [decade * step for decade in decades for step in close]
    return [step for step in dict.fromkeys(steps) if low <= step <= high]


def why_no_speedup(variants: dict[str, Measured], variant: str) -> tuple[str, str]:
    """What stands in the plot where there is no speedup, and its colour."""
    if variant not in variants:
        return "not measured", MUTED
    status, message = variants[variant].status(), variants[variant].message()
    if status != "ok":
        return (f"{status}: {message}" if message and not message.startswith(status) else message or status,
                ALARM if status in ("wrong", "failed") else MUTED)
    legacy = variants.get("legacy")
    if legacy is None:
        return "no legacy row to compare with", MUTED
    if legacy.status() != "ok":
        return f"no time of legacy: {legacy.status()}", ALARM if legacy.status() in ("wrong", "failed") else MUTED
    return "no process measured both", MUTED


def column_head(variant: str) -> str:
    """Head of a time column; the dot is the one that marks the variant in the plot."""
    return plain(variant, 16) if variant == "legacy" else f"● {plain(variant, 16)}"


def column_edges(panel: Panel, left: float) -> list[float]:
    """Right edges of the time columns, in inches, each as wide as its head needs."""
    edges, x = [], left + PLOT_WIDTH + 0.1
    for variant in panel.variants:
        x += max(COLUMN_WIDTH, text_width(column_head(variant), 11, "bold") + 0.22)
        edges.append(x)
    return edges


def time_cell(measured: Optional[Measured]) -> tuple[str, str]:
    """A time column's text and colour."""
    if measured is None:
        return "–", MUTED
    time = measured.time()
    if time is not None:
        return time_text(time), INK
    status = measured.status()
    return status, ALARM if status in ("wrong", "failed") else MUTED


def draw_panel(axes: Axes, panel: Panel, columns: list[float]) -> None:
    """Lines from 1 to each variant's speedup, its number at the end, its process spread across it."""
    others = panel.others() or [""]
    speedups = [result_folder.speedup(variants, variant) if variant in variants else None
                for _, variants in panel.cases for variant in others]
    shares = [variants[variant].share_of_floor() if variant in variants else None
              for _, variants in panel.cases for variant in others]
    low, high = limits([s for s in speedups if s], any(shares))
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(panel.lines() - 0.5, -0.5)
    axes.axvspan(low, 1, color=SLOWER_GROUND, linewidth=0, zorder=0.8)
    axes.axvline(1, color=COLOURS["legacy"], linewidth=1.6, zorder=2)
    axes.annotate("legacy = 1", (1, -0.5), xytext=(0, 7.5), textcoords="offset points", ha="center", va="baseline",
                  color=COLOURS["legacy"], fontsize=11, annotation_clip=False)
    outside = axes.get_yaxis_transform()  # x in parts of the plot's width, y in lines

    line = 0
    for index, (label, variants) in enumerate(panel.cases):
        middle = line + (len(others) - 1) / 2
        if index % 2 == 1:
            axes.axhspan(line - 0.5, line + len(others) - 0.5, color="#f6f8fa", linewidth=0, zorder=0.5)
        axes.text(-0.015, middle, label, transform=outside, ha="right", va="center", color=INK, fontsize=11)
        for x, variant in zip(columns, panel.variants):
            text, ink = time_cell(variants.get(variant))
            axes.text(x, middle, text, transform=outside, ha="right", va="center", color=ink, fontsize=11)
        for variant in others:
            shade = colour(variant, others) if variant else MUTED
            value = speedups[line]
            if value:
                axes.plot([1, value.median], [line, line], color=shade, linewidth=5, alpha=0.35,
                          solid_capstyle="butt", zorder=3)
                axes.plot([value.low, value.high], [line, line], color=INK, linewidth=1.3, marker="|",
                          markersize=9, zorder=4)
                axes.plot([value.median], [line], "o", color=shade, markersize=7, zorder=5)
                axes.annotate(speedup_text(value.median), (max(value.high, 1.0), line), xytext=(9, 0),
                              textcoords="offset points", ha="left", va="center", color=shade, fontsize=11,
                              fontweight="bold", annotation_clip=False, zorder=6)
                if shares[line]:
                    beside = 9 + 72 * text_width(speedup_text(value.median) + "0", 11, "bold")
                    axes.annotate(share_text(shares[line]), (max(value.high, 1.0), line), xytext=(beside, 0),
                                  textcoords="offset points", ha="left", va="center", color=MUTED, fontsize=10,
                                  annotation_clip=False, zorder=6)
            else:
                text, ink = why_no_speedup(variants, variant) if variant else ("no variant beside legacy", MUTED)
                room = PLOT_WIDTH * math.log(high) / math.log(high / low) - 0.15
                axes.annotate(fitting(text, 10.5, room), (1.0, line), xytext=(9, 0), textcoords="offset points",
                              ha="left", va="center", color=ink, fontsize=10.5, zorder=6)
            line += 1

    axes.xaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×" if value < 1 else f"{value:,.10g}×")
    axes.yaxis.set_major_locator(NullLocator())
    axes.tick_params(axis="x", colors=MUTED, labelsize=10, length=3)
    axes.grid(axis="x", color=FAINT, linewidth=0.7, zorder=1)
    axes.set_axisbelow(True)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def draw_panel_head(figure: Figure, panel: Panel, top: float, edges: list[float]) -> None:
    """Operator, what its cases share, and the heads of the time columns. Positions in inches from top left."""
    width, height = figure.get_size_inches()

    def put(x: float, y: float, text: str, **style: object) -> None:
        figure.text(x / width, 1 - y / height, text, **{"va": "baseline", "fontsize": 11, "color": INK, **style})

    put(MARGIN, top + 0.27, plain(panel.operator), fontsize=14, fontweight="bold")
    shared_x = MARGIN + text_width(plain(panel.operator), 14, "bold") + 0.2
    put(shared_x, top + 0.27, plain(panel.shared, 100), color=MUTED)
    for x, variant in zip(edges, panel.variants):  # the heads are the legend too
        put(x, top + 0.54, column_head(variant), ha="right", fontweight="bold", color=colour(variant, panel.others()))


def joined(values: list[str], missing: str) -> str:
    return plain(", ".join(values[:3]) + (", …" if len(values) > 3 else ""), 90) if values else missing


def headline(results: Results) -> list[str]:
    """Device, date, commit, timer: what a picture on its own must still say."""
    device = joined(results.said("gpu_name") or results.said("cpu_model") or results.said("host_name"),
                    "device not recorded")
    dates = sorted(date[:16].replace("T", " ") for date in results.said("date"))
    commits = [commit[:12] for commit in results.said("git_commit")]
    dirty = any(str(context.get("git_dirty", "")).lower() in ("true", "1") for context in results.contexts)
    timers = list(dict.fromkeys(value for case in results.cases for key, value in case.shape if key == "timer"))
    processes = f"{results.processes} process" + ("es" if results.processes != 1 else "")
    commit = f"commit {joined(commits, '')}" if commits else "commit not recorded"
    first = [device, plain(dates[0]) if dates else "date not recorded", commit + (" with local changes" if dirty else "")]
    second = [f"timer {plain(', '.join(timers), 90) or 'not named'}", f"{processes} an operator"]
    if results.unfinished:
        second.append(f"run {results.unfinished}, not complete")
    if results.said("provenance") == ["published"]:
        second.append("published figures, not measured here")
    return ["  ·  ".join(first), "  ·  ".join(second)]


def footnotes(results: Results) -> list[str]:
    dots = ("Dot: legacy time / variant time within one process, median over processes; "
            "black line: least to greatest process.")
    right = ("Right of the line at 1× is faster than legacy. Log scale, each panel its own. "
             "Times: median over processes.")
    if any(measured.floors for variants in results.cases.values() for measured in variants.values()):
        right += " Floor: the least time the hardware allows."
    if results.unnamed:
        rows = "row without operator and variant in its name is" if results.unnamed == 1 else \
            "rows without operator and variant in their name are"
        right += f" {results.unnamed} {rows} left out."
    return [dots, right]


def draw(results: Results) -> Figure:
    """The whole picture; its height follows from the number of cases."""
    panels = panels_of(results)
    labels = max((text_width(label, 11) for panel in panels for label, _ in panel.cases), default=1.0)
    left = MARGIN + max(1.4, labels) + 0.12
    edges = {panel.operator: column_edges(panel, left) for panel in panels}
    width = max(right[-1] for right in edges.values()) + MARGIN
    height = HEADER + sum(panel.height() for panel in panels) + FOOTER
    figure = Figure(figsize=(width, height), facecolor="white")

    figure.text(MARGIN / width, 1 - 0.42 / height, "Speedup over legacy", fontsize=19, fontweight="bold", color=INK)
    for index, text in enumerate(headline(results)):
        figure.text(MARGIN / width, 1 - (0.7 + 0.22 * index) / height, text, fontsize=11, color=MUTED)

    top = HEADER
    for panel in panels:
        draw_panel_head(figure, panel, top, edges[panel.operator])
        bottom = height - top - TITLE - panel.plot_height()
        axes = figure.add_axes((left / width, bottom / height, PLOT_WIDTH / width, panel.plot_height() / height))
        draw_panel(axes, panel, [(edge - left) / PLOT_WIDTH for edge in edges[panel.operator]])
        top += panel.height()

    for index, text in enumerate(footnotes(results)):
        figure.text(MARGIN / width, (FOOTER - 0.25 - 0.2 * index) / height, text, fontsize=9.5, color=MUTED)
    return figure


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="speedup.py", description="Draws the speedup over legacy, case by case.")
    parser.add_argument("result", type=Path, metavar="RESULT",
                        help="a result folder, or one Google Benchmark JSON file")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where speedup.png and speedup.svg go (default: the result folder)")
    options = parser.parse_args(arguments)
    folder = options.out or (options.result if options.result.is_dir() else Path("."))
    try:
        saved = save_both(draw(result_folder.read(options.result)), folder, "speedup", 150)
    except UnusableInput as error:
        print(f"speedup.py: {plain(str(error), 1000)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"speedup.py: {plain(str(error.filename or folder), 1000)}: cannot be written: {error.strerror}",
              file=sys.stderr)
        return 2
    for path in saved:
        print(path)
    return 0


if __name__ == "__main__":
    run_program(main)
