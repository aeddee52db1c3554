"""Proves that a result folder that is removed, exchanged or emptied while a run writes it ends the run in one line, and
that nothing is written under its name any more.

Usage: run_removed_test.py STRICTBENCH BENCH_ROW_FOLD [unittest arguments]
"""
import glob
import os
import shutil
import sys

import runner_testing
from runner_testing import wait_for

ROW_FOLD = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""


class RunRemovedTest(runner_testing.RunnerTestCase):
    def assert_ended(self, result, *words):
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("--resume", result.stderr)
        self.assertNotIn("failed", result.stdout)  # no kernel is to blame

    def test_a_folder_that_goes_away_is_told_in_one_line(self):
        self.install("row_fold", behaviour="folder goes away")
        self.assert_ended(self.run_bench("--processes", "3"), self.out + " is gone, and what was finished with it")
        self.assertEqual(len(self.starts()), 1)
        self.assertFalse(os.path.exists(self.out))

    def test_one_that_goes_away_under_a_real_executable_does_not_come_back(self):
        os.symlink(ROW_FOLD, os.path.join(self.bin, "bench_row_fold"))
        # Amid the first process, when there are oracle results and more are to come; and amid a later one.
        for moment in (".scratch/oracle/*", "row_fold.1.json.tmp"):
            with self.subTest(moment):
                runner = self.start("--device", "cpu", "--allow-debug", "--filter", "row_fold/.*cols:128/",
                                    "--processes", "3")
                self.assertTrue(wait_for(lambda: glob.glob(os.path.join(self.out, moment))))
                self.assertTrue(wait_for(lambda: shutil.rmtree(self.out, ignore_errors=True)
                                         or not os.path.exists(self.out)))
                stdout, stderr = runner.communicate(timeout=60)
                self.assertEqual((runner.returncode, stderr.count("\n")), (1, 1), stderr)
                self.assertIn(self.out + " is gone, and what was finished with it", stderr)
                self.assertEqual(stdout.count("\n"), 1, stdout)
                self.assertFalse(os.path.exists(self.out))

    def test_nothing_is_written_into_another_folder_of_the_same_name(self):
        self.install("row_fold", behaviour="folder is exchanged")
        self.assert_ended(self.run_bench("--processes", "3"), self.out + " is another folder than the run began in")
        self.assertEqual(len(self.starts()), 1)
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.out) for name in names]
        self.assertEqual(sorted(os.path.relpath(path, self.out) for path in found),
                         [".scratch/oracle/theirs", "row_fold.0.json.tmp", "run.json"])
        for path in found:
            with open(path, encoding="utf-8") as stream:
                self.assertEqual(stream.read(), "theirs")

    def test_a_folder_that_is_emptied_stays_empty(self):
        self.install("row_fold", behaviour="folder is emptied")
        self.assert_ended(self.run_bench("--processes", "3"), "run.json was removed during the run")
        self.assertEqual(len(self.starts()), 1)
        self.assertEqual(os.listdir(self.out), [])

    def test_a_folder_that_goes_away_while_kernels_are_recorded(self):
        self.install("row_fold", gpu_name="NVIDIA H200", device="cuda", kernels="folder goes away",
                     while_exists=self.folder)
        self.assert_ended(self.run_bench("--processes", "1", "--kernels"), self.out + " is gone")
        self.assertFalse(os.path.exists(self.out))

    def test_ab_and_calibrate_end_by_the_same_line(self):
        self.install("row_fold", behaviour="folder goes away")
        result = self.strictbench("calibrate", "--executables", self.bin, "--filter", ".", "--out", self.out)
        self.assert_ended(result, self.out + " is gone, and what was finished with it")
        self.assertFalse(os.path.exists(self.out))
        result = self.strictbench("ab", "--base", self.bin, "--head", self.bin, "--out", self.out)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertRegex(result.stderr, self.out + "/(base|head) is gone, and what was finished with it")
        self.assertEqual(len(os.listdir(self.out)), 1, "the fake takes its own side's folder away")


if __name__ == "__main__":
    runner_testing.main()
