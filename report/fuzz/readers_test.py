#!/usr/bin/env python3
"""The Python readers on hostile files: what the project's files become by edits that Hypothesis draws and shrinks.

Whatever stands in a file, a reader gives records or raises UnusableInput, a program ends with one of its exit codes
and at most one line on standard error, and no name becomes markup, a line of its own or a terminal's command.

Exit code 77, which ctest shows as skipped, where Hypothesis is not installed (report/requirements.txt).
"""
from __future__ import annotations

import contextlib
import csv
import html.parser
import io
import json
import os
import re
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Callable

REPORT = Path(__file__).resolve().parent.parent
SKIPPED = 77
sys.path[:0] = [str(REPORT / folder) for folder in ("page", "nightly", "other_tools", "pictures", "kernel_records", "peers",
                                              "published", "fuzz")]
sys.path.append(str(REPORT.parent / "scripts"))

try:
    from edits import NO_NUMBER, one_test
except ModuleNotFoundError:
    print("Hypothesis is not installed; report/requirements.txt names it")
    sys.exit(SKIPPED)

import agreement  # noqa: E402
import confirm  # noqa: E402
import made_up  # noqa: E402
import make_published  # noqa: E402
import make_seeds  # noqa: E402
import otava  # noqa: E402
import peer_table  # noqa: E402
import peers  # noqa: E402
import prune  # noqa: E402
import read  # noqa: E402
import report  # noqa: E402
import result_folder  # noqa: E402
from result_folder import UnusableInput, load  # noqa: E402

COMMIT = "a" * 40
OURS = set("html head meta link title style script body header nav main section footer article figure figcaption div p "
           "h1 h2 h3 ul li dl dt dd table caption thead tbody tr th td span b small a code wbr svg path rect line circle "
           "text".split())


