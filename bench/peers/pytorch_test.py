#!/usr/bin/env python3
"""What is asked of PyTorch, without it: the inputs have our bits, and a machine that lacks it is told so in one line.

`Fake` has of PyTorch what random_values() uses, on lists, with whole numbers that wrap at 64 signed bits.
"""
from __future__ import annotations

import json
import operator
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pytorch  # noqa: E402  (found through the line above)

KEY = pytorch.random_key("pinned")


def rounded(value: float, kind: str) -> float:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if kind == "bf16":
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class Fake:
    int64, float32, bfloat16 = "int64", "fp32", "bf16"

    def __init__(self, values: list[Any], kind: str) -> None:
        self.values, self.kind = values, kind

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: str, device: str) -> Fake:
        count = 1
        for side in shape:
            count *= side
        return Fake([None] * count, dtype)

    @staticmethod
    def arange(first: int, last: int, dtype: str, device: str) -> Fake:
        return Fake(list(range(first, last)), dtype)

    @staticmethod
    def where(condition: Fake, yes: float, no: float) -> Fake:
        return Fake([yes if true else no for true in condition.values], "fp32")

    def view(self, _: int) -> Fake:
        return self

    def numel(self) -> int:
        return len(self.values)

    def to(self, kind: str) -> Fake:
        return Fake([rounded(float(value), kind) for value in self.values], kind)

    def __setitem__(self, at: slice, other: Fake) -> None:
        assert other.kind == self.kind
        self.values[at] = other.values

    def with_each(self, other: Any, work: Callable[[Any, Any], Any]) -> Fake:
        others = other.values if isinstance(other, Fake) else [other] * len(self.values)
        if self.kind == "int64":
            assert all(-(1 << 63) <= value < 1 << 63 for value in others), "no int64"
            return Fake([pytorch.signed(int(work(a, b))) for a, b in zip(self.values, others)], "int64")
        return Fake([work(a, b) for a, b in zip(self.values, others)], self.kind)

    def __eq__(self, other: Any) -> Fake:  # type: ignore[override]
        return self.with_each(other, operator.eq)


for name in "add sub mul and xor rshift".split():
    work = getattr(operator, f"__{name}__")
    setattr(Fake, f"__{name}__", lambda self, other, work=work: self.with_each(other, work))
    setattr(Fake, f"__r{name}__", lambda self, other, work=work: self.with_each(other, lambda a, b: work(b, a)))


def bits(values: Fake) -> list[str]:
    return [struct.pack(">f", value).hex() for value in values.values]


class Inputs(unittest.TestCase):
    """The numbers are those that kernels/common gives, which its tests pin too."""

    def test_ids(self) -> None:
        self.assertEqual(pytorch.random_distinct(KEY, 6, 10), [4, 9, 6, 0, 2, 8])
        self.assertEqual(pytorch.random_zipf(KEY, 8, 151936), [3, 23, 4170, 1450, 1, 1401, 19772, 4])
        self.assertEqual(pytorch.ids_of("a/ids:equal", {"tokens": "3", "vocab": "7", "ids": "equal"}),
                         [pytorch.mix(pytorch.random_key("a/ids:equal/ids")) % 7] * 3)

    def test_other_tokens_have_ids_that_do_not_occur(self) -> None:
        self.assertEqual(pytorch.with_others([1, 0, 5, 1], 9), [1, 0, 5, 1, 2, 3, 4, 6])
        self.assertEqual(pytorch.with_others([0, 1, 2], 4), [0, 1, 2, 3])  # there are no more

    def test_values_have_the_bits_of_ours(self) -> None:
        normal = pytorch.random_values(Fake, "cuda", (2, 3), "fp32", KEY, False)
        self.assertEqual(bits(normal)[0], "bf586728")
        wide = pytorch.random_values(Fake, "cuda", (6,), "fp32", KEY, True)
        self.assertEqual(bits(wide), ["bad86728", "43b159ce", "c5c5893d", "4565aa83", "3ad4e3ae", "3a60771f"])
        narrow = pytorch.random_values(Fake, "cuda", (6,), "bf16", KEY, True)
        self.assertEqual(bits(narrow)[:3], ["bad80000", "43b10000", "c5c60000"])

    def test_mixing_wraps_as_unsigned_numbers_do(self) -> None:
        for x in (0, 1, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, pytorch.MASK, KEY):
            self.assertEqual(pytorch.mixed(Fake([pytorch.signed(x)], "int64")).values, [pytorch.signed(pytorch.mix(x))])


class Program(unittest.TestCase):
    def run_with(self, torch: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """With a module named torch of this text on the path."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "torch.py").write_text(torch)
        return subprocess.run([sys.executable, HERE / "pytorch.py", *arguments], capture_output=True, text=True,
                              env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"})

    def test_no_pytorch(self) -> None:
        done = self.run_with("raise ImportError('no library')")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn("pip install torch", done.stderr)

    def test_no_gpu(self) -> None:
        done = self.run_with("class cuda:\n is_available = staticmethod(lambda: False)\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)

    def test_what_fails_is_the_case_that_failed(self) -> None:
        torch = """
class version: cuda = '13.0'
__version__ = '2.11'
float32 = None
def use_deterministic_algorithms(on): pass
def empty(*_, **__): raise RuntimeError('out of memory\\nmore of it')
class cuda:
    is_available = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda _: 'NVIDIA H200')
    get_device_properties = staticmethod(lambda _: type('P', (), {'uuid': 'abc'})())
    empty_cache = staticmethod(lambda: None)
"""
        case = "row_fold/rows:4/cols:8/dtype:fp32"
        done = self.run_with(torch, case)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual(said["answers"], [{"case": case, "who": "pytorch", "error": "out of memory"}])
        self.assertEqual(said["gpu_uuid"], "GPU-abc")

    def test_unknown_operator(self) -> None:
        done = self.run_with("", "softmax/rows:4")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(77)
    unittest.main()
