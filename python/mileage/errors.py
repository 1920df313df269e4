"""Every exception that Mileage raises on purpose.

What it models: the four ways a command can end. Each exception carries the exit status that the command
line returns for it, so that no caller has to translate:

    0  done
    1  a judged failure that the user asked for             (JudgedFailure)
    2  wrong usage, or refused before anything was touched  (Refused)
    3  the run itself failed                                (RunFailed, Interrupted)

The message is one clear line: what was found, what was expected, what to do.
What it refuses: wrapping programming errors. A TypeError stays a TypeError; the command line
ends with 3 and one line, and MILEAGE_DEBUG=1 prints its traceback (`cli/exit_status.py`).
"""

from __future__ import annotations

import errno
from typing import Any, Final

UNKNOWN_CAUSE: Final = "unknown"
"""The cause of a RunFailed when nobody knows it."""


class MileageError(Exception):
    """Base of every error that Mileage raises on purpose.

    `exit_status` is the exit status of the process, 1..3.
    """

    exit_status: int = 3

    @property
    def message(self) -> str:
        """The one line to show to the user, without a traceback."""
        return str(self)


class JudgedFailure(MileageError):
    """Everything ran, and the judgement is the one the user asked to be told of (`--fail-if`)."""

    exit_status: int = 1


class Refused(MileageError):
    """Wrong usage, or a request that Mileage declines; nothing has been written when this is raised."""

    exit_status: int = 2


class RunFailed(MileageError):
    """A run could not be completed.

    `cause` is the kind of failure: a symbolic errno name such as "ENOSPC" or "EIO" when the operating system
    said why, "vanished" when the target disappeared, "process" when one of Mileage's own died, "verification" when
    what was read is not what was written, or "unknown". `record` is what the run had done until then,
    where that is known.
    """

    exit_status: int = 3

    def __init__(self, message: str, *, cause: str = UNKNOWN_CAUSE) -> None:
        super().__init__(message)
        self.cause: str = cause
        self.record: dict[str, Any] | None = None

    @classmethod
    def from_os_error(cls, what: str, error: OSError) -> RunFailed:
        """A RunFailed for a failed system call: `what` was attempted; the cause is the errno's name."""
        reason = error.strerror or str(error)
        return cls(f"{what}: {reason}", cause=errno_name(error))


class Interrupted(RunFailed):
    """The user or the system stopped the run (Ctrl-C, SIGTERM); finished runs are kept and can be resumed."""

    def __init__(self, message: str = "interrupted; finished runs are kept", *, cause: str = "EINTR") -> None:
        super().__init__(message, cause=cause)


def errno_name(error: OSError) -> str:
    """The symbolic name of an OSError's errno, such as "ENOSPC"; "unknown" where there is none."""
    if error.errno is None:
        return UNKNOWN_CAUSE
    return errno.errorcode.get(error.errno, f"errno {error.errno}")
