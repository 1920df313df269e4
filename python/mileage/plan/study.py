"""A study file as a value: what is asked, of which target, in which stages.

Scope: the TOML of a study, field for field, as it is written; sizes and times stay texts until a
target is known. `study_reader.parse_study` makes one from text and checks it; `planned_runs.to_toml` gives the text
back.
What it refuses: keys it does not know, so that a misspelt one is never ignored.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from mileage.plan.io_options import IoOptions
from mileage.plan.iozone_switches import IozoneSwitches
from mileage.plan.pattern import PatternTable
from mileage.plan.ranges import (
    Blocks,
    Burst,
    Count,
    Cycles,
    Depth,
    Fraction,
    Percent,
    Rounds,
    SharePercent,
    Threads,
    Whole,
)

Level = int | str | bool
"""A value of a key that varies."""

FactorLevel = int | str | bool | float
"""A level of a factor, as it is written."""

Size = int | str
"""Bytes as a whole number, or a text: "4KiB", and where an area is meant "25%", "2.2x" or "file"."""

_One = TypeVar("_One", int, str)


def listed(value: _One | tuple[_One, ...] | None) -> tuple[_One, ...]:
    """One value or a list of values, as a tuple; empty for None."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


WORKLOAD_ARMS: Final = "workload"
"""`compare.arms` of a study that compares two of its workloads with each other."""

PURGE_EACH: Final = "purge-each"
"""The carryover that resets before each run rather than before each block."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The [state] table: how the target is prepared before each cycle (purge, file size, file system, page cache)."""

    start: str = "purged"
    """How a cycle begins: "purged", or "kept" (the content of the target is left as it is)."""
    purge: str = "discard"
    """On a block: target that starts "purged": by "discard", "nvme-format", "ata-erase" (the whole drive), or "none"
    (its old content stays below what is written; a file system is made all the same)."""
    cache: str = "direct"
    """What the page cache may do: "direct" (bypassed), "cold" (emptied of the target before each measured run),
    "dropped" (the whole machine's emptied), "hot" (the target is read into it before each measured run), "warm" (as
    the runs before left it), or "limited:2GiB" (emptied, then run within that much memory)."""
    carryover: str = "none"
    """What is done before each block but the first, so that a block does not begin with what the one before left:
    "none", "trim" (all is discarded), "purge" (as at the start of a cycle), "purge-each" (before each run of a block,
    too) or "remount"; what was prepared is prepared again after trim and purge."""
    file: Size = "8GiB"
    """Size of the work file on a file system; also "2x memory" (or the limit of `cache`), "4x limit". A drive, a
    device and a file that is kept are used whole."""
    on_change: str = "stop"
    """What a change of kernel, firmware, scheduler, mount or memory in mid-study does on a real target: "stop" or
    "mark" (the report says so)."""
    filesystem: str | None = None
    """On a loop: or block: target: the file system that each cycle makes anew, "ext3", "ext4", "xfs" or
    "btrfs"."""
    mkfs: str = ""
    """With `filesystem`: how it is made, such as "stripe=128KiB,journal=64MiB"."""
    mount: str = ""
    """With `filesystem`: options of the mount, such as "noatime,discard"."""
    fill: str | None = None
    """With `filesystem`: the share that one file fills, in addition to the work file, such as "60%"."""
    aged: str | None = None
    """With `filesystem`: how full files of many sizes leave it, after turns of writing and removing, such as "60%"."""
    precondition: str | None = None
    """What is written before anything is measured: "quick" (the work area once), "snia-independent" (twice) or
    "snia-dependent" (then what is measured first, until it is steady). It becomes a stage of its own."""
    scheduler: str | None = None
    """On a loop: or block: target: the I/O scheduler of the device meanwhile: "none", "mq-deadline" ..."""
    read_ahead: Size | None = None
    """On a loop: or block: target, where the page cache is used: how far the kernel reads ahead of a file that is read
    in sequence, a multiple of 4 KiB; 0 switches it off. None leaves the device's own."""
    write_cache: str | None = None
    """On a loop: or block: target: whether the kernel takes the device to have a volatile write cache, and so flushes
    it: "back" or "through"."""
    governor: str | None = None
    """On a real target: the frequency governor of every processor of this machine while the study runs, such as
    "performance"; None leaves each its own."""


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a study with one device state. Exactly one of the last four is given."""

    name: str
    """Unique in the study; letters, digits, "-" and "_"."""
    measure: str | tuple[str, ...] | None = None
    """Names of [measure.*] tables, or the name of an earlier stage, whose measures are done again."""
    torture: tuple[str, ...] | None = None
    """Names of [torture.*] tables, done in this order; the sham arm idles instead."""
    prepare: tuple[str, ...] | None = None
    """Names of [torture.*] tables, done in this order in both arms, to give the target its content."""
    idle: str | None = None
    """A pause such as "10 s"."""


class StopRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a run ends: at the first limit reached. Bytes and operations are totals over all threads."""

    bytes: Size | None = None
    """Bytes moved, or a share of the work area."""
    operations: Count | None = None
    """Operations issued."""
    time: str | None = None
    """Time since the first operation, such as "10 s"."""
    at_least: str | None = None
    """How long a run lasts at least, such as "60 s": bytes or operations are multiplied until the first run of the cell
    does, and kept for all. A time limit still ends it."""


class Repeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often each cell is measured in each stage of each cycle: in as many randomised blocks."""

    min: Blocks
    """Blocks, 1..10000."""
    max: Blocks | None = None
    """With `precision`: blocks at most."""
    precision: Fraction | None = None
    """With `max`: ends when the pooled 95 % interval of a cell is within this share of its value (0.02 is 2 %)."""


class AccessRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of an IOMeter access specification, in the words of a study file."""

    size: Size
    """Size of a transfer, 1 byte to 1 GiB."""
    share: SharePercent = 100
    """Share of the specification, 1..100 percent; the lines add up to 100."""
    reads: Percent = 100
    """Share of reads, 0..100 percent."""
    random: Percent = 0
    """Share of random places, 0..100 percent."""
    delay: str | None = None
    """Pause before each burst, in whole milliseconds such as "10 ms"."""
    burst: Burst = 1
    """Operations in a burst, 1 or more."""
    align: Size = 0
    """Places are multiples of this; 0 for the sector, or what it has in common with odd sizes."""


class OwnWorkload(IoOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A [workload.NAME] table: a workload of the user's own. Exactly one of the first five is given."""

    like: str | None = None
    """A named workload whose pattern and keys this one starts from."""
    pattern: str | PatternTable | None = None
    """Order of the offsets: a word, or a table such as { stride = { step_records = 17 } }."""
    access: tuple[AccessRow, ...] | None = None
    """The lines of an IOMeter access specification."""
    trace: str | None = None
    """Path of a trace to replay, from the study file's own folder: CSV, or a fio iolog."""
    command: tuple[str, ...] | None = None
    """A program with its arguments, run without a shell in the target's directory; needs --allow-commands."""
    before: tuple[str, ...] | None = None
    """With `command`: a program that prepares each run; its time does not count."""
    cleanup: tuple[str, ...] | None = None
    """With `command`: a program that cleans up after each run, failed ones included; its time does not count."""
    timed: bool | None = None
    """With `trace`: whether operations wait for their recorded times."""
    title: str = ""
    """What it does, in a few words."""


class Measure(IoOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A [measure.NAME] table: its cells are all combinations of workload, record, threads, depth and `vary`."""

    workload: str | tuple[str, ...]
    """Named workloads, or all of a family: "throughput.*"."""
    record: Size | tuple[Size, ...] | None = None
    """Size of one operation; None where the workload has its own."""
    stop: StopRule | None = None
    """When each run ends; None where the workload has its own."""
    span: Size = "file"
    """The part of the work area that is visited; "file" is all of it."""
    span_start: Size = 0
    """Where that part begins."""
    threads: Threads | tuple[Threads, ...] = 1
    """Threads, 1..1024."""
    depth: Depth | tuple[Depth, ...] = 1
    """Operations outstanding per thread, 1..4096."""
    vary: dict[str, tuple[Level, ...]] = msgspec.field(default_factory=dict)
    """Levels of other keys of this table: { rate = [1000, 2000], api = ["pread", "uring"] }."""
    repeat: Blocks | Repeat = 5
    """How often."""
    metric: str | tuple[str, ...] | None = None
    """Words of `model.metrics.METRICS`, such as "iops" and "commit_p99"; None means those of the workload, and where it
    syncs between its writes its commits."""
    fidelity: bool = False
    """IOzone's tests make the calls of IOzone 3.471 rather than do what their names say."""
    iozone: IozoneSwitches | None = None
    """For IOzone's tests: the switches of its command line that no other key says."""


class Torture(IoOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A [torture.NAME] table: one workload that writes, used to prepare or to wear."""

    workload: str
    """A named workload that writes."""
    record: Size
    """Size of one operation."""
    amount: Size
    """Amount to write: a size, or a multiple of the work area such as "2.2x"."""
    span: Size = "file"
    """The part of the work area that is written."""
    span_start: Size = 0
    """Where that part begins."""
    threads: Threads = 1
    """Threads, 1..1024."""
    tasks: Threads | None = None
    """In place of threads, tasks as IOR has them, 1..1024, which share `span` equally. In a directory each is a process
    with a file of its own, made for each round and removed after it; on a device or a file, a process; on a virtual
    drive, which has no processes, a thread."""
    depth: Depth = 1
    """Operations outstanding per thread, 1..4096."""
    time: str | None = None
    """Ends it sooner, such as "20 s"; None for never."""
    rounds: Rounds = 1
    """How often it is done, one time after the other; with `until`, at most."""
    read_back: bool = False
    """Whether each round reads what it wrote, in the same order."""
    until: str | None = None
    """Ends the rounds: "pts-steady" (the SNIA rule: five rounds) or "steady" (no drift over twenty rounds or more,
    and two drive writes)."""


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A [factor.NAME] table: something that the whole study varies; every measured cell is measured at each level."""

    levels: tuple[FactorLevel, ...] | dict[str, FactorLevel]
    """The levels: a list, or a table that names each: { plain = "virtual:a", spare = "virtual:b" }."""
    kind: str | None = None
    """What a level changes: "target" (it is one), "profile" (one figure of the virtual drive), "state" (a key of
    [state]), "workload" (a key of every [measure.*] table), or "label" (nothing that Mileage could change itself: a
    kernel, a machine). None where NAME says it."""
    key: str | None = None
    """The key that a level of kind "profile", "state" or "workload" changes; None for NAME."""
    found: str | None = None
    """For a label: the entry of the environment that says which level the machine is at, such as "kernel.release";
    None when only the user knows."""

    @property
    def named(self) -> dict[str, FactorLevel]:
        """The levels by name, in order."""
        if isinstance(self.levels, dict):
            return self.levels
        return {str(level).lower() if isinstance(level, bool) else str(level): level for level in self.levels}


class Relevance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Smallest relative change that matters, above 0 and below 1 (0.02 is 2 %)."""

    throughput: Fraction = 0.02
    iops: Fraction = 0.05
    p99: Fraction = 0.10
    time: Fraction = 0.02


class Compare(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The two sides of the comparison."""

    arms: str = "stage"
    """"stage", the name of a [factor.*] table, or "workload" for two workloads of the last stage that measures."""
    baseline: str | None = None
    """A measuring stage, a level or a workload; None means the first, and is refused for workloads."""
    candidate: str | None = None
    """A measuring stage, a level or a workload; None means the last, and is refused for workloads."""
    relevance: Relevance = Relevance()
    """Changes below these are not worth a word."""


class Apart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The [apart] table: a second cause, two levels of a factor, whose effect is separated from that of the arms."""

    factor: str
    """Name of a [factor.*] table, other than the one that is compared."""
    baseline: str | None = None
    """A level; None means the first."""
    candidate: str | None = None
    """A level; None means the last."""
    causes: tuple[str, str] | None = None
    """A word for the cause that the arms stand for and one for the factor, such as "drive" and "host"; None: the
    names of the arms and of the factor."""
    note: str = ""
    """What a reader must know of these levels, a line or two, printed below the effects."""

    def of(self, factor: Factor) -> Apart:
        """The same with its levels named."""
        levels = tuple(factor.named)
        return msgspec.structs.replace(
            self, baseline=self.baseline or levels[0], candidate=self.candidate or levels[-1]
        )


REPORT_LEVELS: Final = ("none", "text", "full")
"""How much of a report is written, least first."""


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole study file."""

    name: str
    """Letters, digits, ".", "-" and "_"; names the study folder."""
    target: str
    """dir:PATH, file:PATH, block:PATH or virtual:NAME."""
    stage: tuple[Stage, ...]
    """The stages of a cycle, in order."""
    question: str = ""
    """What the study answers, one line."""
    seed: Whole = 1
    """Source of every random choice, 0..2^63-1."""
    cycles: Cycles = 1
    """How often everything is done from the start state, 1..1000; with one, the result is only
    descriptive."""
    sham: bool = False
    """Whether each cycle is done a second time with idling in place of torture."""
    on_failure: str = "dnf"
    """What a device that fails does: "dnf" (its arm ends as did not finish, which is a result) or "stop" (the study
    stops until it is resumed)."""
    allow_wear: bool = False
    """Whether more than the usual share of the rated endurance may be written."""
    order: str = "random"
    """How the runs of a stage follow each other: "random" (each block holds every cell once, in an order drawn from the
    seed), "blocked" (all blocks of one arm, then all of the next: whatever drifts looks like a difference) or "listed"
    (each block holds every cell once, in the order of the file, as the tools do it: a drift looks like a difference
    between cells)."""
    aa: bool = False
    """Whether the baseline of the factor that is compared is measured a second time under another name; the two cannot
    differ, so what is found between them is a false alarm."""
    exclude: tuple[dict[str, FactorLevel], ...] = ()
    """Combinations of levels that are excluded: { cache = "warm", drive = "plain" }; a factor not named matches at
    every level."""
    report: str | None = None
    """How much of a report `mileage run` writes at the end: "none", "text" (page and tables without pictures) or
    "full"; None: as the command line or the environment says, or "full". Not part of the plan's hash."""
    band: bool = False
    """On a virtual drive: whether the comparison is repeated for each alternative that its profile declares of a figure
    that is not published, one cycle each, and the range reported next to the interval. Other targets are no model, and
    have no band. Not part of the plan's hash."""
    scale: str | None = None
    """"1/N": sizes and counts of this file, virtual drives and the memory of their hosts are divided by N; None: 1. A
    plan holds the sizes that result, and no scale."""
    published: str | None = None
    """The source whose study this repeats, by its name in profiles/published: its page shows what was printed next to
    what was found. Not part of the plan's hash."""
    session: str = ""
    """The name of the session in which it is measured, such as "2026-03-02": studies with one name are one session,
    those with different names are not, whatever the times of their runs. Empty: one visit on one boot of a machine is
    one session. Not part of the plan's hash."""
    notes: dict[str, str] = {}
    """What only a person knows of the machine, such as { "RAID cache" = "2 GiB, write back" }: recorded with the
    environment and shown on the page. Not part of the plan's hash."""
    state: State = State()
    factor: dict[str, Factor] = {}
    workload: dict[str, OwnWorkload] = {}
    measure: dict[str, Measure] = {}
    torture: dict[str, Torture] = {}
    compare: Compare = Compare()
    apart: Apart | None = None
    """A second cause besides the compared arms. Not part of the plan's hash: it says how runs are judged, and adds
    none."""

    def stage_named(self, name: str) -> Stage:
        """Find a stage by its name. Raises KeyError."""
        for stage in self.stage:
            if stage.name == name:
                return stage
        raise KeyError(name)

    def measures_of(self, stage: Stage) -> tuple[str, ...]:
        """Names of the measures of a stage, following a reference to an earlier stage; empty when none."""
        if isinstance(stage.measure, str):
            return self.measures_of(self.stage_named(stage.measure))
        return stage.measure or ()

    @property
    def measuring_stages(self) -> tuple[str, ...]:
        """Names of the stages that measure, in order."""
        return tuple(stage.name for stage in self.stage if stage.measure is not None)

    @property
    def compares_workloads(self) -> bool:
        """Whether two of its workloads are compared with each other."""
        return self.compare.arms == WORKLOAD_ARMS

    @property
    def compared(self) -> tuple[str, ...]:
        """What is compared, in order: the stages that measure, the levels of a factor, or two workloads."""
        if self.compare.arms in self.factor:
            return tuple(self.factor[self.compare.arms].named)
        if self.compares_workloads:
            return tuple(name for name in (self.compare.baseline, self.compare.candidate) if name is not None)
        return self.measuring_stages

    @property
    def baseline(self) -> str | None:
        """Name of the stage or level that the others are compared with; None when fewer than two were measured."""
        arms = self.compared
        return (self.compare.baseline or arms[0]) if len(arms) > 1 else None

    @property
    def candidate(self) -> str | None:
        """Name of the stage or level that is judged; None when fewer than two were measured."""
        arms = self.compared
        return (self.compare.candidate or arms[-1]) if len(arms) > 1 else None


def study_schema() -> dict[str, Any]:
    """The JSON schema of study files as JSON values, so that an editor knows their keys; unknown keys do not pass.

    Ranges of plain numbers are in it. References between tables, sizes and times, and what a target can honour are the
    rules of `study_checks` and `resolve`: a study that the schema passes may still be refused.
    """
    schema = msgspec.json.schema(Study)
    head = schema["$defs"]["Study"]
    # The target may be left to a factor whose levels are targets.
    head["required"] = [key for key in head["required"] if key != "target"]
    return {"$schema": _DIALECT, "title": "A study of Mileage", **schema}
