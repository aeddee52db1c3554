"""Proves what `strictbench run --kernels` records, when, and what it does where that fails.

Usage: run_kernels_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import signal

import runner_testing
from runner_testing import wait_for

GPU = {"gpu_name": "NVIDIA H200", "device": "cuda"}


class RunKernelsTest(runner_testing.RunnerTestCase):
    def recordings(self):
        return [call for call in self.calls() if "kernels" in call]

    def kernels(self, operator):
        return next(entry for entry in self.record()["kernels"] if entry["operator"] == operator)

    def test_one_more_process_of_each_operator_after_all_timing(self):
        for operator in ("row_fold", "dw_gemm"):
            self.install(operator, **GPU)
        result = self.run_bench("--processes", "2", "--kernels", "--filter", "timer:")  # cpu and wall of each
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual([("kernels" in call) for call in self.calls()], [False] * 4 + [True] * 2)
        self.assertFalse(any("--kernels" in call["flags"] for call in self.calls() if "flags" in call))
        for call in self.recordings():
            flags = call["kernels"]
            self.assertEqual(sorted(flags), ["--cases", "--device", "--kernels", "--oracle-cache"])
            self.assertEqual(flags["--kernels"], os.path.join(self.out, call["operator"] + ".kernels.json"))
            self.assertEqual(flags["--device"], "cuda")
            self.assertTrue(call["oracle"])
            self.assertLessEqual({f"{call['operator']}.{process}.json" for process in (0, 1)}, set(call["measured"]))
        with open(os.path.join(self.out, "row_fold.kernels.json"), encoding="utf-8") as stream:
            names = [case["name"] for case in json.load(stream)["cases"]]
        self.assertEqual(names, [f"row_fold/{variant}/rows:64/cols:128/dtype:fp32/timer:cpu"
                                 for variant in ("legacy", "new")])
        entry = self.kernels("row_fold")
        self.assertEqual((entry["status"], entry["file"], entry["cases"], entry["exit_code"]),
                         ("ok", "row_fold.kernels.json", names, 0))
        self.assertNotIn("process", entry)
        self.assertTrue(self.record()["options"]["kernels"])
        self.assertEqual(len(self.record()["processes"]), 4)
        self.assertFalse(os.path.exists(os.path.join(self.out, ".scratch")))

    def test_what_is_said_at_the_end_can_be_typed(self):
        self.install("row_fold", **GPU)
        result = self.run_bench("--processes", "1", "--kernels")
        line = result.stdout.splitlines()[-1]
        self.assertTrue(line.strip().startswith(runner_testing.STRICTBENCH + " kernels --before "), result.stdout)
        table = self.strictbench(*line.split()[1:], "--format", "json")
        self.assertEqual(json.loads(table.stdout)["total"]["speedup"], 1)

    def test_readers_of_the_folder_do_not_see_it(self):
        self.install("row_fold", **GPU)
        self.assertEqual(self.run_bench("--processes", "2", "--kernels").returncode, 0)
        with_kernels = self.strictbench("table", self.out).stdout
        with open(os.path.join(self.out, "row_fold.kernels.json"), "w", encoding="utf-8") as stream:
            stream.write("nobody reads this")
        self.assertEqual(self.strictbench("table", self.out).stdout, with_kernels)
        self.assertNotIn("note", with_kernels)

    def test_a_failure_is_named_and_loses_no_times(self):
        for behaviour, word in (("exit 1", "CUPTI says no"), ("nothing", "left no record of kernels")):
            with self.subTest(behaviour):
                self.out = self.path("out " + behaviour)
                self.install("dw_gemm", **GPU)
                self.install("row_fold", kernels=behaviour, **GPU)
                result = self.run_bench("--processes", "1", "--kernels")
                self.assertEqual(result.returncode, 1)
                self.assertIn("kernels   row_fold: not all recorded: ", result.stdout)
                self.assertIn(word, result.stdout)
                self.assertEqual(self.kernels("row_fold")["status"], "failed")
                self.assertIn(word, self.kernels("row_fold")["reason"])
                self.assertEqual(self.kernels("dw_gemm")["status"], "ok")
                self.assertEqual(self.record()["status"], "complete")
                self.assertEqual([process["status"] for process in self.record()["processes"]], ["ok", "ok"])
                self.assertEqual(self.strictbench("table", self.out).returncode, 0)

    def test_a_case_that_failed_its_check_is_named_and_fails_the_run(self):
        with open(self.path("broken"), "w", encoding="utf-8"):
            pass
        self.install("row_fold", kernels="check failed: 3 of 9\x1b[31m", while_exists=self.path("broken"), **GPU)
        result = self.run_bench("--processes", "1", "--kernels", "--filter", "timer:cpu")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "".join(
            f"strictbench: no kernels of row_fold/{variant}/rows:64/cols:128/dtype:fp32/timer:cpu: "
            "check failed: 3 of 9\\x1b[31m\n" for variant in ("legacy", "new")))
        entry = self.kernels("row_fold")
        self.assertEqual((entry["status"], entry["exit_code"]), ("failed", 0))
        self.assertEqual([problem["state"] for problem in entry["problems"]], ["wrong", "wrong"])
        self.assertEqual(self.strictbench("table", self.out).returncode, 0)  # its times are none the worse
        os.remove(self.path("broken"))
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(self.kernels("row_fold").get("problems", []), [])

    def test_a_record_that_cannot_be_read_is_a_failure(self):
        for behaviour, word in (("garbage", "parse error"), ("deep", "nested more than 200 deep")):
            with self.subTest(behaviour):
                self.out = self.path("out " + behaviour)
                self.install("row_fold", kernels=behaviour, **GPU)
                result = self.run_bench("--processes", "1", "--kernels")
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("cannot be read", self.kernels("row_fold")["reason"])
                self.assertIn(word, self.kernels("row_fold")["reason"])
                self.assertEqual(self.record()["status"], "complete")

    def test_the_time_limit_and_resume(self):
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        self.install("row_fold", kernels="hang", while_exists=self.path("hang"), **GPU)
        result = self.run_bench("--processes", "1", "--kernels", "--timeout", "0.5")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.kernels("row_fold")["status"], "timed_out")
        self.assertEqual(sorted(os.listdir(self.out)), ["row_fold.0.json", "run.json", "summary.json"])
        os.remove(self.path("hang"))
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(self.kernels("row_fold")["status"], "ok")
        self.assertEqual(self.starts(), [("row_fold", 0)])
        self.assertIn("nothing to do", self.strictbench("run", "--resume", self.out).stdout)
        self.assertEqual(len(self.recordings()), 2)

    def test_a_stop_signal(self):
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        self.install("row_fold", kernels="hang", while_exists=self.path("hang"), **GPU)
        runner = self.start("--processes", "1", "--kernels")
        self.assertTrue(wait_for(self.recordings))
        runner.send_signal(signal.SIGTERM)
        runner.communicate(timeout=10)
        self.assertEqual(runner.returncode, 143)
        self.assertEqual(self.kernels("row_fold")["status"], "pending")
        self.assertEqual(self.process("row_fold")["status"], "ok")
        self.assertEqual(sorted(os.listdir(self.out)), ["row_fold.0.json", "run.json"])

    def test_a_cpu_is_refused_at_once(self):
        self.install("row_fold")
        self.assert_unusable(self.run_bench("--kernels"), "--kernels", "GPU")
        self.assertEqual(self.calls(), [])
        self.assert_unusable(self.strictbench("run", "--resume", "x", "--kernels"), "--kernels")


if __name__ == "__main__":
    runner_testing.main()
