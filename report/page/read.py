"""Reads what `strictbench` writes as JSON: verdicts, the speedup table, kernels before and after.

Each reader gives plain records or raises UnusableInput, one line with the file and the place in it. A number that
does not exist (null, NaN, infinity) is None.
"""
from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from result_folder import UnusableInput, load  # noqa: E402  (found through the line above)

# Gravest first: the order in which rows are shown.
REGRESSED = ("wrong", "failed", "missing", "slower")
UNDECIDED = ("incomparable", "inconclusive")
PASSED = ("faster", "new", "same")
VERDICTS = REGRESSED + UNDECIDED + PASSED + ("skipped",)
COMMIT = re.compile(r"[0-9a-f]{7,64}")


class Node:
    """A value of a document that knows where it stands, so that every complaint names file and place."""

    def __init__(self, value: Any, path: Path, place: str = "") -> None:
        self.value, self.path, self.place = value, path, place

    def refuse(self, what: str) -> UnusableInput:
        return UnusableInput(f"{self.path}: {self.place + ' ' if self.place else ''}{what}")

    def at(self, key: str) -> Node:
        if not isinstance(self.value, dict):
            raise self.refuse("is not an object")
        return Node(self.value.get(key), self.path, f"{self.place}.{key}" if self.place else key)

    def items(self, key: str) -> list[Node]:
        """The list under a key; a list that is absent is empty."""
        node = self.at(key)
        if node.value is None:
            return []
        if not isinstance(node.value, list):
            raise node.refuse("is not a list")
        return [Node(value, self.path, f"{node.place}[{index}]") for index, value in enumerate(node.value)]

    def needed(self, key: str) -> list[Node]:
        if self.at(key).value is None:
            raise self.refuse(f"holds no list named {key}")
        return self.items(key)

    def text(self, key: str) -> str:
        value = self.at(key).value
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.at(key).refuse("is not a text")
        return value

    def texts(self, key: str) -> list[str]:
        found = self.items(key)
        for node in found:
            if not isinstance(node.value, str):
                raise node.refuse("is not a text")
        return [node.value for node in found]

    def number(self, key: str) -> Optional[float]:
        value = self.at(key).value
        if value is None:
            return None
        if type(value) not in (int, float):
            raise self.at(key).refuse("is not a number")
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None

    def positive(self, key: str) -> Optional[float]:
        """A time or a ratio: what is not above 0 is none."""
        value = self.number(key)
        return value if value is not None and value > 0 else None

    def share(self, key: str) -> Optional[float]:
        """A threshold or an error, which `strictbench` takes up to 1 (100 %). None where there is none."""
        if self.at(key).value is None:
            return None
        value = self.positive(key)
        if value is None or value > 1:
            raise self.at(key).refuse("is no share above 0 and up to 1")
        return value

    def count(self, key: str) -> int:
        return int(self.number(key) or 0)


@dataclass(frozen=True)
class Figures:
    """One side of one compared row."""

    median: Optional[float]
    processes: int
    samples: int


@dataclass(frozen=True)
class ComparedRow:
    name: str
    verdict: str
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    visible: Optional[float]  # the smallest slowdown that would have shown
    baseline: Figures
    contender: Figures
    unit: str
    reason: str
    threshold: float  # that its verdict stands on
    again: str  # the commit that a night measured it again with, by turns; empty where it did not


@dataclass(frozen=True)
class Comparison:
    verdict: str
    threshold: float
    alpha: Optional[float]
    metric: str
    notes: list[str]
    rows: list[ComparedRow]

    def count(self, *verdicts: str) -> int:
        return sum(row.verdict in verdicts for row in self.rows)

    def measured_again(self) -> list[str]:
        """The commits that rows were measured again with."""
        return list(dict.fromkeys(row.again for row in self.rows if row.again))

    def thresholds_again(self) -> list[float]:
        """Those of rows that were measured again."""
        return sorted({row.threshold for row in self.rows if row.again})

    def gravest_first(self) -> list[ComparedRow]:
        """By verdict; within one the largest change first."""
        return sorted(self.rows, key=lambda row: (VERDICTS.index(row.verdict), -abs(math.log(row.ratio or 1))))


def figures(node: Node) -> Figures:
    if node.value is None:
        return Figures(None, 0, 0)
    return Figures(node.positive("median"), node.count("processes"), node.count("samples"))


def compared_row(node: Node, threshold: float) -> ComparedRow:
    """A row; `threshold` is that of the comparison, which a row measured again has its own instead of."""
    name, verdict = node.text("name"), node.text("verdict")
    if not name:
        raise node.refuse("has no name")
    if verdict not in VERDICTS:
        raise node.at("verdict").refuse(f"is no verdict: {verdict!r}")
    again = node.text("measured_again")
    if again and not COMMIT.fullmatch(again):  # it becomes part of a path
        raise node.at("measured_again").refuse(f"is no commit: {again!r}")
    # Of a row whose result is wrong no time is ever shown, whatever the file holds.
    shown = verdict not in ("wrong", "failed")
    return ComparedRow(name, verdict, node.positive("ratio") if shown else None,
                       node.positive("ratio_low") if shown else None, node.positive("ratio_high") if shown else None,
                       node.positive("smallest_visible"), figures(node.at("baseline")),
                       figures(node.at("contender")) if shown else Figures(None, 0, 0),
                       node.text("unit"), node.text("reason"), node.share("threshold") or threshold, again)


