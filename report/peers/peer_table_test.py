#!/usr/bin/env python3
"""Marks, means and the table by numbers worked by hand; what is no measurement is refused or left out."""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import peer_table  # noqa: E402  (found through the line above)
from peer_table import PeerCase, Peers  # noqa: E402
from result_folder import UnusableInput  # noqa: E402

FOLD = "row_fold/rows:1024/cols:128/dtype:fp32"
DW = "dw_gemm/tokens:8/in:4096/out:12288/dtype:bf16"
HERE_PATH = Path("answers")


def session(*cases: tuple[str, Optional[float], dict[str, float]]) -> Peers:
    """Cases with a floor and a time in us by who."""
    peers = Peers({}, {})
    for name, floor, times in cases:
        case = peers.cases[name] = PeerCase(name, floor)
        for who, us in times.items():
            case.contender(who).us, case.contender(who).timer = us, "graph"
    return peers


class Marks(unittest.TestCase):
    def mark(self, floor: Optional[float], **times: float) -> str:
        return session((FOLD, floor, times)).cases[FOLD].mark()

    def test_within_ten_percent_is_no_mark(self) -> None:
        self.assertEqual(self.mark(None, tuned=10.0, pytorch=20.0), "")
        self.assertEqual(self.mark(None, tuned=10.9, pytorch=10.0), "")

    def test_slower(self) -> None:
        self.assertEqual(self.mark(None, tuned=11.2, pytorch=10.0), "slower")  # no floor is known
        self.assertEqual(self.mark(9.9, tuned=11.2, pytorch=10.0), "slower")

    def test_the_floor_excuses_only_above_the_peers_time(self) -> None:
        self.assertEqual(self.mark(10.1, tuned=11.2, pytorch=10.0), "floor above")
        self.assertEqual(self.mark(10.0, tuned=11.2, pytorch=10.0), "slower")

    def test_the_fastest_peer_counts_and_tuned_before_new(self) -> None:
        self.assertEqual(self.mark(None, tuned=10.0, new=90.0, pytorch=50.0, cublas=8.0), "slower")
        self.assertEqual(self.mark(None, tuned=10.0, new=1.0, pytorch=8.0), "slower")
        self.assertEqual(self.mark(None, new=10.0, pytorch=8.0), "slower")

    def test_a_layout_made_beforehand_is_shown_and_not_counted(self) -> None:
        self.assertEqual(self.mark(None, tuned=10.0, pytorch=10.0, cub_transposed=1.0), "")

    def test_nothing_to_compare_is_no_mark(self) -> None:
        self.assertEqual(self.mark(None, tuned=10.0), "")
        self.assertEqual(self.mark(None, pytorch=10.0), "")

    def test_a_floor_above_our_own_time_excuses_nothing(self) -> None:
        peers = session((FOLD, 1e9, {"tuned": 500, "pytorch": 6}))
        self.assertEqual(peers.cases[FOLD].mark(), "slower")


