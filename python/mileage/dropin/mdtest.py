"""`mileage mdtest`: mdtest's command line done as mdtest does it, or kept as a study with `--study`.

Scope: which of the two; the flags as values; the table. Without `--study` nothing is left but what mdtest leaves.
What it refuses: counts that leave nothing to do.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from mileage.dropin.flags import GivenFlags
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
from mileage.formats.ior_listing import file_system_text
from mileage.formats.metadata_print import MDTEST_VERSION, mdtest_table, mdtest_times
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


# The lines of mdtest 4.0.0 around its tables: before and after them, and what `-v` adds.
# Scope: the text alone. Lines of `-v` bear the number of the line of mdtest.c that prints them, as scripts find them.
# Those that begin with "Entering", which follow mdtest through its functions, are not printed.

_KIND_LINES: Final = {
    "dir": {
        "create": (1113, "   Directory creation"),
        "stat": (1114, "   Directory stat    "),
        "rename": (1115, "   Directory rename "),
        "remove": (1116, "   Directory removal "),
    },
    "file": {
        "create": (1399, "  File creation     "),
        "stat": (1403, "  File stat         "),
        "read": (1404, "  File read         "),
        "remove": (1405, "  File removal      "),
    },
}
_TREE_LINES: Final = {
    "tree_create": (2091, "V-1: main:   Tree creation     "),
    "tree_remove": (2201, "main   Tree removal      "),
}


def _verbose(line: int, text: str, *, level: int = 1, rank: int = 0) -> str:
    return f"V-{level}: Rank {rank:3d} Line {line:5d} {text}"


def _figures(seconds: float, per_s: float) -> str:
    return f": {seconds:14.3f} sec, {per_s:14.3f} ops/sec"


def iteration_line(iteration: int) -> str:
    """The beginning of an iteration, counted from 0."""
    return _verbose(2015, f"main: * iteration {iteration + 1} *")


def tree_line(test: str, done: tuple[int, float]) -> str:
    """Time and rate of the first task's tree, from its directories and seconds."""
    line, name = _TREE_LINES[test]
    return _verbose(line, name + _figures(done[1], done[0] / max(done[1], 1e-9)))


def kind_lines(
    kind: str, done: Mapping[str, tuple[int, float]], stonewall: tuple[float, int] | None
) -> list[str]:
    """Time and rate of the phases of directories or files, from the first task's items and seconds; 0 for the others.

    `stonewall` has the seconds and the items of all tasks at the stonewall, which mdtest prints as a rate.
    """
    found = []
    for phase, (line, name) in _KIND_LINES[kind].items():
        items, seconds = done.get(phase, (0, 0.0))
        found.append(_verbose(line, name + _figures(seconds, items / max(seconds, 1e-9))))
        if phase == "create" and kind == "file" and stonewall is not None:
            found.append(_verbose(1401, f"  File creation (stonewall){_figures(*stonewall)}"))
    return found


def stonewall_line(counts: Sequence[int]) -> str:
    """What tasks that did not all reach their items had at the stonewall."""
    mean = sum(counts) / len(counts)
    return f"Continue stonewall hit min: {min(counts)} max: {max(counts)} avg: {mean:.1f} \n"


def hit_line(rank: int, items: int) -> str:
    """What every rank says of itself at the stonewall."""
    return _verbose(1124, f"stonewall hit with {items} items", rank=rank)


def catch_up_line(rank: int, items: int, most: int) -> str:
    """What every rank says of itself before it makes as many items as the one that made most."""
    return _verbose(1212, f"stonewall: {items} of {most}", rank=rank)


