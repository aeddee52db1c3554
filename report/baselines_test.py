#!/usr/bin/env python3
"""Several baseline files of one device, and the published figures that are committed."""
from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

import command_test
from command_test import LEGACY, NEW, row

COMMITTED = Path(__file__).resolve().parents[1] / "baselines"
PUBLISHED = COMMITTED / "h100-80gb/published.json"
OTHER = "op/new/tokens:1/timer:graph"


class Baselines(command_test.Commands):
    def baseline(self, name: str, rows: dict[str, float], session: int) -> str:
        """A committed baseline with six processes of each row, of one session."""
        lines = [row(which, time * (1 + 0.0003 * (process % 3)), process=process, session=1, samples=20)
                 for which, time in rows.items() for process in range(6)]
        identity = {"session.1.boot_id": f"boot-{session}", "session.1.gpu_uuid": f"GPU-{session}",
                    "session.1.git_commit": "abc", "session.1.date": "2026-11-29T10:00:00+00:00"}
        path = f"baselines/h200/{name}.json"
        self.write(path, lines)
        file = json.loads((self.folder / path).read_text())
        file["context"] = {"date": "2026-11-29T10:00:00+00:00", "gpu_name": "NVIDIA H200", "build_type": "release",
                           **identity}
        (self.folder / path).write_text(json.dumps(file))
        return path

    def compare(self, *baselines: str, other: float = 500, **context: str) -> tuple[int, dict[str, Any]]:
        contender = self.result(f"contender-{len(list(self.folder.iterdir()))}", extra=[row(OTHER, other)],
                                **{"boot_id": "boot-9", "gpu_uuid": "GPU-9", **context})
        code, out, err = self.run_program("compare", "--baseline", *baselines, "--contender", contender,
                                          "--format", "json")
        self.assertEqual(err, "")
        return code, json.loads(out)

    def test_files_of_different_rows_are_one_baseline(self) -> None:
        files = [self.baseline("first", {LEGACY: 3000, NEW: 1000}, 1), self.baseline("second", {OTHER: 500}, 2)]
        for order in (files, files[::-1]):
            code, result = self.compare(*order)
            self.assertEqual((code, result["counts"]["same"], len(result["rows"])), (0, 3, 3))
            self.assertTrue(any("no row of the baseline was measured in two sessions" in note
                                for note in result["notes"]), result["notes"])
        # Each file gates its own rows.
        code, result = self.compare(*files, other=600)
        self.assertEqual((code, result["counts"]["slower"]), (1, 1))
        code, result = self.compare(*files, self.baseline("third", {"gone/new/tokens:1/timer:graph": 5}, 3))
        self.assertEqual((code, result["counts"]["missing"]), (1, 1))

    def test_files_of_the_same_rows_are_its_sessions(self) -> None:
        files = [self.baseline("first", {LEGACY: 3000, NEW: 1000, OTHER: 500}, 1),
                 self.baseline("second", {LEGACY: 3030, NEW: 1010, OTHER: 505}, 2)]
        results = [self.compare(*order)[1] for order in (files, files[::-1])]
        for result in results:
            rows = {r["name"]: r for r in result["rows"]}
            self.assertEqual(rows[NEW]["baseline"]["processes"], 12)
            self.assertTrue(any("learned from 2 sessions" in note for note in result["notes"]), result["notes"])
        self.assertEqual(*[[(r["name"], r["verdict"], round(r["ratio_low"], 9)) for r in result["rows"]]
                           for result in results])
        # A session of rows that no other file holds tells nothing of the spread between sessions.
        files.append(self.baseline("third", {"more/new/tokens:1/timer:graph": 5}, 3))
        _, result = self.compare(*files)
        self.assertTrue(any("learned from 2 sessions" in note for note in result["notes"]), result["notes"])

    def accept(self, result: str, *arguments: str) -> str:
        code, out, err = self.run_program("accept", result, "--baselines", "baselines", *arguments)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_accept_says_what_is_in_a_baseline_already(self) -> None:
        self.baseline("first", {LEGACY: 3000, NEW: 1000, OTHER: 500}, 1)
        self.baseline("published", {LEGACY: 1}, 1)
        again = self.result("a", 1.01, boot_id="boot-2")
        out = self.accept(again, "--name", "second")
        self.assertIn("note: 2 rows stand in baselines/h200/first.json too: the two count together", out)
        self.assertNotIn("moved by", out)
        self.assertNotIn("published", out)
        moved = self.result("b", 0.5, boot_id="boot-3")
        out = self.accept(moved, "--name", "third")
        self.assertIn(f"first.json too: the two count together, as sessions of one baseline; 1 row of them moved by "
                      f"more than 5 %, first {NEW} by -50.0 %", out)
        self.assertNotIn("note: ", self.accept(self.result("c", extra=[row(OTHER.replace(":1/", ":2/"), 5)],
                                                           boot_id="boot-4"), "--name", "fourth",
                                               "--filter", "tokens:2"))

    def test_the_same_session_counts_once(self) -> None:
        self.accept(self.result("a"), "--name", "first")
        before = (self.folder / "baselines/h200/first.json").read_text()
        refusal = self.refused("accept", "a", self.result("b", boot_id="boot-2"), "--baselines", "baselines",
                               "--name", "second")
        self.assertIn("first.json holds 2 rows of the same session already", refusal)
        self.assertIn("--name first --force", refusal)
        self.assertFalse((self.folder / "baselines/h200/second.json").exists())
        self.assertEqual((self.folder / "baselines/h200/first.json").read_text(), before)
        # As it says: one file with both sessions, or the other session in a file of its own.
        self.assertIn("of 2 sessions", self.accept("a", "b", "--name", "first", "--force"))
        self.accept("a", "--name", "first", "--force")
        self.accept("b", "--name", "second")

    def test_a_neighbour_that_cannot_be_read_is_told(self) -> None:
        (self.folder / "baselines/h200").mkdir(parents=True)
        (self.folder / "baselines/h200/cut.json").write_text('{"benchmarks": [')
        self.assertIn("note: baselines/h200/cut.json: not valid JSON", self.accept(self.result("a")))

    def test_help_says_that_files_count_together(self) -> None:
        code, out, _ = self.run_program("accept", "--help")
        self.assertEqual(code, 0)
        self.assertIn("count together, as sessions of one baseline", out)


