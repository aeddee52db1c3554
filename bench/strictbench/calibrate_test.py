"""Proves what `strictbench calibrate` measures, writes and refuses.

Usage: calibrate_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess

import runner_testing

DELAYS = [0, 0.01, 0.02, 0.03, 0.05, 0.1]
QUIET = {"legacy": 0.001, "new": 0.001}


class CalibrateTest(runner_testing.RunnerTestCase):
    def calibrate(self, *arguments):
        return self.strictbench("calibrate", "--executables", self.bin, "--out", self.out, *arguments)

    def ten(self, *arguments):
        """Two sides of five processes: the fewest that are taken at their word."""
        return self.calibrate("--filter", "row_fold", "--processes", "10", "--sides", "5", "--seed", "7",
                              *arguments)

    def again(self, *arguments):
        return self.strictbench("calibrate", "--from", self.out, *arguments)

    def calibration(self):
        with open(os.path.join(self.out, "calibration.json"), encoding="utf-8") as stream:
            return json.load(stream)

    def of_size(self, size, timer=0):
        return next(entry for entry in self.calibration()["timers"][timer]["sizes"] if entry["size"] == size)

    # What it measures

    def test_quiet_processes_show_every_slowdown_and_no_other(self):
        self.install("row_fold", noise=QUIET)
        result = self.ten()
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        calibration = self.calibration()
        (timer,) = calibration["timers"]
        self.assertEqual((timer["timer"], timer["cases"], timer["processes"]), ("cpu", 2, 10))
        self.assertEqual(timer["identical"]["rows"], 1000)
        self.assertEqual(timer["identical"]["slower"] + timer["identical"]["faster"], 0)
        self.assertEqual(timer["identical"]["tables_with_alarm"], 0)
        for size in (0.03, 0.05, 0.1):
            entry = self.of_size(size)
            self.assertEqual((entry["rows"], entry["slower"], entry["same"]), (1000, 1000, 0), size)
            self.assertAlmostEqual(entry["reached_low"], size, delta=0.002)
        self.assertEqual([case["name"] for case in calibration["cases"]],
                         ["row_fold/legacy/rows:64/cols:128/dtype:fp32/timer:cpu",
                          "row_fold/new/rows:64/cols:128/dtype:fp32/timer:cpu"])
        for case in calibration["cases"]:
            self.assertAlmostEqual(case["time_ns"], 12500, delta=20)
            self.assertAlmostEqual(case["spread"], 0.001, delta=0.0008)
            self.assertEqual([arm["asked"] for arm in case["arms"]], DELAYS)
            self.assertEqual([arm["size"] for arm in case["arms"]], [None] + DELAYS[1:])
            for arm in case["arms"]:
                self.assertAlmostEqual(arm["asked_ns"], 12500 * arm["asked"])
                self.assertEqual(arm["rows"], 500)
        for text in ("identical code", "0 of 500", "100.0 %", os.path.join(self.out, "calibration.json")):
            self.assertIn(text, result.stdout)

    def test_noisy_processes_cannot_tell(self):
        self.install("row_fold", noise={"legacy": 0.03, "new": 0.03})
        self.assertEqual(self.ten().returncode, 0)
        identical = self.calibration()["timers"][0]["identical"]
        self.assertGreater(identical["inconclusive"], 900)
        self.assertGreater(self.calibration()["cases"][0]["smallest_visible"], 0.03)

    def test_processes_get_the_delays_in_mixed_order_and_their_record_says_so(self):
        for operator in ("row_fold", "dw_gemm"):
            self.install(operator, variants=["new"])
        with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
            json.dump({"git_commit": "0123456789abcdef", "git_dirty": True}, stream)
        # One seed in 32 has the same operator first in all six processes; 3 has not.
        result = self.calibrate("--filter", "new", "--processes", "6", "--sides", "3", "--seed", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        for call in self.calls():
            self.assertEqual([float(word) for word in call["flags"]["--delays"].split(",")], DELAYS)
            self.assertEqual(call["flags"]["--benchmark_filter"], "new")
        order = [operator for operator, _ in self.starts()]
        self.assertEqual(len(order), 12)
        self.assertEqual({tuple(order[at:at + 2]) for at in range(0, 12, 2)},
                         {("row_fold", "dw_gemm"), ("dw_gemm", "row_fold")})
        record, calibration = self.record(), self.calibration()
        self.assertEqual(record["status"], "complete")
        self.assertEqual(len(record["processes"][0]["cases"]), len(DELAYS))
        self.assertEqual((calibration["commit"], calibration["dirty"]), ("0123456789abcdef", True))
        self.assertEqual(calibration["date"], record["started_utc"])
        self.assertEqual(calibration["device"], "cpu")
        self.assertEqual(calibration["machine"], record["machine"]["before"])
        self.assertEqual((record["seed"], calibration["settings"]["seed"]), (3, 3))
        self.assertEqual(calibration["settings"]["processes"], 6)

    def test_without_a_filter_a_short_list_is_measured(self):
        self.install("row_fold", gpu_name="NVIDIA H200", device="cuda")
        result = self.calibrate("--processes", "2", "--sides", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([case["name"] for case in self.calibration()["cases"]],
                         ["row_fold/new/rows:64/cols:128/dtype:fp32/timer:wall"])
        self.assertEqual(self.calibration()["device_name"], "NVIDIA H200")
        self.assertIn("this build has no case dw_gemm/", result.stdout)

    # What it evaluates again

    def test_an_earlier_folder_is_evaluated_again_without_measuring(self):
        self.install("row_fold", noise=QUIET)
        self.ten()
        first, starts = self.calibration(), len(self.starts())
        result = self.again("--sides", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calibration(), first)  # the run's seed draws the same tables
        self.again("--sides", "5", "--threshold", "0.2", "--tables", "30", "--seed", "8")
        self.assertEqual(self.calibration()["settings"]["threshold"], 0.2)
        self.assertEqual(self.of_size(0.1)["same"], 60)
        self.assertEqual(len(self.starts()), starts)

    def test_a_stopped_run_can_be_finished_and_evaluated(self):
        self.install("row_fold", noise=QUIET, seconds=0.01)
        process = self.start_calibration("--filter", "row_fold", "--processes", "10", "--sides", "5")
        self.assertTrue(runner_testing.wait_for(lambda: len(self.starts()) >= 3))
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("run --resume", error)
        self.assertIn("calibrate --from", error)
        self.assertFalse(os.path.exists(os.path.join(self.out, "calibration.json")))
        self.assert_unusable_again("--sides", "5")
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(self.again("--sides", "5").returncode, 0)
        self.assertEqual(self.calibration()["timers"][0]["processes"], 10)

    def start_calibration(self, *arguments):
        process = subprocess.Popen(
            self.command("calibrate", "--executables", self.bin, "--out", self.out, *arguments),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in (process.stdout, process.stderr):
            self.addCleanup(stream.close)
        return process

    # What is wrong, and what is refused

    def test_a_row_that_fails_its_check_is_left_out_and_told_by_the_exit_code(self):
        self.install("row_fold", noise=QUIET, behaviour="check failed", processes=[3], while_exists=self.bin)
        result = self.ten()
        self.assertEqual(result.returncode, 1, result.stderr)
        calibration = self.calibration()
        self.assertEqual([case["name"].split("/")[1] for case in calibration["cases"]], ["new"])
        self.assertEqual(calibration["bad_rows"], 1)
        self.assertIn("is left out: check failed: index 7", result.stdout)

    def test_cases_that_a_process_crashed_on_are_left_out(self):
        self.install("row_fold", noise=QUIET, behaviour="SIGSEGV", processes=[3], while_exists=self.bin)
        self.install("dw_gemm", noise=QUIET)
        result = self.calibrate("--filter", "timer:cpu", "--processes", "10", "--sides", "5")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual({case["name"].split("/")[0] for case in self.calibration()["cases"]}, {"dw_gemm"})
        self.assertEqual(self.calibration()["bad_rows"], 2)
        self.assertIn("is left out: failed: row_fold, process 3 crashed: ended by SIGSEGV", result.stdout)

    def assert_unusable_again(self, *arguments):
        result = self.again(*arguments)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertEqual((result.stderr.count("\n"), result.stdout), (1, ""), result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.out, "calibration.json")))
        return result.stderr

    def test_unusable_command_lines(self):
        self.install("row_fold")
        for arguments, words in (
                (["--processes", "10"], ["--processes 10 cannot fill two sides of 10", "give 20 or more"]),
                (["--sides", "0"], ["--sides"]), (["--tables", "0"], ["--tables"]),
                (["--threshold", "0"], ["--threshold", "above 0"]),
                (["--threshold", "nan"], ["--threshold"]),
                (["--alpha", "1"], ["--alpha"]), (["--alpha", "x"], ["--alpha"]),
                (["--budget", "0"], ["--budget"]), (["--sides", "-1"], ["--sides"]),
                (["--seed", "x"], ["--seed"]), (["--device", "tpu"], ["tpu"]),
                (["--filter", "nothing"], ["nothing"]), ([], ["none of the default cases", "--filter"]),
                (["--from", self.bin], ["leave out --out"])):
            self.assert_unusable(self.calibrate(*arguments), *words)
        self.assertEqual(self.starts(), [])

    def test_unusable_folders(self):
        self.assertIn("run.json", self.assert_unusable_again())
        self.install("row_fold", variants=["new"])
        self.assertEqual(self.run_bench("--processes", "2").returncode, 0)
        self.assertIn("no row is an arm of a calibration", self.assert_unusable_again("--sides", "1"))
        shutil.rmtree(self.out)
        self.assertEqual(self.calibrate("--filter", "new", "--processes", "4", "--sides", "2").returncode, 0)
        os.remove(os.path.join(self.out, "calibration.json"))
        self.assertIn("4 processes measured every row, and two sides of 10 need 20",
                      self.assert_unusable_again())


if __name__ == "__main__":
    runner_testing.main()
