"""Files that are whole or not there: whatever goes wrong, no reader sees half of one and nothing is left beside it. And
what is asked before they are written: can they be, and does none of them destroy another that is named."""
from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

Named = tuple[str, Optional[Path]]  # what the command line calls a file, and the file, if it was given


def resolved(path: Path) -> Path:
    """Where links lead. One that leads to itself stays, where Path.resolve() would raise what is no OSError."""
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def whole_file(path: Path, *, named: bool) -> Iterator[Path]:
    """A temporary name beside `path`: what is written under it takes the place of `path` at the end, or goes away.

    Where the user named `path`, a link stays a link, and what is no file (a pipe, /dev/stdout) is written to directly.
    A name that a program chose may stand in a folder that somebody else made: whatever has it but a folder is replaced,
    and nothing is written through it. An OSError names `path`.
    """
    target = resolved(path) if named else path
    if named and target.exists() and not target.is_file() and not target.is_dir():
        yield path
        return
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # ours, and no link that waited here
        yield unfinished
        os.replace(unfinished, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def write_whole(path: Path, text: str, *, named: bool) -> None:
    """`text` as UTF-8 into whole_file(); a lone surrogate, which UTF-8 cannot say, is written as its escape."""
    with whole_file(path, named=named) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")


def require_folder_takes_files(folder: Path, path: Path) -> None:
    """An OSError that names `path` where no new file can be made in `folder`. Found by trying: a mode does not tell."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error


def require_writable(path: Path) -> None:
    """An OSError that names `path` where whole_file() would fail at once, `path` being named by the user: before work
    that is to be written there."""
    if path.is_dir():
        raise OSError(errno.EISDIR, f"cannot be written: {os.strerror(errno.EISDIR)}", str(path))
    if not path.exists() or path.is_file():
        require_folder_takes_files(resolved(path).parent, path)
    elif not os.access(path, os.W_OK):
        raise OSError(errno.EACCES, f"cannot be written: {os.strerror(errno.EACCES)}", str(path))


def one_file(left: Path, right: Path) -> bool:
    """Whether both are one file or folder, through links too. What keeps nothing (a pipe, /dev/null) is none."""
    with contextlib.suppress(OSError):
        if left.exists() and right.exists():
            return left.samefile(right) and (left.is_file() or left.is_dir())
    return resolved(left) == resolved(right)


def require_apart(outputs: Iterable[Named], inputs: Iterable[Named] = ()) -> None:
    """An OSError that names an output which is also another output or an input: writing it would destroy that."""
    before = [*inputs]
    for name, path in outputs:
        for other, known in before if path else ():
            if known and one_file(path, known):
                why = f"{other} and {name} are one file, which would be overwritten: name another"
                raise OSError(errno.EEXIST, why, str(path))
        before.append((name, path))


def files_of_each(name: str, paths: Iterable[Path]) -> list[Named]:
    """What is read where `name` gives these results, for require_apart(): of a folder all its JSON."""
    return [(name, file) for path in paths for file in (path.glob("*.json") if path.is_dir() else (path,))]
