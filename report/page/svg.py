"""Drawings of the page as inline SVG. Places across are in percent, so that a drawing fits any width unscaled.

Colours come from the page's style sheet by class, so that light, dark and paper each have their own.
"""
from __future__ import annotations

import math
import statistics
from typing import Optional, Sequence

from markup import Markup, el

EDGE = 1.5  # percent kept free at both sides
LEAST_REACH = 0.04  # of a history from its top to its bottom, in logs


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def path(pieces: list[str], class_: str) -> Optional[Markup]:
    """A line of pieces made here, of numbers alone, so of any length."""
    return el("path", d=Markup("".join(pieces)), class_=class_) if pieces else None


class RatioScale:
    """Ratios on a log axis around 1, the same to both sides; what lies beyond its ends is clipped to them."""

    def __init__(self, ratios: Sequence[float], threshold: float) -> None:
        sizes = sorted(abs(math.log(ratio)) for ratio in ratios)
        most = sizes[int(0.9 * (len(sizes) - 1))] if sizes else 0.0
        threshold = min(max(threshold, 1e-4), 100.0)  # whatever a file says: the drawing stays one
        least, greatest = math.log(1 + 4 * threshold), math.log(1 + 40 * threshold)
        self.end = min(max(1.15 * most, least), greatest)

    def share(self, ratio: float) -> float:
        inside = max(-1.0, min(1.0, math.log(ratio) / self.end))
        return EDGE / 100 + (1 - 2 * EDGE / 100) * (inside + 1) / 2

    def place(self, ratio: float) -> str:
        return percent(self.share(ratio))

    def beyond(self, ratio: float) -> bool:
        return abs(math.log(ratio)) > self.end * 1.0001

    def ticks(self) -> list[float]:
        """Changes at round percents, five to seven of them."""
        reach = math.exp(self.end) - 1
        step = next(step for step in (s * 10.0 ** p for p in range(-4, 6) for s in (1, 2, 5)) if reach / step < 3.6)
        up = [1 + step * k for k in range(1, int(reach / step) + 1)]
        down = [1 - step * k for k in range(1, int(reach / step) + 1) if step * k < 1]
        return sorted([ratio for ratio in down if not self.beyond(ratio)] + [1.0] + up)


def ground(scale: RatioScale, threshold: float, height: int) -> list[Markup]:
    """What stands behind every line of the plot: the threshold's band, and the ticks."""
    left, right = scale.share(1 / (1 + threshold)), scale.share(1 + threshold)
    lines = [el("line", x1=scale.place(tick), x2=scale.place(tick), y1=0, y2=height,
                class_="one" if tick == 1 else "grid") for tick in scale.ticks()]
    return [el("rect", x=percent(left), width=percent(right - left), y=0, height=height, class_="band"), *lines]


def forest_line(scale: RatioScale, threshold: float, ratio: Optional[float], low: Optional[float],
                high: Optional[float], visible: Optional[float], label: str) -> Markup:
    """One row: its interval, its ratio, and a tick from which on a slowdown would have shown."""
    middle, height = 11, 22
    marks = []
    if visible is not None:
        at = scale.place(1 + visible)
        marks.append(el("line", x1=at, x2=at, y1=3, y2=height - 3, class_="visible out" if scale.beyond(1 + visible)
                        else "visible"))
    if low is not None and high is not None and low <= high:
        marks.append(el("line", x1=scale.place(low), x2=scale.place(high), y1=middle, y2=middle, class_="interval"))
        for end in (low, high):  # an end that is on the drawing has a foot, one that lies beyond an arrow
            x = scale.place(end)
            if scale.beyond(end):
                marks.append(el("text", "▸" if end > 1 else "◂", x=x, y=middle, class_="arrow",
                                text_anchor="end" if end > 1 else "start", dominant_baseline="central"))
            else:
                marks.append(el("line", x1=x, x2=x, y1=middle - 4, y2=middle + 4, class_="interval"))
    if ratio is not None and not scale.beyond(ratio):
        marks.append(el("circle", cx=scale.place(ratio), cy=middle, r=4.5, class_="dot"))
    return el("svg", *ground(scale, threshold, height), *marks, role="img", aria_label=label, class_="forest",
              width="100%", height=height)


