"""`mileage mdtest`: mdtest's command line done as mdtest does it, or kept as a study with `--study`.

Scope: which of the two; the flags as values; the table. Without `--study` nothing is left but what mdtest leaves.
What it refuses: counts that leave nothing to do.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mileage.dropin.flags import GivenFlags
from mileage.dropin.mdtest_text import MdtestPrinter, mdtest_end, mdtest_head
from mileage.dropin.task_values import (
    number,
    packet_of,
    print_failure,
    print_notes,
    size_of,
    tasks_of,
    wants_study,
)
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.execute.tool_tasks.mdtest import Done, Results, check_places, remove_made, run_rank
from mileage.execute.tool_tasks.ranks import Faults, Ranks, failure_of_ranks, run_ranks
from mileage.formats.metadata_print import mdtest_table, mdtest_times
from mileage.judge.tasks import mdtest_per_s
from mileage.plan.ior_options import PACKETS
from mileage.plan.mdtest_options import CALLS, MdtestOptions
from mileage.targets.door import Door

_PHASES: Final = {"-C": "create", "-T": "stat", "-U": "rename", "-E": "read", "-r": "remove"}
_MOST: Final = 1 << 40


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as mdtest does; the exit status. Raises Refused and RunFailed."""
    if wants_study(given, Path(given.last("-d") or ".")):
        from mileage.dropin.mdtest_study import run_study

        run_study(given)
        return 0
    tasks = tasks_of(given)
    options = options_of(given)
    door, faults = Door("mdtest", given.every("--destroy")), Faults(tasks)
    try:
        made = check_places(options, door, tasks)
        print_notes(given)
        head = mdtest_head(given, options, tasks)
        table = functools.partial(_table, options, given.has("-P"), given.has("-Z"))

        def work(ranks: Ranks) -> int:
            return run_rank(options, ranks, MdtestPrinter(options, ranks.rank, head, table), door, faults)

        status = run_ranks(tasks, work)
        print_failure(failure_of_ranks("mdtest", faults, lambda: remove_made(options, door, made)))
        return status
    finally:
        door.close()


def options_of(given: GivenFlags) -> MdtestOptions:
    """The flags as values. Raises Refused."""
    named = [phase for flag, phase in _PHASES.items() if given.has(flag)]
    kinds = tuple(kind for flag, kind in (("-D", "dir"), ("-F", "file")) if given.has(flag))
    seed = number(given, "--random-seed", 0, 0, 1 << 31)
    options = MdtestOptions(
        directories=(given.last("-d") or "./out").split("@"),
        phases=tuple(named) if set(named) - {"rename"} else tuple(_PHASES.values()),
        kinds=kinds or ("dir", "file"),
        items=number(given, "-n", 0, 0, _MOST),
        items_per_directory=number(given, "-I", 0, 0, _MOST),
        iterations=number(given, "-i", 1, 1, 10_000),
        depth=number(given, "-z", 0, 0, 32),
        branch=number(given, "-b", 1, 1, 65536),
        leaves=given.has("-L"),
        own=given.has("-u"),
        stride=number(given, "-N", 0, 0, 1024),
        written=size_of(given, "-w", 0),
        read=size_of(given, "-e", 0),
        sync=given.has("-y"),
        sync_phase=given.has("-Y"),
        random=given.has("-R") or seed > 0,
        random_seed=seed or (int(time.time()) if given.has("-R") else 0),
        stonewall_s=number(given, "-W", 0, 0, 1 << 30),
        status_file=given.last("-x") or "",
        mknod=given.has("-k"),
        shared=given.has("-S"),
        collective=given.has("-c"),
        barriers=not given.has("-B"),
        pause_s=number(given, "-p", 0, 0, 86400),
        compare=given.has("-X"),
        signature=number(given, "-G", int(time.time()), 0, 0xFFFFFFFF),
        packet=_packet(given.last("--dataPacketType") or "t"),
        warnings_are_errors=given.has("--warningAsErrors"),
        dummy=given.last("-a") == "DUMMY",
        verbose=given.has("-v") or number(given, "-V", 0, 0, 99) > 0,
    )
    if options.nodes > 1_000_000:
        raise Refused("mdtest: -z and -b", "a tree of more than 1000000 directories", code="too-large")
    _refuse_pairs(options)
    options.settle()
    if options.shared:
        options.kinds = ("file",) if "file" in options.kinds else ()
    return options


def _refuse_pairs(options: MdtestOptions) -> None:
    """Refuse what mdtest 4.1 refuses, and a call whose files it does not find itself."""
    several = len(options.directories) > 1
    files = "file" in options.kinds
    if options.collective and options.own:
        raise Refused("mdtest: -c and -u", "mdtest does not find its own files then", code="conflict")
    pairs = (
        ("-c and -S", options.collective and options.shared),
        ("-c and several directories of -d", options.collective and several),
        ("-c and -B", options.collective and not options.barriers),
        ("-u and -S", options.own and options.shared),
        ("-N and several directories of -d", options.stride and several),
        ("-N and -B", options.stride and not options.barriers),
        ("-W and -B", options.stonewall_s and not options.barriers),
        ("-W and -b", options.stonewall_s and options.branch > 1),
        ("several directories of -d without -u", several and not options.own),
        ("-k and -w", options.mknod and options.written),
        (
            "-X without reading (-E and -e)",
            options.compare and not (options.read and "read" in options.phases),
        ),
        (
            "-e larger than -w",
            files and {"create", "read"} <= set(options.phases) and options.read > options.written,
        ),
    )
    for text, wrong in pairs:
        if wrong:
            raise ToolRefusal("mdtest", f"mdtest: {text}", "mdtest 4.1 refuses this too", code="conflict")


def _packet(text: str) -> str:
    found = packet_of(text)
    if found is None:
        where = f"mdtest: --dataPacketType {text}"
        raise ToolRefusal("mdtest", where, expected=", ".join(PACKETS), code="wrong-value", fault="value")
    return found


def _table(options: MdtestOptions, both: bool, times: bool, results: Results, errors: int) -> str:
    """The text behind the head, from the results of all ranks."""
    rates: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    tests = [test for test in CALLS if test.partition("_")[0] in options.kinds]
    for test in (*tests, "tree_create", "tree_remove"):
        found = results.get(test)
        if found is None:
            rates[test] = seconds[test] = [0.0] * options.iterations
            continue
        seconds[test] = [max(took for _, took in ranks) for ranks in found]
        rates[test] = [_rate(test, options, ranks) for ranks in found]
    text = ""
    if both or not times:
        text += "\n" + mdtest_table(rates)
    if both or times:
        text += "\n" + mdtest_times(seconds)
    return text + mdtest_end(options, errors)


def _rate(test: str, options: MdtestOptions, ranks: Sequence[Done]) -> float:
    if test.startswith("tree_"):
        items, took = min(ranks, key=lambda found: found[0] / max(found[1], 1e-9))
        return float(items / max(took, 1e-9)) * (len(ranks) if options.own else 1)
    return mdtest_per_s([items for items, _ in ranks], [max(took, 1e-9) for _, took in ranks])
