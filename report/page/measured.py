"""What was measured, beside the verdicts: speedups, kernels, floors, and the machines and builds of both sides."""
from __future__ import annotations

import math
from typing import Optional

import svg
from markup import (NONE, Markup, cell, counted, el, factor_text, join, nanoseconds, percent_text, row_name, share_text,
                    table, time_text)
from read import Kernel, KernelFigures, Kernels, Line, OperatorTable, Published, Timed
from sections import Report, absent, section
from sides import Side

TABLE = "strictbench table RESULT --format json --output RESULT/table.json"
KERNELS = "strictbench kernels --before A --after B --format json --output RESULT/kernels.json"

# Context that makes times comparable or not, in the order in which one looks at it.
FACTS = {"gpu_name": "GPU", "gpu_uuid": "GPU id", "gpu_sm_count": "SMs", "driver_version": "driver",
         "cuda_version": "CUDA", "sm_clock_mhz": "SM clock, MHz", "memory_clock_mhz": "memory clock, MHz",
         "power_limit_w": "power limit, W", "clock_event_reasons": "clock event reasons", "cpu_model": "CPU",
         "num_cpus": "CPUs", "host_name": "host", "boot_id": "start of the machine", "compiler": "compiler",
         "build_type": "build", "binary_sha256": "executables", "git_commit": "commit", "git_dirty": "local changes",
         "date": "date"}
DIFFER_ANYWAY = ("date",)
LONGEST_LIST = 4
KERNEL_FIGURES = ("launches", "time", "average", "share")  # of either side; behind them its bar


def check_cell(line: Line) -> Markup:
    """What a row's result was held to: the oracle's bits, or a tolerance."""
    spoiled = any(timed.trouble for timed in line.variants.values())  # then the claim is not one that was kept
    kind = "" if spoiled or not line.check else "bits" if line.check == "bits" else "tolerance"
    moved = "" if line.control == "steady" else " moved"
    control = [" ", el("span", f"control: {line.control}", class_=f"pill control{moved}")] if line.control else None
    return cell(join(el("span", line.check or NONE, class_=f"pill {kind}"), control))


def speedup_cells(timed: Optional[Timed], most: float) -> list[Markup]:
    """Time, speedup, interval and a bar for one variant; its trouble in place of all that."""
    if timed is None:
        return [cell("not measured", "absent", colspan=4)]
    if timed.trouble:
        return [cell(timed.trouble, "trouble", colspan=4)]
    if timed.speedup is None:
        return [cell(nanoseconds(timed.time), "number", timed.time), cell("no legacy time", "absent", colspan=3)]
    share = math.log(max(timed.speedup, 1.0)) / math.log(max(most, 1.01))
    interval = NONE if timed.low is None or timed.high is None else \
        f"{factor_text(timed.low)} to {factor_text(timed.high)}"
    return [cell(nanoseconds(timed.time), "number", timed.time),
            cell(el("b", factor_text(timed.speedup)), "number", timed.speedup), cell(interval, "number", timed.low),
            cell(svg.bar(share, f"{factor_text(timed.speedup)} of legacy's speed"), "bar-cell", timed.speedup)]


def operator_table(operator: OperatorTable) -> Markup:
    others = [variant for variant in operator.variants if variant != "legacy"] or ["new"]
    found = [timed.speedup for line in operator.lines for timed in line.variants.values() if timed.speedup]
    rows = []
    for line in operator.lines:
        legacy = line.variants.get("legacy")
        for index, variant in enumerate(others):
            shape = join(*(join(Markup("<wbr>") if i else None, part + ("/" if i < line.shape.count("/") else ""))
                           for i, part in enumerate(line.shape.split("/"))))
            legacy_cell = cell("not measured", "absent") if legacy is None else \
                cell(legacy.trouble, "trouble") if legacy.trouble else \
                cell(nanoseconds(legacy.time), "number", legacy.time)
            rows.append(el("tr", el("th", shape, scope="row", class_="shape-cell"), cell(line.timer), legacy_cell,
                           cell(variant) if len(others) > 1 else None,
                           speedup_cells(line.variants.get(variant), max(found, default=1.0)), check_cell(line)))
    heads = [("shape", ""), ("timer", ""), ("legacy", "number"), *([("variant", "")] if len(others) > 1 else []),
             (others[0] if len(others) == 1 else "time", "number"), ("speedup", "number"), ("interval", "number"),
             ("log scale", ""), ("check", "")]
    return join(el("h3", operator.op), table(f"Speedup over legacy: {operator.op}", heads, rows, "speedups", True))


def published_table(lines: list[Published]) -> Optional[Markup]:
    if not lines:
        return None
    rows = []
    for line in lines:
        ratio = line.measured / line.published if line.published and line.measured else None
        rows.append(el("tr", el("th", row_name(line.name), scope="row"),
                       cell(nanoseconds(line.published), "number", line.published),
                       cell(nanoseconds(line.measured), "number", line.measured),
                       cell(NONE if ratio is None else f"{ratio:.3f}", "number", ratio),
                       cell(line.published_on), cell(line.measured_on)))
    heads = [("row", ""), ("published", "number"), ("measured", "number"), ("measured / published", "number"),
             ("published on", ""), ("measured on", "")]
    return join(el("h3", "Beside the published figures"), table("Published figures and what was measured here", heads,
                                                               rows, "published", True))


def speedups(report: Report) -> Markup:
    found = report.table
    if found is None:
        return section("speedups", "Speedup over legacy", absent("No speedup table was given.", TABLE))
    parts = [operator_table(operator) for operator in found.operators]
    notes = el("ul", *(el("li", note) for note in found.notes), class_="notes") if found.notes else None
    return section("speedups", "Speedup over legacy", *(parts or [absent("The table has no rows.")]),
                   published_table(found.published), notes,
                   lead="legacy time / variant time, both from the same processes, with its 99 % interval. “bits” is "
                        "the oracle's result to the last bit; anything else says what it was held to.")


