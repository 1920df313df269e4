"""A folder that may come from a stranger, read and written through descriptors: nothing outside it is reached.

Scope: the folder is opened once; files are made, replaced and removed relative to that descriptor. A file is
written to a part of its own, forced to the disk and renamed, so that it is there whole or not at all, and a file that
has other names (hard links) keeps its content under them.
What it refuses: links, named pipes, sockets and devices where a file or a folder belongs, by name.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Self

from mileage.errors import Refused

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}

_DEPTH_MAX: Final = 32
"""Folders below each other in a study folder; Mileage makes three."""
_PART: Final = ".part-"
_SWEPT: set[tuple[int, int]] = set()
"""Device and inode of the folders that this process has looked through for parts left behind."""


def _refusal(path: Path, mode: int, expected: str) -> Refused:
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    return Refused(
        path,
        f"is {kind}, where a study folder has {expected}",
        advice="remove it, or copy what it stands for",
        code="wrong-kind",
    )


def refuse_links(path: Path) -> None:
    """Refuse a study folder that has anything but files and folders in it; the folder itself may be a link to one."""
    try:
        _refuse_links(path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise _refusal(path, path.stat().st_mode, "a folder") from None
    except OSError as error:
        raise Refused(
            error.filename or path, f"cannot be read: {error.strerror}", code="unreadable"
        ) from error


def _refuse_links(path: Path, depth: int = 0) -> None:
    if depth > _DEPTH_MAX:
        raise Refused(path, f"more than {_DEPTH_MAX} folders below each other", code="damaged")
    with os.scandir(path) as found:
        for entry in found:
            with suppress(FileNotFoundError):
                mode = entry.stat(follow_symlinks=False).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise _refusal(Path(entry.path), mode, "files and folders only")
                if stat.S_ISDIR(mode):
                    _refuse_links(Path(entry.path), depth + 1)


def open_to_read(path: Path) -> BinaryIO:
    """A file to be read. Raises Refused for what is no file, OSError as `open`."""
    return os.fdopen(_checked(path, path, _READ, None), "rb")


def open_to_append(path: Path) -> int:
    """A descriptor of a file, made if it is missing. Raises Refused for what is no file, or has further names."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = _checked(path, path, flags, None)
    names = os.fstat(descriptor).st_nlink
    if names > 1:
        os.close(descriptor)
        raise Refused(
            path,
            f"has {names} names (hard links), and what is appended would be in all of them",
            advice="replace it by a copy",
            code="wrong-kind",
        )
    return descriptor


def _checked(name: str | Path, path: Path, flags: int, folder: int | None, mode: int = 0o644) -> int:
    """Open a file without following a link. Raises Refused, with the path, for what is no file."""
    try:
        descriptor = os.open(name, flags, mode, dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if not stat.S_ISREG(found):
                raise _refusal(path, found, "a file") from None
        raise
    found = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(found):
        os.close(descriptor)
        raise _refusal(path, found, "a file")
    return descriptor


def read_at_most(file: BinaryIO, most_bytes: int | None, path: Path) -> bytes:
    """The bytes of an open file. Raises OSError with EFBIG for a file that is larger, before it is read."""
    if most_bytes is not None and os.fstat(file.fileno()).st_size > most_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return file.read()


class Directory:
    """An open folder. `path` is only for messages and for programs that need one."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take a descriptor, which :meth:`close` closes, or the end of this object."""
        self.path = path
        self.descriptor = descriptor
        self._closed = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a folder that the user gave, which may be a link. Raises OSError."""
        return cls(path, os.open(path, _FOLDER))

    def below(self, name: str) -> Self:
        """Open the folder `name` in this one; create it if it is missing. Raises Refused (no folder) and OSError."""
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=self.descriptor)
        return type(self)(self.path / name, self._folder(name))

    def _folder(self, name: str) -> int:
        try:
            return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self.descriptor)
        except NotADirectoryError:
            mode = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
            raise _refusal(self.path / name, mode, "a folder") from None

    def __enter__(self) -> Self:
        """The folder itself."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        self._closed()

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file or none, here or below ("environment/start.json"). Raises Refused and OSError."""
        first, _, rest = name.partition("/")
        if rest:
            with self.below(first) as below:
                below.write(rest, data)
            return
        with self.part(name) as file:
            file.write(data)

    def open_lock(self, name: str) -> int:
        """A descriptor of a file to be locked, made if it is missing. Raises Refused for what is no file."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return _checked(name, self.path / name, flags, self.descriptor)

    @contextmanager
    def part(self, name: str) -> Iterator[BinaryIO]:
        """Write a file atomically: it gets its name only once complete and synced to disk; on an error it is removed.

        Raises Refused where a folder has the name, and OSError.
        """
        # A unique name for each writer, so that concurrent writers do not collide; the last rename wins.
        part = f".{name}{_PART}{os.getpid()}-{threading.get_ident()}"
        self._remove_abandoned_parts()
        try:
            with self.new(part) as file:
                # Hold a lock while writing, so that others can see whether the writer is alive.
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_SH)
                yield file
                file.flush()
                os.fsync(file.fileno())
            try:
                os.replace(part, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
            except IsADirectoryError:
                found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
                raise _refusal(self.path / name, found, "a file") from None
        except BaseException:
            # Remove a partial file at once: on a full disk it would take the space that the next write needs.
            self.remove(part)
            raise
        os.fsync(self.descriptor)

    def _remove_abandoned_parts(self) -> None:
        """Remove the parts of processes that were killed, once for each folder and process."""
        found = os.fstat(self.descriptor)
        if (folder := (found.st_dev, found.st_ino)) in _SWEPT:
            return
        _SWEPT.add(folder)
        for name in os.listdir(self.descriptor):
            if _PART in name and name.startswith("."):
                # Keep locked parts, which a live process writes, and anything that is not a regular file, which Mileage
                # did not make.
                with suppress(OSError, Refused), self._opened(name) as part:
                    fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=self.descriptor)

    def _opened(self, name: str) -> BinaryIO:
        return os.fdopen(_checked(name, self.path / name, _READ, self.descriptor), "rb")

    def new(self, name: str) -> BinaryIO:
        """A file that was not there, to be written and read. Raises OSError."""
        return os.fdopen(os.open(name, _NEW, 0o644, dir_fd=self.descriptor), "w+b")

    def read(self, name: str, most_bytes: int | None = None) -> bytes:
        """The bytes of a file here or below ("environment/start.json"); `most_bytes` limits its size.

        Raises Refused for what is no file, FileNotFoundError and other OSErrors: EFBIG for a file that is larger.
        """
        first, _, rest = name.partition("/")
        if rest:
            with type(self)(self.path / first, self._folder(first)) as below:
                return below.read(rest, most_bytes)
        with self._opened(name) as file:
            return read_at_most(file, most_bytes, self.path / name)

    def checksum(self, name: str) -> str:
        """SHA-256 of a file, as :func:`mileage.store.seal.checksum`, in little memory. Raises as :meth:`read`."""
        first, _, rest = name.partition("/")
        if rest:
            with type(self)(self.path / first, self._folder(first)) as below:
                return below.checksum(rest)
        with self._opened(name) as file:
            digest = hashlib.sha256()
            while part := file.read(1 << 20):
                digest.update(part)
            return digest.hexdigest()

    def has(self, name: str) -> bool:
        """Whether the folder has a file of that name."""
        try:
            return stat.S_ISREG(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False

    def names(self) -> list[str]:
        """Names of the entries of the folder, sorted."""
        return sorted(os.listdir(self.descriptor))

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it is there. Raises OSError for a folder that is not empty."""
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=self.descriptor)
