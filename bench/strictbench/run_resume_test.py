"""Proves that a run that is stopped or killed loses nothing finished, and can be resumed.

Usage: run_resume_test.py STRICTBENCH [unittest arguments]
"""
import copy
import json
import os
import random
import shutil
import signal
import subprocess
import time

import runner_testing
from runner_testing import gone, wait_for


class RunResumeTest(runner_testing.RunnerTestCase):
    # Signals

    def hanging(self, **options):
        """A run whose first process is done and whose second hangs."""
        self.install("row_fold", behaviour="hang", processes=[1], while_exists=self.path("hang"))
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        process = self.start("--processes", "3", **options)
        self.assertTrue(wait_for(lambda: any("hangs" in call for call in self.calls())))
        hung = next(call for call in self.calls() if "hangs" in call)
        return process, hung

    def test_a_stop_signal_ends_the_child_and_keeps_what_is_finished(self):
        for name, code in (("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)):
            with self.subTest(name):
                runner, hung = self.hanging()
                runner.send_signal(getattr(signal, name))
                stdout, stderr = runner.communicate(timeout=10)
                self.assertEqual(runner.returncode, code)
                self.assertEqual(stderr, "")
                self.assertTrue(gone(hung["hangs"]))
                self.assertTrue(wait_for(lambda: gone(hung["grandchild"])))
                self.assertEqual(self.record()["status"], "interrupted")
                self.assertEqual([p["status"] for p in self.record()["processes"]],
                                 ["ok", "pending", "pending"])
                self.assertEqual(len(self.rows("row_fold", 0)), 2)
                self.assertEqual(sorted(os.listdir(self.out)), ["row_fold.0.json", "run.json"])
                self.assertIn(runner_testing.STRICTBENCH + " run --resume " + self.out, stdout)
                shutil.rmtree(self.out)
                os.remove(os.path.join(self.bin, "calls.log"))

    def test_a_stop_signal_behind_a_crash_leaves_the_whole_process_to_be_measured(self):
        self.install("row_fold", variants=["legacy", "one", "two", "new"], faults={"one": "SIGSEGV", "two": "hang"},
                     phases=["check"], while_exists=self.path("fault"))
        with open(self.path("fault"), "w", encoding="utf-8"):
            pass
        runner = self.start("--processes", "1")
        self.assertTrue(wait_for(lambda: any("hangs" in call for call in self.calls())))
        runner.send_signal(signal.SIGTERM)
        stdout, stderr = runner.communicate(timeout=10)
        self.assertEqual((runner.returncode, stderr), (143, ""))
        process = self.process("row_fold")
        self.assertEqual(process["status"], "pending")
        self.assertFalse({"reason", "signal", "restarts", "problems"} & set(process))
        self.assertNotIn("failed", stdout)
        self.assertEqual(os.listdir(self.out), ["run.json"])
        os.remove(self.path("fault"))
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(len(self.rows("row_fold")), 4)

    def test_a_run_stopped_before_its_first_process_ended_offers_to_resume_alone(self):
        self.install("row_fold", behaviour="hang", while_exists=self.path("hang"))
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        runner = self.start("--processes", "2")
        self.assertTrue(wait_for(lambda: any("hangs" in call for call in self.calls())))
        runner.send_signal(signal.SIGTERM)
        stdout, stderr = runner.communicate(timeout=10)
        self.assertEqual((runner.returncode, stderr), (143, ""))
        self.assertEqual([line for line in stdout.splitlines() if " table " in line], [])
        self.assertRegex(stdout, rf"\nnext: {runner_testing.STRICTBENCH} run --resume {self.out}   # measures")
        os.remove(self.path("hang"))
        self.assertIn(" table " + self.out, self.strictbench("run", "--resume", self.out).stdout)

    def test_what_was_never_started_is_not_called_measured(self):
        self.install("dw_gemm")
        runner, _ = self.hanging()
        runner.send_signal(signal.SIGTERM)
        stdout, _ = runner.communicate(timeout=10)
        left = [p for p in self.record()["processes"] if p["status"] == "pending"]
        started = {p["operator"] for p in self.record()["processes"] if p["status"] != "pending"}
        self.assertTrue(left)
        self.assertIn(f"{2 * len(started)} measured", stdout)
        self.assertIn(f"{len(left)} process{'es' if len(left) > 1 else ''} not run", stdout)
        if len(started) == 1:
            self.assertIn("2 not started", stdout)

    def test_a_lost_or_cut_off_file_is_measured_again(self):
        self.install("row_fold")
        self.assertEqual(self.run_bench("--processes", "2").returncode, 0)
        os.remove(os.path.join(self.out, "row_fold.0.json"))
        with open(os.path.join(self.out, "row_fold.1.json"), "r+", encoding="utf-8") as stream:
            stream.truncate(300)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0)
        self.assertIn("row_fold.0.json is gone: measured again", result.stderr)
        self.assertIn("row_fold.1.json is not whole: measured again", result.stderr)
        self.assertEqual(len(self.starts()), 4)
        self.assert_whole()

    def test_what_lies_in_the_place_of_a_file_is_measured_again_or_refused(self):
        self.install("row_fold")
        self.install("embedding_forward")
        self.assertEqual(self.run_bench("--processes", "1").returncode, 0)
        own, other = (os.path.join(self.out, f"{name}.0.json") for name in ("row_fold", "embedding_forward"))
        shutil.copy(other, own)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("row_fold.0.json holds rows of another operator: measured again", result.stderr)
        self.assertEqual(len(self.rows("row_fold", 0)), 2)
        for name, what in (("/dev/zero", "is not whole"), (self.path("sparse"), "is not whole")):
            with self.subTest(name):
                with open(self.path("sparse"), "wb") as stream:
                    stream.truncate(50 << 30)
                os.remove(own)
                os.symlink(name, own)
                result = self.strictbench("run", "--resume", self.out)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"row_fold.0.json {what}: measured again", result.stderr)
                self.assertFalse(os.path.islink(own))
        os.remove(own)
        os.mkdir(own)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
        self.assertIn("row_fold.0.json is a folder, where a process's results belong: move it away", result.stderr)

    def test_a_wrong_result_is_not_measured_until_it_is_right(self):
        self.install("row_fold", behaviour="check failed", processes=[1])
        self.assertEqual(self.run_bench("--processes", "3").returncode, 1)
        self.install("row_fold", behaviour="check failed", processes=[1])  # the same file: the same build
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(self.starts()), 3)
        self.assertIn("check failed", result.stdout)

    def test_a_record_without_processes_has_nothing_to_resume(self):
        self.install("row_fold")
        self.run_bench("--processes", "1")
        path = os.path.join(self.out, "run.json")
        with open(path, encoding="utf-8") as stream:
            record = json.load(stream)
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({**record, "processes": []}, stream)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "run.json lists no processes")

    def test_a_signal_ignored_from_the_start_stays_ignored(self):
        self.install("row_fold", seconds=0.1)
        runner = self.start("--processes", "2",
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertTrue(wait_for(self.calls))
        runner.send_signal(signal.SIGHUP)
        runner.communicate(timeout=10)
        self.assertEqual(runner.returncode, 0)

    def test_a_killed_run_leaves_no_child_and_can_be_resumed(self):
        runner, hung = self.hanging()
        runner.kill()
        runner.wait()
        self.assertTrue(wait_for(lambda: gone(hung["hangs"])))
        self.assertTrue(wait_for(lambda: gone(hung["grandchild"])))
        self.assert_whole()
        self.assertEqual([p["status"] for p in self.record()["processes"]], ["ok", "running", "pending"])
        os.remove(self.path("hang"))
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.starts(), [("row_fold", number) for number in (0, 1, 1, 2)])
        self.assertEqual(self.record()["status"], "complete")
        self.assertEqual(sorted(os.listdir(self.out)),
                         ["row_fold.0.json", "row_fold.1.json", "row_fold.2.json", "run.json", "summary.json"])

    def test_killed_at_random_moments_and_resumed_no_row_is_lost_or_doubled(self):
        for operator in ("row_fold", "dw_gemm"):
            self.install(operator, seconds=0.01)
        moments = random.Random(7)
        runner = self.start("--processes", "4")
        self.assertTrue(wait_for(lambda: os.path.exists(os.path.join(self.out, "run.json"))))
        for _ in range(6):
            time.sleep(moments.uniform(0, 0.3))
            runner.kill()
            runner.wait()
            self.assert_whole()
            done = {(p["operator"], p["process"]) for p in self.record()["processes"] if p["status"] == "ok"}
            started = len(self.starts())
            runner = subprocess.Popen(self.command("run", "--resume", self.out), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            wait_for(lambda: len(self.starts()) > started or runner.poll() is not None)
            self.assertFalse(done & set(self.starts()[started:]))
        self.assertEqual(runner.wait(timeout=20), 0)
        record = self.record()
        self.assertEqual(record["status"], "complete")
        self.assertEqual(sorted((p["operator"], p["process"]) for p in record["processes"]),
                         [(operator, number) for operator in ("dw_gemm", "row_fold") for number in range(4)])
        for process in record["processes"]:
            rows = self.rows(process["operator"], process["process"])
            self.assertEqual([row["run_name"].replace("/manual_time", "") for row in rows], process["cases"])
        self.assertEqual(len(os.listdir(self.out)), 10)

    # Resume

    def test_a_complete_run_is_left_alone(self):
        self.install("row_fold")
        self.run_bench("--processes", "1")
        with open(os.path.join(self.out, "run.json"), encoding="utf-8") as stream:
            before = stream.read()
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(self.starts()), 1)
        with open(os.path.join(self.out, "run.json"), encoding="utf-8") as stream:
            self.assertEqual(stream.read(), before)

    def test_what_was_not_ok_is_measured_again_with_the_recorded_options(self):
        self.install("good")
        self.install("bad", behaviour="SIGSEGV", while_exists=self.path("fault"))
        with open(self.path("fault"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.run_bench("--processes", "1", "--filter", "dtype:fp32").returncode, 1)
        self.assertEqual(len(self.rows("bad")), 1)
        os.remove(self.path("fault"))
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(sorted(self.starts()), [("bad", 0), ("bad", 0), ("good", 0)])
        self.assertEqual(self.calls()[-1]["flags"]["--benchmark_filter"], "dtype:fp32")
        self.assertEqual(len(self.rows("bad")), 2)
        self.assertNotIn("signal", self.process("bad"))
        self.assertNotIn("problems", self.process("bad"))

    def refuse_resume(self, *words):
        before = self.record()
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(self.record(), before)

    def test_a_changed_build_or_machine_is_refused(self):
        self.install("row_fold", behaviour="error row")
        self.run_bench("--processes", "1")
        unchanged = self.record()
        for part in ("host", "cpu_model"):
            record = copy.deepcopy(unchanged)
            record["machine"]["before"][part] = "another"
            with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
                json.dump(record, stream)
            self.refuse_resume(part, "another")
        self.install("row_fold", behaviour="ok")
        self.refuse_resume("bench_row_fold", "built anew")
        os.remove(os.path.join(self.bin, "bench_row_fold"))
        self.refuse_resume("bench_row_fold", "gone")
        self.assertEqual(len(self.starts()), 1)

    def test_a_restart_of_the_machine_is_another_session_and_is_said(self):
        self.install("good")
        self.install("bad", behaviour="SIGSEGV", while_exists=self.path("fault"))
        with open(self.path("fault"), "w", encoding="utf-8"):
            pass
        self.run_bench("--processes", "1")
        os.remove(self.path("fault"))
        record = self.record()
        self.assertTrue(record["machine"]["before"]["boot_id"])
        record["machine"]["before"]["boot_id"] = "another"
        with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
            json.dump(record, stream)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("after a restart of the machine: what follows is another session", result.stdout)
        self.assertEqual(sorted(self.starts()), [("bad", 0), ("bad", 0), ("good", 0)])

    def test_a_changed_gpu_is_refused(self):
        self.install("row_fold", behaviour="error row", gpu_name="NVIDIA H200", device="cuda")
        self.run_bench("--processes", "1")
        record = self.record()
        record["executables"]["row_fold"]["gpu_name"] = "NVIDIA H100 80GB HBM3"
        with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
            json.dump(record, stream)
        self.refuse_resume("NVIDIA H100 80GB HBM3", "NVIDIA H200")

    def test_two_runs_do_not_share_a_folder(self):
        runner, _ = self.hanging()
        self.refuse_resume("is being written by strictbench, process " + str(runner.pid))
        result = self.run_bench()
        self.assertEqual(result.returncode, 2)
        self.assertIn("exists already", result.stderr)

    def test_what_is_no_run_is_not_resumed(self):
        os.mkdir(self.out)
        for text in (None, "", "[]", "{}", '{"format": 1, "status": "complete"}', '{"format": 2}'):
            if text is not None:
                with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
                    stream.write(text)
            result = self.strictbench("run", "--resume", self.out)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(os.path.join(self.out, "run.json"), result.stderr)
        result = self.strictbench("run", "--resume", self.out, "--processes", "3")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--resume takes every option from the folder's run.json: leave out --processes",
                      result.stderr)


if __name__ == "__main__":
    runner_testing.main()
