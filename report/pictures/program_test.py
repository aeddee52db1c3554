#!/usr/bin/env python3
"""Streams that are full, closed or read by nobody cost one line at most, in every Python program of the project."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MAIN = 'if __name__ == "__main__":'
FULL = "/dev/full"


def programs() -> list[Path]:
    """Every program of report/ and scripts/ that is no test."""
    return [file for folder in ("report", "scripts") for file in sorted((ROOT / folder).rglob("*.py"))
            if not file.name.endswith("_test.py") and MAIN in file.read_text(encoding="utf-8")]


class RunProgram(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.file = Path(temporary.name) / "a.py"

    def shell(self, body: str, streams: str, **environment: str) -> tuple[int, str, str]:
        """A program with this main(), as a shell starts it: exit code, standard output and error."""
        self.file.write_text(f"import os, sys\nsys.path.insert(0, {str(HERE)!r})\nfrom program import run_program\n"
                             f"def main():\n    {body}\n    return 0\nrun_program(main)\n", encoding="utf-8")
        done = subprocess.run(["bash", "-c", f'"$0" "$1" {streams}', sys.executable, self.file], capture_output=True,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    def test_well_it_is_what_main_says(self) -> None:
        self.assertEqual(self.shell("print('x'); print('y', file=sys.stderr)", ""), (0, "x\n", "y\n"))
        self.assertEqual(self.shell("print('x'); return 3", ""), (3, "x\n", ""))
        self.assertEqual(self.shell("sys.exit(7)", ""), (7, "", ""))

    def test_a_full_or_closed_standard_output_is_one_line_and_exit_code_2(self) -> None:
        for body in ("print('x')", "print('x', flush=True)", "print('x' * 100_000)", "print('x'); return 1",
                     "import argparse; argparse.ArgumentParser().parse_args(['--help'])"):
            for streams, why in ((f">{FULL}", "No space left on device"), (">&-", "Bad file descriptor")):
                with self.subTest(body, streams=streams):
                    self.assertEqual(self.shell(body, streams), (2, "", f"a.py: standard output: {why}\n"))

    def test_what_main_has_said_is_not_said_again(self) -> None:
        body = "try: print('x', flush=True)\n    except OSError as e: print(e.filename, file=sys.stderr); return 2"
        self.assertEqual(self.shell(body, f">{FULL}"), (2, "", "standard output\n"))

    def test_nothing_to_say_needs_no_standard_output(self) -> None:
        for streams in (f">{FULL}", ">&-"):
            self.assertEqual(self.shell("pass", streams), (0, "", ""))

    def test_a_reader_that_goes_away_is_not_spoken_of(self) -> None:
        for body in ("print('x' * 1_000_000)", "while True: print('x')", "print('x' * 1_000_000, flush=True)"):
            self.assertEqual(self.shell(body, "| head -c 1; exit ${PIPESTATUS[0]}"), (141, "x", ""), body)

    def test_a_standard_error_that_takes_nothing_costs_nothing(self) -> None:
        for streams in (f"2>{FULL}", "2>&-"):
            body = "print('a note', file=sys.stderr, flush=True); print('x')"
            self.assertEqual(self.shell(body, streams), (0, "x\n", ""))
        # Nor does what belongs there go elsewhere.
        self.assertEqual(self.shell("print('x')", f">{FULL} 2>&-"), (2, "", ""))

    def test_a_file_of_the_program_does_not_get_the_descriptor_of_a_closed_stream(self) -> None:
        body = f"file = open({str(self.file)!r} + '.out', 'w'); print(file.fileno(), file=sys.stderr); file.close()"
        self.assertGreater(int(self.shell(body, ">&-")[2]), 2)

    def test_a_file_that_fails_and_an_interrupt(self) -> None:
        self.assertEqual(self.shell("open('/dev/null/x')", ""), (2, "", "a.py: /dev/null/x: Not a directory\n"))
        # Python's own handler: what ignores the signal, as a shell's job in the background does, has none.
        body = ("import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
                "os.kill(os.getpid(), signal.SIGINT)")
        self.assertEqual(self.shell(body, ""), (130, "", ""))

    def test_utf_8_in_any_locale(self) -> None:
        said = self.shell("print('漢\\ud800'); print('é', file=sys.stderr)", "", LC_ALL="C", PYTHONUTF8="0",
                          PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
        self.assertEqual(said, (0, "漢\\ud800\n", "é\n"))


class Programs(unittest.TestCase):
    def test_every_program_begins_and_ends_so(self) -> None:
        found = programs()
        self.assertGreater(len(found), 9)
        for file in found:
            with self.subTest(file.name):
                self.assertIn("    run_program(", file.read_text(encoding="utf-8").partition(MAIN)[2])

    def test_help(self) -> None:
        asked = 0
        for file in programs():
            command = [sys.executable, str(file), "--help"]
            text = file.read_text(encoding="utf-8")
            if "argparse" not in text or subprocess.run(command, capture_output=True).returncode == 1:
                continue  # has no help, or a library that it needs is missing
            with self.subTest(file.name), open(FULL, "w", encoding="utf-8") as full:
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"{file.name}: standard output: No space left on device\n"))
                asked += 1
        self.assertGreater(asked, 4)


if __name__ == "__main__":
    unittest.main()
