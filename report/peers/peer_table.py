"""Our kernels beside what a user would pick instead: the record of one session, its marks, and the table.

A peer's order of addition is its own, so a peer may take ways that the strict definition forbids. Where ours is more
than 10 % slower than the fastest peer, the case is marked `slower`; where the floor of the strict definition is itself
above that peer's time it is marked `floor above`: no kernel of this definition gets there.
"""
from __future__ import annotations

import math
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

REPORT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPORT / folder) for folder in ("nightly", "page", "pictures")]

from github_markdown import markdown_text  # noqa: E402  (found through the line above)
from read import Node  # noqa: E402
from result_folder import (LONGEST, SHORTEST, UnusableInput, files_of, load_benchmarks, parse_name, read,  # noqa: E402
                           single_rows)
from words import plain, significant, time_text  # noqa: E402

WITHIN = 1.10
SHORTEST_US, LONGEST_US = SHORTEST * 1e6, LONGEST * 1e6
OURS = ("tuned", "new", "legacy")  # the first that was measured stands for us
CASE = re.compile(r"(?P<operator>[a-z0-9_]+)((/[a-z]+:[a-z0-9]+)+)")
LIKE_OURS = ("cublas", "cub_strided", "pytorch", "pytorch_deterministic")
SHOWN_ONLY = ("cub_transposed",)  # its input is laid out for it, which is not timed
CALLS = {("row_fold", "pytorch"): "PyTorch sum(0)", ("dw_gemm", "pytorch"): "PyTorch dy.T @ x",
         ("embedding_backward", "pytorch"): "PyTorch embedding_dense_backward",
         ("embedding_backward", "pytorch_deterministic"): "the same, deterministic algorithms"}
NAMES = {"tuned": "StrictBench tuned", "new": "StrictBench new", "legacy": "StrictBench legacy", "cublas": "cuBLAS",
         "cub_strided": "CUB segmented reduce", "cub_transposed": "the same, columns laid out beforehand"}


@dataclass
class Contender:
    """One implementation on one case. What is not known is None."""

    who: str
    timer: str = ""
    us: Optional[float] = None
    repeatable: Optional[bool] = None
    batch_invariant: Optional[bool] = None
    error: str = ""


@dataclass
class PeerCase:
    name: str  # "row_fold/rows:1024/cols:128/dtype:fp32"
    floor_us: Optional[float] = None
    contenders: dict[str, Contender] = field(default_factory=dict)

    @property
    def operator(self) -> str:
        return self.name.partition("/")[0]

    def contender(self, who: str) -> Contender:
        return self.contenders.setdefault(who, Contender(who))

    def ours(self) -> Optional[Contender]:
        return next((self.contenders[who] for who in OURS if who in self.contenders and self.contenders[who].us), None)

    def fastest_peer(self) -> Optional[Contender]:
        timed = [self.contenders[who] for who in LIKE_OURS if who in self.contenders and self.contenders[who].us]
        return min(timed, key=lambda contender: contender.us, default=None)

    def ratio(self, peer: Optional[Contender]) -> Optional[float]:
        """The peer's time / ours: above 1 we are faster."""
        ours = self.ours()
        return peer.us / ours.us if ours and peer and peer.us else None

    def mark(self) -> str:
        """`slower` or `floor above`, or nothing. Without a floor nothing excuses."""
        ratio = self.ratio(fastest := self.fastest_peer())
        if ratio is None or ratio * WITHIN >= 1:
            return ""
        # A floor above our own time is a wrong one, and excuses nothing.
        excuses = self.floor_us and fastest.us < self.floor_us <= 1.05 * self.ours().us
        return "floor above" if excuses else "slower"

    def broken(self) -> list[str]:
        """What of ours does not keep the definition's promise."""
        return [f"{NAMES[c.who]}: {what}" for c in self.contenders.values() if c.who in OURS
                for what, kept in (("other bits from run to run", c.repeatable),
                                   ("other bits in another batch", c.batch_invariant)) if kept is False]


@dataclass
class Peers:
    """One session. `context` holds what says where: gpu_name, gpu_uuid, pytorch, git_commit, date."""

    cases: dict[str, PeerCase]
    context: dict[str, str]

    def compared(self) -> list[PeerCase]:
        return [case for case in self.cases.values() if case.ratio(case.fastest_peer()) is not None]

    def mean(self, who: str = "") -> Optional[float]:
        """The geometric mean of peer / ours over the cases that have it: of `who`, or of each case's fastest."""
        ratios = [case.ratio(case.contenders.get(who) if who else case.fastest_peer()) for case in self.cases.values()]
        known = [math.log(ratio) for ratio in ratios if ratio]
        return math.exp(statistics.fmean(known)) if known else None

    def exit_code(self) -> int:
        """1 where we are slower without excuse, slower on the whole, or not what we promise; 3 with nothing compared."""
        if any(case.broken() or case.mark() == "slower" for case in self.cases.values()):
            return 1
        mean = self.mean()
        return 3 if mean is None else int(mean < 1)