class Means(unittest.TestCase):
    def test_geometric(self) -> None:
        peers = session((FOLD, None, {"tuned": 10, "pytorch": 20, "cub_strided": 40}),
                        (DW, None, {"tuned": 10, "pytorch": 90, "cublas": 80}))
        self.assertAlmostEqual(peers.mean(), 4)  # sqrt(2 * 8)
        self.assertAlmostEqual(peers.mean("pytorch"), 18 ** 0.5)
        self.assertAlmostEqual(peers.mean("cublas"), 8)
        self.assertIsNone(peers.mean("pytorch_deterministic"))

    def test_exit_codes(self) -> None:
        self.assertEqual(session((FOLD, None, {"tuned": 10, "pytorch": 20})).exit_code(), 0)
        self.assertEqual(session((FOLD, None, {"tuned": 10, "pytorch": 5})).exit_code(), 1)
        self.assertEqual(session((FOLD, 6.0, {"tuned": 10, "pytorch": 5}), (DW, None, {"tuned": 10, "cublas": 30})
                                 ).exit_code(), 0)
        self.assertEqual(session((FOLD, 6.0, {"tuned": 10, "pytorch": 5})).exit_code(), 1)  # excused, and yet no faster
        self.assertEqual(session((FOLD, None, {"tuned": 10})).exit_code(), 3)

    def test_bits_of_ours_that_differ(self) -> None:
        for key, words in (("repeatable", "from run to run"), ("batch_invariant", "in another batch")):
            peers = session((FOLD, None, {"tuned": 10, "pytorch": 20}))
            setattr(peers.cases[FOLD].contender("pytorch"), key, False)  # is no promise of ours
            self.assertEqual(peers.exit_code(), 0)
            setattr(peers.cases[FOLD].contender("tuned"), key, False)
            self.assertEqual(peers.exit_code(), 1)
            self.assertIn(f"StrictBench tuned: other bits {words}", peer_table.as_text(peers))


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def rows(self, process: int, rows: list[dict[str, Any]], **context: str) -> None:
        full = [{"run_type": "iteration", "time_unit": "us", **row} for row in rows]
        (self.folder / f"row_fold.{process}.json").write_text(json.dumps({"context": context, "benchmarks": full}))

    def test_rows(self) -> None:
        name = "row_fold/{}/rows:1024/cols:128/dtype:fp32/timer:{}/manual_time"
        for process, us in enumerate((10, 12, 11)):
            self.rows(process, [{"name": name.format("tuned", "graph"), "real_time": us, "floor_us": 2.5},
                                {"name": name.format("tuned", "cold"), "real_time": 50, "floor_us": 9},
                                {"name": name.format("cublas", "graph"), "real_time": 5, "floor_us": 1},
                                {"name": name.format("new", "graph"), "real_time": 0, "error_occurred": True,
                                 "error_message": "check failed: x"},
                                {"name": name.replace("1024", "7").format("new", "graph"), "real_time": 1}],
                      gpu_uuid="GPU-a")
        peers = session((FOLD, None, {}))
        peer_table.add_rows(peers, self.folder)
        case = peers.cases[FOLD]
        self.assertEqual((case.contender("tuned").us, case.floor_us), (11, 2.5))
        self.assertEqual((case.contender("new").us, case.contender("new").error), (None, "wrong: check failed: x"))
        self.assertEqual(list(peers.cases), [FOLD])
        with self.assertRaisesRegex(UnusableInput, "answers: gpu_uuid is GPU-b, and GPU-a before"):
            peer_table.add_answers(peers, {"gpu_uuid": "GPU-b", "answers": []}, HERE_PATH)

    def test_two_gpus_in_one_folder(self) -> None:
        row = {"name": "row_fold/new/rows:1024/cols:128/dtype:fp32/timer:graph", "real_time": 1}
        self.rows(0, [row], gpu_uuid="GPU-a")
        self.rows(1, [row], gpu_uuid="GPU-b")
        with self.assertRaisesRegex(UnusableInput, "differ in gpu_uuid"):
            peer_table.add_rows(session((FOLD, None, {})), self.folder)

    def test_answers(self) -> None:
        peers = session((FOLD, None, {"tuned": 10}))
        peer_table.add_answers(peers, {"pytorch": "2.11", "answers": [
            {"case": FOLD, "who": "pytorch", "timer": "graph", "samples_us": [30, 20, 25], "repeatable": True,
             "batch_invariant": False},
            {"case": FOLD, "who": "cub_strided", "error": "out of memory"},
            {"case": "row_fold/rows:9", "who": "pytorch", "samples_us": [1]}]}, HERE_PATH)
        pytorch = peers.cases[FOLD].contender("pytorch")
        self.assertEqual((pytorch.us, pytorch.repeatable, pytorch.batch_invariant), (25, True, False))
        text = peer_table.as_text(peers)
        self.assertIn("out of memory", text)
        self.assertRegex(text, r"PyTorch sum\(0\) +graph +25\.0 us +2\.50 x +yes +no")
        self.assertIn("PyTorch 2.11", text)

    def test_answers_that_are_none(self) -> None:
        for answers in ({}, {"answers": {}}, {"answers": [3]}, {"answers": [{"case": FOLD, "who": 1}]},
                        {"answers": [{"case": FOLD, "who": "x", "repeatable": "yes"}]},
                        {"answers": [{"case": FOLD, "who": "x", "samples_us": ["1"]}]}):
            with self.subTest(answers), self.assertRaises(UnusableInput):
                peer_table.add_answers(session((FOLD, None, {})), answers, HERE_PATH)
        peers = session((FOLD, None, {}))  # what is no time is left out
        peer_table.add_answers(peers, {"answers": [{"case": FOLD, "who": "x", "samples_us": [0, -1, float("nan")]}]},
                               HERE_PATH)
        self.assertIsNone(peers.cases[FOLD].contender("x").us)

    def test_what_is_answered_twice_is_refused_with_its_case(self) -> None:
        one, two = ({"case": FOLD, "who": "pytorch", "timer": "graph", "samples_us": [us]} for us in (3, 300))
        for answers in ([one, two], [one, one], [one, {**one, "who": "cub_strided"}, {**one, "error": "no room"}]):
            place = rf"answers\[{len(answers) - 1}\]"
            with self.assertRaisesRegex(UnusableInput, f"^answers: {place} is a second answer of pytorch to {FOLD}"):
                peer_table.add_answers(session((FOLD, None, {})), {"answers": answers}, HERE_PATH)
        peers = session((FOLD, None, {"pytorch": 1}))  # of the rows, which an answer adds to
        peer_table.add_answers(peers, {"answers": [two, {**one, "who": "cub_strided"}]}, HERE_PATH)
        self.assertEqual(peers.cases[FOLD].contender("pytorch").us, 300)

    def test_what_a_record_holds_twice_is_refused_with_its_case(self) -> None:
        record = peer_table.record_of(session((FOLD, 2.5, {"tuned": 10, "pytorch": 20}), (DW, None, {"new": 10})))
        fold, dw = record["cases"]
        with self.assertRaisesRegex(UnusableInput, rf"^answers: cases\[2\] is a second one of {FOLD}"):
            peer_table.from_record({**record, "cases": [fold, dw, {**fold, "contenders": []}]}, HERE_PATH)
        twice = {**fold, "contenders": [*fold["contenders"], {**fold["contenders"][0], "us": 1}]}
        with self.assertRaisesRegex(UnusableInput, rf"cases\[1\].contenders\[2\] is a second tuned of {FOLD}"):
            peer_table.from_record({**record, "cases": [dw, twice]}, HERE_PATH)

    def test_a_record_comes_back_as_it_was(self) -> None:
        peers = session((FOLD, 2.5, {"tuned": 10, "pytorch": 20}), (DW, None, {"new": 10, "cublas": 5}))
        peers.cases[FOLD].contender("pytorch").repeatable = False
        peers.cases[FOLD].contender("cub_strided").error = "no | room"
        peers.context["gpu_name"] = "NVIDIA H200"
        record = json.loads(json.dumps(peer_table.record_of(peers)))
        again = peer_table.from_record(record, HERE_PATH)
        self.assertEqual(again, peers)
        self.assertEqual(record["geometric_mean"], 1)  # of 2 and 1/2
        self.assertEqual([case["mark"] for case in record["cases"]], ["", "slower"])
        for broken in ({}, {"cases": [{}]}, {"cases": [{"case": "<b>"}]}, {"context": {"date": 3}, "cases": []}):
            with self.subTest(broken), self.assertRaises(UnusableInput):
                peer_table.from_record(broken, HERE_PATH)


