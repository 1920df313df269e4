"""What one process of a fio job does: files, and the engine's workload and options.

Scope: translates options to the engine's own terms (`mileage._core.run_file`). Offsets follow from the job's seed; they
are not fio's own. With libaio and without O_DIRECT an operation is done when it is submitted, so depth 1 is used.
What it refuses: combinations that the engine does not do, by the option's name.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, Final

from mileage.dropin.fio_files import FioFile, files_of
from mileage.dropin.fio_jobs import FioJob, size_of
from mileage.dropin.fio_places import PlaceRule, check_count, rule_of
from mileage.dropin.fio_rates import load_of
from mileage.dropin.fio_trims import TRIM_MODES, check_targets, check_trims, trims_of
from mileage.dropin.fio_verify import Verification, verification_of

_BACKWARD: Final = re.compile(r"(read|write|rw):-")
_READS: Final = {
    "read": 100,
    "randread": 100,
    "write": 0,
    "randwrite": 0,
    "rw": 50,
    "readwrite": 50,
    "randrw": 50,
    **dict.fromkeys(TRIM_MODES, 0),
}
_API: Final[dict[str, Any]] = {
    "psync": "positioned",
    "sync": "seek",
    "pvsync": {"vectored": {"parts": 1}},
    "pvsync2": {"vectored": {"parts": 1}},
    "vsync": {"vectored": {"parts": 1}},
    "mmap": "mmap",
    "null": "null",
}
FILE_CALLS: Final = ("filecreate", "filestat", "filedelete")
"""Engines that call the file system once for each file, and transfer nothing."""
_RINGS: Final = ("libaio", "io_uring", "posixaio")
_ONCE: Final = ("sequential", "backward", "shuffled")
"""Patterns that visit each block once in a pass."""
_SEED: Final = 0x5EED
_SECTOR: Final = 512
_DIGITS: Final = 5
"""Most digits of the number of a processor."""
_KEEPING: Final = ("mmap",)
"""Calls of which the engine does not drop the page cache between passes."""


@dataclass
class FioWork:
    """The work of one process."""

    job: FioJob
    number: int
    """Of the copies of numjobs."""
    files: list[FioFile]
    workload: dict[str, Any]
    """Without the part of a file and the limits."""
    options: dict[str, Any]
    reads: int
    """Percent of reads."""
    verification: Verification
    limit_ns: int = 0
    """The runtime; 0 for no limit."""
    timed: bool = False
    """Whether the work is repeated until the runtime is over."""
    processors: list[int] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    """Least and greatest block of reads, of writes and of trims."""
    rule: PlaceRule | None = None
    """How places follow from one another, where the engine has no pattern for them."""
    drops_cache: bool = False
    """Whether each file leaves the page cache before each of its passes."""
    notes: list[str] = field(default_factory=list)
    """What is not as in fio, for the user."""

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
    def is_visited_once(self) -> bool:
        """Whether a pass visits each block of a file once."""
        return self.rule is None and self.workload["pattern"] in _ONCE


def works_of(job: FioJob) -> list[FioWork]:
    """The work of each copy of a job. Raises Refused."""
    if job.text("ioengine") == "cpuio":
        return [_processor_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]
    if job.text("ioengine") in FILE_CALLS:
        return [_file_call_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]
    if "write_iolog" in job.options and (job.number("numjobs", 1) > 1 or job.text("verify", "0") != "0"):
        raise job.refuse("write_iolog", "is not built together with numjobs or verify", code="not-built")
    return [_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]


def _reads(job: FioJob) -> int:
    mode = job.text("rw", "read").partition(":")[0]
    if mode not in _READS:
        raise job.refuse("rw", expected=f"one of {', '.join(_READS)}", code="unsupported")
    reads = _READS[mode]
    if reads != 50:
        return reads
    # The one that was given last counts.
    for key in job.options:
        if key in ("rwmixread", "rwmixwrite"):
            share = job.number(key, 50)
            if not 0 <= share <= 100:
                raise job.refuse(key, expected="0 to 100")
            reads = share if key == "rwmixread" else 100 - share
    return reads


_Sizes = list[tuple[int, int]]
"""Sizes with percents."""
_BlockSizes = tuple[_Sizes, _Sizes]
"""Those of reads and of writes."""


def _wanted(sizes: _BlockSizes, reads: int) -> list[int]:
    """The sizes of what is done."""
    return [
        size for side in (sizes[:1] if reads else ()) + (sizes[1:] if reads < 100 else ()) for size, _ in side
    ]


def _three(sides: list[_Sizes]) -> tuple[_Sizes, _Sizes, _Sizes]:
    """Sizes of reads, of writes and of trims: the last that are given hold for what follows."""
    return sides[0], sides[min(1, len(sides) - 1)], sides[min(2, len(sides) - 1)]


def _sizes(job: FioJob) -> tuple[_Sizes, _Sizes, _Sizes]:
    """Sizes of reads, of writes and of trims. Raises Refused."""

    def one(key: str, text: str) -> int:
        found = size_of(text, job.base)
        if not found:
            raise job.refuse(key, expected="sizes such as 4k")
        return found

    if "bssplit" in job.options:
        sides = [_split(job, side, one) for side in job.text("bssplit").split(",")]
        return _three(sides)
    if "bsrange" in job.options:
        ranges = []
        for side in job.text("bsrange").split(","):
            low, _, high = side.partition("-")
            least, most = one("bsrange", low), one("bsrange", high or low)
            count = max(most // least, 1)
            step = -(-count // 100)
            sizes = [least * at for at in range(1, count + 1, step)]
            ranges.append(_even(sizes))
        return _three(ranges)
    parts = job.text("bs", "4k").split(",")
    return _three([[(one("bs", part or "4k"), 100)] for part in parts])


def _even(sizes: list[int]) -> list[tuple[int, int]]:
    """Equal shares in whole percents; the first ones have the rest."""
    each, rest = divmod(100, len(sizes))
    return [(size, each + (at < rest)) for at, size in enumerate(sizes)]


def _split(job: FioJob, text: str, one: Any) -> list[tuple[int, int]]:
    parts = [part.split("/") for part in text.split(":") if part]
    sizes = [one("bssplit", part[0]) for part in parts]
    shares = [int(part[1]) if len(part) > 1 and part[1].isdecimal() else None for part in parts]
    left = 100 - sum(share or 0 for share in shares)
    free = sum(share is None for share in shares)
    found = [
        (size, left // free if share is None else share) for size, share in zip(sizes, shares, strict=True)
    ]
    if sum(share for _, share in found) != 100:
        raise job.refuse("bssplit", "the shares are not 100 percent")
    return [(size, share) for size, share in found if share]


def _pattern(job: FioJob, reads: int, sizes: _BlockSizes) -> tuple[Any, int, int]:
    """The engine's pattern, its record and its percent of reads."""
    mode = job.text("rw", "read")
    random = mode.startswith("rand")
    of_reads, of_writes = sizes
    wanted = _wanted(sizes, reads)
    if len(set(wanted)) > 1:
        lines = [
            {
                "size_bytes": size,
                "share_percent": share * part // 100,
                "read_percent": kind,
                "random_percent": 100 * random,
                # Random places are multiples of the least block, as in fio.
                "align_bytes": min(side)[0] if random else 0,
            }
            for side, part, kind in ((of_reads, reads, 100), (of_writes, 100 - reads, 0))
            for size, share in side
            if share * part // 100
        ]
        lines[0]["share_percent"] += 100 - sum(line["share_percent"] for line in lines)
        lines = [{**line, "burst": 1} for line in lines]
        _refuse_with_sizes(job, random)
        return {"access": {"lines": lines}}, max(wanted), 100
    record = wanted[0]
    if not random:
        return "backward" if _BACKWARD.match(mode) else "sequential", record, reads
    if distribution := _distribution(job):
        return distribution, record, reads
    if (jumps := _percent_random(job, reads)) < 100:
        return {"partly_sequential": {"random_percent": jumps}}, record, reads
    return "random" if job.is_on("norandommap") else "shuffled", record, reads


