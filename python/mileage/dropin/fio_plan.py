"""What one process of a fio job does: files, and the engine's workload and options.

Scope: translates options to the engine's own terms (`mileage._core.run_file`). Offsets follow from the job's seed; they
are not fio's own. With libaio and without O_DIRECT an operation is done when it is submitted, so depth 1 is used.
What it refuses: combinations that the engine does not do, by the option's name.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mileage.dropin.fio_jobs import FioJob, size_of
from mileage.dropin.fio_patterns import (
    Sizes,
    check_targets,
    check_trims,
    pattern_of,
    reads_of,
    sizes_of,
    trims_of,
    wanted_sizes,
)
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.execute.fio_jobs.layout import length_of
from mileage.execute.fio_jobs.run import FioResult
from mileage.plan.content import Content, ContentTable, IozonePattern, MixedContent
from mileage.plan.fio_work import (
    FioFile,
    FioLayout,
    FioOptions,
    FioTask,
    FioWork,
    FioWorkload,
    PlaceRule,
    Verification,
    visits_once,
)
from mileage.plan.load_model import Cap, Load, Open, Think
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
_DIRECT_UNIT: Final = f"multiples of the logical block of {_SECTOR} bytes, which direct access needs"
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
    if is_direct(job) and any(size % _SECTOR for size in sizes):
        key = next((key for key in ("bssplit", "bsrange") if key in job.options), "bs")
        raise job.refuse(key, expected=_DIRECT_UNIT, code="does-not-divide")


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
    files = files_of(job, number, min(wanted), min(wanted), timed=timed)
    order, rule = _order(job, reads, sizes, is_listed=is_listable(files, min(wanted)) and not timed)
    if rule is None and trims != "pairs":
        rule = rule_of(job, reads, order[1], timed=timed)
        if rule is not None and len(set(wanted)) > 1:
            raise job.refuse("rw", "is not built with blocks of several sizes", code="not-built")
    if trims:
        check_targets(job, [file.path for file in files])
    verification, notes = verification_of(job, reads, timed=timed)
    seed = _seed(job, number, is_compared=bool(verification.kind))
    workload = _workload(job, order, load_of(job, reads, wanted), verification, seed)
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
        if not is_listable(files, min(wanted) // (2 if trims else 1)):
            raise job.refuse(
                "rw", f"is not built for more than {_MOST} operations of a file", code="too-large"
            )
        work.rule = rule
    work.sizes = _bounds(sides)
    if reads == 0 and rule is None:
        _set_last_syncs(work)
    if len(files) > 1:
        work.notes.insert(0, "nrfiles: files are worked on one after the other")
    _set_cache_drop(work)
    return work


def _order(
    job: FioJob, reads: int, sizes: tuple[Sizes, Sizes], *, is_listed: bool
) -> tuple[tuple[Pattern, int, int], PlaceRule | None]:
    """The engine's pattern, record and percent of reads, and the rule of blocks that are cut. Raises Refused."""
    is_random = job.text("rw", "read").startswith("rand")
    again = job.is_on("norandommap")
    if trims_of(job) == "pairs":
        rule = PlaceRule(trims=tuple(sizes[1]), is_random=is_random, comes_again=again)
        return ("sequential", max(wanted_sizes(sizes, reads)), 0), rule
    pattern, record, read_percent = pattern_of(job, reads, sizes)
    # As fio: blocks of one size for each direction are not cut.
    is_cut = (reads > 0 and len(sizes[0]) > 1) or (reads < 100 and len(sizes[1]) > 1)
    if not (is_cut and is_listed):
        return (pattern, record, read_percent), None
    rule = PlaceRule(blocks=(tuple(sizes[0]), tuple(sizes[1])), is_random=is_random, comes_again=again)
    return ("sequential", record, reads), rule


def _set_last_syncs(work: JobWork) -> None:
    """Sync after the last write where fio does: a rest behind it is a round, which begins with the sync that is due."""
    every = work.workload.sync_every
    for file in work.files if every and not work.timed else ():
        has_rest = file.span < file.end - file.start and file.amount % file.span == 0
        count = file.amount // work.workload.record_bytes
        file.syncs_last = has_rest and file.operations is None and count % every == 0


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
            fills=reads > 0 or job.is_on("overwrite") or job.text("ioengine") == "mmap",
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
        *("time_based", "fsync", "fdatasync", "end_fsync", "verify", "write_iolog", "rate", "rate_iops"),
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
        (work.has_sizes or (work.rule is not None and bool(work.rule.blocks)))
        and not job.is_on("norandommap")
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


# Files of one process of a fio job: names, the part of each that is worked on, and how much is done there.
# Scope: the rules of fio (filesetup.c). size is that of all files together; filesize that of each. A share in percent
# is one of what a file holds. Limits of a job (size, io_size, number_ios, loops) are dealt to its files in equal
# parts.
# What it refuses: a part that is smaller than a block, percents of a file that is not there.

