#!/usr/bin/env python3
"""Writes the published H100 figures as Google Benchmark JSON, so that every reader of results reads them too.

usage: make_published.py SOURCE OUTPUT

SOURCE states milliseconds, family by family, as published. OUTPUT has one line a row, named as this project
names its rows. Numbers stay decimal text from end to end: 0.0256 ms becomes 25.6 us, digit for digit.
"""
from __future__ import annotations

import collections
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)
from whole_file import require_apart, write_whole  # noqa: E402
from words import plain  # noqa: E402

Family = dict[str, Any]
Row = dict[str, Any]

VARIANTS = ("legacy", "new")
SHORTEST_MS, LONGEST_MS = Decimal("1e-9"), Decimal("1e12")  # what a reader of results takes for a time

# How each family's figures are named here. The timer is the one whose protocol comes nearest to what was timed.
SHAPES: dict[str, Callable[[Row], str]] = {
    "embedding_backward": lambda row: f"tokens:{row['tokens']}/vocab:{row['vocab']}/hidden:{row['hidden']}"
                                      "/ids:uniform/dtype:bf16/part:kernel/timer:cold",
    "row_fold": lambda row: f"rows:{row['rows']}/cols:{row['cols']}/dtype:fp32/timer:wall",
    "qwen3_ffn": lambda row: f"tokens:{row['tokens']}/direction:{row['direction']}/timer:event",
}

# What a row's name says although its source does not.
LEFT_OPEN = {
    "embedding_backward": "published without the distribution of token ids and the state of the caches",
}

# The published kernel summary names kernels, not cases: (variant, field that holds the time).
KERNEL_TIMES = {
    "legacy naive dW": [("legacy", "total_ms")],
    "new tiled dW": [("new", "total_ms")],
    "control: tensor-core GEMM, unchanged": [("control_before", "before_ms"), ("control_after", "after_ms")],
}


def microseconds(milliseconds: Decimal) -> Decimal:
    """The same time in microseconds, exact, without an exponent or trailing zeros. ValueError where it is no time:
    written out, a number of a few characters can fill the memory."""
    if not SHORTEST_MS <= milliseconds <= LONGEST_MS:
        raise ValueError(f"{milliseconds} ms is no time")
    return Decimal(format((milliseconds * 1000).normalize(), "f"))


def benchmark_row(name: str, family: Family, time: Decimal, counters: Row) -> Row:
    """One Google Benchmark row. The processor time was not published; readers expect the field, so it repeats."""
    row = {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
           "threads": 1, "iterations": 1, "real_time": microseconds(time), "cpu_time": microseconds(time),
           "time_unit": "us", **counters, "gpu_name": family["gpu"], "provenance": "published"}
    if family["op"] in LEFT_OPEN:
        row["label"] = LEFT_OPEN[family["op"]]
    return row


def case_rows(family: Family) -> Iterator[Row]:
    """Legacy and new of each published case; the printed speedup stands on the new row, as it was printed."""
    shape = SHAPES[family["op"]]
    for source in family["rows"]:
        for variant in VARIANTS:
            counters = {"published_speedup": source["speedup"]} if variant == "new" else {}
            yield benchmark_row(f"{family['op']}/{variant}/{shape(source)}", family, source[f"{variant}_ms"], counters)


def kernel_rows(family: Family) -> Iterator[Row]:
    """Summed kernel times. They cover two token counts at once, so they get names no measured row can have."""
    for source in family["rows"]:
        kept = {"launches": "launches", "published_speedup": "speedup",
                "published_reduction_percent": "reduction_percent"}
        counters = {ours: source[theirs] for ours, theirs in kept.items() if theirs in source}
        for variant, field in KERNEL_TIMES[source["kernel"]]:
            yield benchmark_row(f"{family['op']}/{variant}", family, source[field], counters)


def family_context(family: Family) -> Iterator[tuple[str, str]]:
    """Everything a family says beside its rows, as flat string keys."""
    names = {"gpu": "gpu_name", "timed": "protocol"}
    for key, value in family.items():
        if key == "events":
            yield from ((f"{family['op']}.event.{name}", text) for name, text in value.items())
        elif key not in ("op", "rows"):
            yield f"{family['op']}.{names.get(key, key)}", str(value)


def to_json(value: Any) -> str:
    """A flat value as JSON; decimals as their own text, which no binary number stands between."""
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def document(source: dict[str, Any]) -> str:
    """The whole Google Benchmark file."""
    families = source["families"]
    context = {
        "provenance": "published",
        "gpu_name": families[0]["gpu"],
        "about": "Figures published by others for NVIDIA H100 GPUs; nothing here was measured by this project. "
                 "Per family: origin, software, gpu_name, protocol. cpu_time was not published and repeats real_time. "
                 "A published speedup may differ in its last digit from the ratio of the published times.",
    }
    rows: list[Row] = []
    for family in families:
        context.update(family_context(family))
        rows.extend(case_rows(family) if family["op"] in SHAPES else kernel_rows(family))
    for name, times in collections.Counter(row["name"] for row in rows).items():
        if times > 1:  # readers would take them for repetitions
            raise ValueError(f"{name} is there {times} times")
    context_lines = ",\n".join(f"  {to_json(key)}: {to_json(value)}" for key, value in context.items())
    row_lines = ",\n".join(
        "  {" + ", ".join(f"{to_json(key)}: {to_json(value)}" for key, value in row.items()) + "}" for row in rows)
    return f'{{\n "context": {{\n{context_lines}\n }},\n "benchmarks": [\n{row_lines}\n ]\n}}\n'


def no_number(word: str) -> Any:
    """Python's parser takes NaN and infinities; JSON has none."""
    raise ValueError(f"{word} is no number")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: make_published.py SOURCE OUTPUT", file=sys.stderr)
        return 2
    source, output = (Path(argument) for argument in arguments)
    try:
        require_apart([("OUTPUT", output)], [("SOURCE", source)])
        figures = json.loads(source.read_text(encoding="utf-8"), parse_float=Decimal, parse_constant=no_number)
        write_whole(output, document(figures), named=True)
    except OSError as error:
        print(f"make_published.py: {plain(str(error.filename), 1000)}: {error.strerror}", file=sys.stderr)
        return 2
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        print(f"make_published.py: {plain(str(source), 1000)}: not the published figures as JSON: "
              f"{plain(repr(error), 300)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    run_program(lambda: main(sys.argv[1:]))
