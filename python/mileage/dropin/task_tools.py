"""Code shared by the drop-in commands of IOR, mdtest and metarates: tasks, sizes, the directory, and `mpirun`."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mileage.dropin.flags import GivenFlags, read
from mileage.dropin.pages import print_help, version_text
from mileage.dropin.task_values import THREADS_MAX, is_modelled, number, print_notes
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.regular_file import read_regular
from mileage.targets.kernel_text import fields_of, lines_of, read_text

if TYPE_CHECKING:
    from mileage.plan.study import Measure, Study

_HOSTS_MAX: Final = 1 << 20
"""Bytes of a list of hosts at most."""
_TOOLS: Final = ("ior", "mdtest", "metarates")


def refuse_unkept(given: GivenFlags, kept: Sequence[str]) -> None:
    """Refuse flags whose effect no study keeps. Raises Refused."""
    for flag, _ in given.flags:
        if flag.spelling not in kept:
            raise Refused(
                f"{given.tool.name}: {flag.spelling}",
                "is not kept in a study, and not done on a modelled host",
                advice="leave --study out",
                code="unsupported",
            )


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
    from mileage.dropin.flags import tool_named

    if given.has("--version"):
        sys.stdout.write(version_text("mpirun", "Open MPI 4.1"))
        return 0
    if not given.operands:
        raise Refused("mpirun", "no program is named", expected="ior, mdtest or metarates", code="missing")
    program = Path(given.operands[0]).name.lower()
    if program not in _TOOLS:
        raise Refused(
            f"mpirun: {given.operands[0]}", "is none of ior, mdtest and metarates", code="unknown-name"
        )
    count = _count_of(given)
    print_notes(given)
    inner = read(tool_named(program), given.operands[1:])
    if inner.has("-h") or inner.has("--help"):
        return print_help(inner.tool)
    if inner.has("--tasks"):
        raise Refused(
            "mpirun: -np", "says how many tasks there are", advice="leave --tasks out", code="conflict"
        )
    inner.flags.append((tool_named(program).find("--tasks") or inner.tool.flags[0], str(count)))
    # The paths are those of the directory in which mpirun was started.
    own = [(flag, value) for flag, value in given.flags if flag.spelling in ("--study", "--destroy")]
    moves = given.has("--wdir")
    inner.flags += [(flag, os.path.abspath(value) if moves else value) for flag, value in own]
    _enter(given)
    status: int | None = import_module(f"mileage.dropin.{program}").run(inner)
    return status or 0


def _count_of(given: GivenFlags) -> int:
    """The number of tasks of an mpirun. Raises Refused."""
    place, slots = "the cores of this machine", 0
    if (path := given.last("-machinefile")) is not None:
        place, slots = f"the slots of {path}", _slots(f"-machinefile {path}", _rows_of(Path(path)))
    if hosts := given.every("-host"):
        words = [fields_of(host.replace(":", " ")) for text in hosts for host in text.split(",") if host]
        place, slots = f"the slots of {','.join(hosts)}", _slots(f"-host {','.join(hosts)}", words)
    if given.has("-np") or given.has("-npernode"):
        flag = "-np" if given.has("-np") else "-npernode"
        if not str(given.last(flag)).isdecimal():
            where, expected = f"mpirun: {flag} {given.last(flag)}", f"a whole number, 1 to {THREADS_MAX}"
            raise ToolRefusal("mpirun", where, expected=expected, code="wrong-value", fault="value")
        return number(given, flag, 1, 1, THREADS_MAX)
    count = slots or _cores()
    sys.stderr.write(f"mileage: mpirun: {count} tasks, {place}, because -np is not given\n")
    return count


def _enter(given: GivenFlags) -> None:
    """Set the environment and the working directory that tasks are to have. Raises Refused."""
    for text in given.every("-x"):
        name, equals, value = text.partition("=")
        if not name:
            raise Refused(f"mpirun: -x {text}", expected="NAME=VALUE", code="wrong-value")
        if equals:
            os.environ[name] = value
    place = given.last("--wdir")
    if place is not None:
        try:
            os.chdir(place)
        except OSError as error:
            raise Refused(f"mpirun: --wdir {place}", f"{error.strerror}", code="not-found") from error


def _cores() -> int:
    """Cores that this process may use, which Open MPI takes for the number of tasks; threads of one core are one."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        found.add(read_text(siblings) or str(cpu))
    return len(found)


def _rows_of(path: Path) -> list[list[str]]:
    """The lines of a list of hosts, as words. Raises Refused."""
    try:
        lines = lines_of(read_regular(path, _HOSTS_MAX).decode(errors="replace").replace("\r\n", "\n"))
    except OSError as error:
        where = f"mpirun: -machinefile {path}"
        raise ToolRefusal("mpirun", where, f"{error.strerror}", code="unreadable", fault="value") from error
    return [words for line in lines if (words := fields_of(line.partition("#")[0].replace(":", " ")))]


def _slots(where: str, rows: list[list[str]]) -> int:
    """Tasks that hosts have room for: one for each, or `slots=N` or `host:N`. Raises Refused."""
    own = {socket.gethostname(), socket.gethostname().partition(".")[0], "localhost", "127.0.0.1"}
    for host in (words[0] for words in rows):
        if host not in own:
            raise Refused(
                f"mpirun: {where}",
                f"{host} is another machine than this one, {socket.gethostname()}",
                advice="tasks of one run share a machine here; on several hosts metarates runs under a real launcher: "
                "mpirun -machinefile FILE mileage metarates ...",
                code="unsupported",
            )
    if not rows:
        raise Refused(f"mpirun: {where}", "names no host", expected="a host a line", code="empty")
    slots = 0
    for words in rows:
        text = next((word.removeprefix("slots=") for word in words[1:] if word.startswith("slots=")), None)
        text = text or (words[1] if len(words) > 1 and "=" not in words[1] else "1")
        if not (
            text.isascii() and text.isdecimal() and int(text[:9]) > 0 and slots + int(text[:9]) <= THREADS_MAX
        ):
            expected = f"slots, together 1 to {THREADS_MAX}"
            raise ToolRefusal(
                "mpirun", f"mpirun: {where}", found=text, expected=expected, code="wrong-value", fault="value"
            )
        slots += int(text)
    return slots
