"""mdtest's command line as a study of the workloads `mdtest.*`: what `--study` keeps, and what a modelled host does.

Scope: phases on directories and files of several tasks; an iteration is a run.
What it refuses: counts that do not divide, and files that would be read in part.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mileage.dropin.dropin_study import do_study, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_tools import refuse_unkept, study_of
from mileage.dropin.task_values import number, size_of, tasks_of
from mileage.errors import Refused
from mileage.formats.ior_listing import file_system_text
from mileage.formats.metadata_print import ROWS, mdtest_head, mdtest_table
from mileage.judge.tasks import mdtest_per_s, mdtest_tree_per_s
from mileage.model.run_record import RunRecord
from mileage.plan.study import Measure, StopRule

_S: Final = 1e9
_DIRECTORIES_MAX: Final = 1_000_000
_PHASES: Final = {"-C": ("create",), "-T": ("stat",), "-E": ("read",), "-r": ("remove",), "-U": ("rename",)}


_KEPT: Final = (
    *("-a", "-n", "-i", "-d", "-F", "-D", "-C", "-T", "-E", "-r", "-U", "-u"),
    *("-z", "-b", "-I", "-L", "-w", "-e", "-y", "-N", "-v", "-h", "--tasks", "--study", "--destroy"),
)
"""Flags that a study can keep."""


def run_study(given: GivenFlags) -> None:
    """Do the command line as a study and print it as mdtest does. Raises Refused and RunFailed."""
    refuse_unkept(given, _KEPT)
    tasks = tasks_of(given)
    directory = Path(given.last("-d") or ".")
    items = _items(given)
    tests = _tests(given)
    started = time.strftime("%m/%d/%Y %H:%M:%S")
    kinds = "files/directories"
    if given.has("-F") or given.has("-D"):
        kinds = "files" if given.has("-F") else "directories"
    print_notes(_notes(tests))
    system = file_system_text(directory)
    head = mdtest_head(started, given.words, str(directory), system, tasks, f"{tasks * items} {kinds}")
    done = do_study(given, study_of(given, directory, _table(given, tasks, items, tests)), head=head)
    rates = rates_of(record for _, record in done.runs())
    sys.stdout.write(f"{mdtest_table(rates)}-- finished at {time.strftime('%m/%d/%Y %H:%M:%S')} --\n")


def _notes(tests: tuple[str, ...]) -> list[str]:
    """Notes that a reader needs to compare the table with one of mdtest itself."""
    rows = " and ".join(ROWS[test] for test in ("dir_stat", "file_stat") if test in tests)
    if not rows:
        return []
    return [
        f"{rows}: the rate is higher than mdtest's own, 2.2 to 2.5 times where both were measured. Names are looked up "
        "from the directory of -d, where mdtest looks up all parts of its path for each, and mdtest clears two buffers "
        "of 4 KiB for each stat; compare this row with rows of Mileage's mdtest only"
    ]


def _items(given: GivenFlags) -> int:
    """Items of each task."""
    depth, branch = number(given, "-z", 0, 0, 32), number(given, "-b", 1, 1, 65536)
    # With one branch each level adds one directory. Otherwise the last level dominates, and logarithms avoid a huge
    # power.
    if branch > 1 and depth * math.log(branch) > math.log(_DIRECTORIES_MAX):
        raise Refused(
            f"mdtest: -z {depth} -b {branch}",
            f"a tree of more than {_DIRECTORIES_MAX} directories",
            advice="give fewer",
            code="too-large",
        )
    if given.has("-L") and not given.has("-z"):
        raise Refused("mdtest: -L", "has no effect without -z", advice="remove it", code="no-effect")
    if given.has("-n") == given.has("-I"):
        raise Refused(
            "mdtest",
            "give -n, the items of each task, or -I, those in each directory of the tree",
            code="missing",
        )
    if given.has("-n"):
        return number(given, "-n", 1, 1, 1 << 40)
    leaves = int(branch**depth)
    nodes = leaves if given.has("-L") else sum(branch**level for level in range(depth + 1))
    return number(given, "-I", 1, 1, 1 << 30) * nodes


def _tests(given: GivenFlags) -> tuple[str, ...]:
    """The tests by name, with the trees."""
    if given.has("-F") and given.has("-D"):
        raise Refused("mdtest: -F and -D", "give one of them, or neither", code="conflict")
    wanted = [phase for flag, phases in _PHASES.items() if given.has(flag) for phase in phases]
    wanted = wanted or [phase for phases in _PHASES.values() for phase in phases]
    of_directories = [
        one for one in ("create", "stat", "rename", "remove") if one in wanted and not given.has("-F")
    ]
    of_files = [one for one in ("create", "stat", "read", "remove") if one in wanted and not given.has("-D")]
    if not of_directories and not of_files:
        raise Refused(
            "mdtest", "nothing is left to do: directories are not read, files are not renamed", code="empty"
        )
    return (
        "tree_create",
        *(f"dir_{one}" for one in of_directories),
        *(f"file_{one}" for one in of_files),
        "tree_remove",
    )


def _table(given: GivenFlags, tasks: int, items: int, tests: tuple[str, ...]) -> Measure:
    written, read = size_of(given, "-w", 0), size_of(given, "-e", 0)
    if written != read and "file_read" in tests:
        raise Refused(
            f"mdtest: -w {written} and -e {read}",
            "files are read whole or not written",
            advice="give both the same size",
            code="mismatch",
        )
    shape = None
    if given.has("-z") or given.has("-b"):
        shape = f"{number(given, '-z', 0, 0, 32)}x{number(given, '-b', 1, 1, 65536)}"
        shape += ",leaves" if given.has("-L") else ""
    return Measure(
        workload=tuple(f"mdtest.{test}" for test in tests),
        record=written or None,
        threads=tasks,
        repeat=number(given, "-i", 1, 1, 10_000),
        stop=StopRule(operations=items * tasks),
        files="per_thread" if given.has("-u") else "shared",
        tree=shape,
        stride=number(given, "-N", 0, 0, 1024) if given.has("-N") else None,
        sync="fsync" if given.has("-y") else "none",
    )


def rates_of(records: Iterable[RunRecord]) -> dict[str, list[float]]:
    """Operations per second of each iteration, by test."""
    found: dict[str, list[float]] = {}
    for record in records:
        for result in record.results or ():
            test = result.test
            rate = _tree_rate if test in ("tree_create", "tree_remove") else _rate
            found.setdefault(test, []).append(rate(result.record))
    return found


def _rate(record: RunRecord) -> float:
    """The smallest of the tasks' rates times their number; a task waits for the last one inside its time."""
    spans = [task.operate_ns for task in record.tasks if task.operate_ns is not None]
    end = max(last for _, last in spans)
    times_s = [max(end - first, 1) / _S for first, _ in spans]
    return mdtest_per_s([task.operations for task in record.tasks], times_s)


def _tree_rate(record: RunRecord) -> float:
    """Rate of tree operations.

    Each task has its own tree, or the first task made the tree of all and is alone in the record.
    """
    return mdtest_tree_per_s(record.ops_metadata, len(record.tasks) or 1, record.elapsed_s)
