#!/usr/bin/env python3
"""Draws what a machine can see, from calibration.json: calibration.png and calibration.svg.

usage: calibration.py DIR_OR_JSON [--out DIR]

One panel a timer, one column a size of slowdown, identical code at the left: how many comparisons said slower,
how many could not tell, how many said same. Below, case by case, the smallest slowdown that its noise lets through.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from calibration_file import finite, read, whole  # noqa: E402
from figure_files import save_both  # noqa: E402  (found through the line above)
from program import run_program  # noqa: E402
from result_folder import LONGEST, SHORTEST, UnusableInput  # noqa: E402
from speedup import FAINT, INK, MUTED, plain, text_width, time_text  # noqa: E402  (sets up the fonts)

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FixedLocator, NullLocator  # noqa: E402

VERDICTS = ("slower", "undecided", "same", "faster")
COLOURS = {"slower": "#0b5cad", "undecided": "#dfe3e8", "same": "#8fc9a8", "faster": "#b42318"}
LABELS = {"slower": "slower", "undecided": "cannot tell", "same": "same", "faster": "faster"}
TIMER_COLOURS = ["#0b5cad", "#b35900", "#1a7f5a", "#8250df"]
MARKERS = "osD^"

# Inches.
HEADER, COLUMNS, BELOW, CASES, FOOTER = 1.5, 2.9, 1.15, 2.5, 0.95
LEFT, RIGHT, GAP, COLUMN = 0.85, 0.3, 0.45, 0.72


def percent(share: float) -> str:
    """A size: "2 %", "0.5 %"."""
    return f"{share * 100:.6g} %"


def share_text(part: int, rows: int) -> str:
    """In whole percent, and never 0 or 100 that it is not."""
    if rows == 0:
        return ""
    value = 100 * part / rows
    if 0 < value < 0.5:
        return "<1"
    if 99.5 < value < 100:
        return ">99"
    return f"{value:.0f}"


def shares(entry: dict[str, Any]) -> dict[str, int]:
    return {"slower": entry["slower"], "undecided": entry["inconclusive"] + entry["other"], "same": entry["same"],
            "faster": entry["faster"]}


def reached_text(entry: dict[str, Any]) -> str:
    low, high = entry.get("reached_low"), entry.get("reached_high")
    if not finite(low) or not finite(high):
        return ""
    return f"{low * 100:.2f} to\n{high * 100:.2f} %"


def alarm_text(timer: dict[str, Any]) -> str:
    """What a person asks first: how often does it cry wolf?"""
    identical = timer["identical"]
    alarms = identical["slower"] + identical["faster"]
    rows = f"{identical['rows']:,} comparisons"
    return f"{alarms:,} false alarm{'' if alarms == 1 else 's'} in {rows}"


def draw_timer(axes: Axes, timer: dict[str, Any], first: bool) -> None:
    """Stacked columns: identical code, then each size."""
    entries = [timer["identical"], *timer["sizes"]]
    for x, entry in enumerate(entries):
        rows, bottom = entry["rows"], 0.0
        if rows == 0:
            axes.text(x, 50, "under two\ntimer ticks\nor not\nreached", ha="center", va="center", color=MUTED,
                      fontsize=9)
            continue
        for verdict in VERDICTS:
            part = shares(entry)[verdict]
            height = 100 * part / rows
            axes.bar(x, height, bottom=bottom, width=0.78, color=COLOURS[verdict], linewidth=0, zorder=2)
            if height >= 7:
                axes.text(x, bottom + height / 2, share_text(part, rows), ha="center", va="center", fontsize=11,
                          color="white" if verdict in ("slower", "faster") else INK, zorder=3,
                          fontweight="bold" if verdict == ("same" if x == 0 else "slower") else "normal")
            bottom += height
    axes.set_xlim(-0.55, len(entries) - 0.45)
    axes.set_ylim(0, 100)
    axes.axvline(0.5, color=FAINT, linewidth=1.2, zorder=1)
    axes.xaxis.set_major_locator(FixedLocator(range(len(entries))))
    axes.set_xticklabels(["identical\ncode"] + [percent(entry["size"]) for entry in timer["sizes"]], fontsize=11,
                         color=INK)
    for x, entry in enumerate(entries):
        note = f"{entry['rows']:,}" if entry["rows"] else ""
        for text, down in ((reached_text(entry), -37), (note, -63)):
            axes.annotate(text, (x, 0), xytext=(0, down), textcoords="offset points", ha="center", va="top",
                          fontsize=9, color=MUTED, annotation_clip=False)
    axes.yaxis.set_major_locator(FixedLocator([0, 50, 90, 100]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.tick_params(axis="y", colors=MUTED, labelsize=10, length=0, labelleft=first)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.7, zorder=0)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.text(0, 1.155, f"timer {plain(timer['timer'])}", transform=axes.transAxes, fontsize=14, fontweight="bold",
              color=INK)
    axes.text(0, 1.05, alarm_text(timer), transform=axes.transAxes, fontsize=11,
              color=MUTED if timer["identical"]["slower"] + timer["identical"]["faster"] == 0 else COLOURS["faster"])


def legend_text(name: str) -> str:
    """A timer's name; matplotlib leaves out a label that is empty or begins with an underscore."""
    shown = plain(name)
    return shown if shown and shown[0] != "_" else f" {shown}"


