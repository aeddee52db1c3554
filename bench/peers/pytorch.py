#!/usr/bin/env python3
"""pytorch.py CASE...: what scripts/peers.py asks of PyTorch on a GPU, as JSON on standard output.

A process of its own, so that no context of PyTorch's is alive while others are measured. Inputs have the bits that the
benchmarks and bench/peers/main.cpp give theirs. Exit codes: 0; 2 unusable arguments or no PyTorch; 3 no GPU.
"""
from __future__ import annotations

import bisect
import itertools
import json
import statistics
import sys
from typing import Any, Callable, Optional

RUNS = 25
SAMPLES = 20
GRAPH_SECONDS, MOST_CALLS = 2e-3, 1000  # of one sample
MASK = (1 << 64) - 1

Answer = dict[str, Any]


# Inputs: kernels/common/random.h, once for single values and once for tensors -----------------------------------------

def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def random_key(name: str) -> int:
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return mix(value)


def random_distinct(key: int, count: int, n: int) -> list[int]:
    moved: dict[int, int] = {}
    values = []
    for i in range(count):
        j = i + mix((key + i) & MASK) % (n - i)
        values.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return values


def random_zipf(key: int, count: int, n: int) -> list[int]:
    up_to = list(itertools.accumulate(1.0 / (v + 1) for v in range(n)))
    return [min(bisect.bisect_right(up_to, (mix((key + i) & MASK) >> 11) * 2.0 ** -53 * up_to[-1]), n - 1)
            for i in range(count)]


def ids_of(case: str, keys: dict[str, str]) -> list[int]:
    """As the benchmark draws them for the case of this name."""
    seed, tokens, vocab = random_key(case + "/ids"), int(keys["tokens"]), int(keys["vocab"])
    if keys["ids"] == "uniform":
        return random_distinct(seed, tokens, vocab)
    if keys["ids"] == "zipf":
        return random_zipf(seed, tokens, vocab)
    return [mix(seed) % vocab] * tokens


def with_others(ids: list[int], vocab: int) -> list[int]:
    """The ids, and behind them as many others: the smallest that do not occur, once each."""
    present = set(ids)
    return ids + list(itertools.islice((v for v in range(vocab) if v not in present), len(ids)))


def signed(x: int) -> int:
    """The int64 with these bits: PyTorch's whole numbers wrap as unsigned ones do, but are signed."""
    x &= MASK
    return x - (1 << 64) if x >> 63 else x


def shifted(x: Any, by: int) -> Any:
    """A logical shift to the right."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def mixed(x: Any) -> Any:
    x = x + signed(0x9E3779B97F4A7C15)
    x = (x ^ shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ shifted(x, 27)) * signed(0x94D049BB133111EB)
    return x ^ shifted(x, 31)


def random_values(torch: Any, device: str, shape: tuple[int, ...], dtype: Any, key: int, wide: bool) -> Any:
    """random_normal(key, i), or fill_wide()'s element i where `wide`."""
    out = torch.empty(shape, dtype=dtype, device=device)
    flat, low, at_once = out.view(-1), (1 << 32) - 1, 1 << 24
    for first in range(0, flat.numel(), at_once):
        i = torch.arange(first, min(first + at_once, flat.numel()), dtype=torch.int64, device=device)
        a, b = mixed(2 * i + signed(key)), mixed(2 * i + signed(key + 1))
        centred = (a & low) + shifted(a, 32) + (b & low) + shifted(b, 32) - 2 * low
        value = centred.to(torch.float32) * 2.0 ** -31
        if wide:
            value = value * torch.where((mixed(i + signed(~key)) & 1) == 0, 2.0 ** -9, 2.0 ** 12).to(torch.float32)
        flat[first:first + i.numel()] = value.to(dtype)
    return out


# Bits and times -------------------------------------------------------------------------------------------------------

def same_bits(torch: Any, left: Any, right: Any) -> bool:
    whole = torch.int32 if left.dtype == torch.float32 else torch.int16
    return bool(torch.equal(left.contiguous().view(whole), right.contiguous().view(whole)))


def repeats(torch: Any, call: Callable[[], Any]) -> tuple[Any, bool]:
    """The first result, and whether RUNS runs have its bits."""
    first = call()
    return first, all(same_bits(torch, call(), first) for _ in range(RUNS - 1))


def events_us(torch: Any, work: Callable[[], None], before: Callable[[], None]) -> float:
    """Microseconds between two events around `work`, which is enqueued while `before` keeps the GPU busy."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before()
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def captured(torch: Any, call: Callable[[], Any], calls: int) -> Any:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def waits_for_the_gpu(torch: Any, call: Callable[[], Any]) -> bool:
    """Whether a call synchronizes, which no graph can hold."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        call()
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
    return False


def timed(torch: Any, call: Callable[[], Any]) -> tuple[str, list[float]]:
    """The timer, and microseconds of one call, once a sample: by graph of back-to-back calls, else between events."""
    def several(calls: int) -> Callable[[], None]:
        def work() -> None:
            for _ in range(calls):
                call()
        return work

    several(3)()
    torch.cuda.synchronize()
    one = statistics.median(events_us(torch, several(1), several(1)) for _ in range(5)) * 1e-6
    calls = max(1, min(MOST_CALLS, round(GRAPH_SECONDS / max(one, 1e-6))))
    if not waits_for_the_gpu(torch, call):
        try:
            graph = captured(torch, call, calls)
            graph.replay()
            torch.cuda.synchronize()
            return "graph", [events_us(torch, graph.replay, graph.replay) / calls for _ in range(SAMPLES)]
        except RuntimeError as error:
            print(f"note: not captured, timed between events: {str(error).splitlines()[0]}", file=sys.stderr)
            torch.cuda.synchronize()
    return "event", [events_us(torch, several(calls), several(1)) / calls for _ in range(SAMPLES)]


