#!/usr/bin/env python3
"""scripts/prune.py: what goes, what stays, and that an output which takes nothing stops no removal."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PRUNE = Path(__file__).resolve().parent / "prune.py"


class Prune(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.nights = [self.night(day) for day in range(1, 5)]

    def night(self, day: int, gpu: str = "NVIDIA H200") -> Path:
        folder = self.folder / f"2026010{day}T021000Z_abc_{gpu[-4:].lower()}"
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps({"gpu_name": gpu, "status": "complete"}), encoding="utf-8")
        return folder

    def prune(self, keep: int, streams: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", f'"$0" "$1" "$2" --keep {keep} {streams}', sys.executable, PRUNE,
                               self.nights[-1]], capture_output=True, text=True)

    def test_the_oldest_of_the_device_go_and_are_named(self) -> None:
        other = self.night(1, "NVIDIA H100")
        done = self.prune(2)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "".join(f"removed {night.name}\n" for night in self.nights[:2]), ""))
        self.assertEqual(sorted(self.folder.iterdir()), sorted([other, *self.nights[2:]]))
        self.assertEqual(self.prune(2).stdout, "")

    def test_an_output_that_takes_nothing_stops_no_removal(self) -> None:
        for streams, code, words in ((">/dev/full", 2, "prune.py: standard output: No space left on device\n"),
                                     (">&-", 2, "prune.py: standard output: Bad file descriptor\n")):
            with self.subTest(streams):
                done = self.prune(1, streams)
                self.assertEqual((done.returncode, done.stderr), (code, words))
                self.assertEqual(sorted(self.folder.iterdir()), self.nights[3:])
            self.nights[:3] = [self.night(day) for day in range(1, 4)]
        unread, full = os.pipe()
        os.close(unread)
        done = subprocess.run([sys.executable, PRUNE, self.nights[-1], "--keep", "1"], stdout=full,
                              stderr=subprocess.PIPE, text=True)
        os.close(full)
        self.assertEqual((done.returncode, done.stderr), (141, ""))
        self.assertEqual(sorted(self.folder.iterdir()), self.nights[3:])


if __name__ == "__main__":
    unittest.main()
