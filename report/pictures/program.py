"""How every Python program here begins and ends: two streams that speak UTF-8, and what becomes of one that fails."""
from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import Callable, NoReturn, Optional, TextIO

from words import plain

STDOUT = "standard output"


class Output(io.FileIO):
    """Standard output. A write that fails raises an OSError that names it; a reader that went away (`| head`) ends the
    program with SIGPIPE's exit code and no word. What is still buffered then is dropped."""

    lost: Optional[BaseException] = None

    def write(self, data: bytes) -> Optional[int]:
        if self.lost:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self.lost = SystemExit(128 + signal.SIGPIPE)
        except OSError as error:
            self.lost = OSError(error.errno, error.strerror, STDOUT)
        raise self.lost


class Complaints(io.FileIO):
    """Standard error. That nobody can read it costs the program nothing."""

    def write(self, data: bytes) -> Optional[int]:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def taken(kind: type[io.FileIO], now: Optional[TextIO], flags: int) -> io.FileIO:
    """The file of `now`. One that is closed is opened as /dev/null with `flags`: no file gets its descriptor."""
    if now is None:
        return kind(os.open(os.devnull, flags), "w")
    now.flush()
    return kind(now.fileno(), "w", closefd=False)


def text_of(raw: io.FileIO, by_line: bool) -> TextIO:
    """UTF-8 in any locale: names are that, and an encoding that lacks one would end the program."""
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=by_line)


def run_program(main: Callable[[], int]) -> NoReturn:
    """Ends this program with the exit code of main(): 2, and one line on standard error, where a file or standard
    output could not be written and main() has not said so; 130 where it is interrupted."""
    # To one that is open for reading alone every write fails, as to one that is closed.
    by_line = sys.stdout is not None and (sys.stdout.line_buffering or sys.stdout.write_through)
    output = taken(Output, sys.stdout, os.O_RDONLY)
    sys.stdout = text_of(output, by_line)
    sys.stderr = text_of(taken(Complaints, sys.stderr, os.O_WRONLY), True)
    try:
        try:
            code = main()
        except SystemExit as ended:  # argparse, after --help, and it says nothing of a write that failed
            code = ended.code
            if output.lost:
                raise output.lost
        sys.stdout.flush()
    except OSError as error:
        name, what = Path(sys.argv[0]).name, plain(str(error.filename or STDOUT), 1000)
        print(f"{name}: {what}: {error.strerror}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    sys.exit(code)
