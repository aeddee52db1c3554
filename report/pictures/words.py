"""Numbers and names as a person reads them: on pictures and on the page."""
from __future__ import annotations

import contextlib
import math


def plain(text: str, longest: int = 64) -> str:
    """Text as it may be shown: no control characters, lone surrogates or line breaks, and cut to size.

    Cut is the middle: a name ends with its timer, a message with what is wrong. A path whose bytes Python took apart, as
    it does in a locale without UTF-8, is put together again.
    """
    with contextlib.suppress(UnicodeError):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(shown) <= longest:
        return shown
    tail = (longest - 1) // 2
    return f"{shown[:longest - 1 - tail]}…{shown[len(shown) - tail:]}"


def time_text(seconds: float) -> str:
    """Three significant digits and the unit that keeps them short."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds / 1e-9)} ns"


def significant(value: float) -> str:
    """Three significant digits, written out, thousands grouped."""
    if value <= 0 or not math.isfinite(value):
        return str(value)
    digits = 2 - math.floor(math.log10(value))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(rounded)))}f}"


def speedup_text(value: float) -> str:
    return f"{significant(value)}×"


def pair_text(key: str, value: str) -> str:
    return f"{key} {value}" if value else key
