"""The ledger: every privileged step is written down before it is done, so that it can be undone whatever happens.

Scope: one file for each process that takes such steps, in a folder of the machine's, as one JSON object per
line: who, then each step before it is done, and its number again when it has been undone. The file is locked as long
as its process lives, or a program that it called, and removed when all is undone. What a killed process left behind is
undone by the next one that opens a target or takes a step, and by `mileage doctor --repair`.
What it refuses: taking a step where no ledger can be kept.

Invariant: a step that was done stands in the ledger, on the disk, until it has been undone.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from mileage.errors import MileageError, Refused, RunFailed
from mileage.log import log_step, logged_step
from mileage.targets.door.marks import LEDGER_VARIABLE, ledger_folder
from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import read_word
from mileage.targets.privileged_steps import Step
from mileage.targets.programs import HELD

FORMAT: Final = 1
_END: Final = ".jsonl"
_PROGRAM_S: Final = 30.0
"""Time allowed for programs that a killed process had started to end: mkfs of a large device, umount of a slow one."""
_PAUSE_S: Final = 0.05
_BYTES_MAX: Final = 16 << 20
_LOOK: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags for opening a ledger: do not follow a link, and do not wait for a pipe."""

T = TypeVar("T")


class UndoResult(msgspec.Struct, frozen=True):
    """Result of undoing one step."""

    text: str
    """Description of what was done, or of why it could not be."""
    failed: bool = False


