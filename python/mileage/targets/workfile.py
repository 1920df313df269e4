"""The one file that a study fills and measures.

Scope: a file of a given size with its blocks allocated, locked against a second study, and tied to
the directory it was opened in, so that an unmounted or replaced directory is noticed and not written to.
What it refuses: following symbolic links, files of other users, sparse files, a size that does not fit, and a
file that another Mileage has locked.

Invariant: it writes to and removes only a file that it made, or one that the user allowed it to take over.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from mileage.errors import Refused, RunFailed
from mileage.file_lock import take_lock
from mileage.targets.file_identity import FileIdentity, replaced
from mileage.targets.guard import kind_of
from mileage.targets.room import refuse_without_room

Origin = Literal["made", "taken"]
"""Whether Mileage made the file, or took over one that was there (emptied, not removed, at the end)."""


_MARK = "user.mileage.work"
_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class WorkFile:
    """A work file; `text` is the target in the user's words, used in messages."""

    def __init__(self, text: str, path: Path, *, plan_hash: str, origin: Origin = "made") -> None:
        self.path = path
        self._text = text
        self._plan_hash = plan_hash
        self._origin: Origin = origin
        self._descriptor: int | None = None
        self._size_bytes = 0
        self._ours = origin == "made" or read_mark(path, plan_hash) == "taken"
        self.parent_identity = FileIdentity.of_status(path.parent.stat())
        """Expected identity of the file's directory."""

    @property
    def identity(self) -> FileIdentity:
        """Identity of the file that was claimed or made; it stays open, so that no other file gets its inode."""
        return FileIdentity.of(self._open_descriptor())

    @property
    def allocated_bytes(self) -> int:
        """Bytes of storage that the file occupies now; 0 when it does not exist."""
        try:
            return self.path.lstat().st_blocks * 512
        except OSError:
            return 0

    @property
    def is_claimed(self) -> bool:
        """Whether the file is open and locked, and its directory is unchanged."""
        if self._descriptor is None:
            return False
        try:
            self.check_place()
        except RunFailed:
            return False
        return True

    def claim(self, own: FileIdentity | None = None) -> None:
        """Lock the file that is already there; `own`: what it must be.

        Raises Refused when it is locked, foreign, or not a file, RunFailed when it is another one.
        """
        try:
            with self._folder() as folder:
                # By name in the compared directory: the full path could lead elsewhere by now.
                descriptor = os.open(self.path.name, _OPEN, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Refused(
                    self._text,
                    f"cannot open {self.path} for writing: it is a symbolic link",
                    advice="remove it",
                    code="wrong-kind",
                ) from error
            raise Refused(
                self._text, f"cannot open {self.path} for writing: {error.strerror}", code="unwritable"
            ) from error
        try:
            if own is not None and FileIdentity.of(descriptor) != own:
                raise replaced(self._text, self.path)
            self._check_ours(os.fstat(descriptor))
            self._lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self.close()
        self._descriptor = descriptor

    def prepare(self, work_bytes: int) -> str:
        """Make the file `work_bytes` long with all blocks allocated; keep it when it already is.

        Says in words what was done.
        """
        if work_bytes <= 0:
            raise Refused(
                self._text,
                f"a work file of {work_bytes} bytes makes no sense",
                expected="more than 0",
                code="out-of-range",
            )
        self.check_place()
        refuse_without_room(
            self._text,
            self.path.parent,
            needed_bytes=work_bytes,
            needed_files=0 if os.path.lexists(self.path) else 1,
            held_bytes=self.allocated_bytes,
        )
        if self._descriptor is None and os.path.lexists(self.path):
            self.claim()
        if self.is_whole(work_bytes):
            self._size_bytes = work_bytes
            return f"kept the work file {self.path} of {work_bytes} bytes"
        self._size_bytes = work_bytes
        self._renew()
        return f"allocated the work file {self.path} with {work_bytes} bytes"

    def is_whole(self, work_bytes: int) -> bool:
        """Whether the path is a complete work file of this size that this plan made.

        `prepare` then keeps it and its content.

        It may have holes: those that a run of the plan discarded, or that a compressing file system shows.
        """
        if self._descriptor is None or not self._ours:
            return False
        status = os.fstat(self._descriptor)
        # A removed file has no name any more, although its open descriptor still shows the right size.
        return status.st_nlink > 0 and status.st_size == work_bytes

    def renew(self) -> None:
        """Give the file fresh blocks: removed and made again, or emptied in place when it was taken over."""
        if self._size_bytes == 0:
            raise RuntimeError("prepare must come before purge")
        self.check_place()
        self._renew()

    def check_place(self) -> None:
        """Raise RunFailed when the directory is not the one that was opened, or its file not the one that is open."""
        with self._folder() as folder:
            if self._descriptor is not None:
                self._is_named(folder)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The directory, open and compared: names are looked up in it, whatever its path means meanwhile."""
        try:
            descriptor = os.open(self.path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed("the directory of the work file cannot be reached", error) from error
        try:
            if FileIdentity.of(descriptor) != self.parent_identity:
                raise RunFailed(
                    f"{self._text}: {self.path.parent} is no longer the directory that was opened; it was "
                    "unmounted, mounted over or replaced. Nothing more is written there",
                    cause="vanished",
                )
            yield descriptor
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Unlock the file and leave it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def discard(self) -> None:
        """Remove the file if Mileage made it, empty it if it was taken over; silent when it was removed already.

        Raises RunFailed when another file or directory has taken its place: what Mileage made lies elsewhere then.

        Does nothing to a file that was never prepared or claimed; a file to be taken over that was not
        prepared keeps its content.
        """
        if self._descriptor is None or not self._ours:
            self.close()
            return
        try:
            if self._origin == "made":
                self._unlink_own()
            else:
                os.ftruncate(self._descriptor, 0)
                self._unmark()
                self.check_place()
        except RunFailed as error:
            # A directory that was removed took the work file with it, so nothing is left behind.
            if error.cause != "vanished" or self.path.parent.exists():
                raise
        except OSError as error:
            raise self._failed(f"cannot remove {self.path}", error) from error
        finally:
            self.close()

    def _renew(self) -> None:
        try:
            if self._descriptor is not None and self._origin == "taken":
                os.ftruncate(self._descriptor, 0)
            else:
                if self._descriptor is not None:
                    self._unlink_own()
                    self.close()
                self._create()
            self._allocate()
        except OSError as error:
            failure = self._failed(f"cannot allocate {self._size_bytes} bytes in {self.path}", error)
            self._give_back()
            raise failure from error

    def _create(self) -> None:
        with self._folder() as folder:
            self._descriptor = os.open(self.path.name, _OPEN | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        # O_EXCL made the file ours; the lock shows other processes that this one is alive.
        self._lock(self._descriptor)

    def _allocate(self) -> None:
        descriptor = self._open_descriptor()
        self._ours = True
        # Mark before allocating: a process killed in between must leave a file that the next one recognises.
        self._mark()
        # Allocate all blocks now: otherwise the first writes would be measured with the allocation, and the disk could
        # fill up.
        os.posix_fallocate(descriptor, 0, self._size_bytes)
        os.fsync(descriptor)

    def _give_back(self) -> None:
        """After a failed allocation: leave no half-filled file behind."""
        try:
            self.discard()
        except RunFailed:
            self.close()

    def _unlink_own(self) -> None:
        """Remove the path, provided it still is the file that is open."""
        with self._folder() as folder:
            if self._is_named(folder):
                os.unlink(self.path.name, dir_fd=folder)

    def _is_named(self, folder: int) -> bool:
        """Whether the name still refers to the open file. Raises RunFailed when it means another one."""
        try:
            named = os.stat(self.path.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if FileIdentity.of_status(named) != self.identity:
            raise replaced(self._text, self.path)
        return True

    def _check_ours(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise Refused(
                self._text,
                f"{self.path} is {kind_of(status.st_mode)}, not a work file of Mileage",
                code="wrong-kind",
            )
        if self._origin == "made" and status.st_uid != os.geteuid():
            raise Refused(
                self._text,
                f"{self.path} belongs to another user",
                advice="remove it or choose another place",
                code="exists",
            )
        if self._origin == "made" and status.st_nlink != 1:
            raise Refused(
                self._text, f"{self.path} has other names (hard links)", advice="remove it", code="wrong-kind"
            )

    def _lock(self, descriptor: int) -> None:
        if not take_lock(descriptor):
            raise Refused(
                self._text, f"{self.path} is in use by another study that is running", code="in-use"
            )

    def _mark(self) -> None:
        """Remember on the file whose it is, where the file system keeps such things."""
        try:
            os.setxattr(self._open_descriptor(), _MARK, f"{self._origin} {self._plan_hash}".encode())
        except OSError:
            return

    def _unmark(self) -> None:
        try:
            os.removexattr(self._open_descriptor(), _MARK)
        except OSError:
            return

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise RuntimeError("the work file is not open")
        return self._descriptor

    def _failed(self, what: str, error: OSError) -> RunFailed:
        failure = RunFailed.from_os_error(f"{self._text}: {what}", error)
        if error.errno in _VANISHED:
            failure.cause = "vanished"
        return failure


def is_work_file(path: Path) -> bool:
    """Whether a file has the mark of an unfinished study, whose content it holds."""
    try:
        return bool(os.getxattr(path, _MARK, follow_symlinks=False))
    except OSError:
        return False


def read_mark(path: Path, plan_hash: str) -> Origin | None:
    """Origin of the file at `path` if the same plan left it there; None otherwise."""
    try:
        mark = os.getxattr(path, _MARK, follow_symlinks=False).decode(errors="replace")
    except OSError:
        return None
    word, _, owner = mark.partition(" ")
    if owner != plan_hash:
        return None
    return "made" if word == "made" else "taken" if word == "taken" else None