# One operator each ----------------------------------------------------------------------------------------------------

def row_fold(torch: Any, device: str, case: str, keys: dict[str, str], answer: Answer) -> None:
    rows, cols = int(keys["rows"]), int(keys["cols"])
    wide = random_values(torch, device, (rows, 2 * cols), torch.float32, random_key(case + "/bits"), True)
    alone = wide[:, :cols].contiguous()
    padded = torch.cat([alone, torch.zeros_like(alone)])
    first, answer["repeatable"] = repeats(torch, lambda: alone.sum(0))
    answer["batch_invariant"] = (same_bits(torch, wide.sum(0)[:cols], first) and
                                 same_bits(torch, padded.sum(0), first))
    matrix = random_values(torch, device, (rows, cols), torch.float32, random_key(case + "/rows"), False)
    answer["timer"], answer["samples_us"] = timed(torch, lambda: matrix.sum(0))


def dw_gemm(torch: Any, device: str, case: str, keys: dict[str, str], answer: Answer) -> None:
    tokens, inputs, outputs = int(keys["tokens"]), int(keys["in"]), int(keys["out"])

    def pair(prefix: str, wide: bool) -> tuple[Any, Any]:
        return (random_values(torch, device, (tokens, inputs), torch.bfloat16, random_key(prefix + "/x"), wide),
                random_values(torch, device, (tokens, outputs), torch.bfloat16, random_key(prefix + "/dy"), wide))

    x, dy = pair(case + "/bits", True)
    first, answer["repeatable"] = repeats(torch, lambda: dy.T @ x)
    half_x, half_dy = x[:, :inputs // 2].contiguous(), dy[:, :outputs // 2].contiguous()
    answer["batch_invariant"] = (same_bits(torch, half_dy.T @ x, first[:outputs // 2]) and
                                 same_bits(torch, dy.T @ half_x, first[:, :inputs // 2]))
    x, dy = pair(case, False)
    answer["timer"], answer["samples_us"] = timed(torch, lambda: dy.T @ x)


def embedding_backward(torch: Any, device: str, case: str, keys: dict[str, str], answer: Answer) -> None:
    vocab, hidden = int(keys["vocab"]), int(keys["hidden"])
    host_ids = ids_of(case, keys)
    ids = torch.tensor(host_ids, dtype=torch.int64, device=device)
    more_ids = torch.tensor(with_others(host_ids, vocab), dtype=torch.int64, device=device)
    shape = (len(host_ids), hidden)

    def backward(grad: Any, indices: Any) -> Any:
        return torch.ops.aten.embedding_dense_backward(grad, indices, vocab, -1, False)

    grad = random_values(torch, device, shape, torch.bfloat16, random_key(case + "/bits"), True)
    first, answer["repeatable"] = repeats(torch, lambda: backward(grad, ids))
    zeros = torch.zeros((more_ids.numel() - len(host_ids), hidden), dtype=grad.dtype, device=device)
    answer["batch_invariant"] = same_bits(torch, backward(torch.cat([grad, zeros]), more_ids), first)
    del first, zeros
    grad = random_values(torch, device, shape, torch.bfloat16, random_key(case + "/grad"), False)
    answer["timer"], answer["samples_us"] = timed(torch, lambda: backward(grad, ids))


OPERATORS = {"row_fold": row_fold, "dw_gemm": dw_gemm, "embedding_backward": embedding_backward}


def asked(torch: Any, case: str, who: str) -> Answer:
    """The answer of PyTorch, or of PyTorch held to its deterministic algorithms; what is thrown is its error."""
    operator, _, shape = case.partition("/")
    keys = dict(part.partition(":")[::2] for part in shape.split("/"))
    answer: Answer = {"case": case, "who": who}
    torch.use_deterministic_algorithms(who == "pytorch_deterministic")
    try:
        OPERATORS[operator](torch, "cuda", case, keys, answer)
    except (RuntimeError, KeyError, ValueError) as error:
        answer["error"] = (str(error).splitlines() or [repr(error)])[0]
    finally:
        torch.use_deterministic_algorithms(False)
        torch.cuda.empty_cache()
    return answer


def uuid_of(torch: Any) -> Optional[str]:
    uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
    return None if uuid is None else "GPU-" + str(uuid).removeprefix("GPU-")


def main(arguments: list[str]) -> int:
    unknown = [case for case in arguments if case.partition("/")[0] not in OPERATORS]
    if unknown:
        print(f"pytorch.py: {unknown[0]}: one of {', '.join(OPERATORS)} is asked for", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError as error:
        print(f"pytorch.py: no PyTorch in {sys.executable} ({error}): install it from PyPI (pip install torch), or name "
              "another Python with --python", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("pytorch.py: PyTorch sees no GPU: the peers of CUDA kernels run on one", file=sys.stderr)
        return 3
    found: dict[str, Any] = {"pytorch": torch.__version__, "cuda": torch.version.cuda,
                             "gpu_name": torch.cuda.get_device_name(0), "gpu_uuid": uuid_of(torch), "answers": []}
    for case in arguments:
        found["answers"].append(asked(torch, case, "pytorch"))
        # The other two have no switch: their order does not depend on it.
        if case.startswith("embedding_backward/"):
            found["answers"].append(asked(torch, case, "pytorch_deterministic"))
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
