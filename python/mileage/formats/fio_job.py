"""fio's job files as studies: what a job does becomes a measure, what cannot be honoured is refused by its name.

Scope: the options that say what is done, where, how long and by how many. Every job is measured in one stage,
in randomised blocks, as often as studies do; files that are read are written before. An option of fio's own output
(`KNOWN_SILENT`) has no effect on what is done and is ignored.
What it refuses: every other option, by its name and line; jobs that would run side by side; values that fio would
expand (variables, ranges, percentages).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from mileage.errors import Refused
from mileage.formats.number_parser import fio_size, whole
from mileage.model.target_kind import capabilities_of
from mileage.plan.io_options import IoOptions
from mileage.plan.pattern import PatternTable, Zipf
from mileage.plan.planned_runs import to_toml
from mileage.plan.sizes import exact_bytes
from mileage.plan.study import AccessRow, Measure, OwnWorkload, Stage, State, StopRule, Study, Torture
from mileage.plan.study_reader import parse_study
from mileage.targets.workfile import is_work_file

KNOWN_SILENT: Final = (
    *("name", "description", "group_reporting", "eta", "stonewall", "wait_for_previous"),
    *("unified_rw_reporting", "write_bw_log", "write_lat_log", "write_iops_log", "log_avg_msec"),
    *("log_offset", "per_job_logs", "percentile_list", "clat_percentiles", "lat_percentiles"),
    *("slat_percentiles", "bwavgtime", "iopsavgtime", "status-interval", "disable_lat", "disable_clat"),
    *("disable_slat", "disable_bw", "gtod_reduce", "create_on_open", "fallocate"),
)
"""Options of fio's output, order and layout: a study keeps every latency and series, and writes its files before."""
_ALIASES: Final = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blockalign": "ba",
    "iodepth_batch_submit": "iodepth_batch",
    "io_limit": "io_size",
    "wait_for_previous": "stonewall",
    "randomseed": "randseed",
    "o_direct": "direct",
}
_PATTERNS: Final = {
    "read": ("pattern.sequential_read", 100),
    "write": ("pattern.sequential_write", 0),
    "rw": ("pattern.sequential_mix", 50),
    "readwrite": ("pattern.sequential_mix", 50),
    "randread": ("pattern.shuffled_read", 100),
    "randwrite": ("pattern.shuffled_write", 0),
    "randrw": ("pattern.mix", 50),
    "randtrim": ("pattern.discard", 0),
}
_ANYWHERE: Final = {
    "pattern.shuffled_read": "pattern.random_read",
    "pattern.shuffled_write": "pattern.random_write",
}
"""With norandommap, and where a run lasts longer than one pass: places may come again before all were visited."""
_ENGINES: Final = {
    **dict.fromkeys(("psync", "sync", "pvsync", "pvsync2", "vsync"), "pread"),
    **dict.fromkeys(("libaio", "io_uring"), "uring"),
    "mmap": "mmap",
}
_FILL: Final = "layout"
_STAGE: Final = "jobs"
_SECTION: Final = re.compile(r"\[(.+)\]\s*$")
_UNITS: Final = {
    "": "s",
    "s": "s",
    "ms": "ms",
    "us": "us",
    "m": "min",
    "h": "h",
    "usec": "us",
    "msec": "ms",
    "sec": "s",
}


class Option(msgspec.Struct, frozen=True):
    """An option of a job, with the line that it stands in."""

    value: str
    line: int


Options = dict[str, Option]


