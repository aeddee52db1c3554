#!/usr/bin/env python3
"""What stands of a night's verdicts after the rows in doubt were measured again.

usage: confirm.py questions RESULT --baseline FILE...
       confirm.py settle RESULT [--baseline FILE...] [--note TEXT]...

A row is in doubt where compare.json calls it `slower` or `inconclusive`. `questions` prints, one a line, each commit
that baselines of such rows were measured at, a tab, and the filter that selects those rows. `strictbench ab` answers
in RESULT/ab-<first ten letters of the commit>.json. `settle` puts its answers over the first verdicts and writes
confirmed.json, junit.xml and summary.txt into RESULT; it prints nothing but a GitHub action's annotations. A row of
confirmed.json that ab judged carries ab's numbers, its `threshold`, and in `measured_again` the commit: the samples
are in RESULT/ab-<commit>/base and head.

Exit code of settle: 0, 1 or 3, as `strictbench compare` would end on what stands, or as grave as --run says; 2 for
unusable input.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Optional
from xml.sax.saxutils import escape, quoteattr

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("page", "pictures")]

from github_markdown import markdown_code, markdown_text  # noqa: E402
from program import run_program  # noqa: E402
from read import REGRESSED, UNDECIDED, VERDICTS, read_comparison  # noqa: E402  (found through the line above)
from result_folder import UnusableInput, load, load_benchmarks  # noqa: E402
from sides import canonical  # noqa: E402
from whole_file import write_whole  # noqa: E402
from words import plain  # noqa: E402

IN_DOUBT = ("slower", "inconclusive")
ANSWERS = ("slower", "same", "faster", "inconclusive", "incomparable", "wrong", "failed")
COMMIT = re.compile(r"[0-9a-f]{7,64}")
LONGEST_FILTER = 2000  # what a benchmark executable takes
# What a run that did not end well makes of the night, whatever its rows say: exit code, first word, why, what to do.
RUNS = {"failed": (1, "failed", "something failed in the run", "run.json says what"),
        "suspect": (3, "undecided", "most samples are suspect", "measure again when the GPU is cool and free")}
VERDICT_OF = {0: "pass", 1: "regressed", 3: "undecided"}
MOST_ANNOTATIONS = 10  # GitHub shows no more of a step, so the first of them says how many there are

Row = dict[str, Any]


class Answer(NamedTuple):
    """What ab says of a row, measured by turns with a commit, at its own threshold."""

    commit: str
    threshold: float
    row: Row


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON has not: what is read here is written again."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_rows(path: Path) -> dict[str, Any]:
    """A comparison as it stands in its file, after a look that it is one."""
    read_comparison(path)
    return finite(load(path))


def commits_of(baselines: list[Path]) -> dict[str, str]:
    """For each row the commit of the newest session that has it."""
    newest: dict[str, tuple[str, str]] = {}
    for file in baselines:
        document = load_benchmarks(file)
        context = document.get("context")
        context = context if isinstance(context, dict) else {}
        for row in document["benchmarks"]:
            session = row.get("session")
            date, commit = (str(context.get(f"session.{session}.{key}", context.get(key, "")))
                            for key in ("date", "git_commit"))
            name = canonical(row["name"])
            newest[name] = max(newest.get(name, ("", "")), (date, commit))
    return {name: commit for name, (_, commit) in newest.items() if COMMIT.fullmatch(commit)}


def any_of(texts: Iterable[str]) -> str:
    quoted = [re.sub(r"[][\\.^$*+?(){}|]", r"\\\g<0>", text) for text in dict.fromkeys(texts)]
    return quoted[0] if len(quoted) == 1 else f"({'|'.join(quoted)})"


def filter_of(names: list[str]) -> str:
    """An extended regular expression that finds these rows, and as few others as the room for it allows: none, else
    each variant of an operator with each shape, else all shapes of the variants, else all of the operators."""
    operators: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        operator, _, rest = name.partition("/")
        variant, _, shape = rest.partition("/")
        operators.setdefault(operator, []).append((variant, shape))

    def by_operator(*parts: int) -> str:
        each = ["/".join([any_of([operator]), *(any_of(row[part] for row in rows) for part in parts)])
                for operator, rows in operators.items()]
        return each[0] if len(each) == 1 else f"({'|'.join(each)})"

    exact = f"^{any_of(names)}(/|$)"
    for expression in (exact, f"^{by_operator(0, 1)}(/|$)", f"^{by_operator(0)}/"):
        if len(expression.encode()) <= LONGEST_FILTER:
            return expression
    return f"^{any_of(operators)}/"


def questions(result: Path, baselines: list[Path]) -> int:
    commits = commits_of(baselines)
    asked: dict[str, list[str]] = {}
    for row in read_rows(result / "compare.json")["rows"]:
        name = canonical(row["name"])
        # A question is a line that a shell reads: a name that would break it is not asked about.
        if row["verdict"] in IN_DOUBT and name in commits and name.isprintable():
            asked.setdefault(commits[name], []).append(name)
    for commit, names in asked.items():
        print(f"{commit}\t{filter_of(names)}")
    return 0


def change_of(row: Row) -> str:
    """Of a result that is wrong no time is ever shown."""
    ratio = None if row.get("verdict") in ("wrong", "failed") else row.get("ratio")
    # An integer may be beyond what a float holds.
    usable = type(ratio) in (int, float) and 0 < ratio < 1e300
    return f" ({100 * (ratio - 1):+.2f} %)" if usable else ""


def settled(row: Row, answers: dict[str, Answer]) -> Row:
    """A row as it stands: what ab says of it, with what it had been called before."""
    if row["verdict"] not in IN_DOUBT:
        return row
    commit, threshold, answer = answers.get(canonical(row["name"]), Answer("", 0.0, {}))
    said = answer.get("verdict")
    before = f"{row['verdict']}{'' if said in ('wrong', 'failed') else change_of(row)} against the baseline"
    if said not in ANSWERS:
        why = f"measured again with {commit}, it is called {said}" if said else "not measured again"
        return {**row, "reason": "; ".join(filter(None, [row.get("reason"), why]))}
    verdict = "inconclusive" if said == "incomparable" else said
    reason = (f"{before}; measured by turns with {commit}: {verdict}{change_of(answer)} at a threshold of "
              f"{100 * threshold:.2f} %")
    return {**answer, "name": row["name"], "verdict": verdict, "threshold": threshold, "measured_again": commit,
            "reason": "; ".join(filter(None, [reason, answer.get("reason")]))}


def stands(result: Path, baselines: list[Path], notes: list[str]) -> tuple[dict[str, Any], str]:
    """The comparison after confirmation, and what was confirmed in a few words.

    A filter may find rows that it does not ask about: with `baselines`, a row's answer is the one of its own commit.
    """
    first = read_rows(result / "compare.json")
    answers: dict[str, Answer] = {}
    commits = commits_of(baselines)
    notes = [*(first.get("notes") or []), *notes]
    for file in sorted(result.glob("ab-*.json")):
        answer, commit = read_rows(file), file.stem.removeprefix("ab-")
        notes.append(f"rows in doubt were measured again by turns with {commit}, threshold "
                     f"{100 * answer['threshold']:.2f} %")
        notes += [f"{commit}: {note}" for note in answer.get("notes") or []]
        for row in answer["rows"]:
            name = canonical(row["name"])
            if commits.get(name, commit).startswith(commit):
                answers[name] = Answer(commit, answer["threshold"], row)
    rows = [settled(row, answers) for row in first["rows"]]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    red, open_ = (any(counts[verdict] for verdict in verdicts) for verdicts in (REGRESSED, UNDECIDED))
    code = 1 if red else 3 if open_ else 0
    comparison = {**first, "verdict": VERDICT_OF[code], "exit_code": code, "counts": counts, "notes": notes, "rows": rows}
    return comparison, in_words(first["rows"], rows, answers)


def in_words(before: list[Row], after: list[Row], answers: dict[str, Answer]) -> str:
    doubted = [(old, new) for old, new in zip(before, after) if old["verdict"] in IN_DOUBT]
    if not doubted:
        return ""
    slower = sum(old["verdict"] == "slower" for old, _ in doubted)
    text = f"in doubt were {slower} slower and {len(doubted) - slower} inconclusive"
    asked = [new for old, new in doubted if canonical(old["name"]) in answers]
    if not asked:
        return f"{text}, none measured again"
    found = [f"{count} {verdict}" for verdict in VERDICTS if (count := sum(new["verdict"] == verdict for new in asked))]
    rest = f", {len(doubted) - len(asked)} not measured again" if len(asked) < len(doubted) else ""
    return f"{text}; measured again: {', '.join(found)}{rest}"


def with_run(comparison: dict[str, Any], run: str) -> tuple[dict[str, Any], str]:
    """A comparison after a run of RUNS, or of no name where it ended well; and what the run adds to its rows' verdict,
    empty where they are as grave themselves."""
    if not run:
        return comparison, ""
    code, word, why, hint = RUNS[run]
    comparison = {**comparison, "notes": [*comparison["notes"], f"{why}: {hint}"]}
    if comparison["exit_code"] in (1, code):
        return comparison, ""
    return {**comparison, "verdict": VERDICT_OF[code], "exit_code": code}, f"{word}: {why}"


def summary_of(comparison: dict[str, Any], of_run: str, words: str, result: Path) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in comparison["counts"].items() if count) or "no rows"
    begin = f"{of_run}; {counts}" if of_run else f"{comparison['verdict']}: {counts}"
    return "; ".join(filter(None, [begin, words, str(result)]))


def junit(comparison: dict[str, Any], of_run: str = "") -> str:
    """As `strictbench compare --format junit` writes: red is a failure, undecided is skipped. What the run adds to the
    verdict of its rows is a test of its own."""
    def count(verdicts: tuple[str, ...]) -> int:
        return sum(comparison["counts"][verdict] for verdict in verdicts)

    skips, red = (*UNDECIDED, "skipped"), comparison["verdict"] == "regressed"
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuites><testsuite name="strictbench nightly" tests="{len(comparison["rows"]) + bool(of_run)}" '
             f'failures="{count(REGRESSED) + (bool(of_run) and red)}" errors="0" '
             f'skipped="{count(skips) + (bool(of_run) and not red)}">']
    if of_run:
        inner = f'<failure type="failed" message="{of_run}"/>' if red else f'<skipped message="{of_run}"/>'
        lines.append(f'<testcase classname="strictbench" name="the run">{inner}</testcase>')
    for row in comparison["rows"]:
        verdict, message = row["verdict"], quoteattr(message_of(row))
        inner = (f'<failure type="{verdict}" message={message}/>' if verdict in REGRESSED else
                 f"<skipped message={message}/>" if verdict in skips else "")
        lines.append(f'<testcase classname="strictbench" name={quoteattr(plain(row["name"], 500))}>{inner}</testcase>')
    notes = "\n".join(escape(plain(note, 2000)) for note in comparison["notes"])
    return "\n".join([*lines, f"<system-out>{notes}\n</system-out>", "</testsuite></testsuites>", ""])


def message_of(row: Row) -> str:
    return plain(f"{row['verdict']}{change_of(row)}: {row.get('reason') or 'no reason given'}", 2000)


def tell_github(comparison: dict[str, Any], summary: str, of_run: str = "") -> None:
    """Annotations of what is red, and a table of what is not well in the step's summary."""
    def escaped(text: str) -> str:
        return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")

    if os.environ.get("GITHUB_ACTIONS") == "true":
        if of_run and comparison["verdict"] == "regressed":
            print(f"::error title=strictbench::{of_run}; run.json says what")
        red = [row for row in comparison["rows"] if row["verdict"] in REGRESSED]
        shown = red
        if len(red) > MOST_ANNOTATIONS:
            shown = red[:MOST_ANNOTATIONS - 1]
            print(f"::error title=strictbench::{len(red)} rows are slower, wrong, failed or missing; "
                  f"the first {len(shown)} follow")
        for row in shown:
            print(f"::error title={escaped(plain(row['verdict'] + ': ' + row['name'], 300))}::"
                  f"{message_of(row).replace('%', '%25')}")
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        bad = [row for row in comparison["rows"] if row["verdict"] in (*REGRESSED, *UNDECIDED)]
        lines = [f"**{markdown_text(summary)}**", ""]
        if bad:
            lines += ["| verdict | row | why |", "|---|---|---|"]
            lines += [f"| {row['verdict']} | {markdown_code(plain(row['name'], 300))} | "
                      f"{markdown_text(plain(message_of(row), 500))} |" for row in bad[:200]]
            lines += [""] if len(bad) <= 200 else ["", f"{len(bad) - 200} more row{'' if len(bad) == 201 else 's'}.", ""]
        try:
            with open(page, "a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        except OSError as error:  # a page that cannot be written changes no verdict
            print(f"confirm.py: the step's summary, {plain(page, 1000)}, cannot be written: {error.strerror}",
                  file=sys.stderr)


def settle(result: Path, baselines: list[Path], notes: list[str], run: str = "") -> int:
    comparison, words = stands(result, baselines, notes)
    comparison, of_run = with_run(comparison, run)
    summary = plain(summary_of(comparison, of_run, words, result), 2000)
    write_whole(result / "confirmed.json", json.dumps(comparison, indent=1) + "\n", named=False)
    write_whole(result / "junit.xml", junit(comparison, of_run), named=False)
    write_whole(result / "summary.txt", summary + "\n", named=False)
    tell_github(comparison, summary, of_run)
    return comparison["exit_code"]


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="confirm.py", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="questions|settle")
    asks = commands.add_parser("questions", help="what to ask `strictbench ab`")
    asks.add_argument("--baseline", type=Path, nargs="+", required=True, metavar="FILE", help="committed baselines")
    settles = commands.add_parser("settle", help="put its answers over the first verdicts")
    settles.add_argument("--baseline", type=Path, nargs="+", default=[], metavar="FILE", help="those of the questions")
    settles.add_argument("--note", action="append", default=[], metavar="TEXT", help="a note on the comparison")
    settles.add_argument("--run", choices=RUNS, default="", help="how the run ended, where it did not end well")
    for command in (asks, settles):
        command.add_argument("result", type=Path, metavar="RESULT", help="a result folder with its compare.json")
    options = parser.parse_args(arguments)
    try:
        if options.command == "questions":
            return questions(options.result, options.baseline)
        return settle(options.result, options.baseline, options.note, options.run)
    except UnusableInput as error:
        print(f"confirm.py: {plain(str(error), 1000)}", file=sys.stderr)
    except OSError as error:
        print(f"confirm.py: {plain(str(error.filename), 1000)}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    run_program(main)
