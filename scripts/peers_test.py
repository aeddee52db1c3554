#!/usr/bin/env python3
"""scripts/peers.py from its command line to its table, with programs that play a GPU's part."""
from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

# What ignored a signal when these tests began (nohup, a shell's job in the background) would have it ignored in all.
for interrupt in (signal.SIGINT, signal.SIGHUP):
    signal.signal(interrupt, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
FOLD = "row_fold/rows:1024/cols:128/dtype:fp32"

# Rows for whatever its filter asks of the fold; the time of `tuned` is the environment's.
STRICTBENCH = """
import json, os, re, sys
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
os.makedirs(words["--out"])
name = "row_fold/{}/rows:1024/cols:128/dtype:fp32/timer:graph"
rows = [{"name": name.format(v) + "/manual_time", "run_type": "iteration", "real_time": us, "time_unit": "us",
         "floor_us": 4} for v, us in (("new", 160), ("tuned", float(os.environ.get("TUNED", 5))), ("legacy", 900))
        if re.search(words["--filter"], name.format(v))]
with open(words["--out"] + "/row_fold.0.json", "w") as file:
    json.dump({"context": {"gpu_uuid": "GPU-a", "gpu_name": "NVIDIA H200"}, "benchmarks": rows}, file)
print("a summary for people")
sys.exit(int(os.environ.get("RUN_CODE", 0)))
"""
CUDA = """
import fcntl, json, os, sys
with open(os.environ["STRICTBENCH_LOCKS"] + "/strictbench.GPU-a.lock") as lock:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sys.exit("nobody holds the lock of the GPU")
    except BlockingIOError: pass
code = int(os.environ.get("CUDA_CODE", 0))
if code < 0: os.kill(os.getpid(), -code)
if code: sys.exit(code)
print(json.dumps({"gpu_uuid": "GPU-a", "answers": [{"case": case, "who": "tuned", "repeatable": True,
                  "batch_invariant": True} for case in sys.argv[1:]]}))
"""
PYTORCH = """
import json, os, sys
if "PYTORCH_CODE" in os.environ:
    print("pytorch.py: says why", file=sys.stderr)
    sys.exit(int(os.environ["PYTORCH_CODE"]))
print(os.environ.get("PYTORCH_SAYS") or json.dumps(
    {"pytorch": "2.11", "gpu_uuid": os.environ.get("OTHER", "GPU-a"), "answers": [
        {"case": case, "who": "pytorch", "timer": "graph", "samples_us": [7, 7.5, 8], "repeatable": True,
         "batch_invariant": False} for case in sys.argv[2:]]}))
"""


class Peers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "bin").mkdir()
        for name, text in (("bin/strictbench", STRICTBENCH), ("bin/peers_cuda", CUDA), ("python", PYTORCH)):
            started = f"open({str(self.folder / 'started')!r}, 'a').write({name + ' '!r})\n"
            (self.folder / name).write_text(f"#!{sys.executable}\n{started}{text}")
            (self.folder / name).chmod(0o755)

    def run_peers(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([ROOT / "scripts" / "peers.py", *arguments], capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": str(self.folder),
                                   "STRICTBENCH_LOCKS": str(self.folder / "locks"), **environment})

    def measure(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_peers("--build", str(self.folder), "--python", str(self.folder / "python"), "--filter",
                              FOLD, *arguments, **environment)

    def refused(self, done: subprocess.CompletedProcess[str], words: str) -> None:
        """One line, exit code 2, and not even PyTorch was asked."""
        self.one_line(done, 2, words)
        self.assertEqual((done.stderr.count("\n"), (self.folder / "started").exists()), (1, False), done.stderr)

    def one_line(self, done: subprocess.CompletedProcess[str], code: int, words: str) -> None:
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(words, done.stderr.splitlines()[-1])

    def test_a_session(self) -> None:
        out, markdown = self.folder / "out.json", self.folder / "out.md"
        done = self.measure("--out", str(out), "--markdown", str(markdown))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"StrictBench tuned +graph +5\.00 us +1\.00 x +yes +yes")
        self.assertRegex(done.stdout, r"PyTorch sum\(0\) +graph +7\.50 us +1\.50 x +yes +no")
        self.assertIn("geometric mean of the fastest peer / ours over 1 case: 1.50 x", done.stdout)
        self.assertNotIn("legacy", done.stdout)
        self.assertNotIn("a summary for people", done.stdout)
        self.assertEqual(json.loads(out.read_text())["cases"][0]["floor_us"], 4)
        self.assertIn("| PyTorch sum(0) |", markdown.read_text())
        again = self.run_peers("--from", str(out))
        self.assertEqual((again.returncode, again.stdout), (0, done.stdout), again.stderr)
        self.assertEqual([path.name for path in self.folder.glob("strictbench-peers.*")], [])

    def test_an_output_that_takes_nothing(self) -> None:
        record = self.folder / "record.json"
        self.assertEqual(self.measure("--out", str(record)).returncode, 0)
        for streams, expected in ((">/dev/full", (2, "peers.py: standard output: No space left on device\n")),
                                  (">&-", (2, "peers.py: standard output: Bad file descriptor\n")),
                                  (">/dev/full 2>&-", (2, ""))):
            done = subprocess.run(["bash", "-c", f'"$0" --from "$1" {streams}', ROOT / "scripts" / "peers.py", record],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), expected, streams)
        unread, pipe = os.pipe()
        os.close(unread)
        done = subprocess.run([ROOT / "scripts" / "peers.py", "--from", record], stdout=pipe, stderr=subprocess.PIPE)
        os.close(pipe)
        self.assertEqual((done.returncode, done.stderr), (141, b""))

    def test_slower_and_the_floor(self) -> None:
        done = self.measure(TUNED="9")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"StrictBench tuned .* slower\n")

    def test_a_finished_result(self) -> None:
        kept = self.folder / "kept"
        self.assertEqual(self.measure("--keep", str(kept)).returncode, 0)
        (self.folder / "bin" / "strictbench").unlink()
        done = self.measure(str(kept))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1.50 x", done.stdout)
        self.one_line(self.measure(str(kept), OTHER="GPU-b"), 2, "gpu_uuid is GPU-b, and GPU-a before")
        self.one_line(self.measure(str(self.folder / "none")), 2, "no such result folder")

    def test_no_pytorch_and_no_gpu_are_said_before_anything_is_measured(self) -> None:
        for code in (2, 3):
            self.one_line(self.measure("--keep", str(self.folder / "kept"), PYTORCH_CODE=str(code)), code, "says why")
            self.assertFalse((self.folder / "kept").exists())
        self.one_line(self.measure("--python", str(self.folder / "none")), 2, "none: No such file")
        done = self.measure(PYTORCH_CODE="2")
        self.assertEqual((done.returncode, done.stderr), (2, "pytorch.py: says why\n"))
        (self.folder / "bin" / "peers_cuda").unlink()
        self.one_line(self.measure(), 2, "it is in a build with CUDA")

    def test_a_python_that_ends_without_a_word_is_named(self) -> None:
        python = self.folder / "python"
        for text, words in (("exit 1", "ended with exit code 1: name a Python"), ("exit 2", "ended with exit code 2"),
                            ("exit 77", "ended with exit code 77: name"),
                            ("echo >&2; exit 2", "ended with exit code 2"),
                            ("kill -SEGV $$", "was ended by SIGSEGV: name"),
                            ("kill -40 $$", "was ended by signal 40: name"),
                            ("printf '\\377'", "its output is not JSON")):
            python.write_text(f"#!/bin/sh\n{text}\n")
            with self.subTest(text):
                done = self.measure("--keep", str(self.folder / "kept"))
                self.one_line(done, 2, f"peers.py: pytorch.py under {python}")
                self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "started").exists())

    def test_what_a_program_says_commands_no_terminal(self) -> None:
        (self.folder / "python").write_text("#!/bin/sh\nprintf 'a\\033[2J\\377b\\nTraceback\\n' >&2; exit 1\n")
        done = self.measure()
        self.assertEqual(done.stderr.splitlines()[:2], ["a\\x1b[2J\\xffb", "Traceback"])
        self.one_line(done, 2, "ended with exit code 1")

    def test_what_would_be_written_over_is_refused_first(self) -> None:
        record, kept = self.folder / "record.json", self.folder / "kept"
        self.assertEqual(self.measure("--out", str(record), "--keep", str(kept)).returncode, 0)
        (self.folder / "started").unlink()
        (self.folder / "soft").symlink_to(record)
        os.link(record, self.folder / "hard")
        before = record.read_bytes()
        for option in ("--out", "--markdown"):
            for name in ("record.json", "soft", "hard", "bin/../record.json"):
                with self.subTest(option, name=name):
                    self.refused(self.run_peers("--from", str(record), option, str(self.folder / name)),
                                 f"--from and {option} are one file")
            for name in ("run.json", "row_fold.0.json"):
                (kept / "run.json").write_text("{}")
                self.refused(self.measure(str(kept), option, str(kept / name)), f"RESULT and {option} are one file")
            new = str(self.folder / "new")
            self.refused(self.measure("--keep", new, option, new), f"--keep and {option} are one file")
        self.refused(self.measure("--out", new, "--markdown", new), "--out and --markdown are one file")
        self.assertEqual(record.read_bytes(), before)
        done = self.run_peers("--from", str(record), "--out", "/dev/null", "--markdown", "/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_result_and_a_folder_to_keep_are_looked_at_first(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        (self.folder / "dangling").symlink_to("none/x")
        self.refused(self.measure(str(empty)), f"{empty}: no result files")
        self.refused(self.measure(str(self.folder / "none")), "none: no such result folder")
        self.refused(self.measure(str(self.folder / "python")), "not JSON")
        for name in ("empty", "python", "dangling"):
            self.refused(self.measure("--keep", str(self.folder / name)), f"{name}: exists already")
        below = str(self.folder / "python" / "x" / "y")
        self.refused(self.measure("--keep", below), f"{below}: cannot be written: Not a directory")
        self.assertEqual(self.measure("--keep", str(self.folder / "a" / "b")).returncode, 0)
        (self.folder / "started").unlink()
        (self.folder / "bin" / "strictbench").unlink()
        self.refused(self.measure(), "strictbench: no such file")

    def test_a_program_that_fails_leaves_the_others_in_the_table(self) -> None:
        done = self.measure(CUDA_CODE="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("peers.py: peers_cuda ended with exit code 1: the table lacks its answers\n", done.stderr)
        self.assertIn("1.50 x", done.stdout)
        done = self.measure(CUDA_CODE="-11")
        self.assertEqual(done.returncode, 1)
        self.assertIn("peers.py: peers_cuda was ended by SIGSEGV: the table lacks its answers\n", done.stderr)
        self.one_line(self.measure(CUDA_CODE="2"), 2, "peers.py: peers_cuda ended with exit code 2")
        self.one_line(self.measure(PYTORCH_SAYS="nonsense"), 2, "its output is not JSON")
        self.one_line(self.measure(PYTORCH_SAYS="[1]"), 2, "not a JSON object")
        twice = json.dumps({"answers": 2 * [{"case": FOLD, "who": "pytorch", "samples_us": [1]}]})
        self.one_line(self.measure(PYTORCH_SAYS=twice), 2, f"answers[1] is a second answer of pytorch to {FOLD}")

    def test_a_gpu_that_another_one_measures_on_is_left_alone(self) -> None:
        (self.folder / "locks").mkdir()
        with open(self.folder / "locks" / "strictbench.GPU-a.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.one_line(self.measure(), 2, "GPU-a is being measured by another process; two at once")
            lock.write(json.dumps({"pid": 7, "user": "alice", "since": "now", "command": "strictbench run"}))
            lock.flush()
            self.one_line(self.measure(), 2, "measured by alice, process 7, since now: strictbench run;")
        self.assertEqual(self.measure().returncode, 0)
        (self.folder / "locks" / "strictbench.GPU-a.lock").unlink()
        (self.folder / "locks" / "strictbench.GPU-a.lock").symlink_to("/dev/null")
        self.one_line(self.measure(), 2, "cannot lock")

    def test_our_run_that_failed_or_was_refused(self) -> None:
        self.assertEqual(self.measure(RUN_CODE="1").returncode, 0)  # rows are what counts
        self.one_line(self.measure(RUN_CODE="2"), 2, "")
        self.assertEqual(self.measure(RUN_CODE="143").returncode, 143)

    def test_a_stop_signal_ends_what_runs_and_leaves_nothing(self) -> None:
        (self.folder / "bin" / "strictbench").write_text(
            f"#!{sys.executable}\nimport os, time\nopen('{self.folder}/pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            (self.folder / "pid").unlink(missing_ok=True)
            with subprocess.Popen([ROOT / "scripts" / "peers.py", "--build", self.folder, "--python",
                                   self.folder / "python"], stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "TMPDIR": str(self.folder)}) as started:
                end = time.monotonic() + 20
                while not ((self.folder / "pid").exists() and (self.folder / "pid").read_text()):
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.01)
                started.send_signal(number)
                self.assertEqual((started.wait(20), started.stderr.read()), (128 + number, ""))
            self.assertRaises(ProcessLookupError, os.kill, int((self.folder / "pid").read_text()), 0)
            self.assertEqual([path.name for path in self.folder.glob("strictbench-peers.*")], [])

    def test_the_command_line(self) -> None:
        record = self.folder / "record.json"
        for words in (("--filter", "("), ("--processes", "0"), ("--from", "x", "--keep", "y"), ("x", "--keep", "y"),
                      ("--filter", "no such case")):
            done = self.run_peers(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.one_line(self.measure("--keep", str(self.folder / "kept"), "--out", str(self.folder)), 2, "cannot be written")
        self.one_line(self.measure("--markdown", str(self.folder / "none" / "x")), 2, "cannot be written")
        self.assertFalse((self.folder / "kept").exists())
        for text in ("", "[]", '{"cases": 3}', '{"cases": [{"case": "a/b:c", "contenders": [{"who": []}]}]}'):
            record.write_text(text)
            done = self.run_peers("--from", str(record))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertEqual(self.run_peers("--help").returncode, 0)

    def test_the_filter_finds_the_cases_and_no_others(self) -> None:
        sys.path.insert(0, str(ROOT / "scripts"))
        import peers
        found = re.compile(peers.filter_of(peers.CASES))
        for case in peers.CASES:
            operator, _, shape = case.partition("/")
            for variant, expected in (("new", True), ("tuned", True), ("legacy", False), ("legacy_loop", False)):
                name = f"{operator}/{variant}/{shape}/timer:graph"
                self.assertEqual(bool(found.search(name)), expected, name)
            self.assertIsNone(found.search(f"{operator}/new/{shape}/timer:cold"))
        self.assertIsNone(found.search("row_fold/new/rows:11024/cols:128/dtype:fp32/timer:graph"))


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(77)
    unittest.main()
