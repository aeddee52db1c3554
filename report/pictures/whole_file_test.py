#!/usr/bin/env python3
"""Files that are whole or not there, and that every program of this folder's neighbours writes its files so."""
from __future__ import annotations

import os
import re
import resource
import signal
import tempfile
import unittest
from pathlib import Path

from whole_file import one_file, require_apart, require_writable, whole_file, write_whole

REPORT = Path(__file__).resolve().parent.parent


class WholeFile(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.path = self.folder / "file.json"

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def test_what_was_there_is_replaced_in_one_step(self) -> None:
        self.path.write_text("before", encoding="utf-8")
        with whole_file(self.path, named=True) as unfinished:
            unfinished.write_text("after", encoding="utf-8")
            self.assertEqual(self.path.read_text(encoding="utf-8"), "before")
        self.assertEqual((self.path.read_text(encoding="utf-8"), self.names()), ("after", ["file.json"]))

    def test_a_failed_rename_leaves_nothing_and_names_the_target(self) -> None:
        (self.path / "in the way").mkdir(parents=True)
        with self.assertRaises(OSError) as caught:
            write_whole(self.path, "text", named=True)
        self.assertEqual((caught.exception.filename, self.names()), (str(self.path), ["file.json"]))

    def test_a_failed_write_leaves_nothing_and_what_was_there(self) -> None:
        self.path.write_text("before", encoding="utf-8")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # a disk that is full after 1,000 bytes
        try:
            with self.assertRaises(OSError) as caught:
                write_whole(self.path, "x" * 100_000, named=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, ignored)
        self.assertEqual(caught.exception.filename, str(self.path))
        self.assertEqual((self.path.read_text(encoding="utf-8"), self.names()), ("before", ["file.json"]))

    def test_any_other_end_leaves_nothing_either(self) -> None:
        for end in (KeyboardInterrupt, ValueError):
            with self.assertRaises(end), whole_file(self.path, named=True) as unfinished:
                unfinished.write_text("half", encoding="utf-8")
                raise end
            self.assertEqual(self.names(), [])

    def test_a_folder_that_is_not_there_is_named_with_the_file(self) -> None:
        with self.assertRaises(FileNotFoundError) as caught:
            write_whole(self.folder / "gone" / "file", "text", named=True)
        self.assertEqual(caught.exception.filename, str(self.folder / "gone" / "file"))

    def test_links_stay_and_what_is_no_file_is_written_to(self) -> None:
        link = self.folder / "link"
        link.symlink_to(self.path)
        write_whole(link, "text", named=True)
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.path.read_text(encoding="utf-8"), "text")
        write_whole(Path(os.devnull), "text", named=True)
        self.assertFalse(Path(os.devnull).is_file())

    def test_at_a_name_of_our_own_everything_but_a_folder_is_replaced(self) -> None:
        """In a folder of somebody else's a name may be a link, to a file or to itself, or a pipe that nobody reads."""
        precious = self.folder / "precious"
        precious.write_text("precious", encoding="utf-8")
        for make in (lambda: self.path.symlink_to(precious), lambda: self.path.symlink_to("file.json"),
                     lambda: self.path.symlink_to("new"), lambda: self.path.symlink_to(os.devnull),
                     lambda: os.link(precious, self.path), lambda: os.mkfifo(self.path)):
            make()
            write_whole(self.path, "text", named=False)
            self.assertTrue(self.path.is_file() and not self.path.is_symlink())
            self.assertEqual(self.path.read_text(encoding="utf-8"), "text")
            self.assertEqual((precious.read_text(encoding="utf-8"), self.names()), ("precious", ["file.json", "precious"]))
            self.path.unlink()
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.path.symlink_to(elsewhere)
        write_whole(self.path, "text", named=False)
        self.assertEqual(([*elsewhere.iterdir()], self.path.read_text(encoding="utf-8")), ([], "text"))

    def test_a_link_that_waits_at_the_temporary_name_is_not_written_through(self) -> None:
        precious = self.folder / "precious"
        precious.write_text("precious", encoding="utf-8")
        for named in (True, False):
            (self.folder / f"file.json.{os.getpid()}.tmp").symlink_to(precious)
            write_whole(self.path, "text", named=named)
            self.assertEqual((precious.read_text(encoding="utf-8"), self.names()), ("precious", ["file.json", "precious"]))
            self.assertFalse(self.path.is_symlink())

    def test_what_utf_8_cannot_say_is_written_as_its_escape(self) -> None:
        write_whole(self.path, "a\ud800b", named=True)
        self.assertEqual(self.path.read_text(encoding="utf-8"), "a\\ud800b")