def read_comparison(path: Path) -> Comparison:
    """`strictbench compare --format json`."""
    root = Node(load(path), path)
    verdict = root.text("verdict")
    if verdict not in ("pass", "regressed", "undecided"):
        raise root.refuse("is no comparison: no verdict pass, regressed or undecided")
    threshold = root.share("threshold")
    if threshold is None:
        raise root.refuse("is no comparison: no threshold")
    rows: dict[str, ComparedRow] = {}
    for node in root.needed("rows"):
        row = compared_row(node, threshold)
        if row.name in rows:
            raise node.refuse(f"is a second row named {row.name}: which one holds?")
        rows[row.name] = row
    return Comparison(verdict, threshold, root.share("alpha"), root.text("metric") or "real_time",
                      root.texts("notes"), [*rows.values()])


@dataclass(frozen=True)
class Timed:
    """One variant on a line of the speedup table; times in nanoseconds."""

    time: Optional[float]
    speedup: Optional[float]
    low: Optional[float]
    high: Optional[float]
    trouble: str


@dataclass(frozen=True)
class Line:
    shape: str
    timer: str
    check: str
    control: str
    variants: dict[str, Timed]


@dataclass(frozen=True)
class OperatorTable:
    op: str
    variants: list[str]
    lines: list[Line]


@dataclass(frozen=True)
class Published:
    name: str
    published: Optional[float]
    measured: Optional[float]
    published_on: str
    measured_on: str


@dataclass(frozen=True)
class Table:
    header: list[str]
    notes: list[str]
    operators: list[OperatorTable]
    published: list[Published] = field(default_factory=list)


def timed(node: Node) -> Timed:
    trouble = node.text("trouble")
    time = None if trouble else node.positive("time_ns")
    speedup = node.positive("speedup") if time is not None else None
    return Timed(time, speedup, node.positive("speedup_low") if speedup else None,
                 node.positive("speedup_high") if speedup else None, trouble)


def table_line(node: Node) -> Line:
    variants = node.at("variants")
    if not isinstance(variants.value, dict):
        raise variants.refuse("is not an object")
    return Line(node.text("shape"), node.text("timer"), node.text("check"), node.text("control"),
                {name: timed(Node(value, node.path, f"{variants.place}[{name!r}]"))
                 for name, value in variants.value.items()})


def read_table(path: Path) -> Table:
    """`strictbench table --format json`."""
    root = Node(load(path), path)
    operators = [OperatorTable(node.text("op"), node.texts("variants"),
                               [table_line(line) for line in node.items("lines")]) for node in root.needed("operators")]
    published = [Published(node.text("name"), node.positive("published_ns"), node.positive("measured_ns"),
                           node.text("published_on"), node.text("measured_on")) for node in root.items("published")]
    return Table(root.texts("header"), root.texts("notes"), operators, published)


@dataclass(frozen=True)
class KernelFigures:
    launches: int
    total: Optional[float]  # nanoseconds
    average: Optional[float]
    share: Optional[float]


@dataclass(frozen=True)
class Kernel:
    name: str
    before: Optional[KernelFigures]
    after: Optional[KernelFigures]
    speedup: Optional[float]
    reduction: Optional[float]
    control: bool
    moved: bool = False  # a control whose time changed


@dataclass(frozen=True)
class Kernels:
    """GPU time by kernel on two sides."""

    file: str
    before: str
    after: str
    rows: list[Kernel]
    total: Kernel
    notes: list[str] = field(default_factory=list)


def kernel_figures(node: Node) -> Optional[KernelFigures]:
    if node.value is None:
        return None
    return KernelFigures(node.count("launches"), node.positive("total_ns"), node.positive("average_ns"),
                         node.number("share"))


def kernel(node: Node) -> Kernel:
    return Kernel(node.text("name"), kernel_figures(node.at("before")), kernel_figures(node.at("after")),
                  node.positive("speedup"), node.number("reduction"), node.at("control").value is True,
                  node.at("moved").value is True)


def read_kernels(path: Path) -> Kernels:
    """`strictbench kernels --format json`."""
    root = Node(load(path), path)
    rows = [kernel(node) for node in root.needed("rows")]
    total = root.at("total")
    return Kernels(path.name, root.text("before"), root.text("after"), rows,
                   kernel(total) if total.value is not None else Kernel("", None, None, None, None, False),
                   root.texts("notes"))
