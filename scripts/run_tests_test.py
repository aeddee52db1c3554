#!/usr/bin/env python3
"""test.sh, run whole on a made-up machine."""
from __future__ import annotations

import shutil
import subprocess
import unittest

from script_machine import Machine


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

    def test_what_failed_is_shown_with_its_end(self) -> None:
        lines = "\n".join(["first", *map(str, range(30)), "&lt;" * 300, "last"])
        cases = "".join(f'<testcase name="t{number}"><failure message=""/><system-out>{lines}</system-out></testcase>'
                        for number in range(7)) + '<testcase name="good"><system-out>fine</system-out></testcase>'
        done = self.run_script("test.sh", "--fast", JUNIT=self.JUNIT.format(20, 7, 0), CTEST_CODE=8, TESTCASES=cases)
        self.assertEqual(self.last_line(done), "13 passed, 7 failed")
        self.assertEqual(done.stderr.count("  | last\n"), 5)
        self.assertIn("t4 failed, its end:\n", done.stderr)
        self.assertIn("failed too: t5, t6\n", done.stderr)
        self.assertNotIn("first", done.stderr)
        self.assertNotIn("fine", done.stderr)
        self.assertLess(max(map(len, done.stderr.splitlines())), 250)

    def test_a_report_that_is_no_xml_hides_nothing(self) -> None:
        done = self.run_script("test.sh", "--fast", JUNIT=self.JUNIT.format(20, 1, 0), CTEST_CODE=8, TESTCASES="<")
        self.assertEqual((done.returncode, self.last_line(done)), (1, "19 passed, 1 failed"))
        self.assertIn("failed_tests.py: ", done.stderr)

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


if __name__ == "__main__":
    unittest.main()
