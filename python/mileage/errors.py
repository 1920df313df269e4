"""Every exception that Mileage raises on purpose.

Scope: the five ways a command can end. Each exception carries the exit status that the command
line returns for it, so that no caller has to translate:

    0  done
    1  a judged failure that the user asked for             (JudgedFailure)
    2  wrong usage, or refused before anything was touched  (Refused)
    3  the run itself failed                                (RunFailed, Interrupted)
    4  a gate that could not judge                          (NoJudgement)

The message is one clear line: what was found, what was expected, what to do.
What it refuses: wrapping programming errors. A TypeError stays a TypeError; the command line
ends with 3 and one line, and MILEAGE_DEBUG=1 prints its traceback (`cli/exit_status.py`).
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from mileage.model.run_record import RunRecord

UNKNOWN_CAUSE: Final = "unknown"
"""The cause of a RunFailed when nobody knows it."""


CODES: Final = {
    "ambiguous": "can be read in two ways",
    "changed": "is not what it was when the study was planned or the file was read",
    "conflict": "excludes something else that was given",
    "content-kept": "would be written to, and its content is kept",
    "damaged": "is a file of Mileage that cannot be used any more",
    "does-not-divide": "is no multiple of what it must be a multiple of",
    "empty": "holds nothing to work with",
    "exists": "is there already; nothing is written over",
    "in-use": "is used by something else: a mount, a process, another study",
    "incomplete": "is the output of a tool that did not come to its end",
    "long-dash": "begins with a typographic dash",
    "lost-rank": "is a process of an MPI run that does not answer",
    "malformed": "is a file with a part that cannot be read; `where` has its line",
    "mismatch": "does not fit something else that it must fit",
    "missing": "must be given",
    "needs-destroy": "would lose its content, or `--destroy` does not list it",
    "needs-files": "is asked of a target without files, or in which no more can be made",
    "needs-package": "needs a Python package that cannot be imported",
    "needs-permission": "needs an option that allows it",
    "needs-program": "needs a program that is not installed",
    "needs-root": "needs rights that this user does not have",
    "no-effect": "would be ignored",
    "no-room": "does not fit in the space that there is",
    "not-built": "is known, but this version does not do it",
    "not-found": "does not exist, or is no study folder",
    "not-toml": "is no TOML",
    "not-understood": "is no result that an importer knows",
    "nothing-in-common": "have no measurement in common",
    "only-cached": "cannot bypass the page cache",
    "out-of-range": "is outside the range of what is possible",
    "rated-wear": "would use too much of the rated endurance",
    "reads-unwritten": "would be read before anything wrote it",
    "repeated": "is given, named or held twice",
    "too-few": "are fewer than needed",
    "too-large": "is larger than what is read",
    "uneven-sizes": "is a record that does not divide the work file",
    "unknown-flag": "is no flag of the tool",
    "unknown-key": "is no key that can stand there",
    "unknown-name": "is the name of nothing that is known",
    "unknown-word": "is none of the words that can stand there",
    "unreadable": "cannot be read or looked at: the system refuses",
    "unsupported": "cannot be done by the target, the machine or this command",
    "unwritable": "cannot be written or made: the system refuses",
    "value-given": "takes no value",
    "value-joined": "needs its value in a word of its own",
    "value-missing": "needs a value",
    "wrong-kind": "is another kind of file, device or file system object",
    "wrong-type": "is of another type: text for a number, a value for a table",
    "wrong-value": "cannot be read, or makes no sense",
    "refused": "what the compiled core refuses: a sentence that is not in parts",
}
"""The kinds of refusals, for programs: what is refused, and why."""


def closest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that a wrong one was probably meant to be; None where none is that like it.

    `least`: how alike the two must be, 0 to 1 (`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, [*known], 1, least)), None)


class Refusal(NamedTuple):
    """A refusal as a value: its parts, from which its sentence is rendered.

    Its sentence is made of them here, once, and never taken apart again.
    """

    where: str = ""
    """The refused item: the path of a key of a study file, an option, a file or a target; empty for none of them."""
    found: str = ""
    """The value or state that was found."""
    expected: str = ""
    """The values or states that are accepted."""
    advice: str = ""
    """The remedy."""
    code: str = "refused"
    """The kind of the refusal for programs, one of `CODES`; it stays when the sentence is worded anew."""
    text: str = ""
    """Description of the problem, if `found` and `expected` do not describe it completely."""
    line: int | None = None
    """Line in the file, where there is one."""

    @property
    def sentence(self) -> str:
        """The sentence of the refusal, without `where`."""
        found = f"found {self.found}" if self.found else ""
        wrong = ", ".join(part for part in (self.text, found) if part)
        expected = f"expected {self.expected}" if self.expected else ""
        joint = ", " if self.found else "; "
        return "; ".join(
            part for part in (joint.join(part for part in (wrong, expected) if part), self.advice) if part
        )

    @property
    def words(self) -> str:
        """The refusal in one line: of a file the line first, then what is refused."""
        line = "" if self.line is None else f"line {self.line}"
        # A target such as `null:` ends in a colon already.
        return ": ".join(part for part in (line, self.where.removesuffix(":"), self.sentence) if part)

    def below(self, path: str) -> Refusal:
        """The same refusal of a key of the table at a path; `where` is the key, or empty for the table itself."""
        return self._replace(where=f"{path}.{self.where}" if self.where else path)

    def to_json(self) -> dict[str, Any]:
        """The parts that there are, and the sentence, for `--json`."""
        parts = {"where": self.where, "line": self.line, "found": self.found, "expected": self.expected}
        parts |= {"advice": self.advice, "code": self.code, "text": self.sentence}
        return {name: value for name, value in parts.items() if value not in ("", None)}


class MileageError(Exception):
    """Base of every error that Mileage raises on purpose.

    `exit_status` is the exit status of the process, 1..4.
    """

    exit_status: int = 3

    @property
    def message(self) -> str:
        """The one line to show to the user, without a traceback."""
        return str(self)


class JudgedFailure(MileageError):
    """Everything ran, and the judgement is the one that the user asked to fail on (`--fail-if`)."""

    exit_status: int = 1


class NoJudgement(MileageError):
    """Everything ran, but what the user asked to judge (`--fail-if`) cannot be judged from it."""

    exit_status: int = 4


class Refused(MileageError):
    """Wrong usage, or a request that Mileage declines; nothing has been written when this is raised.

    `refusals` are the reasons as values, one or more; the arguments are the parts of one, as `Refusal` has them.
    """

    exit_status: int = 2

    def __init__(
        self,
        where: object,
        text: str = "",
        *,
        found: str = "",
        expected: str = "",
        advice: str = "",
        code: str = "refused",
    ) -> None:
        self.refusals: tuple[Refusal, ...] = (Refusal(str(where), found, expected, advice, code, text),)
        super().__init__(self.refusals[0].words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: keep the list of reasons."""
        return type(self).__new__, (type(self), *self.args), self.__dict__

    @classmethod
    def because(cls, *refusals: Refusal) -> Refused:
        """A refusal of several reasons, or of one that is known already."""
        self = cls("", "\n".join(refusal.words for refusal in refusals))
        self.refusals = refusals
        return self

    def within(self, where: str) -> Refused:
        """A copy whose reasons name the larger thing that they were found in: an option, a factor, a tool."""
        return Refused.because(
            *(
                refusal._replace(where=": ".join(part for part in (where, refusal.where) if part))
                for refusal in self.refusals
            )
        )

    def advised(self, advice: str) -> Refused:
        """A copy in which each reason has one more piece of advice."""
        return Refused.because(
            *(
                reason._replace(advice="; ".join(part for part in (reason.advice, advice) if part))
                for reason in self.refusals
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
        self.number = 0
        """The signal; 0 where that is not known."""


def errno_name(error: OSError) -> str:
    """The symbolic name of an OSError's errno, such as "ENOSPC"; "unknown" where there is none."""
    if error.errno is None:
        return UNKNOWN_CAUSE
    return errno.errorcode.get(error.errno, f"errno {error.errno}")
