"""What one process of a fio job does: files, and the engine's workload and options.

Scope: translates options to the engine's own terms (`mileage._core.run_file`). Offsets follow from the job's seed; they
are not fio's own. With libaio and without O_DIRECT an operation is done when it is submitted, so depth 1 is used.
What it refuses: combinations that the engine does not do, by the option's name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mileage.dropin.fio_files import files_of
from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.fio_patterns import Sizes, pattern_of, reads_of, sizes_of, wanted_sizes
from mileage.dropin.fio_places import check_count, rule_of
from mileage.dropin.fio_rates import load_of
from mileage.dropin.fio_trims import check_targets, check_trims, trims_of
from mileage.dropin.fio_verify import verification_of
from mileage.execute.fio_jobs.run import FioResult
from mileage.plan.content import Content, ContentTable, IozonePattern, MixedContent
from mileage.plan.fio_work import (
    FioLayout,
    FioOptions,
    FioTask,
    FioWork,
    FioWorkload,
    PlaceRule,
    Verification,
    visits_once,
)
from mileage.plan.load_model import Load
from mileage.plan.pattern import Pattern
from mileage.plan.transfer_api import Api, ApiTable, Uring, VectoredCalls
from mileage.plan.workload import Stop, Sync

_VECTORED: Final = ApiTable(vectored=VectoredCalls(1))
_API: Final[dict[str, Api]] = {
    "psync": "positioned",
    "sync": "seek",
    **dict.fromkeys(("pvsync", "pvsync2", "vsync"), _VECTORED),
    "mmap": "mmap",
    "null": "null",
}
FILE_CALLS: Final = ("filecreate", "filestat", "filedelete")
"""Engines that call the file system once for each file, and transfer nothing."""
_RINGS: Final = ("libaio", "io_uring", "posixaio")
_SEED: Final = 0x5EED
_SECTOR: Final = 512
_DIGITS: Final = 5
"""Most digits of the number of a processor."""
_KEEPING: Final = ("mmap",)
"""Calls of which the engine does not drop the page cache between passes."""


class JobWork(FioWork, kw_only=True):
    """The work of one copy of a job, with the options that its results are printed by."""

    job: FioJob
    notes: list[str] = msgspec.field(default_factory=list)
    """What is not as in fio, for the user."""


JobResults = Sequence[FioResult[JobWork]]


def works_of(job: FioJob) -> list[JobWork]:
    """The work of each copy of a job. Raises Refused."""
    if job.text("ioengine") == "cpuio":
        return [_processor_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]
    if job.text("ioengine") in FILE_CALLS:
        return [_file_call_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]
    if "write_iolog" in job.options and (job.number("numjobs", 1) > 1 or job.text("verify", "0") != "0"):
        raise job.refuse("write_iolog", "is not built together with numjobs or verify", code="not-built")
    return [_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]


UNIFIED: Final = {"0": "none", "none": "none", "1": "mixed", "mixed": "mixed", "both": "both"}
"""Values of unified_rw_reporting."""
_ONLY: Final = {
    "io_submit_mode": ("inline", "offload"),
    "continue_on_error": ("none", "0"),
    "unified_rw_reporting": (*UNIFIED,),
    "verify_state_save": ("0", "1"),
    "exit_what": ("group", "stonewall", "all"),
    "sync": ("0", "none", "1", "sync", "dsync"),
    "rate_process": ("linear", "poisson"),
    "fallocate": ("none", "0", "posix", "native", "1", "truncate"),
    "file_service_type": ("sequential", "roundrobin"),
    "cpus_allowed_policy": ("shared", "split"),
    "unit_base": ("0", "8"),
    "stat_type": ("stat", "lstat"),
}
"""Options of which only these values are done."""


def _refuse_values(job: FioJob, sizes: list[int]) -> None:
    for key, values in _ONLY.items():
        if key in job.options and job.options[key] not in values:
            raise job.refuse(key, expected=" or ".join(values), code="unsupported")
    if "blockalign" in job.options and set(job.sides("blockalign") or ()) != {min(sizes)}:
        raise job.refuse(
            "blockalign", "other places than multiples of the block are not built", code="not-built"
        )


def _work(job: FioJob, number: int) -> JobWork:
    reads = reads_of(job)
    sides = sizes_of(job)
    trims = trims_of(job)
    sizes = (sides[0], sides[2] if trims else sides[1])
    _refuse_values(job, wanted_sizes(sizes, reads))
    limit_ns = job.time_ns("runtime") or 0
    timed = job.is_on("time_based") and limit_ns > 0
    if trims:
        check_trims(job, sides, timed=timed)
    wanted = wanted_sizes(sizes, reads)
    if trims == "pairs":
        pattern: Pattern = "sequential"
        record, read_percent = max(wanted), 0
        is_random = job.text("rw").startswith("rand")
        rule: PlaceRule | None = PlaceRule(
            trims=tuple(sizes[1]), is_random=is_random, comes_again=job.is_on("norandommap")
        )
        files = files_of(job, number, min(wanted), min(wanted), timed=timed)
    else:
        pattern, record, read_percent = pattern_of(job, reads, sizes)
        rule = rule_of(job, reads, record, timed=timed)
        files = files_of(job, number, record, min(wanted), timed=timed)
        if rule is not None and len(set(wanted)) > 1:
            raise job.refuse("rw", "is not built with blocks of several sizes", code="not-built")
    if trims:
        check_targets(job, [file.path for file in files])
    verification, notes = verification_of(job, reads, timed=timed)
    seed = _seed(job, number, is_compared=bool(verification.kind))
    workload = _workload(
        job, (pattern, record, read_percent), load_of(job, reads, wanted), verification, seed
    )
    if verification.kind and visits_once(workload) and not timed:
        # As fio: a pass ends with the file, and a job that only reads makes one.
        passes = 1 if reads == 100 else _loops(job)
        for file in files:
            file.amount = min(file.amount, passes * file.span)
    work = JobWork(
        **_common(job, number, reads),
        files=files,
        workload=workload,
        options=_options(job),
        verification=verification,
        limit_ns=limit_ns,
        timed=timed,
        notes=notes,
        last_sync=("timed" if job.is_on("end_fsync") else "untimed") if _syncs_apart(job) else "",
        only_lays_out=job.is_on("create_only"),
        omits_writes=job.is_on("verify_only"),
        iolog=job.text("write_iolog"),
    )
    if rule is not None:
        check_count(job, files, min(wanted) // (2 if trims else 1))
        work.rule = rule
    work.sizes = _bounds(sides)
    if len(files) > 1:
        work.notes.insert(0, "nrfiles: files are worked on one after the other")
    _set_cache_drop(work)
    return work


def _workload(
    job: FioJob,
    order: tuple[Pattern, int, int],
    limits: tuple[Load, int | None],
    verification: Verification,
    seed: int,
) -> FioWorkload:
    """The engine's workload, without a file; `order`: pattern, record and percent of reads. Raises Refused."""
    reads = reads_of(job)
    pattern, record, read_percent = order
    load, limited_percent = limits
    if limited_percent is not None and read_percent != 100:
        read_percent = limited_percent
    sync, every = _sync(job)
    return FioWorkload(
        pattern=pattern,
        read_percent=read_percent,
        record_bytes=record,
        span_start_bytes=0,
        span_bytes=0,
        depth=_depth(job),
        threads=1,
        stop=Stop(),
        seed=seed,
        content="incompressible" if verification.kind or reads == 100 else _content(job),
        sync=sync,
        # fsync_on_close syncs after the time of the job, as a sync that is only the last one of fsync=N.
        sync_timed=job.is_on("end_fsync") and not _syncs_apart(job),
        sync_every=every,
        # As fio: the last sync of fsync=N is one that a further operation follows.
        sync_last=not every,
        load=load,
        verify="all" if verification.kind == "compare" and reads == 100 else "off",
        discard_percent=100 if trims_of(job) == "only" else 0,
    )


