"""What the watch of the machine does from outside, with a management library that plays scenarios.

usage: watch_test.py BENCH_SELFTEST FAKE_NVML FAKE_OLD_NVML STRICTBENCH [unittest arguments]
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH, FAKE, FAKE_OLD, STRICTBENCH = "", "", "", ""
# Quick cases whose samples, a millisecond or two each, last for several looks; and a call that is sampled twice.
QUICK = "--benchmark_filter=kind:right"
LONG = "--benchmark_filter=slow/kind:slow"


def environment(scenario: str | None, library: str = "") -> dict[str, str]:
    """Of a process in which `library` plays `scenario`; None: one without any."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("STRICTBENCH_NVML", "GITHUB_"))}
    if scenario is not None:
        variables |= {"STRICTBENCH_NVML": library or FAKE, "STRICTBENCH_FAKE_NVML": scenario}
    return variables


class WatchTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strictbench_watch_test."))
        self.addCleanup(shutil.rmtree, self.folder)

    def bench(self, scenario: str | None, *flags: str, library: str = "") -> tuple:
        """The process and its result file."""
        out = self.folder / "out.json"
        done = subprocess.run([BENCH, "--device=cpu", f"--benchmark_out={out}", *flags], capture_output=True, text=True,
                              timeout=60, env=environment(scenario, library))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, json.loads(out.read_text())


def samples(file: dict) -> list[dict]:
    return [row for row in file["benchmarks"] if row["run_type"] == "iteration"]


class Executable(WatchTestCase):
    def test_a_calm_machine_is_told_and_nothing_is_suspect(self) -> None:
        done, file = self.bench("", QUICK)
        self.assertNotIn("suspect", done.stderr)
        self.assertEqual(file["context"]["neighbours"], "0")
        self.assertEqual(len(samples(file)), 40)
        for row in samples(file):
            self.assertEqual((row["watched"], row["sm_clock_mhz"], row["temperature_c"], row["power_w"]),
                             (1, 1980, 41, 123))
            self.assertNotIn("suspect", row)
            self.assertGreater(row.get("preemptions", 1), 0)

    def test_no_aggregate_of_a_counter_is_nan(self) -> None:
        for scenario in (None, "", "reasons=0x40", "power=0 temperature=0"):
            _, file = self.bench(scenario, "--benchmark_filter=slow/kind:slow|legacy/kind:right")
            aggregates = [row for row in file["benchmarks"] if row["run_type"] == "aggregate"]
            self.assertTrue(aggregates)
            counters = {"watched", "suspect", "suspect_thermal_slowdown", "preemptions", "sm_clock_mhz", "temperature_c",
                        "power_w"}
            self.assertFalse([(key, row) for row in aggregates for key in counters & row.keys() if math.isnan(row[key])])

    def test_samples_beside_a_throttled_reading_are_suspect_and_no_others(self) -> None:
        # Readings: at the start, perhaps one in the check, before the samples, after them; then those of the next shape.
        done, file = self.bench("reasons=0x40@2-3", "--benchmark_filter=legacy/kind:(right|near|slow)")
        rows = samples(file)
        right, near, slow = ([row for row in rows if f"kind:{kind}" in row["name"]] for kind in ("right", "near", "slow"))
        self.assertEqual((right[0]["suspect"], right[0]["suspect_thermal_slowdown"]), (1, 1))
        self.assertEqual({row.get("suspect", 0) for row in slow}, {0})
        self.assertTrue(near)
        suspect = sum(row.get("suspect", 0) for row in rows)
        self.assertIn(f"{suspect:.0f} of {len(rows)} samples are suspect (thermal_slowdown {suspect:.0f})", done.stderr)

    def test_a_long_call_is_watched_where_it_is_checked(self) -> None:
        _, file = self.bench("reasons=0x40@2-2", LONG)
        self.assertEqual([row["suspect"] for row in samples(file)], [1, 1])

    def test_what_happens_before_the_samples_or_after_them_spoils_none(self) -> None:
        for scenario in ("reasons=0x40@1-1", "reasons=0x40@9999"):
            _, file = self.bench(scenario, QUICK)
            self.assertEqual({row.get("suspect", 0) for row in samples(file)}, {0}, scenario)

    def test_each_finding_has_its_name(self) -> None:
        for scenario, name, value in (
            ("reasons=0x8", "hardware_slowdown", 1),
            ("reasons=0x80", "power_brake", 1),
            ("reasons=0x20", "thermal_slowdown", 1),
            ("thermal=0 thermal=7@2 thermal=9@3", "thermal_slowdown", 1),
            ("ecc=1 ecc=3@2 ecc=5@3 ecc=7@4 ecc=9@5", "ecc_errors", 2),
            ("sm_clock=1500@2", "clock_drop", 480),
            ("neighbours=2 busy=1", "neighbours", 1),
            ("neighbours=2 no_utilization=1", "neighbours", 2),
        ):
            _, file = self.bench(scenario, LONG)
            _, quick = self.bench(scenario, QUICK)
            rows = samples(file) + samples(quick)
            self.assertEqual({row.get(f"suspect_{name}") for row in rows if "suspect" in row}, {value}, scenario)

    def test_what_is_normal_is_not_suspect(self) -> None:
        for scenario in ("reasons=0x4 sm_clock=1400@2", "reasons=0x1", "neighbours=3", "own=4711", "own=0",
                         "ecc=7", "mig=1"):
            _, file = self.bench(scenario, QUICK)
            self.assertEqual({row.get("suspect", 0) for row in samples(file)}, {0}, scenario)

    def test_what_cannot_be_read_is_absent(self) -> None:
        for scenario, library in ((None, ""), ("", "/nonexistent.so"), ("init=9", FAKE), ("lost=1", FAKE),
                                  ("no_reasons=1 no_processes=1", FAKE)):
            done, file = self.bench(scenario, QUICK, library=library)
            self.assertNotIn("suspect", done.stderr)
            self.assertNotIn("neighbours", file["context"])
            for row in samples(file):
                self.assertFalse([key for key in row if key.startswith("suspect") or key in ("watched", "sm_clock_mhz")], scenario)

    def test_an_old_driver_tells_throttling_at_least(self) -> None:
        _, file = self.bench("reasons=0x8", QUICK, library=FAKE_OLD)
        self.assertEqual({row.get("suspect", 0) for row in samples(file)}, {1})

    def test_watching_can_be_left_out(self) -> None:
        _, file = self.bench("reasons=0x8", QUICK, "--no-watch")
        self.assertFalse([row for row in samples(file) if "suspect" in row or "watched" in row])


if __name__ == "__main__":
    BENCH, FAKE, FAKE_OLD, STRICTBENCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
    unittest.main()
