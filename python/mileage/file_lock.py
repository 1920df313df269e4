"""Locks of files by flock(2): one process at a time runs a study or writes a work file.

A lock ends with its process, also after `kill -9`, but not at once: ranks and workers of a killed command hold it until
they notice that their leader is dead, and a process that waits for a disk cannot die before the disk answers.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

RELEASE_S: Final = 10.0
"""How long to wait for a lock: longer than ranks need to notice the loss of their leader."""
_PAUSE_S: Final = 0.05


def take_lock(descriptor: int) -> bool:
    """Lock an open file exclusively; False if another process still holds it after `RELEASE_S`. Raises OSError."""
    end_s = time.monotonic() + RELEASE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end_s:
                return False
        time.sleep(_PAUSE_S)


def is_locked(file: Path) -> bool:
    """Whether a process holds an exclusive lock on a file; False for one that cannot be opened."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
