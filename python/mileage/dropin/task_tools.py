"""Code shared by the drop-in commands of IOR, mdtest and metarates: tasks, sizes, the directory, and `mpirun`."""

from __future__ import annotations

import os
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mileage.dropin.flags import GivenFlags, read
from mileage.dropin.task_values import THREADS_MAX, is_modelled, number, print_notes
from mileage.errors import Refused
from mileage.regular_file import read_regular
from mileage.targets.kernel_text import fields_of, lines_of, read_text

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
    hosts = given.last("-machinefile")
    slots = _slots(Path(hosts)) if hosts else 0
    if not given.has("-np") and not given.has("-npernode"):
        count = slots or _cores()
        place = f"the slots of {hosts}" if hosts else "the cores of this machine"
        sys.stderr.write(f"mileage: mpirun: {count} tasks, {place}, because -np is not given\n")
    else:
        count = number(given, "-np" if given.has("-np") else "-npernode", 1, 1, THREADS_MAX)
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


def _cores() -> int:
    """Cores that this process may use, which Open MPI takes for the number of tasks; threads of one core are one."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        found.add(read_text(siblings) or str(cpu))
    return len(found)


def _slots(path: Path) -> int:
    """Tasks that a list of hosts has room for: one for each line, or `slots=N` or `host:N`. Raises Refused."""
    try:
        lines = lines_of(read_regular(path, _HOSTS_MAX).decode(errors="replace").replace("\r\n", "\n"))
    except OSError as error:
        raise Refused(f"mpirun: -machinefile {path}", f"{error.strerror}", code="unreadable") from error
    rows = [words for line in lines if (words := fields_of(line.partition("#")[0].replace(":", " ")))]
    own = {socket.gethostname(), socket.gethostname().partition(".")[0], "localhost", "127.0.0.1"}
    for host in (words[0] for words in rows):
        if host not in own:
            raise Refused(
                f"mpirun: -machinefile {path}",
                f"{host} is another machine than this one, {socket.gethostname()}",
                advice="tasks of one run share a machine here; on several hosts metarates runs under a real launcher: "
                "mpirun -machinefile FILE mileage metarates ...",
                code="unsupported",
            )
    if not rows:
        raise Refused(f"mpirun: -machinefile {path}", "names no host", expected="a host a line", code="empty")
    slots = 0
    for words in rows:
        text = next((word.removeprefix("slots=") for word in words[1:] if word.startswith("slots=")), None)
        text = text or (words[1] if len(words) > 1 and "=" not in words[1] else "1")
        if not (
            text.isascii() and text.isdecimal() and int(text[:9]) > 0 and slots + int(text[:9]) <= THREADS_MAX
        ):
            raise Refused(
                f"mpirun: -machinefile {path}",
                found=text,
                expected=f"slots, together 1 to {THREADS_MAX}",
                code="wrong-value",
            )
        slots += int(text)
    return slots