class Published(command_test.Commands):
    def test_the_whole_layer_stands_beside_what_was_published(self) -> None:
        published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["benchmarks"]
        layer = [r for r in published if r["name"].startswith("qwen3_ffn/")]
        self.assertEqual(len(layer), 16)
        rows = [row(r["name"], r["real_time"] / (1.5 if "/new/" in r["name"] else 2)) for r in layer]
        _, out, _ = self.run_program("table", self.write("a.json", rows), "--published", str(PUBLISHED))
        lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if line.startswith("qwen3_ffn/")}
        self.assertEqual(sorted(lines), sorted(r["name"] for r in layer))
        case = "tokens:1/direction:forward_backward/timer:event"
        gpus = "NVIDIA H100 80GB HBM3 NVIDIA H200"
        self.assertEqual(lines[f"qwen3_ffn/legacy/{case}"], f"20.7 ms 10.3 ms 0.500 {gpus}")
        self.assertEqual(lines[f"qwen3_ffn/new/{case}"], f"14.1 ms 9.41 ms 0.667 1.46 x 1.10 x {gpus}")
        # The published ratio is that of the published times, to the last printed digit but one.
        for r in layer:
            if "/new/" in r["name"]:
                shown = float(lines[r["name"]].split()[5])
                self.assertLess(abs(shown - r["published_speedup"]), 0.0061, r["name"])
        self.assertNotIn("dw_gemm_kernel_time", out)


class Committed(unittest.TestCase):
    def test_no_row_passes_its_floor(self) -> None:
        """What is faster than physics allows has a wrong demand or a wrong ceiling. 2 %: they are measured too."""
        rows = [(file.name, case) for file in COMMITTED.glob("*/*.json") if file != PUBLISHED
                for case in json.loads(file.read_text(encoding="utf-8"))["benchmarks"]]
        with_floors = [(name, case) for name, case in rows if "floor_us" in case]
        self.assertGreater(len(with_floors), 300)
        for name, case in with_floors:
            self.assertEqual(case["time_unit"], "ns")
            self.assertLess(case["floor_us"] * 1000 / case["real_time"], 1.02, f"{name}: {case['name']}")


if __name__ == "__main__":
    command_test.PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
