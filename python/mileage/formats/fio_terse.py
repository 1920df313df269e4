"""fio's terse output (--minimal, --output-format=terse), versions 3, 4 and 5, of fio 3: one line for each job.

Scope: KiB and microseconds, whole numbers; versions 4 and 5 have trims, version 5 more columns of bandwidth and IOPS.
The line has no options of the job, so a cell is named after the job. Lines with the name, the group and the disk
statistics of another are the jobs that `numjobs` made, one run together.
What it refuses: version 2, which has no name of a tool in it; fio 2; a line that is twice in the file; status reports,
whose totals grow from line to line; and lines of one name and group without disk statistics, or with zeros only, which
are either jobs side by side or runs one after the other.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.fio_options import QUANTILES, drop_unmixed, note_concurrent, note_unjoined, version_3
from mileage.formats.input_file import Source
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "fio-terse"
_LINE: Final = re.compile(r"([345]);(fio-[^;\n]*);")
_OLD: Final = re.compile(r"2;[^;\n]*;[0-9]+;[0-9]+;(?:[0-9.]+%?;){40,}")
_START: Final = 5
"""Fields before the first direction: versions, name, group, error."""
_FIELDS: Final = {3: (2, 41), 4: (3, 41), 5: (3, 47)}
"""Directions, and fields of each, by version."""
_PERCENTILES: Final = 20
_TAIL: Final = 34
"""Fields between the last direction and the disks: CPU, depths, latencies."""
_CPU: Final = 5
"""Fields of the CPU, before those of the depths."""
_DEPTHS: Final = 7
_SYNCED_MIN: Final = 101.0
"""Least sum of the shares of depths, in percent, which are rounded, that syncs explain and nothing else."""
_DISK: Final = 9
_ENDING: Final = 3
"""Fields that may follow without a disk."""
_RAN_ON_MIN: Final = 1.05
"""Least ratio of the run times of two status reports."""
_DIRECTIONS: Final = ("read", "write", "trim")
_NAMES: Final = ("io (KiB)", "bw (KiB/s)", "iops", "runtime (msec)")


class _Part(msgspec.Struct, frozen=True):
    """What a job did in one direction."""

    io_kib: int
    iops: float
    runtime_ms: int
    bw_kib: int
    mean_us: float | None
    ends_us: tuple[float | None, float | None]
    quantiles_us: dict[str, float]

    @property
    def active(self) -> bool:
        """Whether anything was done."""
        return self.io_kib > 0 or self.iops > 0


class _Job(msgspec.Struct, frozen=True):
    """A line."""

    line: int
    name: str
    group: int
    error: int
    parts: dict[str, _Part]
    outstanding_percent: float
    """Operations at each depth, together, in percent of reads, writes and trims; above 100 % there were syncs too."""
    disks: str
    """Statistics of the first disk; empty where there are none, or all are 0, as they distinguish no runs then."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(_LINE.match(line) or _OLD.match(line[:1000]) for line in source.text_head.split("\n")[:500])


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds no line of fio 3, or jobs that cannot be distinguished."""
    result = Result(tool="fio", version=None, layout=LAYOUT, runs=[])
    jobs: list[_Job] = []
    lines: dict[str, int] = {}
    texts = source.lines()
    for at, line in enumerate(texts, 1):
        if _OLD.match(line[:1000]):
            raise Refused(
                f"{source.path}, line {at}",
                "fio's terse version 2",
                expected="version 3, 4 or 5 (--terse-version=3)",
                code="unsupported",
            )
        if found := _LINE.match(line):
            version = version_3(f"{source.path}, line {at}", found[2])
            result.version = result.version or version
            job = _job(at, line, int(found[1]), cut=at == len(texts) and not source.ends_with_line)
            if job is not None:
                if (twin := lines.setdefault(line.strip(), at)) != at:
                    raise Refused(f"{source.path}, line {at}", f"the same as line {twin}", code="repeated")
                jobs.append(job)
                continue
        if line.strip():
            result.skip(at, line, "no whole line of fio's terse output")
    if not jobs:
        raise Refused(source.path, "no line of fio's terse output was understood", code="not-understood")
    _check_reports(source, jobs)
    together = _together(source, jobs)
    for call, same in together:
        run = _run(call, same)
        group = same[0].group
        others = [other[0].name for begun, other in together if begun == call and other[0].group == group]
        note_concurrent(run, same[0].name, [name for name in others if name != same[0].name])
        result.runs.append(run)
    return result


def _job(at: int, line: str, version: int, *, cut: bool) -> _Job | None:
    """A line; None for one that is not whole. `cut`: it has no line feed, so that its disks may be missing."""
    fields = line.rstrip("\r").split(";")
    directions, width = _FIELDS[version]
    end = _START + directions * width + _TAIL
    # A disk may follow, then two numbers of continue_on_error, then a description.
    disk = fields[end : end + _DISK]
    is_disk = len(disk) == _DISK and disk[-1].endswith("%")
    if len(fields) < end or (not is_disk and (cut or len(disk) > _ENDING)):
        return None
    group, error = whole(fields[3]), whole(fields[4])
    disks = ";".join(disk) if any(number(field.removesuffix("%")) for field in disk[1:]) else ""
    if group is None or error is None:
        return None
    if any(number(field.removesuffix("%")) is None for field in fields[end - _TAIL : end]):
        return None
    parts = {}
    for at_direction, name in enumerate(_DIRECTIONS[:directions]):
        begin = _START + at_direction * width
        part = _part(fields[begin : begin + width])
        if part is None:
            return None
        parts[name] = part
    shares = fields[end - _TAIL + _CPU : end - _TAIL + _CPU + _DEPTHS]
    outstanding = sum(number(field.removesuffix("%")) or 0.0 for field in shares)
    return _Job(at, fields[2], group, error, parts, outstanding, disks if is_disk else "")


def _part(fields: list[str]) -> _Part | None:
    io_kib, bandwidth, runtime = whole(fields[0]), whole(fields[1]), whole(fields[3])
    iops = number(fields[2])
    others = [*fields[4:12], *fields[12 + _PERCENTILES :]]
    if io_kib is None or bandwidth is None or runtime is None or iops is None:
        return None
    if any(number(field.removesuffix("%")) is None for field in others):
        return None
    quantiles = {}
    for field in fields[12 : 12 + _PERCENTILES]:
        percent, _, value = field.partition("%=")
        share, value_us = number(percent), number(value)
        if share is None or value_us is None:
            return None
        if share in QUANTILES:
            quantiles[QUANTILES[share]] = value_us
    ends = number(fields[8]), number(fields[9])
    return _Part(io_kib, iops, runtime, bandwidth, number(fields[10]), ends, quantiles)


def _check_reports(source: Source, jobs: list[_Job]) -> None:
    """Refuse status reports (--status-interval): lines of one job with totals so far are neither jobs nor runs."""
    before: dict[tuple[str, int], list[_Job]] = {}
    for job in jobs:
        same = before.setdefault((job.name, job.group), [])
        if early := next((other for other in same if _is_later(other, job)), None):
            raise Refused(
                f"{source.path}, line {job.line}",
                f"job {job.name[:80]!r} with totals that continue those of line {early.line}",
                advice="status reports cannot be distinguished from runs: run fio without --status-interval, use "
                "JSON, or import a file for each run",
                code="ambiguous",
            )
        same.append(job)


def _is_later(before: _Job, after: _Job) -> bool:
    """Whether a line continues another one: it ran on, did more, and has all latencies of the other.

    Jobs side by side do not run for times so different, and repetitions take equal times or move equal amounts.
    """
    pairs = [(part, after.parts[name]) for name, part in before.parts.items() if name in after.parts]
    grown = [
        (new.runtime_ms / part.runtime_ms if part.runtime_ms else 1.0, new.io_kib - part.io_kib)
        for part, new in pairs
        if part.active
    ]
    return (
        bool(grown)
        and all(ratio >= 1 and more >= 0 for ratio, more in grown)
        and any(ratio >= _RAN_ON_MIN and more > 0 for ratio, more in grown)
        and all(_holds(new.ends_us, part.ends_us) for part, new in pairs if part.active)
    )


def _holds(outer: tuple[float | None, float | None], inner: tuple[float | None, float | None]) -> bool:
    return (outer[0] or 0.0) <= (inner[0] or 0.0) and (outer[1] or 0.0) >= (inner[1] or 0.0)


def _together(source: Source, jobs: list[_Job]) -> list[tuple[int, list[_Job]]]:
    """The jobs of each run, with the line in which their call of fio begins. Raises Refused."""
    found: list[tuple[int, list[_Job]]] = []
    call = jobs[0].line
    runs: dict[tuple[str, int], list[_Job]] = {}
    disks = jobs[0].disks
    for job in jobs:
        key = job.name, job.group
        if job.disks != disks:
            call, runs, disks = job.line, {}, job.disks
        elif key in runs and not job.disks:
            raise Refused(
                f"{source.path}, line {job.line}",
                f"a second line of job {job.name[:80]!r} in group {job.group}, and no disk statistics but 0",
                advice="jobs side by side cannot be distinguished from runs one after the other: use "
                "group_reporting, and a file for each run",
                code="ambiguous",
            )
        if key in runs:
            runs[key].append(job)
        else:
            runs[key] = [job]
            found.append((call, runs[key]))
    return found


def _run(call: int, jobs: list[_Job]) -> ToolRun:
    """The run of one or more jobs side by side."""
    first = jobs[0]
    parts = {name: [job.parts[name] for job in jobs] for name in first.parts}
    done = {
        name: [part for part in same if part.active]
        for name, same in parts.items()
        if any(p.active for p in same)
    }
    active = [part for same in done.values() for part in same]
    longest_ms = max((part.runtime_ms for part in active), default=0)
    run = ToolRun(
        cell=f"fio.{first.name}" + (f", {len(jobs)} jobs" if len(jobs) > 1 else ""),
        kind="iops",
        title=f"job {first.name}",
        line=first.line,
        call=call,
        levels={"job": first.name, "jobs": str(len(jobs))},
        elapsed_s=longest_ms / 1000 or None,
        bytes_read=_moved(parts["read"]),
        bytes_written=_moved(parts["write"]),
        printed=_printed(jobs),
    )
    if longest_ms:
        run.rate_bytes_per_s = sum(part.io_kib for part in active) * 1024 / (longest_ms / 1000)
        run.ops_per_s = (
            active[0].iops
            if len(active) == 1
            else sum(part.iops * part.runtime_ms for part in active) / longest_ms
        )
    _latencies(run, done)
    if {"read", "write"} <= done.keys():
        drop_unmixed(run, *(max(part.runtime_ms for part in done[name]) for name in ("read", "write")))
    if any(job.outstanding_percent >= _SYNCED_MIN for job in jobs):
        run.notes.append(
            f"{run.cell} synced its writes, and terse output has no times of syncs: percentiles are of the writes "
            "before them; fio's JSON and its normal output have both"
        )
    if failed := sorted({job.error for job in jobs if job.error}):
        run.error = f"fio ended with error {', '.join(map(str, failed))}"
    return run


def _moved(parts: list[_Part]) -> int | None:
    """Bytes of all jobs, whole KiB each."""
    moved = sum(part.io_kib for part in parts) * 1024
    return moved if moved < 2**63 else None


def _latencies(run: ToolRun, done: dict[str, list[_Part]]) -> None:
    """Completion latencies of the direction with most operations, where one job did it."""
    if not done:
        return
    most = max(done, key=lambda name: sum(part.iops * part.runtime_ms for part in done[name]))
    if len(done[most]) > 1:
        note_unjoined(run, len(done[most]))
        return
    (part,) = done[most]
    # fio prints 0 for all of them where it did not measure latencies, and below a microsecond.
    if not any(part.quantiles_us.values()) and not part.mean_us:
        return
    found = {"mean": part.mean_us, "min": part.ends_us[0], "max": part.ends_us[1], **part.quantiles_us}
    run.quantiles_ns = {name: 1000 * value for name, value in found.items() if value is not None}
    run.latency_p99_ns = run.quantiles_ns.get("p99") or None


def _printed(jobs: list[_Job]) -> list[tuple[str, float]]:
    """The figures of each direction, with the number of the job before where there are several."""
    found = []
    for at, job in enumerate(jobs, 1):
        for name, part in job.parts.items():
            before = f"{at}.{name}." if len(jobs) > 1 else f"{name}."
            figures = (part.io_kib, part.bw_kib, part.iops, part.runtime_ms)
            found += [(before + word, float(value)) for word, value in zip(_NAMES, figures, strict=True)]
            found += [(f"{before}clat {word} (usec)", value) for word, value in part.quantiles_us.items()]
    return found
