"""The page as one file: style and script are inlined, nothing is fetched, and nothing else may run."""
from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from markup import Markup, el, join
from measured import floors, kernels, machines, speedups
from past import past
from samples import verdict_sections
from sections import Report, top

HERE = Path(__file__).resolve().parent
NAMES = {"findings": "Not the same", "rows": "All rows", "ratios": "Ratios", "samples": "Samples",
         "speedups": "Speedups", "kernels": "Kernels", "floors": "Floor", "history": "History", "machines": "Machine"}

FOOTER = ("Made from result files alone by report/page/report.py. A verdict is on the interval of a ratio: slower and "
          "faster lie wholly beyond the threshold, same wholly within it, and inconclusive is everything else: the data "
          "cannot tell.")


def policy(script: str) -> str:
    """A browser runs this one script and fetches nothing, even if an escape were forgotten somewhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def page(report: Report) -> str:
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = (HERE / "page.js").read_text(encoding="utf-8")
    sections = [*verdict_sections(report), speedups(report), kernels(report), floors(report), past(report),
                machines(report)]
    head = el("head", el("meta", charset="utf-8"),
              el("meta", http_equiv="Content-Security-Policy", content=policy(script)),
              el("meta", name="viewport", content="width=device-width, initial-scale=1"),
              el("meta", name="color-scheme", content="light dark"),
              el("link", rel="icon", href="data:,"), el("title", f"StrictBench: {report.title}"),
              el("style", Markup(style)))
    nav = el("nav", *(el("a", name, href=f"#{id_}") for id_, name in NAMES.items()), aria_label="Sections")
    footer = el("footer", el("p", FOOTER))
    body = el("body", top(report), nav, el("main", sections), footer, el("script", Markup(script)))
    return join(Markup("<!doctype html>\n"), el("html", head, body, lang="en"), Markup("\n"))
