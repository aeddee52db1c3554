#!/usr/bin/env python3
"""What stands on the picture of a calibration. The SVG keeps its text as text: the tests read what a person reads."""
from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
import tempfile
import unittest
import warnings
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

try:
    import calibration
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; report/requirements.txt names what the pictures need")
    sys.exit(77)

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


def counts(slower: int = 0, inconclusive: int = 0, same: int = 0, faster: int = 0) -> dict[str, int]:
    return {"rows": slower + inconclusive + same + faster, "slower": slower, "inconclusive": inconclusive, "same": same,
            "faster": faster, "other": 0}


def size(share: float, **verdicts: int) -> dict[str, Any]:
    return {"size": share, "arms": 12, "reached_low": share * 0.97, "reached_high": share * 1.01, **counts(**verdicts)}


def timer(name: str) -> dict[str, Any]:
    return {"timer": name, "cases": 12, "processes": 60,
            "identical": {"tables": 100, "tables_with_alarm": 0, **counts(inconclusive=84, same=1116)},
            "sizes": [size(0.01, inconclusive=1200), size(0.02, slower=1104, inconclusive=96),
                      size(0.05, slower=1199, inconclusive=1)]}


def case(name: str, time: float, visible: Any) -> dict[str, Any]:
    return {"name": "row_fold/new/rows:1/timer:" + name, "timer": name, "time_ns": time, "smallest_visible": visible}


MADE = {"format": 1, "device": "h200", "device_name": "NVIDIA H200", "date": "2026-11-29T19:02:03Z",
        "commit": "0123456789abcdef", "dirty": False, "context": {"driver_version": "580.95", "cuda_version": "13.0"},
        "settings": {"processes": 60, "sides": 10, "threshold": 0.01, "alpha": 0.01},
        "timers": [timer("graph"), timer("wall")],
        "cases": [case("graph", 2200, 0.019), case("graph", 2.6e6, 0.011), case("wall", 9000, 0.03)]}