_NULL_BYTES: Final = 1 << 40
"""Length of a file of the engine null."""
_FILES_MAX: Final = 1_000_000


def files_of(job: FioJob, number: int, record: int, least: int, *, timed: bool) -> list[FioFile]:
    """The files of copy `number`; blocks have `least` to `record` bytes. Raises Refused."""
    paths = _paths(job, number)
    found = [_part(job, path, number, record, least, (at, len(paths))) for at, path in enumerate(paths)]
    if timed:
        return found
    loops = max(job.number("loops", 1), 1)
    share, amount = job.percent_or_size("io_size")
    # As fio: a limit is reached with the block in which it lies, and the last block of a file ends inside it.
    if amount:
        for file, blocks in zip(found, _dealt(-(-amount // record), len(found)), strict=True):
            file.amount = blocks * record * loops
    else:
        for file in found:
            part = file.span if share is None else -(-file.span * share // 100 // record) * record
            file.amount = max(part, record) * loops
        _cut(job, found, record * loops)
    if "number_ios" in job.options and (count := job.number("number_ios", 0)):
        for file, operations in zip(found, _dealt(count * loops, len(found)), strict=True):
            file.operations = operations
    return [file for file in found if file.amount and file.operations != 0]


def _cut(job: FioJob, files: list[FioFile], block: int) -> None:
    """With filesize and a smaller size, no more than size is done in all files together."""
    percent, size = job.percent_or_size("size")
    if "filesize" not in job.options or percent is not None or not size:
        return
    loops = max(job.number("loops", 1), 1)
    if size * loops < sum(file.amount for file in files):
        for file, blocks in zip(files, _dealt(-(-size * loops // block), len(files)), strict=True):
            file.amount = blocks * block


def _dealt(total: int, count: int) -> list[int]:
    """Equal parts; the first ones have the rest."""
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]


def _paths(job: FioJob, number: int) -> list[str]:
    """The files of one copy: those that are named, or fio's own names."""
    directories = [name for name in re.split(r"(?<!\\):", job.text("directory")) if name]
    named = [name.replace("\\:", ":") for name in re.split(r"(?<!\\):", job.text("filename")) if name]
    if not named:
        count = max(job.number("nrfiles", 1), 1)
        if count > _FILES_MAX:
            raise Refused(
                f"fio: [{job.name}] nrfiles={count}", expected=f"at most {_FILES_MAX:,}", code="out-of-range"
            )
        form = job.text("filename_format", "$jobname.$jobnum.$filenum")
        base = job.name.replace("/", "_")
        named = [
            form.replace("$jobname", base).replace("$jobnum", str(number)).replace("$filenum", str(file))
            for file in range(count)
        ]
    # fio deals the copies of a job to the directories.
    directory = directories[number % len(directories)].replace("\\:", ":") if directories else ""
    return [os.path.join(directory, name) if directory else name for name in named]


def _part(job: FioJob, path: str, number: int, record: int, least: int, place: tuple[int, int]) -> FioFile:
    """The part that is worked on of the file at `place`: its index, and how many there are. Raises Refused."""
    at, count = place
    held = _NULL_BYTES if job.text("ioengine") == "null" else length_of(path) or 0
    start = _start(job, held, number, least)
    percent, size = job.percent_or_size("size")
    filesize = job.size("filesize")
    if filesize is not None:
        span = filesize - start
    elif size:
        # What does not divide is given to the first files in whole blocks.
        rest = (size - size // count * count) // least
        span = size // count + (least if at < rest else 0)
    elif held:
        span = held - start
    else:
        raise ToolRefusal(
            "fio",
            f"fio: [{job.name}]",
            f"no size: {path} is not there or empty",
            expected="size=",
            code="missing",
        )
    if percent is not None:
        span = min((span + start) * percent // 100, span)
    if span < record:
        raise job.refuse("size", f"is smaller than a block in {path}", code="out-of-range")
    if is_direct(job) and start % _SECTOR:
        raise job.refuse("offset", expected=_DIRECT_UNIT, code="does-not-divide")
    return FioFile(path, start, span // record * record, start + span)


def _start(job: FioJob, held: int, number: int, least: int) -> int:
    """First byte of a file; one from percents is rounded up to a block."""
    share, offset = job.percent_or_size("offset")
    step_share, step = job.percent_or_size("offset_increment")
    found = (held * share // 100 if share is not None else offset or 0) + number * (
        held * step_share // 100 if step_share is not None else step or 0
    )
    if share is None and step_share is None:
        return found
    align = job.size("offset_align") or least
    return -(-found // align) * align


# Places of a fio job that no pattern of the engine has: their rule, by which `execute.fio_jobs.places` lists them.
# Scope: rw=MODE:SKIP and rw=RANDOM:N, and random places in several zones, which are shares of the accesses and of the
# size.
# What it refuses: what is repeated until a time is over, loops, and more operations than a list should have.

_MOST: Final = 1 << 19
"""Operations of a list."""


def rule_of(job: FioJob, reads: int, record: int, *, timed: bool) -> PlaceRule | None:
    """The rule of a job; None where the engine has a pattern for its places. Raises Refused."""
    mode, _, skip = job.text("rw", "read").partition(":")
    key, rule = "rw", None
    if mode.startswith("rand") and (skip or job.text("rw_sequencer", "sequential") != "sequential"):
        rule = _run(job, skip or "1")
    elif "rw_sequencer" in job.options and not mode.startswith("rand"):
        raise job.refuse("rw_sequencer", "has an effect on random places only", code="unsupported")
    elif skip:
        rule = _skip(job, mode, skip, reads)
    elif mode.startswith("rand") and job.text("random_distribution").startswith("zoned:"):
        key, rule = "random_distribution", _zones(job)
    if rule is None or (rule.skip == -2 * record and timed):
        return None
    if timed or job.number("loops", 1) > 1:
        raise job.refuse(key, "is not built together with time_based or loops", code="not-built")
    return rule


def _skip(job: FioJob, mode: str, text: str, reads: int) -> PlaceRule:
    found = size_of(text.removeprefix("-"), job.base)
    if mode not in ("read", "write") or not found or 0 < reads < 100:
        raise job.refuse("rw", expected="read:SKIP or write:SKIP where there is a skip", code="unsupported")
    return PlaceRule(skip=-found if text.startswith("-") else found)


def _run(job: FioJob, text: str) -> PlaceRule | None:
    """Random places of which each begins a run; None for runs of one."""
    order = job.text("rw_sequencer", "sequential")
    if not text.isdecimal() or not int(text):
        raise job.refuse("rw", expected="a number of operations behind a random mode", code="unsupported")
    if order not in ("sequential", "identical"):
        raise job.refuse("rw_sequencer", expected="sequential or identical")
    if job.text("random_distribution", "random") != "random" or job.number("percentage_random", 100) != 100:
        raise job.refuse("rw", "is not built together with another distribution of places", code="not-built")
    if int(text) == 1:
        return None
    return PlaceRule(run=int(text), repeats=order == "identical", comes_again=job.is_on("norandommap"))


def _zones(job: FioJob) -> PlaceRule | None:
    """Zones, of which one without a figure has an equal part of what is left; None for two, which the engine has."""
    text = job.text("random_distribution").removeprefix("zoned:")
    parts = [re.fullmatch(r"([0-9]*)/([0-9]*)", part) for part in text.split(":")]
    if not all(parts):
        raise job.refuse("random_distribution", expected="zoned:ACCESS/SIZE:...")
    columns = []
    for at in (1, 2):
        given = [int(part[at]) if part and part[at] else None for part in parts]
        left, free = 100 - sum(value or 0 for value in given), given.count(None)
        columns.append([left // free if value is None else value for value in given])
    if any(sum(column) != 100 or min(column) < 0 for column in columns):
        raise job.refuse("random_distribution", "the shares are not 100 percent")
    return PlaceRule(zones=tuple(zip(*columns, strict=True))) if len(parts) > 2 else None


def is_listable(files: list[FioFile], record: int) -> bool:
    """Whether the operations on each file, in blocks of at least `record` bytes, fit into a list."""
    return all(min(file.amount // record, file.operations or _MOST) <= _MOST for file in files)


# Limits of the rate, think time and warm-up of a fio job as the engine's load.
# Scope: rate and rate_iops hold for each direction by itself, as in fio; 0 is no limit. A mix whose directions are both
# limited runs at the sum of both, in the proportion of the limits, which is what fio settles at on a device that
# keeps up.
# A limit with think time, or in bytes that are no whole number of blocks, catches up what the last millisecond lost.
# What it refuses: a mix with one limited direction, and one with blocks of several sizes limited in bytes.


def load_of(job: FioJob, reads: int, sizes: list[int]) -> tuple[Load, int | None]:
    """The engine's load, and the percent of reads where the limits say it. Raises Refused."""
    rate, share = _limit(job, reads, sizes)
    pause_ns = job.time_ns("thinktime", "us")
    opened, cap, think = None, None, None
    if rate is not None:
        if job.text("rate_process") == "poisson":
            opened = Open(_operations(job, rate, sizes), "poisson")
        elif pause_ns or (operations := _whole_operations(rate, sizes)) is None:
            cap = Cap(**rate)
        else:
            # As fio, a job that was held up catches up all that it is late.
            opened = Open(operations)
    if pause_ns:
        think = Think(pause_ns, max(job.number("thinktime_blocks", 1), 1))
        if opened is not None:
            raise job.refuse("thinktime", "is not built together with rate_process=poisson", code="conflict")
    return Load(opened, cap, think, job.time_ns("ramp_time") or 0), share


def _limit(job: FioJob, reads: int, sizes: list[int]) -> tuple[dict[str, int] | None, int | None]:
    given = {key: job.sides(key) for key in ("rate", "rate_iops")}
    limits = {key: sides for key, sides in given.items() if sides is not None and any(sides)}
    if len(limits) > 1:
        raise job.refuse("rate_iops", "fio does not take it together with rate either", code="conflict")
    for key, (read, write) in limits.items():
        unit = "bytes_per_s" if key == "rate" else "operations_per_s"
        if reads in (0, 100):
            own = read if reads else write
            return ({unit: own} if own else None), None
        if not (read and write):
            raise job.refuse(key, "limits one direction of a mix, which is not built", code="not-built")
        if key == "rate" and len(set(sizes)) > 1:
            raise job.refuse(
                key, "is not built for a mix of blocks of several sizes: rate_iops", code="not-built"
            )
        return {unit: read + write}, round(100 * read / (read + write))
    return None, None


def _whole_operations(rate: dict[str, int], sizes: list[int]) -> int | None:
    """Operations per second; None where blocks of several sizes, or a part of one, make them no whole number."""
    if "operations_per_s" in rate:
        return rate["operations_per_s"]
    count, rest = divmod(rate["bytes_per_s"], sizes[0])
    return count if count and not rest and len(set(sizes)) == 1 else None


def _operations(job: FioJob, rate: dict[str, int], sizes: list[int]) -> int:
    if "operations_per_s" in rate:
        return rate["operations_per_s"]
    if len(set(sizes)) > 1:
        raise job.refuse("rate_process", "needs rate_iops with blocks of several sizes", code="conflict")
    return max(rate["bytes_per_s"] // sizes[0], 1)


# Verification of a fio job: whether what was written is read back, and what is compared.
# Scope: blocks of the engine have an identity that follows from their place; they are compared whole, whatever the kind
# of checksum, and any job can compare what another one wrote with verify. fio's own headers are not written or read.
# Of a mix of reads and writes, the places that were written are taken from the engine's log of operations.
# What it refuses: kinds that fio does not know, and contents without an identity.

_KINDS: Final = (
    *("md5", "crc64", "crc32", "crc32c", "crc32c-intel", "crc16", "crc7", "xxhash", "meta"),
    *("sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512"),
)
_CONTENTS: Final = ("zero_buffers", "buffer_compress_percentage", "dedupe_percentage")
_PLACES: Final = ("randseed", "randrepeat")


def verification_of(job: FioJob, reads: int, *, timed: bool) -> tuple[Verification, list[str]]:
    """The verification of a job, and notes for the user. Raises Refused."""
    wanted = job.text("verify", "0")
    if wanted == "0":
        return Verification(), []
    if wanted == "null":
        kind = "read"
    elif wanted in _KINDS:
        kind = "compare"
    else:
        raise job.refuse("verify", expected=f"0, null, {', '.join(_KINDS)}", code="unsupported")
    _refuse(job)
    if job.is_on("verify_only") and reads < 100:
        if reads or "bssplit" in job.options or "bsrange" in job.options:
            raise job.refuse(
                "verify_only", "is not built for a mix or blocks of several sizes", code="not-built"
            )
        if timed:
            raise job.refuse("verify_only", "is not built together with time_based", code="not-built")
    notes = [
        f"{key}: with verify, places and data follow from one seed" for key in _PLACES if key in job.options
    ]
    reads_back = reads < 100 and job.is_on("do_verify", True)
    if timed and reads_back and "verify_backlog" not in job.options:
        # As in fio: writing takes the whole runtime.
        reads_back = False
        notes.insert(0, "verify: nothing is read back, since writing uses all of the runtime")
    return Verification(kind, reads_back), notes


def _refuse(job: FioJob) -> None:
    if job.number("ramp_time", 0) > 0 and job.text("rw") in ("rw", "readwrite", "randrw"):
        raise job.refuse("ramp_time", "is not built together with verify and a mix", code="not-built")
    if job.text("ioengine") == "null":
        raise job.refuse("verify", "the engine null keeps nothing that could be compared", code="conflict")
    if "buffer_pattern" in job.options:
        raise job.refuse("buffer_pattern", "is not built together with verify", code="conflict")
    for key in _CONTENTS:
        if job.options.get(key, "0") != "0":
            raise job.refuse(key, "is not built together with verify", code="conflict")
