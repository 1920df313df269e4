"""Run a program once and measure its duration, processor time, and bytes read and written.

Scope: a program without a shell, in the target's directory, with its whole process group: time from before it
is started until it has ended. Bytes are those that it and the processes that it waited for asked the kernel for
(`rchar`, `wchar` of /proc/PID/io, read before it is reaped); what reached storage, calls, processor time and the
largest memory are counters.
What it refuses: to call a program that failed a measurement; its last words are in the message. Whether programs may be
run at all is asked before anything is touched, by `mileage.app.plan_execution`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

import msgspec

from mileage.errors import Interrupted, RunFailed
from mileage.execute.run_failure import Poll
from mileage.execute.workers import ranks_here
from mileage.model.run_record import RunRecord
from mileage.plan.external_program import Program
from mileage.targets.file_identity import FileIdentity, opened_as
from mileage.targets.kernel_text import fields_of, lines_of, read_text

PERIOD_S: Final = 0.02
"""Seconds between two looks whether the user wants to stop, or the time is over; it adds nothing to a run's time."""
GRACE_S: Final = 5.0
"""Seconds that a program has to end after it was asked to."""
LAST_WORDS: Final = 400
"""Characters at the end of a failed program's output that go into the message."""
_LEFT: Final = "processes that it started were still running after its end, during the next measurements"
_GUARD: Final = 'read -r group && { read -r _ || kill -s KILL -- "-$group"; }'
"""A line of shell: reads which process group it is, and kills it when no further line comes before the input ends."""


def perform_command(
    job: Program, place: Path | None, what: str, poll: Poll, own: FileIdentity | None = None
) -> RunRecord:
    """Run a program with what prepares it and cleans up after it, and return the record. `what` names it in messages.

    `own`: what the directory at `place` must be; the programs are started in it, whatever its path means meanwhile.
    Raises RunFailed (cause "command") when one of them fails or takes too long, Interrupted when `poll` asked to stop.
    """
    if own is None or place is None:
        return _perform(job, place, what, poll)
    with opened_as(what, place, own, os.O_PATH | os.O_DIRECTORY) as directory:
        return _perform(job, Path(f"/proc/self/fd/{directory}"), what, poll)


def _perform(job: Program, place: Path | None, what: str, poll: Poll) -> RunRecord:
    timeout_s = job.value.timeout_ns / 1e9 or None
    try:
        if job.value.before:
            _run(job.value.before, place, f"{what}: before it", poll, None)
        record = _run(job.value.command, place, what, poll, timeout_s)
    except RunFailed as failure:
        if failure.cause == "rank":
            # The launcher will kill this process soon, so write to the journal before that.
            raise
        try:
            _clean_up(job, place, what)
        except RunFailed as another:
            # Report the failure of the program first: clean-up often fails as well when there is nothing to clean up.
            failure.args = (f"{failure}; {another}",)
        raise
    _clean_up(job, place, what)
    return record


def _clean_up(job: Program, place: Path | None, what: str) -> None:
    if job.value.cleanup:
        _run(job.value.cleanup, place, f"{what}: cleaning up", lambda _bytes, _operations: False, None)


def _run(
    argv: Sequence[str], place: Path | None, what: str, poll: Poll, timeout_s: float | None
) -> RunRecord:
    with tempfile.TemporaryFile() as output, _guarded() as guard:
        started_ns = time.monotonic_ns()
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as cause:
            raise RunFailed(f"{what}: {shlex.join(argv)}: {cause.strerror}", cause="command") from cause
        try:
            guard(process.pid)
            ended_ns = _wait(process, started_ns, what, poll, timeout_s)
            counted = _counted(process.pid)
        except BaseException as cause:
            lost = isinstance(cause, RunFailed) and cause.cause == "rank"
            _end(process, 0.0 if lost else GRACE_S)
            raise
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            last_words = _last_words(output)
            raise RunFailed(
                f"{what}: {shlex.join(argv)} ended with status {process.returncode}{last_words}",
                cause="command",
            )
    counters = {
        "command_user_us": round(usage.ru_utime * 1e6),
        "command_system_us": round(usage.ru_stime * 1e6),
        "command_memory_most_bytes": usage.ru_maxrss * 1024,
        "command_switches_voluntary": usage.ru_nvcsw,
        "command_switches_involuntary": usage.ru_nivcsw,
        "command_storage_read_bytes": counted.get("read_bytes", 0),
        "command_storage_written_bytes": counted.get("write_bytes", 0),
        "command_reads": counted.get("syscr", 0),
        "command_writes": counted.get("syscw", 0),
    }
    return msgspec.structs.replace(
        RunRecord.idle(ended_ns - started_ns),
        bytes_read=counted.get("rchar", 0),
        bytes_written=counted.get("wchar", 0),
        notes=[_LEFT] if _is_at_work(process.pid) else [],
        counters=counters,
    )


@contextlib.contextmanager
def _guarded() -> Iterator[Callable[[int], None]]:
    """Have a process group, once it is named, killed when this process is: it would work on the target unseen.

    Who does that is there before the program, so that starting it takes none of its time, and in a session of its own,
    which Ctrl-C does not reach.
    """
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def send(line: bytes) -> None:
        assert guard.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            guard.stdin.write(line)
            guard.stdin.flush()

    named = False

    def watch(group: int) -> None:
        nonlocal named
        named = True
        send(b"%d\n" % group)

    try:
        yield watch
    finally:
        if named:
            send(b"ended\n")
        with contextlib.suppress(BrokenPipeError):
            guard.communicate()


def _is_at_work(group: int) -> bool:
    """Whether a process group whose first process has ended still has running members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Zombies still count as members of the group for the kernel, so look at the state of each.
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(ValueError):
            state, _, found, *_ = fields_of(read_text(place).rpartition(")")[2])
            if int(found) == group and state not in "ZX":
                return True
    return False


def _wait(
    process: subprocess.Popen[bytes], started_ns: int, what: str, poll: Poll, timeout_s: float | None
) -> int:
    """Wait for the end, leaving the process to be looked at; the monotonic clock then, in nanoseconds."""
    ended = os.pidfd_open(process.pid)
    try:
        import select

        poller = select.poll()
        poller.register(ended, select.POLLIN)
        while not poller.poll(PERIOD_S * 1000):
            if poll(0, 0):
                # A launcher that ends a run because a rank died signals the other ranks to stop.
                if ranks := ranks_here():
                    ranks.check(ranks.size)
                raise Interrupted()
            if timeout_s is not None and time.monotonic_ns() - started_ns > timeout_s * 1e9:
                raise RunFailed(f"{what}: did not end within {timeout_s:g} s", cause="command")
        return time.monotonic_ns()
    finally:
        os.close(ended)


def _counted(pid: int) -> dict[str, int]:
    """Counters of /proc/PID/io of a process that has ended but was not reaped, with those of the children it reaped."""
    pairs = (line.partition(":") for line in lines_of(read_text(Path(f"/proc/{pid}/io"))))
    return {name: int(value) for name, _, value in pairs}


def _end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """End the whole group: asked first, then killed; nothing is left behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
    process.wait()


def _last_words(output: IO[bytes]) -> str:
    output.seek(0, os.SEEK_END)
    output.seek(max(output.tell() - LAST_WORDS, 0))
    text = output.read().decode(errors="replace").strip()
    return f": {' '.join(text.split())}" if text else ""
