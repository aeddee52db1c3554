#!/usr/bin/env python3
"""scripts/nightly.sh in a made-up repository: real git and a real report, stubs for what builds and measures."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import pr_test
import script_machine

ROW = "row_fold/{}/rows:1/cols:128/dtype:fp32/timer:graph"
CMAKE = r"""
echo "-- CUDA variants: built"
[[ $1 == --build && $2 == */build/pr/* ]] || exit "${BUILD_CODE:-0}"
[[ -z ${BASE_CODE-} ]] || { echo "no such type" >&2; exit "$BASE_CODE"; }
[[ -z ${BASE_SLEEP-} ]] || sleep "$BASE_SLEEP"
mkdir -p "$2/bin" && touch "$2/bin/strictbench" && chmod +x "$2/bin/strictbench"
"""
STRICTBENCH = r"""
command=$1 out='' output='' kernels=''
while (($# > 0)); do
  case $1 in
    --out) out=$2 ;;
    --output) output=$2 ;;
    --kernels) kernels=yes ;;
  esac
  shift
done
case $command in
  list) echo '{"gpu_name": "NVIDIA H200", "cases": []}' ;;
  run)
    [[ ${RUN_CODE:-0} != 2 ]] || { echo "strictbench: no such case" >&2; exit 2; }
    mkdir -p "$out"
    echo '{"gpu_name": "NVIDIA H200", "status": "complete"}' >"$out/run.json"
    [[ -z $kernels ]] || echo '{}' >"$out/row_fold.kernels.json"
    if [[ -n ${RUN_SLEEP-} ]]; then
      trap 'echo stopped >"$out/stopped"; exit 143' TERM
      touch "$out/started"
      sleep "$RUN_SLEEP" & wait
    fi
    exit "${RUN_CODE:-0}" ;;
  table) [[ -z ${GITHUB_ACTIONS-} ]] || echo "::error title=of the table" >&2 ;;
  compare | ab)
    [[ $command != compare || -z ${GITHUB_ACTIONS-} ]] || exit 99
    code=${COMPARE_CODE:-0} json=$COMPARE
    [[ $command == compare ]] || { code=${AB_CODE:-0} json=$AB; }
    [[ $code == 2 ]] || echo "$json" >"$output"
    exit "$code" ;;
esac
"""


def comparison(**verdicts: str) -> str:
    """A row a keyword, by variant; a suffix after an underscore tells equal verdicts apart."""
    ratios = {"slower": 1.2, "faster": 0.8, "inconclusive": 1.04, "same": 1.0}
    rows = [{"name": ROW.format(variant), "verdict": verdict, "ratio": ratios.get(verdict), "ratio_low": None,
             "ratio_high": None, "smallest_visible": None, "baseline": {"median": 1.0, "processes": 5, "samples": 5},
             "contender": None, "unit": "ns", "reason": ""} for variant, verdict in verdicts.items()]
    return json.dumps({"verdict": "pass", "exit_code": 0, "threshold": 0.05, "alpha": 0.01, "counts": {}, "notes": [],
                       "rows": rows})


class Nightly(pr_test.PullRequest):
    """The commit that the baseline was measured at is the first of three."""

    def setUp(self) -> None:
        super().setUp()
        for tool in ("chmod", "sleep"):
            where = shutil.which(tool)
            assert where
            (self.path / tool).unlink(missing_ok=True)
            (self.path / tool).symlink_to(where)
        self.stub(self.path / "cmake", CMAKE)
        self.stub(self.tree / "build/release/bin/strictbench", STRICTBENCH)
        (self.tree / "build/release/bin/build.json").write_text('{"git_commit": "0123456789abcdef"}', encoding="utf-8")
        shutil.copy(script_machine.ROOT / "scripts/prune.py", self.tree / "scripts")
        for part in ("nightly", "page", "pictures"):
            (self.tree / "report" / part).mkdir(exist_ok=True)
            for file in (script_machine.ROOT / "report" / part).glob("*.py"):
                shutil.copy(file, self.tree / "report" / part)
        self.baseline = self.tree / "baselines/h200/first.json"
        self.baseline.parent.mkdir(parents=True)
        self.accept(self.commits[0])

    def accept(self, commit: str) -> None:
        context = {"session.1.git_commit": commit, "session.1.date": "2026-11-01T00:00:00+00:00"}
        rows = [{"name": ROW.format(variant), "run_type": "iteration", "iterations": 1, "real_time": 1.0, "cpu_time": 1,
                 "time_unit": "ns", "process": 0, "session": 1} for variant in ("new", "legacy", "other")]
        self.baseline.write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")

    def nightly(self, *arguments: str, compare: str, ab: str = "", **environment: object):
        done = self.run_script("nightly.sh", *arguments, COMPARE=compare, AB=ab, **environment)
        found = sorted((self.tree / "results").glob("*"))
        self.folder = found[-1] if found else self.tree
        return done

    def summary(self, done: subprocess.CompletedProcess[str]) -> str:
        """The last line, which is also in its file."""
        last = done.stdout.splitlines()[-1]
        self.assertEqual((self.folder / "summary.txt").read_text(encoding="utf-8"), last + "\n")
        return last

    def verdicts(self) -> dict[str, str]:
        rows = json.loads((self.folder / "confirmed.json").read_text(encoding="utf-8"))["rows"]
        return {row["name"].split("/")[1]: row["verdict"] for row in rows}

    def test_a_green_night(self) -> None:
        done = self.nightly("--filter", "row_fold", "--budget=9", compare=comparison(new="same", legacy="faster"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(self.summary(done).startswith("pass: 1 faster, 1 same; results/"), done.stdout)
        result = f"results/{self.folder.name}"
        self.assertRegex(result, r"^results/\d{8}T\d{6}Z_0123456789_h200$")
        calls = self.calls("strictbench")
        self.assertIn(f"strictbench run --wait --filter row_fold --budget 9 --out {result}", calls)
        self.assertIn(f"strictbench compare --baseline baselines/h200/first.json --contender {result} --format json "
                      f"--output {result}/compare.json", calls)
        self.assertFalse([call for call in calls if " ab " in call or " kernels " in call])
        self.assertEqual(self.builds(), [str(self.tree / "build/release")])
        self.assertIn(f"python report/page/report.py {result} --verdict {result}/confirmed.json", self.calls("python"))
        suite = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("2", "0", "0"))

    def test_a_slowdown_that_is_confirmed_is_red(self) -> None:
        done = self.nightly("--processes", "7", "--timeout=60", "--device=0", COMPARE_CODE=1, AB_CODE=1,
                            compare=comparison(new="slower", legacy="same", other="inconclusive"),
                            ab=comparison(new="slower", other="same"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("regressed: 1 slower, 2 same; in doubt were 1 slower and 1 inconclusive; measured again: 1 slower, "
                      "1 same; ", self.summary(done))
        self.assertEqual(self.verdicts(), {"new": "slower", "legacy": "same", "other": "same"})
        (call,) = [call for call in self.calls("strictbench") if call.startswith("strictbench ab")]
        short, result = self.commits[0][:10], f"results/{self.folder.name}"
        self.assertEqual(call, f"strictbench ab --wait --base {self.folder_of_base()} --head build/release --filter "
                         f"^({ROW.format('new')}|{ROW.format('other')})(/|$) --processes 7 --timeout 60 --device 0 "
                         f"--out {result}/ab-{short} --format json --output {result}/ab-{short}.json")
        self.assertIn(str(self.folder_of_base()), self.builds())
        self.assert_no_worktree()
        suite = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()[0]
        self.assertEqual((suite.get("failures"), suite.get("skipped")), ("1", "0"))

    def folder_of_base(self) -> Path:
        return self.tree / "build/pr" / self.commits[0]

    def test_a_slowdown_that_is_not_confirmed_does_not_count(self) -> None:
        for answer in ("same", "faster"):
            done = self.nightly(compare=comparison(new="slower", legacy="same"), ab=comparison(new=answer), COMPARE_CODE=1)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("in doubt were 1 slower and 0 inconclusive; measured again: 1 " + answer, self.summary(done))
            text = (self.folder / "confirmed.json").read_text(encoding="utf-8")
            self.assertIn("slower (+20.00 %) against the baseline; measured by turns with " + self.commits[0][:10], text)

    def test_what_ab_cannot_tell_stays_undecided(self) -> None:
        done = self.nightly(compare=comparison(new="slower"), ab=comparison(new="inconclusive"), COMPARE_CODE=1, AB_CODE=3)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(self.summary(done).startswith("undecided: 1 inconclusive; "))

    def test_what_is_wrong_failed_or_missing_needs_no_confirmation(self) -> None:
        for verdict in ("wrong", "failed", "missing"):
            done = self.nightly(compare=comparison(new=verdict), COMPARE_CODE=1)
            self.assertEqual(done.returncode, 1)
            self.assertFalse([call for call in self.calls("strictbench") if " ab " in call])

    def assert_as_it_was(self, done: subprocess.CompletedProcess[str], why: str) -> None:
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.verdicts(), {"new": "slower", "legacy": "inconclusive"})
        self.assertIn("none measured again", self.summary(done))
        self.assertIn(why, done.stderr)
        self.assertIn(why, (self.folder / "confirmed.json").read_text(encoding="utf-8"))
        self.assert_no_worktree()

    def test_where_there_is_no_answer_verdicts_stay_as_they_were(self) -> None:
        doubts = comparison(new="slower", legacy="inconclusive")
        done = self.nightly(compare=doubts, COMPARE_CODE=1, BASE_CODE=1)
        self.assert_as_it_was(done, f"not confirmed: {self.commits[0][:10]}, which the baseline was measured at, does not build")
        self.assertIn("no such type", done.stderr)
        done = self.nightly(compare=doubts, COMPARE_CODE=1, AB_CODE=2)
        self.assert_as_it_was(done, f"the comparison with {self.commits[0][:10]} could not be measured")
        self.accept("0" * 40)
        done = self.nightly(compare=doubts, COMPARE_CODE=1)
        self.assert_as_it_was(done, "0000000000, which the baseline was measured at, is no commit of this repository")
        self.accept("")
        done = self.nightly(compare=doubts, COMPARE_CODE=1)
        self.assertEqual((done.returncode, self.verdicts()["new"]), (1, "slower"))
        done = self.nightly("--no-confirm", compare=doubts, COMPARE_CODE=1)
        self.assertEqual((done.returncode, self.verdicts()["new"]), (1, "slower"))
        self.assertFalse([call for call in self.calls("strictbench") if " ab " in call])

    def test_a_device_without_a_baseline(self) -> None:
        self.baseline.rename(self.baseline.with_name("published.json"))
        done = self.nightly(compare="")
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertIn(f"accept results/{self.folder.name} --name first", done.stdout)
        self.assertIn(f"results/{self.folder.name}/candidate", done.stdout)
        self.assertTrue(self.summary(done).startswith("undecided: no baseline for h200 yet"))
        self.assertIn("--filter timer:graph|", self.calls("strictbench")[1])
        self.assertIn(f"python report/page/report.py results/{self.folder.name}", self.calls("python"))

    def test_a_run_that_failed_in_part(self) -> None:
        done = self.nightly(compare=comparison(new="same", legacy="failed"), RUN_CODE=1, COMPARE_CODE=1)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(self.summary(done).startswith("regressed: 1 failed, 1 same"))
        for verdict in ("same", "inconclusive"):  # whatever the comparison says of what is there
            done = self.nightly("--no-confirm", compare=comparison(new=verdict), RUN_CODE=1, GITHUB_ACTIONS="true")
            self.assertEqual(done.returncode, 1)
            self.assertTrue(self.summary(done).startswith(f"failed: something failed in the run; 1 {verdict}; "), done.stdout)
            self.assert_all_say(done, "regressed", 1, "something failed in the run")
            self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("::")],
                             ["::error title=strictbench::failed: something failed in the run; run.json says what"])
        self.baseline.unlink()
        done = self.nightly(compare="", RUN_CODE=1, GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(self.summary(done).startswith("failed: no baseline for h200 yet, and something failed in the run; "))
        self.assertIn("::error title=strictbench::something failed in the run; run.json says what", done.stdout.splitlines())
        self.assertFalse([call for call in self.calls("strictbench") if "accept" in call])

    def assert_all_say(self, done: subprocess.CompletedProcess[str], verdict: str, failures: int, note: str) -> None:
        """Of a run that ended worse than its rows: every file agrees with the exit code."""
        confirmed = json.loads((self.folder / "confirmed.json").read_text(encoding="utf-8"))
        self.assertEqual((confirmed["verdict"], confirmed["exit_code"]), (verdict, done.returncode))
        self.assertIn(note, " ".join(confirmed["notes"]))
        suite = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()[0]
        self.assertEqual(int(suite.get("tests", "")), len(suite.findall("testcase")))
        self.assertEqual(int(suite.get("failures", "")), len(suite.findall("testcase/failure")))
        self.assertEqual(int(suite.get("skipped", "")), len(suite.findall("testcase/skipped")))
        self.assertEqual(len(suite.findall("testcase/failure")), failures)
        (of_run,) = suite.findall("testcase[@name='the run']/*")
        self.assertIn(note, of_run.get("message", ""))

    def test_a_night_of_suspect_samples_is_undecided(self) -> None:
        done = self.nightly(compare=comparison(new="same"), RUN_CODE=3)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(self.summary(done).startswith("undecided: most samples are suspect; 1 same; results/"), done.stdout)
        self.assert_all_say(done, "undecided", 0, "most samples are suspect")
        done = self.nightly(compare=comparison(new="same", legacy="failed"), RUN_CODE=3, COMPARE_CODE=1)
        self.assertEqual(done.returncode, 1)
        self.baseline.unlink()
        done = self.nightly(compare="", RUN_CODE=3)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(self.summary(done).startswith("undecided: no baseline for h200 yet, and most samples are suspect"))
        self.assertFalse([call for call in self.calls("strictbench") if "accept" in call])

    def test_unusable_or_unbuilt_is_2(self) -> None:
        self.assertEqual(self.nightly(compare="", RUN_CODE=2).returncode, 2)
        self.assertEqual(self.nightly(compare="", BUILD_CODE=1).returncode, 2)
        self.assertEqual(self.nightly(compare="", COMPARE_CODE=2).returncode, 2)
        for arguments, words in ((("--fast",), "unknown argument '--fast'"), (("--filters=x",), "unknown option"),
                                 (("--outx", "y"), "unknown argument '--outx'"), (("--wait=1",), "unknown option '--wait'"),
                                 (("--keep", "0"), "--keep 0: a number"), (("--keep",), "--keep needs a value"),
                                 (("--filter=",), "--filter is empty"), (("--out", str(self.tree)), "exists already")):
            done = self.nightly(*arguments, compare="")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(words, done.stderr)

    def test_the_newest_results_are_kept(self) -> None:
        def old(name: str, gpu: str = "NVIDIA H200", **run: object) -> Path:
            folder = self.tree / "results" / name
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps({"gpu_name": gpu, **run}), encoding="utf-8")
            return folder

        nights = [old(f"202501{day:02}T020000Z_0123456789_h200") for day in range(1, 6)]
        others = [old("20240101T020000Z_0123456789_h100", gpu="NVIDIA H100"), old("my-own"),
                  old("20240102T020000Z_0123456789_h200", status="running", runner_pid=os.getpid())]
        (self.tree / "results/20240103T020000Z_0123456789_h200").mkdir()  # no result: it has no run.json
        (self.tree / "results/20240104T020000Z_0123456789_h200").symlink_to(self.base)
        (self.tree / "results/README").touch()
        done = self.nightly("--keep", "3", compare=comparison(new="same"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([night.exists() for night in nights], [False, False, False, True, True])
        self.assertTrue(self.folder.is_dir() and all(other.is_dir() for other in others))
        self.assertEqual(len(list((self.tree / "results").iterdir())), 3 + 3 + 3)
        self.assertIn(f"removed {nights[0].name}\nremoved {nights[1].name}", done.stdout)
        # One that names its own folder is kept as well, and removes nothing elsewhere.
        elsewhere = self.base / "elsewhere"
        done = self.run_script("nightly.sh", "--keep=1", "--out", "elsewhere", COMPARE=comparison(new="same"))
        self.assertEqual(done.returncode, 0)
        self.assertTrue((elsewhere / "summary.txt").is_file() and nights[4].is_dir())

    def test_kernels_are_recorded_on_request(self) -> None:
        self.nightly("--kernels", compare=comparison(new="same"))
        calls, result = self.calls("strictbench"), f"results/{self.folder.name}"
        self.assertIn(f"strictbench run --wait --kernels --out {result}", calls)
        self.assertIn(f"strictbench kernels --before {result} --before-case /legacy/ --after {result} --after-case /new/ "
                      f"--format json --output {result}/kernels.json", calls)

    def test_a_github_action_is_told_what_stands_in_the_end(self) -> None:
        page = self.base / "summary.md"
        done = self.nightly(compare=comparison(new="slower", legacy="slower"), ab=comparison(new="same", legacy="slower"),
                            COMPARE_CODE=1, AB_CODE=1, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=page)
        self.assertEqual(done.returncode, 1, done.stderr)
        errors = [line for line in done.stdout.splitlines() if line.startswith("::")]
        self.assertEqual(len(errors), 1, done.stdout)
        self.assertTrue(errors[0].startswith("::error title=slower%3A row_fold/legacy/rows%3A1"), errors)
        text = page.read_text(encoding="utf-8")
        self.assertIn("| slower | `row_fold/legacy", text)
        self.assertNotIn("row_fold/new", text)
        # The table has verdicts, too, and says which; they are no annotations.
        self.assertIn(f"strictbench table results/{self.folder.name} --baseline baselines/h200/first.json "
                      "--format markdown", self.calls("strictbench"))
        self.assertIn("Verdicts in the table below are the first ones", text)
        self.assertNotIn("::error title=of the table", done.stderr)

    def test_a_github_action_without_a_baseline_is_told_by_the_table(self) -> None:
        page = self.base / "summary.md"
        self.baseline.unlink()
        done = self.nightly(compare="", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=page)
        self.assertEqual((done.returncode, done.stderr), (3, "::error title=of the table\n"))
        self.assertIn(f"strictbench table results/{self.folder.name} --format markdown", self.calls("strictbench"))
        text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("undecided: no baseline for h200 yet"), text)
        self.assertNotIn("Verdicts in the table", text)

    def interrupt(self, number: int, begun, **environment: object) -> int:
        """Sends a signal to the script once `begun` says so; returns how it ended."""
        self.calls_file.write_text("", encoding="utf-8")
        process = subprocess.Popen([str(self.tree / "scripts/nightly.sh")], cwd=self.base, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={"PATH": str(self.path), **{key: str(value) for key, value in environment.items()}})
        limit = time.monotonic() + 30
        while not begun() and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(number)
        return process.wait(timeout=30)

    def test_a_signal_ends_the_run_and_the_night(self) -> None:
        for number, code in ((signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                began = time.monotonic()
                self.assertEqual(self.interrupt(number, lambda: list(self.tree.glob("results/*/started")), RUN_SLEEP=60),
                                 code)
                self.assertLess(time.monotonic() - began, 30)
                (folder,) = self.tree.glob("results/*")
                self.assertEqual((folder / "stopped").read_text(encoding="utf-8"), "stopped\n")
                shutil.rmtree(folder)

    def test_a_signal_ends_the_build_of_the_baseline(self) -> None:
        source = self.folder_of_base() / "source"

        def building() -> bool:
            return any(f"--build {self.folder_of_base()}" in call for call in self.calls("cmake"))

        code = self.interrupt(signal.SIGTERM, building, BASE_SLEEP=60, COMPARE=comparison(new="slower"), COMPARE_CODE=1)
        self.assertEqual((code, source.exists()), (143, False))
        self.assert_no_worktree()

    def test_a_run_that_was_ended_is_passed_on(self) -> None:
        for code in (129, 130, 143):
            self.assertEqual(self.nightly(compare="", RUN_CODE=code).returncode, code)
        self.assertEqual(self.nightly(compare=comparison(new="slower"), COMPARE_CODE=1, AB_CODE=130).returncode, 130)

    def test_a_run_that_something_else_ended_is_one_line_that_says_how_to_go_on(self) -> None:
        for code in (137, 139):
            done = self.nightly(compare="", RUN_CODE=code)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(f"nightly.sh: the run was ended with code {code}; what it measured is in results/"
                          f"{self.folder.name}: finish it with build/release/bin/strictbench run --resume results/"
                          f"{self.folder.name}\n", done.stderr)
        done = self.nightly(compare=comparison(new="same"), COMPARE_CODE=137)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("the comparison was ended with code 137; what was measured is in results/", done.stderr)

    def test_a_night_that_is_asked_to_wait_does_as_ever(self) -> None:
        self.nightly("--wait", compare=comparison(new="same"))
        self.assertIn(f"strictbench run --wait --out results/{self.folder.name}", self.calls("strictbench"))

    def test_help_does_nothing_else(self) -> None:
        done = self.run_script("nightly.sh", "--help")
        self.assertEqual((done.returncode, done.stderr, self.calls_file.read_text(encoding="utf-8")), (0, "", ""))
        for word in ("--filter", "--processes", "--budget", "--out", "--keep", "--kernels", "--no-confirm", "--wait", "Exit code"):
            self.assertIn(word, done.stdout)


def load_tests(loader: unittest.TestLoader, _tests: object, _pattern: object) -> unittest.TestSuite:
    """Only what is about the night: the tests of what Nightly is built upon run elsewhere."""
    own = [name for name in vars(Nightly) if name.startswith("test_")]
    return unittest.TestSuite(Nightly(name) for name in own)


if __name__ == "__main__":
    unittest.main()
