"""Work that several tasks do together, as IOR, mdtest and metarates define it.

Scope: the values of the jobs `ior`, `mdtest` and `metarates`, what each of their phases asks of each task, and
where every byte lies. IOR: a file is segments, a segment one block of each task, a block transfers; transfer j of
segment i of task k lies at (i P + k) b + j t in a shared file of P tasks, at i b + j t in a file of its own (Shan and
Shalf, "Using IOR to analyze the I/O performance for HPC platforms", 2007, figure 1).
What it refuses: sizes and counts that do not divide, and keys that say what these tests say themselves.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from mileage._core import metadata_problem
from mileage.errors import Refusal
from mileage.plan.content import Content, Verify
from mileage.plan.pattern import Ior as IorPattern
from mileage.plan.pattern import IorOrder, IorOrderName, PatternTable, ReorderedPart
from mileage.plan.transfer_api import EngineOptions
from mileage.plan.workload import Files, Stop, Sync, Workload

IOR: Final = {"write": "tasks write their blocks, segment by segment", "read": "tasks read the blocks back"}
METARATES: Final = {
    "create": "tasks create and close files",
    "stat": "tasks stat files that the first task created",
    "utime": "tasks set the times of files that the first task created",
    "unlink": "tasks remove files that the first task created (metarates does not time that)",
}
MDTEST: Final = {
    "tree_create": "the first task makes the tree of directories (each its own, where each has one)",
    "dir_create": "tasks make directories",
    "dir_stat": "tasks stat directories",
    "dir_rename": "tasks rename directories",
    "dir_remove": "tasks remove directories",
    "file_create": "tasks create and close files",
    "file_stat": "tasks stat files",
    "file_read": "tasks open, read and close files",
    "file_remove": "tasks remove files",
    "tree_remove": "the first task removes the tree (each its own)",
}
"""The tests of each family, in the order in which they are done, and what each does."""


class Ior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One repetition of IOR: the tasks write, then read back. Valid when `ior_problem` is None."""

    tasks: int
    """P, 1..1024."""
    transfer_bytes: int
    """t: size of every operation, 512 bytes to 1 GiB, a multiple of 512."""
    block_bytes: int
    """b: what a task has of a segment, a multiple of t."""
    segments: int
    """s, 1 or more."""
    files: Files = "shared"
    """One file for all tasks, or one for each (-F)."""
    phases: tuple[str, ...] = ("write", "read")
    """"write", "read", or both in this order."""
    keep: bool = False
    """Whether the files are kept (-k), for a later run that only reads."""
    reorder: int = 0
    """In the read phase each task reads what task rank + N wrote (-C -Q)."""
    reorder_random: bool = False
    """As `reorder`, with a random distance for each task, drawn by seed (-Z)."""
    shuffled: bool = False
    """Transfers in random order, the same in every segment (-z)."""
    sync: Sync = "none"
    """At the end of writing, inside its time (-e is fsync)."""
    sync_every: int = 0
    """With `sync`: also after every N transfers of a task (-Y is 1)."""
    direct: bool = False
    """Past the page cache."""
    dsync: bool = False
    """Every write is durable when it completes."""
    seek: bool = False
    """lseek and read or write, as IOR does, instead of pread and pwrite."""
    content: Content = "incompressible"
    verify: Verify = "off"
    """Which reads are compared with what was written (all: -R)."""
    generation: int = 0
    timeout_ns: int = 0
    seed: int = 0

    @property
    def aggregate_bytes(self) -> int:
        """Bytes that a phase moves: P s b."""
        return self.tasks * self.segments * self.block_bytes

    @property
    def transfers(self) -> int:
        """Operations of a phase."""
        return self.aggregate_bytes // self.transfer_bytes

    def distances(self, phase: str) -> list[int]:
        """For each task, the distance in ranks to the task whose part it visits, 0..P-1."""
        if phase == "write":
            return [0] * self.tasks
        if self.reorder_random:
            from mileage.plan.ior_options import random_distance

            return [random_distance(self.seed, task, self.tasks) for task in range(self.tasks)]
        return [self.reorder % self.tasks] * self.tasks

    def workload(self, phase: str, distance: int = 0) -> Workload:
        """Workload of all tasks in a phase; with `distance`, that of a task that visits another task's part."""
        order: IorOrderName | IorOrder = "random" if self.shuffled else "in_order"
        if distance:
            order = IorOrder(ReorderedPart(distance))
        reads = phase == "read"
        shared = self.tasks if self.files == "shared" else 1
        return Workload(
            pattern=PatternTable(ior=IorPattern(self.block_bytes, order)),
            read_percent=100 if reads else 0,
            record_bytes=self.transfer_bytes,
            span_start_bytes=0,
            span_bytes=self.segments * self.block_bytes * shared,
            depth=1,
            threads=self.tasks,
            stop=Stop(bytes=self.aggregate_bytes),
            seed=self.seed,
            content=self.content,
            sync="none" if reads else self.sync,
            sync_timed=not reads and self.sync != "none",
            sync_every=0 if reads else self.sync_every,
            files=self.files,
            verify=self.verify if reads else "off",
            generation=self.generation,
        )

    def options(self, phase: str) -> EngineOptions:
        """Options for access to the file in a phase."""
        return EngineOptions(
            direct=self.direct,
            api="seek" if self.seek else "positioned",
            dsync=self.dsync and phase == "write",
            timeout_ns=self.timeout_ns,
        )


