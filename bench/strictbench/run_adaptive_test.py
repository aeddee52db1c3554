"""Proves that a run without --processes measures until its evidence is narrow, and no longer.

Usage: run_adaptive_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import signal
import subprocess

import runner_testing
from runner_testing import wait_for

QUIET = [f"quiet{number}" for number in range(8)]
NOISE = {name: 0.0005 for name in QUIET}


class RunAdaptiveTest(runner_testing.RunnerTestCase):
    def gpu(self, operator, **config):
        config.setdefault("noise", NOISE)
        config.setdefault("cols", {"noisy": 256})  # a shape of its own: variants of one shape go on together
        self.install(operator, gpu_name="NVIDIA H200", device="cuda", **config)

    def processes_of(self, variant):
        """The numbers of the processes that measured a variant: as recorded, and by the rows that are there."""
        recorded, found = [], []
        for process in self.record()["processes"]:
            rows = self.rows(process["operator"], process["process"])
            self.assertEqual([row["run_name"].replace("/manual_time", "") for row in rows], process["cases"])
            recorded += [process["process"] for case in process["cases"] if f"/{variant}/" in case]
            found += [process["process"] for row in rows if f"/{variant}/" in row["run_name"]]
        self.assertEqual(recorded, found)
        return recorded

    def test_quiet_cases_stop_at_five_and_a_noisy_one_gets_twenty(self):
        self.gpu("row_fold", variants=QUIET + ["noisy"], noise={**NOISE, "noisy": 0.02})
        self.gpu("dw_gemm", variants=QUIET)
        result = self.run_bench()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for variant in QUIET:
            self.assertEqual(sorted(self.processes_of(variant)), sorted(2 * list(range(5))), variant)
        self.assertEqual(self.processes_of("noisy"), list(range(20)))
        starts = self.starts()
        self.assertEqual(starts.count(("dw_gemm", 4)), 1)
        self.assertNotIn(("dw_gemm", 5), starts)  # an operator without open cases is not started
        self.assertEqual(len(starts), 2 * 5 + 15)
        (case,) = [name for name in self.process("row_fold", 19)["cases"]]
        self.assertEqual(result.stdout.splitlines()[0],
                         "measuring 17 cases of 2 operators on NVIDIA H200, 5 to 20 processes each")
        self.assertIn("17 cases, 5 to 20 processes of each case, ", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^16 cases stopped early, 1 still wide: " + case
                                        + r" \(\+-\d(\.\d+)? %\)$")
        evidence = self.record()["evidence"]
        self.assertEqual((evidence["stopped_early"], [wide["case"] for wide in evidence["wide"]]), (16, [case]))
        self.assertGreater(evidence["wide"][0]["half_width"], 0.005)
        self.assertFalse(os.path.exists(os.path.join(self.out, ".scratch")))

    def test_only_open_cases_are_listed_for_a_process(self):
        self.gpu("row_fold", variants=QUIET + ["noisy"], noise={**NOISE, "noisy": 0.02})
        self.run_bench("--filter", "timer:cpu")
        calls = self.calls()
        self.assertEqual([("--cases" in call["flags"]) for call in calls], 5 * [False] + 15 * [True])
        self.assertEqual({call["flags"]["--cases"] for call in calls[5:]},
                         {os.path.join(self.out, ".scratch", "row_fold.cases")})

    def test_a_terminal_sees_how_many_have_stopped(self):
        self.gpu("row_fold", variants=QUIET + ["noisy"], noise={**NOISE, "noisy": 0.02}, seconds=0.02)
        seen, _ = self.on_terminal("xterm")
        self.assertRegex(seen, r"round \d+, 8 cases stopped, 1 case left, \d\.\d s \+ about \d\.\d s  row_fold/noisy")

    def test_the_cpu_measures_ten_processes_at_most(self):
        self.install("row_fold", variants=["noisy"], noise={"noisy": 0.05})
        self.assertEqual(self.run_bench().returncode, 0)
        self.assertEqual(self.starts(), [("row_fold", number) for number in range(10)])

    def test_a_given_number_of_processes_is_kept(self):
        self.gpu("row_fold", variants=QUIET + ["noisy"], noise={**NOISE, "noisy": 0.02})
        for number in ("1", "6"):
            self.out = self.path("out" + number)
            result = self.run_bench("--processes", number)
            self.assertEqual(self.processes_of("quiet0"), list(range(int(number))))
            self.assertEqual(self.processes_of("noisy"), list(range(int(number))))
            self.assertNotIn("stopped early", result.stdout)

    def test_a_case_in_trouble_stops_and_the_others_go_on(self):
        for behaviour, code in (("check failed", 1), ("error row", 1), ("zero", 1), ("skipped", 0)):
            with self.subTest(behaviour):
                self.out = self.path(behaviour)
                self.gpu("row_fold", variants=QUIET, behaviour=behaviour, processes=[1])
                self.assertEqual(self.run_bench().returncode, code)
                second = self.record()["processes"][0]["cases"][1].split("/")[1]
                for variant in QUIET:
                    self.assertEqual(self.processes_of(variant),
                                     [0, 1] if variant == second else [0, 1, 2, 3, 4])

    def test_an_operator_that_crashes_is_not_started_again(self):
        self.gpu("good", variants=QUIET)
        self.gpu("bad", variants=["one", "two"], behaviour="SIGSEGV", processes=[0])
        self.assertEqual(self.run_bench().returncode, 1)
        self.assertEqual([start for start in self.starts() if start[0] == "bad"],
                         [("bad", number) for number in range(len(self.starts()) - 5)])
        # Its first row was written before the crash: that case goes on alone.
        self.assertEqual(self.process("bad", 1)["cases"], self.process("bad", 0)["cases"][:1])

    def test_the_budget_ends_it_and_names_what_is_wide(self):
        self.gpu("row_fold", variants=["noisy"], noise={"noisy": 0.05}, seconds=0.1)
        result = self.run_bench("--budget", "1.6")
        self.assertEqual(result.returncode, 0)
        count = len(self.starts())
        self.assertLess(count, 20)
        self.assertIn(f"stopped after {count} rounds of processes: one more would pass the budget of 1.6 s",
                      result.stdout)
        self.assertIn("0 cases stopped early, 1 still wide: row_fold/noisy/", result.stdout)
        self.assertEqual(self.record()["status"], "complete")

    def test_a_stopped_run_is_resumed_where_it_was(self):
        self.gpu("row_fold", variants=QUIET + ["noisy"], noise={**NOISE, "noisy": 0.02})
        runner = self.start()
        self.assertTrue(wait_for(lambda: len(self.starts()) > 6))
        runner.send_signal(signal.SIGINT)
        runner.communicate(timeout=10)
        self.assertEqual(runner.returncode, 130)
        before = self.record()
        self.assertEqual(before["status"], "interrupted")
        self.assertLess(len(before["processes"]), 20)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.processes_of("quiet3"), list(range(5)))
        self.assertEqual(self.processes_of("noisy"), list(range(20)))
        again = self.strictbench("run", "--resume", self.out)
        self.assertIn("nothing to do", again.stdout)

    def test_resuming_mends_what_failed_and_goes_on_from_there(self):
        self.gpu("row_fold", variants=QUIET, behaviour="SIGSEGV", processes=[0],
                 while_exists=self.path("fault"))
        with open(self.path("fault"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.run_bench().returncode, 1)
        self.assertEqual(len(self.process("row_fold", 0)["problems"]), 7)
        os.remove(self.path("fault"))
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for variant in QUIET:
            self.assertGreaterEqual(len(self.processes_of(variant)), 5, variant)
        self.assertEqual(self.record()["evidence"]["wide"], [])

    def test_a_case_that_failed_stays_named_however_often_a_resumed_run_is_stopped(self):
        self.gpu("row_fold", variants=["quiet1", "bad"], faults={"bad": "error row"}, seconds=0.2)
        self.assertEqual(self.run_bench().returncode, 1)
        for _ in range(2):
            started = len(self.starts())
            runner = subprocess.Popen(self.command("run", "--resume", self.out), stdout=subprocess.DEVNULL)
            self.addCleanup(runner.kill)
            self.assertTrue(wait_for(lambda: len(self.starts()) > started))
            runner.send_signal(signal.SIGINT)
            self.assertEqual(runner.wait(timeout=10), 130)
            process = self.process("row_fold", 0)
            self.assertEqual((process["status"], len(process["cases"])), ("pending", 2))
            self.assertNotIn("problems", process)
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "failed   row_fold/bad/.*launch failed")
        self.assertEqual([problem["case"].split("/")[1] for problem in self.process("row_fold", 0)["problems"]],
                         ["bad"])

    def test_a_case_that_was_skipped_stays_named_when_its_file_is_lost(self):
        self.gpu("row_fold", variants=["quiet1", "large"], faults={"large": "skipped"})
        self.assertEqual(self.run_bench().returncode, 0)
        os.remove(os.path.join(self.out, "row_fold.0.json"))
        result = self.strictbench("run", "--resume", self.out)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, "skipped  row_fold/large/")
        self.assertEqual(len(self.process("row_fold", 0)["cases"]), 2)

    def test_a_record_of_older_days_keeps_its_number(self):
        self.gpu("row_fold", variants=["noisy"], noise={"noisy": 0.05}, behaviour="exit 3 at once",
                 while_exists=self.path("fault"))
        with open(self.path("fault"), "w", encoding="utf-8"):
            pass
        self.run_bench("--processes", "2")
        record = self.record()
        del record["options"]["most_processes"]
        with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
            json.dump(record, stream)
        os.remove(self.path("fault"))
        self.assertEqual(self.strictbench("run", "--resume", self.out).returncode, 0)
        self.assertEqual(self.processes_of("noisy"), [0, 1])


if __name__ == "__main__":
    runner_testing.main()
