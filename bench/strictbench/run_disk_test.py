"""Proves that a disk that fills up, a folder that can no longer be written and a clock that is set back damage
nothing.

Usage: run_disk_test.py STRICTBENCH CLOCK_SET_BACK [unittest arguments]
CLOCK_SET_BACK is a library to preload, under which each look at the wall clock is an hour before the last one.
"""
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import unittest

import fake_benchmark
import runner_testing
from runner_testing import wait_for

CLOCK = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""


def can_mount():
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


class RunDiskTest(runner_testing.RunnerTestCase):
    @unittest.skipUnless(can_mount(), "needs to mount a small file system")
    def test_a_disk_that_fills_up_keeps_what_is_whole_and_the_run_can_be_finished(self):
        fake_benchmark.install_quick(self.bin, "row_fold")
        small = self.path("small")
        os.mkdir(small)
        # The file system goes with its user: what it held is copied out.
        script = ('mount -t tmpfs -o size=256k none "$1" && "$2" run --executables "$3" --out "$1/out" --processes 60;'
                  ' code=$?; cp -a "$1/out" "$4"; df --output=avail "$1" | tail -1; exit $code')
        full = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", small, runner_testing.STRICTBENCH, self.bin,
                               self.out], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertEqual(full.stderr.count("\n"), 1, full.stderr)
        self.assertIn("No space left on device", full.stderr)
        self.assertIn("--resume measures the rest", full.stderr)
        self.assert_whole()
        ok = [process for process in self.record()["processes"] if process["status"] == "ok"]
        self.assertGreater(len(ok), 5)
        self.assertLess(len(ok), 60)
        for process in ok:
            self.assertEqual(len(self.rows("row_fold", process["process"])), 2)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(os.listdir(self.out)), 62)
        with open(os.path.join(self.bin, "quick.log"), encoding="utf-8") as stream:
            starts = [int(line.split()[1]) for line in stream]
        for process in ok:
            self.assertEqual(starts.count(process["process"]), 1, "measured twice")

    def test_a_limit_of_file_sizes_is_told_as_a_full_disk_is(self):
        fake_benchmark.install_quick(self.bin, "row_fold")
        whole = self.path("whole")
        self.assertEqual(self.strictbench("run", "--executables", self.bin, "--out", whole, "--processes", "60").returncode, 0)
        limit = os.path.getsize(os.path.join(whole, "run.json")) - 500  # reached when the last ones are written down
        limited = self.strictbench("run", "--executables", self.bin, "--out", self.out, "--processes", "60",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual((limited.returncode, limited.stderr.count("\n")), (1, 1), limited.stderr)
        self.assertRegex(limited.stderr, r"run\.json: File too large; .*--resume measures the rest")
        self.assert_whole()
        measured = [process for process in self.record()["processes"] if process["status"] == "ok"]
        self.assertGreater(len(measured), 5)
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(len(os.listdir(self.out)), 62)

    @unittest.skipUnless(can_mount(), "needs to mount a small file system")
    def test_a_disk_that_is_full_from_the_start_leaves_no_folder_and_the_name_can_be_used_again(self):
        fake_benchmark.install_quick(self.bin, "row_fold")
        small = self.path("small")
        os.mkdir(small)
        script = ('mount -t tmpfs -o size=8k none "$1" && head -c 8192 /dev/zero > "$1/fill"; shift; "$@"; code=$?; '
                  'ls -A "$SMALL"; rm "$SMALL/fill"; mount -o remount,size=1m "$SMALL"; "$@" > /dev/null; '
                  'find "$SMALL" -name run.json | head -1; exit $code')
        out = os.path.join(small, "out")
        for command in (["run", "--executables", self.bin], ["ab", "--base", self.bin, "--head", self.bin],
                        ["calibrate", "--executables", self.bin, "--filter", "."]):
            with self.subTest(command[0]):
                full = subprocess.run(
                    ["unshare", "-rm", "sh", "-c", script, "sh", small, runner_testing.STRICTBENCH, *command, "--out",
                     out, "--processes", "20"], capture_output=True, text=True, timeout=60, check=False,
                    env={**os.environ, "SMALL": small})
                self.assertEqual(full.returncode, 1, full.stderr)
                told = [line for line in full.stderr.splitlines() if "No space left" in line]
                self.assertEqual(len(told), 1, full.stderr)
                self.assertRegex(told[0], r"run\.json: No space left on device; nothing was measured, and the empty "
                                          r"folder is removed$")
                self.assertNotIn("is gone", full.stderr)
                self.assertNotIn("exists already", full.stderr)
                kept = full.stdout.splitlines()[-2:]
                self.assertEqual(kept[0], "fill", "something stayed")
                self.assertRegex(kept[1], f"^{re.escape(out)}/(base/|head/)?run.json$", "the second try wrote nothing")

    def test_a_folder_made_read_only_half_way_is_one_line_and_stays_as_it_was(self):
        fake_benchmark.install_quick(self.bin, "row_fold", seconds=0.2)
        for path in (self.folder, self.bin):
            os.chmod(path, 0o777)
        user = {"user": 65534} if os.geteuid() == 0 else {}  # root may write anywhere
        runner = self.start("--processes", "4", **user)
        self.assertTrue(wait_for(lambda: os.path.exists(os.path.join(self.out, "row_fold.0.json"))))
        os.chmod(self.out, 0o555)
        self.addCleanup(lambda: os.path.exists(self.out) and os.chmod(self.out, 0o777))
        _, stderr = runner.communicate(timeout=20)
        self.assertEqual((runner.returncode, stderr.count("\n")), (1, 1), stderr)
        self.assertRegex(stderr, f"^strictbench: .*{re.escape(self.out)}.*: Permission denied; what was finished stays")
        self.assert_whole()
        self.assertEqual(len(self.rows("row_fold", 0)), 2)
        os.chmod(self.out, 0o777)
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)

    @unittest.skipUnless(CLOCK, "no library that sets the clock back")
    def test_a_clock_set_back_changes_no_duration_and_no_older_folder(self):
        self.install("row_fold", seconds=0.05)
        # A sanitizer wants to be loaded first, and there is no need.
        environment = {**os.environ, "LD_PRELOAD": CLOCK, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        shown = subprocess.run(["date", "+%s"], capture_output=True, text=True, env=environment, check=True).stdout
        now = subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout
        self.assertLess(int(shown), int(now) - 3000, "the clock is not set back: the test would prove nothing")
        for _ in range(2):
            result = self.strictbench("run", "--executables", self.bin, "--processes", "2", "--timeout", "20",
                                      env=environment)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        folders = glob.glob(self.path("results", "*"))
        self.assertEqual(len(folders), 2)
        for folder in folders:
            with open(os.path.join(folder, "run.json"), encoding="utf-8") as stream:
                record = json.load(stream)
            self.assertGreater(record["started_utc"], record["finished_utc"])
            for process in record["processes"]:
                self.assertEqual(process["status"], "ok")
                self.assertGreater(process["seconds"], 0.1)
                self.assertLess(process["seconds"], 20)

    def test_temporary_files_of_a_killed_run_do_not_stay(self):
        self.install("row_fold", seconds=0.3)
        runner = self.start("--processes", "1")
        # The child's own, which is there while it measures; that of the first run.json comes before any record does.
        self.assertTrue(wait_for(lambda: glob.glob(os.path.join(self.out, "row_fold*.tmp"))))
        runner.kill()
        runner.wait()
        self.assertTrue(glob.glob(os.path.join(self.out, "*.tmp")))
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.out)), ["row_fold.0.json", "run.json", "summary.json"])
        shutil.rmtree(self.out)


if __name__ == "__main__":
    runner_testing.main()
