"""Kernels that really fault, hang, abort and ask for too much, in a run: each is named, and costs no other case.

usage: faults_test.py STRICTBENCH BENCH_SELFTEST [--gpu] [unittest arguments]

On the CPU, or with --gpu on GPU 0; without a GPU all of the latter is skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

STRICTBENCH = BENCH = DEVICE = ""
TIMER = "cpu"

# Which variant fails, and what is said of it. The last column: the process dies of it, and is started again.
ON_BOTH = {
    "throws": ("thrown by the variant", False),
    "allocates": ("bad_alloc|out of memory", False),
    "crash": ("ended by SIGABRT in .*crash", True),
    "segfault": ("ended by SIGSEGV in .*segfault", True),
    # What an executable does on its way out of exit(), a CUDA context in hand, is not ours to say.
    "exits": ("(exited with code 0|ended by SIG.*|ran past .*) in .*/exits/", True),
    "late_crash": ("ended by SIGABRT in .*late_crash", True),
    "loses": ("the device is lost|cudaErrorIllegalAddress", True),
    "hang": (r"ran past its time limit of .* in .*/hang/", True),
}
ON_GPU = {
    "traps": ("cudaErrorLaunchFailure|cudaErrorIllegalInstruction|unspecified launch failure", True),
    "device_hang": (r"ran past its time limit of .* in .*/device_hang/", True),
}


class FaultsTest(unittest.TestCase):
    def setUp(self) -> None:
        if DEVICE != "cpu" and not described_on_gpu():
            self.skipTest("no GPU here")
        folder = tempfile.TemporaryDirectory(prefix="strictbench_faults_test.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.faults = ON_BOTH if DEVICE == "cpu" else {**ON_BOTH, **ON_GPU}

    def strictbench(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "STRICTBENCH_LOCKS": str(self.folder / "locks")}
        return subprocess.run([STRICTBENCH, *arguments], capture_output=True, text=True, timeout=300, env=environment)

    def measure(self, faults: list[str], *options: str) -> subprocess.CompletedProcess:
        return self.strictbench("run", "--executables", os.path.dirname(BENCH), "--device", DEVICE,
                                "--out", str(self.out), "--timeout", "3" if DEVICE == "cpu" else "15",
                                "--filter", f"kind:({'|'.join(['right', *faults, 'last'])})/", *options)

    def record(self) -> dict:
        return json.loads((self.out / "run.json").read_text())

    def measured(self, process: int = 0) -> set[str]:
        rows = json.loads((self.out / f"selftest.{process}.json").read_text())["benchmarks"]
        return {row["name"] for row in rows if not row.get("error_occurred") and row.get("run_type") == "iteration"}

    def all_but(self, faults: list[str]) -> set[str]:
        return {f"selftest/{variant}/kind:{kind}/timer:{TIMER}"
                for kind in ["right", *faults, "last"] for variant in ("legacy", "new")}

    def name(self, fault: str) -> str:
        return f"selftest/{fault}/kind:{fault}/timer:{TIMER}"

    def test_each_fault_is_named_and_every_other_case_is_measured(self) -> None:
        for fault, (reason, dies) in self.faults.items():
            with self.subTest(fault):
                self.out = self.folder / fault
                done = self.measure([fault], "--processes", "1")
                self.assertEqual(done.returncode, 1, done.stderr)
                (process,) = self.record()["processes"]
                self.assertEqual([(p["case"], p["state"]) for p in process["problems"]],
                                 [(self.name(fault), "failed")])
                self.assertRegex(process["problems"][0]["reason"], reason)
                self.assertEqual("restarts" in process, dies, process)
                self.assertEqual(self.measured(), self.all_but([fault]))
                self.assertRegex(done.stdout, f"(?m)^failed   {self.name(fault)}: ")
                self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                                 ["run.json", "selftest.0.json", "summary.json"])

    def test_all_faults_in_one_process_and_what_readers_make_of_it(self) -> None:
        faults = list(self.faults)
        done = self.measure(faults, "--processes", "2", "--budget", "1000")
        self.assertEqual(done.returncode, 1, done.stderr)
        for process in range(2):
            self.assertEqual(self.measured(process), self.all_but(faults))
        out = str(self.out)
        compared = self.strictbench("compare", "--baseline", out, "--contender", out, "--format", "json")
        self.assertEqual(compared.returncode, 1, compared.stderr)
        verdicts = {row["name"].removesuffix("/manual_time"): row for row in json.loads(compared.stdout)["rows"]}
        for fault in faults:
            self.assertEqual(verdicts[self.name(fault)]["verdict"], "failed", fault)
            self.assertRegex(verdicts[self.name(fault)]["reason"], self.faults[fault][0])
        for name in self.all_but(faults):
            self.assertIn(verdicts[name]["verdict"], ("same", "inconclusive"), name)
            self.assertEqual(verdicts[name]["contender"]["processes"], 2, name)

    def test_where_the_evidence_decides_a_fault_is_met_once(self) -> None:
        self.measure(["crash", "loses"])
        processes = self.record()["processes"]
        self.assertGreater(len(processes), 1)
        self.assertIn("restarts", processes[0])
        for process in processes[1:]:
            self.assertEqual(process["status"], "ok")
            self.assertFalse({self.name("crash"), self.name("loses")} & set(process["cases"]))


class ExecutableTest(unittest.TestCase):
    """The executable by itself."""

    def test_a_lost_device_ends_the_measuring_and_the_file_is_whole(self) -> None:
        if DEVICE != "cpu" and not described_on_gpu():
            self.skipTest("no GPU here")
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            done = subprocess.run([BENCH, f"--device={DEVICE}", "--benchmark_filter=kind:(right|loses|last)/",
                                   f"--benchmark_out={out}", "--benchmark_out_format=json"],
                                  capture_output=True, text=True, timeout=120)
            with open(out, encoding="utf-8") as stream:
                rows = json.load(stream)["benchmarks"]
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the device can run nothing more", done.stderr.splitlines()[-1])
        self.assertEqual({row["name"] for row in rows if row.get("run_type") == "iteration"},
                         {f"selftest/{variant}/kind:{kind}/timer:{TIMER}" for variant, kind in
                          (("legacy", "right"), ("new", "right"), ("loses", "loses"))})
        (lost,) = [row for row in rows if "loses" in row["name"].split("/")[1]]
        self.assertTrue(lost["error_occurred"])
        self.assertEqual(lost["real_time"], 0)


def described_on_gpu() -> bool:
    described = subprocess.run([BENCH, "--describe"], capture_output=True, text=True, check=True)
    return json.loads(described.stdout)["device"].startswith("cuda")


if __name__ == "__main__":
    STRICTBENCH, BENCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    DEVICE = "cuda" if "--gpu" in sys.argv else "cpu"
    TIMER = "graph" if DEVICE == "cuda" else "cpu"
    sys.argv = [word for word in sys.argv if word != "--gpu"]
    unittest.main()
