"""Proves that `strictbench run --resume` does nothing for a result folder that its run would not have done: what
cannot be of a run's own making is refused in one line, and what is lost is made again.

Usage: run_hostile_test.py STRICTBENCH [unittest arguments]
"""
import copy
import json
import os
import shutil

import fake_benchmark
import runner_testing


class RunHostileTest(runner_testing.RunnerTestCase):
    def write_record(self, record):
        with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
            json.dump(record, stream)

    def resume(self):
        return self.strictbench("run", "--resume", self.out)

    def unfinished(self, **config):
        """The record of a run whose second process is left, written down."""
        self.install("row_fold", **config)
        self.run_bench("--processes", "2")
        record = self.record()
        record["processes"][1]["status"] = "pending"
        self.write_record(record)
        return record

    def assert_refused(self, record, *words):
        """One line that names file or folder, without the library's own words; nothing is started or written."""
        self.write_record(record)
        before, files = len(self.starts()), sorted(os.listdir(self.out))
        result = self.resume()
        self.assertEqual((result.returncode, result.stderr.count("\n"), result.stdout), (2, 1, ""), result.stderr)
        for word in (self.out, *words):
            self.assertIn(word, result.stderr)
        self.assertNotIn("json.exception", result.stderr)
        self.assertEqual((len(self.starts()), sorted(os.listdir(self.out))), (before, files))
        self.assertEqual(self.record(), record)

    def test_flags_that_no_run_writes_are_not_passed_on(self):
        record = self.unfinished()
        victim = self.path("victim")
        for flag in ("--benchmark_out=" + victim, "--delays=0,/x", "--kernels=" + victim, "x", ""):
            record["options"]["flags"] = [flag]
            self.assert_refused(record, "flags", flag)
        self.assertFalse(os.path.exists(victim))
        record["options"]["flags"] = ["--delays=0,0.01,1e-3"]
        self.write_record(record)
        self.assertEqual(self.resume().returncode, 1)  # started; its cases are others than those that it had

    def test_nothing_is_written_through_a_link(self):
        self.unfinished()
        os.remove(os.path.join(self.out, "summary.json"))
        victim = self.path("victim")
        with open(victim, "w", encoding="utf-8") as stream:
            stream.write("precious")
        for name in ("run.json.tmp", "summary.json.tmp", "row_fold.1.json.tmp", "row_fold.1.json"):
            path = os.path.join(self.out, name)
            if os.path.exists(path):
                os.remove(path)
            os.symlink(victim, path)
        result = self.resume()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(victim, encoding="utf-8") as stream:
            self.assertEqual(stream.read(), "precious")
        self.assertEqual([name for name in os.listdir(self.out) if os.path.islink(os.path.join(self.out, name))], [])
        self.assertEqual(sorted(os.listdir(self.out)),
                         ["row_fold.0.json", "row_fold.1.json", "run.json", "summary.json"])

    def test_executables_that_came_with_the_folder_are_not_started(self):
        record = self.unfinished()
        inside = os.path.join(self.out, "bin")
        shutil.copytree(self.bin, inside)
        linked = self.path("linked")
        os.symlink(inside, linked)
        halfway = self.path("halfway")
        os.mkdir(halfway)
        os.symlink(os.path.join(inside, "bench_row_fold"), os.path.join(halfway, "bench_row_fold"))
        for folder in (inside, linked, halfway, os.path.join(self.bin, "..", "out", "bin"), "bin", ""):
            record["options"]["executables"] = folder
            self.assert_refused(record, "executable", "measure anew")

    def test_another_gpu_of_the_same_name_or_another_driver_is_refused(self):
        record = self.unfinished(gpu_name="NVIDIA H200", gpu_uuid="GPU-aaaa", device="cuda")
        record["machine"]["before"]["gpu_uuid"] = "GPU-bbbb"
        self.assert_refused(record, "gpu_uuid", "GPU-aaaa", "GPU-bbbb")

    def test_a_lost_or_cut_record_of_kernels_is_made_again(self):
        self.install("row_fold", gpu_name="NVIDIA H200", device="cuda")
        self.assertEqual(self.run_bench("--processes", "1", "--kernels").returncode, 0)
        kept = os.path.join(self.out, "row_fold.kernels.json")
        for text, word in ((None, "is gone"), ('{"cases": [', "is not whole"), ("{}", "is not whole")):
            os.remove(kept)
            if text is not None:
                with open(kept, "w", encoding="utf-8") as stream:
                    stream.write(text)
            result = self.resume()
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, f"row_fold.kernels.json {word}: measured again\n")
            with open(kept, encoding="utf-8") as stream:
                self.assertEqual(len(json.load(stream)["cases"]), 2)
        self.assertEqual(len(self.starts()), 1)
        self.assertIn("nothing to do", self.resume().stdout)

    def test_a_complete_run_of_mostly_suspect_samples_stays_undecided(self):
        self.install("row_fold")
        self.assertEqual(self.run_bench("--processes", "1").returncode, 0)
        record = self.record()
        record["processes"][0]["watched"] = {"samples": 10, "suspect": 6, "why": {"thermal slowdown": 6}}
        self.write_record(record)
        result = self.resume()
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        self.assertIn("suspect: 6 of 10 samples (thermal slowdown 6)", result.stdout)
        self.assertIn("nothing to do", result.stdout)
        self.assertEqual(len(self.starts()), 1)

    def test_a_record_that_no_run_writes_is_refused_in_one_line(self):
        unchanged = self.unfinished()

        def refuse(change, *words):
            record = copy.deepcopy(unchanged)
            change(record)
            with self.subTest(words):
                self.assert_refused(record, "run.json", *words)

        for value in (2147483647, 1e300, True, -1, 0.5, "1", None, 1001):
            refuse(lambda record: record["processes"][1].update(process=value), '"processes"[1]', "whole number")
        refuse(lambda record: record["processes"].append(record["processes"][1]), '"processes"[2]',
               "row_fold.1.json is there twice")
        refuse(lambda record: record["processes"][0].update(exit_code=1e300), '"processes"[0]', "exit_code")
        refuse(lambda record: record["processes"][1].update(cases=5), '"processes"[1]')
        refuse(lambda record: record["processes"].append(5), '"processes"[2]')
        refuse(lambda record: record["processes"][0].update(watched={"samples": -1, "suspect": 5}), "samples")
        for before in ([], 5, None):
            refuse(lambda record: record["machine"].update(before=before), "before", "object")
        for key in ("host", "cpu_model", "boot_id", "gpu", "gpu_uuid"):
            refuse(lambda record: record["machine"]["before"].update({key: 5}), key, "text")
        refuse(lambda record: record["machine"]["before"].update(gpu_state=5), "gpu_state")
        for key in ("machine", "options", "executables"):
            for value in (None, [], 5):
                refuse(lambda record: record.update({key: value}), key, "object")
        for key in ("budget", "timeout"):
            for value in (0, -1, "1", None):
                refuse(lambda record: record["options"].update({key: value}), key, "above 0")
        for value in (-3, 0, 1e9, 1001):
            refuse(lambda record: record["options"].update(processes=value), "processes", "whole number")
        refuse(lambda record: record["options"].update(most_processes=10**9), "most_processes")
        for value in (-1, 1e300, "x"):
            refuse(lambda record: record.update(seed=value), "seed")
        for value in ("text", 5, {}, None):
            refuse(lambda record: record.update(processes=value), '"processes" must be an array')

    def test_a_file_outside_the_folder_is_refused_by_whoever_reads_the_record(self):
        self.install("row_fold")
        self.assertEqual(self.run_bench("--processes", "2").returncode, 0)  # complete: nothing would be started
        record = self.record()
        for name in ("../../../etc/passwd", "/etc/passwd", "..", "../out/row_fold.0.json"):
            record["processes"][0]["file"] = name
            self.assert_refused(record, '"processes"[0]', "names a file outside the folder: " + name)
            table = self.strictbench("table", self.out)
            self.assertEqual((table.returncode, table.stderr.count("\n"), table.stdout), (2, 1, ""), table.stderr)
            self.assertIn('"processes"[0] names a file outside the folder: ' + name, table.stderr)
        record["processes"][0]["file"] = "row_fold.1.json"  # one file for two processes
        self.assert_refused(record, '"processes"[0]', "which a run calls row_fold.0.json")

    def test_half_of_a_comparison_by_turns_is_not_resumed(self):
        for side in ("base", "head"):
            os.makedirs(self.path(side, "bin"))
            fake_benchmark.install(self.path(side, "bin"), "row_fold", build=side,
                                   log=os.path.join(self.bin, "calls.log"))
        whole = self.out
        self.strictbench("ab", "--base", self.path("base"), "--head", self.path("head"), "--out", whole,
                         "--processes", "2")
        for side in ("base", "head"):
            self.out = os.path.join(whole, side)
            record = self.record()
            self.assertEqual(record["side"], side)
            record["processes"][1]["status"] = "pending"
            self.assert_refused(record, f"it is the {side} of a comparison", "start strictbench ab anew")

    def test_a_result_file_without_rows_counts_as_unreadable(self):
        self.install("row_fold", behaviour="no rows")
        result = self.run_bench("--processes", "1")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        process = self.process("row_fold")
        self.assertEqual((process["status"], len(process["problems"])), ("crashed", 2))
        self.assertNotIn("json.exception", json.dumps(self.record()))
        self.assertEqual(self.record()["status"], "complete")


if __name__ == "__main__":
    runner_testing.main()
