#!/usr/bin/env python3
"""strictbench kernels, as a user or a script meets it: arguments, exit codes, files, streams."""
from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

import command_test

REAL = Path(__file__).resolve().parent / "testdata/nsight_systems"
HEADER = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"


def kernel(name: str, launches: int, total: int) -> dict[str, Any]:
    return {"name": name, "launches": launches, "total_ns": total, "min_ns": 1, "max_ns": total}


def case(name: str, calls: int, *kernels: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "calls": calls, "kernels": list(kernels)}


class Kernels(command_test.Commands):
    def record(self, folder: str, operator: str, *cases: dict[str, Any]) -> str:
        (self.folder / folder).mkdir(exist_ok=True)
        (self.folder / folder / f"{operator}.kernels.json").write_text(
            json.dumps({"operator": operator, "context": {"gpu_name": "NVIDIA H200"}, "cases": list(cases)}))
        return folder

    def json_of(self, *arguments: str) -> dict[str, Any]:
        code, out, err = self.run_program("kernels", *arguments, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def test_result_folders_are_compared_by_call(self) -> None:
        before = self.record("a", "op", case("op/new/n:1/timer:graph", 20, kernel("slow", 60, 6000), kernel("tile_tree", 20, 2000)))
        after = self.record("b", "op", case("op/new/n:1/timer:cold", 5, kernel("slow", 15, 750), kernel("tile_tree", 5, 500)))
        table = self.json_of("--before", before, "--after", after)
        self.assertEqual((table["before"], table["after"]), ("a", "b"))
        slow, tree = table["rows"]
        self.assertEqual(slow, {"name": "slow", "before": {"launches": 3, "total_ns": 300, "average_ns": 100, "share": 0.75},
                                "after": {"launches": 3, "total_ns": 150, "average_ns": 50, "share": 0.6},
                                "speedup": 2, "reduction": 0.5, "control": False, "moved": False})
        self.assertEqual((tree["name"], tree["control"], tree["speedup"]), ("tile_tree", True, 1))
        self.assertEqual(table["total"]["before"]["total_ns"], 400)
        self.assertTrue(any("one call of each of 1 case" in note for note in table["notes"]), table["notes"])

    def test_both_variants_of_one_result(self) -> None:
        result = self.record("a", "op", *(case(f"op/{variant}/n:{n}/timer:graph", 2, kernel(variant, 2, total * n))
                                          for n in (1, 2) for variant, total in (("legacy", 300), ("new", 100))))
        sides = ("--before", result, "--before-case", "/legacy/", "--after", result, "--after-case", "/new/")
        table = self.json_of(*sides)
        self.assertEqual(table["total"]["speedup"], 3)
        self.assertEqual(table["before"], "a, cases /legacy/")
        self.assertEqual([(row["name"], row["before"] is None, row["after"] is None) for row in table["rows"]],
                         [("legacy", False, True), ("new", True, False)])
        self.assertEqual(self.json_of(*sides, "--case", "n:1/")["total"]["before"]["total_ns"], 150)
        self.assertIn("no case", self.refused("kernels", "--before", result, "--after", result, "--case", "n:3/"))

    def test_a_case_that_failed_is_named_and_ends_with_1(self) -> None:
        bad = {"name": "op/bad\x1b/n:1/timer:graph", "calls": 0, "kernels": [], "error": "check failed: 1 of 9\nx"}
        result = self.record("a", "op", case("op/new/n:1/timer:graph", 1, kernel("f", 1, 100)), bad)
        for more in ((), ("--output", "out.txt")):
            code, out, err = self.run_program("kernels", "--before", result, "--after", result, *more)
            self.assertEqual((code, err), (1, "strictbench: a/op.kernels.json: no kernels of op/bad\\x1b/n:1/timer:graph: "
                                              "check failed: 1 of 9\\x0ax\n"))
            self.assertIn("GPU time before 100 ns, after 100 ns", out)
        code, _, err = self.run_program("kernels", "--before", result, "--after", result, "--case", "/new/")
        self.assertEqual((code, err), (0, ""))

    def test_real_profiles(self) -> None:
        for name in ("nsys_kernels_h100.csv", "nsys_kernels_older_header.csv"):
            table = self.json_of("--before", str(REAL / name), "--after", str(REAL / name))
            self.assertEqual(table["total"]["speedup"], 1)
            self.assertAlmostEqual(sum(row["before"]["share"] for row in table["rows"]), 1)
            self.assertEqual({row["speedup"] for row in table["rows"]}, {1})

    def test_text_markdown_and_a_file(self) -> None:
        (self.folder / "a.csv").write_text("Processing...\n" + HEADER + "70,700,7,1,1,1,1,0,\"f(int, \"\"x\"\")\"\n30,300,3,1,1,1,1,0,old\n")
        (self.folder / "b.csv").write_text(HEADER + "100,350,7,1,1,1,1,0,\"f(int, \"\"x\"\")\"\n")
        sides = ("--before", "a.csv", "--after", "b.csv")
        code, out, err = self.run_program("kernels", *sides)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0], "GPU time before 1.00 us, after 350 ns: 2.86 x")
        self.assertRegex(out, r"(?m)^f +7 +7 +700 ns +350 ns +100 ns +50.0 ns +70.0 % +100.0 % +2.00 x +50.0 %$")
        self.assertRegex(out, r"(?m)^old +3 +300 ns +100 ns +30.0 % +before only$")
        code, out, _ = self.run_program("kernels", *sides, "--format", "markdown", "--output", "out.md")
        self.assertEqual((code, out), (0, "GPU time before 1.00 us, after 350 ns: 2.86 x\n"))
        self.assertIn("| `f` | 7 | 7 | 700 ns | 350 ns |", (self.folder / "out.md").read_text())

    def test_unusable_input_is_one_line_and_writes_nothing(self) -> None:
        (self.folder / "good.csv").write_text(HEADER + "1,2,3,4,5,6,7,8,f\n")
        (self.folder / "skipped.csv").write_text("SKIPPED: x.sqlite does not contain CUDA kernel data.\n")
        (self.folder / "cut.csv").write_text(HEADER + "1,2,3,4,5,6,7,8,f\n1,2,3")
        (self.folder / "empty").mkdir()
        for bad, word in (("skipped.csv", "SKIPPED"), ("cut.csv", "line 3 has 3 fields"), ("absent", "does not exist"),
                          ("empty", "run --kernels")):
            for sides in (("--before", bad, "--after", "good.csv"), ("--before", "good.csv", "--after", bad)):
                self.assertIn(word, self.refused("kernels", *sides, "--output", "out.txt"))
        good = ("--before", "good.csv", "--after", "good.csv")
        self.assertIn("knows no cases", self.refused("kernels", *good, "--case", "x"))
        self.assertIn("--control (", self.refused("kernels", *good, "--control", "("))
        self.assertIn("--control", self.refused("kernels", *good, "--control", ""))
        self.assertIn("junit", self.refused("kernels", *good, "--format", "junit"))
        self.assertIn("--after", self.refused("kernels", "--before", "good.csv"))
        self.assertFalse((self.folder / "out.txt").exists())


if __name__ == "__main__":
    command_test.PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
