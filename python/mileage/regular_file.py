"""Files that others name, in a study from a stranger for one: opened without harm, and read up to a stated size.

Scope: opening by descriptor. What a path leads to is looked at before it is opened for reading, on a
descriptor that does nothing (O_PATH), and the same file is then opened with O_NONBLOCK: no FIFO is waited for, no
device wakes up, and nothing can be put in its place in between.
What it refuses: everything but regular files, by what it is; files larger than the size, before their content is read;
and files of the kernel that have no end, such as /proc/kmsg.
"""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path
from typing import Final

from mileage.errors import Refused

TEXT_BYTES_MAX: Final = 16 << 20
"""Largest file of options or jobs that people write."""
_STATE_BYTES_MAX: Final = 1 << 32

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def open_regular(path: Path, most_bytes: int, name: str | None = None) -> FileIO:
    """Open a regular file of at most `most_bytes` bytes for reading. `name` stands for the path in messages.

    Raises Refused, and OSError where there is no such file or it may not be read.
    """
    name = str(path) if name is None else name
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        status = os.fstat(found)
        if not stat.S_ISREG(status.st_mode):
            kind = next((words for test, words in _KINDS if test(status.st_mode)), "something else")
            raise Refused(
                name, f"{kind}, not a regular file", advice="copy what it gives into one", code="wrong-kind"
            )
        if status.st_size > most_bytes:
            raise Refused(
                name, f"{status.st_size:,} bytes", expected=f"at most {most_bytes:,}", code="too-large"
            )
        descriptor = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)
    return FileIO(descriptor)


def read_regular(path: Path, most_bytes: int, name: str | None = None) -> bytes:
    """The content of a regular file of at most `most_bytes` bytes. Raises as :func:`open_regular`."""
    name = str(path) if name is None else name
    with open_regular(path, most_bytes, name) as file:
        return read_on(file, most_bytes, name)


def read_text(path: Path, name: str | None = None) -> str:
    """The text of a regular file of at most 16 MiB; what is no UTF-8 is replaced. Raises as :func:`open_regular`."""
    return read_regular(path, TEXT_BYTES_MAX, name).decode(errors="replace")


def read_standard_input() -> str:
    """The text of standard input, at most 16 MiB. Raises Refused for more, as of /dev/zero."""
    with open("/dev/stdin", "rb", buffering=0) as file:
        return read_on(file, TEXT_BYTES_MAX, "standard input").decode(errors="replace")


def read_state(path: Path, where: object = "") -> bytes:
    """The saved state of a virtual drive or a modelled host. `where` is what it was given to. Raises Refused."""
    try:
        return read_regular(path, _STATE_BYTES_MAX)
    except OSError as error:
        raise Refused(where or path, f"{path} cannot be read: {error.strerror}", code="unreadable") from error


def read_on(file: FileIO, most_bytes: int, name: str) -> bytes:
    """Read the rest of a file that :func:`open_regular` opened, at most `most_bytes` bytes. Raises Refused."""
    parts: list[bytes] = []
    size = 0
    while True:
        # `read` returns None for a file of the kernel on which a reader would block.
        part = file.read(min(most_bytes + 1 - size, 1 << 20))
        if part is None:
            raise Refused(name, "has no end", expected="a file that can be read whole", code="wrong-kind")
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > most_bytes:
            raise Refused(
                name, f"more than {most_bytes:,} bytes", expected=f"at most {most_bytes:,}", code="too-large"
            )
