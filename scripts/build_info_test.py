#!/usr/bin/env python3
"""What a build says of itself."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from script_machine import ROOT


class BuildInfo(unittest.TestCase):
    """What WriteBuildInfo.cmake says about a tree."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.tree = Path(temporary.name) / "tree"
        self.tree.mkdir()
        (self.tree / "CMakeLists.txt").touch()
        self.output = Path(temporary.name) / "build.json"

    def git(self, *arguments: str) -> str:
        identity = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return subprocess.run(["git", "-C", str(self.tree), *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, **identity}).stdout.strip()

    def commit(self) -> str:
        self.git("init", "--quiet")
        self.git("add", "CMakeLists.txt")
        self.git("commit", "--quiet", "--message", "first")
        return self.git("rev-parse", "HEAD")

    def info(self, **values: str) -> dict:
        settings = {"OUTPUT": self.output, "SOURCE": self.tree, "COMMIT": "", "COMPILER": "GNU 12.2.0",
                    "BUILD_TYPE": "release", "CUDA_VERSION": "", **values}
        subprocess.run(["cmake", *(f"-D{key}={value}" for key, value in settings.items()),
                        "-P", str(ROOT / "scripts/cmake/WriteBuildInfo.cmake")], check=True)
        return json.loads(self.output.read_text(encoding="utf-8"))

    def test_no_git_no_commit(self) -> None:
        self.assertEqual(self.info(), {"compiler": "GNU 12.2.0", "build_type": "release", "source": str(self.tree)})

    def test_commit_and_changes(self) -> None:
        commit = self.commit()
        (self.tree / "baselines").mkdir()
        (self.tree / "baselines/first.json").touch()  # goes into no build
        info = self.info(CUDA_VERSION="12.8.61")
        self.assertEqual((info["git_commit"], info["git_dirty"], info["cuda_version"]), (commit, False, "12.8.61"))
        (self.tree / "kernels").mkdir()
        (self.tree / "kernels/new.cu").touch()
        self.assertIs(self.info()["git_dirty"], True)

    def test_a_tree_inside_a_foreign_repository_has_no_commit(self) -> None:
        self.commit()
        self.git("rm", "--quiet", "--cached", "CMakeLists.txt")
        self.assertNotIn("git_commit", self.info())

    def test_the_commit_can_be_told(self) -> None:
        self.commit()
        info = self.info(COMMIT="abc123")
        self.assertEqual((info["git_commit"], "git_dirty" in info), ("abc123", False))
        info = self.info(COMMIT="abc123-dirty")
        self.assertEqual((info["git_commit"], info["git_dirty"]), ("abc123", True))

    def test_quotes_and_backslashes(self) -> None:
        self.assertEqual(self.info(COMPILER='a "b" \\c')["compiler"], 'a "b" \\c')

    def test_rewritten_only_when_it_changes(self) -> None:
        self.info()
        before = self.output.stat().st_mtime_ns
        self.info()
        self.assertEqual(self.output.stat().st_mtime_ns, before)
        self.info(COMMIT="abc123")
        self.assertNotEqual(self.output.stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
