"""`mileage metarates`: metarates' command line as a study of the workloads `metarates.*`, and its own lines.

Scope: create, stat and utime of the files of several tasks, in this order.
What it refuses: a number of files that the tasks do not divide.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from mileage.dropin.dropin_study import do_study, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_tools import study_of
from mileage.dropin.task_values import is_modelled, number, tasks_of
from mileage.errors import Refused
from mileage.formats.metadata_print import Rates, metarates_head, metarates_lines
from mileage.model.run_record import TestResult
from mileage.plan import PlannedRun
from mileage.plan.study import Measure, StopRule
from mileage.targets.door import Door, make_directory

_TESTS: Final = {"create": "-C", "stat": "-S", "utime": "-U"}


def run(given: GivenFlags) -> None:
    """Do what the command line asks and print it as metarates does. Raises Refused and RunFailed."""
    tasks = tasks_of(given)
    tests = [test for test, flag in _TESTS.items() if given.has(flag)]
    if not tests:
        raise Refused("metarates", "nothing is measured", advice="give -C, -S or -U", code="missing")
    if given.last("-d") is None or given.last("-n") is None:
        raise Refused(
            "metarates",
            "give -d DIR, where files are made, and -n, how many of all tasks together",
            code="missing",
        )
    if given.has("-s") and "create" not in tests:
        raise Refused("metarates: -s", "has no effect without -C", advice="remove it", code="no-effect")
    files = number(given, "-n", 1, 1, 1 << 40)
    if files % tasks:
        raise Refused(
            f"metarates: -n {files}",
            expected=f"a multiple of the {tasks} tasks, who share them equally",
            code="does-not-divide",
        )
    directory = Path(str(given.last("-d")))
    # What a killed command has made is removed first.
    door = Door("metarates")
    made = not is_modelled(directory) and not directory.exists()
    if made:
        door.passing(str(directory), "empty")
        door.list_passing()
        _make(directory)
    own = given.has("-u")
    head = metarates_head(str(directory), files, tasks, tests, own=own, fsync=given.has("-s"))
    head += "Creating Unique Subdirs...\n" if own else ""
    print_notes([*given.traps, *_notes(directory, tests)])
    shown: set[str] = set()

    def lines(_run: PlannedRun, result: TestResult) -> str:
        shown.add(result.test)
        return metarates_lines([rates_of(result, files // tasks)])

    study = study_of(given, directory, _table(given, tasks, files, tests))
    try:
        done = do_study(given, study, head=head, tested=lines)
    finally:
        door.close()
    ((_, record),) = done.runs()
    # On a terminal, and on a modelled host, which is done at once, none is printed before the end.
    left = [result for result in record.results or () if result.test not in shown]
    if left:
        sys.stdout.write(metarates_lines([rates_of(result, files // tasks) for result in left]))


def _notes(directory: Path, tests: list[str]) -> list[str]:
    """Notes that a reader needs to compare the rates with those of metarates itself."""
    found = " and ".join(test for test in ("stat", "utime") if test in tests)
    if not found or len(directory.parts) < 2:
        return []
    return [
        f"{found}: rates are higher than metarates' own: names are looked up from {directory}, where metarates looks "
        f"up its {len(directory.parts)} parts for each; to have both alike, work in the directory above and give -d "
        "one part"
    ]


def _make(directory: Path) -> None:
    try:
        make_directory("metarates", str(directory))
    except OSError as error:
        raise Refused(
            f"metarates: -d {directory}", f"cannot be made: {error.strerror}", code="unwritable"
        ) from error


def _table(given: GivenFlags, tasks: int, files: int, tests: list[str]) -> Measure:
    return Measure(
        workload=tuple(f"metarates.{test}" for test in tests),
        threads=tasks,
        repeat=1,
        stop=StopRule(operations=files),
        files="per_thread" if given.has("-u") else "shared",
        sync="fsync" if given.has("-s") else "none",
    )


def rates_of(result: TestResult, files: int) -> Rates:
    """What metarates' lines need of a test in which each task handles `files` files."""
    spans = [task.operate_ns for task in result.record.tasks if task.operate_ns is not None]
    seconds = tuple(max(end - start, 1) / 1e9 for start, end in spans)
    return Rates(result.test, files, seconds)
