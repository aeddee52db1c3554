#!/usr/bin/env python3
"""Hostile names through the programs and scripts: into no shell, no path, no markup, and to no terminal as they are.

usage: names_test.py STRICTBENCH
"""
from __future__ import annotations

import html.parser
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import make_seeds
from make_seeds import CONTEXT, row

PROGRAM = ""
SOURCE = Path(__file__).resolve().parents[2]
# What each would do if it were obeyed leaves a file named `touched`, an element, a line or an escape.
WORDS = ["../../touched", "/touched", "$(touch touched)", "`touch touched`", "; touch touched #", "<script>alert(1)</script>",
         "a|b", "a\nb", "::error::x", "\r", "\x00", "\x1b[2J\x1b]0;x\x07", "\u202ecba", "\u061cx", "\x9b31m", "\ufeff", "[x](y)",
         "<!--", "]]>", "&lt;", "x" * 20000, "-rf", "~", "*", "%s%n", "漢字"]
NAMES = [f"op/new/rows:8/{word}/timer:graph" for word in WORDS] + [f"{word}/{word}/{word}/timer:graph" for word in WORDS[:8]]
for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(variable, None)


class Elements(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


class Names(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.outside = Path(temporary.name)
        self.folder = self.outside / "a" / "b"  # `../../touched` would stand in `outside`
        self.folder.mkdir(parents=True)

    def tearDown(self) -> None:
        self.assertEqual([*self.outside.rglob("touched")], [])
        self.assertFalse(Path("/touched").exists())

    def run_it(self, *command: str, codes: tuple[int, ...] = (0, 1, 3), **environment: str) -> tuple[int, str]:
        done = subprocess.run(command, capture_output=True, timeout=120, check=False, cwd=self.folder,
                              env={**os.environ, **environment})
        self.assertIn(done.returncode, codes, done.stderr)
        for stream in (done.stdout, done.stderr):
            self.harmless(stream.decode("utf-8"))
        return done.returncode, done.stdout.decode("utf-8")

    def harmless(self, text: str) -> None:
        """UTF-8, and of what is not printed nothing but line breaks."""
        odd = {c for c in text if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u061c\u200e\u200f\u2028\u2029"
                                                 "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")}
        self.assertEqual(odd, set())

    def write(self, name: str, rows: list[dict[str, Any]], **context: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"context": {**CONTEXT, **context}, "benchmarks": rows}))
        return name

    def rows(self, factor: float = 1.0, **more: Any) -> list[dict[str, Any]]:
        return [row(name, 5 * factor * (1 + 0.0002 * process), process=process, **more)
                for name in NAMES for process in range(3)]

    def result(self, name: str, factor: float = 1.0, **more: Any) -> str:
        """A result folder, hostile all through: names, device, commit, notes, messages."""
        word = "$(touch touched)<script>\x1b[2J"
        processes = []
        for index, operator in enumerate(sorted({case.split("/")[0] for case in NAMES})):
            cases = [case for case in NAMES if case.split("/")[0] == operator]
            file = "op.0.json" if operator == "op" else f"other{index}.0.json"
            self.write(f"{name}/{file}", [row for row in self.rows(factor) if row["name"] in cases],
                       **{"boot_id": name, **more})
            processes.append(make_seeds.process(0, operator=operator, file=file, cases=cases))
        problem = {"case": NAMES[0], "state": "failed", "reason": word}
        lost = make_seeds.process(1, status="crashed", reason=word, cases=NAMES, problems=[problem], operator="op")
        (self.folder / name / "run.json").write_text(make_seeds.run(
            *processes, lost, commit="../../touched", notes=[word], gpu_name="NVIDIA H200",
            not_selected=[word]))
        return name

    def test_comparison_and_table_in_every_form(self) -> None:
        a, b = self.result("one"), self.result("two", 1.3)
        for form in ("text", "markdown", "json", "junit"):
            code, out = self.run_it(PROGRAM, "compare", "--baseline", a, "--contender", b, "--format", form)
            self.assertEqual(code, 1)
            self.well_formed(form, out)
        for form in ("text", "markdown", "json"):
            _, out = self.run_it(PROGRAM, "table", b, "--baseline", a, "--format", form, GITHUB_ACTIONS="true",
                                 GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"))
            self.well_formed(form, out)
        self.well_formed("markdown", (self.folder / "summary.md").read_text(encoding="utf-8"))

    def well_formed(self, form: str, text: str) -> None:
        if form == "json":
            json.loads(text)
        elif form == "junit":
            xml.etree.ElementTree.fromstring(text)
        elif form == "markdown":
            self.assertEqual(set(re.findall(r"<[^>]*>?", text)) - {"<code>", "</code>"}, set())
            widths = {line.count("|") for line in text.splitlines() if line.startswith("| verdict") or line.startswith("| slower")}
            self.assertLessEqual(len(widths), 1)

    def test_a_terminal_gets_our_colours_alone(self) -> None:
        a, b = self.write("a.json", self.rows()), self.write("b.json", self.rows(2))
        terminal, end = pty.openpty()
        child = subprocess.Popen([PROGRAM, "compare", "--baseline", a, "--contender", b], stdout=end, stderr=end,
                                 cwd=self.folder, env={**os.environ, "TERM": "xterm"})
        os.close(end)
        seen = b""
        try:
            while piece := os.read(terminal, 65536):
                seen += piece
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
        self.assertIn(child.wait(timeout=60), (1, 3))
        text = seen.decode("utf-8").replace("\r\n", "\n")
        self.assertIn("\x1b[", text)
        self.harmless(re.sub(r"\x1b\[[0-9;]*m", "", text))

    def test_accept_makes_a_plain_folder_whatever_the_device_is_called(self) -> None:
        for number, word in enumerate(WORDS):
            with self.subTest(ascii(word)[:40]):
                result = self.write(f"r{number}.json", self.rows(), gpu_name=f"NVIDIA {word} H200", git_commit=word or "a")
                baselines = f"baselines{number}"
                code, _ = self.run_it(PROGRAM, "accept", result, "--baselines", baselines, codes=(0, 2))
                found = [path for path in self.folder.rglob(f"{baselines}/**/*.json")]
                if code == 2:  # a folder's name has an end
                    self.assertEqual(found, [])
                    continue
                self.assertEqual(len(found), 1)
                self.assertRegex(str(found[0].relative_to(self.folder)), rf"^{baselines}/[a-z0-9.-]+/main\.json$")
                self.assertNotIn("..", str(found[0].relative_to(self.folder)))
                self.run_it(PROGRAM, "compare", "--baseline", str(found[0]), "--contender", result, codes=(0, 3))

    def test_kernels(self) -> None:
        kernels = [{"name": f"void {word}<int>(float*)", "launches": 1, "total_ns": 5} for word in WORDS if word]
        record = {"context": {"gpu_name": WORDS[5]}, "cases": [{"name": name, "calls": 1, "kernels": kernels} for name in NAMES[:4]]}
        (self.folder / "r.json").write_text(json.dumps(record))
        for form in ("text", "markdown", "json"):
            _, out = self.run_it(PROGRAM, "kernels", "--before", "r.json", "--after", "r.json", "--format", form)
            self.well_formed(form, out)

    def test_errors_are_one_line(self) -> None:
        for name in ("\x1b[2J.json", "a\nb.json", "\u202e.json"):
            (self.folder / name).write_text("{")
            for command in (["compare", "--baseline", name, "--contender", name], ["table", name], ["accept", name],
                            ["kernels", "--before", name, "--after", name], ["run", "--resume", name],
                            ["calibrate", "--from", name]):
                with self.subTest(ascii((command[0], name))):
                    done = subprocess.run([PROGRAM, *command], capture_output=True, timeout=60, check=False, cwd=self.folder)
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1), done.stderr)
                    self.harmless(done.stderr.decode("utf-8"))

    def test_an_operator_of_a_record_leads_nowhere(self) -> None:
        """`run --resume` starts and writes what run.json names: a name must not leave the folders."""
        for word in WORDS[:6]:
            folder = self.folder / "r"
            folder.mkdir(exist_ok=True)
            record = json.loads(make_seeds.run(make_seeds.process(0, operator=word, status="pending")))
            record["executables"] = {word: record["executables"]["op"]}
            (folder / "run.json").write_text(json.dumps(record))
            code, _ = self.run_it(PROGRAM, "run", "--resume", "r", codes=(2,))
            self.assertEqual(code, 2)

    def test_agreement_of_kernel_records(self) -> None:
        word = "\x1b[2J\n::error::x\u202e"
        result = self.result("r")
        self.write("r/op.0.json", [row(name, 30, time_unit="us") for name in NAMES], git_commit=word)
        cases = [{"name": name, "calls": 1, "kernels": [{"name": word, "launches": 1, "total_ns": 33000}]} for name in NAMES]
        (self.folder / "r/op.kernels.json").write_text(json.dumps({"cases": cases}))
        program = str(SOURCE / "report/kernel_records/agreement.py")
        code, out = self.run_it(sys.executable, program, result, "--out", "agreement.json", codes=(1,))
        self.assertEqual(len(out.splitlines()), len(json.loads((self.folder / "agreement.json").read_text())["cases"]) + 1)
        self.assertGreater(len(out.splitlines()), len(WORDS) / 2)
        self.assertFalse([line for line in out.splitlines() if line.startswith("::")])
        self.run_it(sys.executable, program, f"r/{word}", codes=(2,))

    def test_a_path_of_no_result_is_written_out(self) -> None:
        bad = "none\x1b[2J\n::error::x\u202e"
        for command in (["scripts/prune.py", f"{bad}/x", "--keep", "1"], ["report/nightly/confirm.py", "settle", bad],
                        ["scripts/peers.py", "--from", bad], ["report/other_tools/otava.py", bad, "--output", "x.csv"],
                        ["report/published/make_published.py", bad, "x.json"]):
            with self.subTest(command[0]):
                self.run_it(sys.executable, str(SOURCE / command[0]), *command[1:], codes=(2,))

    def test_the_page(self) -> None:
        result = self.result("night")
        for file, command in (("compare.json", ["compare", "--baseline", self.result("before", 1.2), "--contender", result]),
                              ("table.json", ["table", result])):
            self.run_it(PROGRAM, *command, "--format", "json", "--output", f"{result}/{file}")
        self.run_it(sys.executable, str(SOURCE / "report/page/report.py"), result, "--no-pictures", "--history", result)
        elements = Elements()
        page = (self.folder / result / "report.html").read_text(encoding="utf-8")
        elements.feed(page)
        self.assertEqual((elements.scripts, elements.handlers), (1, []))
        self.assertNotIn("alert(1)<", page.replace("alert(1)&lt;", ""))
        self.harmless(page)

    def test_what_the_scripts_read(self) -> None:
        """The shell functions that take a device and a commit from files."""
        for word in WORDS:
            if "\x00" in word:
                continue  # no argument of a program can hold it
            self.result("r")
            run = json.loads((self.folder / "r/run.json").read_text())
            (self.folder / "r/run.json").write_text(json.dumps({**run, "gpu_name": f"NVIDIA {word}"}))
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin/build.json").write_text(json.dumps({"git_commit": word, "git_dirty": True}))
            script = f"""
                set -euo pipefail
                source {SOURCE}/scripts/baselines.sh
                device_of r; baselines_of "$(device_of r)"; new_result bin/strictbench "$1" """
            code, out = self.run_it("bash", "-c", script, "bash", f"NVIDIA {word}", codes=(0,))
            device, *_, name = out.splitlines()
            self.assertRegex(device, r"^[a-z0-9.-]*$")
            self.assertRegex(name, r"^results/\d{8}T\d{6}Z_[0-9a-zA-Z]+(-dirty)?_[a-z0-9.-]+$")


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