def axis(scale: RatioScale, words: list[str]) -> Markup:
    """The numbers under (or over) the lines of a plot, one for each tick."""
    ticks = scale.ticks()
    texts = []
    for index, (tick, word) in enumerate(zip(ticks, words)):
        near_end = scale.share(tick)
        anchor = "start" if near_end < 0.06 else "end" if near_end > 0.94 else "middle"
        # On a narrow screen every second number would touch its neighbour.
        odd = len(ticks) > 5 and abs(index - ticks.index(1.0)) % 2 == 1
        texts.append(el("text", word, x=scale.place(tick), y=13, text_anchor=anchor, class_="odd" if odd else None))
    return el("svg", *texts, class_="axis", width="100%", height=18, aria_hidden="true")


def strips(sides: list[tuple[str, list[tuple[str, list[float]]]]], label: str) -> Markup:
    """Every sample of two sides, one lane a process, the median of each as a bar. Sides are (class, lanes)."""
    values = [value for _, lanes in sides for _, samples in lanes for value in samples]
    low, high = min(values), max(values)
    spread = (high - low) or abs(high) or 1.0
    lane, gap, width = 8, 8, 1000

    def x(value: float) -> str:
        return f"{20 + (width - 40) * (value - low) / spread:.0f}"

    shapes, y = [], 2
    for kind, lanes in sides:
        dots, bars = [], []
        for _, samples in lanes:
            middle = y + lane // 2
            dots += [f"M{x(value)} {middle}h0" for value in dict.fromkeys(samples)]
            if len(samples) > 1:
                bars.append(f"M{x(statistics.median(samples))} {y}v{lane - 1}")
            y += lane
        shapes += [path(dots, f"samples {kind}" if bars else f"samples single {kind}"), path(bars, f"medians {kind}")]
        y += gap
    return el("svg", *shapes, role="img", aria_label=label, class_="strip", viewBox=f"0 0 {width} {y}", width="100%",
              height=y, preserveAspectRatio="none")


def sparkline(values: Sequence[Optional[float]], levels: Sequence[tuple[int, int, float]],
              accepted: Sequence[tuple[int, float]], label: str) -> Markup:
    """A history: the nights as a thin line, the levels between changes as a thick one, baselines as squares."""
    logs = [math.log(value) for value in [*filter(None, values), *(value for _, value in accepted)]]
    low, high = min(logs), max(logs)
    if high - low < LEAST_REACH:  # noise of 0.1 % is not to look like a storm
        low, high = (low + high - LEAST_REACH) / 2, (low + high + LEAST_REACH) / 2
    count = max(2, len(values))

    def point(index: float, value: float) -> str:
        return f"{1000 * (index + 0.5) / count:.0f} {55 - 50 * (math.log(value) - low) / (high - low):.1f}"

    line, pen = [], "M"
    for index, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        alone = pen == "M" and (index + 1 == len(values) or values[index + 1] is None)
        line.append(f"{pen}{point(index, value)}{'h0' if alone else ''}")
        pen = "L"
    steps = [f"M{point(start - 0.5, level)}L{point(end - 0.5, level)}" for start, end, level in levels]
    cuts = [f"M{1000 * start / count:.0f} 0V60" for start, _, _ in levels[1:]]
    squares = [f"M{point(index, value)}h0" for index, value in accepted]
    return el("svg", path(cuts, "cut"), path(steps, "level"), path(line, "nights"), path(squares, "accepted"),
        role="img", aria_label=label, class_="spark", viewBox="0 0 1000 60", width="100%", height=60,
        preserveAspectRatio="none")


def bar(share: float, label: str, class_: str = "bar") -> Markup:
    """A share of 1, as a bar; more than 1 fills it."""
    return el("svg", el("rect", x=0, y=0, width="100%", height=8, rx=2, class_="track"),
              el("rect", x=0, y=0, width=percent(max(0.0, min(1.0, share))), height=8, rx=2, class_="fill"),
              role="img", aria_label=label, class_=class_, width="100%", height=8)
