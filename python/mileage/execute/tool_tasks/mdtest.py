"""The phases of mdtest done as mdtest does them: its names, its paths, its order of calls.

Scope: every rank makes, stats, reads and removes its items with whole paths; rank 0 makes the tree of all. A directory
of `-d` that does not exist is made, and removed at the end. What one call leaves (-C), a later one finds (-T, -r).
An error of a call ends all ranks with 255, as MPI_Abort does; data that differ are counted, and the run ends with 0.
What is printed, and when a warning is an error, an `MdtestEvents` decides.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from mileage import _core
from mileage.errors import Refused
from mileage.execute.signals import Termination, end_by_signal, sigterm_as_exception
from mileage.execute.tool_tasks.ranks import Faults, Ranks, status_of_rank
from mileage.plan.mdtest_options import Group, MdtestOptions, count_of
from mileage.regular_file import read_text
from mileage.targets.door import Door, NameDirectory, check_directory, make_directory, remove_empty_directory
from mileage.targets.room import Room

STATUS_FILE: Final = "stonewall-status"
"""Kind of a result: the number of items at a stonewall."""
NAMES: Final = r"mdtest_tree(\.[0-9]+)+|(file|dir)\.mdtest\.(shared|[0-9]+)\.[0-9]+(-XX)?"
"""Names that mdtest gives below the directory of an iteration."""
Done = tuple[int, float]
"""What a rank did in a test: operations, seconds until the end of all."""
Results = dict[str, list[list[Done]]]
"""By test, for each iteration what each rank did."""


class MdtestEvents(Protocol):
    """Receiver of what happens on one rank."""

    def begins(self) -> None:
        """The command begins."""

    def iterates(self, iteration: int) -> None:
        """An iteration begins."""

    def makes_tree(self, test: str, done: Done) -> None:
        """The trees are made or removed."""

    def does_kind(self, kind: str, done: Mapping[str, Done], stonewall: tuple[float, int] | None) -> None:
        """The phases of directories or files are over; `stonewall`: seconds and items of all ranks then."""

    def stonewalls(self, items: int) -> None:
        """The time of -W is over on this rank."""

    def wears_out(self, counts: Sequence[int], items: int) -> None:
        """Ranks did not all make their items; `items`: those of this rank."""

    def has_no_status(self) -> None:
        """The status file cannot be read."""

    def warns(self, operation: str, kind: str, path: str, number: int) -> None:
        """A call failed, which does not end the run. May raise OSError, so that it does."""

    def failure(self, operation: str, path: str, number: int) -> str:
        """What the failure of a call that ends the run is called."""
        ...

    def ends(self, results: Results, errors: int) -> None:
        """The run is over."""

    def is_interrupted(self, results: Results, errors: int) -> None:
        """The run ends by a signal; `results`: what was finished."""


class MdtestRank:
    """One rank of a run."""

    def __init__(self, options: MdtestOptions, ranks: Ranks, events: MdtestEvents, door: Door) -> None:
        self._options, self._ranks, self._events, self._door = options, ranks, events, door
        self.results: Results = {}
        self.errors = 0
        self._base = ""
        """The directory of `-d` of this rank."""
        self._place = ""
        """Name of the iteration's directory in it, in which all names are."""
        self._folder: NameDirectory | None = None
        self._done = options.items
        self._stonewall: tuple[float, int] | None = None
        """Seconds and items of all ranks at the stonewall of the last creation of files."""

    def run(self) -> None:
        """Do all iterations. Raises OSError, Refused and RankLost."""
        options, ranks = self._options, self._ranks
        self._base = options.directories[ranks.rank % len(options.directories)]
        made = not os.path.exists(self._base)
        ranks.barrier()
        if made and not options.dummy:
            make_directory("mdtest", self._base, parents=True)
        ranks.barrier()
        for iteration in range(options.iterations):
            self._place = place_name(iteration)
            self._events.iterates(iteration)
            self._done = options.items
            self._iteration()
        ranks.barrier()
        if "remove" in options.phases and made and ranks.rank == 0:
            remove_empty_directory(self._base)

    def _iteration(self) -> None:
        options = self._options
        self._open_place()
        if "create" in options.phases:
            self._tree("mkdir", "tree_create")
        for kind in options.kinds:
            if options.pause_s:
                time.sleep(options.pause_s)
            for phase in options.phases_of(kind, options.phases):
                self._phase(kind, phase)
            done = {phase: self._last(f"{kind}_{phase}") for phase in options.phases}
            self._events.does_kind(kind, done, self._stonewall)
        self._ranks.barrier()
        if "remove" in options.phases:
            self._tree("rmdir", "tree_remove")
            self._ranks.barrier()
        if self._folder is not None:
            if self._is_first_here and "remove" in options.phases:
                self._folder.remove_if_empty()
            elif self._is_first_here:
                self._folder.seal()
            self._folder.close()

    @property
    def _is_first_here(self) -> bool:
        """Whether it is the first rank that works in its directory."""
        return self._ranks.rank < len(self._options.directories)

    def _open_place(self) -> None:
        """Make or open the directory of the iteration: the first rank there, then the others."""
        if self._options.dummy:
            return
        self._folder = None
        for first in (True, False):
            if self._is_first_here == first:
                # One that is missing and not made has missing names, each of which is an error of its own.
                with suppress(FileNotFoundError):
                    self._folder = open_place(self._options, self._door, self._base, self._place)
            self._ranks.barrier()

    def _last(self, test: str) -> Done:
        """What this rank did in the last iteration of a test."""
        found = self.results.get(test)
        return found[-1][self._ranks.rank] if found else (0, 0.0)

    def _add(self, test: str, done: Done) -> None:
        """Keep what all ranks did in a test."""
        self.results.setdefault(test, []).append(self._ranks.gather(done))

    def _tree(self, operation: str, test: str) -> None:
        """Make or remove the directories of the trees."""
        options, ranks = self._options, self._ranks
        began = time.monotonic()
        if ranks.rank == 0 or (options.own and not options.collective):
            wanted = range(ranks.count) if options.own and options.collective else (ranks.rank,)
            paths = [path for one in wanted for path in options.tree_paths(one)]
            if operation == "rmdir":
                paths.reverse()
            groups: list[Group] = [{"prefix": path, "numbers": "plain"} for path in paths]
            self._names(operation, groups, most=len(groups), kind="tree")
        ranks.barrier()
        self._add(test, (options.nodes, time.monotonic() - began))
        self._events.makes_tree(test, self._last(test))

    def _groups(self, kind: str, phase: str, rank: int) -> list[Group]:
        return self._options.groups(kind, phase, rank, self._ranks.count)

    def _phase(self, kind: str, phase: str) -> None:
        """One test of all ranks."""
        options, ranks = self._options, self._ranks
        operation, groups = options.call_of(kind, phase), self._groups(kind, phase, ranks.rank)
        if phase == "create" and not options.stonewall_s:
            self._done = options.items
        elif phase != "create" and options.status_file and "create" not in options.phases:
            self._done = self._kept_items()
        if options.barriers:
            ranks.barrier()
        began = time.monotonic()
        if options.collective and kind == "file" and phase in ("create", "remove"):
            # Inside the timed window: the first task's work is that of all.
            self._collective(phase, operation)
        # With -S every task makes the one set of files, and the first one removes it.
        alone = options.collective or (options.shared and ranks.rank > 0)
        has_wall = bool(options.stonewall_s) and (kind, phase) == ("file", "create")
        if not (alone and (kind, phase) == ("file", "remove")):
            done = self._names(
                operation,
                groups,
                size=options.written if phase == "create" else options.read,
                most=self._done if kind == "file" else options.items,
                kind=kind,
                deadline_s=options.stonewall_s if has_wall else 0,
            )
            if has_wall:
                self._wear_out(groups, operation, done, began)
        if options.sync_phase:
            os.sync()
        if options.barriers:
            ranks.barrier()
        seconds = time.monotonic() - began
        self._add(f"{kind}_{phase}", (self._done if kind == "file" else options.items, seconds))

    def _wear_out(self, groups: list[Group], operation: str, done: int, began: float) -> None:
        """After the stonewall every rank makes as many items as the one that made most."""
        options, ranks = self._options, self._ranks
        self._events.stonewalls(done)
        counts = ranks.gather(done)
        self._stonewall = (time.monotonic() - began, sum(counts))
        if sum(counts) // len(counts) != options.items:
            self._events.wears_out(counts, done)
        most = self._done = max(counts)
        if done < most:
            self._names(operation, groups, size=options.written, most=most, done=done)
        if options.status_file and ranks.rank == 0:
            from mileage.targets.door import write_result

            write_result("mdtest", options.status_file, STATUS_FILE, str(most))

    def _kept_items(self) -> int:
        try:
            return int(read_text(Path(self._options.status_file)))
        except (OSError, ValueError, Refused):
            self._events.has_no_status()
            return self._options.items

    def _collective(self, phase: str, operation: str) -> None:
        """Rank 0 makes or removes the files of all."""
        if self._ranks.rank == 0:
            for rank in range(self._ranks.count):
                self._names(operation, self._groups("file", phase, rank), most=self._options.items)
        self._ranks.barrier()

    def _names(
        self,
        operation: str,
        groups: list[Group],
        *,
        size: int = 0,
        most: int,
        kind: str = "file",
        deadline_s: float = 0.0,
        done: int = 0,
    ) -> int:
        """Call the operation on names; how many there are until then."""
        options = self._options
        if options.dummy:
            return min(most, sum(map(count_of, groups)))
        if self._folder is not None:
            folder = self._folder.descriptor
        else:
            folder = self._door.folder_of(f"{self._base}/{self._place}") or 0
            groups = [{**one, "prefix": f"{self._place}/{one['prefix']}"} for one in groups]
        work = {
            "operation": operation,
            "groups": groups,
            "bytes": size,
            "content": {
                "kind": options.packet,
                "rank": 0,
                "signature": options.signature,
                "given_signature": options.signature,
            },
            "sync": options.sync,
            "compare": options.compare,
            "deadline_s": float(deadline_s),
            "most": most,
            "done": done,
        }
        found: dict[str, Any] = json.loads(_core.run_names(folder, json.dumps(work)))
        self.errors += found["errors"]
        for name, number in found["warnings"]:
            self._events.warns(operation, kind, self._path_of(name), number)
        if found["failed"] is not None:
            name, number = found["failed"]
            raise OSError(number, self._events.failure(operation, self._path_of(name), number))
        return int(found["operations"])

    def _path_of(self, name: str) -> str:
        """A name as mdtest prints it: with all that is above."""
        return f"{self._base.rstrip('/') or '/'}/{self._place}/{name.removeprefix(f'{self._place}/')}"


