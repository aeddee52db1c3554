"""Proves that every promise of FAULTS.md names a test that there is, in a file that ctest runs.

Usage: faults_table_test.py [unittest arguments]
"""
import pathlib
import re
import unittest

TABLE = pathlib.Path(__file__).resolve().parent / "FAULTS.md"
TREE = TABLE.parents[2]
LEAST = 25  # rows; fewer would mean that this test reads them wrongly


def rows():
    """(fault, promise, file, test) of each row."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("fault", "---"):
            continue
        named = re.fullmatch(r"`([^`]+)` `([^`]+)`", cells[-1])
        yield (*cells[:2], *(named.groups() if named else ("", "")), len(cells))


def definition(file, test):
    """What a test looks like where it is defined: in Python, in C++, or as a fuzz target that every build replays."""
    if file.endswith(".py"):
        return rf"^    def {test}\(self\b"
    if file.endswith("CMakeLists.txt"):
        return rf"^ *strictbench_add_fuzz_target\({test.removeprefix('replay_')} "
    return rf"^TEST(?:_F)?\({test.replace('.', ', ')}\)"


class FaultsTableTest(unittest.TestCase):
    def test_every_promise_names_a_test_that_there_is(self):
        found = list(rows())
        self.assertGreaterEqual(len(found), LEAST)
        for fault, promise, file, test, cells in found:
            with self.subTest(fault):
                self.assertEqual(cells, 3)
                self.assertTrue(promise)
                self.assertTrue((TREE / file).is_file(), file or "no `file` `test` in the last cell")
                text = (TREE / file).read_text(encoding="utf-8")
                self.assertEqual(len(re.findall(definition(file, test), text, re.MULTILINE)), 1, test)

    def test_every_file_is_run_by_ctest(self):
        lists = "".join(path.read_text(encoding="utf-8") for path in TREE.glob("*/**/CMakeLists.txt")
                        if path.relative_to(TREE).parts[0] in ("bench", "kernels", "report", "scripts"))
        for file in {row[2] for row in rows()}:
            name = pathlib.Path(file)
            if name.name == "CMakeLists.txt":
                continue
            run = name.name if name.suffix == ".cpp" or name.parent.name == "selftest" else name.stem
            self.assertRegex(lists, rf"[\s/]{re.escape(run)}\b")

    def test_no_test_is_named_for_two_faults(self):
        tests = [row[3] for row in rows()]
        self.assertEqual(sorted(tests), sorted(set(tests)))


if __name__ == "__main__":
    unittest.main()
