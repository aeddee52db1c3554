#!/usr/bin/env python3
"""Our kernels beside what a user would pick instead: PyTorch, cuBLAS and CUB, on one GPU in one session.

usage: peers.py [RESULT] [--build DIR] [--python PYTHON] [--processes N] [--budget S] [--filter RE] [--keep DIR]
                [--out FILE] [--markdown FILE]
       peers.py --from FILE [--markdown FILE]

Ours come from RESULT, a result folder of `strictbench run`, or else from a run made here: the variants `new` and
`tuned`, and `cublas`, by the graph timer. Then one process asks our kernels and CUB (bench/peers), and one PyTorch
(bench/peers/pytorch.py), which is no dependency of the project: PYTHON, by default the one that runs this, must have it.
--from shows the table of a record that --out wrote, with no GPU.

Times. By `graph` where a peer can be captured: back-to-back calls replayed as a CUDA graph, the median of 20 samples,
as our timer of that name. What synchronizes is timed between two events around back-to-back calls, says `event`, and
includes what Python takes where that is longer. PyTorch's time includes the allocation of the result. Shapes, types and
values are those of our benchmarks, the token ids too. With deterministic algorithms PyTorch also fills new memory, as
it does by default then.

Repeatable. 25 runs on the same inputs, each on its own result, give the same bits. The inputs are normally distributed
numbers times 2^-9 or 2^12 by chance, so that an order of addition shows, the same bits for every implementation.

Batch invariant. The bits do not change with what stands beside in the batch and does not touch the result:
  row_fold            a column of [rows, cols] alone, with as many other columns beside it, and with as many rows of +0
                      behind it
  embedding_backward  the table for these tokens, and with as many other tokens behind, of ids that do not occur before
                      and with gradient +0, whose rows are +0 then as before
  dw_gemm             half the outputs alone, and half the inputs alone (more tokens are another sum)

Peers choose their order of addition, so they may do what the strict definition forbids: a tree needs no chain of adds,
tensor cores no multiply-adds in fp32. A case where ours (`tuned`, else `new`) is more than 10 % slower than the fastest
peer is marked `slower`, or `floor above` where the floor of the strict definition, as the rows state it, is above that
peer's time. CUB on columns that were laid out for it beforehand is shown and not counted.

Exit codes: 0; 1 slower somewhere without that excuse, slower in the geometric mean, bits of ours that differ, or a
program that failed; 2 unusable input or output, or no PyTorch; 3 no GPU, or nothing to compare; 129, 130, 143 ended by
a signal.
"""
from __future__ import annotations

import argparse
import datetime
import errno
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "report" / folder) for folder in ("peers", "pictures")]

import peer_table  # noqa: E402  (found through the line above)
from device_lock import Taken, device_lock  # noqa: E402
from program import run_program  # noqa: E402
from result_folder import UnusableInput, load, parse  # noqa: E402
from whole_file import (files_of_each, require_apart, require_folder_takes_files, require_writable,  # noqa: E402
                        write_whole)
from words import plain  # noqa: E402

TABLE = "vocab:151936/hidden:4096"
CASES = [*(f"row_fold/rows:{rows}/cols:{cols}/dtype:fp32"
           for rows, cols in ((1024, 128), (16384, 128), (1024, 4096), (4096, 4096), (1024, 8192))),
         *(f"dw_gemm/tokens:{tokens}/in:4096/out:12288/dtype:bf16" for tokens in (1, 8, 31, 128)),
         *(f"embedding_backward/tokens:{tokens}/{TABLE}/ids:{ids}/dtype:bf16/part:whole"
           for tokens, ids in ((512, "uniform"), (4096, "uniform"), (32768, "uniform"), (4096, "zipf"), (32768, "zipf"),
                               (4096, "equal"), (32768, "equal")))]
LONGEST = 240  # seconds for one program; a whole session takes a third of it


