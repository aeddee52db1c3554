#!/usr/bin/env python3
"""scripts/sanitize.sh with a compute-sanitizer that prints what it is told to."""
from __future__ import annotations

import os
import pty
import subprocess
import unittest

import script_machine

# Prints as the real one does, by default a clean run of 41 tests. RACECHECK_... overrides for that tool alone.
SANITIZER = r"""
tool=${2^^}
says() { local own=${tool}_$1; echo "${!own-${!1-$2}}"; }
echo "========= COMPUTE-SANITIZER"
[[ $(says RAN 41) == none ]] || echo "[==========] $(says RAN 41) tests from 9 test suites ran. (812 ms total)"
echo "$(says NOISE '[  PASSED  ]')"
case $2 in
  racecheck) summary="========= RACECHECK SUMMARY: $(says FOUND 0) hazards displayed (0 errors, 0 warnings)" ;;
  *) summary="========= ERROR SUMMARY: $(says FOUND 0) errors" ;;
esac
[[ $(says FOUND 0) == none ]] || echo "$summary"
exit "$(says CODE 0)"
"""
FLAGS = "--error-exitcode 99"
TOOLS = ["memcheck", "racecheck", "initcheck"]


class Sanitize(script_machine.Machine):
    def setUp(self) -> None:
        super().setUp()
        self.tests = self.tree / "build/release/tests/kernels_test"
        self.stub(self.tests, "")
        self.stub(self.path / "compute-sanitizer", SANITIZER)
        self.stub(self.path / "nvidia-smi", 'exit "${SMI_CODE:-0}"')
        self.log = self.tree / "build/logs/sanitize-memcheck.log"

    def sanitize(self, *arguments: str, **environment: object) -> subprocess.CompletedProcess[str]:
        return self.run_script("sanitize.sh", *arguments, CUDA_HOME=self.base / "no-cuda", **environment)

    def commands(self) -> list[str]:
        return self.calls("compute-sanitizer")

    def unusable(self, words: str, *arguments: str, **environment: object) -> None:
        done = self.sanitize(*arguments, **environment)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(words, done.stderr)

    def test_three_tools_over_the_small_tests(self) -> None:
        done = self.sanitize()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.commands(), [f"compute-sanitizer --tool {tool} {FLAGS} {self.tests} --gtest_filter=*-*Large*"
                                           for tool in TOOLS])
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], TOOLS)
        for line in lines:
            self.assertRegex(line, r"^\w+ +41 tests, \d+ s: clean$")
        self.assertIn("ERROR SUMMARY: 0 errors", self.log.read_text(encoding="utf-8"))

    def test_tools_filter_and_build(self) -> None:
        other = self.base / "other"
        self.stub(other / "tests/kernels_test", "")
        done = self.sanitize("--tool", "initcheck", "--tool=memcheck", "--filter", "RowFold*", f"--build={other}")
        self.assertEqual(done.returncode, 0, done.stderr)
        rest = f"{FLAGS} {other}/tests/kernels_test --gtest_filter=RowFold*-*Large*"
        self.assertEqual(self.commands(), [f"compute-sanitizer --tool {tool} {rest}" for tool in ("initcheck", "memcheck")])
        # What the user leaves out is left out beside the large ones.
        self.sanitize("--tool", "memcheck", "--filter=DwGemm*-*Ragged*")
        self.assertTrue(self.commands()[0].endswith("--gtest_filter=DwGemm*-*Ragged*:*Large*"), self.commands())

    def test_one_kernel_is_watched_by_the_tools_that_can(self) -> None:
        self.stub(self.tests, "# the name of a kernel: fold_strips")
        done = self.sanitize("--kernel", "fold_strips", "--filter=RowFold*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^memcheck +41 tests, \d+ s: clean, of kernels with fold_strips in their names$")
        rest = f"--kernel-name kns=fold_strips {FLAGS} {self.tests} --gtest_filter=RowFold*-*Large*"
        self.assertEqual(self.commands(), [f"compute-sanitizer --tool {tool} {rest}" for tool in ("memcheck", "racecheck")])
        self.unusable("it must see every kernel's writes", "--kernel=fold", "--tool=memcheck", "--tool=initcheck")
        self.unusable("--kernel fold_stripes: no kernel of", "--kernel", "fold_stripes")
        self.unusable("--kernel a,b: a part of a kernel's name", "--kernel", "a,b")

    def test_findings_fail_and_the_other_tools_still_run(self) -> None:
        noise = "========= Invalid __global__ write of size 2 bytes"
        done = self.sanitize(MEMCHECK_FOUND=3, MEMCHECK_CODE=99, MEMCHECK_NOISE=noise)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], rf"^memcheck +41 tests, \d+ s, 3 found: FOUND, see {self.log}$")
        self.assertTrue(lines[1].endswith(": clean") and lines[2].endswith(": clean"), done.stdout)
        self.assertIn(f"  | {noise}", done.stderr)

    def test_whatever_is_not_clean_fails(self) -> None:
        for environment, words in (
            ({"FOUND": 1}, "1 found"),  # whatever the exit code
            ({"RACECHECK_FOUND": 2}, "2 found"),
            ({"CODE": 99}, "tests failed (exit code 99)"),
            ({"CODE": 1, "NOISE": "[  FAILED  ] RowFold.Bits"}, "tests failed (exit code 1)"),
            ({"FOUND": "none"}, "ended early (exit code 0)"),
            ({"FOUND": "none", "CODE": 139}, "ended early (exit code 139)"),
            ({"RAN": "none"}, "0 tests"),
        ):
            with self.subTest(environment):
                done = self.sanitize(**environment)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(words, done.stdout)
                self.assertIn("FOUND", done.stdout)
        self.assertIn("| [  FAILED  ] RowFold.Bits", self.sanitize(CODE=1, NOISE="[  FAILED  ] RowFold.Bits").stderr)

    def test_many_findings_are_cut_short_on_the_screen(self) -> None:
        done = self.sanitize("--tool", "memcheck", FOUND=1, CODE=99, NOISE="\n".join(["========= Invalid read"] * 900))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 40))
        self.assertEqual(self.log.read_text(encoding="utf-8").count("Invalid read"), 900)

    def test_what_is_missing_is_named(self) -> None:
        self.unusable("no GPU here", SMI_CODE=9)
        self.unusable("saw no call of CUDA", FOUND="none", RAN=5, CODE=255,
                      NOISE="========= Error: Target application terminated before first instrumented API call")
        self.unusable("--gtest_filter=Nothing*-*Large* finds no test", "--filter", "Nothing*", RAN=0)
        self.tests.unlink()
        self.unusable(f"{self.tests} is not built")
        self.lack("nvidia-smi")
        self.unusable("no GPU here")
        self.lack("compute-sanitizer")
        self.unusable("no compute-sanitizer on PATH")
        self.assertEqual(self.commands(), [])

    def test_the_toolkit_is_looked_at_where_it_stands(self) -> None:
        self.lack("compute-sanitizer")
        self.stub(self.base / "no-cuda/bin/compute-sanitizer", SANITIZER)
        self.assertEqual(self.sanitize().returncode, 0)

    def test_command_lines_that_cannot_be(self) -> None:
        for arguments, words in ((("--tool", "leakcheck"), "--tool leakcheck: one of memcheck"), (("--tool",), "--tool needs"),
                                 (("--tool=",), "--tool is empty"), (("--fast",), "unknown argument '--fast'"),
                                 (("RowFold*",), "unknown argument"), (("--build", "nowhere"), "nowhere/tests/kernels_test is not")):
            with self.subTest(arguments):
                self.unusable(words, *arguments)
                self.assertEqual(self.commands(), [])

    def test_help_does_nothing_else(self) -> None:
        done = self.sanitize("--help")
        self.assertEqual((done.returncode, done.stderr, self.commands()), (0, "", []))
        for word in ("--tool TOOL", "--filter F", "--kernel NAME", "--build DIR", "Large", "Exit code"):
            self.assertIn(word, done.stdout)

    def on_a_terminal(self, **environment: str) -> str:
        ours, theirs = pty.openpty()
        variables = {"PATH": str(self.path), "CUDA_HOME": str(self.base), **environment}
        subprocess.run([str(self.tree / "scripts/sanitize.sh"), "--tool", "memcheck"], cwd=self.base, env=variables,
                       stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(theirs)
        text = os.read(ours, 10_000).decode()
        os.close(ours)
        return text

    def test_colours_on_a_terminal_alone(self) -> None:
        self.assertIn("\x1b[32mclean\x1b[0m", self.on_a_terminal())
        self.assertIn("\x1b[31mFOUND\x1b[0m", self.on_a_terminal(CODE="99"))
        self.assertNotIn("\x1b", self.on_a_terminal(NO_COLOR="1"))
        self.assertNotIn("\x1b", self.sanitize(CODE=99).stdout)


if __name__ == "__main__":
    unittest.main()