class _Job:
    """One job; an option that no code has asked for is refused at the end."""

    def __init__(self, source: str, name: str, options: Options) -> None:
        self.source, self.name = source, name
        self._options = {key: value for key, value in options.items() if key not in KNOWN_SILENT}

    def refuse(self, key: str, why: str = "", *, expected: str = "", advice: str = "", code: str) -> Refused:
        """A refusal of one option, with its line and value."""
        option = self._options.get(key)
        place = f"{self.source}, line {option.line}" if option else self.source
        given = f"{key}={option.value}" if option and option.value else key
        where = f"{place}: [{self.name}] {given}"
        return Refused(where, why, expected=expected, advice=advice, code=code)

    def text(self, key: str, default: str = "") -> str:
        """The value of an option of the job, or the default."""
        option = self._options.get(key)
        return default if option is None else option.value

    def has(self, key: str) -> bool:
        """Whether an option is given."""
        return key in self._options

    def flag(self, key: str, default: bool = False) -> bool:
        """An option that is on or off; one without a value is on."""
        if not self.has(key):
            return default
        value = self.text(key) or "1"
        if value not in ("0", "1"):
            raise self.refuse(key, expected="0 or 1", code="wrong-value")
        return value == "1"

    def number(self, key: str, default: int) -> int:
        """A whole number."""
        value = whole(self.text(key, str(default)))
        if value is None:
            raise self.refuse(key, expected="a whole number", code="wrong-value")
        return value

    def size(self, key: str) -> int | None:
        """A size in bytes, None where it is not given."""
        if not self.has(key):
            return None
        found = fio_size(self.text(key), 1000 if self.text("kb_base") == "1000" else 1024)
        if not found:
            raise self.refuse(
                key,
                expected="a size such as 4k or 1g",
                advice="a study takes no percentages and ranges here",
                code="wrong-value",
            )
        return found

    def time(self, key: str, unit: str = "s") -> str | None:
        """A time as studies have it; a bare number is in `unit`."""
        if not self.has(key):
            return None
        found = re.fullmatch(r"([0-9]{1,12})\s*([a-z]*)", self.text(key))
        if found is None or (found[2] and found[2] not in _UNITS):
            raise self.refuse(key, expected="a time such as 30, 30s or 5m", code="wrong-value")
        return f"{found[1]} {_UNITS[found[2]] if found[2] else unit}"

    def leftover(self) -> None:
        """Refuse the first option that this reader does not honour."""
        for key in self._options:
            if key not in _HONOURED:
                raise self.refuse(
                    key,
                    "a study has nothing that does this",
                    advice="leave it out or run this job with fio",
                    code="unsupported",
                )


_HONOURED: Final = (
    *("rw", "bs", "bssplit", "size", "filesize", "io_size", "offset", "filename", "directory", "ioengine"),
    *("iodepth", "direct", "buffered", "invalidate", "numjobs", "thread", "runtime", "timeout", "time_based"),
    *("ramp_time", "loops", "rwmixread", "rwmixwrite", "fsync", "fdatasync", "end_fsync", "sync", "rate"),
    *("rate_iops", "thinktime", "thinktime_blocks", "norandommap", "random_distribution", "randrepeat"),
    *("randseed", "allrandrepeat", "kb_base", "buffer_compress_percentage", "dedupe_percentage"),
    *("zero_buffers", "refill_buffers", "scramble_buffers", "iodepth_batch", "overwrite", "nrfiles"),
)


def looks_like_job(path: Path, text: str) -> bool:
    """Whether a file is a fio job: by its name, or by a section with keys of jobs that studies do not have."""
    return path.suffix == ".fio" or bool(re.search(r"^\[global\]\s*$", text, re.MULTILINE))


def read_job(text: str, source: str, name: str, target: str | None = None) -> Study:
    """Convert a fio job file to a study; `target` replaces its filename. Raises Refused for what has no equivalent."""
    jobs = _jobs(text, source)
    kinds = [_Job(source, title, options) for title, options in jobs]
    for job, (_, options) in zip(kinds[1:], jobs[1:], strict=True):
        if "stonewall" not in options:
            raise Refused(
                f"{source}: [{job.name}]",
                f"has no stonewall: fio would run it with [{kinds[0].name}], a study one job after the other",
                code="unsupported",
            )
    for job in kinds:
        job.leftover()
    place = target or _target(kinds)
    sizes = [_span(job) for job in kinds]
    reads = [_reads(job) > 0 for job in kinds]
    start = "purged" if any(_writes(job) for job in kinds) or not _holds(place, kinds, sizes) else "kept"
    fill = any(reads) and start == "purged"
    own: dict[str, OwnWorkload] = {}
    tables = [_word(job.name) for job in kinds]
    if len(set(tables)) < len(tables):
        raise Refused(source, "two jobs have one name", advice="rename one", code="repeated")
    hosted = capabilities_of(place).has_host
    measures = {
        table: _measure(job, own, table, span, hosted)
        for table, job, span in zip(tables, kinds, sizes, strict=True)
    }
    stages = (Stage(name=_FILL, prepare=(_FILL,)),) if fill else ()
    study = Study(
        name=_word(name),
        question=_question(kinds, text),
        target=place,
        seed=kinds[0].number("randseed", 1),
        state=State(start=start, **({} if start == "kept" else {"file": exact_bytes(max(sizes))})),
        stage=(*stages, Stage(name=_STAGE, measure=tuple(measures))),
        workload=own,
        measure=measures,
        torture={_FILL: Torture(workload="throughput.write", record="1MiB", amount="1x")} if fill else {},
    )
    return parse_study(to_toml(study), source)


