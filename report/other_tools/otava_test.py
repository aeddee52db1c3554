#!/usr/bin/env python3
"""The table for Apache Otava, and Otava itself on it where it is installed.

usage: otava_test.py [Table|Itself]    `Itself` ends with 77 where there is no otava on PATH or beside this Python
"""
from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import otava  # noqa: F401  (ours, which also finds the modules of the page)
import made_up

OTAVA = shutil.which("otava", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


class Base(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.results, self.csv, self.config = self.root / "results", self.root / "h.csv", self.root / "h.yaml"

    def night(self, day: int, folder: str | None = None, gpu: str = "NVIDIA H200", **times: float) -> Path:
        """A night with three processes of each case."""
        said = {**made_up.context(day), "gpu_name": gpu}
        path = self.results / (folder or f"{day}") / "summary.json"
        made_up.write_summary(path, said, {f"op/{name}/n:1/timer:graph": [time, time * 1.1, time * 0.5]
                                           for name, time in times.items()})
        return path.parent

    def run_program(self, *arguments: object) -> tuple[int, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = otava.main([*map(str, arguments), "--output", str(self.csv)])
        self.assertEqual(out.getvalue(), "")
        return code, err.getvalue()

    def table(self) -> list[list[str]]:
        with self.csv.open(newline="", encoding="utf-8") as file:
            return list(csv.reader(file))


class Table(Base):
    def test_a_line_a_night_the_oldest_first_with_medians_in_nanoseconds(self) -> None:
        self.night(7, "a", new=200.5, legacy=4000)
        self.night(3, "b", new=100.25, legacy=4000)
        self.assertEqual(self.run_program(self.results, "--config", self.config), (0, ""))
        self.assertEqual(self.table(), [
            ["time", "commit", "op/new/n:1/timer:graph", "op/legacy/n:1/timer:graph"],
            ["2025-12-02T02:10:00+00:00", made_up.commit_of(3), "100.25", "4000"],
            ["2025-12-06T02:10:00+00:00", made_up.commit_of(7), "200.5", "4000"]])
        text = self.config.read_text(encoding="utf-8")
        self.assertIn(f"    file: {json.dumps(str(self.csv.resolve()))}\n", text)
        self.assertIn('      "op/new/n:1/timer:graph": {column: "op/new/n:1/timer:graph", direction: -1}\n', text)

    def test_names_are_no_commands_and_no_formulas(self) -> None:
        hostile = ["=1+1", "-2", "+3", "@x", "a\x1b[2Jb", "\u202ecba", "a\nb", "\ud800"]
        made_up.write_summary(self.results / "1" / "summary.json",
                              {**made_up.context(1), "gpu_name": "NVIDIA H200", "git_commit": "=cmd()"},
                              {f"{name}/new/n:1/timer:graph": [1.0] for name in hostile})
        self.assertEqual(self.run_program(self.results, "--config", self.config), (0, ""))
        head, line = self.table()
        self.assertEqual(head[2:], [f"{name}/new/n:1/timer:graph" for name in (
            "'=1+1", "'-2", "'+3", "'@x", r"a\x1b[2Jb", r"\u202ecba", r"a\nb", r"\ud800")])
        self.assertFalse([text for text in (*head, *line) if text[:1] in tuple("=+-@") or not text.isprintable()])
        config = self.config.read_text(encoding="utf-8")
        for name in head[2:]:
            self.assertIn(f"{json.dumps(name)}: {{column: {json.dumps(name)}, direction: -1}}\n", config)

    def test_a_result_named_twice_is_one_night(self) -> None:
        folder = self.night(1, new=1.0)
        self.assertEqual(self.run_program(self.results, folder), (0, ""))
        self.assertEqual(len(self.table()), 2)

    def test_otava_takes_no_gaps(self) -> None:
        self.night(1, new=1.0, legacy=2.0)
        self.night(2, new=1.0, tuned=2.0)
        code, err = self.run_program(self.results)
        self.assertEqual((code, self.table()[0][2:]), (0, ["op/new/n:1/timer:graph"]))
        self.assertIn("2 cases are left out: they were not", err)
        self.night(2, new=1.0, legacy=2.0, tuned=2.0)
        self.assertEqual(self.run_program(self.results)[1],
                         "otava.py: 1 case is left out: it was not measured in every night\n")
        self.assertEqual(self.run_program(self.results, "--filter", "/new/"), (0, ""))

    def refused(self, words: str, *arguments: object) -> None:
        code, err = self.run_program(*arguments)
        self.assertEqual((code, err.count("\n"), self.csv.exists()), (2, 1, False), err)
        self.assertIn(words, err)

    def test_what_cannot_be_used_is_refused_with_one_line(self) -> None:
        self.refused("no such file", self.root / "nowhere")
        self.night(1, new=1.0)
        self.refused("no case was measured in the one night", self.results, "--filter", "nothing")
        self.refused("no regular expression", self.results, "--filter", "(")
        self.refused("with a date of NVIDIA L4", self.results, "--device", "NVIDIA L4")
        self.night(2, gpu="NVIDIA H100", new=1.0)
        self.refused("results of 2 devices, NVIDIA H100, NVIDIA H200: name one with --device", self.results)
        broken = self.root / "broken.json"
        broken.write_text("{", encoding="utf-8")
        self.refused("broken.json: not JSON", broken)
        self.assertEqual(self.run_program(self.results, "--device", "NVIDIA H100"), (0, ""))

    def test_nothing_is_written_over(self) -> None:
        file = self.night(1, new=1.0) / "summary.json"
        before = file.read_bytes()
        for arguments, words in (([self.results, "--config", file], "RESULT and --config are one file"),
                                 ([file, "--config", file], "RESULT and --config are one file"),
                                 ([self.results, "--config", self.csv], "--output and --config are one file")):
            self.refused(words, *arguments)
        self.csv.symlink_to(file)
        code, err = self.run_program(self.results)
        self.assertEqual((code, err.count("\n")), (2, 1), err)
        self.assertIn("RESULT and --output are one file", err)
        self.assertEqual(file.read_bytes(), before)

    def test_a_place_that_cannot_be_written(self) -> None:
        self.night(1, new=1.0)
        for place in (self.csv, self.config):
            (place / "in the way").mkdir(parents=True)
            code, err = self.run_program(self.results, "--config", self.config)
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(f"{place}: ", err)
            self.assertEqual(list(self.root.glob("*.tmp")), [])
            shutil.rmtree(place)

    def test_the_help_shows_the_configuration_that_is_written(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
            otava.main(["--help"])
        self.night(1, new=1.0)
        self.run_program(self.results, "--config", self.config)
        for line in self.config.read_text(encoding="utf-8").splitlines():
            if not re.search("file:|op/new", line):
                self.assertIn(line, out.getvalue())


class Itself(Base):
    def test_otava_finds_the_night_that_slowed_a_case_down(self) -> None:
        names = made_up.write_nights(self.results, cases=6, nights=40, processes=3)
        self.assertEqual(self.run_program(self.results, "--config", self.config), (0, ""))
        done = subprocess.run([OTAVA, "analyze", "strictbench", "--config-file", self.config, "--since", "2020-01-01",
                               "--output", "json"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout.splitlines()[-1])["strictbench"]
        changes = {(change["metric"], change["index"]): float(change["forward_change_percent"])
                   for entry in report for change in entry["changes"]}
        # From 0.6 of the nights on, the second case takes 4 % more.
        self.assertAlmostEqual(changes[names[1], 24], 4, delta=1)
        self.assertFalse([name for name, _ in changes if name == names[2]], "a case to which nothing happened")


if __name__ == "__main__":
    if sys.argv[1:2] == ["Itself"] and OTAVA is None:
        print("skipped: no otava (PyPI: apache-otava)")
        sys.exit(77)
    if len(sys.argv) < 2:
        sys.argv.append("Table")
    unittest.main()
