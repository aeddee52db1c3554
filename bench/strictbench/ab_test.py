"""Proves that `strictbench ab` measures two builds by turns and says what changed between them.

Usage: ab_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import fake_benchmark
import runner_testing
from runner_testing import gone, wait_for

QUIET = [f"quiet{number}" for number in range(8)]
NOISE = {name: 0.0005 for name in QUIET}


class AbTest(runner_testing.RunnerTestCase):
    def build(self, where, operator="row_fold", **config):
        """Installs a fake into a build, which may have several; the log of starts is common to both builds."""
        folder = self.path(where, "bin")
        os.makedirs(folder, exist_ok=True)
        config.setdefault("variants", QUIET)
        config.setdefault("noise", NOISE)
        fake_benchmark.install(folder, operator, **{"log": os.path.join(self.bin, "calls.log"), **config})

    def both(self, operator="row_fold", base=None, head=None, **config):
        self.build("base", operator, build="base", **{**config, **(base or {})})
        self.build("head", operator, build="head", **{**config, **(head or {})})

    def ab(self, *arguments, **options):
        return self.strictbench("ab", "--base", self.path("base"), "--head", self.path("head"), "--out", self.out,
                                *arguments, **options)

    def ab_json(self, *arguments):
        result = self.ab("--format", "json", *arguments)
        return result, json.loads(result.stdout)

    def sides(self):
        """The order of starts: (operator, process, side)."""
        return [(call["operator"], call["process"],
                 os.path.basename(os.path.dirname(call["flags"]["--benchmark_out"])))
                for call in self.calls() if "flags" in call]

    def side_record(self, side):
        with open(os.path.join(self.out, side, "run.json"), encoding="utf-8") as stream:
            return json.load(stream)

    def verdicts(self, comparison):
        return {row["name"].split("/")[1]: row["verdict"] for row in comparison["rows"]}

    # What it says

    def test_equal_executables_are_an_a_a(self):
        self.build("base")
        shutil.copytree(self.path("base"), self.path("head"))
        result = self.ab()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("note: A/A: both builds are the same executables\n", result.stdout)
        self.assertTrue(result.stdout.startswith("pass: 8 same\n"), result.stdout)
        self.assertIn("compared pair by pair, process by process: 5 pairs a row; the error of the whole table is "
                      "that of all 6 looks", result.stdout)

    def test_a_slowdown_of_two_percent_is_seen_at_five_processes(self):
        self.both(base={"luck": "a"}, head={"luck": "b", "factor": {"quiet3": 1.02, "quiet5": 0.97}})
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.verdicts(comparison),
                         {**{name: "same" for name in QUIET}, "quiet3": "slower", "quiet5": "faster"})
        self.assertEqual((comparison["threshold"], comparison["alpha"]), (0.01, 0.01))
        self.assertEqual({row["contender"]["processes"] for row in comparison["rows"]}, {5})
        self.assertNotIn("A/A", result.stdout)

    def test_noise_that_hits_both_builds_alike_is_no_change(self):
        # Both draw the same luck in process k: 5 % apart from process to process, never from build to build.
        noise = {name: 0.05 for name in QUIET}
        self.both(noise=noise)
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 0)
        self.assertEqual(set(self.verdicts(comparison).values()), {"same"})
        alone = self.strictbench("compare", "--baseline", os.path.join(self.out, "base"),
                                 "--contender", os.path.join(self.out, "head"))
        self.assertEqual(alone.returncode, 3)  # not pair by pair nothing could be said

    def test_cases_on_one_side_only(self):
        self.both(base={"variants": QUIET + ["old"]}, head={"variants": QUIET + ["fresh"]})
        self.build("base", "gone")
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 1)
        verdicts = {row["name"]: row["verdict"] for row in comparison["rows"]}
        self.assertEqual(verdicts["row_fold/old/rows:64/cols:128/dtype:fp32/timer:cpu/manual_time"], "missing")
        self.assertEqual(verdicts["row_fold/fresh/rows:64/cols:128/dtype:fp32/timer:cpu/manual_time"], "new")
        self.assertEqual([name for name, verdict in verdicts.items() if verdict == "missing" and "gone" in name],
                         [f"gone/{name}/rows:64/cols:128/dtype:fp32/timer:cpu/manual_time" for name in QUIET])

    def test_the_same_forms_as_compare(self):
        self.both()
        report = self.path("report.xml")
        result = self.ab("--format", "junit", "--output", report, "--processes", "5")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(xml.etree.ElementTree.parse(report).getroot().findall(".//testcase")), 8)
        self.assertTrue(result.stdout.startswith("pass: 8 same"))
        self.assertIn("results: " + self.out, result.stderr)
        shutil.rmtree(self.out)
        self.assertIn("| verdict |", self.ab("--format", "markdown", "--processes", "5").stdout.lower())

    def test_the_threshold_is_the_callers(self):
        self.both(head={"factor": {"quiet3": 1.02}, "luck": "b"})
        result, comparison = self.ab_json("--threshold", "0.05", "--alpha", "0.05")
        self.assertEqual((result.returncode, comparison["threshold"], comparison["alpha"]), (0, 0.05, 0.05))

    # How it measures

    def test_builds_take_turns_and_neither_is_always_first(self):
        for operator in ("row_fold", "dw_gemm"):
            self.both(operator)
        self.assertEqual(self.ab("--processes", "6").returncode, 0)
        order = self.sides()
        self.assertEqual(len(order), 2 * 2 * 6)
        firsts = {"row_fold": [], "dw_gemm": []}
        for one, other in zip(order[::2], order[1::2]):
            self.assertEqual(one[:2], other[:2])  # one operator, one round
            self.assertEqual({one[2], other[2]}, {"base", "head"})
            firsts[one[0]].append(one[2])
        for sides in firsts.values():
            self.assertEqual(sides.count("base"), 3)
        self.assertEqual(self.side_record("base")["seed"], self.side_record("head")["seed"])

    def test_both_folders_are_result_folders(self):
        self.both()
        for side, commit in (("base", "aaaa"), ("head", "bbbb")):
            with open(self.path(side, "bin", "build.json"), "w", encoding="utf-8") as stream:
                json.dump({"git_commit": commit}, stream)
        self.assertEqual(self.ab("--processes", "2").returncode, 3)  # two are no proof
        self.assertEqual(sorted(os.listdir(self.out)), ["base", "head"])
        for side, commit in (("base", "aaaa"), ("head", "bbbb")):
            record = self.side_record(side)
            self.assertEqual((record["status"], record["commit"]), ("complete", commit))
            self.assertEqual(sorted(os.listdir(os.path.join(self.out, side))),
                             ["row_fold.0.json", "row_fold.1.json", "run.json"])
            table = self.strictbench("table", os.path.join(self.out, side))
            self.assertEqual(table.returncode, 0, table.stderr)
            self.assertIn("nothing to do",
                          self.strictbench("run", "--resume", os.path.join(self.out, side)).stdout)

    def test_undecided_rows_get_more_processes_and_decided_ones_do_not(self):
        self.both(variants=QUIET + ["noisy"], base={"noise": {**NOISE, "noisy": 0.05}, "luck": "a"},
                  head={"noise": {**NOISE, "noisy": 0.05}, "luck": "b"})
        self.both("dw_gemm")
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 3)
        self.assertEqual(self.verdicts(comparison)["noisy"], "inconclusive")
        processes = {row["name"].split("/")[1]: row["baseline"]["processes"] for row in comparison["rows"]
                     if row["name"].startswith("row_fold")}
        self.assertEqual(processes, {**{name: 5 for name in QUIET}, "noisy": 20})
        self.assertEqual(max(number for operator, number, _ in self.sides() if operator == "dw_gemm"), 4)
        lists = {call["flags"]["--cases"] for call in self.calls() if "--cases" in call.get("flags", {})}
        self.assertEqual(lists, {os.path.join(self.out, side, ".scratch", "row_fold.cases")
                                 for side in ("base", "head")})

    def test_the_budget_holds_for_both_builds_together(self):
        self.both(variants=["noisy"], noise={"noisy": 0.05}, seconds=0.2, base={"luck": "a"}, head={"luck": "b"})
        result = self.ab("--budget", "3")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stdout, r"note: stopped after \d rounds of processes: one more would pass the budget")
        seconds = sum(process["seconds"] for side in ("base", "head")
                      for process in self.side_record(side)["processes"])
        self.assertLess(seconds, 4)
        counts = [len(self.side_record(side)["processes"]) for side in ("base", "head")]
        self.assertEqual(counts[0], counts[1])

    def test_a_build_is_found_by_its_folder_or_its_bin(self):
        self.both()
        for base, head in ((self.path("base", "bin"), self.path("head")), (self.path("base") + "/", "head/bin")):
            self.out = self.path("out-" + str(len(base)))
            result = self.strictbench("ab", "--base", base, "--head", head, "--out", self.out, "--processes", "5")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.side_record("head")["options"]["executables"], self.path("head", "bin"))

    # What goes wrong

    def test_a_head_that_crashes_has_failed_and_is_not_asked_again(self):
        self.both(head={"behaviour": "SIGSEGV", "processes": [1]})
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 1)
        verdicts = self.verdicts(comparison)
        # The first row was written before the crash.
        self.assertEqual(verdicts, {**{name: "failed" for name in QUIET}, "quiet0": "same"})
        self.assertEqual(self.side_record("base")["processes"][2]["cases"],
                         self.side_record("base")["processes"][0]["cases"][:1])

    def test_a_build_whose_processes_fail_behind_good_rows_is_no_pass(self):
        for side, who in (("head", "contender"), ("base", "baseline")):
            with self.subTest(side):
                self.out = self.path("out_" + side)
                self.both(base={"behaviour": "ok"}, head={"behaviour": "ok"}, luck=side)
                self.build(side, behaviour="exit 1 at the end", build=side, luck=side)
                result, comparison = self.ab_json("--processes", "5")
                self.assertEqual((result.returncode, comparison["exit_code"]), (1, 1))
                self.assertEqual(comparison["verdict"], "regressed")
                self.assertEqual(set(self.verdicts(comparison).values()), {"same"})
                told = [note for note in comparison["notes"] if "cannot tear down" in note]
                self.assertEqual(len(told), 5)
                self.assertRegex(told[0], f"^{who}: row_fold, process \\d failed: exited with code 1.*"
                                          "its rows are compared all the same$")
                # Read alone, such a folder says so too.
                folders = ("--baseline", os.path.join(self.out, "base"), "--contender", os.path.join(self.out, "head"))
                compared = self.strictbench("compare", *folders, "--threshold", "0.01")
                self.assertEqual(compared.stdout.count("cannot tear down"), 5)
                # A baseline's process that failed made nothing worse.
                self.assertEqual(compared.returncode, 1 if side == "head" else 0, compared.stdout)
                self.assertIn("cannot tear down", self.strictbench("table", os.path.join(self.out, side)).stdout)

    def test_a_wrong_result_is_wrong(self):
        self.both(head={"behaviour": "check failed"})
        result, comparison = self.ab_json()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.verdicts(comparison)["quiet1"], "wrong")

    def test_a_stop_signal_ends_both_and_keeps_what_is_finished(self):
        self.both(head={"behaviour": "hang", "processes": [1]})
        runner = self.start_ab()
        self.assertTrue(wait_for(lambda: any("hangs" in call for call in self.calls())))
        hung = next(call for call in self.calls() if "hangs" in call)
        runner.send_signal(signal.SIGINT)
        stdout, stderr = runner.communicate(timeout=10)
        self.assertEqual((runner.returncode, stdout), (130, ""))
        self.assertIn("what was finished stays in " + self.out, stderr)
        self.assertTrue(gone(hung["hangs"]))
        self.assertTrue(wait_for(lambda: gone(hung["grandchild"])))
        for side in ("base", "head"):
            self.assertEqual(self.side_record(side)["status"], "interrupted")
            self.assertEqual(self.side_record(side)["processes"][0]["status"], "ok")

    def start_ab(self):
        process = subprocess.Popen(
            self.command("ab", "--base", self.path("base"), "--head", self.path("head"), "--out", self.out),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_unusable_input_is_one_line_and_nothing_is_written(self):
        self.both()
        self.assert_unusable(self.ab("--filter", "row_flod/new"), "row_flod/new")
        self.assert_unusable(self.ab("--threshold", "0"), "--threshold")
        self.assert_unusable(self.ab("--alpha", "1"), "--alpha")
        self.assert_unusable(self.ab("--processes", "0"), "--processes")
        self.assert_unusable(self.ab("--format", "pdf"), "pdf")
        self.assert_unusable(self.ab("--output", self.path("no", "such", "report")), "--output")
        self.assert_unusable(self.strictbench("ab", "--base", self.path("base"), "--out", self.out), "--head")
        os.mkdir(self.path("empty"))
        for build, words in (("nowhere", "is no folder"), ("empty", "holds no bench_<operator>")):
            result = self.strictbench("ab", "--base", self.path("base"), "--head", self.path(build),
                                      "--out", self.out)
            self.assert_unusable(result, "--head", self.path(build), words)
        self.assertEqual(self.calls(), [])

    def test_builds_for_different_devices_are_refused(self):
        self.build("base")
        self.build("head", gpu_name="NVIDIA H200", device="cuda")
        self.assert_unusable(self.ab(), "--base measures on the CPU and --head on NVIDIA H200", "--device cpu")


if __name__ == "__main__":
    runner_testing.main()
