"""Result files: reports, logs, pictures, saved states, and whatever else is written where a user says.

Scope: a result is a new file, or takes the place of one of the same kind that Mileage wrote (known by its mark, or by
how every result of the kind begins), as a whole: the old one is there until the new one is complete.
What it refuses: any other file with content, devices, special files, symbolic links and hard links, and new names in a
directory of devices. `/dev/null`, `/dev/stdout` and `/dev/stderr` keep nothing and may be named.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from mileage.errors import Refused, RunFailed
from mileage.targets.door.directories import refuse_device_directory
from mileage.targets.door.marks import read_mark, write_mark

_PATH_ONLY: Final = os.O_PATH | os.O_CLOEXEC
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME_MAX: Final = 50
"""Characters of a name in that of its part, which has 255 bytes at most."""
_STREAMS: Final = {"/dev/null": None, "/dev/stdout": 1, "/dev/stderr": 2}
"""Where results may go too, as nothing is kept there. Streams by descriptor: their path would cut a file off."""


def check_result(where: str, path: str | Path, kind: str, head: bytes = b"") -> None:
    """Refuse a place for a result, before any work is done. Raises Refused.

    `kind`: of the result, one word. `head`: with what every result of the kind begins; empty where that is not known.
    """
    name = os.fspath(path)
    if name in _STREAMS:
        return
    about = f"{where}: {name}"
    folder = _folder_of_result(where, name)
    try:
        _refuse_result(about, os.path.basename(name), folder, kind, head)
        # Where no file can be made (read-only, full, /proc) is known before the work, not after it.
        descriptor, part = _new_part(about, os.path.basename(name), folder)
        os.close(descriptor)
        os.unlink(part, dir_fd=folder)
    finally:
        os.close(folder)


class ResultPlace(NamedTuple):
    """Where a user wants a result: an option, a path, and the kind of the result, one word."""

    option: str
    path: Path
    kind: str

    def check(self) -> None:
        """As :func:`check_result`."""
        check_result(self.option, self.path, self.kind)

    def write(self, content: bytes | str) -> None:
        """As :func:`write_result`."""
        write_result(self.option, self.path, self.kind, content)


@contextmanager
def result_file(
    where: str, path: str | Path, kind: str, head: bytes = b"", *, text: bool = False, at_once: bool = False
) -> Iterator[IO[Any]]:
    """A file to be written, which takes its place as a whole when the block has ended, and never when it has failed.

    `where`, `kind`, `head`: as of :func:`check_result`. `at_once`: it takes its place before it is written, for those
    who read along. Raises Refused, and RunFailed when it cannot be written.
    """
    name = os.fspath(path)
    how: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
    if name in _STREAMS:
        number = _STREAMS[name]
        with open(os.devnull if number is None else os.dup(number), **how) as stream:
            yield stream
        return
    about = f"{where}: {name}"
    folder = _folder_of_result(where, name)
    try:
        mode = _refuse_result(about, os.path.basename(name), folder, kind, head)
        descriptor, part = _new_part(about, os.path.basename(name), folder)
        try:
            with open(descriptor, **how) as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                if at_once:
                    write_mark(file.fileno(), kind, 1)
                    os.rename(part, os.path.basename(name), src_dir_fd=folder, dst_dir_fd=folder)
                yield file
                file.flush()
                write_mark(file.fileno(), kind)
                if not at_once:
                    # Once more, right before the exchange: another file may have been put there meanwhile.
                    _refuse_result(about, os.path.basename(name), folder, kind, head)
                    os.rename(part, os.path.basename(name), src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise RunFailed.from_os_error(about, error) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
    finally:
        os.close(folder)


def write_result(where: str, path: str | Path, kind: str, content: bytes | str, head: bytes = b"") -> None:
    """Write a whole result; as :func:`result_file`."""
    with result_file(where, path, kind, head) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def appended_result(where: str, path: str | Path, kind: str) -> Iterator[IO[str]]:
    """A text result to which lines are added: a new file, or one of the same kind. Raises Refused, RunFailed."""
    about, name = f"{where}: {os.fspath(path)}", os.path.basename(os.fspath(path))
    folder = _folder_of_result(where, os.fspath(path))
    try:
        _refuse_result(about, name, folder, kind, b"")
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(name, flags, 0o666, dir_fd=folder), "a", encoding="utf-8") as file:
            yield file
            file.flush()
            write_mark(file.fileno(), kind)
    except OSError as error:
        raise RunFailed.from_os_error(about, error) from error
    finally:
        os.close(folder)


def refuse_taken(where: str, path: str | Path, what: str) -> None:
    """Refuse a place where something is already, or can never be. `what`: what is to be made there. Raises Refused."""
    refuse_folder(where, path)
    if os.path.lexists(path):
        raise Refused(
            f"{where}: {os.fspath(path)}",
            f"is there already; {what} is made anew",
            advice="choose another place",
            code="exists",
        )


def refuse_folder(where: str, path: str | Path) -> None:
    """Refuse a new name in a directory that cannot be used, or that is one of devices. Raises Refused."""
    name = os.fspath(path).rstrip("/")
    folder = _folder_of_result(where, name)
    try:
        if not os.path.lexists(name):
            refuse_device_directory(f"{where}: {name}", folder)
    finally:
        os.close(folder)


def _new_part(about: str, name: str, folder: int) -> tuple[int, str]:
    """A new file next to a result, which takes its place later: descriptor and name. Raises Refused."""
    part = f".{name[:_NAME_MAX]}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        return os.open(part, _NEW, 0o666, dir_fd=folder), part
    except OSError as error:
        raise Refused(about, f"cannot be made: {error.strerror}", code="unwritable") from error


def _folder_of_result(where: str, name: str) -> int:
    try:
        return os.open(os.path.dirname(name) or ".", _PATH_ONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Refused(
            f"{where}: {name}",
            f"its directory cannot be used: {error.strerror}",
            advice="make it first",
            code="not-found" if error.errno == errno.ENOENT else "unwritable",
        ) from error


def _refuse_result(about: str, name: str, folder: int, kind: str, head: bytes) -> int | None:
    """Refuse what a result must not replace; the mode of the result that it does replace. Raises Refused."""
    try:
        status = os.stat(name or ".", dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        refuse_device_directory(about, folder)
        return None
    except OSError as error:
        raise Refused(about, f"cannot be looked at: {error.strerror}", code="unreadable") from error
    advice = "name a new file, or remove this one"
    if not stat.S_ISREG(status.st_mode):
        from mileage.targets.guard import kind_of

        raise Refused(
            about, f"is {kind_of(status.st_mode)}; a result is a file", advice=advice, code="wrong-kind"
        )
    if status.st_nlink > 1:
        raise Refused(about, "has other names (hard links)", advice=advice, code="exists")
    if status.st_size and not _is_result(name, folder, kind, head):
        text = (
            f"is there already, with {status.st_size} bytes that are no {kind} of Mileage's, or changed since"
        )
        raise Refused(about, text, advice=advice, code="exists")
    return stat.S_IMODE(status.st_mode)


def _is_result(name: str, folder: int, kind: str, head: bytes) -> bool:
    """Whether Mileage wrote this as a result of the kind: by its mark, or by how it begins."""
    try:
        descriptor = os.open(name, _LOOK, dir_fd=folder)
    except OSError:
        return False
    try:
        mark = read_mark(descriptor)
        known = mark is not None and mark.role == kind
        return known or bool(head and os.pread(descriptor, len(head), 0) == head)
    finally:
        os.close(descriptor)
