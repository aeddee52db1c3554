#!/usr/bin/env python3
"""The page as a file: what stands on it, what never does, and what it says where something is missing.

usage: report_test.py [STRICTBENCH]    with the program, its own comparison is read too
"""
from __future__ import annotations

import contextlib
import html.parser
import io
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import made_up
import markup
import report
import sections
from history import ruptures
from markup import el

STRICTBENCH = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), None)
HOSTILE = ["<script>alert(1)</script>", "\"' onload='x", "</title><b>", "&lt;b&gt;", "a\x00b\x1b[31m\u202e", "\ud800",
           "../../etc/passwd", "javascript:alert(1)", "x" * 5000, "$\\frac{1}{0}$", "]]>", "<!--", "漢字", "௦"]
OURS = set("html head meta link title style script body header nav main section footer article figure figcaption div p "
           "h1 h2 h3 ul li dl dt dd table caption thead tbody tr th td span b small a code wbr svg path rect line circle "
           "text".split())


class Reader(html.parser.HTMLParser):
    """What a browser would find: tags with their attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.sections: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in markup.VOID:
            self.open.append(tag)
        if tag == "section":
            self.at = dict(attrs)["id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> does not close what is open"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)
            if "section" in self.open:
                self.sections[self.at] = self.sections.get(self.at, "") + data


class Page(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.result = self.root / "results" / "last"

    def run_program(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = report.main([str(self.result), "--baselines", str(self.root / "baselines"), *arguments])
        return code, out.getvalue(), err.getvalue()

    def read(self, *arguments: str) -> Reader:
        code, _, err = self.run_program("--no-pictures", *arguments)
        self.assertEqual((code, err), (0, ""))
        page = Reader((self.result / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(page.open, [])
        return page

    def make(self, nights: int = 30) -> None:
        made_up.write_nights(self.root / "results", cases=34, nights=nights, processes=3)
        made_up.write_last(self.root, cases=34, nights=nights, processes=5)

    def change(self, name: str, edit: Any) -> None:
        file = self.result / f"{name}.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        edit(document)
        file.write_text(json.dumps(document), encoding="utf-8")

    def test_everything(self) -> None:
        self.make()
        page = self.read()
        text = " ".join("".join(page.texts).split())
        for part in ("▲ Regressed 6 of 34 rows", "6 regressed", "2 undecided", "26 passed", "NVIDIA H200", "bits",
                     "within 0.02", "control: steady", "tensor_core_gemm", "374 ms", "≠ differs", "580.159.09",
                     "check failed: 3 of 622,329,856 elements differ", "31 nights"):
            self.assertIn(part, text)
        self.assertEqual(list(page.sections), ["findings", "rows", "ratios", "samples", "speedups", "kernels", "floors",
                                               "history", "machines"])
        # Gravest first, and the wrong row without a time.
        order = [page.sections["findings"].index(f"{sections.MARKS[verdict]} {verdict}") for verdict in (
            "wrong", "failed", "missing", "slower", "inconclusive", "faster", "new", "skipped")]
        self.assertEqual(order, sorted(order))
        self.assertEqual(page.sections["samples"].count("contender: 5 processes, 100 samples"), 7)

    def test_it_needs_nothing_else_and_is_accessible(self) -> None:
        self.make()
        page = self.read()
        for tag, attributes in page.tags:
            self.assertIn(tag, OURS)
            for key, value in attributes.items():
                self.assertFalse(key.startswith("on"), (tag, key))
                if key in ("href", "src"):
                    self.assertRegex(value, r"^(#[a-z0-9-]+|data:,)$")
            if tag == "svg":
                self.assertTrue(attributes.get("aria-label") or attributes.get("aria-hidden"), attributes)
            if tag == "th":
                self.assertIn(attributes.get("scope"), ("col", "row"))
        text = (self.result / "report.html").read_text(encoding="utf-8")
        self.assertNotRegex(text, r"https?://|@import|url\(")
        self.assertEqual(len(re.findall(r"<caption>", text)), len(re.findall(r"<table", text)))
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))

    def test_hostile_texts_stay_texts(self) -> None:
        self.make(nights=10)
        for text in HOSTILE:
            name = f"row_fold/{text}/rows:{text}"

            def rows(document: dict[str, Any]) -> None:
                for index, row in enumerate(document["rows"]):
                    row["name"] = f"{name}/{index}"
                    row.update(reason=text, unit=text if index % 2 else "ns")
                document.update(notes=[text], metric=text)

            self.change("compare", rows)
            line = {"shape": text, "timer": text, "check": text, "control": text,
                    "variants": {"legacy": {"time_ns": 1.0}, text: {"time_ns": None, "trouble": text}}}
            self.change("table", lambda document: document.update(
                notes=[text], published=[{"name": text, "published_on": text}],
                operators=[{"op": text, "variants": ["legacy", text], "lines": [line]}]))
            self.change("kernels", lambda document: document.update(before=text, after=text, rows=[{"name": text}]))
            file = self.result / "row_fold.0.json"
            document = json.loads(file.read_text(encoding="utf-8"))
            for index, row in enumerate(document["benchmarks"]):
                row["name"] = f"{name}/{index}"
            document["context"].update(dict.fromkeys(("driver_version", "git_commit", "compiler", "host_name"), text))
            file.write_text(json.dumps(document), encoding="utf-8")
            self.change("run", lambda document: document.update(status="interrupted", processes=[
                {"status": text, "operator": text, "reason": text, "process": text}]))
            with self.subTest(text[:30]):
                page = self.read()
                self.assertEqual({tag for tag, _ in page.tags} - OURS, set())
                self.assertEqual(sum(tag == "script" for tag, _ in page.tags), 1)
                self.assertFalse([key for _, attributes in page.tags for key in attributes if key.startswith("on")])
                shown = "".join(page.texts)
                self.assertNotRegex(shown, "[\x00-\x08\x0b-\x1f\u202e\ud800]")
                if text.isprintable() and len(text) < 100:
                    self.assertIn(text, shown)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["baselines", "results"])

    def test_rows_that_were_measured_again_are_drawn_from_what_measured_them(self) -> None:
        self.make(nights=2)
        commit = "abcdef0123"

        def again(document: dict[str, Any]) -> None:
            document["threshold"] = 0.05
            self.name = document["rows"][3]["name"]
            document["rows"][3].update(verdict="slower", ratio=1.02, ratio_low=1.015, ratio_high=1.025, threshold=0.01,
                                       measured_again=commit)

        self.change("compare", again)
        for side, times in (("base", [777.0, 778.0]), ("head", [795.0, 796.0, 797.0])):
            made_up.write_summary(self.result / f"ab-{commit}/{side}/summary.json", made_up.context(1), {self.name: times})
        page = self.read()
        samples = page.sections["samples"]
        self.assertIn("777 ns797 ns", samples)
        self.assertIn(f"{commit}, by turns: the medians of 2 processes contender, by turns: the medians of 3 processes",
                      samples)
        self.assertIn("Threshold5 %; 1 % for what was measured again", "".join(page.texts))
        bands = {tag["width"] for name, tag in page.tags if name == "rect" and tag.get("class") == "band"}
        self.assertEqual(len(bands), 2)  # each row is drawn against its own threshold
        drawn = samples.count("by turns")
        shutil.rmtree(self.result / f"ab-{commit}")
        page = self.read()
        self.assertEqual(page.sections["samples"].count("by turns"), drawn - 2)
        self.assertIn("Samples of rows that were measured again are not drawn: ", "".join(page.texts))
        self.assertNotIn("777 ns", "".join(page.texts))

    def test_only_a_result(self) -> None:
        self.make(nights=0)
        for name in ("compare", "table", "kernels"):
            (self.result / f"{name}.json").unlink()
        (self.root / "baselines/h200/main.json").unlink()
        page = self.read()
        self.assertIn("Not compared", "".join(page.texts))
        for section, words in (("findings", "No comparison was given"), ("ratios", "No comparison was given"),
                               ("samples", "No comparison was given"), ("speedups", "No speedup table was given"),
                               ("kernels", "No kernel breakdown was given"), ("history", "a history takes two"),
                               ("machines", "No baseline was found"), ("rows", "row_fold/new/")):
            self.assertIn(words, page.sections[section])

    def test_passed_and_undecided(self) -> None:
        self.make(nights=2)
        for verdict, row, words in (("pass", "same", "✓ Passed all 2 rows"),
                                    ("undecided", "inconclusive", "? Undecided all 2 rows")):
            self.change("compare", lambda document: document.update(verdict=verdict, rows=[
                {"name": f"a/{n}", "verdict": row, "ratio": 1.0, "ratio_low": 1e-9, "ratio_high": 1e9,
                 "smallest_visible": 1e12} for n in (1, 2)]))
            self.assertIn(words, " ".join("".join(self.read().texts).split()))

    def test_numbers_at_the_edge_still_draw(self) -> None:
        self.make(nights=2)
        for ratio in (5e-324, 1e-300, 0.5, 1.0, 1.7e308):
            self.change("compare", lambda document: document["rows"][0].update(
                verdict="slower", ratio=ratio, ratio_low=ratio, ratio_high=ratio, smallest_visible=ratio))
            self.read()
        self.change("compare", lambda document: document.update(rows=[], threshold=1e-12))
        self.read()

    def test_unusable_files_are_one_line_and_leave_no_page(self) -> None:
        self.make(nights=1)
        for name in ("compare.json", "table.json", "kernels.json", "row_fold.0.json", "run.json"):
            file = self.result / name
            whole = file.read_text(encoding="utf-8")
            for text in ("", whole[:len(whole) // 2], "[]", "\x00" * 50, whole.replace("{", "[")):
                file.write_text(text, encoding="utf-8")
                code, out, err = self.run_program("--no-pictures")
                with self.subTest(name=name, text=text[:10]):
                    self.assertEqual((code, out, err.count("\n")), (2, "", 1))
                    self.assertIn(name, err)
            file.write_text(whole, encoding="utf-8")
        self.assertFalse((self.result / "report.html").exists())

    def test_named_files_must_be_there(self) -> None:
        self.make(nights=1)
        for option in ("--verdict", "--table", "--kernels", "--history", "--baseline"):
            code, _, err = self.run_program(option, str(self.root / "gone\nfile"))
            self.assertEqual((code, err.count("\n")), (2, 1), option)
            self.assertIn("gone", err)

    def test_the_page_takes_the_place_of_nothing_that_is_read(self) -> None:
        self.make(nights=2)
        night = next(path for path in sorted((self.root / "results").iterdir()) if path != self.result)
        verdict = self.root / "verdict.json"
        shutil.copy(self.result / "compare.json", verdict)
        for file, words, *named in ((self.result / "run.json", "RESULT"), (self.result / "row_fold.0.json", "RESULT"),
                                    (verdict, "--verdict", "--verdict", verdict),
                                    (night / "summary.json", "--history", "--history", self.root / "results"),
                                    (self.root / "baselines" / "h200" / "main.json", "--baselines")):
            before = file.read_bytes()
            with self.subTest(words):
                code, out, err = self.run_program("--no-pictures", "--out", str(file), *map(str, named))
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(f"{words} and --out are one file", err)
            self.assertEqual(file.read_bytes(), before)

    def test_a_place_that_cannot_be_written(self) -> None:
        self.make(nights=1)
        code, _, err = self.run_program("--out", str(self.result / "run.json" / "below" / "x.html"))
        self.assertEqual((code, err.count("\n")), (2, 1))
        for name in ("report.html", "report-ratios.svg"):
            (self.result / name / "in the way").mkdir(parents=True)
            code, out, err = self.run_program()
            if code == 0 and "no pictures" in err:  # there is no matplotlib
                continue
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn(f"{name}: ", err)
            self.assertEqual(list(self.result.glob("*.tmp")), [])
            shutil.rmtree(self.result / name)

    def test_no_link_in_a_result_is_written_through(self) -> None:
        """The names are ours, the folder may be anybody's: one that came with links, to a file of the reader's or to
        what is read here."""
        self.make(nights=40)
        precious = self.root / "precious"
        names = ["report.html", *(f"report-{drawn}.{kind}" for drawn in ("ratios", "history") for kind in ("png", "svg"))]
        for target in (precious, self.result / "compare.json", self.result / "report.html"):
            precious.write_text("precious", encoding="utf-8")
            before = (self.result / "compare.json").read_bytes()
            for name in names:
                (self.result / name).unlink(missing_ok=True)
                (self.result / name).symlink_to(target)
            code, out, err = self.run_program()
            written = [self.result / Path(line).name for line in out.splitlines()]
            with self.subTest(target.name):
                self.assertEqual((code, written[:1]), (0, [self.result / "report.html"]), err)
                self.assertEqual([path.name for path in written if path.is_symlink()], [])
                self.assertEqual(precious.read_text(encoding="utf-8"), "precious")
                self.assertEqual((self.result / "compare.json").read_bytes(), before)
        mine = self.root / "mine.html"
        mine.symlink_to(precious)  # named: the reader's own link, and wanted
        self.assertEqual(self.run_program("--no-pictures", "--out", str(mine))[0], 0)
        self.assertTrue(mine.is_symlink())
        self.assertIn("<html", precious.read_text(encoding="utf-8"))

    def test_an_unreadable_night_is_said(self) -> None:
        self.make(nights=12)
        nights = sorted((self.root / "results").glob("2*/summary.json"))
        nights[3].write_text("{", encoding="utf-8")
        self.assertIn("1 file could not be read", self.read().sections["history"])

    def test_pictures(self) -> None:
        self.make(nights=40)
        try:
            import pictures  # noqa: F401
        except ModuleNotFoundError as missing:
            self.skipTest(str(missing))
        drawn = {"report-ratios", *(["report-history"] if ruptures else [])}
        code, out, err = self.run_program()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual({Path(line).name for line in out.splitlines()},
                         {"report.html", *(f"{name}.{kind}" for name in drawn for kind in ("png", "svg"))})
        for name in drawn:
            self.assertTrue((self.result / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
        svg = (self.result / "report-ratios.svg").read_text(encoding="utf-8")
        self.assertIn("row_fold/new/rows:64/cols:128/dtype:fp32/timer:graph", svg)
        self.change("compare", lambda document: document.update(rows=[]))
        self.run_program()
        self.assertFalse((self.result / "report-ratios.png").exists(), "no picture is out of date")

    @unittest.skipUnless(STRICTBENCH, "not given the program")
    def test_what_the_program_writes(self) -> None:
        self.make(nights=10)
        for name in ("compare", "table"):
            (self.result / f"{name}.json").unlink()
        compare = self.result / "compare.json"
        baseline = self.root / "baselines/h200/main.json"
        done = subprocess.run([STRICTBENCH, "compare", "--baseline", baseline, "--contender", self.result,
                               "--format", "json", "--output", compare], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        page = self.read()
        for verdict in ("wrong", "failed", "missing", "slower", "new", "same"):
            self.assertIn(verdict, page.sections["rows"])
        self.assertIn("Regressed", "".join(page.texts))
        table = self.result / "table.json"
        done = subprocess.run([STRICTBENCH, "table", self.result, "--format", "json", "--output", table],
                              capture_output=True, text=True)
        if done.returncode != 2:  # a program of before this format refuses it
            self.assertIn("row_fold", self.read().sections["speedups"])


class Texts(unittest.TestCase):
    def test_elements_escape(self) -> None:
        self.assertEqual(el("p", "<b>&\"'", title='"><x'), '<p title="&quot;&gt;&lt;x">&lt;b&gt;&amp;&quot;&#x27;</p>')
        self.assertEqual(el("a", [1, None, ["x", el("wbr")]], hidden=True, id=None), "<a hidden>1x<wbr></a>")

    def test_names_break_behind_slashes_and_stay_exact(self) -> None:
        for name in ("row_fold/new/rows:1/timer:graph", "BM_plain", "a/b", "/", "a//b"):
            page = Reader(markup.row_name(name))
            self.assertEqual("".join(page.texts), name)

    def test_changes(self) -> None:
        for ratio, words in ((None, "–"), (1.0, "0.00 %"), (0.99999, "0.00 %"), (1.0331, "+3.31 %"), (0.72, "−28.0 %"),
                             (1.6, "+60.0 %"), (2.0, "× 2.00"), (252965.4, "× 253,000"), (5e-7, "−100 %"),
                             (1e300, "× 1.0e+300")):
            self.assertEqual(markup.change_text(ratio), words)

    def test_shares(self) -> None:
        for share, words in ((0.01, "1 %"), (0.4217, "42.2 %"), (1.25, "125 %"), (None, "–"), (math.nan, "–"), (1e307, "–"),
                             (-0.0034, "−0.34 %")):
            self.assertEqual(markup.percent_text(share), words)
        for share, words in ((0.764, "76.4 %"), (1.25, "125 %"), (10, "1000 %"), (1e29, "over 1,000 %")):
            self.assertEqual(markup.share_text(share), words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(argument for argument in sys.argv[1:] if argument != STRICTBENCH)])