# From result files, answers and records -------------------------------------------------------------------------------

def add_rows(peers: Peers, folder: Path) -> None:
    """Times and floors of the cases, by the graph timer, of a result folder of `strictbench run`. Or UnusableInput."""
    results = read(folder)
    for case, variants in results.cases.items():
        keys = [f"{key}:{value}" for key, value in case.shape if key != "timer"]
        mine = peers.cases.get("/".join([case.operator, *keys]))
        if mine is None or ("timer", "graph") not in case.shape:
            continue
        for variant, measured in variants.items():
            time = measured.time()
            contender = mine.contender(variant)
            contender.timer, contender.us = "graph", time and time * 1e6
            contender.error = "" if time else f"{measured.status()}: {measured.message()}"
    floors: dict[str, dict[str, list[float]]] = {}  # of each variant: one that may add in any order has a lower one
    for file in files_of(folder):
        for row in single_rows(load_benchmarks(file)["benchmarks"]):
            parsed, floor = parse_name(row["name"]), row.get("floor_us")
            if parsed and ("timer", "graph") in parsed[0].shape and type(floor) in (int, float) and (
                    SHORTEST_US <= floor <= LONGEST_US):
                keys = [f"{key}:{value}" for key, value in parsed[0].shape if key != "timer"]
                of_case = floors.setdefault("/".join([parsed[0].operator, *keys]), {})
                of_case.setdefault(parsed[1], []).append(floor)
    for name, case in peers.cases.items():
        ours = case.ours()
        if ours and ours.who in floors.get(name, {}):
            case.floor_us = statistics.median(floors[name][ours.who])
    for key in ("gpu_name", "gpu_uuid", "git_commit", "driver_version", "cuda_version", "boot_id"):
        said = results.said(key)
        if len(said) > 1:
            raise UnusableInput(f"{folder}: its processes differ in {key}: {' and '.join(said[:2])}")
        same_place(peers, key, said[0] if said else "", folder)


def same_place(peers: Peers, key: str, value: str, path: Path) -> None:
    """Keeps a word of the context; refuses a second GPU."""
    known = peers.context.setdefault(key, value)
    if value and known and value != known and key in ("gpu_name", "gpu_uuid"):
        raise UnusableInput(f"{path}: {key} is {value}, and {known} before: both sides must be measured on one GPU")
    peers.context[key] = known or value


def add_answers(peers: Peers, document: dict[str, Any], path: Path) -> None:
    """What bench/peers' programs print, `path` being what the complaints call it. Or UnusableInput."""
    root, before = Node(document, path), set()
    for node in root.needed("answers"):
        case, who = peers.cases.get(node.text("case")), node.text("who")
        if (answer := (node.text("case"), who)) in before:
            raise node.refuse(f"is a second answer of {who} to {answer[0]}: which one holds?")
        before.add(answer)
        if case is None:
            continue
        contender = case.contender(who)
        samples = [value for sample in node.items("samples_us") if (value := sample_of(sample)) is not None]
        if samples:
            contender.timer, contender.us = node.text("timer"), statistics.median(samples)
        contender.error = node.text("error") or contender.error
        for key in ("repeatable", "batch_invariant"):
            setattr(contender, key, yes_or_no(node, key))
    for key in ("gpu_name", "gpu_uuid", "pytorch"):
        same_place(peers, key, root.text(key), path)


def sample_of(node: Node) -> Optional[float]:
    if type(node.value) not in (int, float):
        raise node.refuse("is not a number")
    return float(node.value) if SHORTEST_US <= node.value <= LONGEST_US else None


def time_of(node: Node, key: str) -> Optional[float]:
    """Microseconds, or None where there are none that a measurement can have."""
    value = node.at(key)
    return None if value.value is None else sample_of(value)


def yes_or_no(node: Node, key: str) -> Optional[bool]:
    value = node.at(key).value
    if value is not None and not isinstance(value, bool):
        raise node.at(key).refuse("is neither true nor false")
    return value


def record_of(peers: Peers) -> dict[str, Any]:
    """Everything as JSON, with what follows from it."""
    def of_case(case: PeerCase) -> dict[str, Any]:
        fastest = case.fastest_peer()
        return {"case": case.name, "floor_us": case.floor_us, "mark": case.mark(),
                "fastest_peer": fastest.who if fastest else None, "ratio": case.ratio(fastest),
                "contenders": [{**vars(c), "ratio": case.ratio(c)} for c in case.contenders.values()]}

    whos = dict.fromkeys(who for case in peers.cases.values() for who in case.contenders if who in LIKE_OURS)
    return {"context": peers.context, "cases": [of_case(case) for case in peers.cases.values()],
            "geometric_mean": peers.mean(), "geometric_mean_by_peer": {who: peers.mean(who) for who in whos}}


