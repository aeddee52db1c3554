#!/usr/bin/env python3
"""Files of a real run on the CPU, and the committed baselines, as other tools read them.

usage: readers_test.py STRICTBENCH [Fields|Compare]    `Compare` ends with 77 where compare.py or SciPy is missing

Read were, for `Fields`: github-action-benchmark, src/extract.ts at commit 04dcc2c, and Bencher, the Google adapter of
lib/bencher_adapter at commits 0b368a6 and 592539c; `Compare` starts Google Benchmark's own compare.py.
"""
from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STRICTBENCH = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and Path(sys.argv[1]).is_file() else None
BASELINES = [file for file in sorted(ROOT.glob("baselines/*/*.json")) if file.name != "published.json"]
# Debian's libbenchmark-tools, or the sources that a build has fetched.
PLACES = [Path("/usr/share/benchmark/compare.py"),
          *([STRICTBENCH.parents[1] / "_deps/benchmark-src/tools/compare.py"] if STRICTBENCH else [])]
COMPARE = next((place for place in PLACES if place.is_file()), None)


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.result = Path(cls.temporary.name) / "result"
        done = subprocess.run([str(STRICTBENCH), "run", "--device", "cpu", "--processes", "2", "--allow-debug", "--filter",
                               "row_fold/.*/rows:(1|64)/cols:128/", "--out", str(cls.result)],
                              capture_output=True, text=True, timeout=300,
                              env={**os.environ, "STRICTBENCH_LOCKS": cls.temporary.name})  # no time of it counts
        assert done.returncode == 0, done.stdout + done.stderr
        cls.processes = [cls.result / f"row_fold.{process}.json" for process in range(2)]
        cls.summary = cls.result / "summary.json"  # in the form of a baseline


class Fields(Readers):
    def read(self, file: Path) -> dict[str, Any]:
        """As any of them does: strict JSON, no NaN."""
        def refuse(word: str) -> None:
            raise AssertionError(f"{file.name}: {word} is not JSON")

        return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)

    def test_github_action_benchmark(self) -> None:
        """It maps every row: name, real_time, time_unit; iterations, cpu_time and threads go into a tooltip."""
        for file in [*self.processes, self.summary, *BASELINES]:
            document = self.read(file)
            self.assertIsInstance(document["context"]["date"], str, file)
            self.assertTrue(document["benchmarks"], file)
            for row in document["benchmarks"]:
                self.assertIsInstance(row["name"], str)
                self.assertIsInstance(row["time_unit"], str)
                for key in ("real_time", "cpu_time", "iterations"):
                    self.assertIn(type(row[key]), (int, float), f"{file.name}: {row['name']}: {key}")
                    self.assertGreaterEqual(row[key], 0)
        for file in self.processes:
            self.assertTrue(all("threads" in row for row in self.read(file)["benchmarks"]), file)

    def test_bencher(self) -> None:
        """It needs name, real_time and time_unit of each row, and context.caches, a list. Baselines have none, so that
        Bencher takes them for no input."""
        for file in [*self.processes, self.summary]:
            document = self.read(file)
            self.assertIsInstance(document["context"]["caches"], list)
            self.assertTrue(all(isinstance(cache, dict) for cache in document["context"]["caches"]))
            for row in document["benchmarks"]:
                self.assertTrue(row["name"].strip())
                self.assertIn(type(row["real_time"]), (int, float))
                self.assertIn(row["time_unit"], ("ns", "us", "ms", "s"))


class Compare(Readers):
    def compare(self, *arguments: object) -> str:
        done = subprocess.run([sys.executable, str(COMPARE), "--no-color", *map(str, arguments)], capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout

    def rows(self, text: str) -> list[str]:
        return [line for line in text.splitlines() if "row_fold/" in line]

    def test_two_processes(self) -> None:
        rows = self.rows(self.compare("benchmarks", *self.processes))
        for variant in ("legacy", "new"):
            for ending in ("", "_median", "_pvalue"):
                name = f"row_fold/{variant}/rows:64/cols:128/dtype:fp32/timer:cpu{ending}"
                self.assertTrue([row for row in rows if row.split()[0] == name], f"{name} in {rows}")

    def test_baselines_and_what_is_in_their_form(self) -> None:
        self.assertEqual(len(self.rows(self.compare("benchmarks", self.summary, self.summary))), 12)  # 2 each, 1 p-value
        for file in BASELINES:
            self.assertIn("_pvalue", self.compare("benchmarks", file, file))

    def test_variants_within_one_file(self) -> None:
        text = self.compare("filters", self.processes[0], "row_fold/legacy", "row_fold/new")
        self.assertIn("[row_fold/legacy vs. row_fold/new]/rows:64/cols:128/dtype:fp32/timer:cpu_median", text)


if __name__ == "__main__":
    if STRICTBENCH is None:
        sys.exit("usage: readers_test.py STRICTBENCH [Fields|Compare]")
    if sys.argv[1:2] == ["Compare"] and (COMPARE is None or importlib.util.find_spec("scipy") is None):
        print("skipped: no compare.py of Google Benchmark, or no SciPy for it")
        sys.exit(77)
    unittest.main()
