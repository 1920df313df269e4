"""Work files: files and devices that a user named, on which I/O is done.

Scope: one is written if it does not exist, is an empty regular file, was made by Mileage and not changed since
(`marks`), or is named by `--destroy`. A block device always needs `--destroy`. Reading asks for nothing, and never
makes, extends or removes a file.
What it refuses: what is mounted, swap, held or backs a loop device, with or without `--destroy`; symbolic links,
special files, other names of a file (hard links), and new names in a directory of devices.

Invariant: what was checked is what is used. A path is checked once (`Door.work`), which costs some milliseconds for a
file that exists; opening it afterwards compares the identity of the descriptor that is then used.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mileage import _core
from mileage.errors import Refused, RunFailed
from mileage.targets.door.directories import refuse_device_directory
from mileage.targets.door.marks import WORK, forget_mark, ledger_folder, read_mark, write_mark

if TYPE_CHECKING:
    from mileage.targets.door.directories import NameDirectory


_PATH_ONLY: Final = os.O_PATH | os.O_CLOEXEC
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITES: Final = os.O_WRONLY | os.O_RDWR
_MARK_WAIT_S: Final = 2.0
"""How long a rank waits for the mark of a file that another rank has just made."""
_NO_ATTRIBUTE_SPACE: Final = (errno.EINVAL, errno.EOPNOTSUPP)

_CLOCK_TICK_NS: Final = 20_000_000
"""How far the time of birth, which is that of the last tick, may be behind the clock."""

Identity = tuple[int, int, int]
"""Device, inode and time of birth in nanoseconds (0 where the file system does not record it)."""


class Door:
    """The door of one command. `where` begins its refusals, `destroy` are the paths whose content was given up."""

    def __init__(self, where: str, destroy: Iterable[str] = ()) -> None:
        self.where = where
        self.token = int.from_bytes(os.urandom(8), "little") | 1
        self.began_ns = time.time_ns() - _CLOCK_TICK_NS
        self._destroy = {os.path.abspath(path) for path in destroy}
        self._folders: dict[str, int] = {}
        self._work: dict[str, WorkPath] = {}
        self._names: list[NameDirectory] = []
        self._held: int | None = None
        self._passing: list[tuple[str, str]] = []
        self._list: OpenList | None = None
        remove_leftovers()

    def work(self, path: str, *, writes: bool, removes: bool = False) -> WorkPath:
        """Check a path on which I/O is to be done; once for each path and use. Raises Refused."""
        known = self._work.get(path)
        if known is not None:
            writes, removes = writes or known.writes, removes or known.removes
        if known is None or (writes, removes) != (known.writes, known.removes):
            known = self._work[path] = self._checked(path, writes=writes, removes=removes)
        return known

    def allows(self, path: str) -> bool:
        """Whether `--destroy` names this path."""
        return os.path.abspath(path) in self._destroy

    def names(self, base: str, name: str, names: str, *, makes: bool, changes: bool) -> NameDirectory:
        """Open the directory `name` in `base`, in which the tool has names of its own. Raises Refused and OSError."""
        from mileage.targets.door.directories import name_directory

        path = os.path.join(base, name)
        folder = self.folder_of(path)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), base)
        about = self._about(path)
        found = name_directory(about, folder, name, names, self.token, makes=makes, changes=changes)
        self._names.append(found)
        return found

    def passing(self, path: str, kind: str = "file") -> None:
        """Note what the command removes at its end; `kind`: "file", "empty" or the names in a directory.

        `list_passing` then lists it for the next command, if this one is killed.
        """
        self._passing.append((os.path.abspath(path), kind))

    def list_passing(self) -> None:
        """Write down what was noted, before anything of it is made."""
        if self._passing:
            self._list = OpenList(self.token, self.began_ns, self._passing)

    def seal(self) -> None:
        """Mark what was made and is there as closed: a later command may write it again while nothing changes it."""
        for work in self._work.values():
            work.seal()

    def remove_made(self) -> None:
        """Remove the files that this command made, after it has failed."""
        for work in self._work.values():
            work.remove_made()

    def hold(self, descriptor: int | None) -> None:
        """Keep this open in place of what was held: no other file gets its inode while the engine opens it."""
        if self._held is not None:
            os.close(self._held)
        self._held = descriptor

    def close(self) -> None:
        """Seal, and close the directories."""
        self.hold(None)
        if self._list is not None:
            remove_passing(self.token, self.began_ns, self._passing)
            self._list.close()
        remove_leftovers()
        self.seal()
        self.release()

    def release(self) -> None:
        """Close the directories, so that their file system can be unmounted; they are opened again when needed."""
        while self._folders:
            os.close(self._folders.popitem()[1])

    def folder_of(self, path: str) -> int | None:
        """The directory of a path, open; None where there is none."""
        name = os.path.dirname(path) or "."
        if name not in self._folders:
            try:
                self._folders[name] = os.open(name, _PATH_ONLY | os.O_DIRECTORY)
            except OSError:
                return None
        return self._folders[name]

    def _checked(self, path: str, *, writes: bool, removes: bool) -> WorkPath:
        folder = self.folder_of(path)
        found = WorkPath(self, path, writes=writes, removes=removes)
        if folder is None:
            return found
        try:
            descriptor = os.open(found.name, _PATH_ONLY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                    self._refuse_link(found)
                    link, descriptor = descriptor, os.open(found.name, _PATH_ONLY, dir_fd=folder)
                    os.close(link)
                self._check(found, descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            if writes:
                refuse_device_directory(self._about(path), folder)
        except OSError as error:
            about = self._about(path)
            raise Refused(about, f"cannot be looked at: {error.strerror}", code="unreadable") from error
        return found

    def _refuse_link(self, work: WorkPath) -> None:
        """Refuse a symbolic link, unless to a device or to what is only read. Raises Refused."""
        if (work.writes or work.removes) and not stat.S_ISBLK(_mode_of(work.path)):
            raise Refused(
                self._about(work.path),
                f"a symbolic link to {os.path.realpath(work.path)}",
                advice="name that file itself",
                code="wrong-kind",
            )
        work.follows = True

    def _check(self, work: WorkPath, descriptor: int) -> None:
        """Refuse to use what is open (O_PATH), by its kind and content. Raises Refused."""
        work.take(descriptor)
        about, status = self._about(work.path), os.fstat(descriptor)
        if not (work.is_device or stat.S_ISREG(status.st_mode)):
            from mileage.targets.guard import kind_of

            raise Refused(about, f"{kind_of(status.st_mode)}, not a file or block device", code="wrong-kind")
        if not (work.writes or work.removes):
            return
        if work.is_device:
            self._refuse_device(work)
            return
        from pathlib import Path

        from mileage.targets.file import is_of_mileage, refuse_file

        work.is_own = status.st_size == 0 or is_of_mileage(descriptor)
        refuse_file(about, Path(work.path), descriptor, is_given_up=self.allows(work.path) or work.is_own)

    def _refuse_device(self, work: WorkPath) -> None:
        from pathlib import Path

        from mileage.targets.guard import block_device_refusal

        about, path = self._about(work.path), work.path
        if work.removes:
            advice = "ask for it to be kept at the end"
            raise Refused(
                about, "a block device, whose node is never removed", advice=advice, code="wrong-kind"
            )
        if refusal := block_device_refusal(about, Path(path)):
            raise refusal
        if not self.allows(path):
            raise Refused(
                about,
                "a block device, whose content would be lost",
                advice=f"to allow that add --destroy {path}",
                code="needs-destroy",
            )

    def _about(self, path: str) -> str:
        return f"{self.where}: {path}"


class WorkPath:
    """A checked path, and what was there: nothing (`identity` is None), a regular file, or a block device."""

    def __init__(self, door: Door, path: str, *, writes: bool, removes: bool) -> None:
        self.door, self.path = door, path
        self.name = os.path.basename(path)
        self.writes, self.removes = writes, removes
        self.identity: Identity | None = None
        self.is_device = self.follows = False
        self.is_own = True
        """Whether Mileage made all that it holds."""
        self.was_free = self.made_here = True
        """Whether the name was free when the command began; whether it is, or a file of this command has it."""
        self._is_marked = False

    @property
    def folder(self) -> int | None:
        """Its directory, open; None while there is none."""
        return self.door.folder_of(self.path)

    @property
    def engine_path(self) -> str:
        """The path for the engine, which follows no link to what it knows."""
        return os.path.realpath(self.path) if self.follows else self.path

    def take(self, descriptor: int) -> None:
        """Note what is there."""
        self.is_device = stat.S_ISBLK(os.fstat(descriptor).st_mode)
        self.identity = identity_of(descriptor)
        self.is_own = self.was_free = self.made_here = False

    def open(self, flags: int, mode: int = 0o666, *, claims: bool = False) -> int:
        """Return a descriptor of what was checked, or of what this command made; `flags` are those of the system call.

        `claims`: a device that is written is held exclusively. Raises OSError as open(2), RunFailed for another file.
        """
        if self.folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        writes = bool(flags & _WRITES)
        if writes and not self.writes:
            raise RuntimeError(f"{self.path} was checked for reading")
        if flags & os.O_CREAT and (self.identity is None or self.removes):
            try:
                return self._made(flags, mode)
            except FileExistsError:
                pass
        kept = flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC) | os.O_CLOEXEC
        kept |= 0 if self.follows else os.O_NOFOLLOW
        descriptor = os.open(
            self.name, kept | (os.O_EXCL if claims and self.is_device and writes else 0), dir_fd=self.folder
        )
        try:
            self._compare(descriptor, writes=writes)
            if writes and flags & os.O_TRUNC and not self.is_device:
                os.ftruncate(descriptor, 0)
                self.is_own = True
            if writes and self.is_own and not self._is_marked and not self.is_device:
                self._mark(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _made(self, flags: int, mode: int) -> int:
        """Make the file. Raises FileExistsError."""
        new = flags & ~os.O_TRUNC | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.name, new, mode, dir_fd=self.folder)
        self.identity = identity_of(descriptor)
        self._mark(descriptor)
        return descriptor

    def _mark(self, descriptor: int) -> None:
        write_mark(descriptor, WORK, self.door.token)
        self._is_marked = True

    def _compare(self, descriptor: int, *, writes: bool) -> None:
        """Refuse another file than the one that was checked, or than one that this command made. Raises RunFailed."""
        found = identity_of(descriptor)
        if found == self.identity:
            return
        if (self.made_here and not writes) or self._is_of_this_command(descriptor):
            # Another rank has made it, or made it again after removing it.
            self.identity, self._is_marked, self.is_own = found, True, True
            return
        raise _replaced(self.door.where, self.path)

    def _is_of_this_command(self, descriptor: int) -> bool:
        until_s = time.monotonic() + _MARK_WAIT_S
        while time.monotonic() < until_s:
            # The size first: this command marks a file before it writes to it.
            size, mark = os.fstat(descriptor).st_size, read_mark(descriptor)
            if mark is not None or size:
                return mark is not None and mark.token == self.door.token
            time.sleep(0.001)
        return False

    def remove(self) -> None:
        """Remove the file if it is the one that was checked, or that this command made. Raises OSError, RunFailed."""
        if not self.removes:
            raise RuntimeError(f"{self.path} was not checked for removal")
        if self.folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        descriptor = os.open(self.name, _LOOK, dir_fd=self.folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _replaced(self.door.where, self.path)
            self._compare(descriptor, writes=True)
            forget_mark(descriptor)
            os.unlink(self.name, dir_fd=self.folder)
        finally:
            os.close(descriptor)
        # From here on it is a name of this command's.
        self.identity, self.made_here, self.is_own, self._is_marked = None, True, True, False

    def remove_made(self) -> None:
        """Remove the file if this command, or a rank of it, made it."""
        if self.folder is None or self.is_device or not (self.was_free or self.removes):
            return
        try:
            descriptor = os.open(self.name, _LOOK, dir_fd=self.folder)
        except OSError:
            return
        try:
            mark = read_mark(descriptor)
            if mark is not None and mark.token == self.door.token:
                forget_mark(descriptor)
                os.unlink(self.name, dir_fd=self.folder)
        finally:
            os.close(descriptor)

    def adopt(self) -> None:
        """Mark what the engine has made under the name since the command began, or has written there anew."""
        if self.folder is None:
            return
        try:
            descriptor = os.open(self.name, _LOOK, dir_fd=self.folder)
        except OSError:
            return
        try:
            found, status = identity_of(descriptor), os.fstat(descriptor)
            is_new = found[2] >= self.door.began_ns and status.st_uid == os.geteuid()
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and (is_new or found == self.identity):
                self.identity, self.is_own = found, True
                self._mark(descriptor)
        finally:
            os.close(descriptor)

    def exists(self) -> bool:
        """Whether there is a file under the name."""
        return self.folder is not None and os.access(self.name, os.F_OK, dir_fd=self.folder)

    def resize(self, length: int, *, allocate: bool = False) -> None:
        """Give the file this length, with its blocks where it is asked for and can be. Raises OSError, RunFailed."""
        descriptor = self.open(os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if allocate:
                try:
                    os.posix_fallocate(descriptor, 0, length)
                    return
                except OSError as error:
                    if error.errno not in _NO_ATTRIBUTE_SPACE:
                        raise
            os.ftruncate(descriptor, length)
        finally:
            os.close(descriptor)

    def engine_options(self, *, writes: bool) -> dict[str, Any]:
        """Options of the engine by which it opens this file or device and no other; a file to be written is made.

        Raises OSError and RunFailed.
        """
        from mileage.targets.file_identity import FileIdentity

        # Opening a device for writing would have the system look at it again when it is closed.
        makes = writes and not self.is_device
        descriptor = self.open(os.O_RDWR | os.O_CREAT if makes else os.O_RDONLY, 0o644)
        self.door.hold(descriptor)
        return {"expects": [FileIdentity.of(descriptor).to_json()]}

    def seal(self) -> None:
        """Mark the file as closed if this command had it in work."""
        if self.folder is None or self.is_device or not self.writes:
            return
        try:
            descriptor = os.open(self.name, _LOOK, dir_fd=self.folder)
        except OSError:
            return
        try:
            mark = read_mark(descriptor)
            if mark is not None and mark.token == self.door.token:
                write_mark(descriptor, WORK)
        finally:
            os.close(descriptor)


def identity_of(descriptor: int) -> Identity:
    """Identity of what is open: of a block device its number, as its node may be made again.

    A later file that has got the inode of a removed one has another time of birth.
    """
    status = os.fstat(descriptor)
    if stat.S_ISBLK(status.st_mode):
        return status.st_rdev, 0, 0
    return status.st_dev, status.st_ino, _core.birth_time_ns(descriptor) or 0


def _mode_of(path: str) -> int:
    """Kind and permissions of what a path leads to; 0 for nothing."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _replaced(where: str, path: str) -> RunFailed:
    return RunFailed(
        f"{where}: {path} was replaced: what is there now is not what was checked, and it is not used",
        cause="replaced",
    )


