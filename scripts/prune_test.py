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
                               self.nights[-1]], capture_output=True, text=True, timeout=60)

    def test_the_oldest_of_the_device_go_and_are_named(self) -> None:
        other = self.night(1, "NVIDIA H100")
        done = self.prune(2)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "".join(f"removed {night.name}\n" for night in self.nights[:2]), ""))
        self.assertEqual(sorted(self.folder.iterdir()), sorted([other, *self.nights[2:]]))
        self.assertEqual(self.prune(2).stdout, "")

    def test_where_there_is_no_result_nothing_goes(self) -> None:
        empty, file, loop, blank = (self.folder / name for name in ("empty", "file", "loop", "20260105T021000Z_abc_h200"))
        for folder in (empty, blank):
            folder.mkdir()
        (blank / "run.json").write_text('{"status": "complete"}', encoding="utf-8")
        file.touch()
        loop.symlink_to(loop)
        for path, why in ((self.folder / "none", "No such file"), (self.folder / "none/x", "No such file"),
                          (file, "not a folder"), (file / "x", "Not a directory"), (loop, "Too many levels"),
                          (self.folder / ("x" * 300), "File name too long"),
                          (empty, "no run.json in it that names a device"), (blank, "no run.json in it that names a device")):
            with self.subTest(path.name[:9]):
                self.nights[-1] = path
                done = self.prune(1)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                self.assertTrue(done.stderr.startswith(f"prune.py: {path}: {why}"), done.stderr)
                self.assertTrue(done.stderr.endswith("; nothing is removed\n"), done.stderr)
                self.assertTrue(all(night.is_dir() for night in self.nights[:3]))

    def test_a_pipe_in_place_of_a_record_is_not_waited_for(self) -> None:
        for name in ("my-own", "20260101T031000Z_abc_h200"):
            (self.folder / name).mkdir()
            os.mkfifo(self.folder / name / "run.json")
        done = self.prune(3)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"removed {self.nights[0].name}\n", ""))

    def test_results_that_their_names_keep_are_told(self) -> None:
        own = self.folder / "my-own"
        self.nights[-1] = self.nights[-1].rename(own)
        rule = "named as `strictbench run` names results, UTC_COMMIT_DEVICE"
        done = self.prune(4)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", f"prune.py: {own}: nothing is removed: it is not {rule}; beside it stand 3 that are\n"))
        done = self.prune(2)  # by the rule some go: nothing needs to be said
        self.assertEqual((done.stderr, len(done.stdout.splitlines())), ("", 2))
        self.nights[-1] = self.nights[2]
        done = self.prune(1)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", f"prune.py: {self.nights[2]}: nothing is "
                         f"removed: 1 of the results beside it is not {rule}\n"))
        self.assertEqual((self.prune(2).returncode, self.prune(2).stderr), (0, ""))
        self.assertEqual(sorted(self.folder.iterdir()), sorted([own, self.nights[2]]))

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
