"""Proves that a run that is ended again and again, at moments and by signals that are drawn, loses and doubles
nothing. STRICTBENCH_SEED brings a draw back.

Usage: run_killed_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import fake_benchmark
import runner_testing
from runner_testing import gone, wait_for

KILLS = 50
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGKILL)
OPERATORS = ("dw_gemm", "row_fold")
PROCESSES = 3


class RunKilledTest(runner_testing.RunnerTestCase):
    def setUp(self):
        super().setUp()
        for operator in OPERATORS:
            self.log = fake_benchmark.install_quick(self.bin, operator, seconds=0.01)

    def started(self):
        """(operator, process, pid) of each start so far."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as stream:
            lines = [line.split() for line in stream]
        return [(operator, int(process), int(pid)) for operator, process, pid, _ in lines]

    def begin(self):
        arguments = ["--resume", self.out]
        if not os.path.exists(self.out):
            arguments = ["--executables", self.bin, "--out", self.out, "--processes", str(PROCESSES)]
        return subprocess.Popen(self.command("run", *arguments), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def content(self, folder):
        """What the folder holds: file names, and the rows of each process."""
        files = {}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            files[name] = None
            if name not in ("run.json", "summary.json") and os.path.isfile(path):
                with open(path, encoding="utf-8") as stream:
                    files[name] = json.load(stream)["benchmarks"]
        return files

    def done(self):
        return {(process["operator"], process["process"]) for process in self.record()["processes"]
                if process["status"] == "ok"}

    def assert_nothing_left(self):
        for operator, process, pid in self.started():
            self.assertTrue(wait_for(lambda: gone(pid)), f"{operator}, process {process} lives on")

    def assert_ended_well(self, runner, number, stderr):
        """Exit code, record and files of a run that a signal ended, or that came to its end before."""
        self.assertIn(runner.returncode, (0, -number, 128 + number), stderr)
        self.assert_nothing_left()
        if not os.path.exists(self.out):
            return
        if not os.path.exists(os.path.join(self.out, "run.json")):  # before anything was measured
            self.assertEqual([name for name in os.listdir(self.out) if name.endswith(".json")], [])
            shutil.rmtree(self.out)
            return
        self.assert_whole()
        if runner.returncode == 128 + number:
            # A signal before the first start leaves the record as the one before it did, by SIGKILL perhaps.
            self.assertIn(self.record()["status"], ("interrupted", "running"))
        if runner.returncode >= 0 and self.record()["status"] != "running":
            self.assertFalse([name for name in os.listdir(self.out) if not name.endswith(".json")])
        for operator, process in self.done():
            self.assertEqual(len(self.rows(operator, process)), 2)

    def test_fifty_kills_lose_and_double_nothing(self):
        seed = int(os.environ.get("STRICTBENCH_SEED") or random.randrange(2**32))
        print(f"STRICTBENCH_SEED={seed}", flush=True)
        draw = random.Random(seed)
        start = time.monotonic()
        runner = self.begin()
        self.assertEqual(runner.wait(timeout=60), 0, runner.stderr.read())
        runner.stderr.close()
        usual = time.monotonic() - start
        expected = self.content(self.out)
        self.assertEqual(len(expected), len(OPERATORS) * PROCESSES + 2)
        shutil.rmtree(self.out)

        kills = dict.fromkeys(SIGNALS, 0)
        while sum(kills.values()) < KILLS or os.path.exists(self.out):
            done = self.done() if os.path.exists(self.out) else set()
            before = len(self.started())
            runner = self.begin()
            if sum(kills.values()) < KILLS:
                number = draw.choice(SIGNALS)
                time.sleep(draw.uniform(0, usual))
                if runner.poll() is None:
                    kills[number] += 1
                    runner.send_signal(number)
            _, stderr = runner.communicate(timeout=60)
            again = {(operator, process) for operator, process, _ in self.started()[before:]}
            self.assertFalse(done & again, "measured twice")
            self.assert_ended_well(runner, number, stderr)
            if runner.returncode == 0:
                self.assertEqual(self.record()["status"], "complete")
                self.assertEqual(self.content(self.out), expected)
                shutil.rmtree(self.out)
        self.assertGreater(min(kills.values()), 0, kills)


if __name__ == "__main__":
    runner_testing.main()
