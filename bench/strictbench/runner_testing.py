"""What the tests of `strictbench run` and `strictbench list` share: fake benchmarks in a folder for each."""
import glob
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import fake_benchmark

# Where these tests run as a step of a GitHub action, nothing is said to it.
for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(variable, None)

# What ignored a signal when these tests began (nohup, a shell's job in the background) would have it ignored in all.
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

STRICTBENCH = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""


def gone(pid):
    """Whether a process has ended. A zombie that its new parent has yet to collect has ended too."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


class RunnerTestCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="strictbench_run_test.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        self.out = self.path("out")
        # Tests measure nothing that another run could disturb, and ctest runs several at once.
        os.environ["STRICTBENCH_LOCKS"] = self.path("locks")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def install(self, operator, **config):
        fake_benchmark.install(self.bin, operator, **config)

    def calls(self):
        log = os.path.join(self.bin, "calls.log")
        if not os.path.exists(log):
            return []
        with open(log, encoding="utf-8") as stream:
            return [json.loads(line) for line in stream if line.endswith("\n")]

    def starts(self):
        return [(call["operator"], call["process"]) for call in self.calls() if "flags" in call]

    def command(self, *arguments):
        return [STRICTBENCH, *arguments]

    def strictbench(self, *arguments, **options):
        options.setdefault("cwd", self.folder)
        return subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False, **options)

    def run_bench(self, *arguments, **options):
        return self.strictbench("run", "--executables", self.bin, "--out", self.out, *arguments, **options)

    def start(self, *arguments, **options):
        process = subprocess.Popen(
            self.command("run", "--executables", self.bin, "--out", self.out, *arguments),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=options.pop("stderr", subprocess.PIPE),
            text=True, cwd=self.folder, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in filter(None, (process.stdout, process.stderr)):
            self.addCleanup(stream.close)
        return process

    def on_terminal(self, term, *arguments):
        """What a run writes to a terminal as its standard error, and its standard output."""
        master, slave = pty.openpty()
        runner = self.start(*arguments, env={**os.environ, "TERM": term}, stderr=slave)
        os.close(slave)
        seen = b""
        while True:
            ready, _, _ = select.select([master], [], [], 10)
            try:
                part = os.read(master, 4096) if ready else b""
            except OSError:  # the other end is closed
                part = b""
            if not part:
                break
            seen += part
        os.close(master)
        stdout, _ = runner.communicate(timeout=10)
        self.assertEqual(runner.returncode, 0)
        return seen.decode(), stdout

    def record(self):
        with open(os.path.join(self.out, "run.json"), encoding="utf-8") as stream:
            return json.load(stream)

    def process(self, operator, number=0):
        return next(process for process in self.record()["processes"]
                    if (process["operator"], process["process"]) == (operator, number))

    def rows(self, operator, number=0):
        with open(os.path.join(self.out, f"{operator}.{number}.json"), encoding="utf-8") as stream:
            return json.load(stream)["benchmarks"]

    def assert_unusable(self, result, *words):
        """Exit code 2, one line, and nothing written."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse(os.path.exists(self.out))
        self.assertFalse(os.path.exists(self.path("results")))
        for word in words:
            self.assertIn(word, result.stderr)

    def assert_whole(self):
        """Every file of the result folder that has its lasting name can be read."""
        for path in glob.glob(os.path.join(self.out, "*.json")):
            with open(path, encoding="utf-8") as stream:
                json.load(stream)


def main():
    """For test files: the first argument is the path of strictbench, the others are unittest's."""
    del sys.argv[1]
    unittest.main(module="__main__")
