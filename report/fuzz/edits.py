"""What a machine can think of to do to a JSON document: edits that Hypothesis draws and shrinks."""
from __future__ import annotations

import copy
import json
import os
import re
from typing import Any, Callable

import hypothesis
from hypothesis import strategies as st

HOSTILE = ["<script>alert(1)</script>", "\"' onload='x", "</title><b>", "a|b", "`touch x`", "$(touch x)", "../../x", "/etc",
           "a\nb\tc", "\r\n::error::x", "\x1b[31m", "\u202eabc", "\u2028", "\x00", "\ud800", "x" * 5000, "a/b/c:d",
           "op/new/rows:8/timer:graph", "op/legacy/rows:8/timer:graph", "NaN", "漢字", "\u0663", ""]
NUMBERS = [0, -1, 1, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 10 ** 400, -10 ** 30, 0.5, 2 ** 63, True]

# What a number that is none looks like where one is shown with its unit.
NO_NUMBER = re.compile(r"\b(nan|inf) ?(%|×|[nmu]?s\b)")

texts = st.sampled_from(HOSTILE) | st.text(max_size=20)
scalars = st.none() | st.booleans() | st.sampled_from(NUMBERS) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
                      max_leaves=6)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key under which something stands."""
    found = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += [(value, key), *places(inner)]
    return found


@st.composite
def edited(draw: Callable[..., Any], document: dict[str, Any]) -> str:
    """A document with some of its values replaced, taken away or doubled, as text; sometimes damaged as text too."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(places(changed) or [(changed, "x")]))
        kind = draw(st.sampled_from(["text", "value", "number", "remove", "again"]))
        if kind == "remove":
            del container[key]
        elif kind == "again" and isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        else:
            container[key] = draw({"text": texts, "number": st.sampled_from([None, *NUMBERS])}.get(kind, values))
        if not changed:
            break
    text = json.dumps(changed, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(["", "nan", "[" * 5000, "1" * 5000, "\x00", "}", '"'])) + text[at + 1:]
    return text


def one_test(document: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Some hundred edits of a document, those of STRICTBENCH_SEED where it is set."""
    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        test = hypothesis.given(edited(document))(test)
        test = hypothesis.seed(int(os.environ.get("STRICTBENCH_SEED") or 1))(test)
        return hypothesis.settings(max_examples=int(os.environ.get("STRICTBENCH_EXAMPLES") or 60), deadline=None,
                                   database=None, suppress_health_check=list(hypothesis.HealthCheck))(test)
    return decorate