class Ledger:
    """The steps of one process that are not undone yet. Its file is made with the first step."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or ledger_folder()
        self._descriptor: int | None = None
        self._path: Path | None = None
        self._written = 0
        self._open: dict[int, Step] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps of the ledger that are not undone, in the order in which they were done."""
        return tuple(self._open.values())

    def take(self, step: Step, act: Callable[[], T]) -> T:
        """Write a step down, do it, and undo it again if doing it fails.

        Raises Refused where no ledger can be kept, and what `act` raises.
        """
        self._begin()
        self._written += 1
        number = self._written
        self._write({"step": number, "is": msgspec.to_builtins(step)})
        self._open[number] = step
        try:
            with logged_step(*_named(step)):
                return act()
        except BaseException:
            self._undo(number)
            raise

    def undo(self, step: Step) -> None:
        """Undo the last step that equals this one; nothing when there is none. Raises RunFailed."""
        number = next((n for n in reversed(self._open) if self._open[n] == step), None)
        if number is not None:
            self._undo(number)
        self._end_if_done()

    def undo_all(self) -> None:
        """Undo everything, last step first.

        One that cannot be undone does not keep the others from it; the first such failure is raised at the end, and
        its step stays in the ledger.
        """
        failure: MileageError | None = None
        for number in reversed(tuple(self._open)):
            try:
                self._undo(number)
            except MileageError as error:
                failure = failure or error
        self._end_if_done()
        if failure is not None:
            raise RunFailed(
                f"{failure}; when the cause is removed, `mileage doctor --repair` undoes it",
                cause=getattr(failure, "cause", "unknown"),
            ) from failure

    def _undo(self, number: int) -> None:
        _undo_step(self._open[number])
        self._write({"undone": number})
        del self._open[number]

    def _begin(self) -> None:
        if self._descriptor is not None:
            return
        repair(self._folder)
        path, descriptor = self._made()
        while not os.fstat(descriptor).st_nlink:
            # A repairing process took the new ledger for a leftover, between its creation and its lock: try again.
            os.close(descriptor)
            path, descriptor = self._made()
        self._descriptor, self._path = descriptor, path
        HELD.add(descriptor)
        head = {
            "ledger": FORMAT,
            "process": os.getpid(),
            "pids": _pids(),
            "boot": _boot(),
            "command": sys.argv,
        }
        self._write({**head, "began": datetime.now(UTC).isoformat(timespec="seconds")})
        _sync_folder(self._folder)

    def _made(self) -> tuple[Path, int]:
        """A new file in the folder, locked. Raises Refused."""
        path = self._folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{os.getpid()}{_END}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                self._folder,
                f"the ledger of privileged steps cannot be kept here: {error.strerror}",
                advice=f"name another folder with {LEDGER_VARIABLE}",
                code="unwritable",
            ) from error
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return path, descriptor

    def _write(self, entry: dict[str, Any]) -> None:
        if self._descriptor is None:
            raise RuntimeError("the ledger is not open")
        os.write(self._descriptor, (json.dumps(entry) + "\n").encode())
        os.fsync(self._descriptor)

    def _end_if_done(self) -> None:
        if self._open or self._descriptor is None or self._path is None:
            return
        self._path.unlink(missing_ok=True)
        HELD.discard(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = self._path = None


def repair(folder: Path | None = None) -> list[UndoResult]:
    """Undo the steps that dead processes left behind, last step first; skip ledgers of running processes.

    A step that cannot be undone stays in its ledger, and so does what came before it.
    """
    found: list[UndoResult] = []
    for path in _ledgers(folder or ledger_folder()):
        try:
            descriptor = os.open(path, os.O_RDWR | _LOOK)
        except OSError as error:
            found.append(UndoResult(f"{path} cannot be read: {error.strerror}", failed=True))
            continue
        try:
            if why := _distrust(descriptor):
                found.append(UndoResult(f"{path} {why}; nothing that it says is undone", failed=True))
            elif _lock(descriptor):
                found += _repair_one(path, descriptor)
        finally:
            os.close(descriptor)
    return found


def _distrust(descriptor: int) -> str | None:
    """Reason why the steps of an open ledger must not be undone: another user may have written it."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    if found.st_uid not in (os.geteuid(), 0):
        return (
            f"belongs to another user (number {found.st_uid}), who can undo it with `mileage doctor --repair`"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users"
    if found.st_size > _BYTES_MAX:
        return f"has {found.st_size:,} bytes, more than any ledger"
    return None


def _lock(descriptor: int) -> bool:
    """Lock a ledger; False when its process lives, or a program that it called does not end."""
    end = time.monotonic() + _PROGRAM_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end or not _has_ended(descriptor):
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


def _has_ended(descriptor: int) -> bool:
    """Whether the process of a ledger has ended, as far as this process can see."""
    try:
        head, _ = _read(descriptor)
        if head.get("boot") != _boot() or head.get("pids") != _pids():
            return False
        os.kill(int(head["process"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False
    return False


def left_behind(folder: Path | None = None) -> list[str]:
    """The ledgers of dead processes, as paths; their steps are still to be undone."""
    left = []
    for path in _ledgers(folder or ledger_folder()):
        try:
            descriptor = os.open(path, os.O_RDONLY | _LOOK)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        left.append(str(path))
    return left


def _ledgers(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob(f"*{_END}"))
    except OSError:
        return []


def _repair_one(path: Path, descriptor: int) -> Iterator[UndoResult]:
    try:
        head, steps = _read(descriptor)
    except ValueError as error:
        yield UndoResult(
            f"{path} is damaged ({error}); look at what it says, undo that by hand, remove it", failed=True
        )
        return
    same_boot = head.get("boot") == _boot()
    for number in reversed(tuple(steps)):
        step = steps[number]
        if not same_boot and not step.persists:
            continue
        try:
            done = _undo_step(step)
        except (MileageError, OSError, ValueError) as error:
            yield UndoResult(f"{error} (left to be undone in {path})", failed=True)
            return
        os.write(descriptor, (json.dumps({"undone": number}) + "\n").encode())
        if done is not None:
            yield UndoResult(done)
    path.unlink(missing_ok=True)


def _undo_step(step: Step) -> str | None:
    """Undo a step; what was undone, or None. Raises RunFailed."""
    what, on = _named(step)
    try:
        done = step.undo()
    except MileageError as failure:
        log_step(f"undo {what}", on, f"failed: {failure}")
        raise
    log_step(f"undo {what}", on, done or "nothing to undo")
    return done


def _named(step: Step) -> tuple[str, str]:
    """Describe a privileged step (such as mount /dev/sdb) for the log; passwords are removed."""
    fields = msgspec.to_builtins(step)
    what = str(fields.pop("type"))
    return what, ", ".join(f"{name} {value}" for name, value in fields.items() if name != "password")


def _read(descriptor: int) -> tuple[dict[str, Any], dict[int, Step]]:
    """The head of a ledger and its steps that are not undone. A torn last line was never acted on.

    Raises ValueError for a ledger that is damaged.
    """
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        lines = file.read().split(b"\n")[:-1]
    head: dict[str, Any] = {}
    steps: dict[int, Step] = {}
    try:
        for line in lines:
            # Not msgspec: a path that is no UTF-8 is written as lone surrogates.
            entry = dict(json.loads(line))
            if "ledger" in entry:
                head = entry
            elif "step" in entry:
                steps[int(entry["step"])] = msgspec.convert(entry["is"], Step)
            elif "undone" in entry:
                steps.pop(int(entry["undone"]), None)
    except (TypeError, KeyError, OverflowError, RecursionError) as cause:
        raise ValueError(f"a line is no entry: {cause}") from cause
    return head, steps


def _pids() -> str:
    """The namespace in which the number of a process means this process."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _boot() -> str | None:
    return read_word(ROOT / "proc/sys/kernel/random/boot_id")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
