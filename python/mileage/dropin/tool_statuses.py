"""Exit statuses of the tools that the drop-in commands stand for: the one place where they are written down.

Scope: what a tool ends with for its help, for words and values that it does not take, for files that are not there, and
when its work fails; each taken from the tool itself: dd of coreutils 9.1, fio 3.33, hdparm 9.65, IOzone 3.489, IOR and
mdtest 4.1, and mpirun of Open MPI 4.1. A refusal by Mileage itself, of what the tool would do, is 2 for all of them.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final, Literal

from mileage.errors import Refused, RunFailed

Fault = Literal["usage", "value"]
"""What a tool does not accept: a word or the lack of one; or the value of a flag."""


@dataclass(frozen=True)
class ToolStatuses:
    """The exit statuses of one tool; where nothing is known of it, they are those of Mileage."""

    help: int = 0
    usage: int = Refused.exit_status
    value: int = Refused.exit_status
    missing: int = Refused.exit_status
    """When a file that it is to read is not there."""
    failure: int = RunFailed.exit_status
    dies: bool = False
    """Whether signals end it as they end a program that does not handle them."""
    ends_with: int | None = None
    """What it ends with after SIGINT and SIGTERM, if it handles them."""
    last_words: str = ""
    """What it prints then."""

    def dies_by(self, number: int) -> bool:
        """Whether this signal ends it as a program that does not handle it."""
        return self.dies and (self.ends_with is None or number not in (signal.SIGINT, signal.SIGTERM))


STATUSES: Final = {
    "dd": ToolStatuses(usage=1, value=1, missing=1, failure=1, dies=True),
    "fio": ToolStatuses(usage=1, value=1, missing=1, failure=1),
    "hdparm": ToolStatuses(usage=22, value=22, dies=True),
    "iozone": ToolStatuses(
        usage=255, dies=True, ends_with=0, last_words="\niozone: interrupted\n\nexiting iozone\n\n"
    ),
    "ior": ToolStatuses(help=1, usage=1, value=255, dies=True),
    "mdtest": ToolStatuses(help=1, usage=1, value=255, dies=True),
    "metarates": ToolStatuses(dies=True),
    "iometer": ToolStatuses(dies=True),
    "mpirun": ToolStatuses(usage=1, value=1, ends_with=1),
}

IOZONE_MISSING: Final = {
    "read": 58,
    "random_read": 70,
    "backward_read": 75,
    "stride_read": 86,
    "fread": 52,
    "pread": 101,
}
"""Status of IOzone when the file is not there, by the test that begins; children (`-t`) wait without an end instead."""


def statuses_of(tool: str) -> ToolStatuses:
    """The exit statuses of a tool."""
    return STATUSES.get(tool, ToolStatuses())


class ToolRefusal(Refused):
    """A command line that the tool itself does not accept: the command ends with the tool's status, not with 2."""

    def __init__(
        self,
        tool: str,
        where: object,
        text: str = "",
        *,
        found: str = "",
        expected: str = "",
        advice: str = "",
        code: str = "refused",
        fault: Fault = "usage",
        status: int | None = None,
    ) -> None:
        super().__init__(where, text, found=found, expected=expected, advice=advice, code=code)
        known = statuses_of(tool)
        usual = known.usage if fault == "usage" else known.value
        self.tool_status = usual if status is None else status
        """What the tool ends with; outside of a drop-in command the status stays that of a refusal."""
