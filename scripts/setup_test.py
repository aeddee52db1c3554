#!/usr/bin/env python3
"""setup.sh, run whole on a made-up machine."""
from __future__ import annotations

import unittest

from script_machine import LIBRARIES, Machine, PYTHON


class Setup(Machine):
    def test_nothing_missing_installs_nothing(self) -> None:
        done = self.run_script("setup.sh")
        self.assertEqual((done.returncode, self.calls("apt-get")), (0, []))

    def test_root_installs_what_is_missing_and_no_more(self) -> None:
        self.lack("ninja", "git")
        self.stub(self.path / "dpkg-query", "\n".join(f"echo {library} installed" for library in LIBRARIES[:-2]) +
                  "\necho libgtest-dev config-files")
        done = self.run_script("setup.sh", VENV_CODE=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        install = self.calls("apt-get")[-1]
        self.assertEqual(install.split(" install ")[1],
                         "ninja-build git python3-venv libgtest-dev libgmock-dev")

    def test_make_will_do_for_ninja(self) -> None:
        self.lack("ninja")
        self.stub(self.path / "make", "")
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.assertEqual(self.calls("apt-get"), [])
        self.assertNotIn("-G", self.calls("cmake")[0])

    def test_sudo_where_not_root(self) -> None:
        self.lack("git")
        self.stub(self.path / "sudo", 'if [[ $1 == -n ]]; then exit "${SUDO_CODE:-0}"; fi\n"$@"')
        done = self.run_script("setup.sh", USER_ID=1000)
        self.assertEqual(done.returncode, 0)
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get", self.calls("sudo")[-1])
        self.assertTrue(self.calls("apt-get")[-1].endswith(" install git"))

    def test_no_way_to_install_names_the_packages(self) -> None:
        self.lack("cmake", "git")
        self.stub(self.path / "sudo", "exit 1")  # asks for a password, and nobody is there
        for remove in ((), ("sudo",)):
            self.lack(*remove)
            done = self.run_script("setup.sh", USER_ID=1000)
            self.assertEqual(done.returncode, 2)
            self.assertIn("setup: cannot go on without: cmake git\n", done.stderr)
            self.assertEqual(self.calls("apt-get"), [])
            self.assertIn(self.calls("sudo"), ([], ["sudo -n true"]))

    def test_missing_libraries_alone_are_named_and_left_to_cmake(self) -> None:
        self.stub(self.path / "dpkg-query", "exit 1")
        done = self.run_script("setup.sh", USER_ID=1000)
        self.assertEqual(done.returncode, 0)
        self.assertIn(" ".join(LIBRARIES), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_apt_that_fails(self) -> None:
        self.lack("g++")
        self.stub(self.path / "apt-get", "echo E: no network; exit 100")
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 2)
        for text in ("E: no network", "full log: ", "cannot go on without: g++"):
            self.assertIn(text, done.stderr)

    def test_another_system(self) -> None:
        self.lack("apt-get", "dpkg-query")
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.lack("git")
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot go on without: git", done.stderr)

    def test_python_environment_follows_its_requirements(self) -> None:
        self.assertEqual(self.run_script("setup.sh").returncode, 0)
        self.assertFalse([call for call in self.calls("python3") if "-m venv" in call])
        (self.tree / "report/requirements.txt").write_text("matplotlib==2.0\n", encoding="utf-8")
        self.stub(self.path / "python3", f'if [[ $2 == venv ]]; then mkdir -p "$4/bin"; exit; fi\n{PYTHON}')
        for made in (1, 0):  # the second time it is up to date
            self.assertEqual(self.run_script("setup.sh").returncode, 0)
            self.assertEqual(len([call for call in self.calls("python3") if "-m venv" in call]), made)
            self.assertEqual(len([call for call in self.calls("python") if "pip install" in call]), made)

    def test_python_environment_whose_python_is_gone(self) -> None:
        (self.tree / ".venv/bin/python").unlink()
        self.stub(self.path / "python3", f'if [[ $2 == venv ]]; then echo made; exit 1; fi\n{PYTHON}')
        done = self.run_script("setup.sh")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("made", done.stderr)


if __name__ == "__main__":
    unittest.main()
