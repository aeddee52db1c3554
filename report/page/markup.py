"""Elements of HTML and SVG. Whatever is not Markup already is escaped, so a name in a file never becomes a tag."""
from __future__ import annotations

import html
import math
import sys
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pictures"))

from words import plain, significant, time_text  # noqa: E402

LONGEST_TEXT = 1000  # of a message or a name; what is longer is cut
VOID = frozenset(("meta", "link", "wbr", "br"))
A_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
NONE = "–"


class Markup(str):
    """Text that is HTML; everything else is text to be escaped."""


def text(value: Any) -> Markup:
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(plain(str(value), LONGEST_TEXT), quote=True))


def join(*children: Any) -> Markup:
    """Children one after another; None and lists' nesting vanish."""
    parts = []
    for child in children:
        if isinstance(child, (list, tuple)):
            parts.append(join(*child))
        elif child is not None:
            parts.append(text(child))
    return Markup("".join(parts))


def el(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is `class`, other underscores are hyphens; None and False leave an attribute out."""
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written.append(f" {key}" if value is True else f' {key}="{text(value)}"')
    start = f"<{name}{''.join(written)}>"
    return Markup(start if name in VOID else f"{start}{join(*children)}</{name}>")


def row_name(name: str) -> Markup:
    """A row's exact name, operator and variant ahead of the rest; it may break behind each slash."""
    parts = plain(name, LONGEST_TEXT).split("/")
    head, rest = parts[:2], parts[2:]
    def broken(pieces: list[str]) -> Markup:
        return join(*(join(Markup("<wbr>") if index else None, piece) for index, piece in enumerate(pieces)))
    ends = [piece + "/" for piece in head[:-1]] + [head[-1] + ("/" if rest else "")]
    tail = [piece + "/" for piece in rest[:-1]] + rest[-1:]
    return el("span", el("b", broken(ends)), Markup("<wbr>") if tail else None,
              el("span", broken(tail), class_="shape") if tail else None, class_="name")


def value_text(value: Optional[float], unit: str) -> str:
    """A compared number: a time in the unit that keeps it short, anything else with its own."""
    if value is None:
        return NONE
    if unit in A_SECOND:
        return time_text(value / A_SECOND[unit])
    return f"{significant(value)} {unit}".strip()


def nanoseconds(value: Optional[float]) -> str:
    return value_text(value, "ns")


def change_text(ratio: Optional[float]) -> str:
    """A ratio as the change it is: percent up to twice, then a factor."""
    if ratio is None:
        return NONE
    if ratio >= 2:
        return f"× {significant(ratio)}" if ratio < 1e6 else f"× {ratio:.1e}"
    percent = 100 * (ratio - 1)
    shown = f"{percent:+.2f}" if abs(percent) < 10 else f"{percent:+.1f}" if percent > -99.95 else f"{percent:+.4g}"
    if float(shown) == 0:
        shown = "0.00"
    return shown.replace("-", "−") + " %"


def interval_text(low: Optional[float], high: Optional[float]) -> str:
    return NONE if low is None or high is None else f"{change_text(low)} to {change_text(high)}"


def percent_text(share: Optional[float]) -> str:
    if share is None or not math.isfinite(100 * share):
        return NONE
    return f"{100 * share:.3g} %".replace("-", "−") if abs(share) < 10 else f"{100 * share:.4g} %"


def share_text(share: float) -> str:
    """A share of the floor. Ten floors and more come from a wrong one, however wrong."""
    return "over 1,000 %" if share > 10 else percent_text(share)


def factor_text(factor: Optional[float]) -> str:
    return NONE if factor is None else f"{significant(factor)} ×"


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def table(caption: str, heads: list[Any], rows: list[Any], class_: str = "", sortable: bool = False) -> Markup:
    """A table in a box of its own that scrolls where the page is too narrow for it. `heads` are (text, class)."""
    cells = [el("th", head, scope="col", class_=kind or None) for head, kind in heads]
    return el("div", el("table", el("caption", caption), el("thead", el("tr", cells)), el("tbody", rows),
                        class_=class_ or None, data_sortable=sortable),
              class_="box", role="region", tabindex="0", aria_label=caption)


def cell(content: Any, class_: Optional[str] = None, sort: Any = None, **more: Any) -> Markup:
    """`sort` is what the column is sorted by; a number that does not exist goes to the end."""
    return el("td", content, class_=class_, data_v="" if sort is None else sort, **more)