def draw_cases(axes: Axes, document: dict[str, Any]) -> None:
    """Time of each case against the smallest slowdown that shows in it."""
    names = [timer["timer"] for timer in document["timers"]]
    shown = []
    for index, name in enumerate(names):
        points = [(case["time_ns"] / 1e9, case["smallest_visible"] * 100) for case in document["cases"]
                  if case["timer"] == name
                  and finite(case.get("time_ns")) and finite(case.get("smallest_visible"))
                  and SHORTEST <= case["time_ns"] / 1e9 <= LONGEST and case["smallest_visible"] > 0]
        shown += points
        axes.plot([x for x, _ in points], [min(y, 100.0) for _, y in points], MARKERS[index % len(MARKERS)],
                  color=TIMER_COLOURS[index % len(TIMER_COLOURS)], markersize=7, alpha=0.85, markeredgewidth=0,
                  label=legend_text(name), zorder=3)
    threshold = (document.get("settings") or {}).get("threshold")
    axes.set_xscale("log")
    axes.set_yscale("log")
    if shown:
        axes.set_xlim(min(x for x, _ in shown) / 1.6, max(x for x, _ in shown) * 1.6)
    top = max([4.0, *(min(y, 100.0) * 1.3 for _, y in shown)])
    low = min([0.9, *(y / 1.2 for _, y in shown)])
    axes.set_ylim(low, top)
    if finite(threshold) and low < threshold * 100 < top:
        axes.axhline(threshold * 100, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=2)
        axes.annotate(f"threshold {percent(threshold)}", (1, threshold * 100), xycoords=("axes fraction", "data"),
                      xytext=(-4, -4), textcoords="offset points", ha="right", va="top", color=MUTED, fontsize=10)
    left, right = axes.get_xlim()
    decades = [10.0 ** power for power in range(-9, 3)]
    axes.xaxis.set_major_locator(FixedLocator([decade for decade in decades if left <= decade <= right]))
    axes.xaxis.set_major_formatter(lambda value, _: time_text(value).replace(".00", "").replace(".0", ""))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([y for y in (0.5, 1, 2, 3, 5, 10, 20, 50, 100) if low <= y <= top]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(colors=MUTED, labelsize=10, length=0)
    axes.grid(color=FAINT, linewidth=0.7, zorder=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.text(0, 1.09, "Smallest slowdown that shows, case by case", transform=axes.transAxes, fontsize=14,
              fontweight="bold", color=INK)
    axes.set_xlabel("time of the case", fontsize=11, color=MUTED)
    if len(names) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names), frameon=False, fontsize=11,
                    handletextpad=0.2, labelcolor=INK)


