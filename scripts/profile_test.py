#!/usr/bin/env python3
"""scripts/profile.sh with stubs for the profilers and the executables: flags, their order, and what is refused."""
from __future__ import annotations

import signal
import subprocess
import time
import unittest
from pathlib import Path

import script_machine

# Selects its case where the filter holds its operator's name.
BENCH = r"""
operator=$(basename "$0")
for argument in "$@"; do
  [[ $argument != --benchmark_filter=*"${operator#bench_}"* ]] || selected=true
done
[[ -z ${NO_GPU-} ]] || { echo "$operator: no GPU 0: --device takes cpu here" >&2; exit 2; }
echo '"selected": false,'
echo "\"selected\": ${selected:-false},"
"""


class Profile(script_machine.Machine):
    def setUp(self) -> None:
        super().setUp()
        for name in ("basename", "date"):
            where = script_machine.shutil.which(name)
            assert where, name
            (self.path / name).symlink_to(where)
        for operator in ("row_fold", "dw_gemm"):
            self.stub(self.tree / f"build/release/bin/bench_{operator}", BENCH)
        for tool in ("nsys", "ncu"):
            self.stub(self.path / tool, 'exit "${TOOL_CODE:-0}"')

    def profile(self, *arguments: str, **environment: object):
        return self.run_script("profile.sh", *arguments, **environment)

    def refused(self, part: str, *arguments: str, **environment: object) -> None:
        done = self.profile(*arguments, **environment)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.calls("ncu") + self.calls("nsys"), [])

    def test_ncu_takes_the_profile_range_alone_and_locks_no_clock(self) -> None:
        out = self.base / "reports"
        done = self.profile("ncu", "--out", str(out), "row_fold/new/rows:1", "row_fold/legacy", "--", "--set", "full")
        self.assertEqual(done.returncode, 0, done.stderr)
        (call,) = self.calls("ncu")
        bench = f"{self.tree}/build/release/bin/bench_row_fold"
        self.assertEqual(
            call,
            f"ncu --nvtx --nvtx-include strictbench@profile/ --clock-control none --export {out}/row_fold --set full "
            f"{bench} --profile --device=0 --benchmark_filter=(row_fold/new/rows:1)|(row_fold/legacy)")
        self.assertIn(f"reports: {out}", done.stdout)
        self.assertTrue(out.is_dir())

    def test_nsys_captures_the_profiler_range_and_traces_graph_nodes(self) -> None:
        done = self.profile("nsys", "--device", "2", "row_fold", "dw_gemm")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, stats, *others = self.calls("nsys")
        self.assertEqual(len(others), 2)  # one report an operator
        for flag in ("--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--cuda-graph-trace=node",
                     "--trace=cuda,nvtx", "--profile", "--device=2", "--benchmark_filter=(row_fold)|(dw_gemm)"):
            self.assertIn(flag, first.split())
        self.assertLess(first.index("--output"), first.index("bench_dw_gemm"))
        # Inputs and checks are captured too and lie outside of the range; nsys wants range@domain, ncu the other way.
        self.assertRegex(stats, r"^nsys stats --report cuda_gpu_kern_sum --filter-nvtx profile@strictbench --format csv "
                         r"--output (\S+) \1\.nsys-rep$")

    def test_a_profiler_that_fails_is_no_success(self) -> None:
        for tool in ("ncu", "nsys"):
            done = self.profile(tool, "row_fold", "--out", str(self.base / tool), TOOL_CODE=9)
            self.assertEqual(done.returncode, 1)
            self.assertIn("not everything was profiled", done.stderr)

    def test_a_missing_tool_is_said_plainly(self) -> None:
        self.lack("ncu", "nsys")
        self.refused("ncu is not on PATH: install Nsight Compute", "ncu", "row_fold")
        self.refused("nsys is not on PATH: install Nsight Systems", "nsys", "row_fold")

    def test_what_cannot_be_used_is_refused_with_one_line(self) -> None:
        self.refused("say nsys or ncu")
        self.refused("'gdb' is no profiler", "gdb", "row_fold")
        self.refused("say which cases", "ncu")
        self.refused("unknown option '--set'", "ncu", "row_fold", "--set", "full")
        self.refused("--out needs a value", "ncu", "row_fold", "--out")
        self.refused("exists: reports are never overwritten", "ncu", "row_fold", "--out", str(self.tree))
        self.refused("holds no strictbench", "ncu", "row_fold", "--build", str(self.base))
        self.refused("--out needs a value", "ncu", "row_fold", "--out=")
        for device in ("cuda", "-1", "1x", "0 --help"):
            self.refused(f"--device {device}: the index of a GPU", "ncu", "row_fold", "--device", device)
        self.refused("no case matches (no_such_case)", "ncu", "no_such_case")

    def test_without_a_gpu_the_executable_says_so(self) -> None:
        done = self.profile("ncu", "row_fold", NO_GPU=1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no GPU 0", done.stderr)
        self.assertIn(f"profile.sh: {self.tree}/build/release/bin/bench_dw_gemm --describe failed", done.stderr)

    def test_values_behind_an_equals_sign(self) -> None:
        out = self.base / "reports"
        build = self.tree / "build/release"
        done = self.profile("ncu", f"--out={out}", "--device=2", f"--build={build}", "row_fold")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (call,) = self.calls("ncu")
        self.assertIn(f"--export {out}/row_fold {build}/bin/bench_row_fold --profile --device=2 ", call)

    def test_a_signal_ends_the_profiler(self) -> None:
        started, stopped = self.base / "started", self.base / "stopped"
        self.stub(self.path / "ncu", f"trap 'echo >{stopped}; exit 143' TERM; echo >{started}; sleep 60 & wait")
        sleep = script_machine.shutil.which("sleep")
        assert sleep
        (self.path / "sleep").symlink_to(sleep)
        process = subprocess.Popen([str(self.tree / "scripts/profile.sh"), "ncu", "row_fold"], cwd=self.base,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={"PATH": str(self.path)})
        limit = time.monotonic() + 30
        while not started.exists() and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 143)
        self.assertTrue(stopped.exists())

    def test_help(self) -> None:
        done = self.profile("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: scripts/profile.sh nsys|ncu", done.stdout)
        self.assertIn("was not yet run with a real nsys", " ".join(done.stdout.split()))


if __name__ == "__main__":
    unittest.main()
