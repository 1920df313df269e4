"""What one process of a fio job does: files, and the engine's workload and options.

Scope: translates options to the engine's own terms (`mileage._core.run_file`). Offsets follow from the job's seed; they
are not fio's own. With libaio and without O_DIRECT an operation is done when it is submitted, so depth 1 is used.
What it refuses: combinations that the engine does not do, by the option's name.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mileage.dropin.fio_jobs import FioJob, size_of
from mileage.errors import Refused

_BACKWARD: Final = re.compile(r"(read|write|rw):-")
_READS: Final = {
    "read": 100,
    "randread": 100,
    "write": 0,
    "randwrite": 0,
    "rw": 50,
    "readwrite": 50,
    "randrw": 50,
}
_SYNCHRONOUS: Final = ("psync", "sync", "mmap")
_API: Final[dict[str, Any]] = {
    "psync": "positioned",
    "sync": "seek",
    "pvsync": {"vectored": {"parts": 1}},
    "pvsync2": {"vectored": {"parts": 1}},
    "vsync": {"vectored": {"parts": 1}},
    "mmap": "mmap",
    "null": "null",
}
_RINGS: Final = ("libaio", "io_uring", "posixaio")
_FOREVER_NS: Final = 10**9 * 86400 * 300


@dataclass
class FioWork:
    """The work of one process."""

    job: FioJob
    number: int
    """Of the copies of numjobs."""
    paths: list[str]
    file_bytes: int
    """Length that each file must have."""
    workload: dict[str, Any]
    options: dict[str, Any]
    reads: int
    """Percent of reads."""
    verifies: bool
    passes: int = 1

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.reads < 100


def works_of(job: FioJob) -> list[FioWork]:
    """The work of each copy of a job. Raises Refused."""
    return [_work(job, number) for number in range(max(job.number("numjobs", 1), 1))]


def _reads(job: FioJob) -> int:
    mode = job.text("rw", "read")
    if _BACKWARD.match(mode):
        # fio goes back by the step behind the colon; only one that meets the block before is done.
        step = size_of(mode.partition(":-")[2], 1024)
        if step == 2 * (size_of(job.text("bs", "4k"), 1024) or 0):
            mode = mode.partition(":")[0]
    if mode not in _READS:
        raise job.refuse("rw", expected=f"one of {', '.join(_READS)}", code="unsupported")
    reads = _READS[mode]
    if reads != 50:
        return reads
    if "rwmixread" in job.options:
        reads = job.number("rwmixread", 50)
    elif "rwmixwrite" in job.options:
        reads = 100 - job.number("rwmixwrite", 50)
    if not 0 <= reads <= 100:
        raise job.refuse("rwmixread", expected="0 to 100")
    return reads


def _paths(job: FioJob, number: int) -> list[str]:
    """The files of one copy: those that are named, or fio's own names."""
    directory = job.text("directory").split(":")[0]
    named = [name.replace("\\:", ":") for name in re.split(r"(?<!\\):", job.text("filename")) if name]
    if not named:
        count = max(job.number("nrfiles", 1), 1)
        form = job.text("filename_format", "$jobname.$jobnum.$filenum")
        base = job.name.replace("/", "_")
        named = [
            form.replace("$jobname", base).replace("$jobnum", str(number)).replace("$filenum", str(file))
            for file in range(count)
        ]
    return [os.path.join(directory, name) if directory else name for name in named]


