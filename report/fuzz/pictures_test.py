#!/usr/bin/env python3
"""What draws, on hostile files: pictures that are whole or none, and not one warning of matplotlib's.

Beside readers_test.py, for the programs that need matplotlib. Exit code 77, which ctest shows as skipped, where that or
Hypothesis is not installed (report/requirements.txt).
"""
from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Callable

REPORT = Path(__file__).resolve().parent.parent
SKIPPED = 77
sys.path[:0] = [str(REPORT / folder) for folder in ("page", "calibration", "pictures", "fuzz")]

try:
    import calibration
    import speedup
    from edits import NO_NUMBER, one_test
    from matplotlib.figure import Figure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; report/requirements.txt names it")
    sys.exit(SKIPPED)

import make_seeds  # noqa: E402
import report  # noqa: E402

DRAWN = Figure.savefig


def coarse(figure: Figure, file: Any, **options: Any) -> None:
    """The whole drawing on few pixels: how many costs the most, and shows nothing here."""
    DRAWN(figure, file, **{**options, "dpi": min(options["dpi"], 12)})


def small_calibration() -> dict[str, Any]:
    """The committed record of a calibration, cut down to two timers, a size and a case of each, and to what is drawn:
    so that many edits hit a number."""
    record = json.loads((REPORT / "calibration/h200/calibration.json").read_text(encoding="utf-8"))
    record["timers"] = [{**timer, "sizes": timer["sizes"][:1]} for timer in record["timers"][:2]]
    names = [timer["timer"] for timer in record["timers"]]
    record["cases"] = [{key: case[key] for key in ("name", "timer", "time_ns", "smallest_visible")} for name in names
                       for case in [case for case in record["cases"] if case["timer"] == name][:1]]
    record["context"] = {key: record["context"][key] for key in ("driver_version", "cuda_version")}
    record["settings"] = {key: record["settings"][key] for key in ("sides", "threshold", "alpha")}
    return {key: value for key, value in record.items() if key not in ("machine", "notes", "bad_rows")}


def comparison() -> dict[str, Any]:
    rows = [{"name": f"row_fold/new/rows:{rows}/timer:graph", "verdict": verdict, "ratio": ratio, "ratio_low": ratio * 0.9,
             "ratio_high": ratio * 1.1, "smallest_visible": 0.01, "unit": "ns", "reason": "why"}
            for rows, verdict, ratio in ((8, "slower", 1.3), (9, "inconclusive", 1.0))]
    return {"verdict": "regressed", "threshold": 0.05, "alpha": 0.01, "rows": rows}


RESULT = json.loads(make_seeds.acceptable("boot-1", suspect=0))


class Pictures(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)

    def draws(self, main: Callable[[list[str]], int], files: dict[str, Any], *more: str) -> None:
        """main() of a folder with these files: pictures and no complaint, or one line and no picture."""
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            for name, text in files.items():
                (Path(folder) / name).write_bytes((text if isinstance(text, str) else json.dumps(text)).encode(
                    "utf-8", "surrogatepass"))
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                    unittest.mock.patch.object(Figure, "savefig", coarse):
                code = main([folder, *more])
            self.assertIn(code, (0, 2))
            self.assertEqual(err.getvalue().count("\n"), 1 if code == 2 else 0, err.getvalue())
            self.assertTrue(err.getvalue().rstrip("\n").isprintable(), ascii(err.getvalue()))
            pictures = {path.name: path for path in Path(folder).iterdir() if path.suffix in (".png", ".svg")}
            if code == 2:
                self.assertEqual(list(pictures), [])
            for path in pictures.values():
                if path.suffix == ".svg":
                    texts = [node.text or "" for node in xml.etree.ElementTree.parse(path).getroot().iter(
                        "{http://www.w3.org/2000/svg}text")]
                    self.assertTrue(texts)
                    self.assertEqual([text for text in texts if NO_NUMBER.search(text)], [])
                else:
                    self.assertTrue(path.read_bytes().endswith(b"IEND\xaeB`\x82"))

    @one_test(small_calibration())
    def test_calibration(self, text: str) -> None:
        self.draws(calibration.main, {"calibration.json": text})

    @one_test(RESULT)
    def test_speedup(self, text: str) -> None:
        self.draws(speedup.main, {"op.0.json": text})

    @one_test(comparison())
    def test_ratios(self, text: str) -> None:
        self.draws(report.main, {"op.0.json": RESULT, "compare.json": text}, "--baselines", str(self.root / "none"))

    @one_test(RESULT)
    def test_ratios_of_a_result(self, text: str) -> None:
        self.draws(report.main, {"op.0.json": text, "compare.json": comparison()}, "--baselines", str(self.root / "none"))


if __name__ == "__main__":
    unittest.main()
