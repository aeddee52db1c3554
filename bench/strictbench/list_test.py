"""Proves what `strictbench list` shows.

Usage: list_test.py STRICTBENCH [unittest arguments]
"""
import json
import os
import signal
import subprocess

import runner_testing


class ListTest(runner_testing.RunnerTestCase):
    def list(self, *arguments):
        result = self.strictbench("list", "--executables", self.bin, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_list_shows_what_a_run_would_measure(self):
        self.install("row_fold")
        self.install("dw_gemm", gpu_name="NVIDIA H200", device="cuda")
        text = self.list()
        self.assertIn("row_fold on cpu, 2 cases\n", text)
        self.assertIn("dw_gemm on NVIDIA H200, 2 cases\n", text)
        self.assertRegex(text, r"(?m)^  rows:64/cols:128/dtype:fp32 +legacy new +cpu\* +100 kB$")
        self.assertIn("4 of 8 cases", text)
        text = self.list("--filter", "row_fold/new", "--all")
        self.assertRegex(text, r"(?m)^  rows:64/cols:128/dtype:fp32 +new +cpu\* wall +100 kB$")
        self.assertNotIn("dw_gemm", text)
        self.assertIn("2 of 8 cases", text)
        self.assertIn("dw_gemm on cpu", self.list("--device", "cpu"))

    def test_list_as_json(self):
        self.install("row_fold")
        document = json.loads(self.list("--format", "json", "--filter", "legacy"))
        (operator,) = document["operators"]
        self.assertEqual(operator["operator"], "row_fold")
        self.assertEqual([case["name"] for case in operator["cases"]],
                         ["row_fold/legacy/rows:64/cols:128/dtype:fp32/timer:cpu"])
        every = json.loads(self.list("--format", "json", "--all"))
        self.assertEqual(len(every["operators"][0]["cases"]), 4)

    def test_list_refuses_what_run_refuses(self):
        self.install("row_fold")
        for arguments in (("--filter", "zzzzz"), ("--device", "banana"), ("--device", "cuda"),
                          ("--format", "xml"), ("--filter", "(", "--all")):
            result = self.strictbench("list", "--executables", self.bin, *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_reader_that_goes_away_ends_it_without_a_word(self):
        self.install("row_fold")
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as nobody:
            result = subprocess.run(self.command("list", "--executables", self.bin), stdin=subprocess.DEVNULL,
                                    stdout=nobody, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (128 + signal.SIGPIPE, b""))


if __name__ == "__main__":
    runner_testing.main()