def _bounds(sides: Sequence[Sizes]) -> list[tuple[int, int]]:
    """Least and greatest size of each side."""
    return [(min(side)[0], max(side)[0]) for side in sides]


def _loops(job: FioJob) -> int:
    return max(job.number("loops", 1), 1)


def _common(job: FioJob, number: int, reads: int) -> dict[str, Any]:
    """What the work of every engine has. Raises Refused."""
    allocates = job.text("fallocate") not in ("none", "0", "truncate")
    return {
        "name": job.name,
        "job": job,
        "number": number,
        "reads": reads,
        "loops": _loops(job),
        "start_delay_ns": job.time_ns("startdelay") or 0,
        "processors": _processors(job, number),
        "invalidates": job.is_on("invalidate", True),
        "removes": job.is_on("unlink"),
        "layout": FioLayout(
            fills=reads > 0 or job.is_on("overwrite"),
            allocates=allocates,
            syncs=job.is_on("create_fsync", True),
        ),
        "ends": job.text("exit_what", "group") if job.is_on("exitall") else "",
    }


def _idle_workload(record: int) -> FioWorkload:
    """The workload of an engine that transfers nothing."""
    return FioWorkload(
        pattern="sequential",
        read_percent=100,
        record_bytes=record,
        span_start_bytes=0,
        span_bytes=0,
        depth=1,
        threads=1,
        stop=Stop(),
        seed=0,
    )