class Asked(unittest.TestCase):
    """What is asked before anything is written."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.path = self.folder / "file.json"
        self.path.write_text("before", encoding="utf-8")
        (self.folder / "soft").symlink_to("file.json")
        os.link(self.path, self.folder / "hard")
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "there").symlink_to(".")
        (self.folder / "dangling").symlink_to("new")

    def test_one_file(self) -> None:
        for left, right in (("file.json", "soft"), ("file.json", "hard"), ("file.json", "there/./file.json"),
                            ("new", "new"), ("new", "there/new"), ("new", "dangling"), ("loop", "loop"),
                            (".", "there")):
            with self.subTest(left, right=right):
                self.assertTrue(one_file(self.folder / left, self.folder / right))
                self.assertTrue(one_file(self.folder / right, self.folder / left))
        for left, right in (("file.json", "new"), ("new", "other"), ("loop", "new"), ("x" * 300, "new")):
            with self.subTest(left, right=right):
                self.assertFalse(one_file(self.folder / left, self.folder / right))
        self.assertFalse(one_file(Path(os.devnull), Path(os.devnull)))

    def test_outputs_are_apart_from_inputs_and_from_each_other(self) -> None:
        new, other = self.folder / "new", self.folder / "other"
        require_apart([("--a", new), ("--b", other), ("--c", None)], [("--from", self.path), ("--x", None)])
        require_apart([], [("--from", self.path), ("--again", self.path)])  # reading twice destroys nothing
        for outputs, words in (([("--a", new), ("--b", new)], "--a and --b are one file"),
                               ([("--a", None), ("--b", self.folder / "soft")], "--from and --b are one file")):
            with self.assertRaises(OSError) as caught:
                require_apart(outputs, [("--from", self.path)])
            self.assertIn(words, caught.exception.strerror)
            self.assertEqual(caught.exception.filename, str(outputs[1][1]))

    def test_writable_is_what_can_be_written(self) -> None:
        for name in ("file.json", "soft", "new", "dangling", "loop"):
            require_writable(self.folder / name)
            write_whole(self.folder / name, "after", named=True)
            self.assertEqual((self.folder / name).read_text(encoding="utf-8"), "after")
        require_writable(Path(os.devnull))
        for name in (".", "none/x", "file.json/x", "x" * 300):
            with self.subTest(name), self.assertRaises(OSError) as caught:
                require_writable(self.folder / name)
            self.assertEqual(caught.exception.filename, str(self.folder / name))
            self.assertRaises(OSError, write_whole, self.folder / name, "after", named=True)
        self.assertEqual(len([*self.folder.glob("*.tmp")]), 0)


class Programs(unittest.TestCase):
    def test_no_program_of_the_reports_has_a_way_of_its_own(self) -> None:
        exempt = ("made_up.py", "synthetic.py", "browser.py", "whole_file.py")  # what tests make, and the way itself
        programs = [file for folder in ("calibration", "nightly", "other_tools", "page", "pictures", "published")
                    for file in (REPORT / folder).glob("*.py")
                    if not file.name.endswith("_test.py") and file.name not in exempt]
        self.assertGreater(len(programs), 15)
        for file in programs:
            text = file.read_text(encoding="utf-8")
            self.assertEqual(re.findall(r"os\.replace|os\.rename|\.write_text|\.write_bytes", text), [], file.name)
            for saved in re.findall(r"savefig\((\w+)", text):
                self.assertEqual(saved, "unfinished", file.name)


if __name__ == "__main__":
    unittest.main()
