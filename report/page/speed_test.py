#!/usr/bin/env python3
"""A year of nights: 200 cases, 365 nights, 10 processes each, in less than 30 s of processor time and 2 GB."""
from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import history
import made_up

CASES, NIGHTS, PROCESSES = 200, 365, 10
SECONDS, BYTES = 30.0, 2 * 1024 ** 3

if history.ruptures is None:
    print("skipped: no ruptures; report/requirements.txt names what the report needs")
    sys.exit(77)


class Year(unittest.TestCase):
    def test_a_year(self) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary)
            made_up.write_nights(root / "results", CASES, NIGHTS, PROCESSES)
            result = made_up.write_last(root, CASES, NIGHTS, PROCESSES)
            began = time.monotonic()
            program = Path(__file__).with_name("report.py")
            subprocess.run([sys.executable, program, result, "--baselines", root / "baselines"], check=True,
                           stdout=subprocess.DEVNULL)
            wall, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            page = (result / "report.html").read_text(encoding="utf-8")
        # The processor's time, since a machine that is busy with other tests stretches the clock's.
        seconds, most = used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        print(json.dumps({"wall_s": round(wall, 1), "processor_s": round(seconds, 1), "memory_mb": most // 1_000_000,
                          "page_kb": len(page) // 1000}))
        self.assertIn(f"{NIGHTS + 1} nights", page)
        self.assertLess(seconds, SECONDS)
        self.assertLess(most, BYTES)


if __name__ == "__main__":
    unittest.main()
