"""What a benchmark executable does from outside: rows, errors, exit codes, samples.

usage: selftest_test.py BENCH_SELFTEST [unittest arguments]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = ""
DEVICE = "cpu"
TIMER = "cpu"


def run(*flags: str) -> tuple[subprocess.CompletedProcess, dict]:
    """Runs the executable; its completed process and the rows of its result file by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        done = subprocess.run(
            [BENCH, f"--device={DEVICE}", f"--benchmark_out={out}", "--benchmark_out_format=json", *flags],
            capture_output=True,
            text=True,
            timeout=60,
        )
        file = json.loads(out.read_text()) if out.exists() and out.stat().st_size else {"benchmarks": [], "context": {}}
    rows: dict[str, list] = {}
    for row in file["benchmarks"]:
        if row.get("run_type") == "iteration":
            rows.setdefault(row["name"], []).append(row)
    done.context = file["context"]
    return done, rows


def name(variant: str, kind: str, timer: str = "") -> str:
    return f"selftest/{variant}/kind:{kind}/timer:{timer or TIMER}"


class RightPair(unittest.TestCase):
    def test_every_sample_is_kept_and_names_carry_no_options(self) -> None:
        done, rows = run("--benchmark_filter=kind:right")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(rows), [name("legacy", "right"), name("new", "right")])
        for samples in rows.values():
            self.assertEqual(len(samples), 20)
            self.assertEqual([row["iterations"] for row in samples], [1] * 20)
            # Samples, not one repeated; a GPU's event clock ticks in 32 ns, so few different values are fine.
            self.assertGreater(len({row["real_time"] for row in samples}), 1)
            for row in samples:
                self.assertEqual(row["check"], 1)
                self.assertEqual(row["label"], "oracle:ascending")
                self.assertGreater(row["real_time"], 0)
                self.assertAlmostEqual(row["bytes_per_second"] * row["real_time"] * 1e-6, 40000, delta=40)

    def test_repetitions_set_the_number_of_samples(self) -> None:
        _, rows = run("--benchmark_filter=legacy/kind:right", "--benchmark_repetitions=9")
        self.assertEqual([len(samples) for samples in rows.values()], [9])

    def test_context_says_what_was_measured_where(self) -> None:
        done, _ = run("--benchmark_filter=kind:right", "--benchmark_context=process_index=4")
        for key in ("build_type", "boot_id"):
            self.assertTrue(done.context.get(key), key)
        self.assertEqual(done.context["process_index"], "4")
        self.assertNotIn("unknown", done.context.values())
        if DEVICE == "cuda":
            for key in ("gpu_name", "gpu_uuid", "gpu_sm_count", "cuda_version", "driver_version", "sm_clock_mhz"):
                self.assertTrue(done.context.get(key), key)
        else:
            self.assertNotIn("gpu_name", done.context)

    def test_a_minimal_time_does_not_turn_samples_into_means(self) -> None:
        done, rows = run("--benchmark_filter=legacy/kind:right", "--benchmark_min_time=1")
        self.assertIn("not used", done.stderr)
        self.assertEqual([len(samples) for samples in rows.values()], [20])


