"""Children on clients (`-+m`): the file that lists them, and the files that they use.

Scope: each line has a host, a directory, IOzone's program there and possibly a file's name; a line that begins with #
is none. Child N is on the Nth client and uses `iozone.DUMMY.N` in its directory, as IOzone has it. Every client is
this machine, where its child is started without `rsh`.
What it refuses: what IOzone refuses, with its statuses; other machines, which `mileage merge` is for.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Final, NamedTuple

from mileage.dropin.flags import GivenFlags
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused

_UNREADABLE: Final = 176
_EMPTY: Final = 178
_MALFORMED: Final = 203
_TOO_FEW: Final = 202
_FIELDS: Final = (3, 4)


class _Client(NamedTuple):
    host: str
    directory: str
    name: str | None

    def file(self, number: int) -> Path:
        return Path(self.directory, self.name or f"iozone.DUMMY.{number}")


def client_files(given: GivenFlags, children: tuple[int, ...]) -> tuple[Path, ...]:
    """The files of the clients, in order; none without children. Raises Refused."""
    listed = _clients(given.last("-+m") or "")
    if not children:
        return ()
    if max(children) > len(listed):
        raise _refusal("more children than the file has clients", _TOO_FEW)
    for client in listed:
        if not _is_this_machine(client.host):
            raise Refused(
                "iozone: -+m",
                f"{client.host} is another machine",
                advice="one `mileage` on each machine and `mileage merge`",
                code="not-built",
            )
    return tuple(client.file(number) for number, client in enumerate(listed))


def client_notes(given: GivenFlags, *, together: bool) -> list[str]:
    """What `-+m` and `-+h` do otherwise than in IOzone itself, or do not do."""
    if not given.has("-+m"):
        return ["-+h has no effect without -+m"] if given.has("-+h") else []
    if not together:
        return ["-+m has no effect without -t"]
    return [
        "-+m: every client is this machine; children are started here, without rsh and a program of theirs"
    ]


def _clients(path: str) -> list[_Client]:
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
    except OSError as error:
        raise _refusal(f"cannot open {path}: {error.strerror}", _UNREADABLE) from error
    found = []
    for line in lines:
        if line.startswith("#"):
            continue
        words = line.split()[: max(_FIELDS)]
        if len(words) not in _FIELDS:
            raise _refusal(f"line {line!r}: not a host, a directory and a program", _MALFORMED)
        found.append(_Client(words[0], words[1], words[3] if len(words) == max(_FIELDS) else None))
    if not found:
        raise _refusal(f"no client in {path}", _EMPTY)
    return found


def _refusal(text: str, status: int) -> ToolRefusal:
    return ToolRefusal("iozone", "iozone: -+m", text, code="wrong-value", status=status)


def _is_this_machine(host: str) -> bool:
    if host in ("localhost", os.uname().nodename):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
