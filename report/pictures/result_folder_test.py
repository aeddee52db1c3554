#!/usr/bin/env python3
"""What is read from a result folder, and what never becomes a time."""
from __future__ import annotations

import json
import math
import tempfile
import unittest
from pathlib import Path
from typing import Optional

import result_folder
from result_folder import Case, Speedup, UnusableInput
from synthetic import FOLD, error, row, skipped, write

SHAPE = (("rows", "64"), ("cols", "128"), ("dtype", "fp32"), ("timer", "wall"))
CASE = Case("row_fold", SHAPE)
LEGACY, NEW = FOLD.format("legacy", 64), FOLD.format("new", 64)


def ratios(speedup: Optional[Speedup]) -> tuple[float, float, float, int]:
    """Rounded to what a decimal time can lose on its way through a binary number."""
    assert speedup is not None
    return round(speedup.median, 12), round(speedup.low, 12), round(speedup.high, 12), speedup.processes


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def read_one(self, *rows: dict) -> dict:
        write(self.folder, 0, list(rows))
        return result_folder.read(self.folder).cases[CASE]

    def test_name_without_the_suffix_of_google_benchmark(self) -> None:
        for suffix in ("", "/manual_time", "/iterations:1/repeats:5/manual_time", "/real_time", "/threads:1"):
            self.assertEqual(result_folder.parse_name(NEW + suffix), (CASE, "new"))
        self.assertIsNone(result_folder.parse_name("BM_a"))
        self.assertIsNone(result_folder.parse_name("/new/rows:1"))

    def test_units(self) -> None:
        for time, unit in ((2e9, "ns"), (2e6, "us"), (2000, "ms"), (2, "s")):
            self.assertEqual(self.read_one(row(NEW, time, unit))["new"].time(), 2.0)

    def test_ratios_are_paired_by_process(self) -> None:
        # The machine drifts to twice the time, both variants alike: every paired ratio is 4.
        for process, drift in enumerate((1.0, 1.3, 2.0)):
            write(self.folder, process, [row(LEGACY, 400 * drift), row(NEW, 100 * drift)])
        variants = result_folder.read(self.folder).cases[CASE]
        speedup = result_folder.speedup(variants, "new")
        self.assertEqual(ratios(speedup), (4.0, 4.0, 4.0, 3))
        self.assertAlmostEqual(variants["legacy"].time(), 520e-6)

    def test_median_of_processes_not_of_samples(self) -> None:
        # One process gave many slow samples; it still counts once.
        write(self.folder, 0, [row(LEGACY, 100), row(NEW, 100)])
        write(self.folder, 1, [row(LEGACY, 200), row(NEW, 100)])
        write(self.folder, 2, [row(LEGACY, 900)] * 9 + [row(NEW, 100)])
        speedup = result_folder.speedup(result_folder.read(self.folder).cases[CASE], "new")
        self.assertEqual(ratios(speedup), (2.0, 1.0, 9.0, 3))

    def test_a_process_that_measured_one_side_alone_has_no_ratio(self) -> None:
        write(self.folder, 0, [row(LEGACY, 300), row(NEW, 100)])
        write(self.folder, 1, [row(LEGACY, 900)])
        speedup = result_folder.speedup(result_folder.read(self.folder).cases[CASE], "new")
        self.assertEqual(ratios(speedup), (3.0, 3.0, 3.0, 1))

    def test_wrong_in_one_process_takes_away_every_time(self) -> None:
        write(self.folder, 0, [row(LEGACY, 300), row(NEW, 100)])
        write(self.folder, 1, [row(LEGACY, 300), error(NEW, "check failed: 1 of 128 elements differ")])
        variants = result_folder.read(self.folder).cases[CASE]
        self.assertEqual(variants["new"].status(), "wrong")
        self.assertIsNone(variants["new"].time())
        self.assertIsNone(result_folder.speedup(variants, "new"))

    def test_status_of_rows_without_a_time(self) -> None:
        cases = [
            (error(NEW, "check failed: 3 of 4096 elements differ"), "wrong"),
            (error(NEW, "CUDA error: out of memory"), "failed"),
            (error(NEW, "the check failed: no"), "failed"),
            (skipped(NEW, "needs 3.7 GB"), "skipped"),
            (row(NEW, 0), "failed"), (row(NEW, -1.0), "failed"), (row(NEW, math.nan), "failed"),
            (row(NEW, math.inf), "failed"), (row(NEW, 1e-300), "failed"), (row(NEW, 1e300), "failed"),
            (row(NEW, 10**400), "failed"), (row(NEW, None), "failed"), (row(NEW, True), "failed"),
            (row(NEW, "12"), "failed"), (row(NEW, 5, "fortnights"), "failed"), (row(NEW, 5, ["us"]), "failed"),
            (row(NEW, 100, suspect=1), "suspect"),
        ]
        for bad, status in cases:
            with self.subTest(bad):
                variants = self.read_one(row(LEGACY, 300), bad)
                self.assertEqual(variants["new"].status(), status)
                self.assertIsNone(variants["new"].time())

    def test_a_unit_that_is_not_known_is_said_and_none_means_nanoseconds(self) -> None:
        for unit, said in (("fortnights", "fortnights"), ("", "(empty)"), ("US", "US"), ("us\n", "us\\n"),
                           (None, "(no text)"), (["us"], "(no text)"), (1, "(no text)")):
            with self.subTest(unit):
                variants = self.read_one(row(LEGACY, 300), row(NEW, 5, unit))
                self.assertEqual((variants["new"].status(), variants["new"].message()),
                                 ("failed", f'its time_unit is "{said}", and ns, us, ms and s are known'))
        bare = row(NEW, 5)
        del bare["time_unit"]
        self.assertEqual(self.read_one(row(LEGACY, 300), bare)["new"].time(), 5e-9)

    def test_aggregates_of_suspect_rows_are_no_times(self) -> None:
        def aggregate(kind: str, time: float, suspect: float) -> dict:
            return row(NEW, time, run_name=NEW, run_type="aggregate", aggregate_name=kind, suspect=suspect) | {
                "name": f"{NEW}_{kind}"}

        for rows, time in (([aggregate("mean", 100, 0), aggregate("median", 90, 0)], 90e-6),
                           ([aggregate("mean", 100, 0.4), aggregate("median", 90, 0)], None),
                           ([aggregate("mean", 100, 0.4)], None),
                           ([row(NEW, 70, suspect=1), aggregate("median", 70, 1)], None),
                           ([row(NEW, 70, suspect=0), aggregate("mean", 90, 0.5)], 70e-6)):
            with self.subTest(rows):
                self.assertEqual(self.read_one(row(LEGACY, 300), *rows)["new"].time(), time)

    def test_skipped_or_suspect_processes_leave_the_others_their_times(self) -> None:
        write(self.folder, 0, [row(LEGACY, 300), row(NEW, 100)])
        write(self.folder, 1, [row(LEGACY, 300, suspect=1), skipped(NEW, "needs 3.7 GB")])
        variants = result_folder.read(self.folder).cases[CASE]
        self.assertEqual(variants["new"].time(), 100e-6)
        self.assertEqual(variants["legacy"].time(), 300e-6)

    def test_aggregates_count_only_where_they_stand_alone(self) -> None:
        def aggregate(kind: str, time: float) -> dict:
            return {**row(NEW, time), "name": f"{NEW}/manual_time_{kind}", "run_type": "aggregate",
                    "aggregate_name": kind}

        alone = [aggregate("mean", 900), aggregate("median", 100), aggregate("stddev", 7), aggregate("BigO", 1)]
        self.assertEqual(self.read_one(*alone)["new"].time(), 100e-6)
        self.assertEqual(self.read_one(aggregate("mean", 900), aggregate("stddev", 7))["new"].time(), 900e-6)
        self.assertEqual(self.read_one(row(NEW, 50), *alone)["new"].time(), 50e-6)

    def test_processes_of_a_single_file_by_their_number(self) -> None:
        file = write(self.folder, 0, [row(name, time, session=0, process=process)
                                      for process, (legacy, new) in enumerate(((200, 100), (300, 100)))
                                      for name, time in ((LEGACY, legacy), (NEW, new))])
        results = result_folder.read(file)
        speedup = result_folder.speedup(results.cases[CASE], "new")
        self.assertEqual(ratios(speedup), (round(6 ** 0.5, 12), 2.0, 3.0, 2))
        self.assertEqual(results.processes, 2)

    def test_a_process_that_died_is_named_by_the_record(self) -> None:
        write(self.folder, 0, [row(LEGACY, 300), row(NEW, 100)])
        record = {"status": "complete", "device": "h200", "commit": "feedc0de", "processes": [
            {"operator": "row_fold", "process": 0, "status": "ok"},
            {"operator": "row_fold", "process": 1, "status": "crashed", "problems": [
                {"case": NEW, "state": "failed", "reason": "ended by SIGSEGV"}]}]}
        (self.folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
        results = result_folder.read(self.folder)
        self.assertEqual((results.cases[CASE]["new"].status(), results.cases[CASE]["new"].message()),
                         ("failed", "ended by SIGSEGV"))
        self.assertEqual(len(results.said("git_commit")), 1)  # the files' own commit, not the record's beside it

    def test_rows_of_other_programs_belong_to_no_case(self) -> None:
        write(self.folder, 0, [row(NEW, 100), {**row("x", 5), "name": "BM_a", "run_name": "BM_a"}])
        self.assertEqual(result_folder.read(self.folder).unnamed, 1)


class Refusing(unittest.TestCase):
    """Unusable input is refused in one line that names the file."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.file = write(self.folder, 0, [row(LEGACY, 300), row(NEW, 100)])

    def refusal(self) -> str:
        with self.assertRaises(UnusableInput) as refused:
            result_folder.read(self.folder)
        self.assertNotIn("\n", str(refused.exception))
        return str(refused.exception)

    def test_one_process_under_two_names(self) -> None:
        document = json.loads(self.file.read_text(encoding="utf-8"))
        document["context"] = {"process_index": "0"}
        self.file.write_text(json.dumps(document), encoding="utf-8")
        other = self.folder / "row_fold.1.json"
        for make in (lambda: other.symlink_to(self.file), lambda: other.write_bytes(self.file.read_bytes())):
            make()
            self.assertIn("row_fold.1.json: holds the same bytes as", self.refusal())
            other.unlink()
        document["context"] = {"process_index": "1"}
        other.write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(result_folder.read(self.folder).processes, 2)

    def test_cut_off_anywhere(self) -> None:
        whole = self.file.read_bytes()
        for length in range(0, len(whole) - 1, 7):
            self.file.write_bytes(whole[:length])
            self.assertIn("row_fold.0.json: not JSON", self.refusal())

    def test_other_contents(self) -> None:
        for text, reason in (("[]", "not a JSON object"), ("{}", "no list named benchmarks"),
                             ('{"benchmarks": {}}', "no list named benchmarks"),
                             ('{"benchmarks": [5]}', "a row without a name"),
                             ('{"benchmarks": [{"name": 5}]}', "a row without a name"),
                             ('{"benchmarks": []}', "no rows of any case"), ("[" * 100_000, "row_fold.0.json")):
            self.file.write_text(text, encoding="utf-8")
            self.assertIn(reason, self.refusal())

    def test_bytes_that_are_no_text(self) -> None:
        self.file.write_bytes(b'{"benchmarks": [{"name": "\xff"}]}')
        self.assertIn("not UTF-8 at byte 26", self.refusal())

    def test_words_for_what_is_no_number(self) -> None:
        for word in ("NaN", "nan", "-nan", "-NaN", "inf", "-inf", "Infinity", "+INF", "1e999"):
            self.file.write_text('{"a": "say \\"inf\\" or nan", "b": [%s, 2]}' % word, encoding="utf-8")
            document = result_folder.load(self.file)
            with self.subTest(word):
                self.assertEqual((document["a"], document["b"][1]), ('say "inf" or nan', 2))
                self.assertFalse(math.isfinite(document["b"][0]))

    def test_what_is_no_file_or_larger_than_any_result(self) -> None:
        with self.assertRaisesRegex(UnusableInput, "not a file"):
            result_folder.load(self.folder)
        with open(self.file, "wb") as file:
            file.truncate(result_folder.LARGEST + 1)
        self.assertIn("more than any result has", self.refusal())

    def test_record_that_is_no_record(self) -> None:
        (self.folder / "run.json").write_text('{"processes": [', encoding="utf-8")
        self.assertIn("run.json: not JSON", self.refusal())

    def test_nothing_there(self) -> None:
        self.file.unlink()
        self.assertIn("no result files", self.refusal())
        self.folder = self.folder / "missing"
        self.assertIn("no such result folder", self.refusal())


if __name__ == "__main__":
    unittest.main()