def kernel_cells(figures: Optional[KernelFigures], most: float, side: str) -> list[Markup]:
    if figures is None:
        return [cell("not launched", "absent", colspan=len(KERNEL_FIGURES) + 1, data_label=side)]
    bar = svg.bar((figures.total or 0.0) / most, f"{side}: {percent_text(figures.share)} of the time", f"bar {side}")
    texts = (f"{figures.launches:,}", nanoseconds(figures.total), nanoseconds(figures.average),
             percent_text(figures.share))
    return [*(cell(text, "number", data_label=f"{head} {side}") for head, text in zip(KERNEL_FIGURES, texts)),
            cell(bar, "bar-cell")]


def kernel_row(kernel: Kernel, most: float) -> Markup:
    control = el("span", "control: MOVED" if kernel.moved else "control",
                 class_="pill control" + (" moved" if kernel.moved else "")) if kernel.control else None
    return el("tr", el("th", el("span", kernel.name or "all kernels", class_="kernel"), " ", control, scope="row"),
              kernel_cells(kernel.before, most, "before"), kernel_cells(kernel.after, most, "after"),
              cell(factor_text(kernel.speedup), "number", data_label="speedup"),
              cell(percent_text(kernel.reduction), "number", data_label="less time"),
              class_="total" if not kernel.name else None)


def kernel_table(kernels: Kernels) -> Markup:
    totals = [figures.total for kernel in kernels.rows for figures in (kernel.before, kernel.after)
              if figures and figures.total]
    most = max(totals, default=1.0)
    heads = [("kernel", "")]
    for side in ("before", "after"):
        heads += [*((f"{head} {side}", "number") for head in KERNEL_FIGURES), ("", "")]
    heads += [("speedup", "number"), ("less time", "number")]
    rows = [kernel_row(kernel, most) for kernel in kernels.rows]
    if kernels.total.before or kernels.total.after:
        whole = kernels.total
        rows.append(kernel_row(Kernel("", whole.before, whole.after, whole.speedup, whole.reduction, False),
                               max(most, *(f.total or 0.0 for f in (whole.before, whole.after) if f))))
    notes = el("ul", *(el("li", note) for note in kernels.notes), class_="notes") if kernels.notes else None
    return join(el("h3", f"{kernels.before or 'before'} → {kernels.after or 'after'}"), notes,
                table(f"GPU time by kernel, from {kernels.file}", heads, rows, "kernels"))


def kernels(report: Report) -> Markup:
    if not report.kernels:
        return section("kernels", "Kernels, before and after", absent("No kernel breakdown was given.", KERNELS))
    return section("kernels", "Kernels, before and after", *(kernel_table(found) for found in report.kernels),
                   lead="All GPU time, kernel by kernel. A control is code that did not change, so its time must not.")


def floors(report: Report) -> Markup:
    """Share of floor: the least time the hardware allows / the measured one."""
    title = "Share of floor"
    rows = []
    for name, row in report.result.rows.items():
        floor, time, share = row.floor(), row.time(), row.share_of_floor()
        if share is None or time is None or floor is None:
            continue
        rows.append((share, el("tr", el("th", row_name(name), scope="row"), cell(time_text(time), "number", time),
                               cell(time_text(floor), "number", floor),
                               cell(el("b", share_text(share)), "number", share),
                               cell(svg.bar(share, f"{share_text(share)} of the floor"), "bar-cell", share))))
    if not rows:
        return section("floors", title, absent("No row of this result states a floor."))
    heads = [("row", ""), ("time", "number"), ("floor", "number"), ("share", "number"), ("0 to 100 %", "")]
    return section("floors", title, table("Share of floor, the furthest from it first", heads,
                                          [row for _, row in sorted(rows, key=lambda pair: pair[0])], "floors", True),
                   lead="The least time that bytes, chains and instructions leave by the ceilings measured beside, "
                        "divided by the time measured. Above 100 % a ceiling was measured too low.")


def fact_text(side: Optional[Side], key: str) -> str:
    values = side.said(key) if side else []
    if key == "date":
        values = sorted(values)
        return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}" if values else NONE
    if key == "binary_sha256":
        values = [value[:12] for value in sorted(values)]
    shown = ", ".join(values[:LONGEST_LIST])
    return (shown + f", and {len(values) - LONGEST_LIST} more" if len(values) > LONGEST_LIST else shown) or NONE


def machines(report: Report) -> Markup:
    """Machine and build of both sides; what differs is marked."""
    sides: list[Optional[Side]] = [report.baseline, report.result]
    rows, different = [], 0
    for key, label in FACTS.items():
        values = [set(side.said(key)) if side else set() for side in sides]
        if not any(values):
            continue
        differs = all(values) and values[0] != values[1] and key not in DIFFER_ANYWAY
        different += differs
        rows.append(el("tr", el("th", label, scope="row"), [cell(fact_text(side, key)) for side in sides],
                       cell(el("span", "≠ differs", class_="differs") if differs else
                            "" if all(values) else "one side says nothing" if report.baseline else ""),
                       class_="different" if differs else None))
    if not rows:
        return section("machines", "Machine and build", absent("Neither side says where it was measured."))
    heads = [("", ""), ("baseline", ""), ("contender", ""), ("", "")]
    lead = "No baseline was found here, so its side is empty." if report.baseline is None else \
        f"{counted(different, 'thing differs', 'things differ')} between the sides." if different else \
        "The sides differ in nothing that they state."
    return section("machines", "Machine and build", table("Machine and build of both sides", heads, rows, "machines"),
                   lead=lead)
