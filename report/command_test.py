#!/usr/bin/env python3
"""The commands that read files, as a user or a script meets them: arguments, exit codes, files, streams."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Optional

PROGRAM = ""
# Where these tests run as a step of a GitHub action, what that changes is tested on purpose alone.
for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(variable, None)

CONTEXT = {"date": "2026-11-29T10:00:00+00:00", "host_name": "node", "library_build_type": "debug",
           "build_type": "release", "gpu_name": "NVIDIA H200", "gpu_uuid": "GPU-1", "boot_id": "boot-1",
           "driver_version": "580.10", "cuda_version": "13.0", "compiler": "GNU 12.2.0", "git_commit": "abc",
           "git_dirty": "false", "binary_sha256": "f00d", "cpu_model": "CPU"}
LEGACY = "op/legacy/rows:8/dtype:fp32/timer:graph"
NEW = "op/new/rows:8/dtype:fp32/timer:graph"


def row(name: str, time: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "run_name": name, "run_type": "iteration", "iterations": 1, "real_time": time,
            "cpu_time": time, "time_unit": "us", "check": 1, **more}


def error(name: str, message: str) -> dict[str, Any]:
    return row(name, 0, error_occurred=True, error_message=message)


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_program(self, *arguments: str, environment: Optional[dict[str, str]] = None) -> tuple[int, str, str]:
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=60, check=False, cwd=self.folder,
                              env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, *arguments: str) -> str:
        code, out, err = self.run_program(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def write(self, name: str, rows: list[dict[str, Any]], **context: str) -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(json.dumps({"context": {**CONTEXT, **context}, "benchmarks": rows}))
        return name

    def result(self, name: str, factor: float = 1.0, processes: int = 6, extra: Optional[list[dict[str, Any]]] = None,
               **context: str) -> str:
        """A result folder as `strictbench run` leaves it."""
        listed = []
        for process in range(processes):
            wobble = 1 + 0.0003 * (process % 3)
            rows = [row(LEGACY, 3000 * wobble), row(NEW, 1000 * wobble * factor), *(extra or [])]
            self.write(f"{name}/op.{process}.json", rows, process_index=str(process), **context)
            listed.append({"operator": "op", "process": process, "file": f"op.{process}.json", "status": "ok",
                           "cases": [LEGACY, NEW]})
        (self.folder / name / "run.json").write_text(json.dumps({"status": "complete", "processes": listed}))
        return name


class Compare(Commands):
    def test_result_folders(self) -> None:
        code, out, err = self.run_program("compare", "--baseline", self.result("a"), "--contender",
                                          self.result("b", 1.03))
        self.assertEqual((code, err), (1, ""))
        self.assertTrue(out.startswith("regressed: 1 slower, 1 same\n"), out)

    def test_what_crashed_has_failed(self) -> None:
        contender = self.result("b")
        run = json.loads((self.folder / contender / "run.json").read_text())
        run["processes"].append({"operator": "dw", "process": 0, "file": "dw.0.json", "status": "timed_out",
                                 "reason": "no progress in 60 s", "cases": ["dw/new/timer:graph"]})
        (self.folder / contender / "run.json").write_text(json.dumps(run))
        code, out, _ = self.run_program("compare", "--baseline", self.result("a"), "--contender", contender)
        self.assertEqual(code, 1)
        self.assertIn("dw, process 0 timed out: no progress in 60 s", out)

    def test_command_lines_that_cannot_be(self) -> None:
        a = self.write("a.json", [row(NEW, 1)])
        good = ("compare", "--baseline", a, "--contender", a)
        for arguments, word in (
            (("--threshold", "0"), "--threshold"), (("--threshold", "-1"), "--threshold"), (("--threshold", "5"), "0.01 for 1 %"),
            (("--threshold", "nan"), "--threshold"), (("--threshold", "inf"), "--threshold"),
            (("--threshold", "wide"), "--threshold"), (("--alpha", "0"), "--alpha"), (("--alpha", "1e-300"), "--alpha"), (("--alpha", "1"), "--alpha"),
            (("--metric", "no_such"), "no_such"), (("--metric", ""), "--metric"), (("--format", "yaml"), "yaml"),
            (("--no-such-option",), "--no-such-option"), (("--output", "."), "it is a folder"),
            (("--output", "no/such/folder"), "cannot be written"),
        ):
            with self.subTest(arguments):
                self.assertIn(word, self.refused(*good, *arguments))
        self.assertIn("--contender", self.refused("compare", "--baseline", a))
        self.assertIn("absent.json: does not exist", self.refused("compare", "--baseline", a, "--contender", "absent.json"))
        (self.folder / "empty").mkdir()
        self.assertIn("run.json", self.refused("compare", "--baseline", "empty", "--contender", a))
        b = self.write("b.json", [row(NEW, 1)], gpu_name="NVIDIA H100")
        self.assertIn("different devices", self.refused("compare", "--baseline", a, b, "--contender", a))

    def test_an_output_file_is_left_alone_on_exit_2(self) -> None:
        (self.folder / "out.json").write_text("before")
        (self.folder / "cut.json").write_text('{"benchmarks": [')
        a = self.write("a.json", [row(NEW, 1)])
        self.refused("compare", "--baseline", a, "--contender", "cut.json", "--output", "out.json")
        self.assertEqual((self.folder / "out.json").read_text(), "before")

    def test_output_files(self) -> None:
        code, out, _ = self.run_program("compare", "--baseline", self.result("a"), "--contender", self.result("b"),
                                        "--format", "junit", "--output", "out.xml")
        self.assertEqual(code, 0)
        self.assertEqual(out, "pass: 2 same\n")
        suite = xml.etree.ElementTree.parse(self.folder / "out.xml").getroot()
        self.assertEqual(len(suite.findall(".//testcase")), 2)

    def test_hostile_names_in_every_format(self) -> None:
        name = "a|b\x1b[31m\x00\n<script>`x`\u202e]]>&\"'"
        a = self.write("a.json", [row(name, 1)])
        b = self.write("b.json", [row(name, 3)])
        for form in ("text", "markdown", "junit", "json"):
            code, out, _ = self.run_program("compare", "--baseline", a, "--contender", b, "--format", form)
            self.assertEqual(code, 1)
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\x00", out)
            if form == "junit":
                xml.etree.ElementTree.fromstring(out)
            if form == "json":
                self.assertEqual(json.loads(out)["rows"][0]["name"], name)
            if form == "markdown":
                table = [line for line in out.splitlines() if line.startswith("|")]
                self.assertEqual([line.count("|") for line in table], [8, 8, 8])

    def test_no_colour_in_a_pipe(self) -> None:
        _, out, _ = self.run_program("compare", "--baseline", self.result("a"), "--contender", self.result("b", 2),
                                     environment={"CLICOLOR_FORCE": "0"})
        self.assertNotIn("\x1b", out)

    def test_a_github_action_gets_annotations_and_a_summary(self) -> None:
        sides = ("--baseline", self.result("a"), "--contender", self.result("b", 1.03))
        action = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        code, out, err = self.run_program("compare", *sides, environment=action)
        self.assertEqual((code, err), (1, ""))
        (line,) = (line for line in out.splitlines() if line.startswith("::"))
        self.assertRegex(line, r"^::error title=slower%3A op/new/rows%3A8/dtype%3Afp32/timer%3Agraph::\+3\.0\d %25 \[")
        self.assertFalse((self.folder / "summary.md").exists())
        # What another program reads stays whole.
        code, out, err = self.run_program("compare", *sides, "--format", "json", environment=action)
        self.assertEqual((code, json.loads(out)["verdict"], err), (1, "regressed", line + "\n"))
        for _ in range(2):
            _, out, err = self.run_program("compare", *sides, "--format", "markdown", environment=action)
            self.assertEqual(err, line + "\n")
        self.assertEqual((self.folder / "summary.md").read_text(), (out + "\n") * 2)
        code, out, err = self.run_program("compare", *sides, environment={"GITHUB_ACTIONS": "false"})
        self.assertNotIn("::error", out + err)

    def test_a_side_may_come_from_a_pipe(self) -> None:
        a = self.write("a.json", [row(NEW, 1)])
        command = f'"{PROGRAM}" compare --baseline {a} --contender <(cat {a}) --threshold 0.1'
        done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=self.folder, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


class TableAnnotations(Commands):
    def test_wrong_and_slower_rows_are_annotated_in_a_github_action(self) -> None:
        bad = {"name": NEW.replace("/new/", "/bad/"), "error_occurred": True, "error_message": "check failed: 1 bit",
               "run_type": "iteration"}
        result = self.write("r.json", [row(NEW, 9), bad])
        baseline = self.write("b.json", [row(NEW, 1)])
        for arguments, titles in (([], ["wrong"]), (["--baseline", baseline], ["wrong", "slower"])):
            done = subprocess.run([PROGRAM, "table", result, "--format", "markdown", *arguments], capture_output=True,
                                  text=True, cwd=self.folder, check=False, timeout=60,
                                  env={**os.environ, "GITHUB_ACTIONS": "true"})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertNotIn("::error", done.stdout)
            found = [line.split("%3A")[0].split("=")[1] for line in done.stderr.splitlines() if line.startswith("::error")]
            self.assertEqual(found, titles, done.stderr)
            plain = {key: value for key, value in os.environ.items() if key != "GITHUB_ACTIONS"}
            done = subprocess.run([PROGRAM, "table", result, *arguments], capture_output=True, text=True, env=plain,
                                  cwd=self.folder, check=False, timeout=60)
            self.assertNotIn("::error", done.stdout + done.stderr)


class Accept(Commands):
    def test_a_result_becomes_a_baseline(self) -> None:
        (self.folder / "baselines").mkdir()
        code, out, err = self.run_program("accept", self.result("a"), "--name", "first")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("accepted 2 rows of 1 session", out)
        file = self.folder / "baselines/h200/first.json"
        self.assertEqual(len(json.loads(file.read_text())["benchmarks"]), 12)
        code, _, _ = self.run_program("compare", "--baseline", str(file), "--contender", self.result("b"))
        self.assertEqual(code, 0)
        code, _, _ = self.run_program("table", str(file))
        self.assertEqual(code, 0)

    def test_several_sessions(self) -> None:
        results = [self.result(f"r{n}", boot_id=f"boot-{n}", gpu_uuid=f"GPU-{n}") for n in range(3)]
        code, out, _ = self.run_program("accept", *results, "--baselines", "b")
        self.assertEqual(code, 0)
        self.assertIn("of 3 sessions", out)
        code, out, _ = self.run_program("compare", "--baseline", "b/h200/main.json", "--contender",
                                        self.result("c", boot_id="boot-9"))
        self.assertEqual(code, 0)
        self.assertIn("learned from 3 sessions", out)

    def test_a_baseline_is_replaced_only_on_demand(self) -> None:
        self.run_program("accept", self.result("a"), "--baselines", "b")
        file = self.folder / "b/h200/main.json"
        before = file.read_text()
        self.assertIn("--force", self.refused("accept", self.result("c", 1.05), "--baselines", "b"))
        self.assertEqual(file.read_text(), before)
        code, out, _ = self.run_program("accept", "c", "--baselines", "b", "--force")
        self.assertEqual(code, 0)
        self.assertIn("1 slower, 1 same", out)
        self.assertNotEqual(file.read_text(), before)

    def test_refusals_name_what_is_wrong_and_write_nothing(self) -> None:
        bad = "op/bad/rows:8/dtype:fp32/timer:graph"
        for name, arguments, word in (
            ("dirty", {"git_dirty": "true"}, "uncommitted changes"),
            ("nameless", {"git_commit": ""}, "git_commit"),
            ("wrong", {"extra": [error(bad, "check failed: 1 of 9")]}, f"{bad} is wrong"),
            ("failed", {"extra": [error(bad, "boom")]}, f"{bad} failed: boom"),
            ("throttled", {"extra": [row(bad, 5, suspect=1)]}, f"{bad} was measured while"),
        ):
            with self.subTest(name):
                self.assertIn(word, self.refused("accept", self.result(name, **arguments), "--baselines", "b"))
        self.assertFalse((self.folder / "b").exists())

    def test_many_refusals_are_one_line_that_can_be_read(self) -> None:
        bad = [error(f"op/new/rows:{n}/{'x' * 5000}/timer:graph", "boom") for n in range(1, 12)]
        for count, rest in ((5, "boom\n"), (6, "; and 1 more reason\n"), (11, "; and 6 more reasons\n")):
            err = self.refused("accept", self.result(f"r{count}", extra=bad[:count]), "--baselines", "b")
            self.assertTrue(err.endswith(rest), err[-200:])
            self.assertLess(len(err), 1000)
            for n in range(1, 6):
                self.assertRegex(err, rf"op/new/rows:{n}/x+\.\.\.x+/timer:graph failed: boom")

    def test_skipped_rows_are_counted(self) -> None:
        missing = [{"name": f"op/big/rows:{n}/timer:graph", "skipped": True, "skip_message": "no room"} for n in (1, 2)]
        for count, words in ((1, "1 row was skipped and is not in it"), (2, "2 rows were skipped and are not in it")):
            result = self.result(f"r{count}", extra=missing[:count])
            code, out, _ = self.run_program("accept", result, "--baselines", f"b{count}")
            self.assertEqual(code, 0)
            self.assertIn(f"\n{words}\n", out)

    def test_names_and_folders(self) -> None:
        a = self.result("a")
        for name in ("../x", "a/b", ".hidden", "", "published"):
            self.assertIn("--name", self.refused("accept", a, "--baselines", "b", "--name", name))
        self.assertIn("no folder named baselines", self.refused("accept", a))
        (self.folder / "file").write_text("")
        self.assertIn("cannot be made", self.refused("accept", a, "--baselines", "file"))

    def test_an_interrupted_run(self) -> None:
        a = self.result("a")
        run = self.folder / a / "run.json"
        run.write_text(run.read_text().replace("complete", "interrupted"))
        self.assertIn("not complete", self.refused("accept", a, "--baselines", "b"))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
