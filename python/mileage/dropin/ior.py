"""`mileage ior`: IOR's command line done as IOR does it, or kept as a study with `--study`.

Scope: which of the two; the tasks; the exit status. Without `--study` nothing is left but what IOR leaves.
What it refuses: what IOR refuses, in its words; flags of other interfaces than POSIX.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mileage.dropin.flags import GivenFlags
from mileage.dropin.ior_parameters import IorError, UnknownDirective, check, tests_of
from mileage.dropin.task_values import print_failure, print_notes, tasks_of, wants_study
from mileage.dropin.tool_statuses import statuses_of
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, failure_of_ranks, run_ranks
from mileage.plan.ior_options import IorOptions
from mileage.targets.door import Door


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as IOR does; the exit status. Raises Refused and RunFailed."""
    if wants_study(given, Path(given.last("-o") or "testFile").parent):
        from mileage.dropin.ior_study import run_study

        run_study(given)
        return 0
    available = tasks_of(given)
    warnings: list[str] = []
    try:
        tests = tests_of(given)
        for options in tests:
            warnings += _settle(options, available)
            check(options)
    except UnknownDirective as error:
        sys.stdout.write(f"{error}\n")
        return statuses_of("ior").usage
    except IorError as error:
        sys.stdout.write("".join([*warnings, f"ERROR: {error}, (mileage)\n"]))
        return ABORTED
    from mileage.dropin.ior_events import run_and_print
    from mileage.execute.tool_tasks.ior import check_paths

    door, faults = Door("ior", given.every("--destroy")), Faults(available)
    try:
        check_paths(tests, door)
        print_notes(given)
        sys.stdout.write("".join(warnings))
        status = run_ranks(available, lambda ranks: run_and_print(tests, given.words, ranks, door, faults))
        print_failure(failure_of_ranks("ior", faults, door.remove_made))
        return status
    finally:
        door.close()


def _settle(options: IorOptions, available: int) -> list[str]:
    """Set what follows from the tasks that there are; IOR's warnings of it."""
    warnings = []
    if options.numtasks > available:
        warnings = [
            f"WARNING: More tasks requested ({options.numtasks}) than available ({available}),\n",
            f"WARNING:          running with {available} tasks.\n\n",
        ]
    options.numtasks = available if options.numtasks == -1 else min(options.numtasks, available)
    if options.repetitions <= 0:
        options.repetitions = 1
        warnings.append("WARNING: too few test repetitions. Using value of 1.\n")
    return warnings