def length_of(path: str) -> int | None:
    """Bytes of a file or block device; None where it is not there. Raises Refused for anything else."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if stat.S_ISBLK(found.st_mode):
        with open(path, "rb") as device:
            return device.seek(0, os.SEEK_END)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"fio: {path}", "is neither a file nor a block device", code="unsupported")
    return found.st_size


def _span(job: FioJob, paths: list[str], offset: int) -> int:
    """Bytes of each file that are worked on. Raises Refused."""
    text = job.text("size").strip()
    own = job.size("filesize")
    if percent := re.fullmatch(r"([0-9]{1,3})%", text):
        held = length_of(paths[0])
        if not held:
            raise job.refuse("size", f"{paths[0]} has no size that percents could be of")
        return held * int(percent[1]) // 100 - offset
    size = job.size("size") if text else None
    if own is not None:
        return min(own, size) if size else own
    if size is None:
        held = 1 << 40 if job.text("ioengine") == "null" else length_of(paths[0])
        if not held:
            raise Refused(
                f"fio: [{job.name}]",
                "no size: there is no file that has one",
                expected="size=",
                code="missing",
            )
        return held - offset
    return size // len(paths)


def _sizes(job: FioJob) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Sizes with percents, of reads and of writes. Raises Refused."""
    base = 1000 if job.text("kb_base") == "1000" else 1024

    def one(key: str, text: str) -> int:
        found = size_of(text, base)
        if not found:
            raise job.refuse(key, expected="sizes such as 4k")
        return found

    if "bssplit" in job.options:
        sides = [_split(job, side, one) for side in job.text("bssplit").split(",")]
        return sides[0], sides[min(1, len(sides) - 1)]
    if "bsrange" in job.options:
        ranges = []
        for side in job.text("bsrange").split(","):
            low, _, high = side.partition("-")
            least, most = one("bsrange", low), one("bsrange", high or low)
            count = max(most // least, 1)
            step = -(-count // 100)
            sizes = [least * at for at in range(1, count + 1, step)]
            ranges.append(_even(sizes))
        return ranges[0], ranges[min(1, len(ranges) - 1)]
    parts = job.text("bs", "4k").split(",")
    reads = one("bs", parts[0] or "4k")
    writes = one("bs", parts[1] or "4k") if len(parts) > 1 else reads
    return [(reads, 100)], [(writes, 100)]


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


def _pattern(job: FioJob, reads: int, timed: bool) -> tuple[Any, int, int]:
    """The engine's pattern, its record and its percent of reads."""
    mode = job.text("rw", "read")
    random = mode.startswith("rand")
    of_reads, of_writes = _sizes(job)
    wanted = [*(of_reads if reads else ()), *(of_writes if reads < 100 else ())]
    if len({size for size, _ in wanted}) > 1:
        lines = [
            {
                "size_bytes": size,
                "share_percent": share * part // 100,
                "read_percent": kind,
                "random_percent": 100 * random,
            }
            for sizes, part, kind in ((of_reads, reads, 100), (of_writes, 100 - reads, 0))
            for size, share in sizes
            if share * part // 100
        ]
        lines[0]["share_percent"] += 100 - sum(line["share_percent"] for line in lines)
        lines = [{**line, "burst": 1} for line in lines]
        return {"access": {"lines": lines}}, max(size for size, _ in wanted), 100
    record = wanted[0][0]
    kind, _, figure = job.text("random_distribution", "random").partition(":")
    if kind == "zipf" and random:
        return {"zipf": {"theta_hundredths": max(round(100 * float(figure or "1.1")), 1)}}, record, reads
    if kind != "random":
        raise job.refuse("random_distribution", expected="random or zipf:THETA", code="unsupported")
    if "percentage_random" in job.options:
        return {"partly_sequential": {"random_percent": job.number("percentage_random", 100)}}, record, reads
    if random:
        return "random" if job.is_on("norandommap") or timed else "shuffled", record, reads
    return "backward" if _BACKWARD.match(mode) else "sequential", record, reads


_ONLY: Final = {
    "io_submit_mode": ("inline",),
    "continue_on_error": ("none", "0"),
    "unified_rw_reporting": ("0", "none"),
    "verify_state_save": ("0",),
    "exitall_on_error": ("0", "1"),
    "exitall": ("0",),
}
"""Options of which only these values are done."""


def _refuse_values(job: FioJob) -> None:
    for key, values in _ONLY.items():
        if key in job.options and job.options[key] not in values:
            raise job.refuse(key, expected=" or ".join(values), code="unsupported")
    if "blockalign" in job.options and job.text("blockalign") != job.text("bs", "4k"):
        raise job.refuse(
            "blockalign", "other places than multiples of the block are not built", code="not-built"
        )


def _work(job: FioJob, number: int) -> FioWork:
    _refuse_values(job)
    reads = _reads(job)
    paths = _paths(job, number)
    offset = (job.size("offset") or 0) + number * (job.size("offset_increment") or 0)
    limit_ns = job.time_ns("runtime")
    timed = job.is_on("time_based") and bool(limit_ns)
    pattern, record, read_percent = _pattern(job, reads, timed)
    span = _span(job, paths, offset) // record * record
    if span <= 0:
        raise job.refuse("size", "is smaller than a block", code="out-of-range")
    verifies = job.text("verify", "0") not in ("0", "null")
    stop: dict[str, int] = {"time_ns": max(limit_ns // len(paths), 1)} if limit_ns else {}
    if not timed:
        amount = job.size("io_size") or span
        stop["bytes"] = max(amount // record, 1) * record * max(job.number("loops", 1), 1)
        if "number_ios" in job.options:
            stop = {**stop, "operations": max(job.number("number_ios", 1), 1)}
    seed = job.number("randseed", 0x5EED)
    if "randrepeat" in job.options and not job.is_on("randrepeat"):
        seed = time.time_ns() & 0xFFFFFFFF
    sync, every = _sync(job)
    workload = {
        "pattern": pattern,
        "read_percent": read_percent,
        "record_bytes": record,
        "span_start_bytes": offset,
        "span_bytes": span,
        "depth": _depth(job),
        "threads": 1,
        "stop": stop,
        "seed": seed + number,
        "content": _content(job) if not verifies else "incompressible",
        "sync": sync,
        "sync_timed": True,
        "sync_every": every,
        "load": _load(job),
        "verify": "off",
    }
    return FioWork(
        job, number, paths, offset + span, workload, _options(job), reads, verifies and reads < 100
    )


def _sync(job: FioJob) -> tuple[str, int]:
    every, data = job.number("fsync", 0), job.number("fdatasync", 0)
    if every or data:
        return ("fsync" if every else "fdatasync"), every or data
    return ("fsync" if job.is_on("end_fsync") or job.is_on("fsync_on_close") else "none"), 0


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
                    "batch": job.number("iodepth_batch", 0) if "iodepth_batch" in job.options else 0,
                    "sqpoll": job.is_on("sqthread_poll"),
                    "iopoll": job.is_on("hipri"),
                }
            }
    if api is None:
        raise job.refuse("ioengine", expected=f"one of {', '.join((*_API, *_RINGS))}", code="unsupported")
    found: dict[str, Any] = {
        "create": True,
        "api": api,
        "direct": is_direct(job) and engine != "null",
        "dsync": job.text("sync", "0") not in ("0", "none"),
    }
    if "cpus_allowed" in job.options:
        found["pin_cpus"] = _cpus(job)
    return found


def _cpus(job: FioJob) -> list[int]:
    found: list[int] = []
    for part in job.text("cpus_allowed").split(","):
        low, _, high = part.partition("-")
        if not (low.isdecimal() and (not high or high.isdecimal())):
            raise job.refuse("cpus_allowed", expected="processors such as 0-3,5")
        found += range(int(low), int(high or low) + 1)
    return found


def _load(job: FioJob) -> dict[str, Any]:
    """Limits of the rate, think time and warm-up."""
    load: dict[str, Any] = {"warm_up_ns": job.time_ns("ramp_time") or 0}
    if "rate_iops" in job.options:
        load["cap"] = {"operations_per_s": max(job.number("rate_iops", 1), 1)}
    elif "rate" in job.options:
        rates = [size_of(part, 1024) for part in job.text("rate").split(",") if part]
        if not rates or None in rates:
            raise job.refuse("rate", expected="bytes per second")
        load["cap"] = {"bytes_per_s": max(sum(rate or 0 for rate in rates) // len(rates), 1)}
    if job.text("rate_process") == "poisson" and "cap" in load:
        if "operations_per_s" not in load["cap"]:
            raise job.refuse("rate_process", "needs rate_iops", code="conflict")
        rate = load.pop("cap")["operations_per_s"]
        load["open"] = {"operations_per_s": rate, "spacing": "poisson"}
    pause_ns = job.time_ns("thinktime", "us")
    if pause_ns:
        load["think"] = {"pause_ns": pause_ns, "every_operations": max(job.number("thinktime_blocks", 1), 1)}
    return load


def _content(job: FioJob) -> Any:
    if job.is_on("zero_buffers"):
        return "zeros"
    shares = {
        "compressible_percent": job.number("buffer_compress_percentage", 0),
        "duplicate_percent": job.number("dedupe_percentage", 0),
    }
    return {"mixed": shares} if any(shares.values()) else "incompressible"


def refuse_devices(works: list[FioWork], destroyed: list[str]) -> None:
    """Refuse to write a device that `--destroy` does not list. Raises Refused."""
    for work in works:
        for path in work.paths:
            if work.writes and Path(path).is_block_device() and path not in destroyed:
                raise Refused(
                    f"fio: {path}",
                    "its content would be lost",
                    advice=f"--destroy {path}",
                    code="needs-destroy",
                )