def mdtest_head(given: GivenFlags, options: MdtestOptions, tasks: int) -> str:
    """What mdtest prints before its first phase."""
    place = options.directories[0]
    quoted = "".join(f" '{word}'" for word in given.words)
    stamp = ["V-1: Entering PrintTimestamp..."] if options.verbose else []
    lines = [
        *stamp,
        f"-- started at {_now()} --\n",
        f"mdtest-{MDTEST_VERSION} was launched with {tasks} total task(s) on 1 node(s)",
        f"Command line used: mdtest{quoted}",
    ]
    if "read" in options.phases and not options.read:
        # Every task prints this line.
        lines += ["WARNING: Read bytes is 0, thus, a read test will actually just open/close"] * tasks
    if options.verbose:
        named = [flag for flag in ("-C", "-T", "-E", "-r", "-U") if given.has(flag)]
        lines += [] if named else [_verbose(1767, "main: Setting create/stat/read/remove_only to True")]
        lines += _parameters(given, options)
    lines += [
        f"{'Path':<20}: {place}",
        f"{'FS':<20}: {file_system_text(_above(Path(place)))}",
        f"Nodemap: {'1' * tasks}",
    ]
    if options.stride:
        lines.append(_verbose(2537, f"Shifting ranks by {options.stride} for each phase.", level=0))
    if options.random_seed > 0:
        lines.append(f"random seed: {options.random_seed}")
    lines += [_items(options, tasks)] if options.kinds else []
    if options.verbose:
        heading = (
            "",
            "   Operation               Duration              Rate",
            "   ---------               --------              ----",
        )
        lines += [_verbose(2622 + at, text) for at, text in enumerate(heading)]
    return "\n".join(lines) + "\n"


def mdtest_end(options: MdtestOptions, errors: int) -> str:
    """What mdtest prints after its tables."""
    text = ""
    if errors:
        text = f"\nERROR: verifying the data on read ({errors} errors)! Take the performance values with care!\n\n"
    stamp = "V-1: Entering PrintTimestamp...\n" if options.verbose else ""
    return f"{text}{stamp}-- finished at {_now()} --\n\n"


def _now() -> str:
    return time.strftime("%m/%d/%Y %H:%M:%S")


def _above(directory: Path) -> Path:
    """The nearest directory that is there."""
    return next(path for path in (directory, *directory.absolute().parents) if path.is_dir())


def _items(options: MdtestOptions, tasks: int) -> str:
    if options.shared and options.kinds == ("file",):
        return f"{tasks} tasks, 1 file"
    kinds = "files/directories"
    if len(options.kinds) == 1:
        kinds = "files" if options.kinds == ("file",) else "directories"
    return f"{tasks} tasks, {tasks * options.items} {kinds}"


def _parameters(given: GivenFlags, options: MdtestOptions) -> Iterable[str]:
    """The parameters as `-v` prints them, with mdtest's own mistake in `remove_only`."""
    phases, yes = options.phases, {True: "True", False: "False"}
    first = (
        ("api", given.last("-a") or "(null)"),
        ("barriers", yes[options.barriers]),
        ("collective_creates", yes[options.collective]),
        ("create_only", yes["create" in phases]),
    )
    rest = {
        2396: ("dirs_only", yes["dir" in options.kinds]),
        2397: ("read_bytes", options.read),
        2398: ("read_only", yes["read" in phases]),
        2399: ("first", 1),
        2400: ("files_only", yes["file" in options.kinds]),
        2404: ("iterations", options.iterations),
        2405: ("items_per_dir", given.last("-I") or 0),
        2406: ("last", 0),
        2407: ("leaf_only", yes[options.leaves]),
        2408: ("items", given.last("-n") or 0),
        2409: ("nstride", options.stride),
        2410: ("pre_delay", options.pause_s),
        2411: ("remove_only", yes[options.leaves]),
        2412: ("random_seed", options.random_seed),
        2413: ("stride", 1),
        2414: ("shared_file", yes[options.shared]),
        2415: ("time_unique_dir_overhead", yes[given.has("-t")]),
        2416: ("stone_wall_timer_seconds", options.stonewall_s),
        2417: ("stat_only", yes["stat" in phases]),
        2418: ("unique_dir_per_task", yes[options.own]),
        2419: ("write_bytes", options.written),
        2420: ("sync_file", yes[options.sync]),
        2421: ("call_sync", yes[options.sync_phase]),
        2422: ("depth", options.depth),
        2423: ("make_node", int(options.mknod)),
    }
    yield from (_verbose(2388 + at, f"{name:<24}: {value}") for at, (name, value) in enumerate(first))
    yield _verbose(2392, "dirpath(s):")
    yield from (_verbose(2394, f"\t{directory}") for directory in options.directories)
    yield from (_verbose(line, f"{name:<24}: {value}") for line, (name, value) in rest.items())