def _processor_work(job: FioJob, number: int) -> JobWork:
    """Work of the engine cpuio, which only uses processor time. Raises Refused."""
    _refuse_values(job, [_SECTOR])
    load, limit_ns = job.number("cpuload", 0), job.time_ns("runtime") or 0
    if not 1 <= load <= 100 or not limit_ns:
        raise job.refuse("cpuload", expected="1 to 100, and a runtime")
    return JobWork(
        **_common(job, number, 100),
        does="processor",
        files=[],
        workload=_idle_workload(_SECTOR),
        options=FioOptions(api="null"),
        limit_ns=limit_ns,
        busy_ns=job.number("cpuchunks", 50_000) * 1000,
        load_percent=load,
    )


def _file_call_work(job: FioJob, number: int) -> JobWork:
    """Work of an engine that makes, looks up or removes files. Raises Refused."""
    reads, sides = reads_of(job), sizes_of(job)
    sizes = sides[:2]
    if trims_of(job):
        raise job.refuse("rw", f"is not built for {job.text('ioengine')}", code="not-built")
    wanted = wanted_sizes(sizes, reads)
    _refuse_values(job, wanted)
    if 0 < reads < 100 or job.text("rw", "read").partition(":")[2]:
        raise job.refuse(
            "rw", f"is not built for {job.text('ioengine')}", expected="read or write", code="not-built"
        )
    for key in (
        "time_based",
        "fsync",
        "fdatasync",
        "end_fsync",
        "verify",
        "write_iolog",
        "rate",
        "rate_iops",
    ):
        if job.options.get(key, "0") != "0":
            raise job.refuse(key, f"is not built for {job.text('ioengine')}", code="not-built")
    if len(set(wanted)) > 1:
        raise job.refuse("bs", f"of several sizes is not built for {job.text('ioengine')}", code="not-built")
    record = wanted[0]
    files = files_of(job, number, record, record, timed=True)
    return JobWork(
        **_common(job, number, reads),
        does=_file_task(job),
        files=files,
        workload=_idle_workload(record),
        options=FioOptions(),
        sizes=_bounds(sides),
    )


def _file_task(job: FioJob) -> FioTask:
    """The call of an engine that makes, looks up or removes files."""
    if job.text("ioengine") == "filestat":
        return "lstat" if job.text("stat_type", "stat") == "lstat" else "stat"
    return "create" if job.text("ioengine") == "filecreate" else "delete"


def _seed(job: FioJob, number: int, *, is_compared: bool) -> int:
    if is_compared:
        # What is written follows from the seed and the place: with one seed any job can compare what any other wrote.
        return _SEED
    if "randrepeat" in job.options and not job.is_on("randrepeat"):
        return (time.time_ns() & 0xFFFFFFFF) + number
    return job.number("randseed", _SEED) + number


def _set_cache_drop(work: JobWork) -> None:
    """Drop the page cache before each pass, as fio does, where the engine can."""
    job, api = work.job, work.options.api
    has_passes = work.is_visited_once or (
        work.rule is None and work.has_sizes and not job.is_on("norandommap")
    )
    if not (work.invalidates and not is_direct(job) and work.has_files and has_passes):
        return
    if api not in _KEEPING:
        work.drops_cache = True
    elif work.timed or any(file.amount > file.span for file in work.files):
        work.notes.append("invalidate: the page cache is dropped before the first pass only")


def _syncs_at_end(job: FioJob) -> bool:
    return job.is_on("end_fsync") or job.is_on("fsync_on_close")


def _syncs_apart(job: FioJob) -> bool:
    """Whether a sync at the end follows syncs between writes, with which fio does not count it."""
    return any(job.number(key, 0) for key in ("fsync", "fdatasync")) and _syncs_at_end(job)


def _sync(job: FioJob) -> tuple[Sync, int]:
    every, data = job.number("fsync", 0), job.number("fdatasync", 0)
    if every and data:
        raise job.refuse("fdatasync", "is not built together with fsync", code="conflict")
    if every or data:
        return ("fsync" if every else "fdatasync"), every or data
    return ("fsync" if _syncs_at_end(job) else "none"), 0