def _jobs(text: str, source: str) -> list[tuple[str, Options]]:
    """The jobs with the options of [global] before them, by main names."""
    found: list[tuple[str, Options]] = []
    shared: Options = {}
    current: Options | None = None
    for at, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if "${" in words or words.startswith("include "):
            raise Refused(
                f"{source}, line {at}: {words}",
                "variables and includes are fio's to expand",
                advice="write the value",
                code="unsupported",
            )
        if section := _SECTION.match(words):
            if section[1] == "global":
                current = shared
            else:
                current = dict(shared)
                found.append((section[1], current))
            continue
        if current is None:
            raise Refused(
                f"{source}, line {at}", f"{words[:60]!r} stands before the first [job]", code="malformed"
            )
        key, _, value = words.partition("=")
        key = key.strip().lower()
        current[_ALIASES.get(key, key)] = Option(value.strip(), at)
    if not found:
        raise Refused(source, "no job in it", expected="a section such as [randread]", code="empty")
    return found


def _word(text: str) -> str:
    """Turn a fio job name into a valid study name: letters, digits, - and _."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "job"


def _question(jobs: list[_Job], text: str) -> str:
    """The description, or what is asked; then what is done in place of an option's words."""
    described = re.search(r"^\s*description\s*=\s*(\S.*)$", text, re.MULTILINE)
    asked = described[1].strip() if described else f"How fast: {', '.join(job.name for job in jobs)}?"
    notes = [
        f"[{', '.join(job.name for job in found)}]: {note}"
        for applies, note in _NOTES
        if (found := [job for job in jobs if applies(job)])
    ]
    return " ".join([asked, *notes])


def _is_direct(job: _Job) -> bool:
    return job.flag("direct") or (job.has("buffered") and not job.flag("buffered"))


def _waits_in_libaio(job: _Job) -> bool:
    """Whether the kernel does each operation inside io_submit: libaio without O_DIRECT (fio's HOWTO, "libaio")."""
    return job.text("ioengine") == "libaio" and not _is_direct(job)


_NOTES: Final[tuple[tuple[Callable[[_Job], bool], str], ...]] = (
    (
        lambda job: _waits_in_libaio(job) and job.number("iodepth", 1) > 1,
        "libaio without direct=1 waits for each operation, so depth 1 is measured, as fio does whatever iodepth says; "
        "for more in flight set direct=1 or ioengine=io_uring.",
    ),
    (
        lambda job: job.text("sync") in ("1", "sync") and _writes(job),
        "fio opens with O_SYNC for sync=1, here it is O_DSYNC: the file's times are not written with each write, so "
        "rates can be higher than fio's; sync=dsync is the same in both.",
    ),
)
"""Notes on deviations from a job's options, each with the condition under which it applies."""


def _target(jobs: list[_Job]) -> str:
    """The one place that all jobs name."""
    places = {(job.text("filename"), job.text("directory")) for job in jobs}
    if len(places) > 1:
        job = next(job for job in jobs if (job.text("filename"), job.text("directory")) != next(iter(places)))
        key = "filename" if job.has("filename") else "directory"
        raise job.refuse(
            key,
            "the jobs have different files or directories",
            advice="a study has one target, write a file for each",
            code="unsupported",
        )
    filename, directory = places.pop()
    if ":" in filename or ":" in directory:
        raise jobs[0].refuse(
            "filename", "several files in one job", advice="a study has one target", code="unsupported"
        )
    if filename.startswith("/dev/"):
        return f"block:{filename}"
    path = f"{directory.rstrip('/')}/{filename}" if directory and filename else filename or directory
    return f"file:{path}" if filename else f"dir:{path or '.'}"


def _holds(place: str, jobs: list[_Job], sizes: list[int]) -> bool:
    """Whether the data to be read exists: a device, or a file of the user. Raises Refused where a part of it is."""
    kind = capabilities_of(place)
    if kind.is_block_device:
        return True
    path = Path(place.partition(":")[2])
    if not kind.in_place or not path.is_file() or is_work_file(path):
        return False
    held = path.stat().st_size
    for job, needed in zip(jobs, sizes, strict=True):
        if 0 < held < needed:
            raise job.refuse(
                "size" if job.has("size") else "filesize",
                f"{path} holds {held} bytes and the job reads {needed}",
                advice="fio would write the rest, a study that reads writes nothing there: give a smaller size",
                code="unsupported",
            )
    return held > 0