class Table(unittest.TestCase):
    def test_markdown_is_one_table_whatever_is_in_it(self) -> None:
        peers = session((FOLD, 2.5, {"tuned": 10, "pytorch": 5}))
        peers.cases[FOLD].contender("cub_strided").error = "a | b\n<b>c"
        lines = peer_table.as_markdown(peers).splitlines()
        rows = [line for line in lines if line.startswith("|")]
        self.assertEqual({line.count("|") for line in rows}, {len(peer_table.HEADINGS) + 1})
        self.assertNotIn("<b>", "\n".join(lines))
        self.assertTrue(rows[2].endswith("| slower |"), rows[2])
        self.assertIn("2.50 us", rows[2])

    def test_text_says_a_case_once_and_what_follows(self) -> None:
        text = peer_table.as_text(session((FOLD, 20.0, {"tuned": 30, "pytorch": 15}), (DW, None, {"new": 2, "cublas": 8})))
        self.assertEqual(text.count("rows 1024 cols 128"), 1)
        self.assertIn("fastest peer / ours over 2 cases: 1.41 x", text)
        self.assertIn("peer: 0; the same where the floor of the strict definition is above its time: 1", text)

    def test_nothing_compared(self) -> None:
        self.assertIn("nothing to compare", peer_table.as_text(session((FOLD, None, {}))))


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(77)
    unittest.main()
