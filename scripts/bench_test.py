#!/usr/bin/env python3
"""bench.sh, run whole on a made-up machine."""
from __future__ import annotations

import re
import shutil
import sys
import unittest

from script_machine import Machine, PYTHON, ROOT


class Bench(Machine):
    def setUp(self) -> None:
        super().setUp()
        (self.tree / "build/release/bin/build.json").write_text('{"git_commit": "0123456789abcdef"}', encoding="utf-8")

    def result(self) -> str:
        """The newest result, as the scripts name it."""
        return f"results/{max(folder.name for folder in self.tree.glob('results/*'))}"

    def baseline(self, *names: str) -> None:
        folder = self.tree / "baselines/h200"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).touch()

    def test_help_does_nothing_else(self) -> None:
        done = self.run_script("bench.sh", "--help")
        self.assertEqual((done.returncode, done.stderr, self.calls_file.read_text(encoding="utf-8")), (0, "", ""))
        self.assertIn("--filter", done.stdout)

    def test_without_a_baseline_a_candidate_and_how_to_accept_it(self) -> None:
        done = self.run_script("bench.sh")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = self.result()
        self.assertRegex(result, r"^results/\d{8}T\d{6}Z_0123456789_h200$")
        self.assertIn(f"the table of {result}", done.stdout)
        self.assertIn(f"\n  build/release/bin/strictbench accept {result} --name first "
                      "--filter 'timer:(graph|cold|event|cpu)' --baselines baselines\n", done.stdout)
        self.assertEqual(self.calls("strictbench")[-1],
                         f"strictbench accept {result} --name first --filter timer:(graph|cold|event|cpu) "
                         f"--baselines {result}/candidate")
        self.assertEqual(self.calls("python")[-3:], [f"python report/pictures/speedup.py {result}", "python -c ",
                                                     f"python report/page/report.py {result}"])

    def test_published_figures_are_no_baseline(self) -> None:
        self.baseline("published.json")
        done = self.run_script("bench.sh")
        self.assertEqual(done.returncode, 0)
        self.assertFalse([call for call in self.calls("strictbench") if "compare" in call])

    def test_a_run_that_cannot_be_accepted_is_no_failure(self) -> None:
        done = self.run_script("bench.sh", ACCEPT_CODE=2)
        self.assertEqual(done.returncode, 0)
        self.assertIn("cannot become one", done.stdout)
        self.assertNotIn("strictbench accept", done.stdout)

    def test_exit_code_of_the_comparison(self) -> None:
        self.baseline("first.json", "published.json", "second.json")
        for code in (0, 1, 2, 3):
            done = self.run_script("bench.sh", COMPARE_CODE=code)
            self.assertEqual(done.returncode, code)
            self.assertIn("the comparison", done.stdout)
            compare = ("strictbench compare --baseline baselines/h200/first.json baselines/h200/second.json "
                       f"--contender {self.result()}")
            self.assertEqual(self.calls("strictbench")[-2:], [
                f"{compare} --format json --output {self.result()}/compare.json", compare])
            shutil.rmtree(self.tree / "results")

    def test_a_cpu_has_baselines_of_its_own(self) -> None:
        folder = self.tree / "baselines/amd-epyc-tm-9.5"
        folder.mkdir(parents=True)
        (folder / "main.json").touch()
        self.run_script("bench.sh", DEVICE="")
        self.assertEqual(self.calls("strictbench")[-1], "strictbench compare "
                         f"--baseline baselines/amd-epyc-tm-9.5/main.json --contender {self.result()}")
        self.assertTrue(self.result().endswith("_0123456789_cpu"), self.result())

    def test_failed_rows_outweigh_the_comparison(self) -> None:
        self.baseline("first.json")
        for code in (0, 3):
            done = self.run_script("bench.sh", RUN_CODE=1, COMPARE_CODE=code)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the table", done.stdout)
            shutil.rmtree(self.tree / "results")

    def test_a_run_of_suspect_samples_is_undecided_unless_something_is_slower(self) -> None:
        done = self.run_script("bench.sh", RUN_CODE=3)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no candidate from samples that are suspect", done.stdout)
        self.assertFalse([call for call in self.calls("strictbench") if "accept" in call])
        shutil.rmtree(self.tree / "results")
        self.baseline("first.json")
        for code, expected in ((0, 3), (1, 1), (3, 3)):
            done = self.run_script("bench.sh", RUN_CODE=3, COMPARE_CODE=code)
            self.assertEqual(done.returncode, expected)
            self.assertIn("the table", done.stdout)
            self.assertIn("the comparison", done.stdout)
            shutil.rmtree(self.tree / "results")

    def test_failed_rows_make_no_candidate(self) -> None:
        done = self.run_script("bench.sh", RUN_CODE=1)
        self.assertEqual(done.returncode, 1)
        self.assertFalse([call for call in self.calls("strictbench") if "accept" in call])

    def test_a_run_that_measured_nothing_or_was_ended_is_passed_on(self) -> None:
        for code in (2, 129, 130, 143):
            done = self.run_script("bench.sh", RUN_CODE=code)
            self.assertEqual((done.returncode, done.stderr), (code, ""))
            self.assertEqual([call.split()[1] for call in self.calls("strictbench")], ["list", "run"])

    def test_a_run_that_something_else_ended_is_one_line_that_says_how_to_go_on(self) -> None:
        done = self.run_script("bench.sh", RUN_CODE=137)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"bench.sh: the run was ended with code 137; what it measured is in {self.result()}: "
                         f"finish it with build/release/bin/strictbench run --resume {self.result()}\n")

    def test_one_that_waits_is_not_left_waiting_for_a_value(self) -> None:
        self.baseline("first.json")
        self.run_script("bench.sh", "--wait", "--filter", "row_fold")
        self.assertIn(f"strictbench run --wait --filter row_fold --out {self.result()}", self.calls("strictbench"))

    def test_a_filtered_run_is_compared_in_what_it_measured(self) -> None:
        self.baseline("first.json")
        done = self.run_script("bench.sh", "--filter", "row_fold", COMPARE_CODE=1)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.calls("strictbench")[1], f"strictbench run --filter row_fold --out {self.result()}")

    def test_kernels_are_recorded_on_request_and_shown_on_the_page(self) -> None:
        self.baseline("first.json")
        self.assertEqual(self.run_script("bench.sh", "--kernels", "--filter", "row_fold").returncode, 0)
        result = self.result()
        compared = (f"strictbench kernels --before {result} --before-case /legacy/ --after {result} --after-case /new/ "
                    f"--format json --output {result}/kernels.json")
        calls = self.calls_file.read_text(encoding="utf-8").splitlines()
        self.assertIn(f"strictbench run --kernels --filter row_fold --out {result}", calls)
        self.assertLess(calls.index(compared), calls.index(f"python report/page/report.py {result}"))
        # A resumed run takes what it was begun with: its folder says whether there are kernels.
        self.run_script("bench.sh", "--resume", str(self.tree / result))
        self.assertTrue([call for call in self.calls("strictbench") if " kernels " in call])
        shutil.rmtree(self.tree / "results")
        self.run_script("bench.sh")
        self.assertFalse([call for call in self.calls("strictbench") if " kernels " in call])

    def test_every_option_of_run_is_passed_on(self) -> None:
        text = (ROOT / "bench/strictbench/run.cpp").read_text(encoding="utf-8") + \
            (ROOT / "bench/strictbench/fresh_run.cpp").read_text(encoding="utf-8")
        options = set(re.findall(r'add_(option|flag)\(\s*"(--[a-z-]+)"', text))
        self.assertLessEqual({"--filter", "--timeout", "--kernels", "--resume"}, {name for _, name in options})
        for kind, name in sorted(options):
            value = ["1"] if kind == "option" else []
            with self.subTest(name):
                self.run_script("bench.sh", name, *value)
                (run,) = [call for call in self.calls("strictbench") if call.startswith("strictbench run")]
                self.assertIn(name, run.split())

    def test_a_gpus_first_run_takes_the_published_timers_too(self) -> None:
        self.run_script("bench.sh", "--device", "0")
        calls = self.calls("strictbench")
        self.assertEqual(calls[0], "strictbench list --format json --device 0")
        self.assertIn("--filter timer:graph|qwen3_ffn/.*timer:event|row_fold/.*timer:wall|"
                      "embedding_backward/.*timer:cold ", calls[1])
        self.baseline("first.json")
        self.run_script("bench.sh", "--device", "0")
        self.assertIn(f"strictbench run --device 0 --out {self.result()}", self.calls("strictbench"))

    def test_a_cpus_first_run_is_the_default_one(self) -> None:
        self.run_script("bench.sh", DEVICE="")
        self.assertIn(f"strictbench run --out {self.result()}", self.calls("strictbench"))

    def test_folders_are_seen_from_where_the_user_stands(self) -> None:
        elsewhere = self.base / "elsewhere"
        elsewhere.mkdir()
        for option in (["--out", "mine"], ["--out=mine"], ["--resume", "mine"], ["--resume=mine"],
                       ["--out", str(elsewhere / "mine")], [f"--out={elsewhere}/mine"]):
            with self.subTest(option):
                done = self.run_script("bench.sh", *option, cwd=elsewhere)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"the table of {elsewhere}/mine", done.stdout)
                self.assertTrue((elsewhere / "mine/run.json").is_file())
                self.assertIn(f"accept {elsewhere}/mine --name first", done.stdout)

    def test_a_result_of_the_same_second_is_not_touched(self) -> None:
        for name, commit in (("", "abc"), ("-2", "abc"), ("-dirty", 'abc", "git_dirty": true, "x": "')):
            (self.tree / "build/release/bin/build.json").write_text(f'{{"git_commit": "{commit}"}}', encoding="utf-8")
            self.stub(self.path / "python3", f"""[[ $2 != *datetime* ]] || {{ {sys.executable} "$@" |
              sed 's/^[0-9T]*Z/20261129T101500Z/'; exit; }}\n{PYTHON}""")
            self.run_script("bench.sh")
            found = {folder.name for folder in self.tree.glob("results/*")}
            self.assertIn("20261129T101500Z_abc-dirty_h200" if name == "-dirty" else
                          f"20261129T101500Z_abc_h200{name}", found)

    def test_the_page_is_made_without_an_environment_too_and_is_no_failure(self) -> None:
        self.baseline("first.json")
        self.stub(self.tree / ".venv/bin/python", "exit 1")
        self.stub(self.path / "python3", "[[ ${2-} != venv && ${1-} != report/page/report.py ]] || exit 2\n" + PYTHON)
        done = self.run_script("bench.sh", COMPARE_CODE=3)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"python3 report/page/report.py {self.result()}", self.calls("python3"))
        self.assertIn("no report.html", done.stdout)

    def test_no_picture_is_no_failure(self) -> None:
        self.stub(self.tree / ".venv/bin/python", '[[ $1 == -c ]] || exit 2')
        done = self.run_script("bench.sh")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no picture", done.stdout)

    def test_a_build_that_fails_is_no_regression(self) -> None:
        for step in ("CONFIGURE_CODE", "BUILD_CODE"):
            done = self.run_script("bench.sh", **{step: 1})
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"full log: {self.tree}/build/logs/", done.stderr)
            self.assertEqual(self.calls("strictbench"), [])

    def test_a_gpu_without_a_compiler_is_pointed_out(self) -> None:
        self.stub(self.path / "nvidia-smi", "echo GPU 0: NVIDIA H200")
        self.assertIn("install the CUDA Toolkit", self.run_script("bench.sh").stdout)
        self.assertNotIn("install the CUDA Toolkit", self.run_script("bench.sh", CUDA="built with nvcc").stdout)


if __name__ == "__main__":
    unittest.main()