def _span(job: _Job) -> int:
    """Range that one job visits, in bytes."""
    size, file_size = job.size("size"), job.size("filesize")
    if size is None and file_size is None:
        raise job.refuse(
            "size",
            "is not given",
            advice="fio would take the whole device, a study needs a size",
            code="missing",
        )
    if job.number("nrfiles", 1) != 1:
        raise job.refuse("nrfiles", "a study has one file, or one for each job", code="unsupported")
    return (size or file_size or 0) + (job.size("offset") or 0)


def _reads(job: _Job) -> int:
    """Share of reads, in percent."""
    pattern = job.text("rw", "read")
    if pattern not in _PATTERNS:
        raise job.refuse("rw", expected=f"one of {', '.join(_PATTERNS)}", code="unsupported")
    reads = _PATTERNS[pattern][1]
    if reads != 50:
        return reads
    if job.has("rwmixread"):
        reads = job.number("rwmixread", 50)
    elif job.has("rwmixwrite"):
        reads = 100 - min(100, job.number("rwmixwrite", 50))
    if reads > 100:
        raise job.refuse("rwmixread", expected="0 to 100", code="out-of-range")
    return reads


def _writes(job: _Job) -> bool:
    return _reads(job) < 100


def _measure(job: _Job, own: dict[str, OwnWorkload], table: str, span: int, hosted: bool) -> Measure:
    """The table of one job."""
    threads = job.number("numjobs", 1)
    time = job.time("runtime") or job.time("timeout")
    workload, record = _workload(job, own, table, bool(time and job.flag("time_based")))
    offset = job.size("offset") or 0
    amount = (job.size("io_size") or span - offset) * threads * job.number("loops", 1)
    stop = (
        StopRule(time=time)
        if time and job.flag("time_based")
        else StopRule(bytes=exact_bytes(amount), time=time)
    )
    processes = threads if threads > 1 and not job.flag("thread") else None
    how = msgspec.structs.asdict(_how(job, threads))
    if hosted:
        check_host_job(job, threads)
    return Measure(
        **{**how, "processes": processes, **(NO_EFFECT_ON_HOST if hosted else {})},
        workload=workload,
        record=record,
        stop=stop,
        span=exact_bytes(span - offset),
        span_start=exact_bytes(offset) if offset else 0,
        threads=threads,
        depth=_depth(job),
    )


def _workload(job: _Job, own: dict[str, OwnWorkload], table: str, timed: bool) -> tuple[str, str | None]:
    """The name of the workload, and its record; a mix of sizes becomes a workload of the job's own."""
    word = _PATTERNS[job.text("rw", "read")][0]
    random = job.text("rw", "read").startswith("rand")
    if job.has("bssplit"):
        own[table] = OwnWorkload(access=_rows(job, 100 if random else 0), title=f"fio's job {job.name}")
        return table, None
    size = job.size("bs") or 4096
    if job.has("random_distribution"):
        kind, _, figure = job.text("random_distribution").partition(":")
        if kind == "zipf" and random and _is_number(figure):
            own[table] = OwnWorkload(
                reads=_reads(job), pattern=PatternTable(zipf=Zipf(round(100 * float(figure))))
            )
            return table, exact_bytes(size)
        if kind != "random":
            raise job.refuse(
                "random_distribution",
                "a study has random and zipf:EXPONENT, with a random rw",
                code="unsupported",
            )
    if job.flag("norandommap") or (timed and random):
        word = _ANYWHERE.get(word, word)
    return word, exact_bytes(size)


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,6})?", text))


def _rows(job: _Job, random: int) -> tuple[AccessRow, ...]:
    """The lines of an access specification that do what a bssplit does."""
    rows = []
    for part in job.text("bssplit").split(":"):
        text, _, share = part.partition("/")
        size, percent = fio_size(text), whole(share)
        if not size or not percent or "," in part:
            raise job.refuse(
                "bssplit",
                expected="SIZE/PERCENT:SIZE/PERCENT..., the same for reads and writes",
                code="wrong-value",
            )
        rows.append(AccessRow(size=exact_bytes(size), share=percent, reads=_reads(job), random=random))
    return tuple(rows)


