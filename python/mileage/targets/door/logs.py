"""Logs to which lines are added over many commands, durably, by one command at a time.

Scope: a new file, or one that begins as every log of the kind does. A line is appended with one write and an fsync.
What it refuses: any other file with content, what :mod:`mileage.targets.door.results` refuses, and a log in use.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from mileage.errors import Refused, RunFailed
from mileage.targets.door.marks import write_mark
from mileage.targets.door.results import check_result

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ResultLog:
    """A log that is open for appending."""

    def __init__(self, where: str, path: Path, kind: str, head: bytes) -> None:
        """As :func:`mileage.targets.door.check_result`. Raises Refused, and RunFailed when it cannot be opened."""
        self.path, self._kind = path, kind
        check_result(where, path, kind, head)
        try:
            self._descriptor = os.open(path, _OPEN, 0o644)
        except OSError as error:
            raise RunFailed.from_os_error(f"opening {path}", error) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Once more: another file may have been put there meanwhile.
            check_result(where, path, kind, head)
            if not os.path.samestat(os.fstat(self._descriptor), os.stat(path, follow_symlinks=False)):
                raise BlockingIOError
        except OSError:
            os.close(self._descriptor)
            raise Refused(
                path, "another watch is writing it", advice=f"end that one, or choose {where}", code="in-use"
            ) from None
        except BaseException:
            os.close(self._descriptor)
            raise

    def read(self, most: int) -> bytes:
        """What it holds. Raises Refused for more than `most` bytes."""
        size = os.fstat(self._descriptor).st_size
        if size > most:
            raise Refused(self.path, found=f"{size} bytes", expected=f"at most {most}", code="too-large")
        return os.pread(self._descriptor, size, 0)

    def cut(self, length: int) -> None:
        """Remove what follows the first `length` bytes: a line that a killed command did not end."""
        os.ftruncate(self._descriptor, length)

    def append(self, line: bytes) -> None:
        """Add a line, durably. Raises RunFailed."""
        try:
            os.write(self._descriptor, line + b"\n")
            os.fsync(self._descriptor)
        except OSError as error:
            raise RunFailed.from_os_error(f"writing {self.path}", error) from error

    def close(self) -> None:
        """Close it."""
        write_mark(self._descriptor, self._kind)
        os.close(self._descriptor)