class Tolerances(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.done, cls.rows = run("--benchmark_filter=kind:near")

    def test_rows_within_a_tolerance_never_read_as_equal(self) -> None:
        samples = self.rows[name("one_bit", "near")]
        self.assertEqual(len(samples), 8)  # as the shape's protocol says
        for row in samples:
            self.assertEqual(row["label"], "oracle:ascending within 0.01")
            self.assertEqual(row["tolerance"], 0.01)
            self.assertGreater(row["relative_error"], 0)
            self.assertLess(row["relative_error"], 0.001)
            self.assertGreaterEqual(row["worst_part_error"], row["relative_error"])
            self.assertEqual(row["control"], 1)
        self.assertNotIn("tolerance", self.rows[name("legacy", "near")][0])
        self.assertEqual(self.rows[name("new", "near")][0]["scratch_bytes"], 64)
        self.assertNotIn("scratch_bytes", samples[0])

    def test_what_a_tolerance_does_not_forgive(self) -> None:
        self.assertEqual(self.done.returncode, 1)
        for variant, pattern in {
            "unwritten": r"^check failed: out is off by nan .*, 0.01 is allowed \(run 1 of 2, oracle ascending\)$",
            "flaky": r"^check failed: element 5 of 5000 .*\(.*, an earlier run on the same inputs\)$",
            "breaks": r"^check failed: it keeps no promise$",
        }.items():
            (row,) = self.rows[name(variant, "near")]
            self.assertRegex(row["error_message"], pattern)


class Inspection(unittest.TestCase):
    """--profile and --kernels: cases are run and checked, and nothing is timed."""

    def inspect(self, *flags: str) -> subprocess.CompletedProcess:
        return subprocess.run([BENCH, f"--device={DEVICE}", *flags], capture_output=True, text=True, timeout=60)

    def test_profiling_measures_nothing(self) -> None:
        done = self.inspect("--profile", "--benchmark_filter=kind:right")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_wrong_variants_are_named_and_the_others_still_run(self) -> None:
        done = self.inspect("--profile", "--benchmark_filter=kind:(wrong|throws)")
        self.assertEqual(done.returncode, 1)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4, done.stderr)  # flaky and late are right when run once
        self.assertIn(f"{name('one_bit', 'wrong')}: check failed: element 1000 of 5000", done.stderr)
        self.assertIn(f"{name('throws', 'throws')}: thrown by the variant", done.stderr)

    def test_what_does_not_go_together_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for flags in (
                ["--profile", f"--kernels={folder}/k.json"],
                ["--profile", f"--benchmark_out={folder}/out.json"],
                ["--profile", "--benchmark_filter=nothing_like_this"],
            ):
                done = self.inspect(*flags)
                self.assertEqual(done.returncode, 2, flags)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_kernels_are_recorded_by_name_number_and_time(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kernels.json"
            done = self.inspect(f"--kernels={path}", "--benchmark_filter=kind:(right|slow)")
            if DEVICE == "cpu":
                self.assertEqual(done.returncode, 2)
                self.assertIn("--kernels records what runs on a GPU", done.stderr)
                return
            self.assertEqual(done.returncode, 0, done.stderr)
            file = json.loads(path.read_text())
            self.assertEqual(file["operator"], "selftest")
            self.assertTrue(file["context"]["gpu_name"])
            cases = {case["name"]: case for case in file["cases"]}
            right = cases[name("new", "right")]
            self.assertEqual({k["name"]: k["launches"] for k in right["kernels"]},
                             {"copy": right["calls"], "count_run": right["calls"]})
            slow = cases[name("slow", "slow")]
            (spin,) = [k for k in slow["kernels"] if k["name"] == "spin"]
            self.assertAlmostEqual(spin["total_ns"] / slow["calls"], 60e6, delta=3e5)
            self.assertLessEqual(spin["min_ns"] * slow["calls"], spin["total_ns"])
            self.assertGreaterEqual(spin["max_ns"] * slow["calls"], spin["total_ns"])
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [path])


