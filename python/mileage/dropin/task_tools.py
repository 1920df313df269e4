"""Code shared by the drop-in commands of IOR, mdtest and metarates: tasks, sizes, the directory, and `mpirun`."""

from __future__ import annotations

import socket
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mileage.dropin.flags import GivenFlags, read
from mileage.dropin.task_values import THREADS_MAX, is_modelled, number, print_notes
from mileage.errors import Refused
from mileage.regular_file import read_regular

if TYPE_CHECKING:
    from mileage.plan.study import Measure, Study

_HOSTS_MAX: Final = 1 << 20
"""Bytes of a list of hosts at most."""
_TOOLS: Final = ("ior", "mdtest", "metarates")


def study_of(given: GivenFlags, directory: Path, table: Measure) -> Study:
    """The study of one table in a directory. Raises Refused when that is not there."""
    from mileage.plan.study import Stage, State, Study

    hosted = is_modelled(directory)
    if not hosted and not directory.is_dir():
        raise Refused(
            f"{given.tool.name}: {directory}", "is no directory", advice="make it first", code="not-found"
        )
    name = given.tool.name
    return Study(
        name=name,
        question=f"What does {name} measure here?",
        target=str(directory) if hosted else f"dir:{directory.absolute()}",
        state=State(cache="warm", file=1 << 16),
        stage=(Stage(name=name, measure=(name,)),),
        measure={name: table},
    )


def run_mpirun(given: GivenFlags) -> int:
    """`mileage mpirun`: the tool that is named, with the given number of tasks. Raises Refused and RunFailed."""
    from mileage.dropin.dropin_list import tool_named

    if not given.operands:
        raise Refused("mpirun", "no program is named", expected="ior, mdtest or metarates", code="missing")
    program = Path(given.operands[0]).name.lower()
    if program not in _TOOLS:
        raise Refused(
            f"mpirun: {given.operands[0]}", "is none of ior, mdtest and metarates", code="unknown-name"
        )
    count = number(given, "-np" if given.has("-np") else "-npernode", 1, 1, THREADS_MAX)
    if hosts := given.last("-machinefile"):
        _check_hosts(Path(hosts), count)
    print_notes(given)
    inner = read(tool_named(program), given.operands[1:])
    if inner.has("--tasks"):
        raise Refused(
            "mpirun: -np", "says how many tasks there are", advice="leave --tasks out", code="conflict"
        )
    inner.flags.append((tool_named(program).find("--tasks") or inner.tool.flags[0], str(count)))
    inner.flags += [(flag, value) for flag, value in given.flags if flag.spelling in ("--study", "--destroy")]
    status: int | None = import_module(f"mileage.dropin.{program}").run(inner)
    return status or 0


def _check_hosts(path: Path, count: int) -> None:
    try:
        lines = read_regular(path, _HOSTS_MAX).decode(errors="replace").splitlines()
    except OSError as error:
        raise Refused(f"mpirun: -machinefile {path}", f"{error.strerror}", code="unreadable") from error
    hosts = [words[0] for line in lines if (words := line.partition("#")[0].replace(":", " ").split())]
    own = {socket.gethostname(), socket.gethostname().partition(".")[0], "localhost", "127.0.0.1"}
    for host in hosts:
        if host not in own:
            raise Refused(
                f"mpirun: -machinefile {path}",
                f"{host} is another machine than this one, {socket.gethostname()}",
                advice="tasks of one run share a machine here",
                code="unsupported",
            )
    if not hosts:
        raise Refused(f"mpirun: -machinefile {path}", "names no host", expected="a host a line", code="empty")