def _refuse_with_sizes(job: FioJob, random: bool) -> None:
    """Refuse what the engine does not do with blocks of several sizes. Raises Refused."""
    if _BACKWARD.match(job.text("rw", "read")):
        raise job.refuse("rw", "backwards in blocks of several sizes is not built", code="not-built")
    for key in ("random_distribution", "percentage_random"):
        if random and job.text(key, "random") not in ("random", "100"):
            raise job.refuse(key, "is not built with blocks of several sizes", code="not-built")


def _distribution(job: FioJob) -> dict[str, Any] | None:
    """The engine's pattern of a random distribution; None for the uniform one. Raises Refused."""
    text = job.text("random_distribution", "random")
    kind, _, figure = text.partition(":")
    if text == "random":
        return None
    if kind == "zipf" and re.fullmatch(r"([0-9]+\.?[0-9]*)?", figure):
        theta = round(100 * float(figure or "1.1"))
        # fio refuses an exponent of 1.
        if 1 <= theta <= 300 and theta != 100:
            return {"zipf": {"theta_hundredths": theta}}
    if kind == "zoned" and figure.count(":") > 1:
        # Listed one by one (fio_places).
        return None
    if kind == "zoned" and (zones := re.fullmatch(r"([0-9]+)/([0-9]+):([0-9]*)/([0-9]*)", figure)):
        accesses, size = int(zones[1]), int(zones[2])
        rest = (int(zones[3] or 100 - accesses), int(zones[4] or 100 - size))
        if rest == (100 - accesses, 100 - size) and 1 <= size <= 99 and 0 <= accesses <= 100:
            return {"hot_cold": {"hot_percent": size, "access_percent": accesses}}
    raise job.refuse(
        "random_distribution",
        expected="random, zipf:THETA with 0.01 to 3 but not 1, or zoned with two zones that are 100 % together",
        code="unsupported",
    )


