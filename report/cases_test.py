#!/usr/bin/env python3
"""Every folder of testdata/cases through `strictbench compare`, held to its expect.json; and the files of others."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

# Where these tests run as a step of a GitHub action, nothing is said to it.
for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(variable, None)

TESTDATA = Path(__file__).parent / "testdata"
PROGRAM = ""
UNUSABLE = 2


def compare(baseline: list[Path], contender: list[Path], *arguments: str) -> tuple[int, str, str]:
    command = [PROGRAM, "compare", "--baseline", *map(str, baseline), "--contender", *map(str, contender), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Cases(unittest.TestCase):
    def test_there_are_cases(self) -> None:
        self.assertGreaterEqual(len(list(TESTDATA.glob("cases/*/expect.json"))), 27)

    def test_every_case(self) -> None:
        for expected in sorted(TESTDATA.glob("cases/*/expect.json")):
            with self.subTest(expected.parent.name):
                self.check(expected.parent, json.loads(expected.read_text()))

    def check(self, case: Path, expect: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "verdicts.json"
            code, _, err = compare(sorted(case.glob("baseline.*.json")), sorted(case.glob("contender.*.json")),
                                   *expect["args"], "--format", "json", "--output", str(output))
            self.assertIn(code, expect["exit"], err)
            for word in expect["stderr_names"]:
                self.assertIn(word, err)
            if code == UNUSABLE:
                self.assertEqual(err.count("\n"), 1, err)
                self.assertIn(" byte ", err)
                self.assertEqual(list(Path(folder).iterdir()), [])
                return
            self.assertEqual(err, "")
            self.hold_to(expect, code, json.loads(output.read_text()))

    def hold_to(self, expect: dict[str, Any], code: int, result: dict[str, Any]) -> None:
        rows = {row["name"]: row for row in result["rows"]}
        for name, verdicts in expect["rows"].items():
            self.assertIn(rows[name]["verdict"], verdicts, name)
        for name, ratio in expect.get("ratio", {}).items():
            self.assertAlmostEqual(rows[name]["ratio"], ratio, delta=0.02 * ratio)
        if "only_rows" in expect:
            self.assertEqual(sorted(rows), sorted(expect["only_rows"]))
        # What holds for every comparison, whatever its case.
        self.assertEqual(result["exit_code"], code)
        self.assertEqual(result["verdict"], {0: "pass", 1: "regressed", 3: "undecided"}[code])
        self.assertEqual(sum(result["counts"].values()), len(result["rows"]))
        for row in result["rows"]:
            if row["ratio"] is not None:
                self.assertLessEqual(row["ratio_low"], row["ratio"])
                self.assertLessEqual(row["ratio"], row["ratio_high"])
                self.assertGreaterEqual(row["smallest_visible"], result["threshold"])
            if row["verdict"] in ("wrong", "failed"):
                self.assertIsNone(row["contender"]["median"])

    def test_every_format_of_every_case_agrees_on_the_exit_code(self) -> None:
        for expected in sorted(TESTDATA.glob("cases/*/expect.json")):
            case, expect = expected.parent, json.loads(expected.read_text())
            for form in ("text", "markdown", "junit"):
                with self.subTest(case.name, format=form):
                    code, out, _ = compare(sorted(case.glob("baseline.*.json")), sorted(case.glob("contender.*.json")),
                                           *expect["args"], "--format", form)
                    self.assertIn(code, expect["exit"])
                    self.assertEqual(out == "", code == UNUSABLE)


class FilesOfOthers(unittest.TestCase):
    folder = TESTDATA / "google_benchmark"

    def verdicts(self, baseline: str, contender: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        code, out, err = compare([self.folder / baseline], [self.folder / contender], "--format", "json", *arguments)
        self.assertEqual(err, "")
        return code, json.loads(out)

    def test_2016(self) -> None:
        code, result = self.verdicts("gbench_2016_a.json", "gbench_2016_b.json")
        self.assertEqual(code, 1)
        self.assertEqual(result["rows_read"], {"baseline": 16, "contender": 16})
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(len(rows), 14)  # the fits are no benchmarks
        self.assertEqual(rows["BM_2xSlower"]["verdict"], "slower")
        self.assertEqual(rows["BM_2xFaster"]["verdict"], "faster")
        self.assertEqual(rows["BM_1PercentSlower"]["verdict"], "inconclusive")
        self.assertAlmostEqual(rows["BM_DifferentTimeUnit"]["ratio"], 1e-9)

    def test_2019(self) -> None:
        code, result = self.verdicts("gbench_2019.json", "gbench_2019.json", "--threshold", "0.1")
        self.assertEqual(code, 0)
        self.assertEqual([row["verdict"] for row in result["rows"]], ["same", "same"])

    def test_other_metrics(self) -> None:
        code, result = self.verdicts("gbench_2016_a.json", "gbench_2016_b.json", "--metric", "cpu_time")
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(code, 1)
        self.assertEqual(rows["BM_10PercentCPUToTime"]["verdict"], "faster")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
