#!/usr/bin/env python3
"""Shows what the tests that failed printed, from the JUnit file that ctest writes.

usage: failed_tests.py JUNIT_FILE

For a log of which only the end is seen: at most 5 tests, of each the last 25 lines, of each line 200 characters.
"""
from __future__ import annotations

import sys
import xml.etree.ElementTree

TESTS, LINES, CHARACTERS = 5, 25, 200


def shown(line: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in line)
    return line if len(line) <= CHARACTERS else line[:CHARACTERS] + " ..."


def main(path: str) -> int:
    try:
        suite = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"failed_tests.py: {path}: {error}", file=sys.stderr)
        return 2
    failed = [test for test in suite.iter("testcase") if test.find("failure") is not None]
    for test in failed[:TESTS]:
        lines = (test.findtext("system-out") or "").rstrip().splitlines()
        print(f"{test.get('name')} failed" + (", its end:" if len(lines) > LINES else ":" if lines else ", and said nothing"))
        for line in lines[-LINES:]:
            print(f"  | {shown(line)}")
    if len(failed) > TESTS:
        print("failed too: " + ", ".join(str(test.get("name")) for test in failed[TESTS:]))
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print((__doc__ or "").strip())
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    sys.exit(main(sys.argv[1]))