def _percent_random(job: FioJob, reads: int) -> int:
    """Percent of places that are random, of reads and of writes alike. Raises Refused."""
    found = job.sides("percentage_random") or (100, 100)
    share = found[0] if reads else found[1]
    if share > 100 or (0 < reads < 100 and found[0] != found[1]):
        raise job.refuse(
            "percentage_random", expected="0 to 100, equal for reads and writes", code="unsupported"
        )
    return share


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


def _work(job: FioJob, number: int) -> FioWork:
    reads = _reads(job)
    sides = _sizes(job)
    trims = trims_of(job)
    sizes = (sides[0], sides[2] if trims else sides[1])
    _refuse_values(job, _wanted(sizes, reads))
    limit_ns = job.time_ns("runtime") or 0
    timed = job.is_on("time_based") and limit_ns > 0
    if trims:
        check_trims(job, sides, timed=timed)
    wanted = _wanted(sizes, reads)
    if trims == "pairs":
        pattern, record, read_percent = "sequential", max(wanted), 0
        rule: PlaceRule | None = PlaceRule(trims=tuple(sizes[1]))
        files = files_of(job, number, min(wanted), min(wanted), timed=timed)
    else:
        pattern, record, read_percent = _pattern(job, reads, sizes)
        rule = rule_of(job, reads, record, timed=timed)
        files = files_of(job, number, record, min(wanted), timed=timed)
        if rule is not None and len(set(wanted)) > 1:
            raise job.refuse("rw", "is not built with blocks of several sizes", code="not-built")
    if trims:
        check_targets(job, [file.path for file in files])
    verification = verification_of(job, reads, timed=timed)
    if verification.kind and pattern in _ONCE and not timed:
        # As fio: a pass ends with the file, and a job that only reads makes one.
        passes = 1 if reads == 100 else max(job.number("loops", 1), 1)
        for file in files:
            file.amount = min(file.amount, passes * file.span)
    load, limited_percent = load_of(job, reads, wanted)
    if limited_percent is not None and read_percent != 100:
        read_percent = limited_percent
    sync, every = _sync(job)
    workload = {
        "pattern": pattern,
        "read_percent": read_percent,
        "record_bytes": record,
        "depth": _depth(job),
        "threads": 1,
        "seed": _seed(job, number, verification),
        "content": "incompressible" if verification.kind or reads == 100 else _content(job),
        "sync": sync,
        # fsync_on_close syncs after the time of the job, as a sync that is only the last one of fsync=N.
        "sync_timed": job.is_on("end_fsync") and not syncs_apart(job),
        "sync_every": every,
        # As fio: the last sync of fsync=N is one that a further operation follows.
        "sync_last": not every,
        "load": load,
        "verify": "all" if verification.kind == "compare" and reads == 100 else "off",
        "discard_percent": 100 if trims == "only" else 0,
    }
    work = FioWork(job, number, files, workload, _options(job), reads, verification, limit_ns, timed)
    work.processors = _processors(job, number)
    if rule is not None:
        check_count(job, files, min(wanted) // (2 if trims else 1))
        work.rule = rule
    work.sizes = [(min(side)[0], max(side)[0]) for side in sides]
    if len(files) > 1:
        work.notes.append("nrfiles: files are worked on one after the other")
    work.notes += verification.notes
    _set_cache_drop(work)
    return work


def _processor_work(job: FioJob, number: int) -> FioWork:
    """Work of the engine cpuio, which only uses processor time. Raises Refused."""
    _refuse_values(job, [_SECTOR])
    load, limit_ns = job.number("cpuload", 0), job.time_ns("runtime") or 0
    if not 1 <= load <= 100 or not limit_ns:
        raise job.refuse("cpuload", expected="1 to 100, and a runtime")
    work = FioWork(
        job, number, [], {"depth": 1, "pattern": "sequential"}, {"api": "null"}, 100, Verification(), limit_ns
    )
    work.processors = _processors(job, number)
    return work


def _file_call_work(job: FioJob, number: int) -> FioWork:
    """Work of an engine that makes, looks up or removes files. Raises Refused."""
    reads, sides = _reads(job), _sizes(job)
    sizes = sides[:2]
    if trims_of(job):
        raise job.refuse("rw", f"is not built for {job.text('ioengine')}", code="not-built")
    wanted = _wanted(sizes, reads)
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
    workload = {"depth": 1, "pattern": "sequential", "record_bytes": record}
    work = FioWork(job, number, files, workload, {"api": "files"}, reads, Verification())
    work.processors = _processors(job, number)
    work.sizes = [(min(side)[0], max(side)[0]) for side in sides]
    return work


def _seed(job: FioJob, number: int, verification: Verification) -> int:
    if verification.kind:
        # What is written follows from the seed and the place: with one seed any job can compare what any other wrote.
        return _SEED
    if "randrepeat" in job.options and not job.is_on("randrepeat"):
        return (time.time_ns() & 0xFFFFFFFF) + number
    return job.number("randseed", _SEED) + number


def _set_cache_drop(work: FioWork) -> None:
    """Drop the page cache before each pass, as fio does, where the engine can."""
    job, api, pattern = work.job, work.options["api"], work.workload["pattern"]
    has_passes = work.is_visited_once or (
        work.rule is None and "access" in pattern and not job.is_on("norandommap")
    )
    if not (job.is_on("invalidate", True) and not is_direct(job) and api != "null" and has_passes):
        return
    if api not in _KEEPING:
        work.drops_cache = True
    elif work.timed or any(file.amount > file.span for file in work.files):
        work.notes.append("invalidate: the page cache is dropped before the first pass only")


def _syncs_at_end(job: FioJob) -> bool:
    return job.is_on("end_fsync") or job.is_on("fsync_on_close")


def syncs_apart(job: FioJob) -> bool:
    """Whether a sync at the end follows syncs between writes, with which fio does not count it."""
    return any(job.number(key, 0) for key in ("fsync", "fdatasync")) and _syncs_at_end(job)


def _sync(job: FioJob) -> tuple[str, int]:
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


def _options(job: FioJob) -> dict[str, Any]:
    """Options of the engine. Raises Refused."""
    engine = job.text("ioengine", "psync")
    api = _API.get(engine)
    if engine in _RINGS:
        api = "positioned"
        if engine != "libaio" or is_direct(job):
            api = {
                "uring": {
                    "registered": job.is_on("registerfiles") or job.is_on("fixedbufs"),
                    # As fio: no more than can be outstanding.
                    "batch": min(job.number("iodepth_batch", 0), _depth(job)),
                    "sqpoll": job.is_on("sqthread_poll"),
                    "iopoll": job.is_on("hipri"),
                }
            }
    if api is None:
        raise job.refuse(
            "ioengine",
            expected=f"one of {', '.join((*_API, *_RINGS, *FILE_CALLS, 'cpuio'))}",
            code="unsupported",
        )
    has_readahead = engine != "null" and not is_direct(job)
    return {
        "create": api not in ("null", "mmap"),
        "advice": _advice(job) if has_readahead else "none",
        "api": api,
        "direct": is_direct(job) and engine != "null",
        "dsync": job.text("sync", "0") not in ("0", "none"),
        # fio's null engine submits at depth 1 by no call of its own.
        "split_latency": engine in _RINGS or (engine == "null" and job.number("iodepth", 1) > 1),
    }


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


def _content(job: FioJob) -> Any:
    if "buffer_pattern" in job.options and (byte := _byte_of_pattern(job)) is not None:
        return {"iozone_pattern": {"byte": byte, "whole": True}}
    if job.is_on("zero_buffers"):
        return "zeros"
    shares = {
        "compressible_percent": job.number("buffer_compress_percentage", 0),
        "duplicate_percent": job.number("dedupe_percentage", 0),
    }
    if any(shares.values()):
        return {"mixed": shares}
    if job.is_on("refill_buffers"):
        return "incompressible"
    return "fio_scrambled" if job.is_on("scramble_buffers", True) else "fio_constant"
