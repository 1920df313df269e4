"""Options of I/O other than its addresses: shares, load, data, durability, API.

Scope: the keys that a [workload.NAME], a [measure.NAME] and a [torture.NAME] table share, as they are
written. One that is not given means what the workload has, and then the default. `check_how` states the rules;
the functions below turn the words into the values that a run takes.
What it refuses: a key that would have no effect because the one that it qualifies is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from mileage.errors import Refusal
from mileage.model.target_kind import Capabilities
from mileage.plan import sizes
from mileage.plan.content import read_content, read_verify
from mileage.plan.load_model import Load, Open, Ramp, Spacing, Think, read_cap
from mileage.plan.page_cache_state import Caching, read_cache
from mileage.plan.pattern import RECORD_BYTES_MAX
from mileage.plan.ranges import Count, Generation, Percent, Processor, Rate, TaskDistance, Threads, Whole
from mileage.plan.tasks import read_reorder, read_tree
from mileage.plan.transfer_api import URING, EngineOptions, read_api
from mileage.plan.workload import Files, Sync

INTERVAL_MIN_NS: Final = 10_000_000
INTERVAL_MAX_NS: Final = 3_600_000_000_000


class IoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys that say how I/O is done; None means as the workload has it, or the default."""

    reads: Percent | None = None
    """Share of operations that read, 0..100 percent; the others write."""
    discards: Percent | None = None
    """Share of operations that discard, 0..100 percent, taken before the reads."""
    content: str | None = None
    """Content of writes: "incompressible", "zeros", "compressible=50,duplicate=20" and others."""
    verify: str | None = None
    """Share of the reads that is compared with what was written: "off", "all" or "1 in 100"."""
    generation: Generation | None = None
    """Number of this writing of the target: what is verified must have been written with the same one."""
    sync: Sync | None = None
    """How writes are made durable: "fsync" or "fdatasync" after the last one (that time counts), or "none".
    On a virtual drive also "fua": each write is durable when it completes, and nothing follows."""
    sync_every: Whole | None = None
    """Writes of a thread between two syncs; 0 for the final one only."""
    files: Files | None = None
    """One file for all threads, or one for each."""
    rate: Rate | None = None
    """Open loop: operations per second that are due, over all threads."""
    spacing: Spacing | None = None
    """With `rate`: even gaps, or a Poisson process."""
    ramp_to: Rate | None = None
    """With `rate` and `ramp_over`: operations per second at the end of a linear ramp."""
    ramp_over: str | None = None
    """With `ramp_to`: how long the ramp takes, such as "10 s"."""
    cap: int | str | None = None
    """Closed loop, but not faster: operations per second, bytes such as "100MiB/s", or "1 drive write/day"."""
    think: str | None = None
    """A pause of each thread after `burst` operations, such as "10 ms"."""
    burst: Count | None = None
    """With `think`: operations between two pauses."""
    warm_up: str | None = None
    """Time at the start of a run whose operations are not counted, such as "2 s"."""
    api: str | None = None
    """The calls: "pread", "uring", "mmap", "stdio", "vectored:4", "seek"."""
    cache: str | None = None
    """The page cache: bypassed ("direct"), emptied of the target before each run ("cold"), filled with it ("hot"), as
    it is ("warm"), emptied on the whole machine ("dropped"), or within a memory limit ("limited:2GiB")."""
    power_cut: bool | None = None
    """On a virtual drive: cut the power when the run's last operation has been answered, and count the acknowledged
    writes that this loses. The drive is on again at once. On a modelled host: count the synced writes through the page
    cache that such a cut would lose; the host works on."""
    dsync: bool | None = None
    """Whether every write is durable when it completes (O_DSYNC)."""
    settle: str | None = None
    """A rest before each run, after the page cache has its state and what is dirty anywhere has been written out, such
    as "3 s"."""
    touch: int | str | None = None
    """After each read, modify one byte per this many bytes of the buffer (included in the measured time)."""
    pin: tuple[Processor, ...] | None = None
    """Processors that the threads are bound to."""
    timeout: str | None = None
    """An operation that takes longer ends the run as failed, such as "30 s"."""
    log: bool | None = None
    """Whether every operation is written to a file in the study folder."""
    interval: str | None = None
    """Length of the first intervals over time, "10 ms" to "1 h"; it doubles when a run outlasts 512 of them."""
    processes: Threads | None = None
    """Processes over which the threads are spread; at most as many as there are threads."""
    block: int | str | None = None
    """For ior.*: a task's part of a segment, a multiple of the record."""
    segments: Count | None = None
    """For ior.*: segments of a file, each with one block of every task."""
    reorder: int | str | None = None
    """For ior.*: each task reads the data that task rank + N wrote (modulo the tasks), or "random"."""
    tree: str | None = None
    """For mdtest.*: directories as DEPTHxBRANCH, such as "2x3", or "2x3,leaves" for items in the last level only."""
    stride: TaskDistance | None = None
    """For mdtest.*: each task inspects the items that task rank + N created (modulo the tasks)."""


