"""Directories in which a tool makes and removes many names of its own.

Scope: a directory that is made here, or one that an earlier command made so: marked, and with nothing below it that is
younger than the mark or has a name that the tool does not give. Names are made and removed relative to its descriptor.
What it refuses: any other directory that is there already, and one in a directory of devices.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import Final

from mileage.errors import Refused
from mileage.targets.door.marks import Mark, read_mark, write_mark

_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROLE: Final = "names"


class NameDirectory:
    """An open directory of a command's names; `names` are those that the tool gives."""

    def __init__(self, descriptor: int, base: int, name: str, names: str) -> None:
        self.descriptor = descriptor
        self._base, self._name, self._names = base, name, re.compile(names)

    def close(self) -> None:
        """Close it."""
        os.close(self.descriptor)

    def seal(self) -> None:
        """Mark it as closed, when all names are made: what is younger is somebody else's."""
        mark = read_mark(self.descriptor)
        if mark is not None and mark.role == _ROLE:
            write_mark(self.descriptor, _ROLE)

    def remove_if_empty(self) -> None:
        """Remove it if nothing is in it."""
        with suppress(OSError):
            os.rmdir(self._name, dir_fd=self._base)

    def remove(self) -> None:
        """Remove what is left of the tool's names below it; others stay, and so do their directories."""
        self._empty(self.descriptor)

    def _empty(self, folder: int) -> None:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in found:
            if self._names.fullmatch(name) is None:
                continue
            with suppress(OSError):
                if not is_directory:
                    os.unlink(name, dir_fd=folder)
                    continue
                inner = os.open(name, _OPEN, dir_fd=folder)
                try:
                    self._empty(inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=folder)


def make_directory(
    where: str, path: str | os.PathLike[str], *, parents: bool = False, mode: int = 0o775
) -> bool:
    """Make a directory, and with `parents` those above; whether it was not there. Raises Refused and OSError."""
    path = os.fspath(path)
    above = os.path.dirname(path.rstrip("/")) or "."
    if parents and not os.path.isdir(above):
        make_directory(where, above, parents=True)
    base = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        refuse_device_directory(f"{where}: {path}", base)
        os.mkdir(os.path.basename(path.rstrip("/")), mode, dir_fd=base)
        return True
    except FileExistsError:
        return False
    finally:
        os.close(base)


def check_directory(where: str, path: str) -> None:
    """Refuse a path that is no directory and cannot become one: what is there, and names in that of devices.

    Raises Refused.
    """
    about, base = f"{where}: {path}", path.rstrip("/") or "/"
    while not os.path.isdir(base):
        if os.path.lexists(base):
            from mileage.targets.guard import kind_of

            kind = kind_of(os.lstat(base).st_mode)
            raise Refused(about, f"{base} is {kind}, not a directory", code="wrong-kind")
        base = os.path.dirname(base) or "."
    if base.rstrip("/") != path.rstrip("/"):
        folder = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            refuse_device_directory(about, folder)
        finally:
            os.close(folder)


def remove_empty_directory(path: str) -> None:
    """Remove a directory that the command made, if nothing is in it."""
    with suppress(OSError):
        os.rmdir(path)


def name_directory(
    where: str, base: int, name: str, names: str, token: int, *, makes: bool, changes: bool
) -> NameDirectory:
    """Open a directory below an open one, and make it if it is not there. Raises Refused and OSError.

    `where` begins a refusal, `names` is the pattern of those that the tool gives, `token` that of the command
    (`Door.token`). `makes`: whether it may be made; `changes`: whether names in it are made, renamed or removed.
    """
    made = False
    if makes:
        refuse_device_directory(where, base)
        with suppress(FileExistsError):
            os.mkdir(name, 0o775, dir_fd=base)
            made = True
    try:
        descriptor = os.open(name, _OPEN, dir_fd=base)
    except NotADirectoryError as error:
        raise _refused(where, "is there already, and no directory") from error
    found = NameDirectory(descriptor, base, name, names)
    try:
        mark = read_mark(descriptor)
        if changes and not made and (mark is None or mark.token != token):
            if mark is None or mark.role != _ROLE:
                raise _refused(where, "is there already, and not a directory of an earlier call")
            if stranger := _stranger(descriptor, re.compile(names), mark):
                raise _refused(where, f"has {stranger}, which is not of an earlier call, or changed since")
        if changes and (mark is None or mark.token != token):
            write_mark(descriptor, _ROLE, token)
    except BaseException:
        os.close(descriptor)
        raise
    return found


def _refused(where: str, text: str) -> Refused:
    return Refused(where, text, advice="name another directory, or remove it", code="exists")


def _stranger(folder: int, names: re.Pattern[str], mark: Mark, path: str = "") -> str:
    """The first name below a directory that the tool does not give, or that is younger than the mark; empty for none.

    A mark with a token is that of a killed command, which has marked the directory before it made names.
    """
    for name in sorted(os.listdir(folder)):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        is_directory = stat.S_ISDIR(status.st_mode)
        is_changed = not mark.token and status.st_ctime_ns > mark.marked_ns
        if names.fullmatch(name) is None or is_changed or not (is_directory or stat.S_ISREG(status.st_mode)):
            return path + name
        if is_directory:
            inner = os.open(name, _OPEN, dir_fd=folder)
            try:
                if found := _stranger(inner, names, mark, f"{path}{name}/"):
                    return found
            finally:
                os.close(inner)
    return ""


# The directory of devices, in which no file is made: a mistyped name of a device would become one.


def refuse_device_directory(about: str, folder: int) -> None:
    """Refuse a new name in the directory of devices: a mistyped device would become a file. Raises Refused."""
    place = os.readlink(f"/proc/self/fd/{folder}")
    try:
        is_devices = place == "/dev" or (
            place.startswith("/dev/") and os.fstat(folder).st_dev == os.stat("/dev").st_dev
        )
    except OSError:
        is_devices = False
    if is_devices:
        raise Refused(
            about, "no such device", advice="no file is made in a directory of devices", code="unwritable"
        )