def _depth(job: _Job) -> int:
    depth = job.number("iodepth", 1)
    if _waits_in_libaio(job):
        return 1
    if depth > 1 and _ENGINES.get(job.text("ioengine", "psync")) != "uring":
        raise job.refuse(
            "iodepth",
            f"has no effect with ioengine={job.text('ioengine', 'psync')}, which waits for each",
            code="no-effect",
        )
    if job.number("iodepth_batch", 1) != 1:
        raise job.refuse(
            "iodepth_batch", "a study submits each operation when there is room for it", code="unsupported"
        )
    return depth


def _how(job: _Job, threads: int) -> IoOptions:
    """The keys that say how it is done."""
    engine = job.text("ioengine", "psync")
    if engine not in _ENGINES:
        raise job.refuse("ioengine", expected=f"one of {', '.join(_ENGINES)}", code="unsupported")
    if job.flag("overwrite"):
        raise job.refuse(
            "overwrite",
            "a study's work file is written before it is read",
            advice="remove it",
            code="no-effect",
        )
    cache = "direct" if _is_direct(job) else "cold" if job.flag("invalidate", True) else "warm"
    if cache == "direct" and engine == "mmap":
        raise job.refuse("direct", "has no effect with ioengine=mmap", code="no-effect")
    if job.has("randrepeat") and not job.flag("randrepeat"):
        raise job.refuse(
            "randrepeat",
            "the random choices of a study come from its seed, so that it can be repeated",
            code="unsupported",
        )
    every = job.number("fsync", 0) or job.number("fdatasync", 0)
    synced = "fsync" if job.number("fsync", 0) or job.flag("end_fsync") else "fdatasync" if every else None
    known: dict[str, Any] = {
        "api": "pread" if _waits_in_libaio(job) else _ENGINES[engine],
        "cache": cache,
        "reads": _reads(job)
        if _PATTERNS[job.text("rw", "read")][1] == 50 and not job.has("bssplit")
        else None,
        "sync": synced,
        "sync_every": every or None,
        "dsync": True if job.text("sync") not in ("", "0", "none") else None,
        "files": "per_thread" if threads > 1 and not job.has("filename") else None,
        "cap": _cap(job, threads),
        "think": job.time("thinktime", "us"),
        "burst": job.number("thinktime_blocks", 1) if job.has("thinktime") else None,
        "warm_up": job.time("ramp_time"),
        "content": _content(job) if _writes(job) else None,
    }
    return IoOptions(**known)


def _cap(job: _Job, threads: int) -> int | str | None:
    """Fio's limits are each job's; a study's is that of all threads together."""
    if job.has("rate_iops") and job.has("rate"):
        raise job.refuse(
            "rate", "is given together with rate_iops", advice="a study has one cap", code="conflict"
        )
    if job.has("rate_iops"):
        return job.number("rate_iops", 0) * threads
    rate = job.size("rate")
    return None if rate is None else f"{exact_bytes(rate * threads)}/s"


def _content(job: _Job) -> str | None:
    """Content that the job's options ask to write, if they do."""
    if job.flag("zero_buffers"):
        return "zeros"
    shares: tuple[tuple[str, str], ...] = (
        ("buffer_compress_percentage", "compressible"),
        ("dedupe_percentage", "duplicate"),
    )
    parts = [f"{word}={job.number(key, 0)}" for key, word in shares if job.has(key)]
    if parts:
        return ",".join(parts)
    return "incompressible" if job.flag("refill_buffers") else None


# What of a fio job a modelled host does in its own way: its calls, and its tasks.
# Scope: there the system calls of an engine that waits cost the same, and those of one that does not wait (`libaio`,
# `io_uring`) are several of them in flight, which the depth says; processes of fio are threads of the simulation.
# What it refuses: `mmap`, which the host does not model, and a file for each job, since there is one work file.

NO_EFFECT_ON_HOST: Final = MappingProxyType({"api": None, "processes": None, "files": None})
"""Keys of a study that mean nothing on a modelled host, without their values."""


def check_host_job(job: _Job, threads: int) -> None:
    """Raises Refused for a job that a modelled host does not do."""
    if job.text("ioengine") == "mmap":
        raise job.refuse(
            "ioengine", "a modelled host has no mmap", advice="choose psync or libaio", code="unsupported"
        )
    if threads > 1 and not job.has("filename"):
        raise job.refuse(
            "numjobs",
            "gives each job a file of its own, and a modelled host has one work file",
            advice="add filename=NAME: then the jobs share it",
            code="unsupported",
        )
