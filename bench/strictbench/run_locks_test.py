"""Proves that two measurements never share a device or a folder, and that a lock goes with its owner.

Usage: run_locks_test.py STRICTBENCH [unittest arguments], FAKE_NVML naming a library that plays a driver's
"""
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import fake_benchmark
import runner_testing
from runner_testing import wait_for


ALICE = {"user": "alice", "since": "2026-11-29T10:15:00Z", "command": "x"}


class RunLocksTest(runner_testing.RunnerTestCase):
    def setUp(self):
        super().setUp()
        self.second = self.path("second")
        os.mkdir(self.path("other"))

    def owner(self, *arguments, **options):
        """A run that hangs until the file `hang` is removed, as others meet it."""
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        self.install("row_fold", while_exists=self.path("hang"), behaviour="hang", **options)
        runner = self.start("--processes", "1", *arguments)
        self.assertTrue(wait_for(lambda: any("hangs" in call for call in self.calls())))
        return runner

    def refused(self, *command):
        result = self.strictbench(*command)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
        self.assertFalse(os.path.exists(self.second))
        return result.stderr

    def run_second(self, *arguments, folder=""):
        return ["run", "--executables", folder or self.bin, "--out", self.second, "--processes", "1", *arguments]

    def test_a_second_run_is_refused_in_one_line_that_names_the_owner(self):
        owner = self.owner()
        line = self.refused(*self.run_second())
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertRegex(line, rf"^strictbench: cpu is being measured by {user}, process {owner.pid}, "
                               r"since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: .* run --executables .*give --wait to queue")

    def nameless(self, text, *command):
        """What a second command makes of an owner that has the lock, and writes a moment later who it is."""
        os.makedirs(self.path("locks"), exist_ok=True)
        with open(self.path("locks", "strictbench.cpu.lock"), "w+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.write(text)
            lock.flush()
            second = subprocess.Popen(self.command(*command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(second.kill)
            # It asks its executables what they measure first, and then for the lock.
            self.assertTrue(wait_for(lambda: any("describes" in call for call in self.calls())))
            time.sleep(0.05)
            self.assertIsNone(second.poll(), "it did not wait for the owner's name")
            lock.seek(0)
            lock.truncate()
            lock.write(json.dumps(dict(ALICE, pid=os.getpid())))
            lock.flush()
            _, stderr = second.communicate(timeout=10)
        os.remove(os.path.join(self.bin, "calls.log"))
        self.assertEqual((second.returncode, stderr.count("\n")), (2, 1), stderr)
        return stderr

    def test_an_owner_that_has_yet_to_write_its_name_is_named(self):
        self.install("row_fold", log_describe=True)
        dead = subprocess.Popen(["true"])
        dead.wait()
        before = json.dumps({"pid": dead.pid, "user": "bob", "since": "2026-11-28T10:15:00Z", "command": "y"})
        for text in ("", "{", before):  # nothing yet, a part, the name of an owner before that was killed
            with self.subTest(text):
                self.assertIn(f"measured by alice, process {os.getpid()}, since 2026-11-29T10:15:00Z: x; two at once",
                              self.nameless(text, *self.run_second()))

    def test_scripts_wait_for_the_name_too(self):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
        import device_lock
        os.makedirs(self.path("locks"))
        with open(self.path("locks", "strictbench.cpu.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            later = threading.Timer(0.05, lambda: print(json.dumps(dict(ALICE, pid=os.getpid())), file=lock, flush=True))
            later.start()
            with self.assertRaisesRegex(device_lock.Taken, f"^cpu is being measured by alice, process {os.getpid()}, since"):
                device_lock.device_lock("cpu").__enter__()
            later.join()

    def test_one_that_never_writes_its_name_is_another_process(self):
        self.install("row_fold")
        os.makedirs(self.path("locks"))
        with open(self.path("locks", "strictbench.cpu.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.assertIn("cpu is being measured by another process; two", self.refused(*self.run_second()))

    def test_ab_calibrate_and_resume_are_refused_too(self):
        fake_benchmark.install(self.path("other"), "row_fold", behaviour="error row")
        first = self.path("first")
        self.strictbench("run", "--executables", self.path("other"), "--out", first, "--processes", "1")
        owner = self.owner()
        for command in (["ab", "--base", self.bin, "--head", self.bin, "--out", self.second],
                        ["calibrate", "--executables", self.bin, "--filter", ".", "--out", self.second],
                        ["run", "--resume", first]):
            self.assertIn(f"process {owner.pid}", self.refused(*command))

    def test_one_that_waits_measures_when_the_device_is_free(self):
        owner = self.owner()
        waiting = subprocess.Popen(self.command(*self.run_second("--wait")), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(waiting.kill)
        line = waiting.stderr.readline()
        self.assertIn("strictbench: waiting: cpu is being measured by", line)
        self.assertFalse(os.path.exists(self.second))
        os.remove(self.path("hang"))
        owner.send_signal(signal.SIGINT)
        owner.communicate(timeout=10)
        self.assertEqual(owner.returncode, 130)
        stdout, stderr = waiting.communicate(timeout=20)
        self.assertEqual((waiting.returncode, stderr), (0, ""), stdout)
        self.assertTrue(os.path.exists(os.path.join(self.second, "row_fold.0.json")))

    def test_a_stop_signal_ends_the_wait(self):
        self.owner()
        waiting = subprocess.Popen(self.command(*self.run_second("--wait")), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(waiting.kill)
        waiting.stderr.readline()
        waiting.send_signal(signal.SIGTERM)
        stdout, stderr = waiting.communicate(timeout=10)
        self.assertEqual((waiting.returncode, stdout, stderr), (143, "", ""))
        self.assertFalse(os.path.exists(self.second))

    def test_a_killed_owner_locks_nobody_out(self):
        owner = self.owner()
        owner.kill()
        owner.wait()
        os.remove(self.path("hang"))
        result = self.strictbench(*self.run_second())
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_each_gpu_has_a_lock_of_its_own(self):
        gpu = {"gpu_name": "NVIDIA H200", "device": "cuda"}
        owner = self.owner(**gpu, gpu_uuid="GPU-1")
        self.assertIn("GPU-1 is being measured by", self.refused(*self.run_second()))
        for name, options in (("GPU-2", {**gpu, "gpu_uuid": "GPU-2"}), ("cpu", {})):
            fake_benchmark.install(self.path("other"), "row_fold", **options)
            out = self.path("out-" + name)
            result = self.strictbench("run", "--executables", self.path("other"), "--out", out, "--processes", "1")
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
        self.assertIsNone(owner.poll())
        self.assertEqual(sorted(os.listdir(self.path("locks"))),
                         [f"strictbench.{name}.lock" for name in ("GPU-1", "GPU-2", "cpu")])

    def play_gpus(self, cuda="13.0", **environment):
        """Other executables, of a build with CUDA, and two GPUs: GPU-fake and GPU-fake-1."""
        for name, value in {"STRICTBENCH_NVML": os.environ["FAKE_NVML"], "STRICTBENCH_FAKE_NVML": "gpus=2",
                            **environment}.items():
            self.addCleanup(os.environ.pop, name, None)
            os.environ[name] = value
        with open(os.path.join(self.path("other"), "build.json"), "w", encoding="utf-8") as stream:
            json.dump({"cuda_version": cuda} if cuda else {"compiler": "GNU"}, stream)

    def described(self):
        log = self.path("other", "calls.log")
        if not os.path.exists(log):
            return 0
        with open(log, encoding="utf-8") as stream:
            return sum("describes" in line for line in stream)

    def test_whoever_is_refused_has_asked_nothing_of_the_gpu(self):
        gpu = {"gpu_name": "NVIDIA H200", "device": "cuda"}
        owner = self.owner(**gpu, gpu_uuid="GPU-fake-1")
        fake_benchmark.install(self.path("other"), "row_fold", **gpu, gpu_uuid="GPU-fake-1", log_describe=True)
        for device, environment in ((["--device", "1"], {}), ([], {"CUDA_VISIBLE_DEVICES": "1"}),
                                    (["--device", "cuda"], {"CUDA_VISIBLE_DEVICES": "GPU-fake-1,0"})):
            self.play_gpus(**environment)
            line = self.refused(*self.run_second(*device, folder=self.path("other")))
            self.assertIn("GPU-fake-1 is being measured by", line)
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        self.assertEqual(self.described(), 0)
        # Where the driver's library does not tell it has to be asked, and is refused all the same.
        self.play_gpus(STRICTBENCH_FAKE_NVML="gpus=2 unlike=1")
        self.assertIn("GPU-fake-1 is being", self.refused(*self.run_second("--device", "1", folder=self.path("other"))))
        self.assertEqual(self.described(), 1)
        self.assertIsNone(owner.poll())

    def test_a_device_taken_for_another_is_given_back(self):
        self.play_gpus()
        for number, (options, cuda) in enumerate((
                ({"gpu_name": "NVIDIA H200", "device": "cuda", "gpu_uuid": "GPU-other"}, "13.0"), ({}, "13.0"))):
            fake_benchmark.install(self.path("other"), "row_fold", **options, behaviour="hang",
                                   while_exists=self.path("hang"))
            with open(self.path("hang"), "w", encoding="utf-8"):
                pass
            owner = subprocess.Popen(
                self.command("run", "--executables", self.path("other"), "--out", self.path(f"out{number}"),
                             "--processes", "1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
            self.addCleanup(owner.wait)
            self.addCleanup(owner.kill)
            self.assertTrue(wait_for(lambda: os.path.exists(self.path("other", "calls.log"))))
            self.install("row_fold", gpu_name="NVIDIA H200", device="cuda", gpu_uuid="GPU-fake")
            out = self.path(f"free{number}")
            result = self.strictbench("run", "--executables", self.bin, "--out", out, "--processes", "1", "--device", "0")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            os.remove(self.path("hang"))
            owner.kill()
            owner.wait()
            os.remove(self.path("other", "calls.log"))

    def test_a_build_without_cuda_takes_no_gpu(self):
        self.play_gpus()
        owner = self.owner(gpu_name="NVIDIA H200", device="cuda", gpu_uuid="GPU-fake")
        self.play_gpus(cuda="")
        fake_benchmark.install(self.path("other"), "row_fold")
        result = self.strictbench(*self.run_second(folder=self.path("other")))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIsNone(owner.poll())

    def test_scripts_that_measure_take_the_same_lock(self):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
        import device_lock
        self.install("row_fold", gpu_name="NVIDIA H200", device="cuda", gpu_uuid="GPU-1:2")
        with device_lock.device_lock("GPU-1:2"):
            self.assertRegex(self.refused(*self.run_second()), rf"GPU-1:2 is being measured by \S+, process {os.getpid()}, "
                                                               r"since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: .*run_locks_test")
        owner = self.owner(gpu_name="NVIDIA H200", device="cuda", gpu_uuid="GPU-1:2")
        with self.assertRaisesRegex(device_lock.Taken, rf"^GPU-1:2 is being measured by \S+, process {owner.pid}, since"):
            device_lock.device_lock("GPU-1:2").__enter__()

    def test_a_lock_that_cannot_be_is_one_line(self):
        self.install("row_fold")
        os.environ["STRICTBENCH_LOCKS"] = os.path.join(self.bin, "bench_row_fold", "inside")
        self.assertRegex(self.refused(*self.run_second()),
                         "^strictbench: cannot lock .*strictbench.cpu.lock: Not a directory; .*STRICTBENCH_LOCKS")
        locks = self.path("locks")
        os.mkdir(locks)
        os.environ["STRICTBENCH_LOCKS"] = locks
        os.symlink("/dev/null", os.path.join(locks, "strictbench.cpu.lock"))  # nobody's link is followed
        self.assertIn("cannot lock", self.refused(*self.run_second()))

    @unittest.skipIf(os.geteuid() != 0, "two users take root")
    def test_users_lock_each_other_out_and_in(self):
        nobody = 65534
        os.mkdir(self.path("locks"))
        for path, mode in ((self.folder, 0o777), (self.path("other"), 0o777), (self.path("locks"), 0o1777)):
            os.chmod(path, mode)
        fake_benchmark.install_quick(self.path("other"), "row_fold")
        command = self.command(*self.run_second(folder=self.path("other")))
        owner = self.owner()
        second = subprocess.run(command, user=nobody, capture_output=True, text=True, timeout=20, check=False)
        self.assertIn(f"being measured by root, process {owner.pid}", second.stderr)
        self.assertEqual(second.returncode, 2)
        owner.kill()
        owner.wait()
        os.remove(self.path("hang"))
        second = subprocess.run(command, user=nobody, capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual((second.returncode, second.stderr), (0, ""))


if __name__ == "__main__":
    runner_testing.main()