def headline(document: dict[str, Any]) -> list[str]:
    """Device, date, commit, settings: what a picture on its own must still say."""
    def said(key: str, missing: str) -> str:
        return plain(str(document[key])) if document.get(key) else missing

    commit = f"commit {plain(str(document['commit']))[:12]}" if document.get("commit") else "commit not recorded"
    commit += " with local changes" if document.get("dirty") is True else ""
    date = said("date", "").replace("T", " ")[:16] or "date not recorded"
    first = [said("device_name", "device not recorded"), date, commit]
    context = document.get("context") if isinstance(document.get("context"), dict) else {}
    versions = (("driver_version", "driver"), ("cuda_version", "CUDA"))
    first += [f"{word} {plain(str(context[key]))}" for key, word in versions if context.get(key)]
    settings = document.get("settings") or {}
    processes = [timer.get("processes") for timer in document["timers"] if whole(timer.get("processes"))]
    drawn = f" drawn from {min(processes)}" if processes else ""
    sides = settings.get("sides", "?")
    second = [f"{plain(str(sides))} {'process' if sides == 1 else 'processes'} a side{drawn}"]
    second += [f"{key} {percent(settings[key])}" for key in ("threshold", "alpha") if finite(settings.get(key))]
    second.append("columns: percent of comparisons")
    return ["  ·  ".join(first), "  ·  ".join(second)]


def draw(document: dict[str, Any]) -> Figure:
    """The whole picture; its width follows from the number of timers."""
    timers = document["timers"]
    columns = max(1 + len(timer["sizes"]) for timer in timers)
    panel = columns * COLUMN
    width = max(LEFT + len(timers) * panel + (len(timers) - 1) * GAP + RIGHT, 9.5)
    panel = (width - LEFT - RIGHT - (len(timers) - 1) * GAP) / len(timers)
    height = HEADER + COLUMNS + BELOW + 0.75 + CASES + FOOTER
    figure = Figure(figsize=(width, height), facecolor="white")

    def put(x: float, y: float, text: str, **style: object) -> None:
        figure.text(x / width, 1 - y / height, text, **{"va": "baseline", "fontsize": 11, "color": INK, **style})

    put(0.25, 0.4, "What this machine can see", fontsize=19, fontweight="bold")
    for line, text in enumerate(headline(document)):
        put(0.25, 0.69 + 0.22 * line, text, color=MUTED)
    top = HEADER + 0.25
    for index, timer in enumerate(timers):
        x = LEFT + index * (panel + GAP)
        draw_timer(figure.add_axes((x / width, 1 - (top + COLUMNS) / height, panel / width, COLUMNS / height)), timer,
                   index == 0)
    for text, y in (("slower by", 0.2), ("reached", 0.62), ("rows", 0.98)):
        put(0.2, top + COLUMNS + y, text, fontsize=9, color=MUTED)
    x = width - RIGHT
    entries = [entry for timer in timers for entry in (timer["identical"], *timer["sizes"])]
    for verdict in reversed(VERDICTS):
        if verdict == "faster" and not any(entry["faster"] for entry in entries):
            continue  # a colour that nothing has
        x -= text_width(LABELS[verdict], 11) + 0.24
        put(x + 0.22, 0.4, LABELS[verdict])
        put(x, 0.4, "■", color=COLOURS[verdict], fontsize=14)
        x -= 0.2
    below = top + COLUMNS + BELOW + 0.5
    draw_cases(figure.add_axes((LEFT / width, 1 - (below + CASES) / height, (width - LEFT - RIGHT) / width,
                                CASES / height)), document)
    put(0.25, height - 0.18, "Slowdowns are real waits on the device behind each call. Sides are drawn from the "
        "processes of one run and share none.", fontsize=10, color=MUTED)
    return figure


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="calibration.py", description="Draws what a machine can see.")
    parser.add_argument("calibration", type=Path, metavar="DIR_OR_JSON",
                        help="a folder of strictbench calibrate, or its calibration.json")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the pictures go (default: beside the JSON)")
    options = parser.parse_args(arguments)
    given = options.calibration
    folder = options.out or (given if given.is_dir() else given.parent)
    try:
        saved = save_both(draw(read(given)), folder, "calibration", 150)
    except UnusableInput as error:
        print(f"calibration.py: {plain(str(error), 1000)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"calibration.py: {plain(str(error.filename or folder), 1000)}: cannot be written: {error.strerror}",
              file=sys.stderr)
        return 2
    for path in saved:
        print(path)
    return 0


if __name__ == "__main__":
    run_program(main)