class Tags(html.parser.HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def rows_of(verdicts: dict[str, str]) -> dict[str, Any]:
    side = {"median": 1.0, "processes": 5, "samples": 5}
    rows = [{"name": name, "verdict": verdict, "ratio": 1.2, "ratio_low": 1.1, "ratio_high": 1.3, "smallest_visible": 0.01,
             "baseline": side, "contender": side, "unit": "ns", "reason": "why"} for name, verdict in verdicts.items()]
    return {"verdict": "regressed", "exit_code": 1, "threshold": 0.05, "alpha": 0.01, "metric": "real_time",
            "counts": {}, "notes": ["a note"], "rows": rows}


COMPARISON = rows_of({make_seeds.NEW: "slower", make_seeds.LEGACY: "inconclusive", "op/new/rows:9/timer:graph": "missing"})
ANSWER = rows_of({make_seeds.NEW: "same", make_seeds.LEGACY: "slower"})
RESULT = json.loads(make_seeds.acceptable("boot-1", suspect=0))
RUN = json.loads(make_seeds.run(make_seeds.process(0), make_seeds.process(1, status="crashed", problems=[
    {"case": make_seeds.NEW, "state": "wrong", "reason": "check failed: bits"}])))
BASELINE = {**RESULT, "context": {**RESULT["context"], "session.1.date": "2026-01-01", "session.1.git_commit": COMMIT}}
for one in BASELINE["benchmarks"]:
    one["session"] = 1
TABLE = made_up.speedup_table({name: [1e-3, 2e-3] for name in made_up.case_names(4)})
KERNELS = made_up.kernels()
KERNEL_RECORD = {"cases": [{"name": name, "calls": 2, "kernels": [
    {"name": "fold", "launches": 2, "total_ns": 10_000_000}, {"name": "zero", "launches": 4, "total_ns": 200_000}]}
    for name in (make_seeds.NEW, make_seeds.LEGACY)]}
PEERS = {"context": {"gpu_name": "NVIDIA H200", "pytorch": "2.11"}, "cases": [
    {"case": f"row_fold/rows:{rows}/cols:128/dtype:fp32", "floor_us": 4.5, "contenders": [
        {"who": who, "timer": "graph", "us": us, "repeatable": True, "batch_invariant": who == "tuned", "error": ""}
        for who, us in (("tuned", 6.5), ("pytorch", 7.5))]} for rows in (64, 1024)]}
ANSWERS = {"gpu_name": "NVIDIA H200", "pytorch": "2.11", "answers": [
    {"case": case["case"], "who": who, "timer": "graph", "samples_us": [7.5, 7.6], "repeatable": True,
     "batch_invariant": False}
    for case in PEERS["cases"] for who in ("tuned", "pytorch")]}
PUBLISHED = json.loads((REPORT / "testdata/published_h100.json").read_text(encoding="utf-8"))
for family in PUBLISHED["families"]:
    del family["rows"][2:]


class Readers(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "result"
        self.folder.mkdir()

    def write(self, name: str, text: Any) -> Path:
        path = self.folder / name
        path.write_bytes((text if isinstance(text, str) else json.dumps(text)).encode("utf-8", "surrogatepass"))
        return path

    def reads(self, reader: Callable[[Path], Any], text: str) -> None:
        """Records, or the reader's own error, of one line."""
        path = self.write("file.json", text)
        try:
            reader(path)
        except UnusableInput as error:
            self.assertIn("file.json", str(error))

    def ends(self, main: Callable[[list[str]], int], *arguments: str, codes: tuple[int, ...] = (0, 2)) -> tuple[int, str]:
        """The exit code of a program and its standard output; both streams as bytes, as a terminal gets them."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(arguments))
        self.assertIn(code, codes)
        said, complaint = (stream.buffer.getvalue().decode() for stream in (out, err))
        self.assertEqual(complaint.count("\n"), 1 if code == 2 else complaint.count("\n"), complaint)
        for text in (said, complaint):
            for line in re.split(r"[\n\t]", text):
                self.assertTrue(line.isprintable(), ascii(line))
        return code, said

    @one_test(COMPARISON)
    def test_comparison(self, text: str) -> None:
        self.reads(read.read_comparison, text)

    @one_test(TABLE)
    def test_table(self, text: str) -> None:
        self.reads(read.read_table, text)

    @one_test(KERNELS)
    def test_kernels(self, text: str) -> None:
        self.reads(read.read_kernels, text)

    @one_test(RESULT)
    def test_result_file(self, text: str) -> None:
        def figures(path: Path) -> None:
            results = result_folder.read(path)
            for variants in results.cases.values():
                for variant, measured in variants.items():
                    time = measured.time()
                    self.assertTrue(time is None or 0 < time < 1e30)
                    self.assertIsInstance(measured.message(), str)
                    result_folder.speedup(variants, variant)
        self.reads(figures, text)

    @one_test(RUN)
    def test_run(self, text: str) -> None:
        self.write("op.0.json", RESULT)
        self.write("run.json", text)
        with contextlib.suppress(UnusableInput):
            result_folder.read(self.folder)
        run = prune.run_of(self.folder)
        prune.device_of(run)
        with unittest.mock.patch("os.kill", side_effect=ProcessLookupError):
            prune.being_written(run)

    @one_test(BASELINE)
    def test_otava(self, text: str) -> None:
        self.write("summary.json", text)
        table = self.folder / "out.csv"
        code, _ = self.ends(otava.main, str(self.folder / "summary.json"), "--output", str(table), "--config",
                            str(self.folder / "out.yaml"))
        if code == 0:
            for line in csv.reader(table.read_text(encoding="utf-8").splitlines()):
                self.assertFalse([cell for cell in line if not cell.isprintable() or cell[:1] in tuple("=+-@")], line)

    @one_test(KERNEL_RECORD)
    def test_agreement_of_a_record(self, text: str) -> None:
        self.write("op.0.json", RESULT)
        self.write("op.kernels.json", text)
        self.agrees()

    @one_test(RESULT)
    def test_agreement_of_a_result(self, text: str) -> None:
        self.write("op.0.json", text)
        self.write("op.kernels.json", KERNEL_RECORD)
        self.agrees()

    def agrees(self) -> None:
        out = self.folder / "agreement.txt"
        out.unlink(missing_ok=True)
        code, _ = self.ends(agreement.main, str(self.folder), "--out", str(out), codes=(0, 1, 2, 3))
        self.assertEqual(out.exists(), code != 2)
        if code != 2:
            json.loads(out.read_text(encoding="utf-8"), parse_constant=self.fail)

    @one_test(PEERS)
    def test_peers(self, text: str) -> None:
        out, markdown = self.folder / "peers.out", self.folder / "peers.md"
        out.unlink(missing_ok=True)
        code, _ = self.ends(peers.main, "--from", str(self.write("peers.json", text)), "--out", str(out), "--markdown",
                            str(markdown), codes=(0, 1, 2, 3))
        self.assertEqual(out.exists(), code != 2)
        if code != 2:
            json.loads(out.read_text(encoding="utf-8"), parse_constant=self.fail)
            lines = [line for line in markdown.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
            self.assertEqual({line.count("|") for line in lines}, {11})

    @one_test(ANSWERS)
    def test_answers(self, text: str) -> None:
        def table(path: Path) -> None:
            asked = peer_table.Peers({case["case"]: peer_table.PeerCase(case["case"]) for case in PEERS["cases"]}, {})
            peer_table.add_answers(asked, load(path), path)
            json.dumps(peer_table.record_of(asked), allow_nan=False)
            for shown in (peer_table.as_text(asked), peer_table.as_markdown(asked)):
                self.assertEqual([line for line in shown.split("\n") if not line.isprintable()], [])
        self.reads(table, text)

    @one_test(PUBLISHED)
    def test_published(self, text: str) -> None:
        made = self.folder / "published.out"
        made.unlink(missing_ok=True)
        code, _ = self.ends(make_published.main, str(self.write("published.json", text)), str(made))
        self.assertEqual(made.exists(), code != 2)
        if code != 2:
            json.loads(made.read_text(encoding="utf-8"), parse_constant=self.fail)

    @one_test(COMPARISON)
    def test_questions(self, text: str) -> None:
        self.write("compare.json", text)
        self.questions(self.write("baseline.json", BASELINE))

    @one_test(BASELINE)
    def test_questions_of_a_baseline(self, text: str) -> None:
        self.write("compare.json", COMPARISON)
        self.questions(self.write("baseline.json", text))

    def questions(self, baseline: Path) -> None:
        _, said = self.ends(confirm.main, "questions", str(self.folder), "--baseline", str(baseline))
        for line in said.splitlines():
            self.assertRegex(line, r"^[0-9a-f]{7,64}\t[^\t]+$")

    @one_test(COMPARISON)
    def test_settle(self, text: str) -> None:
        self.write("compare.json", text)
        self.settles()

    @one_test(ANSWER)
    def test_settle_an_answer(self, text: str) -> None:
        self.write("compare.json", COMPARISON)
        self.write(f"ab-{COMMIT[:10]}.json", text)
        self.settles()

    def settles(self) -> None:
        for run in ((), ("--run", "suspect"), ("--run", "failed")):
            self.settles_after(*run)

    def settles_after(self, *run: str) -> None:
        page = self.folder / "page.md"
        page.unlink(missing_ok=True)
        with unittest.mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}):
            code, said = self.ends(confirm.main, "settle", str(self.folder), *run, codes=(0, 1, 2, 3))
        if code == 2:
            return
        self.assertIn(code, {(): (0, 1, 3), ("--run", "suspect"): (1, 3)}.get(run, (1,)))
        self.assertEqual(json.loads((self.folder / "confirmed.json").read_text())["exit_code"], code)
        for line in said.splitlines():
            self.assertTrue(line.startswith("::error title="), line)
        xml.etree.ElementTree.parse(self.folder / "junit.xml")
        stands = json.loads((self.folder / "confirmed.json").read_text(), parse_constant=self.fail)
        self.assertEqual(sum(stands["counts"].values()), len(stands["rows"]))
        self.assertNotRegex((self.folder / "junit.xml").read_text(), r"[+(]nan|[+(]inf")
        for line in page.read_text(encoding="utf-8").splitlines():
            # A name is a code span of harmless characters, or <code> with entities; nothing else is markup.
            line = re.sub(r"`[A-Za-z0-9_/:.,+=-]+`|<code>[^<`|]*</code>", "name", line)
            self.assertNotRegex(line, r"(?<!\\)[<`]")
            if line.startswith("|"):
                self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), 4, line)

    def page(self, *more: str, **files: str) -> None:
        self.write("op.0.json", RESULT)
        for name, text in files.items():
            self.write(name.replace("_", "."), text)
        out = self.folder / "page.html"
        out.unlink(missing_ok=True)
        code, _ = self.ends(report.main, str(self.folder), "--no-pictures", "--out", str(out), "--baselines",
                            str(self.folder.parent / "baselines"), *more)
        if code == 2:
            self.assertFalse(out.exists())
            return
        page = out.read_text(encoding="utf-8")
        self.assertNotRegex(page, NO_NUMBER)
        tags = Tags(page)
        self.assertLessEqual(tags.found, OURS)
        self.assertEqual({name for name in tags.attributes if name.startswith("on")}, set())

    @one_test(COMPARISON)
    def test_page_of_a_comparison(self, text: str) -> None:
        self.page(compare_json=text)

    @one_test(TABLE)
    def test_page_of_a_table(self, text: str) -> None:
        self.page(table_json=text)

    @one_test(KERNELS)
    def test_page_of_kernels(self, text: str) -> None:
        self.page(kernels_json=text)

    @one_test(RUN)
    def test_page_of_a_run(self, text: str) -> None:
        self.page(run_json=text)

    @one_test(BASELINE)
    def test_page_of_a_baseline(self, text: str) -> None:
        """Named, and found among the committed ones."""
        accepted = self.folder.parent / "baselines/h200"
        accepted.mkdir(parents=True, exist_ok=True)
        named = self.folder.parent / "baseline.json"
        for file in (named, accepted / "main.json"):
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
        self.page()
        self.page("--baseline", str(named))

    @one_test(RESULT)
    def test_page_of_earlier_nights(self, text: str) -> None:
        night = self.folder.parent / "20260101T021000Z_abc_h200"
        night.mkdir(exist_ok=True)
        for name in ("op.0.json", "summary.json"):
            (night / name).write_bytes(text.encode("utf-8", "surrogatepass"))
            self.page()
            (night / name).unlink()

    @one_test(RESULT)
    def test_page_of_a_result(self, text: str) -> None:
        self.write("op.1.json", text)
        self.page()


if __name__ == "__main__":
    unittest.main()
