#!/usr/bin/env python3
"""Makes the report of a result: one HTML file that needs nothing else, with pictures of it beside.

usage: report.py RESULT [--verdict FILE] [--table FILE] [--kernels FILE...] [--baseline PATH...]
                 [--history PATH...] [--baselines DIR] [--out FILE.html]

Everything but RESULT may be left out: verdict, table and kernels are looked for in RESULT by their usual names, the
history beside it, baselines in this source tree. What is not there, the page says. Rows that a night measured again
by turns are drawn from the folders ab-<commit> beside the verdict.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pictures"))

from document import page  # noqa: E402
from history import History, entries_of, read_history  # noqa: E402
from program import run_program  # noqa: E402
from read import Comparison, UnusableInput, read_comparison, read_kernels, read_table  # noqa: E402
from sections import Report  # noqa: E402
from sides import Side, read_side  # noqa: E402
from whole_file import Named, files_of_each, require_apart, write_whole  # noqa: E402
from words import plain  # noqa: E402

BASELINES = HERE.parent.parent / "baselines"


def beside(result: Path, name: str) -> Optional[Path]:
    """A file of the usual name in the result folder."""
    return result / name if (result / name).is_file() else None


def baselines_of(folder: Path, device: str) -> tuple[list[Path], list[str]]:
    """The committed baselines of a device, and what could not be read among all. Published figures are none."""
    found, unreadable = [], []
    for file in sorted(folder.glob("*/*.json")):
        try:
            side = read_side([file])
        except UnusableInput as error:
            unreadable.append(str(error))
            continue
        if device and side.device() == device and not side.published():
            found.append(file)
    return found, unreadable


def history_paths(options: argparse.Namespace) -> list[Path]:
    """What was named, else the folders beside the result; the result itself is always its own last night."""
    named = [entry for path in options.history for entry in entries_of(path)]
    if not options.history and options.result.is_dir():
        named = entries_of(options.result.resolve().parent)
    return [*named, options.result]


def measured_again(folder: Path, comparison: Optional[Comparison]) -> tuple[dict[str, dict[str, Side]], list[str]]:
    """Both sides of what a night measured again, by commit, and what of them cannot be read."""
    found: dict[str, dict[str, Side]] = {}
    alarms = []
    for commit in comparison.measured_again() if comparison else ():
        for name in ("base", "head"):
            try:
                found.setdefault(commit, {})[name] = read_side([folder / f"ab-{commit}" / name])
            except UnusableInput as error:
                alarms.append(f"Samples of rows that were measured again are not drawn: {error}")
    return found, alarms


def inputs_of(options: argparse.Namespace) -> list[Named]:
    """Every file that was named, or stands in a folder that was: the page takes the place of none of them."""
    earlier = [entry for path in options.history for entry in entries_of(path)]
    return [*files_of_each("RESULT", [options.result]), ("--verdict", options.verdict), ("--table", options.table),
            *files_of_each("--kernels", options.kernels), *files_of_each("--baseline", options.baseline),
            *files_of_each("--history", earlier), *files_of_each("--baselines", sorted(options.baselines.glob("*")))]


def gather(options: argparse.Namespace) -> Report:
    """Reads everything. What was named must be there; what is only looked for need not."""
    result = read_side([options.result])
    verdict = options.verdict or beside(options.result, "compare.json")
    table = options.table or beside(options.result, "table.json")
    kernels = options.kernels or [*filter(None, [beside(options.result, "kernels.json")])]
    accepted, unreadable = baselines_of(options.baselines, result.device())
    sides = options.baseline or accepted
    baseline: Optional[Side] = read_side(sides) if sides else None
    history: History = read_history(history_paths(options), accepted, result.device(), result.rows)
    history.unreadable += unreadable
    title = options.result.resolve().name
    comparison = read_comparison(verdict) if verdict else None
    again, alarms = measured_again(verdict.parent, comparison) if verdict else ({}, [])
    return Report(title, result, baseline, comparison, read_table(table) if table else None,
                  [read_kernels(file) for file in kernels], history, again, alarms)


def save_page(path: Path, text: str, named: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, named=named)


def save_pictures(report: Report, folder: Path, stem: str) -> list[Path]:
    """The pictures that a pull request can show. Without matplotlib there are none, and the page is whole."""
    try:
        import pictures
    except ModuleNotFoundError as missing:
        print(f"report.py: no pictures: {missing}; report/requirements.txt names what they need", file=sys.stderr)
        return []
    return pictures.save_all(report, folder, stem)


def refuse(reason: str) -> int:
    """One line, whatever the names of files are."""
    print(f"report.py: {plain(reason, 1000)}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="report.py", description="Makes the report of a result: one HTML file, with "
                                                                 "pictures of it beside.")
    made.add_argument("result", type=Path, metavar="RESULT", help="a result folder, or one Google Benchmark JSON file")
    made.add_argument("--verdict", type=Path, metavar="FILE",
                      help="what `strictbench compare --format json` wrote (default: RESULT/compare.json)")
    made.add_argument("--table", type=Path, metavar="FILE",
                      help="what `strictbench table --format json` wrote (default: RESULT/table.json)")
    made.add_argument("--kernels", type=Path, nargs="+", metavar="FILE", default=[],
                      help="what `strictbench kernels --format json` wrote (default: RESULT/kernels.json)")
    made.add_argument("--baseline", type=Path, nargs="+", metavar="PATH", default=[],
                      help="the other side of the comparison, for its samples and machine (default: the committed "
                           "baselines of this device)")
    made.add_argument("--history", type=Path, nargs="+", metavar="PATH", default=[],
                      help="results of earlier nights, or folders of them (default: the folders beside RESULT)")
    made.add_argument("--baselines", type=Path, metavar="DIR", default=BASELINES,
                      help="committed baselines, <device>/<name>.json (default: those of this source tree)")
    made.add_argument("--out", type=Path, metavar="FILE",
                      help="the page; pictures go beside it (default: report.html in the result folder)")
    made.add_argument("--no-pictures", action="store_true", help="write the page alone")
    return made


def main(arguments: Optional[list[str]] = None) -> int:
    options = parser().parse_args(arguments)
    out = options.out or (options.result / "report.html" if options.result.is_dir() else Path("report.html"))
    try:
        if options.out or not out.is_symlink():  # a link at a name of our own is replaced, not what it leads to
            require_apart([("--out", out)], inputs_of(options))
        report = gather(options)
        save_page(out, page(report), named=options.out is not None)
        saved = [] if options.no_pictures else save_pictures(report, out.parent, out.stem)
        print(*[out, *saved], sep="\n", flush=True)
    except UnusableInput as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(f"{error.filename or out}: {error.strerror}")
    return 0


if __name__ == "__main__":
    run_program(main)