def place_name(iteration: int) -> str:
    """The directory of an iteration, below that of `-d`."""
    return f"test-dir.{iteration}-0"


def open_place(options: MdtestOptions, door: Door, base: str, name: str) -> NameDirectory:
    """Open the directory of an iteration; one that is only read may be anybody's. Raises Refused and OSError."""
    changes = bool({"create", "rename", "remove"} & set(options.phases))
    return door.names(base, name, NAMES, makes="create" in options.phases, changes=changes)


def check_places(options: MdtestOptions, door: Door, tasks: int) -> list[tuple[str, str]]:
    """Refuse directories that are not of an earlier call, and what does not fit; those that will be made.

    Raises Refused.
    """
    if options.status_file and options.stonewall_s:
        from mileage.targets.door import check_result

        check_result("mdtest", options.status_file, STATUS_FILE)
    if options.dummy:
        return []
    room = Room("mdtest")
    free = []
    for at, base in enumerate(options.directories):
        check_directory("mdtest", base)
        for name in map(place_name, range(options.iterations)):
            if os.path.lexists(os.path.join(base, name)):
                open_place(options, door, base, name).close()
            else:
                free.append((base, name))
            if "remove" in options.phases:
                door.passing(os.path.join(base, name), NAMES)
        if "remove" in options.phases and not os.path.exists(base):
            door.passing(base, "empty")
        if "create" in options.phases and not options.stonewall_s:
            files, size = options.needs(len(range(at, tasks, len(options.directories))))
            # What an iteration does not remove stays for the next.
            times = 1 if "remove" in options.phases else options.iterations
            room.add(os.path.join(base, "?"), size * times, files * times)
    room.check()
    door.list_passing()
    return free


def remove_made(options: MdtestOptions, door: Door, made: Sequence[tuple[str, str]]) -> None:
    """Remove the directories that a failed command made, with all names of mdtest in them."""
    for base, name in made:
        with suppress(OSError):
            folder = open_place(options, door, base, name)
            folder.remove()
            folder.remove_if_empty()
            folder.close()
            remove_empty_directory(base)


def run_rank(options: MdtestOptions, ranks: Ranks, events: MdtestEvents, door: Door, faults: Faults) -> int:
    """Do a command on one rank; the exit status. What went wrong is noted in `faults`."""
    rank = MdtestRank(options, ranks, events, door)

    def do_all() -> int:
        try:
            with sigterm_as_exception():
                rank.run()
            errors: int = sum(ranks.gather(rank.errors))
        except (Termination, KeyboardInterrupt) as cause:
            events.is_interrupted(rank.results, rank.errors)
            if isinstance(cause, Termination):
                end_by_signal(signal.SIGTERM, at_once=True)
            raise
        events.ends(rank.results, errors)
        return 0

    events.begins()
    return status_of_rank(ranks.rank, faults, do_all)