HOW_KEYS: Final = IoOptions.__struct_fields__
HOST_KEYS: Final = ("cache", "dsync")
"""Those of `CALL_KEYS` that a modelled host has too."""
CALL_KEYS: Final = ("api", "cache", "dsync", "settle", "touch", "timeout", "log")
"""Keys that have an effect only where calls reach real storage."""


class Reach(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run accesses a real target: calls, page cache, logs and files."""

    options: EngineOptions = EngineOptions()
    """Options of the engine."""
    caching: Caching = Caching("warm")
    """State of the page cache."""
    settle_ns: int = 0
    """Rest after what is dirty was written out, before the first operation."""
    log: bool = False
    """Whether every operation is written to a file in the study folder."""
    processes: int = 1
    """Processes over which the threads are spread."""
    makes_files: bool = False
    """Whether the files of the threads are made before the run, those of an earlier one removed."""
    removes_files: bool = False
    """Whether they are removed after it."""


def merged(first: IoOptions, then: IoOptions) -> IoOptions:
    """The keys of both; where both give one, that of `then` counts."""
    given = {key: getattr(then, key) for key in HOW_KEYS if getattr(then, key) is not None}
    kept = {key: getattr(first, key) for key in HOW_KEYS}
    return IoOptions(**{**kept, **given})


def check_how(how: IoOptions) -> Iterator[Refusal]:
    """Every key that has a wrong value or no effect; `where` is the key."""
    readers: tuple[tuple[str, int | str | None, Callable[[str], object]], ...] = (
        ("content", how.content, read_content),
        ("verify", how.verify, read_verify),
        ("cap", how.cap, _check_cap),
        ("api", how.api, read_api),
        ("cache", how.cache, read_cache),
        ("ramp_over", how.ramp_over, sizes.parse_time_ns),
        ("think", how.think, sizes.parse_time_ns),
        ("warm_up", how.warm_up, sizes.parse_time_ns),
        ("timeout", how.timeout, sizes.parse_time_ns),
        ("interval", how.interval, read_interval_ns),
        ("settle", how.settle, sizes.parse_time_ns),
        ("touch", how.touch, read_touch),
        ("block", how.block, sizes.size_bytes),
        ("reorder", how.reorder, read_reorder),
        ("tree", how.tree, read_tree),
    )
    for key, text, read in readers:
        if text is not None:
            try:
                read(str(text))
            except ValueError as error:
                yield Refusal(key, text=str(error), code="wrong-value")
    if how.pin == ():
        yield Refusal("pin", text="the list is empty", expected="at least one processor", code="empty")
    needs = (("spacing", "rate"), ("ramp_to", "rate"), ("ramp_to", "ramp_over"), ("ramp_over", "ramp_to"))
    for key, other in (*needs, ("burst", "think")):
        if getattr(how, key) is not None and getattr(how, other) is None:
            yield Refusal(
                key, text=f"has no effect without {other}", advice="give both or neither", code="no-effect"
            )
    for key in ("cap", "think"):
        if how.rate is not None and getattr(how, key) is not None:
            yield Refusal(
                key,
                text="has no effect together with rate, which alone decides when operations start",
                advice="give one of them",
                code="conflict",
            )
    if (how.processes or 1) > 1 and how.log:
        yield Refusal(
            "log", text="is written by one process", advice="leave processes or log out", code="conflict"
        )
    if how.sync_every and how.sync in ("none", "fua"):
        yield Refusal(
            "sync_every",
            text=f'has no effect with sync = "{how.sync}"',
            advice="choose fsync or fdatasync",
            code="no-effect",
        )


def _check_cap(text: str) -> object:
    """The capacity of the target, of which a rate in drive writes is a multiple, does not decide whether it is one."""
    return read_cap(text, 1)


def read_interval_ns(text: str) -> int:
    """The first length of a series' intervals. Raises ValueError outside of what the engine takes."""
    interval_ns = sizes.parse_time_ns(text)
    if not INTERVAL_MIN_NS <= interval_ns <= INTERVAL_MAX_NS:
        raise ValueError(f'found "{text}", expected a time from 10 ms to 1 h')
    return interval_ns


def read_touch(found: int | str) -> int:
    """Bytes from one that is changed to the next. Raises ValueError."""
    touch_bytes = sizes.size_bytes(found)
    if not 1 <= touch_bytes <= RECORD_BYTES_MAX:
        raise ValueError(f"found {found}, expected 1 to {RECORD_BYTES_MAX} bytes, such as 512")
    return touch_bytes


_WHY_ON_A_DRIVE: Final = {
    "cache": "a virtual drive has no page cache",
    "log": "a virtual drive records no single operations",
    "interval": "the intervals of simulated time are chosen by the simulation",
    "pin": "the time of a virtual drive is simulated, whatever processors compute it",
    "processes": "the time of a virtual drive is simulated, whatever processes compute it",
}
"""Reasons why keys have no effect on a virtual drive; without one here, because there are no system calls."""


def unused_keys(target: Capabilities) -> tuple[str, ...]:
    """The keys of `IoOptions` that have no effect on this kind of target."""
    if target.is_real:
        return target.unused_keys
    calls = (key for key in CALL_KEYS if not (target.has_host and key in HOST_KEYS))
    return (*calls, *target.unused_keys)


def unused_refusals(how: IoOptions, target: Capabilities) -> Iterator[Refusal]:
    """Every given key of `unused_keys`, with the reason."""
    for key in unused_keys(target):
        if getattr(how, key) not in (None, False):
            advice = 'choose sync = "fua"' if key == "dsync" and target.simulated else "leave it out"
            reason = (
                _WHY_ON_A_DRIVE.get(key, target.unused_reason) if target.is_drive else target.unused_reason
            )
            yield Refusal(key, text=f"{reason}, so this has no effect", advice=advice, code="no-effect")


def without_effect(how: IoOptions, target: Capabilities) -> Iterator[Refusal]:
    """Every key that this kind of target cannot honour, with the reason."""
    yield from unused_refusals(how, target)
    if target.has_host:
        yield from _not_on_a_host(how)
    if how.power_cut and not target.simulated:
        yield Refusal(
            "power_cut",
            text="only the power of a virtual drive can be cut",
            advice="remove it",
            code="no-effect",
        )
    if how.sync == "fua" and not target.simulated:
        yield Refusal(
            "sync", text="only a virtual drive has fua", advice="choose dsync = true", code="no-effect"
        )


MEMORY_OF_A_HOST: Final = Refusal(
    "cache",
    text="the memory of a modelled host is a figure of its profile",
    advice='write it there: "virtual:DRIVE@HOST,memory_bytes=2147483648,cache_bytes=1610612736"',
    code="unsupported",
)
CONTENT_OF_A_HOST: Final = Refusal(
    "verify", text="a modelled host keeps no content to compare with", advice="remove it", code="no-effect"
)


def _not_on_a_host(how: IoOptions) -> Iterator[Refusal]:
    """What the modelled host does not have yet."""
    if how.cache is not None and read_cache(how.cache).mode == "limited":
        yield MEMORY_OF_A_HOST
    if how.power_cut and how.sync in (None, "none") and not how.dsync:
        text = "a host promises nothing of writes that are not synced, so a cut has nothing to lose"
        yield Refusal(
            "power_cut", text=text, advice='give sync = "fsync" and sync_every = 1', code="no-effect"
        )
    if how.files == "per_thread":
        text = "a modelled host has one work file"
        yield Refusal("files", text=text, advice="remove it", code="not-built")
    if how.verify not in (None, "off"):
        yield CONTENT_OF_A_HOST


def load_of(how: IoOptions, capacity_bytes: int) -> Load:
    """Load model of the options: when operations start, on a target of a given capacity.

    `how` has passed `check_how`.
    """
    opened = None
    if how.rate is not None:
        ramp = None
        if how.ramp_to is not None and how.ramp_over is not None:
            ramp = Ramp(how.ramp_to, sizes.parse_time_ns(how.ramp_over))
        opened = Open(how.rate, how.spacing or "constant", ramp)
    return Load(
        open=opened,
        cap=None if how.cap is None else read_cap(how.cap, capacity_bytes),
        think=None if how.think is None else Think(sizes.parse_time_ns(how.think), how.burst or 1),
        warm_up_ns=0 if how.warm_up is None else sizes.parse_time_ns(how.warm_up),
    )


def reach_of(how: IoOptions, target: Capabilities, cache: str, depth: int) -> Reach | None:
    """How a target of a kind is accessed; None for a drive in virtual time without a host.

    `cache` is the study's own, where the table gives none. Without an `api`, more than one operation in flight per
    thread means io_uring, since no other API can.
    """
    if target.has_host:
        caching = read_cache(how.cache or cache)
        # A modelled host does the same for every way to have several operations outstanding: one or several is enough.
        options = EngineOptions(
            api=URING if depth > 1 else "positioned",
            direct=caching.mode == "direct",
            dsync=how.dsync or False,
        )
        return Reach(options, caching)
    if target.simulated:
        return None
    pins = how.pin or ()
    interval_ns = 0 if how.interval is None else read_interval_ns(how.interval)
    if not target.moves_bytes:
        options = EngineOptions(api="null", pin_cpus=pins, interval_ns=interval_ns)
        return Reach(options, processes=how.processes or 1)
    api = read_api(how.api) if how.api is not None else (URING if depth > 1 else "positioned")
    caching = read_cache(how.cache or cache)
    options = EngineOptions(
        direct=caching.mode == "direct",
        api=api,
        dsync=how.dsync or False,
        pin_cpus=pins,
        timeout_ns=0 if how.timeout is None else sizes.parse_time_ns(how.timeout),
        interval_ns=interval_ns,
        touch_bytes=0 if how.touch is None else read_touch(how.touch),
    )
    settle_ns = 0 if how.settle is None else sizes.parse_time_ns(how.settle)
    return Reach(options, caching, settle_ns, log=how.log or False, processes=how.processes or 1)
