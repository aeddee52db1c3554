"""Proves what `strictbench run` does when all goes well, and what a person sees of it.

Usage: run_test.py STRICTBENCH [unittest arguments]
"""
import hashlib
import json
import os
import shutil
import subprocess

import runner_testing


class RunTest(runner_testing.RunnerTestCase):
    # What a run does

    def test_every_operator_is_measured_in_processes_of_its_own(self):
        for operator in ("row_fold", "dw_gemm"):
            self.install(operator)
        result = self.run_bench("--processes", "2")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual(sorted(self.starts()),
                         [("dw_gemm", 0), ("dw_gemm", 1), ("row_fold", 0), ("row_fold", 1)])
        record = self.record()
        self.assertEqual(record["status"], "complete")
        self.assertEqual([p["status"] for p in record["processes"]], ["ok"] * 4)
        self.assertEqual([p["process"] for p in record["processes"]], [0, 0, 1, 1])
        self.assertEqual([(p["operator"], p["process"]) for p in record["processes"]], self.starts())
        for process in record["processes"]:
            self.assertEqual(process["exit_code"], 0)
            self.assertEqual(len(process["cases"]), 2)
            rows = self.rows(process["operator"], process["process"])
            self.assertEqual([row["process_of_test"] for row in rows], [str(process["process"])] * 2)
            self.assertEqual([row["run_name"].replace("/manual_time", "") for row in rows], process["cases"])
        self.assertEqual(sorted(os.listdir(self.out)),
                         ["dw_gemm.0.json", "dw_gemm.1.json", "row_fold.0.json", "row_fold.1.json",
                          "run.json", "summary.json"])

    def test_the_summary_is_the_run_in_one_file(self):
        self.install("row_fold", variants=["legacy", "bad", "new"], behaviour="error row")
        self.assertEqual(self.run_bench("--processes", "2").returncode, 1)
        with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as stream:
            rows = json.load(stream)["benchmarks"]
        self.assertEqual([(row["name"].split("/")[1], row.get("process"), "error_message" in row) for row in rows],
                         [("legacy", 0, False), ("legacy", 1, False), ("bad", None, True), ("new", 0, False),
                          ("new", 1, False)])
        self.assertEqual({row["real_time"] for row in rows if "process" in row}, {12500})
        # The folder is still read by its process files.
        table = self.strictbench("table", self.out)
        os.remove(os.path.join(self.out, "summary.json"))
        self.assertEqual(self.strictbench("table", self.out).stdout, table.stdout)

    def test_a_summary_that_cannot_be_written_costs_nothing(self):
        self.install("row_fold", behaviour="summary cannot be written")
        result = self.run_bench("--processes", "1")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("no summary.json: ", result.stderr)
        self.assertEqual([name for name in os.listdir(self.out) if name.endswith(".tmp")], [])
        self.assertEqual(self.record()["status"], "complete")

    def test_the_record_says_what_was_asked_and_where(self):
        self.install("row_fold")
        with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
            json.dump({"git_commit": "0123456789abcdef", "git_dirty": True, "build_type": "release"}, stream)
        self.run_bench("--processes", "1", "--filter", "legacy")
        record = self.record()
        self.assertEqual(record["command"][-4:], ["--processes", "1", "--filter", "legacy"])
        self.assertEqual(record["options"]["filter"], "legacy")
        self.assertEqual((record["commit"], record["dirty"]), ("0123456789abcdef", True))
        self.assertEqual(record["build"]["build_type"], "release")
        self.assertEqual(record["device"], "cpu")
        self.assertIsInstance(record["seed"], int)
        for when in ("before", "after"):
            self.assertEqual(record["machine"][when]["host"], os.uname().nodename)
            self.assertEqual(len(record["machine"][when]["load_average"]), 3)
        for when in ("started_utc", "finished_utc"):
            self.assertRegex(record[when], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_a_process_gets_its_flags_and_a_clean_start(self):
        self.install("row_fold")
        self.run_bench("--processes", "1", "--filter", "new", "--device", "cpu")
        (call,) = self.calls()
        with open(os.path.join(self.bin, "bench_row_fold"), "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
        self.assertEqual(call["flags"], {
            "--device": "cpu", "--benchmark_filter": "new", "--benchmark_out_format": "json",
            "--benchmark_out": os.path.join(self.out, "row_fold.0.json.tmp"),
            "--oracle-cache": os.path.join(self.out, ".scratch", "oracle"), "--progress-fd": "3",
            "--benchmark_context": "process_index=0,binary_sha256=" + digest})
        self.assertEqual(call["group"], call["pid"])  # a group of its own
        self.assertEqual(call["blocked"], [])
        self.assertEqual(call["input"], "")
        self.assertTrue(call["oracle"])

    def test_the_device_names_the_folder_and_the_process(self):
        self.install("row_fold", variants=["new"], gpu_name="NVIDIA H100 80GB HBM3", device="cuda")
        self.assertEqual(self.run_bench("--processes", "2").returncode, 0)
        self.assertEqual(self.record()["device"], "h100-80gb-hbm3")
        self.assertEqual({call["flags"]["--device"] for call in self.calls()}, {"cuda"})

    def test_the_result_folder_is_named_for_time_commit_and_device(self):
        self.install("row_fold", gpu_name="NVIDIA H200", device="cuda")
        tree = self.path("tree", "deep", "inside")
        os.makedirs(tree)
        arguments = ("run", "--executables", self.bin, "--processes", "1")
        self.assertEqual(self.strictbench(*arguments, cwd=tree).returncode, 0)
        (name,) = os.listdir(os.path.join(tree, "results"))
        self.assertRegex(name, r"^\d{8}T\d{6}Z_nocommit_h200$")
        os.mkdir(self.path("tree", "baselines"))
        os.mkdir(self.path("tree", "results"))
        with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
            json.dump({"git_commit": "0123456789abcdef", "git_dirty": True}, stream)
        for _ in range(2):  # two in one second get two names
            self.assertEqual(self.strictbench(*arguments, cwd=tree).returncode, 0)
        names = os.listdir(self.path("tree", "results"))
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, r"^\d{8}T\d{6}Z_0123456789-dirty_h200(-2)?$")

    def test_no_round_begins_that_would_pass_the_budget(self):
        self.install("row_fold", seconds=0.15)
        result = self.run_bench("--processes", "9", "--budget", "1.3")
        self.assertEqual(result.returncode, 0)
        count = len(self.starts())
        seconds = [process["seconds"] for process in self.record()["processes"]]
        # The first round also prepares what later ones share: it foretells a second one only.
        foretold = [sum(seconds[:n]) + max(seconds[1:n] or seconds[:1]) for n in range(1, count + 1)]
        self.assertLess(count, 9)
        self.assertGreater(foretold[-1], 1.3)
        for spent in foretold[:-1]:
            self.assertLessEqual(spent, 1.3)
        self.assertIn(f"stopped after {count} of 9 processes", result.stdout)
        self.assertEqual(self.record()["status"], "complete")
        self.assertEqual(len(self.record()["processes"]), count)

    def test_one_round_always_runs(self):
        self.install("row_fold")
        self.install("dw_gemm")
        self.assertEqual(self.run_bench("--budget", "0.001").returncode, 0)
        self.assertEqual(sorted(self.starts()), [("dw_gemm", 0), ("row_fold", 0)])

    # What a person sees

    def test_a_pipe_sees_no_progress(self):
        self.install("row_fold")
        result = self.run_bench("--processes", "1")
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\r", result.stdout)
        self.assertNotIn("\x1b", result.stdout)
        self.assertEqual(result.stdout.splitlines()[0],
                         "measuring 2 cases of 1 operator on the CPU, up to 1 process each")
        self.assertEqual(result.stdout.splitlines()[-2:],
                         [self.out, f"next: {runner_testing.STRICTBENCH} table {self.out}"])

    def test_a_terminal_sees_one_line_that_moves(self):
        self.install("row_fold", seconds=0.3)
        seen, stdout = self.on_terminal("xterm", "--processes", "2")
        self.assertIn("row_fold/legacy/rows:64", seen)
        self.assertIn("row_fold/new/rows:64", seen)
        self.assertRegex(seen, r"3 cases left, \d\.\d s \+ about \d\.\d s  row_fold/new")
        self.assertNotIn("\n", seen)
        self.assertTrue(seen.endswith("\r\x1b[K"))
        self.assertNotIn("\r", stdout)

    def test_a_dumb_terminal_sees_nothing(self):
        self.install("row_fold")
        self.assertEqual(self.on_terminal("dumb", "--processes", "2")[0], "")

    def test_a_reader_that_goes_away_does_not_cost_the_run(self):
        self.install("row_fold")
        runner = self.start("--processes", "2")
        runner.stdout.close()
        self.assertEqual(runner.wait(timeout=10), 0)
        self.assertEqual(self.record()["status"], "complete")

    def test_empty_values_unknown_commands_and_endless_plans_are_refused(self):
        self.install("row_fold")
        for option in ("--out", "--resume", "--device"):
            self.assert_unusable(self.strictbench("run", option, ""), option)
        self.assert_unusable(self.strictbench("frobnicate"), "frobnicate", "compare")
        self.assert_unusable(self.run_bench("--processes", "2147483647"), "--processes", "1000")
        self.assertEqual(self.calls(), [])

    def test_output_that_cannot_be_written_is_no_success(self):
        self.install("row_fold")
        for words in (("list", "--executables", self.bin), ("run", "--help"), ("--help",), ("--version",)):
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([runner_testing.STRICTBENCH, *words], stdout=full,
                                        stderr=subprocess.PIPE, text=True, check=False, timeout=60)
                self.assertEqual(result.returncode, 2)
                self.assertIn("standard output", result.stderr)

    def test_the_version_is_the_commit_and_the_build(self):
        program = os.path.join(self.bin, "strictbench")
        shutil.copy(runner_testing.STRICTBENCH, program)

        def version():
            return subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)

        self.assertEqual(version().stdout, "strictbench, of a build unknown: no build.json stands beside it\n")
        for build, text in (({"git_commit": "c0ffee", "git_dirty": True, "build_type": "release",
                              "compiler": "GNU 12.2.0", "cuda_version": "13.0.88"},
                             "strictbench c0ffee-dirty, release, GNU 12.2.0, CUDA 13.0.88\n"),
                            ({"compiler": "GNU 12.2.0"}, "strictbench of a commit unknown, GNU 12.2.0\n")):
            with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
                json.dump(build, stream)
            self.assertEqual((version().returncode, version().stdout), (0, text))
        for text in ("[", "[]", '{"git_commit": 5}'):
            with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
                stream.write(text)
            result = version()
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))
            self.assertIn("build.json", result.stderr)
            self.assertNotIn("json.exception", result.stderr)

    def test_a_folder_may_be_named_with_a_slash_behind_it(self):
        self.install("row_fold")
        for end in ("/", "//", "/.", "/./"):
            self.out = self.path("deep", "out" + str(len(end)) + end.count(".") * "x") + end
            result = self.run_bench("--processes", "1")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.record()["status"], "complete")
        self.out = self.path("nowhere") + "/.."
        result = self.run_bench()
        self.assertEqual(result.returncode, 2)
        self.assertIn("ends in '..'", result.stderr)
        self.assertFalse(os.path.exists(self.path("nowhere")))


if __name__ == "__main__":
    runner_testing.main()