class WrongVariants(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.done, cls.rows = run("--benchmark_filter=kind:wrong")

    def message(self, variant: str) -> str:
        samples = self.rows[name(variant, "wrong")]
        self.assertEqual(len(samples), 1)
        row = samples[0]
        self.assertTrue(row["error_occurred"])
        self.assertTrue(row["error_message"].startswith("check failed: "), row["error_message"])
        self.assertEqual(row["real_time"], 0)  # no time of it is in the file
        self.assertNotIn("bytes_per_second", row)
        return row["error_message"]

    def test_exit_code_is_1_and_right_variants_keep_their_rows(self) -> None:
        self.assertEqual(self.done.returncode, 1)
        for variant in ("legacy", "new"):
            self.assertEqual(len(self.rows[name(variant, "wrong")]), 20)

    def test_one_wrong_bit_names_index_patterns_and_number(self) -> None:
        self.assertRegex(
            self.message("one_bit"),
            r"^check failed: element 1000 of 5000 is 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}; 1 element differs "
            r"\(run 1 of 2, oracle ascending\)$",
        )

    def test_an_unwritten_element_is_called_so(self) -> None:
        self.assertIn("element 77 of 5000 is 0x7fa57fa5 (never written)", self.message("unwritten"))

    def test_a_result_that_changes_between_runs_is_caught(self) -> None:
        self.assertIn("element 5 of 5000", self.message("flaky"))

    def test_a_result_that_goes_wrong_while_being_timed_is_caught(self) -> None:
        self.assertIn("(after timing, oracle ascending)", self.message("late"))

    def test_nan_in_place_of_a_number_is_caught(self) -> None:
        self.assertIn("element 2 of 5000 is 0x7fc00000", self.message("nan"))

    def test_no_time_of_a_wrong_variant_is_printed(self) -> None:
        for line in self.done.stdout.splitlines():
            if "one_bit" in line:
                self.assertIn("check failed", line)


class Others(unittest.TestCase):
    def test_what_a_variant_throws_is_its_row_and_no_other(self) -> None:
        done, rows = run("--benchmark_filter=kind:throws")
        self.assertEqual(done.returncode, 1)
        (row,) = rows[name("throws", "throws")]
        self.assertEqual(row["error_message"], "thrown by the variant")
        self.assertEqual(len(rows[name("new", "throws")]), 20)

    def test_a_long_call_is_sampled_twice(self) -> None:
        _, rows = run("--benchmark_filter=slow/kind:slow")
        samples = rows[name("slow", "slow")]
        self.assertEqual(len(samples), 2)
        for row in samples:
            self.assertAlmostEqual(row["real_time"], 60000, delta=6000)

    def test_a_shape_that_does_not_fit_is_skipped_with_both_sizes(self) -> None:
        done, rows = run("--benchmark_filter=kind:large|kind:right")
        self.assertEqual(done.returncode, 0)
        for variant in ("legacy", "new"):
            (row,) = rows[name(variant, "large")]
            message = row.get("skip_message") or row.get("error_message")
            self.assertRegex(message, r"needs .* GB of memory \(\d+ bytes\), .* GB \(\d+ bytes\) are free")
        self.assertEqual(len(rows[name("new", "right")]), 20)

    def test_unusable_command_lines_exit_2_with_one_line(self) -> None:
        for flag, words in (
            ("--benchmark_filter=nothing_like_it", "selects nothing"),
            ("--benchmark_filter=(", "no extended regular expression"),
            ("--device=tpu", "unknown device 'tpu'"),
            ("--device=99", "no GPU 99"),
            ("--progress-fd=x", "whole number"),
            ("--benchmark_repetitions=0", "whole number"),
            ("--no-such-flag", "no-such-flag"),
            ("--benchmark_format=xml", "formats are"),
            ("--cases=/dev/null", "--cases /dev/null"),
            ("--benchmark_filter=" + "(" * 20000, "20000 characters"),
        ):
            done, rows = run(flag)
            self.assertEqual(done.returncode, 2, flag)
            self.assertEqual(rows, {}, flag)
            self.assertIn(words, done.stderr, flag)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_output_that_cannot_be_written_is_no_success(self) -> None:
        for flags in (["--describe"], ["--benchmark_filter=kind:right", "--benchmark_format=json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([BENCH, f"--device={DEVICE}", *flags], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1, flags)
        done = subprocess.run([BENCH, f"--device={DEVICE}", "--benchmark_filter=kind:right", "--benchmark_out=/dev/full"],
                              capture_output=True)
        self.assertEqual(done.returncode, 1)

    def test_a_filter_without_a_timer_selects_gating_timers_only(self) -> None:
        done = subprocess.run(
            [BENCH, f"--device={DEVICE}", "--describe", "--benchmark_filter=right"], capture_output=True, text=True
        )
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual({c["timer"] for c in cases if c["selected"]}, {TIMER})
        self.assertTrue(all(c["gating"] for c in cases if c["selected"]))

    def test_oracle_results_are_shared_through_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder) / "oracle"
            cache.mkdir()
            for _ in range(2):
                done, rows = run("--benchmark_filter=kind:right", f"--oracle-cache={cache}")
                self.assertEqual(done.returncode, 0)
            (file,) = cache.iterdir()
            whole = file.read_bytes()
            # A result that is not the oracle's would fail the check: so the file is really read ...
            file.write_bytes(whole[:-4] + b"\1\2\3\4")
            self.assertEqual(run("--benchmark_filter=kind:right", f"--oracle-cache={cache}")[0].returncode, 1)
            # ... and one that is cut off is not believed, but computed again.
            file.write_bytes(whole[:-4])
            self.assertEqual(run("--benchmark_filter=kind:right", f"--oracle-cache={cache}")[0].returncode, 0)
            self.assertEqual(file.read_bytes(), whole)

    def test_a_folder_for_oracle_results_that_was_taken_away_does_not_come_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder) / "result" / "oracle"
            done, rows = run("--benchmark_filter=kind:right", f"--oracle-cache={cache}")
            self.assertEqual((done.returncode, bool(rows)), (0, True))
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    described = subprocess.run([BENCH, "--describe"], capture_output=True, text=True, check=True)
    if json.loads(described.stdout)["device"].startswith("cuda") and "--cpu" not in sys.argv:
        DEVICE, TIMER = "cuda", "graph"
    sys.argv = [a for a in sys.argv if a != "--cpu"]
    unittest.main()
