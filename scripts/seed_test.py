#!/usr/bin/env python3
"""scripts/test.sh and the seed that all its tests draw from, with a stub of ctest that tells what it was given."""
from __future__ import annotations

import re
import unittest

import script_machine

CTEST = 'echo "seed ${STRICTBENCH_SEED-none}" >>"$SEEDS"\n' + script_machine.CTEST
LINE = re.compile(r"^the draws of these tests come again with STRICTBENCH_SEED=(\d+)$", re.MULTILINE)


class Seed(script_machine.Machine):
    def run_tests(self, **environment: object) -> tuple[list[str], list[str]]:
        """The seeds that were printed, and the seed of each call of ctest."""
        self.stub(self.path / "ctest", CTEST)
        seeds = self.base / "seeds"
        seeds.unlink(missing_ok=True)
        done = self.run_script("test.sh", SEEDS=seeds, JUNIT='tests="2"\n\tfailures="0"\n\tskipped="0"', **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "4 passed, 0 failed")
        given = seeds.read_text(encoding="utf-8").splitlines()
        return LINE.findall(done.stdout), [line.removeprefix("seed ") for line in given]

    def test_one_is_chosen_and_printed_for_both_presets(self) -> None:
        printed, given = self.run_tests()
        self.assertEqual(len(printed), 1)
        self.assertEqual(given, printed * 2)

    def test_each_run_has_its_own(self) -> None:
        self.assertGreater(len({self.run_tests()[0][0] for _ in range(4)}), 1)

    def test_one_that_is_set_stays(self) -> None:
        self.assertEqual(self.run_tests(STRICTBENCH_SEED=123456789012345), (["123456789012345"],
                                                                             ["123456789012345"] * 2))

    def test_an_empty_one_is_none(self) -> None:
        printed, given = self.run_tests(STRICTBENCH_SEED="")
        self.assertEqual(given, printed * 2)

    def test_help_chooses_none(self) -> None:
        self.assertNotRegex(self.run_script("test.sh", "--help").stdout, LINE)


if __name__ == "__main__":
    unittest.main()
