"""What is compared: for each row the programs with their commands, and the bars that Mileage is to keep to.

fio comes as people start it and *lean*: without its map of offsets already visited (Mileage's random pattern has
none either), in a thread, and, where that is said, without reading the clock for every operation. Mileage records the
full latency histogram in every row, and writes data that it never wrote before, generated as it goes; fio writes such
data where it says *fresh data*, and else one buffer again and again, as the bare loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import programs as run
from benchmarks.peers.places import MIB, cached, uncached
from benchmarks.peers.programs import Programs
from benchmarks.peers.table import US, Bar, ProgramRun

#: fio without what it keeps per operation.
LEAN = ("--norandommap", "--gtod_reduce=1", "--thread")
FIOS = ("fio", "fio lean", "fio-new", "fio-new lean", "fio lean batched", "fio-new lean batched")
FRESH = ("fio fresh data", "fio-new fresh data")
#: Mileage as the bare loop and plain fio write: one content again and again. Added to show what new data costs.
CONSTANT = "constant data"
METADATA = ("create", "stat", "utime", "unlink")
METADATA_ROW = "metadata on a fresh ext4"
METADATA_BARS = (Bar("rate", 0.97, ("bare loop",)), Bar("cpu", 1.03, ("bare loop",)))
REGISTERED = {"api": {"uring": {"registered": True, "batch": 0, "sqpoll": False, "iopoll": False}}}


#: A run of a program, for the given number of seconds where it accepts one.
Arm = Callable[[float], ProgramRun]


@dataclass(frozen=True)
class Sizes:
    """How long, how much."""

    seconds: float
    rounds: int
    cached_mib: int
    direct_mib: int
    files: int


@dataclass(frozen=True)
class Row:
    """One line of the comparison. A row's programs run in turn, round after round."""

    name: str
    arms: dict[str, Arm]
    bars: tuple[Bar, ...]
    #: What is done to the file before every run.
    before: Callable[[], None]
    #: Whether the processor alone limits it: the programs then also run all at once on one.
    processor_bound: bool = False


def workload(seconds: float, mib: int, **changes: Any) -> dict[str, Any]:
    """Random 4 KiB reads of a whole file for the given time."""
    return {
        "pattern": "random",
        "read_percent": 100,
        "record_bytes": 4096,
        "span_start_bytes": 0,
        "span_bytes": mib * MIB,
        "depth": 1,
        "threads": 1,
        "stop": {"time_ns": int(seconds * 1e9)},
        "seed": 1,
        "content": "incompressible",
        "sync": "none",
        "sync_timed": False,
        **changes,
    }


def _fio_arm(program: str, options: list[str]) -> Arm:
    return lambda seconds: run.fio(program, [*options, f"--runtime={round(seconds * 1e3)}ms", "--time_based"])


def _fio_arms(programs: Programs, common: Iterable[str], **variants: Iterable[str]) -> dict[str, Arm]:
    """Each fio there is, in each variant (`lean_batched` is shown as `lean batched`, `_` as fio itself)."""
    arms: dict[str, Arm] = {}
    for name in ("fio", "fio-new"):
        program = programs.others.get(name)
        if program is None:
            continue
        for variant, extra in variants.items():
            shown = f"{name} {variant.strip('_').replace('_', ' ')}".strip()
            arms[shown] = _fio_arm(program, [*common, *extra])
    return arms


def _whole(path: Path, mib: int) -> list[str]:
    return [f"--filename={path}", f"--size={mib}m"]


def cached_calls(programs: Programs, sizes: Sizes, path: Path, kind: str) -> Row:
    """Random reads from the page cache by system calls."""
    mib = sizes.cached_mib
    arms: dict[str, Arm] = {
        US: lambda seconds: run.engine(programs, path, workload(seconds, mib), {}),
        "bare loop": lambda seconds: run.bare(programs, ["calls", str(path), "4096", f"{seconds}"]),
    }
    common = [*_whole(path, mib), "--rw=randread", "--bs=4k", "--invalidate=0", "--ioengine=psync"]
    arms |= _fio_arms(programs, common, _=(), lean=LEAN)
    others = programs.others
    if "elbencho" in others:
        flags = ["-r", "-t", "1", "-b", "4k", "-s", f"{mib}m", "--rand"]
        arms["elbencho"] = lambda _: run.elbencho(others["elbencho"], "READ", flags, path, path.parent)
    if "ior" in others:
        arms["ior"] = lambda _: run.ior(others["ior"], path, mib)
    if "iozone" in others:
        arms["iozone"] = lambda _: run.iozone(others["iozone"], min(mib, 512), path.parent)
    bars = (Bar("cpu", 1.06, ("bare loop",)), Bar("cpu", 1.0, FIOS))
    return Row(
        f"cached 4 KiB random read, pread, {kind}",
        arms,
        bars,
        lambda: cached(path, mib),
        processor_bound=True,
    )


