"""The lock of a device as `strictbench run` takes it (bench/strictbench/device_lock.h), for what a script measures."""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import getpass
import json
import os
import re
import shlex
import stat
import sys
import time
from pathlib import Path
from typing import Iterator


class Taken(Exception):
    """One line: the device, and who measures on it; or why there is no lock."""


def lock_folder() -> Path:
    """$STRICTBENCH_LOCKS, else /run/lock where every user may write there, else /tmp."""
    if named := os.environ.get("STRICTBENCH_LOCKS"):
        return Path(named)
    with contextlib.suppress(OSError):
        mode = os.stat("/run/lock").st_mode
        if stat.S_ISDIR(mode) and mode & 0o1007 == 0o1007:
            return Path("/run/lock")
    return Path("/tmp")


def opened(path: Path) -> int:
    """A file that any user may lock and write, and that none may put a link in place of."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(descriptor, 0o666)  # whatever the umask
            return descriptor


def owner_of(descriptor: int, seconds: float = 0.2) -> str:
    """Who holds the lock. Between taking it and writing who took it an owner has no name, or the name of the one
    before: it is given `seconds`."""
    end = time.monotonic() + seconds
    while True:
        named, certain = "another process", False
        try:
            owner = json.loads(os.pread(descriptor, 4096, 0))
            named = f"{owner['user']}, process {owner['pid']}, since {owner['since']}: {owner['command']}"
            os.kill(int(owner["pid"]), 0)
            certain = True
        except PermissionError:  # another user's
            certain = True
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            pass
        if certain or time.monotonic() >= end:
            return named
        time.sleep(0.01)


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # one without an entry, as in many containers
        return f"user {os.geteuid()}"


@contextlib.contextmanager
def device_lock(device: str) -> Iterator[None]:
    """Holds the lock of a GPU's UUID; of no name there is none to hold. Raises Taken."""
    if not device:
        yield
        return
    path = lock_folder() / f"strictbench.{re.sub(r'[^0-9A-Za-z-]', '_', device)}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = opened(path)
    except OSError as error:
        raise Taken(f"cannot lock {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken(f"{device} is being measured by {owner_of(descriptor)}; two at once would disturb each other"
                        ) from None
        owner = {"pid": os.getpid(), "user": user_name(), "command": shlex.join(sys.argv),
                 "since": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        with contextlib.suppress(OSError):  # it holds without its owner's name too
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, (json.dumps(owner) + "\n").encode(), 0)
        yield
    finally:
        os.close(descriptor)