def from_record(document: dict[str, Any], path: Path) -> Peers:
    """What record_of() wrote; what follows is worked out anew. Or UnusableInput."""
    root = Node(document, path)
    context = root.at("context")
    peers = Peers({}, {key: context.text(key) for key in (context.value if isinstance(context.value, dict) else {})})
    for node in root.needed("cases"):
        name = node.text("case")
        if not CASE.fullmatch(name):
            raise node.at("case").refuse("is no name of a case")
        if name in peers.cases:
            raise node.refuse(f"is a second one of {name}: which one holds?")
        case = peers.cases[name] = PeerCase(name, time_of(node, "floor_us"))
        for entry in node.items("contenders"):
            who = entry.text("who")
            if who in case.contenders:
                raise entry.refuse(f"is a second {who} of {name}: which one holds?")
            case.contenders[who] = Contender(who, entry.text("timer"), time_of(entry, "us"),
                                             yes_or_no(entry, "repeatable"), yes_or_no(entry, "batch_invariant"),
                                             entry.text("error"))
    return peers


# The table ------------------------------------------------------------------------------------------------------------

HEADINGS = ("operator", "size", "floor", "implementation", "timer", "time", "time / ours", "repeatable",
            "batch invariant", "")
NUMBERS = {2, 5, 6}


def lines_of(case: PeerCase) -> list[tuple[str, ...]]:
    """A line for each implementation, ours first; the mark stands beside the one that stands for us."""
    def word(answer: Optional[bool]) -> str:
        return "" if answer is None else "yes" if answer else "no"

    order = [*OURS, *LIKE_OURS, *SHOWN_ONLY]
    known = [case.contenders[who] for who in order if who in case.contenders]
    others = [contender for who, contender in case.contenders.items() if who not in order]
    size = " ".join(part.replace(":", " ") for part in case.name.split("/")[1:])
    floor = time_text(case.floor_us / 1e6) if case.floor_us else ""
    ours, lines = case.ours(), []
    for contender in known + others:
        ratio = case.ratio(contender)
        note = contender.error if not contender.us else case.mark() if contender is ours else ""
        lines.append((case.operator, size, floor,
                      CALLS.get((case.operator, contender.who)) or NAMES.get(contender.who, plain(contender.who)),
                      plain(contender.timer) if contender.us else "", time_text(contender.us / 1e6) if contender.us else "",
                      f"{significant(ratio)} x" if ratio else "", word(contender.repeatable),
                      word(contender.batch_invariant), plain(note, 120)))
    return lines


def closing(peers: Peers) -> list[str]:
    """What follows from the table, a sentence a line."""
    compared = peers.compared()
    if not compared:
        return ["nothing to compare: no case has both a time of ours and one of a peer"]
    marks = [case.mark() for case in compared]
    whole = peers.mean()
    lines = [f"geometric mean of the fastest peer / ours over {len(compared)} {'case' if len(compared) == 1 else 'cases'}: "
             f"{significant(whole)} x"]
    lines += [f"  {NAMES.get(who, who.replace('_', ', ').replace('pytorch', 'PyTorch'))} / ours: {significant(mean)} x"
              for who, mean in record_of(peers)["geometric_mean_by_peer"].items() if mean]
    lines.append(f"more than 10 % slower than the fastest peer: {marks.count('slower')}; the same where the floor of the "
                 f"strict definition is above its time: {marks.count('floor above')}")
    return lines + [f"{case.name}: {what}" for case in peers.cases.values() for what in case.broken()]


def where(peers: Peers) -> str:
    known = {"gpu_name": "", "pytorch": "PyTorch ", "driver_version": "driver ", "cuda_version": "CUDA ",
             "git_commit": "commit ", "date": ""}
    return ", ".join(prefix + plain(peers.context[key]) for key, prefix in known.items() if peers.context.get(key))


def as_text(peers: Peers) -> str:
    rows = [HEADINGS, *(line for case in peers.cases.values() for line in lines_of(case))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(cell.rjust(width) if column in NUMBERS else cell.ljust(width)
                         for column, (cell, width) in enumerate(zip(row, widths))).rstrip()

    out, before = [where(peers), "", line(rows[0])], ""
    for row in rows[1:]:
        same = row[:3] == before  # said once
        out.append(line(("", "", "", *row[3:]) if same else row))
        before = row[:3]
    return "\n".join([*out, "", *closing(peers)]) + "\n"


def as_markdown(peers: Peers) -> str:
    out = ["| " + " | ".join(HEADINGS) + " |",
           "|" + "|".join("---:" if column in NUMBERS else "---" for column in range(len(HEADINGS))) + "|"]
    for case in peers.cases.values():
        out += ["| " + " | ".join(map(markdown_text, line)) + " |" for line in lines_of(case)]
    return "\n".join([*out, "", *(markdown_text(line.strip()) + "  " for line in closing(peers)), "",
                      markdown_text(where(peers))]) + "\n"
