"""The page cache of a target: empty it, fill it, inspect it.

Scope: the pages of a file or block device that the kernel holds in memory (posix_fadvise(2), mincore(2)).
What it refuses: to assume that a cache is empty: `empty_cache` only advises the kernel, `resident_bytes` measures.
"""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mileage.errors import Refused
from mileage.log import logged_step
from mileage.targets.file_identity import FileIdentity, opened_as

if TYPE_CHECKING:
    import ctypes

BLKFLSBUF: Final = 0x1261
"""ioctl(2): write out and forget what the page cache holds of a block device."""
DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
"""A trigger rather than a setting: what it reads is only what was written last."""
_READ_BYTES: Final = 1 << 20
_LOOK_BYTES: Final = 1 << 30
"""Part of a file that is mapped at a time to look at its pages."""


def empty_cache(path: Path, own: FileIdentity | None = None) -> None:
    """Forget what the page cache holds of a file or block device, after what is dirty has been written.

    Pages that something else has mapped or locked stay. `own`: what the path must be. Raises OSError and RunFailed.
    """
    with opened_as(str(path), path, own, os.O_RDONLY) as descriptor:
        if stat.S_ISBLK(os.fstat(descriptor).st_mode):
            with logged_step("empty the page cache (BLKFLSBUF)", str(path)):
                fcntl.ioctl(descriptor, BLKFLSBUF)
        else:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def fill_cache(path: Path, own: FileIdentity | None = None) -> None:
    """Read a file or block device from end to end through the page cache. Raises as `empty_cache`."""
    with opened_as(str(path), path, own, os.O_RDONLY) as descriptor:
        while os.read(descriptor, _READ_BYTES):
            pass


def drop_caches(what: str) -> None:
    """Write out what is dirty and drop the whole machine's page cache. Raises Refused without permission."""
    os.sync()
    try:
        with logged_step("drop the page cache (write 3)", str(DROP_CACHES)):
            DROP_CACHES.write_text("3")
    except OSError as error:
        raise Refused(
            what,
            f"the caches cannot be dropped: {error.strerror}",
            advice='run as root, or use cache = "cold", which empties the cache of the target alone',
            code="needs-root",
        ) from error


def resident_bytes(path: Path) -> int:
    """Bytes of a file or block device that are in the page cache. Raises OSError."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        return sum(
            _resident(libc, descriptor, start, min(_LOOK_BYTES, size - start))
            for start in range(0, size, _LOOK_BYTES)
        )
    finally:
        os.close(descriptor)


def _resident(libc: ctypes.CDLL, descriptor: int, start: int, length: int) -> int:
    import ctypes
    import mmap

    pages = -(-length // mmap.PAGESIZE)
    found = (ctypes.c_ubyte * pages)()
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    )
    address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, start)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), found):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))
    return min(bytes(found).count(1) * mmap.PAGESIZE, length)
