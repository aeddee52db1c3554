"""Proves that whatever goes wrong in a run is named and costs nothing else.

Usage: run_faults_test.py STRICTBENCH [unittest arguments]
"""
import glob
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sys
import time
import xml.etree.ElementTree

import runner_testing
from runner_testing import gone, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "report" / "pictures"))

import result_folder  # noqa: E402  (found through the line above)


class RunFaultsTest(runner_testing.RunnerTestCase):
    # What goes wrong in a process

    def failing(self, behaviour, *arguments, **config):
        """Runs one good operator and one that misbehaves; the good one's results must stand."""
        self.install("good")
        self.install("bad", behaviour=behaviour, **config)
        result = self.run_bench("--processes", "1", *arguments)
        self.assertEqual(self.process("good")["status"], "ok")
        self.assertEqual(len(self.rows("good")), 2)
        self.assert_whole()
        self.assertEqual(glob.glob(os.path.join(self.out, "*.tmp")), [])
        self.assertEqual(self.record()["status"], "complete")
        return result, self.process("bad")

    def test_a_crash_names_the_case_and_keeps_the_rows_before_it(self):
        for name in ("SIGSEGV", "SIGABRT"):
            with self.subTest(name):
                result, process = self.failing(name)
                self.assertEqual(result.returncode, 1)
                self.assertEqual((process["status"], process["signal"]),
                                 ("crashed", int(getattr(signal, name))))
                self.assertIn(f"ended by {name} in bad/new/", process["reason"])
                self.assertIn("illegal address", process["reason"])
                self.assertEqual([problem["case"] for problem in process["problems"]], process["cases"][1:])
                self.assertEqual(len(self.rows("bad")), 1)
                self.assertIn("failed   bad/new/", result.stdout)
                shutil.rmtree(self.out)

    def test_the_cases_behind_one_that_kills_the_process_are_measured_all_the_same(self):
        variants = ["legacy", "one", "two", "three", "new"]
        self.install("bad", variants=variants, faults={"one": "SIGSEGV", "three": "hang"}, phases=["inputs", "check"])
        result = self.run_bench("--processes", "2", "--timeout", "1.5")
        self.assertEqual(result.returncode, 1)
        for number in range(2):
            process = self.process("bad", number)
            self.assertEqual(process["status"], "crashed")
            self.assertEqual([problem["case"].split("/")[1] for problem in process["problems"]], ["one", "three"])
            self.assertRegex(process["problems"][0]["reason"], "^ended by SIGSEGV in bad/one/.*illegal address")
            self.assertRegex(process["problems"][1]["reason"], "^ran past its time limit of 1.5 s in bad/three/")
            self.assertEqual(len(process["restarts"]), 2)
            rows = self.rows("bad", number)
            self.assertEqual([row["name"].split("/")[1] for row in rows], ["legacy", "two", "new"])
            self.assertEqual({row["process_of_test"] for row in rows}, {str(number)})
        self.assertEqual(self.starts(), [("bad", 0)] * 3 + [("bad", 1)] * 3)
        self.assert_whole()
        self.assertIn("(in 2 of 2 processes): ran past its time limit", result.stdout)
        self.assertIn("failed", self.strictbench("table", self.out).stdout)
        for case in result_folder.read(pathlib.Path(self.out)).cases.values():
            self.assertEqual({variant: measured.status() for variant, measured in case.items()},
                             {"legacy": "ok", "two": "ok", "new": "ok", "one": "failed", "three": "failed"})
            self.assertEqual(len(case["new"].medians()), 2)

    def test_one_that_exits_amid_a_case_has_failed_on_that_case(self):
        self.install("bad", variants=["legacy", "odd", "new"], faults={"odd": "exit 0"}, phases=["check"])
        self.assertEqual(self.run_bench("--processes", "1").returncode, 1)
        (problem,) = self.process("bad")["problems"]
        self.assertRegex(problem["reason"], r"^exited with code 0 in bad/odd/.* \(check\): left a result file that")
        self.assertEqual([row["name"].split("/")[1] for row in self.rows("bad")], ["legacy", "new"])

    def test_one_that_is_killed_from_outside_is_said_to_be(self):
        _, process = self.failing("SIGKILL")
        self.assertRegex(process["reason"],
                         r"^ended by SIGKILL in bad/new/.*, which strictbench did not send: out of memory\?")

    def test_a_machine_on_which_nothing_works_any_more_ends_the_starts(self):
        variants = [f"variant{number}" for number in range(30)]
        self.install("bad", variants=variants, faults=dict.fromkeys(variants, "SIGSEGV"), phases=["check"])
        self.assertEqual(self.run_bench("--processes", "1").returncode, 1)
        self.assertEqual(len(self.starts()), 6)
        problems = self.process("bad")["problems"]
        self.assertEqual(len(problems), 30)
        self.assertRegex(problems[0]["reason"], "^ended by SIGSEGV in bad/variant0/")
        self.assertRegex(problems[-1]["reason"], "^not measured, after starts in a row that ended without a result")
        self.assertFalse(os.path.exists(os.path.join(self.out, "bad.0.json")))

    def test_a_process_past_its_time_limit_is_ended_with_its_children(self):
        start = time.monotonic()
        result, process = self.failing("hang", "--timeout", "1.5")
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(process["status"], "timed_out")
        self.assertIn("ran past its time limit of 1.5 s in bad/new/", process["reason"])
        hung = next(call for call in self.calls() if "hangs" in call)
        self.assertTrue(gone(hung["hangs"]))
        self.assertTrue(wait_for(lambda: gone(hung["grandchild"])))
        self.assertIn("bad/new/", result.stdout)

    def test_a_process_that_never_stops_writing_is_ended_too(self):
        result, process = self.failing("chatter", "--timeout", "1.5")
        self.assertEqual((result.returncode, process["status"]), (1, "timed_out"))

    def test_nothing_that_a_process_started_outlives_it(self):
        self.install("row_fold", behaviour="leaves a child behind")
        self.assertEqual(self.run_bench("--processes", "1").returncode, 0)
        self.assertTrue(wait_for(lambda: gone(self.calls()[1]["grandchild"])))

    def test_bad_rows_are_told_with_their_reason(self):
        for behaviour, word, reason in (
                ("error row", "failed", "launch failed: no image"),
                ("check failed", "wrong", "check failed: index 7"),
                ("zero", "failed", "no usable time (0.0)"),
                ("missing row", "failed", "wrote no row")):
            with self.subTest(behaviour):
                result, process = self.failing(behaviour)
                self.assertEqual((result.returncode, process["status"]), (1, "failed"))
                self.assertEqual([(problem["case"], problem["state"]) for problem in process["problems"]],
                                 [(process["cases"][1], word)])
                self.assertRegex(result.stdout, f"(?m)^{word} +{re.escape(process['cases'][1])}: .*"
                                                + re.escape(reason))
                self.assertIn("4 cases, 1 process of each operator", result.stdout)
                self.assertIn(f"3 measured, 1 {word}", result.stdout)
                shutil.rmtree(self.out)

    def test_not_a_number_is_read_and_failed(self):
        self.install("row_fold", behaviour="nan")
        self.assertEqual(self.run_bench("--processes", "1").returncode, 1)
        process = self.process("row_fold")
        self.assertEqual(process["status"], "failed")
        self.assertIn("no usable time (not a number)", process["reason"])
        with open(os.path.join(self.out, "row_fold.0.json"), encoding="utf-8") as stream:
            self.assertIn("NaN", stream.read())  # kept as it was written

    def test_a_skipped_row_is_no_failure(self):
        result, process = self.failing("skipped")
        self.assertEqual((result.returncode, process["status"]), (0, "ok"))
        self.assertRegex(result.stdout, r"(?m)^skipped  bad/new/.*needs 3\.7 GB, 1\.0 GB free$")

    def test_a_file_cut_short_keeps_its_whole_rows(self):
        result, process = self.failing("cut short")
        self.assertEqual((result.returncode, process["status"]), (1, "failed"))
        self.assertIn("cannot be read", process["reason"])
        self.assertEqual(len(self.rows("bad")), 2)

    def test_an_exit_code_is_a_failure_whatever_the_rows_say(self):
        result, process = self.failing("exit 1 at the end")
        self.assertEqual((result.returncode, process["status"], process["exit_code"]), (1, "failed", 1))
        self.assertIn("cannot tear down", result.stdout)
        accepted = self.strictbench("accept", self.out, "--baselines", self.path("baselines"))
        self.assertEqual(accepted.returncode, 2)
        self.assertIn(self.out + ": 1 process did not end well; resume it first", accepted.stderr)
        shutil.rmtree(self.out)
        result, process = self.failing("exit 3 at once")
        self.assertEqual((result.returncode, process["status"], process["exit_code"]), (1, "failed", 3))
        self.assertEqual(len(process["problems"]), 2)
        self.assertFalse(os.path.exists(os.path.join(self.out, "bad.0.json")))
        self.assertRegex(result.stdout,
                         r"failed   bad/legacy/\S+ and 1 more: exited with code 3: out of memory")

    def test_compared_a_process_that_failed_behind_good_rows_is_no_pass_in_any_form(self):
        self.failing("exit 1 at the end")
        words = "a process failed behind its rows"
        baseline = os.path.join(self.out, "bad.0.json")  # a file says nothing of how its process ended
        sides = ("compare", "--baseline", baseline, "--contender", self.out, "--threshold", "0.2")
        text = self.strictbench(*sides)
        self.assertEqual(text.returncode, 1, text.stdout + text.stderr)
        self.assertTrue(text.stdout.startswith(f"regressed: {words}, "), text.stdout)
        document = json.loads(self.strictbench(*sides, "--format", "json").stdout)
        self.assertEqual((document["verdict"], document["exit_code"]), ("regressed", 1))
        self.assertFalse({row["verdict"] for row in document["rows"]} & {"slower", "missing", "failed", "wrong"})
        self.assertIn("cannot tear down", " ".join(document["notes"]))
        self.assertIn(f"**regressed: {words}", self.strictbench(*sides, "--format", "markdown").stdout)
        suite = xml.etree.ElementTree.fromstring(self.strictbench(*sides, "--format", "junit").stdout)[0]
        self.assertEqual((suite.get("failures"), suite.get("tests")), ("1", str(len(document["rows"]) + 1)))
        self.assertEqual([case.get("name") for case in suite if case.find("failure") is not None], ["the run"])
        told = self.strictbench(*sides, env={**os.environ, "GITHUB_ACTIONS": "true"}).stdout
        self.assertIn(f"::error title=strictbench::{words}\n", told)
        table = self.strictbench("table", self.out)
        self.assertEqual(table.returncode, 0)
        self.assertIn("cannot tear down", table.stdout)

    # Writing

    def test_a_full_disk_ends_the_run_in_one_line_and_keeps_the_files(self):
        self.install("row_fold", behaviour="run.json cannot be written", processes=[1])
        result = self.run_bench("--processes", "3")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn(os.path.join(self.out, "run.json"), result.stderr)
        self.assertIn("File exists", result.stderr)
        self.assertEqual(len(self.starts()), 2)
        self.assert_whole()
        self.assertEqual(len(self.rows("row_fold", 0)), 2)
        self.assertEqual(self.process("row_fold", 0)["status"], "ok")

    def test_an_executable_built_anew_during_the_run_ends_it(self):
        self.install("row_fold", seconds=0.2)
        runner = self.start("--processes", "3")
        self.assertTrue(wait_for(self.calls))
        self.install("row_fold", seconds=0.1)
        _, stderr = runner.communicate(timeout=10)
        self.assertEqual(runner.returncode, 1)
        self.assertIn("built anew", stderr)
        self.assertEqual(self.record()["status"], "interrupted")
        self.assertEqual([p["status"] for p in self.record()["processes"]], ["ok", "pending", "pending"])

    def test_an_executable_exchanged_for_one_of_equal_size_and_time_ends_it_too(self):
        self.install("row_fold", seconds=0.21)
        path = os.path.join(self.bin, "bench_row_fold")
        before = os.stat(path)
        runner = self.start("--processes", "3")
        self.assertTrue(wait_for(self.calls))
        another = self.path("another")
        with open(path, encoding="utf-8") as stream, open(another, "w", encoding="utf-8") as copy:
            copy.write(stream.read().replace("12.5", "13.5"))
        os.chmod(another, 0o755)
        os.utime(another, ns=(before.st_atime_ns, before.st_mtime_ns))
        os.rename(another, path)
        self.assertEqual((os.stat(path).st_size, os.stat(path).st_mtime_ns), (before.st_size, before.st_mtime_ns))
        _, stderr = runner.communicate(timeout=10)
        self.assertEqual((runner.returncode, stderr.count("\n")), (1, 1))
        self.assertIn("bench_row_fold was built anew or exchanged during the run", stderr)
        self.assertEqual([p["status"] for p in self.record()["processes"]], ["ok", "pending", "pending"])

    def test_too_few_open_files_are_one_line(self):
        with open(runner_testing.STRICTBENCH, "rb") as program:
            if b"__ubsan_handle" in program.read():
                self.skipTest("a sanitizer opens files to tell whether an object is one")
        self.install("row_fold")
        result = self.run_bench(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
        self.assert_unusable(result, "Too many open files")

    # Unusable input

    def test_unusable_input_is_one_line_and_nothing_is_written(self):
        self.install("row_fold")
        self.install("dw_gemm")
        self.assert_unusable(self.run_bench("--filter", "row_flod/new"),
                             "dw_gemm, row_fold", "row_fold/new/rows")
        self.assert_unusable(self.run_bench("--filter", "zzzzzz"), "dw_gemm, row_fold")
        self.assert_unusable(self.run_bench("--device", "banana"), "banana", "cpu, cuda")
        self.assert_unusable(self.run_bench("--device", "cuda"), "--device cuda: no GPU here")
        for option in ("--processes", "--budget", "--timeout"):
            for value in ("0", "-1", "nan", "many"):
                self.assert_unusable(self.run_bench(option, value), option)
        self.assert_unusable(self.run_bench("--no-such-option"), "--no-such-option")
        self.assertEqual(self.calls(), [])

    def test_a_description_of_the_build_that_is_nested_without_end_is_one_line(self):
        self.install("row_fold")
        with open(os.path.join(self.bin, "build.json"), "w", encoding="utf-8") as stream:
            stream.write('{"git_commit": "abc", "more": ' + "[" * 300000 + "]" * 300000 + "}")
        self.assert_unusable(self.run_bench(), "build.json is not the description of a build", "nested more than 200 deep")

    def test_broken_executables_are_named(self):
        empty = self.path("empty")
        os.mkdir(empty)
        for folder in (empty, empty + "x"):
            self.assert_unusable(self.strictbench("run", "--out", self.out, "--executables", folder), folder)
        another = json.dumps({"operator": "another", "device": "cpu", "build_type": "release", "cases": []})
        for answer in ("garbage", "{}", another):
            self.install("row_fold", describe=answer)
            self.assert_unusable(self.run_bench(), "bench_row_fold")

    def test_a_debug_build_is_refused_unless_allowed(self):
        self.install("row_fold", build_type="debug")
        self.assert_unusable(self.run_bench(), "bench_row_fold", "debug", "--allow-debug")
        self.assertEqual(self.run_bench("--allow-debug", "--processes", "1").returncode, 0)

    def test_executables_without_cases_are_told_apart_from_a_filter_that_finds_none(self):
        self.install("row_fold", variants=[])
        for command in ((self.run_bench,), (self.strictbench, "list", "--executables", self.bin)):
            result = command[0](*command[1:])
            self.assert_unusable(result, "no cases: row_fold", "bench_row_fold --describe")
            self.assertNotIn("''", result.stderr)

    def test_an_output_folder_that_cannot_be(self):
        self.install("row_fold")
        os.mkdir(self.out)
        with open(os.path.join(self.out, "precious"), "w", encoding="utf-8"):
            pass
        result = self.run_bench()
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
        self.assertIn("exists already", result.stderr)
        self.assertEqual(os.listdir(self.out), ["precious"])
        self.out = os.path.join(self.out, "precious", "inside")
        self.assert_unusable(self.run_bench(), self.out, "Not a directory")
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    runner_testing.main()
