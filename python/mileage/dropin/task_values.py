"""Values of the drop-in commands of IOR, mdtest and metarates: tasks, numbers, sizes, and whether a study is wanted.

Scope: nothing here imports what makes and runs studies, so that a small call starts fast.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

from mileage.dropin.flags import GivenFlags
from mileage.errors import Refused

THREADS_MAX: Final = 1024
KEEP_IN: Final = "MILEAGE_STUDIES"
"""Variable with the directory in which drop-in commands keep a study without `--study`."""
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def wants_study(given: GivenFlags, directory: Path) -> bool:
    """Whether the command is to be done as a study: when it is kept, and on a modelled host."""
    return given.has("--study") or KEEP_IN in os.environ or is_modelled(directory)


def print_notes(given: GivenFlags) -> None:
    """Print the notes of the given flags on standard error, apart from the tool's own text."""
    for note in given.notes:
        sys.stderr.write(f"mileage: {note}\n")


def print_failure(text: str) -> None:
    """Print what the ranks failed of, as the tools print the error that ends them; nothing where they did not."""
    if text:
        sys.stdout.write(f"ERROR: {text}, (mileage)\n")
        sys.stdout.flush()


def tasks_of(given: GivenFlags) -> int:
    """The number of tasks. Raises Refused, also for a task of somebody else's mpirun."""
    world = os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or "1"
    if given.tool.by_launcher:
        from mileage.execute.workers import ranks_here

        ranks = ranks_here()
        return number(given, "--tasks", ranks.size if ranks is not None else 1, 1, THREADS_MAX)
    if world not in ("", "1"):
        raise Refused(
            given.tool.name,
            f"started {world} times by mpirun",
            advice="the tasks are processes of one machine that Mileage starts itself: "
            f"mileage mpirun -np {world} {given.tool.name} {shlex.join(given.words)}",
            code="unsupported",
        )
    return number(given, "--tasks", 1, 1, THREADS_MAX)


def number(given: GivenFlags, flag: str, alone: int, least: int, most: int) -> int:
    """A whole number of a flag. Raises Refused."""
    text = given.last(flag)
    return alone if text is None else whole_number(given, flag, text, least, most)


def whole_number(given: GivenFlags, flag: str, text: str, least: int, most: int) -> int:
    """One of a flag's values as a whole number. Raises Refused."""
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and least <= int(text) <= most):
        raise Refused(
            f"{given.tool.name}: {flag} {text}",
            expected=f"a whole number, {least} to {most}",
            code="wrong-value",
        )
    return int(text)


def size_of(given: GivenFlags, flag: str, alone: int) -> int:
    """Bytes of a flag: a number, or one with k, m, g or t, binary. Raises Refused."""
    text = given.last(flag)
    return alone if text is None else bytes_of(given.tool.name, flag, text)


def bytes_of(tool: str, name: str, text: str) -> int:
    """A size as IOR and mdtest read it: a number, or one with k, m, g or t, binary. Raises Refused."""
    found = re.fullmatch(r"([0-9]{1,16})([kmgt]?)(?:i?b)?", text.lower())
    if found is None:
        raise Refused(
            f"{tool}: {name} {text}",
            expected="bytes, or a number with k, m, g or t, such as 64k",
            code="wrong-value",
        )
    return int(found[1]) * _UNITS[found[2]]


def packet_of(value: str) -> str | None:
    """The kind of data of a value of IOR's -l, by its first letter; None for one that IOR does not know."""
    from mileage.plan.ior_options import PACKETS

    return next((kind for kind in PACKETS if value[:1] == kind[0]), None)


def is_modelled(directory: Path) -> bool:
    """Whether the directory is the root of a modelled host, "virtual:DRIVE@HOST"."""
    if ":" not in str(directory):
        return False
    from mileage.model.target_kind import capabilities_of

    return capabilities_of(str(directory)).has_host
