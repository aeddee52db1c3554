#!/usr/bin/env python3
"""The comparison of kernel records with the clock: known answers, and the committed evidence."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "row_fold/{}/rows:4096/cols:4096/dtype:fp32/timer:graph"


def row(variant: str, us: float, **more: object) -> dict[str, object]:
    return {"name": NAME.format(variant) + "/manual_time", "run_type": "iteration", "real_time": us, "time_unit": "us",
            **more}


def record(name: str, calls: int, *kernels: tuple[str, int, int]) -> dict[str, object]:
    return {"name": name, "calls": calls,
            "kernels": [{"name": kernel, "launches": launches, "total_ns": ns} for kernel, launches, ns in kernels]}


class Agreement(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_on(self, rows: list[dict[str, object]], records: list[dict[str, object]]) -> subprocess.CompletedProcess[str]:
        (self.folder / "row_fold.0.json").write_text(json.dumps({"context": {}, "benchmarks": rows}))
        (self.folder / "row_fold.kernels.json").write_text(json.dumps({"cases": records}))
        return subprocess.run([HERE / "agreement.py", self.folder], capture_output=True, text=True)

    def test_within(self) -> None:
        done = self.run_on([row("new", 100), row("legacy", 300)],
                           [record(NAME.format("new"), 10, ("fold", 10, 1_040_000)),
                            record(NAME.format("legacy"), 3, ("add", 3, 600_000), ("zero", 3, 300_000))])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 2 cases within 5% of the graph timer, median 1.020", done.stdout)

    def test_outside(self) -> None:
        done = self.run_on([row("new", 100)], [record(NAME.format("new"), 10, ("fold", 10, 940_000))])
        self.assertEqual(done.returncode, 1)
        self.assertIn("0 of 1 case within", done.stdout)

    def test_what_cannot_be_compared(self) -> None:
        for rows, records in (
                ([row("new", 100)], [record(NAME.format("new"), 10, ("fold", 10, 200_000))]),  # 20 us a launch, not over
                ([row("new", 100)], [record(NAME.format("new").replace("graph", "cold"), 1, ("fold", 1, 90_000))]),
                ([row("new", 0, error_occurred=True, error_message="check failed: x")],
                 [record(NAME.format("new"), 1, ("fold", 1, 100_000))])):
            with self.subTest(records):
                self.assertEqual(self.run_on(rows, records).returncode, 3)

    def test_folders_of_one_variant_each(self) -> None:
        self.run_on([row("new", 100)], [record(NAME.format("new"), 10, ("fold", 10, 1_000_000))])
        other = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (other / "row_fold.0.json").write_text(json.dumps({"context": {}, "benchmarks": [row("legacy", 300)]}))
        (other / "row_fold.kernels.json").write_text(json.dumps(
            {"cases": [record(NAME.format("legacy"), 3, ("add", 3, 900_000))]}))
        done = subprocess.run([HERE / "agreement.py", self.folder, other], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 2 cases", done.stdout)
        (other / "row_fold.0.json").write_text(json.dumps({"context": {"git_commit": "b"},
                                                           "benchmarks": [row("legacy", 300)]}))
        done = subprocess.run([HERE / "agreement.py", self.folder, other], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("another git_commit", done.stderr)

    def test_unusable(self) -> None:
        done = self.run_on([row("new", 100)], [{"name": NAME.format("new")}])
        self.assertEqual(done.returncode, 2)
        self.assertIn("row_fold.kernels.json: not a record of kernels", done.stderr)
        for name in (None, 3, True, [], {}):
            done = self.run_on([row("new", 100)], [{**record("", 1, ("fold", 1, 30000)), "name": name}])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("row_fold.kernels.json: not a record of kernels", done.stderr)

    def test_a_case_that_is_recorded_twice(self) -> None:
        name = NAME.format("new")
        done = self.run_on([row("new", 100)], [record(name, 10, ("fold", 10, ns)) for ns in (1_000_000, 9_000_000)])
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(f"row_fold.kernels.json: {name} is recorded 2 times", done.stderr)

    def test_a_result_is_not_written_over(self) -> None:
        self.run_on([row("new", 100)], [record(NAME.format("new"), 10, ("fold", 10, 1_000_000))])
        for name in ("row_fold.0.json", "row_fold.kernels.json"):
            before = (self.folder / name).read_bytes()
            done = subprocess.run([HERE / "agreement.py", self.folder, "--out", self.folder / name],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn("RESULT and --out are one file", done.stderr)
            self.assertEqual((self.folder / name).read_bytes(), before)

    def test_numbers_that_no_measurement_has(self) -> None:
        name = NAME.format("new")
        for calls, ns, words in ((0, 30000, "was called 0 times"), (-1, 30000, "was called -1 times"),
                                 (1, 10 ** 400, "not a record of kernels: OverflowError"),
                                 (1, 10 ** 300, "no measured time"), (float("nan"), 30000, "was called nan times"),
                                 ("x", 30000, "not a record of kernels: TypeError")):
            with self.subTest(words):
                done = self.run_on([row("new", 100)], [record(name, calls, ("fold", 1, ns))])
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(words, done.stderr)
        done = self.run_on([row("new", 1e-5)], [record(name, 1, ("fold", 1, 30000))])  # the clock says nothing
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)

    def test_out_is_written_whole_or_not_at_all(self) -> None:
        self.run_on([row("new", 100)], [record(NAME.format("new"), 10, ("fold", 10, 1_000_000))])
        pipe = self.folder / "pipe"  # what is no file is written to and stays what it is
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
            done = subprocess.run([HERE / "agreement.py", self.folder, "--out", pipe], capture_output=True, text=True)
            if not pipe.is_fifo():  # nobody will ever write to it
                reader.kill()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(pipe.is_fifo())
            self.assertEqual(json.loads(reader.communicate(timeout=30)[0])["cases"][0]["graph_us"], 100)
        before = sorted(self.folder.iterdir())
        done = subprocess.run([HERE / "agreement.py", self.folder, "--out", self.folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertEqual(sorted(self.folder.iterdir()), before)


    def test_committed_evidence(self) -> None:
        found = json.loads((HERE / "h200" / "agreement.json").read_text())
        self.assertGreaterEqual(len(found["cases"]), 60)
        outside = [case for case in found["cases"] if abs(case["cupti_us"] / case["graph_us"] - 1) > 0.05]
        self.assertEqual(outside, [])


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(77)
    unittest.main()