def is_direct(job: FioJob) -> bool:
    """Whether it bypasses the page cache."""
    return job.is_on("direct") or ("buffered" in job.options and not job.is_on("buffered"))


def _depth(job: FioJob) -> int:
    engine = job.text("ioengine", "psync")
    if engine in _RINGS and (engine != "libaio" or is_direct(job)):
        return min(max(job.number("iodepth", 1), 1), 4096)
    return 1


def _options(job: FioJob) -> FioOptions:
    """Options of the engine. Raises Refused."""
    engine = job.text("ioengine", "psync")
    api = _API.get(engine)
    if engine in _RINGS:
        api = "positioned"
        if engine != "libaio" or is_direct(job):
            ring = Uring(
                registered=job.is_on("registerfiles") or job.is_on("fixedbufs"),
                # As fio: no more than can be outstanding.
                batch=min(job.number("iodepth_batch", 0), _depth(job)),
                sqpoll=job.is_on("sqthread_poll"),
                iopoll=job.is_on("hipri"),
            )
            api = ApiTable(uring=ring)
    if api is None:
        raise job.refuse(
            "ioengine",
            expected=f"one of {', '.join((*_API, *_RINGS, *FILE_CALLS, 'cpuio'))}",
            code="unsupported",
        )
    has_readahead = engine != "null" and not is_direct(job)
    return FioOptions(
        create=api not in ("null", "mmap"),
        advice=_advice(job) if has_readahead else "none",
        api=api,
        direct=is_direct(job) and engine != "null",
        dsync=job.text("sync", "0") not in ("0", "none"),
        # fio's null engine submits at depth 1 by no call of its own.
        split_latency=engine in _RINGS or (engine == "null" and job.number("iodepth", 1) > 1),
    )


def _advice(job: FioJob) -> str:
    """The order of reads that fio announces to the kernel: its own, or that of `fadvise_hint`. Raises Refused."""
    hint = job.text("fadvise_hint", "1")
    own = "random" if job.text("rw", "read").startswith("rand") else "sequential"
    found = {"0": "none", "1": own, "random": "random", "sequential": "sequential"}.get(hint)
    if found is None:
        raise job.refuse("fadvise_hint", expected="0, 1, random or sequential")
    return found


def _processors(job: FioJob, number: int) -> list[int]:
    """The processors of one copy; empty for all. Raises Refused."""
    if "cpus_allowed" not in job.options:
        return []
    found: list[int] = []
    for part in job.text("cpus_allowed").split(","):
        low, _, high = part.partition("-")
        if not (low.isdecimal() and (not high or high.isdecimal())):
            raise job.refuse("cpus_allowed", expected="processors such as 0-3,5")
        if len(max(low, high, key=len)) > _DIGITS:
            raise job.refuse("cpus_allowed", "has no such processor", code="out-of-range")
        found += range(int(low), int(high or low) + 1)
    if job.text("cpus_allowed_policy") == "split":
        return [found[number % len(found)]]
    return found


def _byte_of_pattern(job: FioJob) -> int | None:
    """The byte of which a pattern consists; None for another one, which the engine null takes. Raises Refused."""
    text = job.text("buffer_pattern").strip()
    if hexadecimal := re.fullmatch(r"0[xX]([0-9a-fA-F]+)", text):
        digits = hexadecimal[1]
        found = set(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))
    elif text.isdecimal() and int(text) < 256:
        found = {int(text)}
    elif string := re.fullmatch(r'"([!#-~ ]+)"', text):
        found = set(string[1].encode())
    else:
        found = set()
    if len(found) == 1:
        return found.pop()
    if job.text("ioengine") != "null":
        raise job.refuse(
            "buffer_pattern", expected="a byte that is repeated, such as 0xaa", code="unsupported"
        )
    return None


def _content(job: FioJob) -> Content:
    if "buffer_pattern" in job.options and (byte := _byte_of_pattern(job)) is not None:
        return ContentTable(iozone_pattern=IozonePattern(byte, whole=True))
    if job.is_on("zero_buffers"):
        return "zeros"
    shares = {
        "compressible_percent": job.number("buffer_compress_percentage", 0),
        "duplicate_percent": job.number("dedupe_percentage", 0),
    }
    if any(shares.values()):
        return ContentTable(mixed=MixedContent(**shares))
    if job.is_on("refill_buffers"):
        return "incompressible"
    return "fio_scrambled" if job.is_on("scramble_buffers", True) else "fio_constant"