# Lists of what commands will remove at their end, by which the next command removes what a killed one left.
# Scope: one file for each command that has such files, in the folder of the ledgers, locked as long as one of its
# processes lives, and removed at its end. An entry is a file, a directory of names with their pattern, or one that is
# removed if it is empty.
# What it refuses: to remove what is not marked as in work by that command, but for an empty file or directory that is
# younger than the command (it was killed between making and marking it), and lists that other users may have written.

_END: Final = ".open.json"
_OF_STUDIES: Final = ".mileage-"
_BYTES_MAX: Final = 16 << 20
_LOOK_PATH: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenList:
    """The list of one command; nothing is kept where no file can be made."""

    def __init__(self, token: int, began_ns: int, entries: Sequence[tuple[str, str]]) -> None:
        """`entries`: absolute paths, each with "file", "empty" or the pattern of the names in a directory."""
        self._path = ledger_folder() / "files" / f"{token:016x}{_END}"
        self._descriptor: int | None = None
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _LOOK_PATH
            self._descriptor = os.open(self._path, flags, 0o600)
            # Processes that are forked from this one hold the lock too.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            os.write(
                self._descriptor,
                json.dumps({"token": token, "began_ns": began_ns, "entries": entries}).encode(),
            )

    def close(self) -> None:
        """The command has removed what it had to."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def remove_leftovers(folder: Path | None = None) -> None:
    """Remove what the lists of dead commands name."""
    try:
        lists = sorted((folder or ledger_folder()).glob(f"files/*{_END}"))
    except OSError:
        return
    for path in lists:
        with suppress(OSError, ValueError, TypeError, KeyError):
            descriptor = os.open(path, os.O_RDWR | _LOOK_PATH)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_trusted(descriptor):
                    found = json.loads(os.pread(descriptor, _BYTES_MAX, 0) or b"{}")
                    began_ns = int(found.get("began_ns", 0))
                    if not remove_passing(int(found.get("token", 0)), began_ns, found.get("entries", ())):
                        path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _is_trusted(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and status.st_size <= _BYTES_MAX


def remove_passing(token: int, began_ns: int, entries: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Remove what is left of the entries of a command, by its marks; those that must be tried again."""
    later: list[tuple[str, str]] = []
    for path, kind in entries:
        with suppress(OSError):
            if kind == "empty":
                # A study that was killed in it has files there, which the next study removes.
                if all(name.startswith(_OF_STUDIES) for name in os.listdir(path)):
                    later.append((path, kind))
                os.rmdir(path)
                later.pop()
            elif kind == "file":
                _remove_file(path, token, began_ns)
            else:
                _remove_names(path, kind, token, began_ns)
    return later


def _remove_file(path: str, token: int, began_ns: int) -> None:
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = os.open(os.path.basename(path), os.O_RDONLY | _LOOK_PATH, dir_fd=folder)
        try:
            mark, status = read_mark(descriptor), os.fstat(descriptor)
            is_new = not status.st_size and began_ns <= (_core.birth_time_ns(descriptor) or 0)
            if mark.token == token if mark is not None else is_new and stat.S_ISREG(status.st_mode):
                forget_mark(descriptor)
                os.unlink(os.path.basename(path), dir_fd=folder)
        finally:
            os.close(descriptor)
    finally:
        os.close(folder)


def _remove_names(path: str, pattern: str, token: int, began_ns: int) -> None:
    from mileage.targets.door.directories import NameDirectory

    base = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = os.path.basename(path)
        folder = NameDirectory(os.open(name, _DIRECTORY, dir_fd=base), base, name, pattern)
        mark = read_mark(folder.descriptor)
        if mark is not None and mark.token == token:
            folder.remove()
        if (
            mark.token == token
            if mark is not None
            else began_ns <= (_core.birth_time_ns(folder.descriptor) or 0)
        ):
            folder.remove_if_empty()
        folder.close()
    finally:
        os.close(base)
