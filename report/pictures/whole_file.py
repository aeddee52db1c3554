"""Files that are whole or not there: whatever goes wrong, no reader sees half of one and nothing is left beside it."""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Iterator


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`: what is written under it takes the place of `path` at the end, or goes away.

    A link stays a link; what is no file (a pipe, /dev/stdout) is written to directly. An OSError names `path`.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        yield path
        return
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        os.replace(unfinished, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def write_whole(path: Path, text: str) -> None:
    """`text` as UTF-8; a lone surrogate, which UTF-8 cannot say, is written as its escape."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
