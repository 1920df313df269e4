"""The parameters of a run of mdtest, as its command line gives them, and what follows from them for each task.

Scope: names of files and directories, and the order in which a phase visits them. The call of each test, whose items
it works on and the size of a tree are written here once, for the command line and for studies (`plan.tasks`). Nothing
here needs the libraries of studies, because a small call must start fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mileage._core import library_random
from mileage.errors import Refused

CALLS: Final = {
    "dir_create": ("mkdir", 0),
    "dir_stat": ("stat", 1),
    "dir_rename": ("rename", 1),
    "dir_remove": ("rmdir", 3),
    "file_create": ("create", 0),
    "file_stat": ("stat", 1),
    "file_read": ("read", 2),
    "file_remove": ("unlink", 3),
}
"""Operation of each test, and the distance in strides to the task whose items it works on."""
_BLOCK: Final = 4096
"""Least space that a file with content takes."""
Group = dict[str, Any]
"""Names with a common beginning and their numbers, as the core reads them."""


def tree_directories(depth: int, branch: int) -> int:
    """Directories of a tree with `depth` levels below its root."""
    return sum(branch**level for level in range(depth + 1))


@dataclass
class MdtestOptions:
    """Parameters of a command line; sizes in bytes."""

    directories: list[str]
    phases: tuple[str, ...]
    """Of create, stat, rename, read, remove."""
    kinds: tuple[str, ...]
    """Of dir and file."""
    items: int = 0
    items_per_directory: int = 0
    iterations: int = 1
    depth: int = 0
    branch: int = 1
    leaves: bool = False
    own: bool = False
    stride: int = 0
    written: int = 0
    read: int = 0
    sync: bool = False
    sync_phase: bool = False
    random: bool = False
    random_seed: int = 0
    stonewall_s: int = 0
    status_file: str = ""
    mknod: bool = False
    shared: bool = False
    collective: bool = False
    barriers: bool = True
    pause_s: int = 0
    compare: bool = False
    signature: int = 0
    packet: str = "timestamp"
    warnings_are_errors: bool = False
    dummy: bool = False
    """The interface DUMMY: nothing is called."""
    verbose: bool = False
    """Whether every phase is printed as it ends."""

    @property
    def nodes(self) -> int:
        """Directories of a tree."""
        return tree_directories(self.depth, self.branch)

    def settle(self) -> None:
        """Deal the items to the directories as mdtest does. Raises Refused."""
        holders = self.branch**self.depth if self.leaves else self.nodes
        if self.items and self.items_per_directory:
            raise Refused("mdtest: -n and -I", "give one of them", code="conflict")
        if self.items:
            self.items_per_directory = self.items // holders
        self.items = self.items_per_directory * holders

    @staticmethod
    def phases_of(kind: str, phases: tuple[str, ...]) -> tuple[str, ...]:
        """Of the phases those that a kind of item has."""
        return tuple(phase for phase in phases if f"{kind}_{phase}" in CALLS)

    def call_of(self, kind: str, phase: str) -> str:
        """The operation of a phase."""
        return "mknod" if self.mknod and (kind, phase) == ("file", "create") else CALLS[f"{kind}_{phase}"][0]

    def tree_paths(self, task: int) -> list[str]:
        """The directories of a task's tree, each after the one that it is in."""
        return [f"{path}/" for path, _, _ in self._nodes(task, "")]

    def groups(self, kind: str, phase: str, task: int, tasks: int) -> list[Group]:
        """The names of a task in a phase, by directory."""
        strides = CALLS[f"{kind}_{phase}"][1]
        label = "shared" if self.shared else str((task + strides * self.stride) % tasks)
        # mdtest gives the directories of a task the number after that of its names.
        tree = (task + (strides + 1) * self.stride) % tasks
        share = self.items_per_directory
        deep = phase in ("create", "remove")
        nodes = self._nodes(tree, "/" if deep else "")
        groups = [
            {
                "prefix": f"{path}/{kind}.mdtest.{label}.",
                "numbers": {"range": {"first": number * share, "count": share}},
            }
            for path, number, level in (nodes if deep else sorted(nodes, key=lambda node: node[1]))
            if not self.leaves or level == self.depth
        ]
        return self._shuffled(groups, task) if self.random and phase in ("stat", "read") else groups

    def _nodes(self, task: int, end: str) -> Iterator[tuple[str, int, int]]:
        """Path, number and level of each directory of a tree; `end`: of the paths, as mdtest has them in a phase."""
        name = f"mdtest_tree.{task}" if self.own else "mdtest_tree"

        def below(path: str, number: int, level: int) -> Iterator[tuple[str, int, int]]:
            yield path, number, level
            if level < self.depth:
                for child in range(1, self.branch + 1):
                    at = number * self.branch + child
                    yield from below(f"{path}/{name}.{at}{end}", at, level + 1)

        return below(f"{name}.0", 0, 0)

    def _shuffled(self, groups: list[Group], task: int) -> list[Group]:
        """One group for each item, in an order that follows from the seed."""
        names = [
            {"prefix": group["prefix"], "numbers": {"list": [group["numbers"]["range"]["first"] + at]}}
            for group in groups
            for at in range(group["numbers"]["range"]["count"])
        ]
        drawn = library_random((self.random_seed + task) & 0xFFFFFFFF, len(names))
        for at in range(len(names) - 1, 0, -1):
            other = drawn[at] % (at + 1)
            names[at], names[other] = names[other], names[at]
        return names

    def needs(self, tasks: int) -> tuple[int, int]:
        """Names and bytes of an iteration of some tasks."""
        trees = tasks if self.own else 1
        holders = 1 if self.shared else tasks
        blocks = -(-self.written // _BLOCK) * _BLOCK if "file" in self.kinds else 0
        names = self.items * len(self.kinds) * holders + trees * self.nodes
        return names, blocks * self.items * holders


def count_of(group: Group) -> int:
    """Names of a group."""
    numbers = group["numbers"]
    if numbers == "plain":
        return 1
    return len(numbers["list"]) if "list" in numbers else int(numbers["range"]["count"])
