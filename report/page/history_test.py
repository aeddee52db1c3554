#!/usr/bin/env python3
"""Histories: what is a night, what is accepted, and that a step is found where noise is not."""
from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import unittest
from pathlib import Path

import history
import made_up
from history import find_changes, read_history

if history.ruptures is None:
    print("skipped: no ruptures; report/requirements.txt names what the report needs")
    sys.exit(77)


def noisy(levels: list[tuple[int, float]], noise: float, seed: int) -> list[float]:
    chance = random.Random(seed)
    return [level * math.exp(chance.gauss(0, noise)) for count, level in levels for _ in range(count)]


class Changes(unittest.TestCase):
    def test_a_step_is_found_where_it_is(self) -> None:
        for size in (0.98, 1.015, 1.02, 1.05, 2.0):
            for seed in range(20):
                found = find_changes(noisy([(60, 1e-5), (40, size * 1e-5)], 0.003, seed))
                with self.subTest(size=size, seed=seed):
                    self.assertEqual(len(found), 1)
                    self.assertAlmostEqual(found[0].index, 60, delta=2)
                    self.assertAlmostEqual(found[0].after / found[0].before, size, delta=0.005)

    def test_noise_is_not(self) -> None:
        for noise in (0.0, 0.0005, 0.004, 0.02):
            false = sum(len(find_changes(noisy([(nights, 1e-5)], noise, seed)))
                        for nights in (6, 20, 90, 365) for seed in range(100))
            with self.subTest(noise):
                self.assertLessEqual(false, 1)  # of 400 histories

    def test_bad_nights_are_not(self) -> None:
        for seed in range(50):
            values = noisy([(100, 1e-5)], 0.003, seed)
            for night in random.Random(seed).sample(range(100), 6):
                values[night] *= 1.3
            self.assertEqual(find_changes(values), [], seed)

    def test_up_and_back(self) -> None:
        found = find_changes(noisy([(50, 1.0), (30, 1.08), (50, 1.0)], 0.004, 1))
        self.assertEqual([change.index for change in found], [50, 80])

    def test_a_step_too_small_to_look_into_is_not_named(self) -> None:
        self.assertEqual(find_changes(noisy([(100, 1.0), (100, 1.005)], 0.0005, 1)), [])

    def test_the_last_nights(self) -> None:
        self.assertEqual([change.index for change in find_changes(noisy([(60, 1.0), (4, 1.05)], 0.003, 1))], [60])
        self.assertEqual(find_changes(noisy([(60, 1.0), (2, 1.05)], 0.003, 1)), [])

    def test_few_nights_and_gaps(self) -> None:
        self.assertEqual(find_changes([1.0, 2.0]), [])
        self.assertEqual(find_changes([None] * 50), [])
        gaps = [value for value in noisy([(30, 1.0), (30, 1.1)], 0.002, 1) for value in (value, None)]
        self.assertEqual([change.index for change in find_changes(gaps)], [60])


class Nights(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def night(self, day: int, name: str = "", **more: str) -> Path:
        folder = self.folder / (name or f"night-{day}")
        made_up.write_summary(folder / "summary.json", {**made_up.context(day), **more},
                              {"a/new": [1000.0 + day, 5000.0, 1.0]})
        return folder

    def test_in_order_of_their_dates(self) -> None:
        paths = [self.night(3, "a"), self.night(1, "b"), self.night(2, "c")]
        found = read_history(paths, [], made_up.GPU, ["a/new"])
        self.assertEqual([night.date[:10] for night in found.nights], ["2025-11-30", "2025-12-01", "2025-12-02"])
        self.assertEqual([round(value * 1e9) for value in found.series[0].values], [1001, 1002, 1003])
        self.assertEqual(found.nights[0].commit, made_up.commit_of(1))

    def test_the_files_of_processes_where_there_is_no_summary(self) -> None:
        folder = self.folder / "20260102T030405Z_0123456789_h200"
        folder.mkdir()
        for process, time in enumerate((10, 30, 20)):
            rows = [{"name": "a/new/manual_time", "real_time": time + k, "time_unit": "ns"} for k in (0, 1, 2)]
            (folder / f"a.{process}.json").write_text(json.dumps({"context": {}, "benchmarks": rows}))
        night = history.read_nights(folder)[0]
        self.assertEqual((night.date, round(night.times["a/new"] * 1e9)), ("2026-01-02 03:04:05", 21))

    def test_wrong_failed_and_suspect_rows_are_no_times(self) -> None:
        rows = [{"name": "a/wrong", "real_time": 5.0, "process": 0},
                {"name": "a/wrong", "real_time": 0, "process": 1, "error_occurred": True,
                 "error_message": "check failed: x"},
                {"name": "a/hot", "real_time": 5.0, "suspect": 1}, {"name": "a/nan", "real_time": math.nan},
                {"name": "a/new", "real_time": 7.0}]
        file = self.folder / "x.json"
        file.write_text(json.dumps({"benchmarks": rows}))
        self.assertEqual(list(history.read_nights(file)[0].times), ["a/new"])

    def test_a_night_that_cannot_be_read_costs_itself_alone(self) -> None:
        good, cut = self.night(1), self.night(2)
        (cut / "summary.json").write_text((cut / "summary.json").read_text()[:300])
        empty = self.night(3)
        (empty / "summary.json").write_text("")
        found = read_history([good, cut, empty], [], made_up.GPU, ["a/new"])
        self.assertEqual((len(found.nights), len(found.unreadable)), (1, 2))
        self.assertIn("night-2/summary.json: not JSON", found.unreadable[0])

    def test_other_devices_and_published_figures_are_left_out(self) -> None:
        paths = [self.night(1), self.night(2, gpu_name="NVIDIA H100"), self.night(3, provenance="published")]
        found = read_history(paths, [], made_up.GPU, ["a/new"])
        self.assertEqual((len(found.nights), found.other_devices), (1, 1))

    def test_accepted_baselines_stand_at_their_night(self) -> None:
        baseline = self.night(2, "accepted") / "summary.json"
        found = read_history([self.night(day) for day in (1, 2, 3)], [baseline], made_up.GPU, ["a/new"])
        self.assertEqual([(index, round(time * 1e9)) for index, time in found.series[0].accepted], [(1, 1002)])

    def test_a_date_that_is_none(self) -> None:
        night = history.read_nights(self.night(1, "x", date="<script>", **{"session.1.date": "yesterday"}))[0]
        self.assertEqual(night.date, "")

    def test_what_a_name_of_a_history_may_be(self) -> None:
        one, two = self.night(1), self.night(2)
        (self.folder / "no-result").mkdir()
        self.assertEqual(history.entries_of(self.folder), [one, two])
        self.assertEqual(history.entries_of(one), [one])
        self.assertEqual(history.entries_of(one / "summary.json"), [one / "summary.json"])
        with self.assertRaisesRegex(history.UnusableInput, "no such file or folder"):
            history.entries_of(self.folder / "gone")


if __name__ == "__main__":
    unittest.main()
