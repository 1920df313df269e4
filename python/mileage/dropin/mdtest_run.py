"""The phases of mdtest done as mdtest does them: its names, its paths, its order of calls.

Scope: every rank makes, stats, reads and removes its items with whole paths; rank 0 makes the tree of all. A directory
of `-d` that does not exist is made, and removed at the end. What one call leaves (-C), a later one finds (-T, -r).
An error of a call ends all ranks with 255, as MPI_Abort does; data that differ are counted, and the run ends with 0.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mileage import _core
from mileage.dropin.mdtest_text import (
    catch_up_line,
    failure_text,
    hit_line,
    iteration_line,
    kind_lines,
    stonewall_line,
    tree_line,
    warning_text,
)
from mileage.errors import MileageError, Refused
from mileage.execute.signals import Termination, end_by_signal, sigterm_as_exception
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, RankLost, Ranks
from mileage.plan.mdtest_options import MdtestOptions
from mileage.regular_file import read_text
from mileage.targets.door import (
    Door,
    NameDirectory,
    check_result,
    make_directory,
    remove_empty_directory,
    write_result,
)
from mileage.targets.room import Room

STATUS_FILE: Final = "stonewall-status"
"""Kind of a result: the number of items at a stonewall."""
NAMES: Final = r"mdtest_tree(\.[0-9]+)+|(file|dir)\.mdtest\.(shared|[0-9]+)\.[0-9]+(-XX)?"
"""Names that mdtest gives below the directory of an iteration."""
_BLOCK: Final = 4096
"""Least space that a file with content takes."""


class MdtestRank:
    """One rank of a run."""

    def __init__(self, options: MdtestOptions, ranks: Ranks, door: Door) -> None:
        self._options, self._ranks, self._door = options, ranks, door
        self.results: dict[str, list[list[Any]]] = {}
        """By test, for each iteration what each rank did: operations, seconds until the end of all."""
        self.errors = 0
        self._base = ""
        """The directory of `-d` of this rank."""
        self._place = ""
        """Name of the iteration's directory in it, in which all names are."""
        self._folder: NameDirectory | None = None
        self._done = options.items
        self._stonewall: tuple[float, int] | None = None
        """Seconds and items of all ranks at the stonewall of the last creation of files."""
        self.errors = 0

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
            self._print([iteration_line(iteration)])
            self._done = options.items
            self._iteration()
        ranks.barrier()
        if "remove" in options.phases and made and ranks.rank == 0:
            remove_empty_directory(self._base)

    def _print(self, lines: Iterable[str]) -> None:
        """Lines of a verbose listing, by rank 0."""
        if self._options.verbose and self._ranks.rank == 0:
            _say("\n".join(lines))

    def _iteration(self) -> None:
        options = self._options
        self._open_place()
        if "create" in options.phases:
            self._tree("mkdir", "tree_create")
            self._print([tree_line("tree_create", self._last("tree_create"))])
        for kind in options.kinds:
            if options.pause_s:
                time.sleep(options.pause_s)
            for phase in options.phases:
                is_odd = phase == ("read" if kind == "dir" else "rename")
                if not is_odd:
                    self._phase(kind, phase)
            done = {phase: self._last(f"{kind}_{phase}") for phase in options.phases}
            self._print(kind_lines(kind, done, self._stonewall))
        self._ranks.barrier()
        if "remove" in options.phases:
            self._tree("rmdir", "tree_remove")
            self._print([tree_line("tree_remove", self._last("tree_remove"))])
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

    def _last(self, test: str) -> tuple[int, float]:
        """What this rank did in the last iteration of a test: operations, seconds."""
        found = self.results.get(test)
        return tuple(found[-1][self._ranks.rank]) if found else (0, 0.0)

    def _tree_root(self, rank: int) -> tuple[str, str]:
        """Path of a rank's tree, and the beginning of its directories' names."""
        name = f"mdtest_tree.{rank}" if self._options.own else "mdtest_tree"
        return f"{name}.0", name

    def _tree(self, operation: str, test: str) -> None:
        """Make or remove the directories of the trees."""
        options, ranks = self._options, self._ranks
        own = options.own and not options.collective
        rank = ranks.rank
        done: dict[str, Any] = {"operations": 0, "seconds": 0.0}
        began = time.monotonic()
        if own or rank == 0:
            wanted = range(ranks.count) if options.own and options.collective else (rank,)
            paths = [path for one in wanted for path in self._tree_paths(one)]
            if operation == "rmdir":
                paths.reverse()
            groups = [{"prefix": path, "numbers": "plain"} for path in paths]
            done = self._names(operation, groups, most=len(groups), kind="tree")
        ranks.barrier()
        seconds = time.monotonic() - began
        found = ranks.gather((options.nodes if own or rank == 0 else 0, seconds))
        self.results.setdefault(test, []).append([(options.nodes, seconds) for _, seconds in found])
        del done

    def _tree_paths(self, rank: int) -> Iterator[str]:
        root, name = self._tree_root(rank)

        def below(path: str, number: int, level: int) -> Iterator[str]:
            yield f"{path}/"
            if level < self._options.depth:
                for child in range(1, self._options.branch + 1):
                    at = number * self._options.branch + child
                    yield from below(f"{path}/{name}.{at}", at, level + 1)

        yield from below(root, 0, 0)

    def _groups(self, kind: str, phase: str, rank: int) -> list[dict[str, Any]]:
        """The names of a rank in a phase, by directory."""
        options, ranks = self._options, self._ranks
        step = {"create": 0, "stat": 1, "rename": 1, "read": 2, "remove": 3}[phase]
        owner = (rank + step * options.stride) % ranks.count
        label = "mdtest.shared." if options.shared else f"mdtest.{owner}."
        if options.own:
            # mdtest gives the directory of creation the number after the one of its names when there is a stride.
            place = {"create": 0, "stat": 2, "rename": 1, "read": 3, "remove": 4}[phase]
            if options.stride:
                place = {"create": 1, "stat": 2, "rename": 2, "read": 3, "remove": 4}[phase]
            root, name = self._tree_root((rank + place * options.stride) % ranks.count)
        else:
            root, name = self._tree_root(0)
        share = options.items_per_directory
        groups = []
        deep = phase in ("create", "remove")
        for path, number, level in self._nodes(root, name, deep):
            if not options.leaves or level == options.depth:
                groups.append(
                    {
                        "prefix": f"{path}/{kind}.{label}",
                        "numbers": {"range": {"first": number * share, "count": share}},
                    }
                )
        if options.random and phase in ("stat", "read"):
            return self._shuffled(groups)
        return groups

    def _nodes(self, root: str, name: str, depth_first: bool) -> list[tuple[str, int, int]]:
        """Path, number and level of each directory, in the order in which a phase visits them."""
        branch = self._options.branch
        found: list[tuple[str, int, int]] = []

        def visit(path: str, number: int, level: int) -> None:
            found.append((path, number, level))
            if level < self._options.depth:
                for child in range(1, branch + 1):
                    at = number * branch + child
                    visit(f"{path}/{name}.{at}{'/' if depth_first else ''}", at, level + 1)

        visit(root, 0, 0)
        return found if depth_first else sorted(found, key=lambda node: node[1])

    def _shuffled(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One group for each item, in an order that follows from the seed."""
        names = [
            {"prefix": group["prefix"], "numbers": {"list": [group["numbers"]["range"]["first"] + at]}}
            for group in groups
            for at in range(group["numbers"]["range"]["count"])
        ]
        seed = self._options.random_seed + self._ranks.rank
        drawn = _core.library_random(seed & 0xFFFFFFFF, len(names))
        for at in range(len(names) - 1, 0, -1):
            other = drawn[at] % (at + 1)
            names[at], names[other] = names[other], names[at]
        return names

    def _phase(self, kind: str, phase: str) -> None:
        """One test of all ranks."""
        options, ranks = self._options, self._ranks
        operation = {"create": "mkdir", "stat": "stat", "rename": "rename", "remove": "rmdir"}
        if kind == "file":
            create = "mknod" if options.mknod else "create"
            operation = {"create": create, "stat": "stat", "read": "read", "remove": "unlink"}
        groups = self._groups(kind, phase, ranks.rank)
        if phase == "create" and not options.stonewall_s:
            self._done = options.items
        elif phase != "create" and options.status_file and "create" not in options.phases:
            self._done = self._kept_items()
        if options.barriers:
            ranks.barrier()
        began = time.monotonic()
        if options.collective and kind == "file" and phase in ("create", "remove"):
            # Inside the timed window: the first task's work is that of all.
            self._collective(phase, operation[phase])
        # With -S every task makes the one set of files, and the first one removes it.
        alone = options.collective or (options.shared and ranks.rank > 0)
        skip = alone and phase == "remove" and kind == "file"
        done = (
            {"operations": 0}
            if skip
            else self._names(
                operation[phase],
                groups,
                size=options.written if phase == "create" else options.read,
                most=self._done if kind == "file" else options.items,
                kind=kind,
                deadline_s=options.stonewall_s if phase == "create" and kind == "file" else 0,
            )
        )
        if options.stonewall_s and phase == "create" and kind == "file":
            done = self._wear_out(groups, operation[phase], done, began)
        if options.sync_phase:
            os.sync()
        if options.barriers:
            ranks.barrier()
        seconds = time.monotonic() - began
        items = self._done if kind == "file" else options.items
        self.results.setdefault(f"{kind}_{phase}", []).append(ranks.gather((items, seconds)))

    def _wear_out(
        self, groups: list[dict[str, Any]], operation: str, done: dict[str, Any], began: float
    ) -> dict[str, Any]:
        """After the stonewall every rank makes as many items as the one that made most."""
        options, ranks = self._options, self._ranks
        if options.verbose:
            _say(hit_line(ranks.rank, done["operations"]))
        counts = ranks.gather(done["operations"])
        self._stonewall = (time.monotonic() - began, sum(counts))
        is_hit = sum(counts) // len(counts) != options.items
        if is_hit and ranks.rank == 0:
            _say(stonewall_line(counts))
        most = max(counts)
        if is_hit and options.verbose:
            _say(catch_up_line(ranks.rank, done["operations"], most))
        self._done = most
        if done["operations"] < most:
            done = self._names(
                operation, groups, size=self._options.written, most=most, done=done["operations"]
            )
        if self._options.status_file and self._ranks.rank == 0:
            write_result("mdtest", self._options.status_file, STATUS_FILE, str(most))
        return done

    def _kept_items(self) -> int:
        try:
            return int(read_text(Path(self._options.status_file)))
        except (OSError, ValueError, Refused):
            if self._ranks.rank == 0:
                _say("WARNING: Could not read stonewall status file")
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
        groups: list[dict[str, Any]],
        *,
        size: int = 0,
        most: int,
        kind: str = "file",
        deadline_s: float = 0.0,
        done: int = 0,
    ) -> dict[str, Any]:
        options = self._options
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
        if options.dummy:
            count = sum(_count_of(group["numbers"]) for group in groups)
            return {"operations": min(most, count), "seconds": 0.0}
        if self._folder is not None:
            folder = self._folder.descriptor
        else:
            folder = self._door.folder_of(f"{self._base}/{self._place}") or 0
            work["groups"] = [{**one, "prefix": f"{self._place}/{one['prefix']}"} for one in groups]
        found: dict[str, Any] = json.loads(_core.run_names(folder, json.dumps(work)))
        self.errors += found["errors"]
        for name, number in found["warnings"]:
            path = self._path_of(name)
            text = warning_text(operation, kind, path, self._ranks.rank)
            if options.warnings_are_errors:
                raise OSError(number, text)
            _say(f"WARNING: {text}")
        if found["failed"] is not None:
            name, number = found["failed"]
            path = self._path_of(name)
            raise OSError(number, failure_text(operation, path, number))
        return found

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
        check_result("mdtest", options.status_file, STATUS_FILE)
    if options.dummy:
        return []
    room = Room("mdtest")
    free = []
    for at, base in enumerate(options.directories):
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
            ranks = range(at, tasks, len(options.directories))
            files, size = _needs(options, len(ranks))
            # What an iteration does not remove stays for the next.
            times = 1 if "remove" in options.phases else options.iterations
            room.add(os.path.join(base, "?"), size * times, files * times)
    room.check()
    door.list_passing()
    return free


def remove_made(options: MdtestOptions, door: Door, made: list[tuple[str, str]]) -> None:
    """Remove the directories that a failed command made, with all names of mdtest in them."""
    for base, name in made:
        with suppress(OSError):
            folder = open_place(options, door, base, name)
            folder.remove()
            folder.remove_if_empty()
            folder.close()
            remove_empty_directory(base)


def _needs(options: MdtestOptions, tasks: int) -> tuple[int, int]:
    """Names and bytes of an iteration of some tasks."""
    trees = tasks if options.own else 1
    each = options.items * len(options.kinds)
    files = each * (1 if options.shared else tasks) + trees * options.nodes
    blocks = -(-options.written // _BLOCK) * _BLOCK if "file" in options.kinds else 0
    return files, blocks * options.items * (1 if options.shared else tasks)


def _count_of(numbers: Any) -> int:
    """Names of a group."""
    if numbers == "plain":
        return 1
    return len(numbers["list"]) if "list" in numbers else int(numbers["range"]["count"])


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run_rank(options: MdtestOptions, ranks: Ranks, head: str, table: Any, door: Door, faults: Faults) -> int:
    """Do a command on one rank; the exit status. `table` makes the text of rank 0 from the results."""
    if ranks.rank == 0:
        sys.stdout.write(head)
        sys.stdout.flush()
    rank = MdtestRank(options, ranks, door)
    try:
        with sigterm_as_exception():
            rank.run()
        errors: int = sum(ranks.gather(rank.errors))
    except (Termination, KeyboardInterrupt) as cause:
        if ranks.rank == 0 and rank.results:
            # What was finished, without the line that says that all was.
            sys.stdout.write(f"{table(rank.results, rank.errors).partition('-- finished')[0].rstrip()}\n")
            sys.stdout.flush()
        if isinstance(cause, Termination):
            end_by_signal(signal.SIGTERM, at_once=True)
        raise
    except OSError as error:
        faults.note(ranks.rank, error.errno or 0, error.strerror or str(error))
        return ABORTED
    except MileageError as error:
        faults.note(ranks.rank, 0, str(error))
        return ABORTED
    except RankLost:
        return ABORTED
    if ranks.rank == 0:
        sys.stdout.write(table(rank.results, errors))
        sys.stdout.flush()
    return 0
