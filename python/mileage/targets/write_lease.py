"""Detect whether any process or kernel driver has a file open for writing, as the kernel counts it.

Scope: a read lease of fcntl(2), which the kernel grants only while nothing has the file open for writing. It
sees what no table of paths shows: the server of a network block device, a SCSI or NVMe target over a file, the bitmap
file of an md array, a virtual machine; through whatever name, mount or container they opened it.
What it refuses: to conclude anything where leases are not the kernel's own: on network file systems, and where this
process may take none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from pathlib import Path
from typing import Final

LOCAL: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "bcachefs", "overlay"})
"""File systems that grant leases by the kernel's own counts."""


def is_open_for_writing(path: Path) -> bool:
    """Whether anything has a regular file open for writing; False where that cannot be known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # The kernel signals the holder of the lease when another program opens the file: use a signal that is ignored
        # by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False