class Picture(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "run"
        self.folder.mkdir()
        self.made = copy.deepcopy(MADE)

    def run_program(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = calibration.main(list(arguments) or [str(self.folder)])
        return code, out.getvalue(), err.getvalue()

    def texts(self) -> list[str]:
        """Every text of the picture, in drawing order."""
        (self.folder / "calibration.json").write_text(json.dumps(self.made), encoding="utf-8")
        code, _, err = self.run_program()
        self.assertEqual((code, err), (0, ""))
        self.assertTrue((self.folder / "calibration.png").read_bytes().startswith(PNG_MAGIC))
        root = xml.etree.ElementTree.parse(self.folder / "calibration.svg").getroot()
        return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]

    def test_shares_of_each_size_beside_identical_code(self) -> None:
        self.made["timers"] = [timer("graph")]
        texts = self.texts()
        # same of identical code; cannot tell at 1 %; slower at 2 % with the rest; slower at 5 %, which is not all
        for text in ("7", "93", "100", "92", "8", ">99"):
            self.assertIn(text, texts)
        for text in ("timer graph", "1 %", "2 %", "5 %", "0 false alarms in 1,200 comparisons"):
            self.assertIn(text, texts)
        self.assertEqual(texts.count("1,200"), 4)
        self.assertIn("1.94 to", texts)

    def test_one_panel_a_timer(self) -> None:
        texts = self.texts()
        for text in ("timer graph", "timer wall"):
            self.assertEqual(texts.count(text), 1, text)

    def test_false_alarms_are_told(self) -> None:
        self.made["timers"][0]["identical"].update(counts(slower=2, faster=1, same=1197))
        texts = self.texts()
        self.assertIn("3 false alarms in 1,200 comparisons", texts)
        self.assertIn("faster", texts)

    def test_a_verdict_that_nothing_has_is_not_in_the_legend(self) -> None:
        texts = self.texts()
        self.assertEqual([texts.count(text) for text in ("slower", "cannot tell", "same", "faster")], [1, 1, 1, 0])

    def test_a_size_without_comparisons_is_no_zero(self) -> None:
        self.made["timers"] = [timer("cold")]
        self.made["timers"][0]["sizes"][0].update(counts(), reached_low=None, reached_high=None, arms=0)
        texts = self.texts()
        self.assertIn("timer ticks", texts)
        self.assertNotIn("0", texts)

    def test_where_when_and_how(self) -> None:
        self.made["dirty"] = True
        head = "\n".join(self.texts())
        for text in ("NVIDIA H200", "2026-11-29 19:02", "commit 0123456789ab with local changes", "driver 580.95",
                     "CUDA 13.0", "10 processes a side drawn from 60", "threshold 1 %", "alpha 1 %"):
            self.assertIn(text, head)
        self.made["settings"]["sides"] = 1
        self.assertIn("1 process a side drawn from 60", "\n".join(self.texts()))

    def test_what_is_not_known_is_said(self) -> None:
        for key in ("device_name", "date", "commit", "context", "settings"):
            del self.made[key]
        head = "\n".join(self.texts())
        for text in ("device not recorded", "date not recorded", "commit not recorded"):
            self.assertIn(text, head)

    def test_cases_that_show_nothing_do_not_stop_the_picture(self) -> None:
        self.made["cases"] = [case("graph", 2200, None), case("graph", 2200, 1e30), case("wall", 0, 0.1)]
        self.assertIn("100 %", self.texts())
        self.made["cases"] = []
        self.texts()

    def test_the_same_calibration_gives_the_same_bytes(self) -> None:
        self.texts()
        first = (self.folder / "calibration.svg").read_bytes()
        self.texts()
        self.assertEqual((self.folder / "calibration.svg").read_bytes(), first)

    def test_a_file_and_another_folder(self) -> None:
        self.texts()
        elsewhere = self.folder / "deep" / "pictures"
        code, out, _ = self.run_program(str(self.folder / "calibration.json"), "--out", str(elsewhere))
        self.assertEqual(code, 0)
        self.assertEqual(out.split(), [str(elsewhere / "calibration.png"), str(elsewhere / "calibration.svg")])
        self.assertEqual(sorted(path.name for path in elsewhere.iterdir()), ["calibration.png", "calibration.svg"])

    def test_a_place_that_cannot_be_written(self) -> None:
        (self.folder / "calibration.json").write_text(json.dumps(MADE), encoding="utf-8")
        (self.folder / "calibration.svg" / "in the way").mkdir(parents=True)
        code, _, err = self.run_program()
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("calibration.svg: cannot be written: ", err)
        self.assertEqual(list(self.folder.glob("*.tmp")), [])

    def test_links_that_came_with_the_folder_are_replaced(self) -> None:
        precious = self.folder.parent / "precious"
        precious.write_text("precious", encoding="utf-8")
        for kind in ("png", "svg"):
            (self.folder / f"calibration.{kind}").symlink_to(precious)
        self.texts()
        self.assertEqual(precious.read_text(encoding="utf-8"), "precious")
        self.assertFalse(any(path.is_symlink() for path in self.folder.iterdir()))

    def test_unusable_input(self) -> None:
        broken = copy.deepcopy(MADE)
        broken["timers"][0]["sizes"][0]["slower"] = "many"
        for text, words in (("", "not JSON"), ("[]", "not a JSON object"), ("{}", "not a calibration"),
                            ('{"timers": [], "cases": []}', "nothing to draw"),
                            ('{"timers": [3], "cases": []}', "without name"),
                            (json.dumps({**MADE, "cases": [3]}), "a case without a timer"),
                            (json.dumps(broken), "counts are missing")):
            (self.folder / "calibration.json").write_text(text, encoding="utf-8")
            code, out, err = self.run_program()
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), text)
            self.assertIn(words, err)
            self.assertIn("calibration.json", err)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["calibration.json"])
        code, _, err = self.run_program(str(self.folder / "nowhere"))
        self.assertEqual((code, err.count("\n")), (2, 1))

    def refused(self, made: dict[str, Any]) -> str:
        """The one line about a calibration of which nothing is drawn."""
        (self.folder / "calibration.json").write_text(json.dumps(made), encoding="utf-8")
        code, out, err = self.run_program()
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["calibration.json"])
        return err

    def test_numbers_that_nothing_can_be_drawn_with(self) -> None:
        def at(*place: Any) -> dict[str, Any]:
            made = copy.deepcopy(MADE)
            holder: Any = made
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = number
            return made

        sizes = ("timers", 0, "sizes", 1)
        for number in (10 ** 400, -10 ** 400, float("inf"), float("nan"), 1e300):
            for place, words in ((("settings", "threshold"), "settings: threshold is no share above 0"),
                                 (("settings", "alpha"), "settings: alpha is no share above 0"),
                                 (("settings", "sides"), "settings: sides is no count"),
                                 (("cases", 1, "time_ns"), "timer:graph: time_ns is no number"),
                                 (("cases", 1, "smallest_visible"), "smallest_visible is no number"),
                                 ((*sizes, "size"), "timer graph: a size is no number"),
                                 ((*sizes, "reached_low"), "timer graph: reached_low is no number"),
                                 ((*sizes, "reached_high"), "timer graph: reached_high is no number"),
                                 ((*sizes, "rows"), "timer graph: counts are missing or are none"),
                                 (("timers", 0, "identical", "same"), "timer graph: counts are missing or are none"),
                                 (("timers", 0, "processes"), "timer graph: processes is no count")):
                with self.subTest(number=str(number)[:9], place=place):
                    self.assertIn(words, self.refused(at(*place)))
        for number in (5, "x", -1.0, [], False):
            self.assertIn("settings is not an object", self.refused(at("settings")))
        number = 1203
        self.assertIn("do not add up to its 1,203 rows", self.refused(at(*sizes, "rows")))
        number = [size(0.01)] * 300
        self.assertIn("305 sizes of all timers", self.refused(at("timers", 0, "sizes")))

    def test_texts_are_drawn_as_they_may_be_shown(self) -> None:
        """Not one warning, no character that XML lacks, and no name that matplotlib takes for one of its own."""
        word = "\x1b[31m\n\u202e漢௦$x$"
        self.made.update(device_name=word, date=word, commit=word, context={"driver_version": word, "cuda_version": word})
        self.made["settings"]["sides"] = word
        for index, name in enumerate((word, "_")):
            self.made["timers"][index]["timer"] = self.made["cases"][index]["timer"] = name
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            texts = self.texts()
        self.assertEqual([text for text in texts if not text.replace("\n", "").isprintable()], [])
        shown = "\\x1b[31m\\n\\u202e漢௦$x$"
        self.assertTrue([text for text in texts if text.startswith(f"{shown} processes a side")])
        for text in (f"timer {shown}", "timer _", shown, "_"):
            self.assertIn(text, texts)

    def test_a_time_that_nothing_takes_is_not_drawn(self) -> None:
        self.made["cases"] = [case("graph", time, 0.02) for time in (5e-324, 1e30, -1.0, 0, 2200)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.texts()


if __name__ == "__main__":
    unittest.main()
