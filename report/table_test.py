#!/usr/bin/env python3
"""strictbench table, as a user or a script meets it: arguments, exit codes, files, streams."""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import command_test
from command_test import LEGACY, NEW, error, row


class Table(command_test.Commands):
    def test_text_and_markdown(self) -> None:
        result = self.result("a")
        code, out, err = self.run_program("table", result)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("3.00 x (", out)
        self.assertIn("device: NVIDIA H200", out)
        code, out, _ = self.run_program("table", result, "--format", "markdown")
        self.assertEqual(code, 0)
        rows = [line for line in out.splitlines() if line.startswith("|")]
        self.assertGreaterEqual(len(rows), 3)
        self.assertIn("| `rows:8/dtype:fp32` | graph | 3.00 ms | 1.00 ms | 3.00 x (", rows[2])
        self.assertEqual(len({line.count("|") for line in rows[:3]}), 1)

    def test_wrong_rows_show_a_reason_and_exit_1(self) -> None:
        result = self.result("a", extra=[error("op/bad/rows:8/dtype:fp32/timer:graph", "check failed: 1 of 9 | x")])
        code, out, _ = self.run_program("table", result)
        self.assertEqual(code, 1)
        self.assertIn("check failed: 1 of 9", out)

    def test_json_and_files(self) -> None:
        result = self.result("a")
        code, out, err = self.run_program("table", result, "--format", "json", "--output", "table.json")
        self.assertEqual((code, out, err), (0, "1 operator, 1 line\n", ""))
        table = json.loads((self.folder / "table.json").read_text())
        self.assertEqual(sorted(table), ["header", "notes", "operators", "published"])
        self.assertAlmostEqual(table["operators"][0]["lines"][0]["variants"]["new"]["speedup"], 3)
        self.assertIn("cannot be written", self.refused("table", result, "--output", "no/such/folder"))
        self.assertIn("junit", self.refused("table", result, "--format", "junit"))

    def test_verdicts_beside_the_speedups(self) -> None:
        baseline, result = self.result("a"), self.result("b", 1.03)
        for arguments in ((result, "--baseline", baseline), ("--baseline", baseline, result)):
            code, out, _ = self.run_program("table", *arguments)
            self.assertEqual(code, 0)  # compare is the gate
            self.assertIn("legacy same, new slower +3.0", out)
            self.assertIn("baseline: a; regressed: 1 slower, 1 same; threshold 1.00 %", out)
        self.assertIn("absent: does not exist", self.refused("table", result, "--baseline", "absent"))
        self.assertIn("--baseline", self.refused("table", result, "--baseline", ""))

    def test_a_step_of_a_github_action_gets_the_table(self) -> None:
        action = {"GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        _, out, err = self.run_program("table", self.result("a"), "--format", "markdown", environment=action)
        self.assertEqual(err, "")
        self.assertEqual((self.folder / "summary.md").read_text(), out + "\n")
        self.run_program("table", "a", environment=action)
        self.assertEqual((self.folder / "summary.md").read_text(), out + "\n")
        code, again, err = self.run_program("table", "a", "--format", "markdown",
                                            environment={"GITHUB_STEP_SUMMARY": "no/such/folder"})
        self.assertEqual((code, again, err.count("\n")), (0, out, 1))

    def test_published_figures(self) -> None:
        result = self.result("a")
        published = [row(NEW, 500, provenance="published"), row(LEGACY, 6000, provenance="published")]
        self.write("baselines/h100-80gb/published.json", published, gpu_name="NVIDIA H100 80GB")
        _, out, _ = self.run_program("table", result)
        self.assertIn("published on", out)
        self.assertIn("NVIDIA H100 80GB", out)
        self.assertIn("2.0", out)
        self.write("other.json", [row(NEW, 250, provenance="published")], gpu_name="NVIDIA A100")
        _, out, _ = self.run_program("table", result, "--published", "other.json")
        self.assertIn("NVIDIA A100", out)
        self.assertNotIn("NVIDIA H100 80GB", out)

    def test_published_figures_are_found_outside_the_source_tree_or_missed_aloud(self) -> None:
        result = self.result("a")
        alone, tree = self.folder / "alone", self.folder / "tree"
        alone.mkdir()
        program = shutil.copy(command_test.PROGRAM, alone)

        def notes() -> list[str]:
            done = subprocess.run([program, "table", result, "--format", "json"], cwd=self.folder, text=True,
                                  capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.published = json.loads(done.stdout)["published"]
            return json.loads(done.stdout)["notes"]

        self.assertTrue(any("no published figures" in note and "--published" in note for note in notes()))
        self.assertEqual(self.published, [])
        for unusable in ("{", "[]", '{"source": 3}', '{"source": "/nowhere"}'):
            (alone / "build.json").write_text(unusable, encoding="utf-8")
            self.assertTrue(any("no published figures" in note for note in notes()), unusable)
        self.write("tree/baselines/h100/published.json", [row(NEW, 500, provenance="published")], gpu_name="NVIDIA H100")
        (alone / "build.json").write_text(json.dumps({"source": str(tree)}), encoding="utf-8")
        self.assertFalse(any("no published figures" in note for note in notes()))
        self.assertEqual([figure["name"] for figure in self.published], [NEW])
        # As installed: beside the folder of the program.
        (alone / "build.json").unlink()
        shutil.move(tree / "baselines", self.folder / "baselines")
        self.assertFalse(any("no published figures" in note for note in notes()))

    def test_unusable(self) -> None:
        self.assertIn("does not exist", self.refused("table", "absent"))
        self.assertIn("holds no rows", self.refused("table", self.write("a.json", [])))
        self.refused("table")
        self.refused("table", self.result("a"), "--published", "absent.json")


if __name__ == "__main__":
    command_test.PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
