"""Text that is safe in a table of GitHub's Markdown: as `strictbench` writes it, report/text.cpp.

Both are held to the same examples, report/testdata/markdown.json.
"""
from __future__ import annotations

import re

HARMLESS = re.compile(r"""
    [A-Za-z0-9 .,;/%=()'?-] | [^\x00-\x7f]
  | (?<!^)\+                                  # a list, at the start of a line
  | (?<=[A-Za-z0-9])_(?=[A-Za-z0-9])          # not emphasis
  | :(?=\ |$)                                 # :name: would turn into an emoji
    """, re.VERBOSE)
HARMLESS_NAME = re.compile(r"[A-Za-z0-9_/:.,+=-]+")


def markdown_text(text: str) -> str:
    """`text`, without line breaks, for a cell: whatever could be markup, a mention or mathematics is an entity."""
    return "".join(c if HARMLESS.match(text, at) else f"&#{ord(c)};" for at, c in enumerate(text))


def markdown_code(name: str) -> str:
    """A name as code: a code span where it is harmless, else <code> with entities."""
    return f"`{name}`" if HARMLESS_NAME.fullmatch(name) else f"<code>{markdown_text(name)}</code>"
