#!/usr/bin/env python3
"""scripts/pr.sh in a made-up repository of three commits, with real git and stubs for what builds and measures."""
from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from pathlib import Path

import script_machine

# Configures and builds: the executable says which source it was made from.
CMAKE = r"""
if [[ $1 == --build ]]; then
  [[ -z ${BUILD_CODE-} ]] || { echo "no such type" >&2; exit "$BUILD_CODE"; }
  mkdir -p "$2/bin"
  cat >"$2/bin/strictbench" <<END
#!/usr/bin/env bash
echo "built from: $(cat "$2/source/code")"
echo "\$*"
exit "\${AB_CODE:-0}"
END
  chmod +x "$2/bin/strictbench"
else
  [[ -f $2/code && $4 == "${2%/source}" ]]
fi
"""


class PullRequest(script_machine.Machine):
    def setUp(self) -> None:
        super().setUp()
        for tool in ("git", "chmod"):
            where = shutil.which(tool)
            assert where, tool
            (self.path / tool).unlink(missing_ok=True)
            (self.path / tool).symlink_to(where)
        self.stub(self.path / "cmake", CMAKE)
        self.stub(self.path / "c++", "echo c++ 12.2.0")
        (self.tree / ".gitignore").write_text("/build/\n/.venv/\n", encoding="utf-8")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commits = [self.commit(text) for text in ("first", "second", "third")]

    def git(self, *arguments: str) -> str:
        identity = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return subprocess.run(["git", "-C", str(self.tree), *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, **identity}).stdout.strip()

    def commit(self, text: str) -> str:
        (self.tree / "code").write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)
        return self.git("rev-parse", "HEAD")

    def folder(self, number: int) -> Path:
        return self.tree / "build/pr" / self.commits[number]

    def builds(self) -> list[str]:
        return [call.split()[2] for call in self.calls("cmake") if call.split()[1] == "--build"]

    def assert_no_worktree(self) -> None:
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(list(self.tree.glob("build/pr/*/source")), [])

    def test_two_commits_are_built_and_measured_by_the_second(self) -> None:
        done = self.run_script("pr.sh", "main~2", "main", "--filter", "row fold", "--processes=3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "built from: third\n"
                         f"ab --base {self.folder(0)} --head {self.folder(2)} --format markdown "
                         "--filter row fold --processes=3\n")
        self.assertEqual(self.builds(), [str(self.folder(0)), str(self.folder(2))])
        configure = [call for call in self.calls("cmake") if "-S" in call]
        self.assertTrue(all("--preset release" in call for call in configure), configure)
        self.assert_no_worktree()

    def test_what_is_built_is_not_built_again(self) -> None:
        self.run_script("pr.sh", "main~1", "main")
        done = self.run_script("pr.sh", self.commits[0][:12], "main")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.builds(), [str(self.folder(0))])
        self.assertIn(f"{self.commits[2][:10]} is built already", done.stderr)

    def test_another_compiler_builds_again(self) -> None:
        self.run_script("pr.sh", "main~1", "main")
        self.stub(self.path / "c++", "echo c++ 13.1.0")
        self.run_script("pr.sh", "main~1", "main")
        self.assertEqual(len(self.builds()), 2)

    def test_one_commit_is_compared_with_itself(self) -> None:
        done = self.run_script("pr.sh", "HEAD", "main")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.builds(), [str(self.folder(2))])
        self.assertIn(f"--base {self.folder(2)} --head {self.folder(2)} ", done.stdout)

    def test_the_exit_code_and_the_format_are_those_of_ab(self) -> None:
        for code in (1, 2, 3, 130):
            self.assertEqual(self.run_script("pr.sh", "main~1", "main", AB_CODE=code).returncode, code)
        for form in (["--format", "json"], ["--format=json"]):
            self.assertNotIn("markdown", self.run_script("pr.sh", "main~1", "main", *form).stdout)

    def assert_unusable(self, done: subprocess.CompletedProcess[str], words: str) -> None:
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(self.builds(), [])

    def test_unusable_input_is_one_line(self) -> None:
        self.assert_unusable(self.run_script("pr.sh"), "name two commits")
        self.assert_unusable(self.run_script("pr.sh", "main"), "name two commits")
        for bad in ("no-such-branch", "main:code", "--output=x", ""):
            self.assert_unusable(self.run_script("pr.sh", bad, "main"), f"'{bad}' is no commit")
            self.assert_unusable(self.run_script("pr.sh", "main", bad), f"'{bad}' is no commit")
        shutil.rmtree(self.tree / ".git")
        self.assert_unusable(self.run_script("pr.sh", "a", "b"), "is no git repository")

    def test_changes_that_are_not_committed_are_pointed_out(self) -> None:
        (self.tree / "code").write_text("fourth", encoding="utf-8")
        hint = "not committed, and they are not measured"
        done = self.run_script("pr.sh", "main~1", "HEAD")
        self.assertIn(hint, done.stderr)
        self.assertIn("built from: third", done.stdout)
        self.assertNotIn(hint, self.run_script("pr.sh", "main~2", "main~1").stderr)

    def test_a_commit_that_does_not_build(self) -> None:
        done = self.run_script("pr.sh", "main~1", "main", BUILD_CODE=1)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no such type", done.stderr)
        self.assertIn(f"{self.commits[1][:10]} does not build", done.stderr)
        self.assert_no_worktree()
        self.assertEqual(self.run_script("pr.sh", "main~1", "main").returncode, 0)  # and later it does

    def test_what_a_killed_run_left_is_no_obstacle(self) -> None:
        self.git("worktree", "add", "--quiet", "--detach", str(self.folder(2) / "source"), "main")
        self.assertEqual(self.run_script("pr.sh", "main", "main").returncode, 0)
        self.assert_no_worktree()

    def test_help_does_nothing_else(self) -> None:
        done = self.run_script("pr.sh", "--help")
        self.assertEqual((done.returncode, done.stderr, self.calls("cmake")), (0, "", []))
        self.assertIn("scripts/pr.sh BASE HEAD", done.stdout)
        self.assertIn("--wait", done.stdout)


if __name__ == "__main__":
    unittest.main()
