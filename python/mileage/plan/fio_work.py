"""What one process of a fio job does: its files, the engine's workload and options, and the steps around them.

Scope: values only; options of fio are read by the drop-in command. The workload is that of studies, with what only fio
asks of the engine.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mileage.plan.pattern import PatternTable, pattern_word
from mileage.plan.transfer_api import EngineOptions
from mileage.plan.workload import Stop, Workload

FioTask = Literal["transfers", "processor", "create", "stat", "lstat", "delete"]
"""What a process does: transfers of the engine, cycles of the processor, or a call for each file."""
_ONCE = ("sequential", "backward", "shuffled")
"""Patterns that visit each block once in a pass."""


class FioWorkload(Workload, frozen=True):
    """A workload of studies, with what fio alone asks for. Its span and its end are those of a file."""

    sync_last: bool = True
    """With `sync_every`: whether a sync follows the last write."""


class FioOptions(EngineOptions, frozen=True):
    """Options of the engine, with what fio alone asks for."""

    create: bool = False
    """Whether a file that is missing is made."""
    advice: str = "none"
    """Order of reads that is announced to the kernel."""
    split_latency: bool = False
    """Whether submission and completion are timed apart."""
    drop_cache_every_bytes: int = 0
    """Bytes after which the file leaves the page cache; 0 for never."""
    expects: tuple[Any, ...] = ()
    """Identity of the file that is to be opened."""


class FioFile(msgspec.Struct):
    """One file of a process."""

    path: str
    start: int
    """First byte."""
    span: int
    """Bytes that are worked on, a multiple of the block."""
    end: int
    """Length that the file must have; a last part that is less than a block is not worked on."""
    amount: int = 0
    """Bytes to move; 0 for no limit."""
    operations: int | None = None
    """Operations at most; None for no limit."""
    syncs_last: bool = False
    """With syncs between writes: whether the last write is synced too."""


class PlaceRule(msgspec.Struct, frozen=True):
    """How the next place follows from the one before."""

    skip: int = 0
    """Bytes from the end of a block to the next one; negative to go back."""
    zones: tuple[tuple[int, int], ...] = ()
    """Percent of accesses and percent of the size of each zone."""
    run: int = 0
    """Operations to each random place: itself and those that follow it; 0 for no such rule."""
    repeats: bool = False
    """Whether those that follow have the same place."""
    comes_again: bool = False
    """Whether a random place may come again before all were drawn."""
    trims: tuple[tuple[int, int], ...] = ()
    """Sizes with percents of blocks that are trimmed and then written."""
    blocks: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Sizes with percents of blocks that are read, and of those that are written, where they differ in size."""
    is_random: bool = False
    """Whether blocks of `trims` or `blocks` are in random order."""


class Verification(msgspec.Struct, frozen=True):
    """What is verified."""

    kind: str = ""
    """`compare`; `read`, which reads back without comparing; empty for nothing."""
    reads_back: bool = False
    """Whether a writing job reads back what it wrote."""


class FioLayout(msgspec.Struct, frozen=True):
    """How files that are missing or too short are made."""

    fills: bool = False
    """Whether they are written, rather than only made longer."""
    allocates: bool = True
    """Whether the space of those that are made longer is reserved."""
    syncs: bool = True
    """Whether those that are written are synced."""


class FioWork(msgspec.Struct, kw_only=True):
    """The work of one process."""

    name: str
    """Of the job."""
    number: int = 0
    """Of the copies of the job."""
    does: FioTask = "transfers"
    files: list[FioFile]
    workload: FioWorkload
    options: FioOptions
    reads: int
    """Percent of reads."""
    verification: Verification = Verification()
    layout: FioLayout = FioLayout()
    limit_ns: int = 0
    """The runtime; 0 for no limit."""
    timed: bool = False
    """Whether the work is repeated until the runtime is over."""
    loops: int = 1
    start_delay_ns: int = 0
    processors: list[int] = msgspec.field(default_factory=list)
    sizes: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Least and greatest block of reads, of writes and of trims."""
    rule: PlaceRule | None = None
    """How places follow from one another, where the engine has no pattern for them."""
    drops_cache: bool = False
    """Whether each file leaves the page cache before each of its passes."""
    invalidates: bool = True
    """Whether each file leaves the page cache before it is worked on."""
    last_sync: Literal["", "timed", "untimed"] = ""
    """A sync that follows the last of several syncs and is not counted; whether its time is."""
    only_lays_out: bool = False
    omits_writes: bool = False
    """Whether writes are only counted, so that what an earlier job wrote is verified."""
    removes: bool = False
    """Whether the files are removed at the end."""
    iolog: str = ""
    """File for a list of the operations; empty for none."""
    busy_ns: int = 0
    """With "processor": length of a busy part."""
    load_percent: int = 100
    """With "processor": share of busy parts."""
    ends: Literal["", "group", "stonewall", "all"] = ""
    """Which other processes end with this one: of its group, all that began together, or all that follow too."""

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.reads < 100

    @property
    def is_mix(self) -> bool:
        """Whether it reads and writes."""
        return 0 < self.reads < 100

    @property
    def paths(self) -> list[str]:
        """Its files."""
        return [file.path for file in self.files]

    @property
    def has_files(self) -> bool:
        """Whether its files are real ones."""
        return self.options.api != "null"

    @property
    def is_logged(self) -> bool:
        """Whether every operation is written to a log."""
        return bool(self.iolog) or (self.is_mix and self.verification.reads_back)

    @property
    def is_visited_once(self) -> bool:
        """Whether a pass visits each block of a file once."""
        return self.rule is None and visits_once(self.workload)

    @property
    def has_sizes(self) -> bool:
        """Whether the engine's pattern has blocks of several sizes."""
        return pattern_word(self.workload.pattern) == "access"

    def on_file(self, file: FioFile, stop: Stop, **changes: Any) -> FioWorkload:
        """The workload on one of its files until a limit."""
        own: dict[str, Any] = {"span_start_bytes": file.start, "span_bytes": file.span, "stop": stop}
        own["sync_last"] = self.workload.sync_last or file.syncs_last
        return msgspec.structs.replace(self.workload, **{**own, **changes})

    def places_of_reads(self) -> Any:
        """The pattern of writing, with reads in place of writes."""
        pattern = self.workload.pattern
        if isinstance(pattern, PatternTable) and pattern.access is not None:
            lines = tuple(msgspec.structs.replace(line, read_percent=100) for line in pattern.access.lines)
            return PatternTable(access=msgspec.structs.replace(pattern.access, lines=lines))
        return pattern


def visits_once(workload: Workload) -> bool:
    """Whether a pass of a workload's pattern visits each block once."""
    return workload.pattern in _ONCE