def cached_ring(programs: Programs, sizes: Sizes, path: Path, kind: str) -> Row:
    """The same through a ring with registered file and buffers."""
    mib = sizes.cached_mib
    arms: dict[str, Arm] = {
        US: lambda seconds: run.engine(programs, path, workload(seconds, mib, depth=32), REGISTERED),
        "bare loop": lambda seconds: run.bare(
            programs, ["ring", str(path), "4096", f"{seconds}", "32", "32"]
        ),
    }
    common = [*_whole(path, mib), "--rw=randread", "--bs=4k", "--invalidate=0", "--ioengine=io_uring"]
    common += ["--iodepth=32", "--fixedbufs", "--registerfiles"]
    batch = ("--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32")
    arms |= _fio_arms(programs, common, lean=LEAN, lean_batched=(*LEAN, *batch))
    if "t/io_uring" in programs.others:
        program = programs.others["t/io_uring"]
        arms["t/io_uring"] = lambda seconds: run.t_io_uring(program, path, seconds, direct=False)
    bars = (Bar("cpu", 1.06, ("bare loop", "t/io_uring")), Bar("cpu", 1.0, FIOS))
    name = f"cached 4 KiB random read, registered ring, depth 32, {kind}"
    return Row(name, arms, bars, lambda: cached(path, mib), processor_bound=True)


def null(programs: Programs, sizes: Sizes, path: Path) -> Row:
    """No call at all: what the generators themselves cost."""
    mib = sizes.cached_mib
    arms: dict[str, Arm] = {
        US: lambda seconds: run.engine(programs, path, workload(seconds, mib), {"api": "null"}),
        "bare loop": lambda seconds: run.bare(programs, ["offsets", f"{seconds}"]),
    }
    common = ["--filename=/dev/null", "--ioengine=null", f"--size={mib}m", "--rw=randread", "--bs=4k"]
    arms |= _fio_arms(programs, common, _=(), lean=LEAN)
    bars = (Bar("cpu", 40.0, absolute=True), Bar("cpu", 1.0, FIOS))
    return Row("null target", arms, bars, lambda: cached(path, mib))


def direct(programs: Programs, sizes: Sizes, path: Path, write: bool, depth: int) -> Row:
    """Random 4 KiB past the page cache, at depth 1 by system calls and above through a ring."""
    mib, deep, word = sizes.direct_mib, depth > 1, "write" if write else "read"
    changes = {"depth": depth, "read_percent": 0 if write else 100}
    options = {"direct": True, **(REGISTERED if deep else {})}
    rest = ["direct", *(["write"] if write else [])]
    words = [f"{depth}", "1", *rest] if deep else rest
    arms: dict[str, Arm] = {
        US: lambda seconds: run.engine(programs, path, workload(seconds, mib, **changes), options),
        "bare loop": lambda seconds: run.bare(
            programs, ["ring" if deep else "calls", str(path), "4096", f"{seconds}", *words]
        ),
    }
    engine = ("--ioengine=io_uring", "--fixedbufs", "--registerfiles") if deep else ("--ioengine=psync",)
    common = [*_whole(path, mib), f"--rw=rand{word}", "--bs=4k", "--direct=1", f"--iodepth={depth}"]
    common += [*engine, "--norandommap", "--thread"]
    arms |= _fio_arms(programs, common, _=(), **_fresh(write))
    others = programs.others
    if "elbencho" in others:
        flags = [f"-{word[0]}", "-t", "1", "-b", "4k", "-s", f"{mib}m", "--rand", "--direct"]
        flags += ["--iodepth", f"{depth}", "--timelimit"]
        arms["elbencho"] = lambda seconds: run.elbencho(
            others["elbencho"], word.upper(), [*flags, f"{max(1, round(seconds))}"], path, path.parent
        )
    if deep and not write and "t/io_uring" in others:
        arms["t/io_uring"] = lambda seconds: run.t_io_uring(others["t/io_uring"], path, seconds, direct=True)
    name = f"O_DIRECT 4 KiB random {word}, depth {depth}"
    peers = tuple(name for name in arms if name != US)
    if write:
        arms[CONSTANT] = lambda seconds: run.engine(
            programs, path, workload(seconds, mib, **changes, content="zeros"), options
        )
    bars = (Bar("cpu", 1.0, FRESH if write else FIOS, noise=True), Bar("rate", 0.97, peers))
    # Reads in a queue keep the processor busy enough to be compared at once too: in turn no two meet the same moment.
    return Row(name, arms, bars, lambda: uncached(path, mib), processor_bound=deep and not write)


def sequential(programs: Programs, sizes: Sizes, path: Path, write: bool) -> Row:
    """Sequential 1 MiB past the page cache."""
    mib, word = sizes.direct_mib, "write" if write else "read"
    changes = {"pattern": "sequential", "record_bytes": MIB, "read_percent": 0 if write else 100}
    words = ["direct", "sequential", *(["write"] if write else [])]
    arms: dict[str, Arm] = {
        US: lambda seconds: run.engine(programs, path, workload(seconds, mib, **changes), {"direct": True}),
        "bare loop": lambda seconds: run.bare(programs, ["calls", str(path), str(MIB), f"{seconds}", *words]),
    }
    common = [
        *_whole(path, mib),
        f"--rw={word}",
        "--bs=1m",
        "--direct=1",
        "--ioengine=psync",
        "--thread",
    ]
    arms |= _fio_arms(programs, common, _=(), **_fresh(write))
    if write:
        arms[CONSTANT] = lambda seconds: run.engine(
            programs, path, workload(seconds, mib, **changes, content="zeros"), {"direct": True}
        )
    # Between programs that generate as much data.
    peers = FRESH if write else tuple(name for name in arms if name != US)
    bars = (Bar("cpu", 1.0, FRESH if write else FIOS, noise=True), Bar("rate", 0.97, peers))
    return Row(f"O_DIRECT 1 MiB sequential {word}", arms, bars, lambda: uncached(path, mib))


def _fresh(write: bool) -> dict[str, tuple[str, ...]]:
    """The variant of fio that writes fresh data; none for reads."""
    return {"fresh_data": ("--refill_buffers",)} if write else {}
