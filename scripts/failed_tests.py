#!/usr/bin/env python3
"""Shows what the tests that failed printed, from the JUnit file that ctest writes.

usage: failed_tests.py JUNIT_FILE

For a log of which only the end is seen: at most 5 tests, of each the last 25 lines, of each line 200 characters.
Exit codes: 0; 2 where there is no such file.
"""
from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report" / "pictures"))

from program import run_program  # noqa: E402  (found through the line above)
from words import plain  # noqa: E402

TESTS, LINES, CHARACTERS = 5, 25, 200


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("junit_file", type=Path)
    path = parser.parse_args().junit_file
    try:
        suite = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        print(f"failed_tests.py: {plain(str(path), 1000)}: {why}", file=sys.stderr)
        return 2
    failed = [test for test in suite.iter("testcase") if test.find("failure") is not None]
    for test in failed[:TESTS]:
        lines = (test.findtext("system-out") or "").rstrip().splitlines()
        print(f"{test.get('name')} failed" + (", its end:" if len(lines) > LINES else ":" if lines else ", and said nothing"))
        for line in lines[-LINES:]:
            print(f"  | {plain(line, CHARACTERS)}")
    if len(failed) > TESTS:
        print("failed too: " + ", ".join(str(test.get("name")) for test in failed[TESTS:]))
    return 0


if __name__ == "__main__":
    run_program(main)
