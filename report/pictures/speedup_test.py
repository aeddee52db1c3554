#!/usr/bin/env python3
"""What stands on the picture. The SVG keeps its text as text, so the tests read what a person reads."""
from __future__ import annotations

import contextlib
import io
import math
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

try:
    import speedup
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; report/requirements.txt names what the pictures need")
    sys.exit(77)
from synthetic import CONTEXT, FOLD, error, row, skipped, write

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


class Picture(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "result"

    def run_program(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = speedup.main([str(self.folder), *arguments])
        return code, out.getvalue(), err.getvalue()

    def texts(self) -> list[str]:
        """Every text of the picture, in drawing order."""
        code, _, err = self.run_program()
        self.assertEqual((code, err), (0, ""))
        self.assertTrue((self.folder / "speedup.png").read_bytes().startswith(PNG_MAGIC))
        root = xml.etree.ElementTree.parse(self.folder / "speedup.svg").getroot()
        return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]

    def test_numbers(self) -> None:
        for process, drift in enumerate((1.0, 1.1)):
            write(self.folder, process, [
                row(FOLD.format("legacy", 64), 447.1 * drift), row(FOLD.format("new", 64), 11.6 * drift),
                row(FOLD.format("legacy", 16384), 109794.4 * drift), row(FOLD.format("new", 16384), 2517.8 * drift)])
        texts = self.texts()
        for text in ("Speedup over legacy", "legacy = 1", "row_fold", "cols 128 · dtype fp32 · timer wall", "rows 64",
                     "rows 16384", "38.5×", "43.6×", "469 us", "12.2 us", "115 ms", "2.64 ms", "legacy", "● new"):
            self.assertEqual(texts.count(text), 1, text)

    def test_the_share_of_the_floor_stands_beside_the_speedup(self) -> None:
        for process, drift in enumerate((1.0, 1.1)):
            write(self.folder, process, [
                row(FOLD.format("legacy", 64), 400 * drift, floor_us=8), row(FOLD.format("new", 64), 10 * drift, floor_us=8),
                row(FOLD.format("legacy", 128), 400), row(FOLD.format("new", 128), 20, floor_us=0.009),
                row(FOLD.format("legacy", 256), 400), row(FOLD.format("new", 256), 30),
                row(FOLD.format("legacy", 512), 400), row(FOLD.format("new", 512), 30, floor_us=1e14)])
        texts = self.texts()
        self.assertEqual([text for text in texts if text.endswith("of floor")], ["76 % of floor", "0.045 % of floor",
                                                                                       "over 1,000 % of floor"])
        self.assertTrue(any("Floor: the least time" in text for text in texts))

    def test_without_floors_nothing_is_said_of_them(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 400, floor_us=math.nan),
                               row(FOLD.format("new", 64), 10, floor_us="8"),
                               row(FOLD.format("new", 128), 10, floor_us=1e27, share_of_floor=0.5)])
        self.assertFalse([text for text in self.texts() if "loor" in text])

    def test_where_and_when(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 400), row(FOLD.format("new", 64), 10)])
        head = "\n".join(self.texts())
        for text in ("NVIDIA H200", "2026-11-29 18:02", "commit 0123456789ab", "timer wall", "1 process an operator"):
            self.assertIn(text, head)
        self.assertNotIn("local changes", head)

    def test_what_is_not_known_is_said(self) -> None:
        write(self.folder, 0, [row("row_fold/legacy/rows:64", 400), row("row_fold/new/rows:64", 10)], context={})
        head = "\n".join(self.texts())
        for text in ("device not recorded", "date not recorded", "commit not recorded", "timer not named"):
            self.assertIn(text, head)

    def test_local_changes_are_said(self) -> None:
        write(self.folder, 0, [row(FOLD.format("new", 64), 10)], context={**CONTEXT, "git_dirty": "true"})
        self.assertIn("with local changes", "\n".join(self.texts()))

    def test_wrong_failed_and_skipped_are_never_a_time(self) -> None:
        write(self.folder, 0, [
            row(FOLD.format("legacy", 1), 123.4),
            error(FOLD.format("new", 1), "check failed: 3 of 128 elements differ"),
            error(FOLD.format("legacy", 2), "CUDA error: out of memory"), row(FOLD.format("new", 2), 56.7),
            row(FOLD.format("legacy", 4), 234.6), skipped(FOLD.format("new", 4), "needs 3.7 GB")])
        texts = self.texts()
        for text in ("wrong: check failed: 3 of 128 elements differ", "no time of legacy: failed",
                     "skipped: needs 3.7 GB", "123 us", "56.7 us", "235 us", "wrong", "failed", "skipped"):
            self.assertEqual(texts.count(text), 1, text)
        speedups = [text for text in texts if text.endswith("×") and len(text.strip("×").replace(".", "")) == 3]
        self.assertEqual(speedups, [])
        self.assertEqual([text for text in texts if text.startswith("0 ")], [])

    def test_no_legacy(self) -> None:
        write(self.folder, 0, [row(FOLD.format("new", 64), 11.6)])
        texts = self.texts()
        self.assertEqual(texts.count("no legacy row to compare with"), 1)
        self.assertEqual(texts.count("11.6 us"), 1)

    def test_legacy_alone(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 447.1)])
        texts = self.texts()
        self.assertEqual(texts.count("no variant beside legacy"), 1)
        self.assertEqual(texts.count("447 us"), 1)

    def test_a_variant_that_only_some_cases_have(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 1), 400), row(FOLD.format("new", 1), 100),
                               row(FOLD.format("tuned", 1), 50), row(FOLD.format("legacy", 2), 800),
                               row(FOLD.format("new", 2), 100)])
        texts = self.texts()
        for text in ("4.00×", "8.00×", "● tuned", "not measured", "–"):
            self.assertGreaterEqual(texts.count(text), 1, text)

    def test_slower_than_legacy(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 50), row(FOLD.format("new", 64), 100)])
        self.assertEqual(self.texts().count("0.500×"), 1)

    def test_rows_of_no_case_are_counted(self) -> None:
        for count, words in ((1, "1 row without operator and variant in its name is left out."),
                             (2, "2 rows without operator and variant in their name are left out.")):
            others = [{**row("", 1), "name": f"BM{n}"} for n in range(count)]
            write(self.folder, 0, [row(FOLD.format("new", 64), 10), *others])
            self.assertTrue(any(text.endswith(words) for text in self.texts()), words)

    def test_one_panel_an_operator(self) -> None:
        gemm = "dw_gemm/{}/tokens:8/in:4096/out:12288/dtype:bf16/timer:graph"
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 400), row(FOLD.format("new", 64), 10)])
        write(self.folder, 0, [row(gemm.format("legacy"), 900), row(gemm.format("new"), 100)], operator="dw_gemm")
        texts = self.texts()
        for text in ("row_fold", "dw_gemm", "40.0×", "9.00×",
                     "tokens 8 · in 4096 · out 12288 · dtype bf16 · timer graph"):
            self.assertEqual(texts.count(text), 1, text)
        self.assertEqual(texts.count("legacy = 1"), 2)

    def test_markup_is_text(self) -> None:
        for name in (r"$\frac{1}{0}$", '<script>"&amp;</script>', "`x`|y", "ü漢", "௦", "a\nb\x01\x1b[31m", "\ud800", "${",
                     "_^{"):
            with self.subTest(name):
                write(self.folder, 0, [row(f"row_fold/legacy/tag:{name.replace('/', '')}/rows:1", 40),
                                       row(f"row_fold/new/tag:{name.replace('/', '')}/rows:1", 10)])
                texts = self.texts()
                self.assertEqual(texts.count("4.00×"), 1)
                label = next(text for text in texts if text.startswith("tag "))
                if name.isprintable():
                    self.assertEqual(label, f"tag {name.replace('/', '')} · rows 1")
                else:
                    self.assertIn("\\", label)

    def test_what_the_context_says_is_text(self) -> None:
        word = "a\nb\x01\x1b[31m"
        for key in ("gpu_name", "date", "git_commit"):
            with self.subTest(key):
                write(self.folder, 0, [row(FOLD.format("legacy", 64), 5)], context={**CONTEXT, key: word})
                self.assertTrue([text for text in self.texts() if "a\\nb\\x01" in text])

    def test_two_hundred_cases(self) -> None:
        write(self.folder, 0, [row(FOLD.format(variant, rows), time) for rows in range(1, 201)
                               for variant, time in (("legacy", 100 + rows), ("new", 100.0))])
        texts = self.texts()
        self.assertEqual([text for text in texts if text.startswith("rows ")], [f"rows {n}" for n in range(1, 201)])
        self.assertEqual(texts.count("3.00×"), 1)

    def test_extreme_ratios_still_draw(self) -> None:
        for legacy, new in ((1e-6, 1e15), (1e15, 1e-6), (5, 5), (5, 5.000001)):
            write(self.folder, 0, [row(FOLD.format("legacy", 64), legacy), row(FOLD.format("new", 64), new)])
            with self.subTest((legacy, new)):
                self.assertIn("legacy = 1", self.texts())

    def test_equal_results_give_equal_bytes(self) -> None:
        write(self.folder, 0, [row(FOLD.format("legacy", 64), 400), row(FOLD.format("new", 64), 10)])
        drawn = []
        for name in ("a", "b"):
            out = self.folder / name
            self.assertEqual(self.run_program("--out", str(out))[0], 0)
            drawn.append([(out / f"speedup.{kind}").read_bytes() for kind in ("png", "svg")])
        self.assertEqual(drawn[0], drawn[1])

    def test_unusable_input_is_one_line_and_leaves_no_picture(self) -> None:
        file = write(self.folder, 0, [row(FOLD.format("new", 64), 10)])
        file.write_text(file.read_text(encoding="utf-8")[:100], encoding="utf-8")
        code, out, err = self.run_program()
        self.assertEqual((code, out, err.count("\n")), (2, "", 1))
        self.assertIn("row_fold.0.json: not JSON", err)
        self.assertEqual(list(self.folder.glob("speedup*")), [])

    def test_a_place_that_cannot_be_written(self) -> None:
        write(self.folder, 0, [row(FOLD.format("new", 64), 10)])
        code, _, err = self.run_program("--out", str(self.folder / "row_fold.0.json" / "below"))
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("cannot be written: ", err)
        (self.folder / "speedup.svg" / "in the way").mkdir(parents=True)
        code, _, err = self.run_program()
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("speedup.svg: cannot be written: ", err)
        self.assertEqual(list(self.folder.glob("*.tmp")), [])

    def test_links_that_came_with_a_result_are_replaced(self) -> None:
        write(self.folder, 0, [row(FOLD.format("new", 64), 10)])
        precious = self.folder.parent / "precious"
        precious.write_text("precious", encoding="utf-8")
        for arguments in ((), ("--out", str(self.folder))):
            for kind in ("png", "svg"):
                (self.folder / f"speedup.{kind}").unlink(missing_ok=True)
                (self.folder / f"speedup.{kind}").symlink_to(precious)
            self.assertEqual(self.run_program(*arguments)[::2], (0, ""))
            self.assertEqual(precious.read_text(encoding="utf-8"), "precious")
            self.assertFalse(any(path.is_symlink() for path in self.folder.iterdir()))


