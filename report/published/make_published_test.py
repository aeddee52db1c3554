#!/usr/bin/env python3
"""The committed published figures are what the script makes of the source, and every published number is in them."""
from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import make_published

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "report/testdata/published_h100.json"
COMMITTED = ROOT / "baselines/h100-80gb/published.json"


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)


class PublishedFigures(unittest.TestCase):
    def setUp(self) -> None:
        self.source = load(SOURCE)
        self.rows = {row["name"]: row for row in load(COMMITTED)["benchmarks"]}

    def test_regenerating_changes_no_byte(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / "published.json"
            self.assertEqual(make_published.main([str(SOURCE), str(again)]), 0)
            self.assertEqual(again.read_bytes(), COMMITTED.read_bytes())

    def test_one_line_a_row_and_no_name_twice(self) -> None:
        lines = [line for line in COMMITTED.read_text(encoding="utf-8").splitlines() if '"name"' in line]
        self.assertEqual(len(lines), 2 * (8 + 28 + 8) + 4)
        self.assertEqual(len({json.loads(line.rstrip(","))["name"] for line in lines}), len(lines))

    def test_rows_are_complete(self) -> None:
        for name, row in self.rows.items():
            with self.subTest(name):
                self.assertEqual((row["run_type"], row["iterations"], row["time_unit"], row["provenance"]),
                                 ("iteration", 1, "us", "published"))
                self.assertGreater(row["real_time"], 0)
                self.assertIn("H100", row["gpu_name"])
                self.assertEqual("label" in row, name.startswith("embedding_backward/"))

    def test_times_by_hand(self) -> None:
        """A few figures converted by hand, so that a wrong unit or a wrong name cannot agree with itself."""
        rest = "ids:uniform/dtype:bf16/part:kernel/timer:cold"
        expected = {
            f"embedding_backward/new/tokens:8/vocab:32000/hidden:1024/{rest}": "25.6",
            f"embedding_backward/legacy/tokens:512/vocab:151936/hidden:4096/{rest}": "3698262",
            "row_fold/new/rows:1/cols:128/dtype:fp32/timer:wall": "8.7",
            "row_fold/legacy/rows:16384/cols:128/dtype:fp32/timer:wall": "109794.4",
            "qwen3_ffn/legacy/tokens:1/direction:forward_backward/timer:event": "20672.8",
            "dw_gemm_kernel_time/legacy": "157657",
            "dw_gemm_kernel_time/new": "12006",
            "dw_gemm_kernel_time/control_before": "392263",
            "dw_gemm_kernel_time/control_after": "391452",
        }
        for name, text in expected.items():
            with self.subTest(name):
                self.assertEqual(str(self.rows[name]["real_time"]), text)

    def test_every_published_number_is_there(self) -> None:
        for family in self.source["families"]:
            ours = [row for name, row in self.rows.items() if name.startswith(family["op"] + "/")]
            times = sorted(Decimal(row["real_time"]) / 1000 for row in ours)
            speedups = sorted(row["published_speedup"] for row in ours if "published_speedup" in row)
            with self.subTest(family["op"]):
                self.assertEqual(times, sorted(value for row in family["rows"] for key, value in row.items()
                                               if key.endswith("_ms")))
                self.assertEqual(speedups, sorted(row["speedup"] for row in family["rows"] if "speedup" in row))

    def test_what_the_source_says_in_words_is_in_the_context(self) -> None:
        context = load(COMMITTED)["context"]
        self.assertTrue(all(isinstance(value, str) for value in context.values()))
        for family in self.source["families"]:
            for key in ("origin", "software", "timed", "gpu"):
                self.assertIn(family[key], context.values())
        self.assertIn("about 1.75", context["dw_gemm_kernel_time.event.legacy_ms_per_launch"])

    def test_no_binary_noise(self) -> None:
        for row in self.rows.values():
            for value in row.values():
                if isinstance(value, Decimal):
                    self.assertLessEqual(len(value.as_tuple().digits), 7, row["name"])

    def test_a_source_is_not_written_over(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, link = Path(folder) / "source", Path(folder) / "link"
            source.write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
            link.symlink_to(source)
            for output in (source, link):
                err = io.StringIO()
                with contextlib.redirect_stderr(err):
                    self.assertEqual(make_published.main([str(source), str(output)]), 2)
                self.assertIn("SOURCE and OUTPUT are one file", err.getvalue())
                self.assertEqual(err.getvalue().count("\n"), 1)
            self.assertEqual(source.read_bytes(), SOURCE.read_bytes())

    def test_a_row_that_is_there_twice_is_named(self) -> None:
        family = next(family for family in self.source["families"] if family["op"] == "row_fold")
        family["rows"].append({**family["rows"][0], "new_ms": Decimal("1")})
        with self.assertRaisesRegex(ValueError, "^row_fold/legacy/rows:[0-9]+/[^ ]* is there 2 times$"):
            make_published.document(self.source)

    def test_what_cannot_be_read_or_written_is_one_line_and_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            good, bad, out = (Path(folder) / name for name in ("good", "bad", "out"))
            good.write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
            out.mkdir()
            (out / "in the way").touch()
            time = good.read_text(encoding="utf-8").replace("19.725", "{}", 1)
            broken = ["{", "[]", '{"families": []}', "[" * 100_000,
                      *(time.replace("{}", number) for number in ("NaN", "-Infinity", "0", "-19.725", "1e999999999",
                                                                  "1e-999999999", "true", "null", '"19.725"', "9" * 400))]
            self.assertIn("{}", time)
            for text, target in (*((text, Path(folder) / "x") for text in broken), ("", good)):
                bad.write_text(text, encoding="utf-8")
                source, target = (good, out) if target == good else (bad, target)
                err = io.StringIO()
                with contextlib.redirect_stderr(err):
                    self.assertEqual(make_published.main([str(source), str(target)]), 2)
                self.assertEqual(err.getvalue().count("\n"), 1, err.getvalue())
                self.assertIn(str(out if source == good else bad), err.getvalue())
            self.assertEqual(sorted(file.name for file in Path(folder).iterdir()), ["bad", "good", "out"])


if __name__ == "__main__":
    unittest.main()
