"""What each operator demands of a device, by numbers worked by hand, and the floors of its rows on a CPU.

usage: floor_test.py FOLDER [unittest arguments]; FOLDER holds the executables
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path()
FAR = 2  # a share of floor that no row has, however disturbed its machine

# Row, bytes read, bytes written, longest chain of additions, operations, fp32 instructions.
DEMANDS = {
    "row_fold": [
        # 64 rows of 128 elements of 4 bytes; 128 sums of 4 bytes, each of 64 additions.
        ("row_fold/new/rows:64/cols:128/dtype:fp32/timer:cpu", 32768, 512, 64, 8192, 8192),
        # Elements of 2 bytes, sums of 4.
        ("row_fold/new/rows:1024/cols:4096/dtype:bf16/timer:cpu", 8388608, 16384, 1024, 4194304, 4194304),
    ],
    "embedding_backward": [
        # 32 ids of 8 bytes and rows of 64 x 2 bytes; each row is written; no id occurs twice.
        ("embedding_backward/new/tokens:32/vocab:1000/hidden:64/ids:uniform/dtype:bf16/part:kernel/timer:cpu",
         256 + 4096, 4096, 1, 2048, 2048),
        # All 128 rows go into one.
        ("embedding_backward/new/tokens:128/vocab:1000/hidden:64/ids:equal/dtype:bf16/part:kernel/timer:cpu",
         1024 + 16384, 128, 128, 8192, 8192),
        # The whole table of 1,000 rows is written.
        ("embedding_backward/new/tokens:128/vocab:1000/hidden:64/ids:uniform/dtype:bf16/part:whole/timer:cpu",
         1024 + 16384, 128000, 1, 8192, 8192),
    ],
    "embedding_forward": [
        # 512 ids of 8 bytes and rows of 64 x 2 bytes, written as they are or in 4 bytes. Nothing is computed.
        ("embedding_forward/new/tokens:512/vocab:10000/hidden:64/dtype:bf16/out:native/timer:cpu",
         4096 + 65536, 65536, 0, 0, 0),
        ("embedding_forward/new/tokens:512/vocab:10000/hidden:64/dtype:bf16/out:fp32/timer:cpu",
         4096 + 65536, 131072, 0, 0, 0),
    ],
    "rmsnorm_dweight": [
        # Two matrices of 1024 x 128 and a factor of 4 bytes a row, with a mask two; two products and a sum, or three.
        ("rmsnorm_dweight/new/rows:1024/cols:128/dtype:bf16/mask:none/timer:cpu",
         2 * 262144 + 4096, 512, 1024, 393216, 393216),
        ("rmsnorm_dweight/new/rows:1024/cols:128/dtype:bf16/mask:half/timer:cpu",
         2 * 262144 + 8192, 512, 1024, 524288, 524288),
    ],
    "dw_gemm": [
        # 8 rows of 256 and of 768 elements of 2 bytes; 196,608 outputs of 8 fused multiply-adds each.
        ("dw_gemm/new/tokens:8/in:256/out:768/dtype:bf16/timer:cpu", 16384, 393216, 8, 3145728, 1572864),
        ("dw_gemm/new/tokens:32/in:256/out:768/dtype:bf16/timer:cpu", 65536, 393216, 32, 12582912, 6291456),
        # 33 tokens are leaves of 16 and 17, and one sum of both.
        ("dw_gemm/new/tokens:33/in:256/out:768/dtype:bf16/timer:cpu", 67584, 393216, 18, 12976128, 6684672),
        # 80: leaves of 20, two levels, three sums. 128: leaves of 32.
        ("dw_gemm/new/tokens:80/in:130/out:129/dtype:bf16/timer:cpu", 41440, 33540, 22, 2683200, 1391910),
        ("dw_gemm/new/tokens:128/in:96/out:64/dtype:bf16/timer:cpu", 40960, 12288, 34, 1572864, 804864),
    ],
    "qwen3_ffn": [
        # Three matrices of 49,152 weights of 2 bytes; a row of 128 in and a row out for each token.
        ("qwen3_ffn/new/tokens:8/direction:forward/timer:cpu", 294912 + 2048, 2048, 0, 2359296, 0),
        # Backward reads dy as well, and writes dX and three gradients, which alone have an order: 8 tokens each.
        ("qwen3_ffn/new/tokens:8/direction:forward_backward/timer:cpu",
         294912 + 4096, 294912 + 4096, 8, 7077888, 1179648),
        # At a multiple of 32 tokens they are the tensor cores'.
        ("qwen3_ffn/new/tokens:32/direction:forward_backward/timer:cpu",
         294912 + 16384, 294912 + 16384, 0, 28311552, 0),
    ],
}


def bench(operator: str, *flags: str, device: str = "cpu") -> subprocess.CompletedProcess:
    return subprocess.run([FOLDER / f"bench_{operator}", f"--device={device}", *flags], capture_output=True, text=True,
                          timeout=300, check=True)


def described(operator: str) -> dict[str, dict]:
    return {case["name"]: case for case in json.loads(bench(operator, "--describe").stdout)["cases"]}


def measured(operator: str, *flags: str, device: str = "cpu") -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        bench(operator, f"--benchmark_out={out}", "--benchmark_repetitions=3", *flags, device=device)
        return json.loads(out.read_text())


def iterations(file: dict) -> list[dict]:
    return [row for row in file["benchmarks"] if row["run_type"] == "iteration"]


def has_gpu() -> bool:
    try:
        bench("row_fold", "--describe", device="cuda")
        return True
    except subprocess.CalledProcessError:
        return False


class Demands(unittest.TestCase):
    def test_demands_worked_by_hand(self) -> None:
        for operator, rows in DEMANDS.items():
            cases = described(operator)
            for name, read, written, chain, operations, instructions in rows:
                with self.subTest(name):
                    case = cases[name]
                    self.assertEqual(case["demand"], {"read": read, "written": written, "chain": chain,
                                                      "instructions": instructions})
                    self.assertEqual((case["bytes"], case["operations"]), (read + written, operations))

    def test_ids_by_their_frequency_lie_between_equal_and_none_repeated(self) -> None:
        name = "embedding_backward/new/tokens:128/vocab:1000/hidden:64/ids:zipf/dtype:bf16/part:kernel/timer:cpu"
        demand = described("embedding_backward")[name]["demand"]
        rows, rest = divmod(demand["written"], 128)
        self.assertEqual(rest, 0)
        self.assertTrue(1 < rows < 128 and 1 < demand["chain"] < 128, demand)
        # The longest run, and at least one token for each other row.
        self.assertLessEqual(demand["chain"] + rows - 1, 128)

    def test_every_case_demands_something(self) -> None:
        for operator in DEMANDS:
            for name, case in described(operator).items():
                demand = case["demand"]
                self.assertTrue(demand["read"] > 0 and demand["written"] > 0, name)
                self.assertLessEqual(case["bytes"], case["memory"], name)
                self.assertLessEqual(demand["instructions"], case["operations"] + case["bytes"], name)


class Rows(unittest.TestCase):
    def test_every_row_states_its_floor_and_the_share_of_it(self) -> None:
        for operator in DEMANDS:
            file = measured(operator)
            self.assertGreater(float(file["context"]["ceiling_dependent_add_ns"]), 0)
            self.assertNotIn("ceilings_missing", file["context"])
            rows = iterations(file)
            self.assertTrue(rows)
            # A machine that was slow while its ceilings were measured raises the floors of that process. A demand that
            # is wrong by a type's size raises them in every one.
            again = iterations(measured(operator)) if any(row["share_of_floor"] >= FAR for row in rows) else []
            least = dict.fromkeys((row["name"] for row in rows), math.inf)
            for row in rows + again:
                least[row["name"]] = min(row["share_of_floor"], least[row["name"]])
            for row in rows:
                with self.subTest(row["name"]):
                    self.assertGreater(row["floor_us"], 0)
                    self.assertGreater(row["share_of_floor"], 0)
                    self.assertAlmostEqual(row["share_of_floor"] * row["real_time"] / row["floor_us"], 1, places=6)
                    self.assertLess(least[row["name"]], FAR)

    def test_ceilings_are_of_what_was_selected(self) -> None:
        context = measured("row_fold", "--benchmark_filter=rows:64/cols:128/")["context"]
        self.assertRegex(context["ceiling_read.cpu"], r"^33280 B \S+ us \S+ GB/s(?!,)$")
        self.assertRegex(context["ceiling_copy.cpu"], r"^33280 B [^,]*$")
        self.assertNotIn("ceiling_write.cpu", context)
        self.assertNotIn("ceiling_blocks_per_second", context)

    def test_an_arm_of_a_calibration_has_no_floor(self) -> None:
        file = measured("row_fold", "--benchmark_filter=new/rows:64/cols:128/", "--delays=0,0.5")
        self.assertFalse([key for key in file["context"] if key.startswith("ceiling")])
        self.assertFalse([row for row in file["benchmarks"] if "floor_us" in row or "share_of_floor" in row])

    def test_what_carries_ranges_measures_none(self) -> None:
        file = measured("row_fold", "--benchmark_filter=new/rows:64/cols:128/", "--nvtx")
        self.assertTrue(file["benchmarks"])
        self.assertFalse([key for key in file["context"] if key.startswith("ceiling")])
        self.assertNotIn("floor_us", file["benchmarks"][0])

    def test_every_csv_row_has_the_columns(self) -> None:
        done = bench("row_fold", "--benchmark_format=csv", "--benchmark_filter=rows:1/",
                     "--benchmark_display_aggregates_only=false")
        heads = next(line for line in done.stdout.splitlines() if line.startswith("name,"))
        self.assertIn('"floor_us"', heads)
        self.assertIn('"share_of_floor"', heads)


class GpuRows(unittest.TestCase):
    def setUp(self) -> None:
        if not has_gpu():
            self.skipTest("there is no GPU")

    def test_rows_of_every_timer_lie_at_their_floor_or_above_it(self) -> None:
        for operator, cases in {"row_fold": "new/.*(rows:64/cols:128|rows:4096/cols:4096)/dtype:fp32/timer:",
                                "embedding_forward": "(new|copy)/tokens:4096/.*dtype:bf16/out:native/timer:",
                                "dw_gemm": "(new|cublas)/tokens:(8|32)/in:4096/.*timer:",
                                "qwen3_ffn": "new/tokens:8/.*timer:event"}.items():
            file = measured(operator, f"--benchmark_filter={cases}", device="cuda")
            self.assertNotIn("ceilings_missing", file["context"])
            self.assertGreater(float(file["context"]["ceiling_blocks_per_second"]), 0)
            rows = iterations(file)
            self.assertTrue(rows)
            for row in rows:
                with self.subTest(row["name"]):
                    self.assertGreater(row["floor_us"], 0)
                    self.assertGreater(row["share_of_floor"], 0)
                    self.assertLess(row["share_of_floor"], 1.2)  # of a single sample


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
