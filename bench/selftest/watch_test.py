"""What the watch of the machine does from outside, with a management library that plays scenarios.

usage: watch_test.py BENCH_SELFTEST FAKE_NVML FAKE_OLD_NVML STRICTBENCH [unittest arguments]
"""
import csv
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
LOCKS = tempfile.TemporaryDirectory(prefix="strictbench_watch_test.locks.")


def environment(scenario: str | None, library: str = "") -> dict[str, str]:
    """Of a process in which `library` plays `scenario`; None: one without any. It waits for no other run of this
    machine: nothing that it measures counts."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("STRICTBENCH_NVML", "GITHUB_"))}
    variables["STRICTBENCH_LOCKS"] = LOCKS.name
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

    def test_csv_has_a_column_for_all_that_any_row_may_have(self) -> None:
        for scenario in (None, "reasons=0x40 neighbours=1 busy=1", "reasons=0xa8@9"):
            done = subprocess.run([BENCH, "--device=cpu", "--benchmark_filter=kind:(wrong|near|slow|right)",
                                   "--benchmark_format=csv"], capture_output=True, text=True, timeout=60,
                                  env=environment(scenario))
            self.assertEqual(done.returncode, 1, done.stderr)  # of the wrong variants
            rows = list(csv.DictReader(done.stdout.splitlines(), restkey="beyond"))
            self.assertEqual(len({row["name"].rsplit("_", 1)[0] for row in rows if row["real_time"]}), 9)
            self.assertFalse([row for row in rows if "beyond" in row])
            (slow,) = [row for row in rows if row["name"].endswith("slow/kind:slow/timer:cpu_mean")]
            self.assertEqual(float(slow["suspect"]), 0 if scenario is None else 1)
            self.assertEqual(float(slow["tolerance"]), 0)

    def test_watching_can_be_left_out(self) -> None:
        _, file = self.bench("reasons=0x8", QUICK, "--no-watch")
        self.assertFalse([row for row in samples(file) if "suspect" in row or "watched" in row])


class Run(WatchTestCase):
    """`strictbench` over executables of which some samples are suspect, all, or none."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "bench_selftest").symlink_to(BENCH)

    def strictbench(self, scenario: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([STRICTBENCH, *arguments], capture_output=True, text=True, timeout=120, cwd=self.folder,
                              env=environment(scenario), stdin=subprocess.DEVNULL)

    def measure(self, name: str, scenario: str, cases: str = "kind:right") -> tuple:
        """The finished run, and its result folder."""
        done = self.strictbench(scenario, "run", "--executables", str(self.folder / "bin"), "--device", "cpu", "--processes",
                                "2", "--filter", cases, "--out", name, "--allow-debug")
        return done, self.folder / name

    def compare(self, baseline: pathlib.Path, contender: pathlib.Path) -> tuple[int, dict]:
        done = self.strictbench("", "compare", "--baseline", str(baseline), "--contender", str(contender), "--format", "json")
        return done.returncode, json.loads(done.stdout)

    def test_a_run_of_suspect_samples_says_so_once_and_exits_3(self) -> None:
        done, hot = self.measure("hot", "reasons=0x40 neighbours=1 busy=1")
        self.assertEqual(done.returncode, 3, done.stderr)
        (line,) = [line for line in done.stdout.splitlines() if "suspect" in line]
        self.assertEqual(line, "suspect: 80 of 80 samples (neighbours 80, thermal slowdown 80) were taken while the GPU was "
                               "throttled or shared, and comparisons leave them out; that is most of them: measure again when "
                               "the GPU is cool and free")
        self.assertNotIn("suspect", done.stderr)
        record = json.loads((hot / "run.json").read_text())
        for process in record["processes"]:
            self.assertEqual(process["status"], "ok")
            self.assertEqual(process["watched"], {"samples": 40, "suspect": 40,
                                                  "why": {"neighbours": 40, "thermal slowdown": 40}})
        again = self.strictbench("", "run", "--resume", str(hot))
        self.assertEqual((again.returncode, again.stderr), (3, ""))  # complete, and as suspect as before

        calm = self.measure("calm", "")[1]
        code, comparison = self.compare(calm, hot)
        self.assertEqual(code, 3)
        self.assertEqual({row["verdict"] for row in comparison["rows"]}, {"incomparable"})
        self.assertTrue(any("80 of 96 rows left out" in note for note in comparison["notes"]), comparison["notes"])

        table = self.strictbench("", "table", str(hot))
        self.assertIn("left out: the machine was throttled or shared", table.stdout)
        accepted = self.strictbench("", "accept", str(hot), "--baselines", str(self.folder / "baselines"))
        self.assertNotEqual(accepted.returncode, 0)
        self.assertIn("was measured while the machine was throttled or shared", accepted.stderr)
        self.assertFalse((self.folder / "baselines").exists())

    def test_a_few_suspect_samples_are_left_out_and_the_others_compared(self) -> None:
        cases = "legacy/kind:(right|near|slow)"
        calm = self.measure("calm", "", cases)[1]
        done, warm = self.measure("warm", "reasons=0x40@2-3", cases)
        self.assertEqual(done.returncode, 0, done.stderr)
        (line,) = [line for line in done.stdout.splitlines() if "suspect" in line]
        self.assertRegex(line, r"^suspect: \d+ of 96 samples \(thermal slowdown \d+\) .* leave them out$")
        suspect = int(line.split()[1])
        code, comparison = self.compare(calm, warm)
        verdicts = {row["name"].split("/")[2]: row["verdict"] for row in comparison["rows"]}
        self.assertEqual(set(verdicts), {"kind:right", "kind:near", "kind:slow"})
        self.assertIn(verdicts["kind:slow"], {"same", "slower", "faster", "inconclusive"})
        self.assertTrue(any(f"contender: {suspect} of 120 rows left out" in note for note in comparison["notes"]),
                        comparison["notes"])
        table = self.strictbench("", "table", str(warm))
        self.assertIn(f"{suspect} of 120 rows left out", table.stdout + table.stderr)

    def test_a_calm_run_has_nothing_to_say(self) -> None:
        done, calm = self.measure("calm", "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("suspect", done.stdout + done.stderr)
        for process in json.loads((calm / "run.json").read_text())["processes"]:
            self.assertEqual(process["watched"], {"samples": 40, "suspect": 0})
        _, comparison = self.compare(calm, calm)
        self.assertFalse([note for note in comparison["notes"] if "left out" in note])

    def test_a_run_that_fails_is_a_failed_one_however_hot(self) -> None:
        done, _ = self.measure("wrong", "reasons=0x40", "kind:near")
        self.assertEqual(done.returncode, 1)
        self.assertIn("suspect: ", done.stdout)

    def test_suspect_samples_are_no_evidence_so_more_processes_are_started(self) -> None:
        build = str(self.folder / "bin")
        options = ("--device", "cpu", "--filter", "legacy/kind:right", "--allow-debug")
        done = self.strictbench("reasons=0x80", "run", "--executables", build, "--out", "hot", *options)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("0 cases stopped early, 1 still wide", done.stdout)
        self.assertEqual(len(json.loads((self.folder / "hot/run.json").read_text())["processes"]), 10)
        done = self.strictbench("reasons=0x80", "ab", "--base", build, "--head", build, "--out", "pair", *options)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(json.loads((self.folder / "pair/head/run.json").read_text())["processes"]), 20)

    def test_two_builds_whose_samples_are_suspect_are_undecided(self) -> None:
        build = str(self.folder / "bin")
        done = self.strictbench("reasons=0x80", "ab", "--base", build, "--head", build, "--device", "cpu", "--processes", "2",
                                "--filter", "legacy/kind:right", "--out", "pair", "--allow-debug", "--format", "json")
        self.assertEqual(done.returncode, 3, done.stderr)
        comparison = json.loads(done.stdout)
        self.assertEqual([row["verdict"] for row in comparison["rows"]], ["incomparable"])
        for side in ("baseline", "contender"):
            self.assertTrue(any(note.startswith(f"{side}: suspect: 40 of 40 samples (power brake 40)")
                                for note in comparison["notes"]), comparison["notes"])


if __name__ == "__main__":
    BENCH, FAKE, FAKE_OLD, STRICTBENCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
    unittest.main()
