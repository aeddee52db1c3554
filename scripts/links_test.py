#!/usr/bin/env python3
"""Every file that a document of this project links to, or says that it was cut from, exists."""
from __future__ import annotations

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def documents() -> list[Path]:
    """The Markdown files under version control, or all of them where there is no git."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / line for line in listed.stdout.splitlines()]
    return [path for path in ROOT.rglob("*.md") if "build" not in path.parts and ".venv" not in path.parts]


class Links(unittest.TestCase):
    def test_relative_links_and_sources_exist(self) -> None:
        found = 0
        for document in documents():
            text = document.read_text(encoding="utf-8")
            links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
            links += re.findall(r"<!--[^>]*\bcut from (\S+\.json)\b", text)
            for link in links:
                found += 1
                near = document.parent / link
                self.assertTrue(near.exists() or (ROOT / link).exists(), f"{document.relative_to(ROOT)}: {link}")
        self.assertGreater(found, 5)


if __name__ == "__main__":
    unittest.main()