def warning_text(operation: str, kind: str, path: str, rank: int) -> str:
    """What mdtest says of a call that failed and does not end it. `kind`: dir, file, or tree (its own directories)."""
    if operation == "unlink":
        return f'[RANK {rank:03d}]: unlink() of file "{path}" failed'
    if kind == "tree":
        return (
            f"unable to create tree directory '{path}'"
            if operation == "mkdir"
            else f"Unable to remove directory {path}"
        )
    verb = {"mkdir": "create", "rmdir": "remove"}.get(operation, operation)
    return f"unable to {verb} {'directory' if kind == 'dir' else 'file'} {path}"


def failure_text(operation: str, path: str, number: int) -> str:
    """What mdtest says of a call that ends it."""
    words = os.strerror(number)
    if operation == "create":
        return f'open64("{path}", {os.O_CREAT | os.O_RDWR}, 0664) failed. Error: {words}'
    if operation == "read":
        return f'open64("{path}", {os.O_RDWR}) failed: {words}'
    return f"{operation} failed"


class MdtestPrinter:
    """Prints what happens on one rank (`execute.tool_tasks.mdtest.MdtestEvents`)."""

    def __init__(
        self, options: MdtestOptions, rank: int, head: str, table: Callable[[Results, int], str]
    ) -> None:
        """`table`: the text behind the head, from results and errors."""
        self._options, self._rank, self._head, self._table = options, rank, head, table

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _print_verbose(self, lines: Iterable[str]) -> None:
        if self._options.verbose and self._rank == 0:
            self._print("\n".join([*lines, ""]))

    def begins(self) -> None:
        """See `MdtestEvents`; so are the others."""
        if self._rank == 0:
            self._print(self._head)

    def iterates(self, iteration: int) -> None:
        self._print_verbose([iteration_line(iteration)])

    def makes_tree(self, test: str, done: Done) -> None:
        self._print_verbose([tree_line(test, done)])

    def does_kind(self, kind: str, done: Mapping[str, Done], stonewall: tuple[float, int] | None) -> None:
        self._print_verbose(kind_lines(kind, done, stonewall))

    def stonewalls(self, items: int) -> None:
        if self._options.verbose:
            self._print(f"{hit_line(self._rank, items)}\n")

    def wears_out(self, counts: Sequence[int], items: int) -> None:
        if self._rank == 0:
            self._print(f"{stonewall_line(counts)}\n")
        if self._options.verbose:
            self._print(f"{catch_up_line(self._rank, items, max(counts))}\n")

    def has_no_status(self) -> None:
        if self._rank == 0:
            self._print("WARNING: Could not read stonewall status file\n")

    def warns(self, operation: str, kind: str, path: str, number: int) -> None:
        text = warning_text(operation, kind, path, self._rank)
        if self._options.warnings_are_errors:
            raise OSError(number, text)
        self._print(f"WARNING: {text}\n")

    def failure(self, operation: str, path: str, number: int) -> str:
        return failure_text(operation, path, number)

    def ends(self, results: Results, errors: int) -> None:
        if self._rank == 0:
            self._print(self._table(results, errors))

    def is_interrupted(self, results: Results, errors: int) -> None:
        if self._rank == 0 and results:
            # Without the line that says that all was finished.
            self._print(f"{self._table(results, errors).partition('-- finished')[0].rstrip()}\n")
