"""Files and file systems to work on, made and removed again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.programs import Unusable

MIB = 1 << 20


def lay_out(path: Path, mib: int) -> None:
    """A file of `mib` MiB that do not compress, on the device, unless it is there."""
    if path.exists() and path.stat().st_size == mib * MIB:
        return
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())


def cached(path: Path, mib: int) -> None:
    """A file of `mib` MiB that is in the page cache."""
    lay_out(path, mib)
    with path.open("rb") as file:
        while file.read(MIB):
            pass


def uncached(path: Path, mib: int) -> None:
    """A file of `mib` MiB of which nothing is in the page cache."""
    lay_out(path, mib)
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def kind_of(path: Path) -> str:
    """The type of the file system that holds a path."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, at, type_, *_ = line.split()
        if str(path.resolve()).startswith(at) and len(at) >= len(best):
            best, kind = at, type_
    return kind


def _run(*command: str) -> None:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    if done.returncode != 0:
        raise Unusable(f"{' '.join(command)}: {done.stderr.strip()}")


@contextmanager
def in_memory(scratch: Path, mib: int) -> Iterator[Path]:
    """A folder on a tmpfs: a fresh one for root, else in /dev/shm."""
    if os.geteuid() == 0:
        at = scratch / "tmpfs"
        at.mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={mib + 64}m", "tmpfs", str(at))
        try:
            yield at
        finally:
            _run("umount", str(at))
            at.rmdir()
        return
    at = Path("/dev/shm/mileage-peers")
    at.mkdir(exist_ok=True)
    try:
        yield at
    finally:
        for path in at.iterdir():
            path.unlink()
        at.rmdir()


@contextmanager
def fresh_ext4(scratch: Path, files: int) -> Iterator[Path]:
    """A new ext4 with a journal in a file, with room for `files` files.

    A file system that has just lost many files creates new ones more slowly, so every program gets its own.
    """
    if os.geteuid() != 0:
        raise Unusable("a fresh file system needs root")
    image, at = scratch / "ext4.img", scratch / "ext4"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(2 << 30)
    inodes = str(max(4 * files, 20_000))
    _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", inodes, str(image))
    at.mkdir(exist_ok=True)
    _run("mount", "-o", "loop", str(image), str(at))
    try:
        work = at / "work"
        work.mkdir()
        yield work
    finally:
        _run("umount", str(at))
        at.rmdir()
        image.unlink()