class Words(unittest.TestCase):
    def test_times(self) -> None:
        for seconds, text in ((3.698262, "3.70 s"), (0.109794, "110 ms"), (25.6e-6, "25.6 us"), (9.999e-4, "1.00 ms"),
                              (2.3e-9, "2.30 ns"), (999.6e-9, "1.00 us"), (1234.5, "1,230 s"), (4.5e-12, "0.00450 ns")):
            self.assertEqual(speedup.time_text(seconds), text)

    def test_speedups(self) -> None:
        for ratio, text in ((1.0, "1.00×"), (0.9534, "0.953×"), (38.54, "38.5×"), (771.5, "772×"),
                            (16161.8, "16,200×"), (9.999, "10.0×"), (99.96, "100×")):
            self.assertEqual(speedup.speedup_text(ratio), text)

    def test_ticks_are_few_and_hold_the_one(self) -> None:
        for low, high in ((0.9, 1.7), (0.5, 2), (0.9, 80), (0.9, 3e3), (0.9, 3e5), (0.01, 5), (1e-12, 1e12)):
            ticks = speedup.ticks(low, high)
            self.assertIn(1, [round(tick, 12) for tick in ticks])
            self.assertTrue(2 <= len(ticks) <= 13, (low, high, ticks))


if __name__ == "__main__":
    unittest.main()
