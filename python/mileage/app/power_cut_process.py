"""Processes of a power-cut test: each in a session of its own, so that it ends with all of its children.

Scope: start one, read what it acknowledges until the power fails, end it, and call one that examines what is left.
What it refuses: to wait for ever. A process that holds the output of another and has left its session, or that does not
end, is reported as RunFailed.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from mileage.errors import RunFailed

_END_S: Final = 30.0
"""Longest time to the first transaction, and to the end of a killed process."""
_CHILDREN_S: Final = 0.5
_REST_S: Final = 10.0
"""Longest time in which the output of killed processes ends."""
_A_TRANSACTION: Final = re.compile(rb"^\d+\n", re.MULTILINE)


class CutAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the drive says about a power cut (`PowerCutResult` of mileage-serve)."""

    at_ns: int = 0
    """The instant, by the drive's clock."""
    failed_requests: int = 0
    """Requests that were outstanding and failed."""
    lost_parts: int = 0
    """Parts of changes, as the drive lists them, that were lost."""
    old_sectors: int = 0
    """Sectors of changes that are as they were before."""
    torn_sectors: int = 0
    """Sectors that are torn."""
    unreadable_sectors: int = 0
    """Sectors that cannot be read."""

    @property
    def sectors(self) -> int:
        """Sectors that do not hold what the drive had taken."""
        return self.old_sectors + self.torn_sectors + self.unreadable_sectors


class LoadResult(NamedTuple):
    """What an application did until the power failed."""

    acknowledged: frozenset[int]
    after_s: float
    """When the power failed, after the first transaction."""
    ended: str
    """How the application ended before that; empty when it did not."""
    answer: CutAnswer


class CallResult(NamedTuple):
    """A program that was called and has ended."""

    status: int
    output: str
    error: str

    @property
    def last_line(self) -> str:
        """The last line that it printed, or its exit status."""
        lines = (self.error.strip() or self.output.strip()).splitlines()
        if lines:
            return lines[-1].strip()
        return f"ended by signal {-self.status}" if self.status < 0 else f"exit status {self.status}"


def start(
    words: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own. Raises RunFailed."""
    try:
        return subprocess.Popen(
            words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, start_new_session=True
        )
    except OSError as error:
        raise RunFailed.from_os_error(f"{words[0]} cannot be started", error) from error


def has_ended(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether a process ends in time. It keeps its number until `end`, so that its group can be killed safely."""
    if process.returncode is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what is left of its group. Raises RunFailed when it does not end."""
    _kill_group(process)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"process {process.pid} does not end after SIGKILL", cause="process") from error
    finally:
        if process.stdout is not None:
            process.stdout.close()
    # Killed children take a moment, in which a file system under them is busy; those that nobody reaps stay.
    end_by = time.monotonic() + _CHILDREN_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end_by:
            os.killpg(process.pid, 0)
            time.sleep(0.002)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def call(
    name: str,
    words: Sequence[str],
    timeout_s: float,
    *,
    cwd: Path | None = None,
) -> CallResult:
    """Run a program to its end, and end what it leaves behind. Raises RunFailed when it does not end in time.

    Its output goes into files, since a child that keeps a pipe open would be waited for.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        process = start(words, stdout=output.fileno(), stderr=error, cwd=cwd)
        try:
            in_time = has_ended(process, timeout_s)
        finally:
            end(process)
        if not in_time:
            raise RunFailed(
                f"{name}: {Path(words[0]).name} has not ended after {timeout_s:g} s", cause="ETIMEDOUT"
            )
        return CallResult(process.returncode, _text_of(output), _text_of(error))


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def cut_load(process: subprocess.Popen[bytes], after_s: float, cut: Callable[[], CutAnswer]) -> LoadResult:
    """Cut the power so long after an application's first transaction; what it had printed by then.

    Raises RunFailed when it has no first transaction.
    """
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    text, has_ended = b"", False
    begin_by = time.monotonic() + _END_S
    while not _A_TRANSACTION.search(text):
        piece = _piece(descriptor, begin_by)
        if not piece:
            raise RunFailed("the application has ended or hangs before its first transaction")
        text += piece
    began = time.monotonic()
    while time.monotonic() < began + after_s and not has_ended:
        piece = _piece(descriptor, began + after_s)
        has_ended = piece == b""
        text += piece or b""
    ended = _how_it_ended(process) if has_ended else ""
    at_s = time.monotonic() - began
    answer = cut()
    return LoadResult(_numbers(text + _rest(process, descriptor)), at_s, ended, answer)


def _piece(descriptor: int, end_by: float) -> bytes | None:
    """What is there until an instant; b"" at the end of the output, None when nothing came."""
    ready, _, _ = select.select([descriptor], [], [], max(0.0, end_by - time.monotonic()))
    return os.read(descriptor, 65536) if ready else None


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    if not has_ended(process, 1.0):
        return "closed its output"
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if found is None:
        return "ended"
    by_itself = found.si_code == os.CLD_EXITED
    return f"ended {'with exit status' if by_itself else 'by signal'} {found.si_status}"


def _rest(process: subprocess.Popen[bytes], descriptor: int) -> bytes:
    """What was printed before its processes noticed that the power had failed; they are killed. Raises RunFailed."""
    _kill_group(process)
    text, end_by = b"", time.monotonic() + _REST_S
    while piece := _piece(descriptor, end_by):
        text += piece
    if piece is None:
        raise RunFailed(
            "a process that the application started has left its session and holds its output: nobody can say"
            " what it still acknowledges",
            cause="process",
        )
    return text


def _numbers(text: bytes) -> frozenset[int]:
    """The transactions of whole lines."""
    lines = text[: text.rindex(b"\n")].split(b"\n")
    return frozenset(int(line) for line in lines if line.isdigit())
