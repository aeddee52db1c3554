#!/usr/bin/env python3
"""What is asked of `strictbench ab`, and what stands after its answers."""
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import confirm
from github_markdown import markdown_code, markdown_text

NAME = "row_fold/{}/rows:1/cols:128/dtype:fp32/timer:graph"
A, B = "a" * 40, "b" * 40


def row(name: str, verdict: str, ratio: float | None = 1.2, **more: Any) -> dict[str, Any]:
    side = {"median": 1.0, "processes": 5, "samples": 5}
    return {"name": name, "verdict": verdict, "ratio": ratio, "ratio_low": ratio, "ratio_high": ratio,
            "smallest_visible": 0.01, "baseline": side, "contender": side, "unit": "ns", "reason": "", **more}


class Confirm(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.result = Path(temporary.name) / "result"
        self.result.mkdir()

    def write(self, name: str, rows: list[dict[str, Any]], **more: Any) -> None:
        document = {"verdict": "pass", "threshold": 0.05, "notes": [], "rows": rows, **more}
        (self.result / name).write_text(json.dumps(document), encoding="utf-8")

    def baseline(self, name: str, rows: dict[str, int], **sessions: tuple[str, str]) -> str:
        """Row names with their session; a session is its date and commit."""
        context = {f"session.{number}.{key}": value for session, values in sessions.items()
                   for number in session[1:] for key, value in zip(("date", "git_commit"), values)}
        path = self.result.parent / name
        path.write_text(json.dumps({"context": context, "benchmarks": [
            {"name": row, "session": session} for row, session in rows.items()]}), encoding="utf-8")
        return str(path)

    def run_program(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = confirm.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def questions(self, *baselines: str) -> dict[str, str]:
        code, out, err = self.run_program("questions", str(self.result), "--baseline", *baselines)
        self.assertEqual((code, err), (0, ""))
        return dict(line.split("\t") for line in out.splitlines())

    def settle(self) -> tuple[int, dict[str, Any]]:
        code, _, err = self.run_program("settle", str(self.result))
        self.assertEqual(err, "")
        return code, json.loads((self.result / "confirmed.json").read_text(encoding="utf-8"))

    def test_rows_in_doubt_alone_are_asked_about_each_of_its_newest_commit(self) -> None:
        names = [NAME.format(variant) for variant in ("one", "two", "three", "four")]
        self.write("compare.json", [row(names[0] + "/manual_time", "slower"), row(names[1], "inconclusive"),
                                    row(names[2], "same"), row(names[3], "wrong")])
        first = self.baseline("first.json", {names[0]: 1, names[1]: 1, names[2]: 1}, s1=("2026-01-01", A))
        second = self.baseline("second.json", {names[1]: 1}, s1=("2026-02-01", B))
        self.assertEqual(self.questions(first, second), {A: f"^{names[0]}(/|$)", B: f"^{names[1]}(/|$)"})

    def test_what_names_no_commit_is_not_asked_about(self) -> None:
        self.write("compare.json", [row(NAME.format("one"), "slower")])
        for commit in ("", "--upload-pack=x", "../" + A, A + "\nx", "main"):
            self.assertEqual(self.questions(self.baseline("b.json", {NAME.format("one"): 1}, s1=("2026", commit))), {})

    def test_the_filter_finds_its_rows_and_no_others(self) -> None:
        odd = "op.1/a+b|c(d)/x:[1]{2}^$\\*?"
        self.write("compare.json", [row(odd, "slower")])
        expression = self.questions(self.baseline("b.json", {odd: 1}, s1=("2026", A)))[A]
        for name, found in ((odd, True), (odd + "/manual_time", True), (odd + "0", False), ("x" + odd, False),
                            (odd.replace(".", "x"), False)):
            self.assertEqual(bool(re.search(expression, name)), found, name)

    def test_a_name_that_would_break_the_line_is_not_asked_about(self) -> None:
        good = NAME.format("one")
        for bad in (f"x\n{B}\t.", "x\ty", "x\x1b[2J", "\ud800"):
            self.write("compare.json", [row(bad, "slower"), row(good, "slower")])
            asked = self.questions(self.baseline("b.json", {bad: 1, good: 1}, s1=("2026", A)))
            self.assertEqual(asked, {A: f"^{good}(/|$)"})

    def test_numbers_that_json_has_not_are_written_as_null(self) -> None:
        for ratio in (float("nan"), float("inf"), 10 ** 400):
            self.write("compare.json", [row(NAME.format("one"), "slower", ratio)], notes=None)
            self.assertEqual(self.run_program("settle", str(self.result))[0], 1)
            text = (self.result / "confirmed.json").read_text(encoding="utf-8")
            json.loads(text, parse_constant=self.fail)
            self.assertNotRegex((self.result / "junit.xml").read_text(encoding="utf-8"), "nan|inf")

    def test_the_filter_is_short_enough_for_an_executable(self) -> None:
        def asked(names: list[str]) -> str:
            self.write("compare.json", [row(name, "slower") for name in names])
            answer = self.questions(self.baseline("b.json", dict.fromkeys(names, 1), s1=("2026", A)))[A]
            self.assertLessEqual(len(answer), 2000)
            self.assertTrue(all(re.search(answer, name) for name in names), answer)
            return answer

        def names(variants: str, shapes: int) -> list[str]:
            return [f"{operator}/{variant}/rows:{shape}/cols:4096/dtype:fp32/timer:graph"
                    for operator in ("fold", "gemm") for variant in variants for shape in range(shapes)]

        exact = asked(names("ab", 2))
        self.assertFalse(re.search(exact, "fold/a/rows:3/cols:4096/dtype:fp32/timer:graph"))
        product = asked([name for name in names("abcd", 12) if "a/rows:3/" not in name])
        self.assertTrue(re.search(product, "fold/a/rows:3/cols:4096/dtype:fp32/timer:graph"))
        self.assertFalse(re.search(product, "fold/a/rows:12/cols:4096/dtype:fp32/timer:graph"))
        self.assertEqual(asked(names("ab", 100)), "^(fold/(a|b)|gemm/(a|b))/")
        self.assertEqual(asked([f"op{n}/{'v' * 90}{n}/x:1" for n in range(30)]).count("v"), 0)

    def test_an_answer_that_is_there_twice_is_refused_with_its_row(self) -> None:
        name = NAME.format("one")
        self.write("compare.json", [row(name, "slower")])
        self.write("ab-aaaaaaaaaa.json", [row(name, "slower"), row(name, "same")])
        code, _, err = self.run_program("settle", str(self.result))
        self.assertEqual((code, err.count("\n"), (self.result / "confirmed.json").exists()), (2, 1, False), err)
        self.assertIn(f"ab-aaaaaaaaaa.json: rows[1] is a second row named {name}", err)

    def test_each_answer(self) -> None:
        for answer, stands, code in (("slower", "slower", 1), ("same", "same", 0), ("faster", "faster", 0),
                                     ("inconclusive", "inconclusive", 3), ("incomparable", "inconclusive", 3),
                                     ("failed", "failed", 1), ("wrong", "wrong", 1), ("new", "slower", 1),
                                     ("missing", "slower", 1), ("skipped", "slower", 1), (None, "slower", 1)):
            with self.subTest(answer):
                self.write("compare.json", [row(NAME.format("one"), "slower", 1.5), row(NAME.format("two"), "same", 1.0)])
                self.write("ab-aaaaaaaaaa.json", [row(NAME.format("one"), answer, 1.1)] if answer else [])
                ended, confirmed = self.settle()
                self.assertEqual((ended, confirmed["exit_code"]), (code, code))
                self.assertEqual([row["verdict"] for row in confirmed["rows"]], [stands, "same"])
                self.assertEqual(confirmed["counts"][stands], 2 if stands == "same" else 1)
                reason = confirmed["rows"][0]["reason"]
                self.assertIn("not measured again" if answer is None else "aaaaaaaaaa", reason)
                if stands in ("wrong", "failed"):
                    self.assertNotIn("%)", (self.result / "junit.xml").read_text(encoding="utf-8"))

    def test_a_row_that_ab_judged_states_its_threshold_and_where_its_samples_are(self) -> None:
        self.write("compare.json", [row(NAME.format("one"), "slower", 1.5), row(NAME.format("two"), "slower", 1.4),
                                    row(NAME.format("three"), "same", 1.0)])
        self.write("ab-aaaaaaaaaa.json", [row(NAME.format("one"), "slower", 1.02)], threshold=0.01)
        code, confirmed = self.settle()
        one, two, three = confirmed["rows"]
        self.assertEqual((code, confirmed["threshold"]), (1, 0.05))
        self.assertEqual((one["threshold"], one["measured_again"], one["ratio"]), (0.01, "aaaaaaaaaa", 1.02))
        self.assertIn("measured by turns with aaaaaaaaaa: slower (+2.00 %) at a threshold of 1.00 %", one["reason"])
        for other in (two, three):
            self.assertFalse({"threshold", "measured_again"} & set(other))

    def test_an_answer_is_that_of_the_rows_own_commit(self) -> None:
        one, two = NAME.format("one"), NAME.format("two")
        self.write("compare.json", [row(one, "slower", 1.5), row(two, "slower", 1.4)])
        baseline = self.baseline("b.json", {one: 1, two: 2}, s1=("2026", A), s2=("2026", B))
        # The filter of each commit found the row of the other, too.
        self.write("ab-aaaaaaaaaa.json", [row(one, "same", 1.0), row(two, "slower", 1.9)])
        self.write("ab-bbbbbbbbbb.json", [row(one, "slower", 1.9), row(two, "same", 1.0)])
        code, _, err = self.run_program("settle", str(self.result), "--baseline", baseline)
        self.assertEqual((code, err), (0, ""))
        confirmed = json.loads((self.result / "confirmed.json").read_text(encoding="utf-8"))
        self.assertEqual([(row["measured_again"], row["ratio"]) for row in confirmed["rows"]],
                         [("aaaaaaaaaa", 1.0), ("bbbbbbbbbb", 1.0)])

    def test_doubts_without_an_answer_stay(self) -> None:
        self.write("compare.json", [row(NAME.format("one"), "inconclusive"), row(NAME.format("two"), "slower")])
        self.write("ab-aaaaaaaaaa.json", [row(NAME.format("two"), "same", 1.0)])
        code, confirmed = self.settle()
        self.assertEqual((code, confirmed["verdict"]), (3, "undecided"))
        self.assertIn("in doubt were 1 slower and 1 inconclusive; measured again: 1 same, 1 not measured again",
                      (self.result / "summary.txt").read_text(encoding="utf-8"))

    def test_whatever_stands_in_a_name_the_files_are_whole(self) -> None:
        hostile = ["<b>&\"'", "a\x00b\x1b[31m", "]]>", "\ud800", "line\nbreak", "x" * 5000]
        self.write("compare.json", [row(f"op/{name}", "slower", reason=name) for name in hostile], notes=hostile)
        self.assertEqual(self.settle()[0], 1)
        suite = xml.etree.ElementTree.parse(self.result / "junit.xml").getroot()[0]
        self.assertEqual(len(suite.findall("testcase/failure")), len(hostile))
        self.assertEqual((self.result / "summary.txt").read_text(encoding="utf-8").count("\n"), 1)

    def test_unusable_input_is_one_line(self) -> None:
        for text in (None, "{", "[]", '{"verdict": "pass"}', '{"verdict": "pass", "threshold": 1, "rows": [{}]}'):
            if text is not None:
                (self.result / "compare.json").write_text(text, encoding="utf-8")
            code, out, err = self.run_program("settle", str(self.result))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn("compare.json", err)
        self.assertEqual([file.name for file in self.result.iterdir()], ["compare.json"])

    def test_a_place_that_cannot_be_written(self) -> None:
        self.write("compare.json", [row(NAME.format("one"), "same", 1.0)])
        for name in ("confirmed.json", "junit.xml", "summary.txt"):
            (self.result / name / "in the way").mkdir(parents=True)
            code, out, err = self.run_program("settle", str(self.result))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(f"{name}: ", err)
            self.assertEqual(list(self.result.glob("*.tmp")), [])
            shutil.rmtree(self.result / name)

    def test_links_that_came_with_a_result_are_replaced(self) -> None:
        self.write("compare.json", [row(NAME.format("one"), "same", 1.0)])
        precious = self.result.parent / "precious"
        precious.write_text("precious", encoding="utf-8")
        names = ("confirmed.json", "junit.xml", "summary.txt")
        for name in names:
            (self.result / name).symlink_to(precious)
        self.assertEqual(self.settle()[0], 0)
        self.assertEqual(precious.read_text(encoding="utf-8"), "precious")
        self.assertFalse(any(path.is_symlink() for path in self.result.iterdir()))


class Locale(unittest.TestCase):
    def test_a_path_and_a_name_are_utf8_in_a_locale_that_is_not(self) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            result = Path(temporary) / "\u00e9"
            result.mkdir()

            def settle() -> subprocess.CompletedProcess[bytes]:
                return subprocess.run(
                    [sys.executable, confirm.__file__, "settle", os.fsencode(result)], capture_output=True, check=False,
                    env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "GITHUB_ACTIONS": "true"})

            self.assertEqual(settle().stderr.decode(),
                             f"confirm.py: {result}/compare.json: No such file or directory\n")
            (result / "compare.json").write_text(json.dumps(
                {"verdict": "pass", "threshold": 0.05, "rows": [row(NAME.format("\u6f22"), "slower")]}), encoding="utf-8")
            done = settle()
            self.assertEqual((done.returncode, done.stderr), (1, b""))
            self.assertIn("row_fold/\u6f22/", done.stdout.decode())
            self.assertTrue((result / "summary.txt").read_text(encoding="utf-8").endswith(f"; {result}\n"))


class Annotations(unittest.TestCase):
    def test_of_more_than_github_shows_the_first_says_how_many(self) -> None:
        for count, first in ((10, "::error title=slower%3A r0::"), (12, "::error title=strictbench::12 rows are slower")):
            rows = [{"verdict": "slower", "name": f"r{n}", "ratio": 2.0, "reason": ""} for n in range(count)]
            out = io.StringIO()
            with unittest.mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": ""}), \
                    contextlib.redirect_stdout(out):
                confirm.tell_github({"rows": rows}, "a summary")
            lines = out.getvalue().splitlines()
            self.assertEqual(len(lines), 10)
            self.assertTrue(lines[0].startswith(first), lines[0])

    def test_the_ends_of_a_long_name_are_kept(self) -> None:
        name = f"row_fold/new/{'x' * 5000}/timer:graph"
        comparison = {"rows": [{"verdict": "slower", "name": name, "ratio": 2.0, "reason": ""}]}
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "summary.md"
            with unittest.mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}), \
                    contextlib.redirect_stdout(out):
                confirm.tell_github(comparison, "a summary")
            text = page.read_text(encoding="utf-8")
        for shown in (out.getvalue(), text):
            self.assertLess(len(shown), 1000)
            self.assertIn("row_fold/new/", shown)
            self.assertRegex(shown, "x…x+/timer")

    def test_a_cell_is_as_the_program_writes_it(self) -> None:
        examples = json.loads((Path(__file__).parent.parent / "testdata/markdown.json").read_text(encoding="utf-8"))
        self.assertGreater(len(examples), 10)
        for example in examples:
            for form, written in (("cell", markdown_text), ("code", markdown_code)):
                if form in example:
                    self.assertEqual(written(example["text"]), example[form], example["text"])
        hostile = "".join(map(chr, range(32, 127)))
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "summary.md"
            with unittest.mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": str(page)}):
                confirm.tell_github({"rows": [{"verdict": "slower", "name": hostile, "ratio": 2.0, "reason": hostile}]},
                                    hostile)
            heading, *_, row, _ = page.read_text(encoding="utf-8").splitlines()
        told = heading.removeprefix("**").removesuffix("**")
        cells = re.sub("</?code>", "", row).split(" | ")
        self.assertEqual(len(cells), 3, row)
        for shown in (told, *cells[1:]):
            shown = re.sub(r"&#[0-9]+;|(?<=[0-9A-Za-z])_(?=[0-9A-Za-z])| \|$", "", shown)
            self.assertNotRegex(shown, r"[@$&<>`*_\[\]|~#\\{}!\"^]")


if __name__ == "__main__":
    unittest.main()
