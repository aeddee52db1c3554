#!/usr/bin/env python3
"""The entry scripts, run whole on a made-up machine."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from script_machine import LIBRARIES, Machine, PYTHON, ROOT


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


class Setup(Machine):
    def test_nothing_missing_installs_nothing(self) -> None:
        done = self.run_script("setup.sh")
        self.assertEqual((done.returncode, self.calls("apt-get")), (0, []))

    def test_root_installs_what_is_missing_and_no_more(self) -> None:
        self.lack("ninja", "git")
        self.stub(self.path / "dpkg-query", "\n".join(f"echo {library} installed" for library in LIBRARIES[:-2]) +
                  "\necho libgtest-dev config-files")
        done = self.run_script("setup.sh", VENV_CODE=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        install = self.calls("apt-get")[-1]
        self.assertEqual(install.split(" install ")[1],
                         "ninja-build git python3-venv libgtest-dev libgmock-dev")

    def test_make_will_do_for_ninja(self) -> None:
        self.lack("ninja")
        self.stub(self.path / "make", "")
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.assertEqual(self.calls("apt-get"), [])
        self.assertNotIn("-G", self.calls("cmake")[0])

    def test_sudo_where_not_root(self) -> None:
        self.lack("git")
        self.stub(self.path / "sudo", 'if [[ $1 == -n ]]; then exit "${SUDO_CODE:-0}"; fi\n"$@"')
        done = self.run_script("setup.sh", USER_ID=1000)
        self.assertEqual(done.returncode, 0)
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get", self.calls("sudo")[-1])
        self.assertTrue(self.calls("apt-get")[-1].endswith(" install git"))

    def test_no_way_to_install_names_the_packages(self) -> None:
        self.lack("cmake", "git")
        self.stub(self.path / "sudo", "exit 1")  # asks for a password, and nobody is there
        for remove in ((), ("sudo",)):
            self.lack(*remove)
            done = self.run_script("setup.sh", USER_ID=1000)
            self.assertEqual(done.returncode, 2)
            self.assertIn("setup: cannot go on without: cmake git\n", done.stderr)
            self.assertEqual(self.calls("apt-get"), [])
            self.assertIn(self.calls("sudo"), ([], ["sudo -n true"]))

    def test_missing_libraries_alone_are_named_and_left_to_cmake(self) -> None:
        self.stub(self.path / "dpkg-query", "exit 1")
        done = self.run_script("setup.sh", USER_ID=1000)
        self.assertEqual(done.returncode, 0)
        self.assertIn(" ".join(LIBRARIES), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_apt_that_fails(self) -> None:
        self.lack("g++")
        self.stub(self.path / "apt-get", "echo E: no network; exit 100")
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 2)
        for text in ("E: no network", "full log: ", "cannot go on without: g++"):
            self.assertIn(text, done.stderr)

    def test_another_system(self) -> None:
        self.lack("apt-get", "dpkg-query")
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.lack("git")
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot go on without: git", done.stderr)

    def test_python_environment_follows_its_requirements(self) -> None:
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.assertFalse([call for call in self.calls("python3") if "-m venv" in call])
        (self.tree / "report/requirements.txt").write_text("matplotlib==2.0\n", encoding="utf-8")
        self.stub(self.path / "python3", f'if [[ $2 == venv ]]; then mkdir -p "$4/bin"; exit; fi\n{PYTHON}')
        for made in (1, 0):  # the second time it is up to date
            self.assertEqual(self.run_script("setup.sh").returncode, 0)
            self.assertEqual(len([call for call in self.calls("python3") if "-m venv" in call]), made)
            self.assertEqual(len([call for call in self.calls("python") if "pip install" in call]), made)

    def test_python_environment_whose_python_is_gone(self) -> None:
        (self.tree / ".venv/bin/python").unlink()
        self.stub(self.path / "python3", f'if [[ $2 == venv ]]; then echo made; exit 1; fi\n{PYTHON}')
        done = self.run_script("setup.sh")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("made", done.stderr)


class Tests(Machine):
    JUNIT = 'tests="{}"\n\tfailures="{}"\n\tdisabled="0"\n\tskipped="{}"'

    def last_line(self, done: subprocess.CompletedProcess[str]) -> str:
        return done.stdout.splitlines()[-1]

    def test_totals_both_presets(self) -> None:
        done = self.run_script("test.sh", JUNIT=self.JUNIT.format(20, 0, 0))
        self.assertEqual((done.returncode, self.last_line(done)), (0, "40 passed, 0 failed"))
        self.assertEqual(len(self.calls("ctest")), 2)
        development = [call for call in self.calls("cmake") if "--preset development" in call]
        self.assertIn("-DSTRICTBENCH_CUDA=OFF", development[0])

    def test_fast(self) -> None:
        done = self.run_script("test.sh", "--fast", JUNIT=self.JUNIT.format(20, 0, 3))
        self.assertEqual((done.returncode, self.last_line(done)), (0, "17 passed, 0 failed, 3 skipped"))
        self.assertEqual(len(self.calls("ctest")), 1)

    def test_failures_count_and_fail(self) -> None:
        done = self.run_script("test.sh", JUNIT=self.JUNIT.format(20, 2, 0), CTEST_CODE=8)
        self.assertEqual((done.returncode, self.last_line(done)), (1, "36 passed, 4 failed"))
        self.assertIn("full log: ", done.stderr)

    def test_no_report_is_a_failure(self) -> None:
        done = self.run_script("test.sh", "--fast")
        self.assertEqual((done.returncode, self.last_line(done)), (1, "0 passed, 0 failed"))

    def test_a_report_of_an_earlier_run_does_not_count(self) -> None:
        self.run_script("test.sh", "--fast", JUNIT=self.JUNIT.format(20, 0, 0))
        done = self.run_script("test.sh", "--fast", CTEST_CODE=1)
        self.assertEqual((done.returncode, self.last_line(done)), (1, "0 passed, 0 failed"))

    def test_a_build_that_fails(self) -> None:
        done = self.run_script("test.sh", BUILD_CODE=1)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("passed", done.stdout)
        self.assertEqual(self.calls("ctest"), [])

    def test_unknown_argument(self) -> None:
        done = self.run_script("test.sh", "--slow")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.assertIn("--slow", done.stderr)

    def test_a_browser_is_installed_where_it_is_one_package(self) -> None:
        self.lack("chromium")
        system = self.base / "os-release"
        for name, installs in (("debian", 1), ("ubuntu", 0)):
            system.write_text(f"NAME=X\nID={name}\n", encoding="utf-8")
            for further, expected in (((), installs), (("--without-pictures",), 0)):
                done = self.run_script("test.sh", "--fast", *further, OS_RELEASE=system, JUNIT=self.JUNIT.format(1, 0, 0))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                calls = [call for call in self.calls("apt-get") if call.endswith(" install chromium")]
                self.assertEqual(len(calls), expected, (name, further))

    def test_a_browser_that_cannot_be_installed_is_no_failure(self) -> None:
        self.lack("chromium")
        system = self.base / "os-release"
        system.write_text("ID=debian\n", encoding="utf-8")
        self.stub(self.path / "apt-get", "echo E: no network; exit 100")
        done = self.run_script("test.sh", "--fast", OS_RELEASE=system, JUNIT=self.JUNIT.format(1, 0, 0))
        self.assertEqual((done.returncode, self.last_line(done)), (0, "1 passed, 0 failed"))
        self.assertIn("setup: no browser", done.stdout)

    def test_pictures_can_be_left_out(self) -> None:
        shutil.rmtree(self.tree / ".venv")
        done = self.run_script("test.sh", "--fast", "--without-pictures", JUNIT=self.JUNIT.format(1, 0, 0))
        self.assertEqual(done.returncode, 0)
        self.assertFalse((self.tree / ".venv").exists())


class BuildInfo(unittest.TestCase):
    """What WriteBuildInfo.cmake says about a tree."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.tree = Path(temporary.name) / "tree"
        self.tree.mkdir()
        (self.tree / "CMakeLists.txt").touch()
        self.output = Path(temporary.name) / "build.json"

    def git(self, *arguments: str) -> str:
        identity = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return subprocess.run(["git", "-C", str(self.tree), *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, **identity}).stdout.strip()

    def commit(self) -> str:
        self.git("init", "--quiet")
        self.git("add", "CMakeLists.txt")
        self.git("commit", "--quiet", "--message", "first")
        return self.git("rev-parse", "HEAD")

    def info(self, **values: str) -> dict:
        settings = {"OUTPUT": self.output, "SOURCE": self.tree, "COMMIT": "", "COMPILER": "GNU 12.2.0",
                    "BUILD_TYPE": "release", "CUDA_VERSION": "", **values}
        subprocess.run(["cmake", *(f"-D{key}={value}" for key, value in settings.items()),
                        "-P", str(ROOT / "scripts/cmake/WriteBuildInfo.cmake")], check=True)
        return json.loads(self.output.read_text(encoding="utf-8"))

    def test_no_git_no_commit(self) -> None:
        self.assertEqual(self.info(), {"compiler": "GNU 12.2.0", "build_type": "release", "source": str(self.tree)})

    def test_commit_and_changes(self) -> None:
        commit = self.commit()
        (self.tree / "baselines").mkdir()
        (self.tree / "baselines/first.json").touch()  # goes into no build
        info = self.info(CUDA_VERSION="12.8.61")
        self.assertEqual((info["git_commit"], info["git_dirty"], info["cuda_version"]), (commit, False, "12.8.61"))
        (self.tree / "kernels").mkdir()
        (self.tree / "kernels/new.cu").touch()
        self.assertIs(self.info()["git_dirty"], True)

    def test_a_tree_inside_a_foreign_repository_has_no_commit(self) -> None:
        self.commit()
        self.git("rm", "--quiet", "--cached", "CMakeLists.txt")
        self.assertNotIn("git_commit", self.info())

    def test_the_commit_can_be_told(self) -> None:
        self.commit()
        info = self.info(COMMIT="abc123")
        self.assertEqual((info["git_commit"], "git_dirty" in info), ("abc123", False))
        info = self.info(COMMIT="abc123-dirty")
        self.assertEqual((info["git_commit"], info["git_dirty"]), ("abc123", True))

    def test_quotes_and_backslashes(self) -> None:
        self.assertEqual(self.info(COMPILER='a "b" \\c')["compiler"], 'a "b" \\c')

    def test_rewritten_only_when_it_changes(self) -> None:
        self.info()
        before = self.output.stat().st_mtime_ns
        self.info()
        self.assertEqual(self.output.stat().st_mtime_ns, before)
        self.info(COMMIT="abc123")
        self.assertNotEqual(self.output.stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
