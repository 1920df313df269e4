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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from mileage.model.run_record import RunRecord

UNKNOWN_CAUSE: Final = "unknown"
"""The cause of a RunFailed when nobody knows it."""


class Refusal(NamedTuple):
    """Why something is refused, in parts. Its sentence is made of them here, once, and never taken apart again."""

    where: str = ""
    """What is refused: the path of a key of a study file, an option, a file or a target; empty for none of them."""
    found: str = ""
    """What is there."""
    expected: str = ""
    """What could be there."""
    advice: str = ""
    """What to do."""
    code: str = "refused"
    """The kind of the refusal for programs; it stays when the sentence is worded anew."""
    text: str = ""
    """What is wrong, where that is more than what was found and expected."""
    line: int | None = None
    """Line in the file, where there is one."""

    @property
    def sentence(self) -> str:
        """What is wrong, without where."""
        found = f"found {self.found}" if self.found else ""
        expected = f"expected {self.expected}" if self.expected else ""
        wrong = ", ".join(part for part in (self.text, found, expected) if part)
        return "; ".join(part for part in (wrong, self.advice) if part)

    @property
    def words(self) -> str:
        """The refusal in one line: of a file the line first, then what is refused."""
        line = "" if self.line is None else f"line {self.line}"
        return ": ".join(part for part in (line, self.where, self.sentence) if part)

    def in_option(self, option: str) -> str:
        """The refusal in one line of a command whose option it comes from; empty for none."""
        return self._replace(where=option, line=None).words

    def to_json(self) -> dict[str, Any]:
        """The parts that there are, and the sentence, for `--json`."""
        parts = {"where": self.where, "line": self.line, "found": self.found, "expected": self.expected}
        parts |= {"advice": self.advice, "code": self.code, "text": self.sentence}
        return {name: value for name, value in parts.items() if value not in ("", None)}


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
    """Everything ran, and the judgement is the one that the user asked to fail on (`--fail-if`)."""

    exit_status: int = 1


class Refused(MileageError):
    """Wrong usage, or a request that Mileage declines; nothing has been written when this is raised.

    `refusals` are the reasons as values, one or more.
    """

    exit_status: int = 2

    def __init__(
        self,
        text: str = "",
        *,
        where: str = "",
        found: str = "",
        expected: str = "",
        advice: str = "",
        code: str = "refused",
    ) -> None:
        self.refusals: tuple[Refusal, ...] = (Refusal(where, found, expected, advice, code, text),)
        super().__init__(self.refusals[0].words)

    @classmethod
    def because(cls, *refusals: Refusal) -> Refused:
        """A refusal of several reasons, or of one that is known already."""
        self = cls("\n".join(refusal.words for refusal in refusals))
        self.refusals = refusals
        return self

    def within(self, where: str) -> Refused:
        """The same reasons, found in something larger: an option, a factor, a tool."""
        return Refused.because(
            *(
                refusal._replace(where=": ".join(part for part in (where, refusal.where) if part))
                for refusal in self.refusals
            )
        )


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
        self.record: RunRecord | None = None

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