def place_of(ior: Ior, task: int, segment: int, transfer: int) -> tuple[int, int]:
    """Number of the file (0 when all share one) and offset in bytes of a task's transfer, in order."""
    from mileage.plan.ior_options import segment_place

    shared = ior.files == "shared"
    first, step = segment_place(ior.block_bytes, ior.tasks, task, shared=shared)
    return 0 if shared else task, first + segment * step + transfer * ior.transfer_bytes


def ior_problem(ior: Ior) -> Refusal | None:
    """The first rule that it breaks, `where` the key; None when it is valid. Those of the layout are the core's."""
    if not 0 <= ior.reorder < max(ior.tasks, 1):
        expected = (
            f"a distance of 0 to {ior.tasks - 1} tasks, or random"
            if ior.tasks > 1
            else "2 tasks or more for it"
        )
        return Refusal("reorder", f"{ior.reorder}", expected, code="out-of-range")
    if ior.shuffled and (ior.reorder or ior.reorder_random):
        text = "has no effect on transfers that are dealt at random"
        return Refusal("reorder", text=text, advice="give one of the two", code="no-effect")
    # The core looks at the whole file first, which is no size that anybody gave.
    if ior.block_bytes < 1 or ior.block_bytes % ior.transfer_bytes:
        whole = f"a multiple of the record of {ior.transfer_bytes} bytes"
        return Refusal("block", f"{ior.block_bytes} bytes", whole, code="does-not-divide")
    problems = (ior.workload(phase).problem() for phase in ior.phases)
    if problem := next(filter(None, problems), None):
        return Refusal(_IOR_KEYS.get(problem[0], problem[0]), problem[1], code="wrong-value")
    return None


_IOR_KEYS: Final = {
    "record_bytes": "record",
    "span_bytes": "segments",
    "stop.bytes": "segments",
    "pattern.ior.block_bytes": "block",
}
"""The key that gives a field of the workload."""


class Metarates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One repetition of metarates. Files are made before each test and removed after it, outside its time."""

    tasks: int
    files: int
    """n: of all tasks together, a multiple of P."""
    tests: tuple[str, ...] = ("create", "stat", "utime")
    own_directories: bool = False
    """A directory for each task (-u)."""
    fsync: bool = False
    """Whether each file is synced before it is closed, in the create test (-s)."""
    keep: bool = False
    """Whether the files of the last test are kept (-k)."""
    timeout_ns: int = 0
    seed: int = 0

    @property
    def directories(self) -> int:
        """Directories in which a task, or all of them together, have their files."""
        return 1


class Mdtest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One iteration of mdtest: a tree of directories, and directories and files of every task in it."""

    tasks: int
    files: int
    """Items of all tasks together, a multiple of P (mdtest's -n is for each)."""
    tests: tuple[str, ...] = tuple(test for test in MDTEST if test != "dir_rename")
    own_directories: bool = False
    """A tree for each task (-u)."""
    depth: int = 0
    """Levels of the tree below its root (-z)."""
    branch: int = 1
    """Directories in each directory above the last level (-b)."""
    leaves_only: bool = False
    """Items in the last level only (-L)."""
    stride: int = 0
    """Stat acts on the items of task rank + N, read on those of rank + 2 N, removal on those of rank + 3 N (-N)."""
    write_bytes: int = 0
    """Size of every file (-w)."""
    read_bytes: int = 0
    """Bytes read from each file (-e): all of it, or none."""
    fsync: bool = False
    """Whether each file is synced before it is closed (-y)."""
    shuffled: bool = False
    """Stat in random order (-R)."""
    keep: bool = False
    timeout_ns: int = 0
    seed: int = 0

    @property
    def directories(self) -> int:
        """Directories of a tree."""
        from mileage.plan.mdtest_options import tree_directories

        return tree_directories(self.depth, self.branch)


def tasks_problem(value: Metarates | Mdtest) -> Refusal | None:
    """The first rule that it breaks, `where` the key; None when it is valid. Those of one share are the core's."""
    if value.files < 1 or value.files % value.tasks:
        whole = f"a multiple of the {value.tasks} tasks, who share them equally"
        return Refusal("stop.operations", f"{value.files}", whole, code="does-not-divide")
    if isinstance(value, Metarates):
        return None
    if not 0 <= value.stride < value.tasks:
        expected = f"0 to {value.tasks - 1} tasks"
        return Refusal("stride", f"{value.stride}", expected, code="out-of-range")
    if value.read_bytes not in (0, value.write_bytes):
        found = f"{value.read_bytes} to read of {value.write_bytes}"
        return Refusal("record", found, "all or 0", code="wrong-value")
    _, share = mdtest_share(value, "file_create", 0)
    if problem := metadata_problem(share.to_json()):
        return Refusal(_MDTEST_KEYS.get(problem[0], problem[0]), problem[1], code="wrong-value")
    return None


