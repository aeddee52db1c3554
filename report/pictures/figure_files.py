"""A figure's files, and letters that the font lacks."""
from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import Iterator

from matplotlib.figure import Figure

from whole_file import whole_file

TALLEST_PIXELS = 60_000  # a PNG's side has 16 bits to spare


@contextlib.contextmanager
def any_letters() -> Iterator[None]:
    """A letter that the font lacks is a box on the PNG and itself in the SVG, and one of a script that matplotlib does
    not lay out stands by itself; none needs a warning."""
    with warnings.catch_warnings():
        for message in ("Glyph .* missing", "Matplotlib currently does not support .* natively"):
            warnings.filterwarnings("ignore", message=message)
        yield


def save_both(figure: Figure, folder: Path, stem: str, dots_per_inch: float) -> list[Path]:
    """As PNG, with fewer dots where it would be too tall, and as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    dots_per_inch = min(dots_per_inch, TALLEST_PIXELS / max(figure.get_size_inches()))
    saved = []
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        path = folder / f"{stem}.{kind}"
        with any_letters(), whole_file(path, named=False) as unfinished:
            figure.savefig(unfinished, format=kind, dpi=dots_per_inch, metadata=metadata)
        saved.append(path)
    return saved
