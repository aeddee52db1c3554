#!/usr/bin/env python3
"""What is read from the files of `strictbench`, and which files are refused with which words."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

import made_up
import read
import sides
from read import UnusableInput

ROW = {"name": "a/new", "verdict": "same", "ratio": 1.0, "ratio_low": 0.99, "ratio_high": 1.01,
       "smallest_visible": 0.02, "baseline": {"median": 1.0, "processes": 5, "samples": 100},
       "contender": {"median": 2.0}, "unit": "ns"}
COMPARISON = {"verdict": "pass", "threshold": 0.01, "alpha": 0.01, "notes": [], "rows": [ROW]}


class Files(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.file = self.folder / "file.json"

    def written(self, content: Any) -> Path:
        self.file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return self.file

    def refusal(self, reader: Callable[[Path], Any], content: Any) -> str:
        with self.assertRaises(UnusableInput) as caught:
            reader(self.written(content))
        self.assertIn("file.json: ", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)


class Comparisons(Files):
    def test_numbers(self) -> None:
        found = read.read_comparison(self.written(COMPARISON))
        self.assertEqual((found.verdict, found.threshold, found.metric), ("pass", 0.01, "real_time"))
        self.assertEqual(found.rows[0].baseline, read.Figures(1.0, 5, 100))
        self.assertEqual(found.rows[0].contender, read.Figures(2.0, 0, 0))

    def test_numbers_that_do_not_exist(self) -> None:
        for word in ("null", "NaN", "nan", "-inf", "Infinity", "0", "-1", "1e999", "1" + "0" * 400):
            text = json.dumps(COMPARISON).replace('"ratio": 1.0', f'"ratio": {word}')
            with self.subTest(word):
                self.assertIsNone(read.read_comparison(self.written(text)).rows[0].ratio)

    def test_a_wrong_or_failed_row_shows_no_time_whatever_the_file_says(self) -> None:
        for verdict in ("wrong", "failed"):
            row = read.read_comparison(self.written({**COMPARISON, "rows": [{**ROW, "verdict": verdict}]})).rows[0]
            self.assertEqual((row.ratio, row.low, row.high, row.contender.median), (None, None, None, None))
            self.assertEqual(row.baseline.median, 1.0)

    def test_gravest_first(self) -> None:
        rows = [{**ROW, "name": f"a/{verdict}", "verdict": verdict} for verdict in reversed(read.VERDICTS)]
        rows.append({**ROW, "verdict": "slower", "name": "a/most", "ratio": 3.0})
        found = read.read_comparison(self.written({**COMPARISON, "rows": rows})).gravest_first()
        self.assertEqual([row.verdict for row in found][:5], ["wrong", "failed", "missing", "slower", "slower"])
        self.assertEqual(found[3].name, "a/most")

    def test_refused(self) -> None:
        for content, reason in (
                ("", "not JSON"), ('{"verdict": "pass", "rows": [', "not JSON"), ("[1]", "not a JSON object"),
                ({}, "is no comparison"), ({**COMPARISON, "verdict": "<b>"}, "is no comparison"),
                ({**COMPARISON, "threshold": None}, "no threshold"),
                ({**COMPARISON, "threshold": 1e308}, "threshold is no share"),
                ({**COMPARISON, "threshold": 0}, "threshold is no share"),
                ({**COMPARISON, "alpha": 1.1}, "alpha is no share"),
                ({**COMPARISON, "rows": [{**ROW, "threshold": 2}]}, "threshold is no share"),
                ({**COMPARISON, "rows": None}, "no list named rows"), ({**COMPARISON, "rows": {}}, "rows is not a list"),
                ({**COMPARISON, "rows": [1]}, "rows[0] is not an object"),
                ({**COMPARISON, "rows": [{**ROW, "verdict": "great"}]}, "rows[0].verdict is no verdict: 'great'"),
                ({**COMPARISON, "rows": [{**ROW, "name": ""}]}, "rows[0] has no name"),
                ({**COMPARISON, "rows": [{**ROW, "measured_again": "../../a"}]}, "rows[0].measured_again is no commit"),
                ({**COMPARISON, "rows": [ROW, {**ROW, "ratio": "1"}]}, "rows[1].ratio is not a number"),
                ({**COMPARISON, "rows": [{**ROW, "ratio": True}]}, "rows[0].ratio is not a number"),
                ({**COMPARISON, "rows": [ROW, {**ROW, "ratio": 9}]}, f"rows[1] is a second row named {ROW['name']}"),
                ({**COMPARISON, "notes": [1]}, "notes[0] is not a text"),
                ({**COMPARISON, "rows": [{**ROW, "baseline": 3}]}, "rows[0].baseline is not an object"),
                ("[" * 100_000, "nested too deeply")):
            with self.subTest(reason):
                self.assertIn(reason, self.refusal(read.read_comparison, content))

    def test_not_there(self) -> None:
        with self.assertRaisesRegex(UnusableInput, "gone.json: No such file"):
            read.read_comparison(self.folder / "gone.json")


class Tables(Files):
    def test_nulls_and_trouble(self) -> None:
        name = "row_fold/legacy/rows:1/cols:128/dtype:fp32/timer:graph"
        table = read.read_table(self.written(made_up.speedup_table({name: [40.0, 44.0]})))
        line = table.operators[0].lines[0]
        self.assertEqual(line.variants["legacy"].time, 42.0)
        self.assertIsNone(line.variants["new"].time)
        self.assertIn("check failed", line.variants["new"].trouble)
        self.assertEqual([published.measured for published in table.published], [373867000.0, None])

    def test_a_time_beside_trouble_is_not_shown(self) -> None:
        variants = {"new": {"time_ns": 1.0, "speedup": 3.0, "trouble": "wrong"}}
        table = read.read_table(self.written({"operators": [{"op": "a", "lines": [{"variants": variants}]}]}))
        self.assertEqual(table.operators[0].lines[0].variants["new"], read.Timed(None, None, None, None, "wrong"))

    def test_refused(self) -> None:
        for content, reason in (({}, "no list named operators"),
                                ({"operators": [{"lines": [{}]}]}, "variants is not an object"),
                                ({"operators": [{"lines": [{"variants": {"x\n": 1}}]}]}, "is not an object")):
            self.assertIn(reason, self.refusal(read.read_table, content))


class KernelFiles(Files):
    def test_sides_that_are_not_there(self) -> None:
        found = read.read_kernels(self.written(made_up.kernels()))
        self.assertIsNone(found.rows[0].after)
        self.assertEqual((found.rows[2].control, found.rows[2].before.launches), (True, 540))
        self.assertEqual(found.total.speedup, 2.2)

    def test_refused(self) -> None:
        self.assertIn("no list named rows", self.refusal(read.read_kernels, {"before": "x"}))
        self.assertIn("before is not an object", self.refusal(read.read_kernels, {"rows": [{"before": 1}]}))


class Sides(Files):
    def row(self, name: str, time: Any, **more: Any) -> dict[str, Any]:
        return {"name": name, "real_time": time, "time_unit": "us", "run_type": "iteration", **more}

    def test_samples_counters_and_names(self) -> None:
        self.written({"context": {"gpu_name": "G", "session.1.boot_id": "b", "list": [1]}, "benchmarks": [
            self.row("a/new/timer:graph/manual_time", 2.0, process=0, session=1, floor_us=1.0, share_of_floor=7),
            self.row("a/new/timer:graph/manual_time", 4.0, process=1, session=1, floor_us=3.0, share_of_floor=float("nan")),
            self.row("a/new/timer:graph/manual_time", 4.0, process=1, session=2, share_of_floor=0.9),
            self.row("a/absurd", 1.0, floor_us=1e27, share_of_floor=0.5), self.row("a/huge", 1.0, floor_us=10 ** 400),
            self.row("a/text", 1.0, floor_us="1"),
            self.row("a/bad", 0.0, error_occurred=True, error_message="check failed: <x>"), self.row("a/bad", 3.0)]})
        side = sides.read_side([self.file])
        row = side.rows["a/new/timer:graph"]
        self.assertEqual(list(row.samples), ["session 1, process 0", "session 1, process 1", "session 2, process 1"])
        self.assertAlmostEqual(row.time(), 4e-6)
        self.assertAlmostEqual(row.floor(), 2e-6)
        self.assertAlmostEqual(row.share_of_floor(), (0.5 + 0.75) / 2)  # what a row says of its own share is not believed
        for name in ("a/absurd", "a/huge", "a/text"):
            self.assertEqual((side.rows[name].floor(), side.rows[name].share_of_floor()), (None, None), name)
        self.assertEqual((side.device(), side.said("boot_id"), side.said("list")), ("G", ["b"], []))
        self.assertIsNone(side.rows["a/bad"].time())

    def test_a_summary_stands_for_processes_that_are_gone(self) -> None:
        made_up.write_summary(self.folder / "summary.json", made_up.context(0), {"a/new": [1000.0, 3000.0]})
        self.assertAlmostEqual(sides.read_side([self.folder]).rows["a/new"].time(), 2e-6)

    def test_cases_that_a_run_lost(self) -> None:
        made_up.write_summary(self.folder / "summary.json", made_up.context(0), {"a/new": [1000.0]})
        (self.folder / "run.json").write_text(json.dumps({"status": "interrupted", "processes": [
            3, {"problems": [{"case": "a/lost", "state": "failed", "reason": "crashed"},
                             {"case": "a/x", "state": "?"}]}]}))
        side = sides.read_side([self.folder])
        self.assertEqual((side.rows["a/lost"].trouble, "a/x" in side.rows), ({"failed": "crashed"}, False))

    def test_refused(self) -> None:
        self.assertIn("no rows of any case", self.refusal(lambda path: sides.read_side([path]), {"benchmarks": []})
                      .replace("file.json:", ":"))
        self.assertIn("no list named benchmarks", self.refusal(lambda path: sides.read_side([path]), {"context": {}}))
        with self.assertRaisesRegex(UnusableInput, "no such result folder"):
            sides.read_side([self.folder / "gone"])


if __name__ == "__main__":
    unittest.main()