_MDTEST_KEYS: Final = {
    "tree.depth": "tree",
    "tree.fan_out": "tree",
    "directories": "tree",
    "file_bytes": "record",
}
"""The key that gives a field of a share."""


class TreeShape(msgspec.Struct, frozen=True):
    """A tree of directories, and where the items lie in it."""

    depth: int
    fan_out: int
    leaves_only: bool = False


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One task's work on names, as the core's `Metadata`; fields that its operation does not know are absent."""

    operation: str
    files: int
    threads: int = 1
    paths: str = "full"
    place: str = "given"
    """The task's files lie in the given directory."""
    keep: bool = True
    seed: int
    set_up: str
    names: dict[str, str]
    create_with: str | UnsetType = UNSET
    tree: TreeShape | UnsetType = UNSET
    file_bytes: int | UnsetType = UNSET
    fsync: bool | UnsetType = UNSET
    on: str | UnsetType = UNSET
    order: str | UnsetType = UNSET
    directories: str | UnsetType = UNSET

    def to_json(self) -> str:
        """The value as the JSON text that the core reads."""
        return msgspec.json.encode(self).decode()


def _share(value: Metarates | Mdtest, operation: str, names: dict[str, str]) -> Share:
    """Fields that the share of every operation has."""
    made = operation in ("create", "mkdir")
    return Share(
        operation=operation,
        files=value.files // value.tasks,
        seed=value.seed,
        set_up="owner" if made else "existing",
        names=names,
        create_with=UNSET if operation != "create" else "read_write",
    )


def metarates_share(value: Metarates, operation: str, task: int) -> tuple[str, Share]:
    """The directory below the run's own and the operation, of one task."""
    share = _share(value, operation, {"item": f"n{task}f{{item}}"})
    if operation == "create":
        share = replace(share, create_with="truncating")
    return (str(task) if value.own_directories else ""), share


def mdtest_share(value: Mdtest, test: str, task: int) -> tuple[str, Share]:
    """The directory below the run's own and the operation, of one task."""
    from mileage.plan.mdtest_options import CALLS

    call, strides = CALLS[test]
    owner = (task + strides * value.stride) % value.tasks
    kind = "dir" if test.startswith("dir_") else "file"
    if call == "read" and value.read_bytes == 0:
        call = "open"
    names = {"item": f"{kind}.mdtest.{owner}.{{item}}", "node": _node_of(value, owner)}
    share = replace(
        _share(value, call, names),
        tree=TreeShape(value.depth, value.branch, value.leaves_only),
        file_bytes=value.write_bytes if kind == "file" and call in ("create", "read") else UNSET,
        fsync=value.fsync if call == "create" else UNSET,
        on="directories" if kind == "dir" and call in ("stat", "rename") else UNSET,
        order="shuffled" if call == "stat" and value.shuffled else UNSET,
    )
    return tree_of(value, owner), share


def tree_of(value: Mdtest, task: int) -> str:
    """The root of the tree that a task uses, below the run's own directory."""
    return _node_of(value, task).format(node=0)


def _node_of(value: Mdtest, task: int) -> str:
    """Name pattern of the directories of that tree, with a placeholder for their number."""
    return f"mdtest_tree.{task}.{{node}}" if value.own_directories else "mdtest_tree.{node}"


def mdtest_tree_share(value: Mdtest, operation: str, task: int) -> Share:
    """Making ("mkdir") or removing ("rmdir") the tree that a task uses, in the run's own directory."""
    names = {"directory": tree_of(value, task), "node": _node_of(value, task)}
    return replace(
        _share(value, operation, names),
        on="tree",
        files=value.directories,
        directories="per_worker",
        tree=TreeShape(value.depth, value.branch),
    )


OWN_KEYS: Final = ("block", "segments", "reorder", "tree", "stride")
"""Keys that only these families know."""


def read_reorder(text: str | int) -> tuple[int, bool]:
    """A distance in tasks, or a random one. Raises ValueError."""
    if text == "random":
        return 0, True
    if isinstance(text, int) or (text.isascii() and text.isdecimal() and len(text) < 6):
        return int(text), False
    raise ValueError(f"found {text!r}, expected a number of tasks or random")


def read_tree(text: str) -> tuple[int, int, bool]:
    """Depth, branches and whether items lie in the leaves only. Raises ValueError."""
    shape, _, rest = text.partition(",")
    depth, times, branch = shape.partition("x")
    if not times or not (depth.isdecimal() and branch.isdecimal()) or rest.strip() not in ("", "leaves"):
        raise ValueError(f"found {text!r}, expected DEPTHxBRANCH such as 2x3, or 2x3,leaves")
    return int(depth), int(branch), bool(rest)
