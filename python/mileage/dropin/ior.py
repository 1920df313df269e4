"""`mileage ior`: IOR's command line done as IOR does it, or kept as a study with `--study`.

Scope: which of the two; the tasks; the exit status. Without `--study` nothing is left but what IOR leaves.
What it refuses: what IOR refuses, in its words; flags of other interfaces than POSIX.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mileage.dropin.flags import GivenFlags
from mileage.dropin.ior_parameters import IorError, UnknownDirective, check, tests_of
from mileage.dropin.ranks import ABORTED, run_ranks
from mileage.dropin.task_values import print_notes, tasks_of, wants_study
from mileage.dropin.tool_statuses import statuses_of


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as IOR does; the exit status. Raises Refused and RunFailed."""
    if wants_study(given, Path(given.last("-o") or "testFile").parent):
        from mileage.dropin.ior_study import run_study

        run_study(given)
        return 0
    available = tasks_of(given)
    print_notes(given)
    try:
        tests = tests_of(given)
        for options in tests:
            if options.numtasks > available:
                sys.stdout.write(
                    f"WARNING: More tasks requested ({options.numtasks}) than available ({available}),\n"
                )
                sys.stdout.write(f"WARNING:          running with {available} tasks.\n\n")
            options.numtasks = available if options.numtasks == -1 else min(options.numtasks, available)
            if options.repetitions <= 0:
                options.repetitions = 1
                sys.stdout.write("WARNING: too few test repetitions. Using value of 1.\n")
            check(options)
    except UnknownDirective as error:
        sys.stdout.write(f"{error}\n")
        return statuses_of("ior").usage
    except IorError as error:
        sys.stdout.flush()
        sys.stdout.write(f"ERROR: {error}, (mileage)\n")
        return ABORTED
    from mileage.dropin.ior_run import run_tests

    return run_ranks(available, lambda ranks: run_tests(tests, given.words, ranks))