class Ended(Exception):
    """What ends this program: its exit code, and one line, empty where another program has said why."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code


def filter_of(cases: list[str]) -> str:
    """What `strictbench run --filter` finds these cases by, `legacy` apart: it takes longer than all the others."""
    by_operator: dict[str, list[str]] = {}
    for case in cases:
        operator, _, shape = case.partition("/")
        by_operator.setdefault(operator, []).append(shape)
    return "|".join(f"^{operator}/(new|tuned|cublas)/({'|'.join(shapes)})/timer:graph"
                    for operator, shapes in by_operator.items())


def how_it_ended(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    known = {number.value: number.name for number in signal.Signals}
    return f"was ended by {known.get(-returncode, f'signal {-returncode}')}"


def pass_on(said: Optional[bytes]) -> bool:
    """What a program wrote to its standard error goes to ours, with nothing that commands a terminal. Is there any?"""
    lines = (said or b"").decode("utf-8", "backslashreplace").splitlines()
    for line in lines:
        print(plain(line, 1000), file=sys.stderr, flush=True)
    return any(map(str.strip, lines))


def output_of(command: list[str], what: str) -> dict[str, Any]:
    """The JSON that a program prints. Ended where it fails: with no line only where it says itself why it refuses."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONGEST)
    except OSError as error:
        raise Ended(2, f"{command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        pass_on(error.stderr)
        raise Ended(1, f"{what} was ended after {LONGEST} s") from error
    refused = pass_on(done.stderr) and done.returncode in (2, 3)
    if done.returncode != 0:
        raise Ended(done.returncode if done.returncode in (2, 3) else 1,
                    "" if refused else f"{what} {how_it_ended(done.returncode)}")
    try:
        document = parse(done.stdout.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnusableInput(f"{what}: its output is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UnusableInput(f"{what}: its output is not a JSON object")
    return document


def run_ours(build: Path, options: argparse.Namespace, cases: list[str], folder: Path) -> None:
    """`strictbench run` into `folder`. What it says goes to standard error: the table is alone on standard output."""
    command = [str(build / "strictbench"), "run", "--device", "cuda", "--filter", filter_of(cases), "--processes",
               str(options.processes), "--budget", str(options.budget), "--out", str(folder)]
    try:
        code = subprocess.run(command, stdout=sys.stderr).returncode
    except OSError as error:
        raise Ended(2, f"{command[0]}: {error.strerror}: build it (cmake --build), or name its folder with --build"
                    ) from error
    if code == 2 or code > 128:
        raise Ended(code)  # it says why, or was told to stop as we are
    if code not in (0, 1, 3):  # 1 and 3: some rows failed or are suspect, and stand so in the table
        raise Ended(128 - code if code < 0 else 1, f"{command[0]} run {how_it_ended(code)}")


def require_pytorch(command: list[str]) -> None:
    """Asked nothing, pytorch.py says whether it could answer. Ended, with 2 where it does not even get that far."""
    try:
        output_of(command, f"pytorch.py under {command[0]}")
    except Ended as ended:
        if ended.code != 1:
            raise
        raise Ended(2, f"{ended}: name a Python that has PyTorch with --python") from ended


def measured(options: argparse.Namespace) -> tuple[peer_table.Peers, int]:
    """The session that the options ask for, and 1 where a program failed behind what others answered."""
    cases = [case for case in CASES if re.search(options.filter, case)]
    if not cases:
        raise Ended(2, f"--filter {options.filter} selects none of the {len(CASES)} cases, for example {CASES[0]}")
    build = options.build / "bin" if (options.build / "bin").is_dir() else options.build
    cuda = build / "peers_cuda"
    for program in (cuda, *(() if options.result else (build / "strictbench",))):
        if not program.is_file():
            raise Ended(2, f"{program}: no such file: it is in a build with CUDA; name the folder of one with --build")
    peers = peer_table.Peers({case: peer_table.PeerCase(case) for case in cases},
                             {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")})
    if options.result:
        peer_table.add_rows(peers, options.result)
    pytorch = [options.python, str(ROOT / "bench" / "peers" / "pytorch.py")]
    require_pytorch(pytorch)
    if options.result is None:
        with tempfile.TemporaryDirectory(prefix="strictbench-peers.") as temporary:
            folder = options.keep or Path(temporary) / "result"
            run_ours(build, options, cases, folder)
            peer_table.add_rows(peers, folder)
    with device_lock(peers.context.get("gpu_uuid", "")):
        return peers, ask_peers(peers, {"peers_cuda": [str(cuda), *cases], "pytorch.py": [*pytorch, *cases]})


def ask_peers(peers: peer_table.Peers, programs: dict[str, list[str]]) -> int:
    """Adds what each program answers; 1 where one failed, which costs the others nothing."""
    failed = 0
    for name, command in programs.items():
        print(f"asking {name}", file=sys.stderr, flush=True)
        try:
            answers = output_of(command, name)
        except Ended as ended:
            if ended.code != 1:
                raise
            print(f"peers.py: {plain(str(ended), 1000)}: the table lacks its answers", file=sys.stderr)
            failed = 1
        else:
            peer_table.add_answers(peers, answers, Path(name))
    return failed


def options_of(arguments: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peers.py", description="Our kernels beside PyTorch, cuBLAS and CUB.",
                                     epilog="What is asked of each stands at the top of scripts/peers.py.")
    add = parser.add_argument
    add("result", nargs="?", type=Path, metavar="RESULT", help="a result folder of this GPU, instead of a run made here")
    add("--build", type=Path, default=ROOT / "build" / "release", metavar="DIR",
        help="the build whose programs are run (default: build/release)")
    add("--python", default=sys.executable, metavar="PYTHON", help="the Python that has PyTorch (default: this one)")
    add("--processes", type=int, default=3, metavar="N", help="starts of each operator of ours (default: 3)")
    add("--budget", type=int, default=45, metavar="S", help="seconds after which none begins (default: 45)")
    add("--filter", default="", metavar="RE", help="only cases in whose names this regular expression is found")
    add("--keep", type=Path, metavar="DIR", help="keep the result folder of our run as DIR, which must not exist")
    add("--out", type=Path, metavar="FILE", help="write all of it as JSON")
    add("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    add("--from", dest="record", type=Path, metavar="FILE", help="show a record that --out wrote; measure nothing")
    options = parser.parse_args(arguments)
    if options.record and (options.result or options.keep or options.filter):
        parser.error("--from measures nothing: leave out RESULT, --keep and --filter")
    if options.result and options.keep:
        parser.error("--keep: RESULT is kept as it is; leave out one of them")
    for name in ("processes", "budget"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be 1 or more")
    try:
        re.compile(options.filter)
    except re.error as error:
        parser.error(f"--filter is no regular expression: {error}")
    return options


def require_outputs(options: argparse.Namespace) -> None:
    """An OSError where something could not be written, or would be written over what is read: nothing is measured for
    nothing."""
    files = [("--out", options.out), ("--markdown", options.markdown)]
    results = files_of_each("RESULT", [options.result] if options.result else [])
    require_apart([("--keep", options.keep), *files], [("--from", options.record), *results])
    for _, path in files:
        if path:
            require_writable(path)
    if keep := options.keep:
        if os.path.lexists(keep):
            raise FileExistsError(errno.EEXIST, "exists already: --keep makes a new folder", str(keep))
        # strictbench makes the folders above it too.
        above = next(folder for folder in keep.absolute().parents if folder.exists())
        require_folder_takes_files(above, keep)


def end_with_signals() -> None:
    """A stop signal ends what runs for us, and then this program; one that is ignored stays so."""
    def stop(number: int, _: Any) -> None:
        raise Ended(128 + number)

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def main(arguments: Optional[list[str]] = None) -> int:
    options = options_of(arguments)
    try:
        require_outputs(options)
        if options.record:
            peers, failed = peer_table.from_record(load(options.record), options.record), 0
        else:
            peers, failed = measured(options)
        if options.out:
            write_whole(options.out, json.dumps(peer_table.record_of(peers), indent=1) + "\n", named=True)
        if options.markdown:
            write_whole(options.markdown, peer_table.as_markdown(peers), named=True)
        print(peer_table.as_text(peers), end="", flush=True)
    except Ended as ended:
        if str(ended):
            print(f"peers.py: {plain(str(ended), 1000)}", file=sys.stderr)
        return ended.code
    except (Taken, UnusableInput) as error:
        print(f"peers.py: {plain(str(error), 1000)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"peers.py: {plain(str(error.filename or options.out or ''), 1000)}: {error.strerror}", file=sys.stderr)
        return 2
    return failed or peers.exit_code()


if __name__ == "__main__":
    end_with_signals()
    run_program(main)
