"""NVTX ranges as a profiler would see them.

usage: nvtx_test.py BENCH_SELFTEST RECORDER [unittest arguments]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = ""
RECORDER = ""


def record(*flags: str) -> list[list[str]]:
    """The NVTX calls of one run on the CPU, each as its fields."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "record"
        environment = {**os.environ, "NVTX_INJECTION64_PATH": RECORDER, "NVTX_RECORD": str(path)}
        command = [BENCH, "--device=cpu", "--benchmark_filter=kind:right", *flags]
        subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
        return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []


class Ranges(unittest.TestCase):
    def test_a_timing_run_carries_none(self) -> None:
        self.assertEqual(record(), [])

    def test_every_case_and_phase_has_a_range_of_a_registered_string(self) -> None:
        calls = record("--nvtx")
        self.assertEqual([c[1:] for c in calls if c[0] == "domain"], [["strictbench"]])
        registered = [c[2] for c in calls if c[0] == "register"]
        self.assertEqual(len(registered), len(set(registered)))
        pushed = [c[2] for c in calls if c[0] == "push"]
        self.assertEqual(set(pushed), set(registered))
        for variant in ("legacy", "new"):
            for phase in ("check", "warm-up", "measure"):
                self.assertIn(f"selftest {variant} kind:right timer:cpu {phase}", pushed)
        self.assertIn("selftest legacy kind:right timer:cpu inputs", pushed)
        for name in registered:
            self.assertNotIn("/", name)

    def test_ranges_are_closed_in_order(self) -> None:
        depth = 0
        for call in record("--nvtx"):
            depth += {"push": 1, "pop": -1}.get(call[0], 0)
            self.assertIn(depth, (0, 1))
        self.assertEqual(depth, 0)


if __name__ == "__main__":
    BENCH, RECORDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
