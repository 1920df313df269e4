"""Children on clients (`-+m`): the file that lists them, and the files that they use.

Scope: each line has a host, a directory, IOzone's program there and possibly a file's name; a line that begins with #
is none. Child N is on the Nth client and uses `iozone.DUMMY.N` in its directory, as IOzone has it. Under an MPI
launcher rank N is child N, on whichever host it was started; without one every client is this machine. Nothing is
started by `rsh`.
What it refuses: what IOzone refuses, with its statuses; a client on another host than its child's; under a launcher
what is of one process, such as a single stream.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final, NamedTuple

from mileage.dropin.dropin_study import print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_values import is_modelled
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.execute.host_names import is_this_machine
from mileage.execute.workers import ranks_here
from mileage.regular_file import read_text

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
    _refuse_elsewhere([client.host for client in listed[: max(children)]])
    return tuple(client.file(number) for number, client in enumerate(listed))


def client_notes(given: GivenFlags, *, together: bool) -> list[str]:
    """What `-+m` and `-+h` do otherwise than in IOzone itself, or do not do."""
    if not given.has("-+m"):
        return ["-+h has no effect without -+m"] if given.has("-+h") else []
    if not together:
        return ["-+m has no effect without -t"]
    if ranks_here() is not None:
        return ["-+m: the ranks of this MPI run are the children; nothing is started by rsh"]
    return [
        "-+m: every client is this machine; children are started here, without rsh and a program of theirs"
    ]


def check_ranks(given: GivenFlags, children: tuple[int, ...]) -> None:
    """Under an MPI launcher refuse what its ranks do not do: all but children that are processes, a rank for each."""
    ranks = ranks_here()
    if ranks is None:
        return
    named = given.last("-f")
    modelled = named is not None and is_modelled(Path(named))
    if not children or modelled or given.has("-T"):
        what = "-T: threads are" if children else "a single stream is"
        what = f"-f {named}: a modelled host is" if modelled else what
        raise Refused(
            f"iozone: {what} the work of one process",
            found=f"{ranks.size} ranks",
            advice="start it without the launcher, or give children that are processes (-t without -T)",
            code="unsupported",
        )
    ranks.workers(max(children))
    if ranks.size > max(children):
        print_notes(
            [
                f"{ranks.size - max(children)} of {ranks.size} ranks have nothing to do: {max(children)} are children"
            ]
        )


def _refuse_elsewhere(hosts: list[str]) -> None:
    """Refuse the first client that is not the host of its child. Raises Refused."""
    ranks = ranks_here()
    if ranks is not None:
        number = ranks.first_elsewhere(hosts)
    else:
        number = next((child for child, host in enumerate(hosts) if not is_this_machine(host)), None)
    if number is None:
        return
    if ranks is not None:
        found = f"{hosts[number]}, and rank {number} is on {ranks.identities[number].host}"
    else:
        found = f"{hosts[number]}, another machine than this one"
    command = shlex.join(
        [
            "mpiexec",
            "-n",
            str(len(hosts)),
            "--host",
            ",".join(hosts),
            "--map-by",
            "seq",
            "mileage",
            *sys.argv[1:],
        ]
    )
    raise Refused(
        f"iozone: -+m: client {number + 1}",
        found=found,
        advice=f"start a rank for each client, in the order of the lines; with Open MPI: {command}",
        code="mismatch",
    )


def _clients(path: str) -> list[_Client]:
    try:
        lines = read_text(Path(path), f"iozone: -+m {path}").splitlines()
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
