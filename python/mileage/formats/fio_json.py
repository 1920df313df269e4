"""fio's JSON and JSON+ output, of fio 3: one or many documents, of one machine or of clients.

Scope: each job a run, of the status reports of one run the last; the jobs that `numjobs` made of one
definition are one run together, as they ran side by side. Of clients each job a run, and what fio calls "All clients"
another. Rates are fio's `bw_bytes` and `iops`, and of several jobs the sum of bytes over the longest run time, as fio's
own groups are; latencies are `clat_ns` (completion), in nanoseconds. `bins` of JSON+ become the histogram. A size such
as 4k follows the job's `kb_base`.
What it refuses: fio 2 and before, which has other units under the same names.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mileage.errors import Refused
from mileage.formats.fio_options import (
    ALL_CLIENTS,
    QUANTILES,
    READS,
    WRITES,
    FioOptions,
    judge_syncs,
    leave_verification,
    note_concurrent,
    note_reports,
    note_unjoined,
    version_3,
)
from mileage.formats.histogram import histogram_of, quantiles_ns
from mileage.formats.input_file import Source
from mileage.formats.json_documents import Document, documents
from mileage.formats.number_parser import number, rounded, whole
from mileage.formats.result import Result, ToolRun, Unread
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import counted

LAYOUT: Final = "fio-json"
_MARK: Final = re.compile(r'"fio version"\s*:|"(?:jobs|client_stats)"\s*:\s*\[\s*\{\s*"jobname"')
_DIRECTIONS: Final = {"read": "read", "write": "write", "trim": "discard"}
"""fio's words for directions, and ours."""
_SECTOR_BYTES: Final = 512
_SLACK: Final = 1.2
_SLACK_MS: Final = 200.0
"""Time by which the run time of a job may exceed that of its operations: it also starts, ends and syncs."""
_OTHER_SIZE_MIN: Final = 0.01
"""Share by which the bytes of operations of one size may differ from that size: the last may be a part."""
_SUBMISSION_MAX: Final = 0.1
"""Share of the latency that submission may take before percentiles of completion are misleading."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return bool(_MARK.search(source.text_head))


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds no document of fio 3."""
    found, unread = documents(source.text())
    ours = [entry for entry in found if isinstance(entry.value, dict) and jobs_of(entry.value)]
    unread += [
        Unread(entry.line, "", "a JSON document without jobs of fio") for entry in found if entry not in ours
    ]
    if not ours:
        why = f"; line {unread[0].line}: {unread[0].why}" if unread else ""
        raise Refused(source.path, f"no JSON document of fio with whole jobs{why}", code="not-understood")
    result = Result(tool="fio", version=None, layout=LAYOUT, runs=[], unread=unread)
    for document, reports, torn in last_reports(ours):
        first = len(result.runs)
        if torn is not None:
            result.lost.append(
                f"the status report that begins in line {torn.line} is damaged; the one before it is used"
            )
        _add(document, result, source)
        for run in result.runs[first:]:
            note_reports(run, reports)
    return result


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _add(document: Document, result: Result, source: Source) -> None:
    value = document.value
    version = value.get("fio version")
    if isinstance(version, str):
        number_3 = version_3(f"{source.path}, line {document.line}", version)
        result.version = result.version or number_3
        if result.version != number_3:
            result.facts[f"version from line {document.line}"] = version
    elif not all(_is_of_3(_dict(job.get(name))) for job in jobs_of(value) for name in _DIRECTIONS):
        raise Refused(
            f"{source.path}, line {document.line}",
            "no version, and latencies without clat_ns",
            expected="fio 3, whose units are read",
            code="unsupported",
        )
    if isinstance(value.get("time"), str):
        result.began = result.began or value["time"]
    if not document.whole:
        count = len(jobs_of(value))
        result.lost.append(
            f"the document that begins in line {document.line} is damaged: {counted(count, 'whole job')} kept, "
            "what follows is lost"
        )
    shared = _dict(value.get("global options"))
    disks = [disk for disk in _list(value.get("disk_util")) if isinstance(disk, dict)]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for job in jobs_of(value):
        options = FioOptions.of(shared, _dict(job.get("job options")))
        key = (_word(job.get("jobname")), _word(job.get("groupid")), _word(job.get("hostname")), options.key)
        groups.setdefault(key, []).append(job)
    for jobs in groups.values():
        if not document.whole and (missing_jobs := _missing_jobs(jobs, shared)):
            result.lost.append(missing_jobs)
            continue
        run = _run(jobs, shared)
        run.line = document.line
        if len(groups) == 1:
            run.device_bytes = _moved(disks)
        note_concurrent(run, _word(jobs[0].get("jobname")), _concurrent_jobs(jobs, groups))
        if missing := _not_numbers(jobs):
            missing_text = f"job {_word(jobs[0].get('jobname'))!r}: {', '.join(missing)}"
            result.unread.append(
                Unread(document.line, missing_text, "expected finite numbers that are not negative")
            )
        result.runs.append(run)


def _is_of_3(part: dict[str, Any]) -> bool:
    """Whether a direction has names that fio 3 alone has: fio 2 writes KiB as `io_bytes`, and latencies as `clat`."""
    return not part or any(name in part for name in ("clat_ns", "lat_ns", "slat_ns", "bw_bytes"))


def _word(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _concurrent_jobs(
    jobs: list[dict[str, Any]], groups: dict[tuple[Any, ...], list[dict[str, Any]]]
) -> list[str]:
    """Names of the other jobs of the same group that ran at the same time."""
    first = jobs[0]
    return [
        _word(other[0].get("jobname"))
        for other in groups.values()
        if other is not jobs
        and other[0].get("groupid") == first.get("groupid")
        and other[0].get("hostname") == first.get("hostname")
        and ALL_CLIENTS not in (other[0].get("jobname"), first.get("jobname"))
    ]


def _missing_jobs(jobs: list[dict[str, Any]], shared: dict[str, Any]) -> str:
    """What is missing of the jobs that `numjobs` made, in a document that is cut; empty where nothing is."""
    options = FioOptions.of(shared, _dict(jobs[0].get("job options")))
    if "group_reporting" in options.values or len(jobs) >= options.jobs:
        return ""
    return (
        f"of the {options.jobs} jobs {_word(jobs[0].get('jobname'))!r} the document has {len(jobs)}: no run"
    )


def _run(jobs: list[dict[str, Any]], shared: dict[str, Any]) -> ToolRun:
    """The run of all jobs that were cloned from one definition (numjobs)."""
    options = FioOptions.of(shared, _dict(jobs[0].get("job options")))
    name, host = _word(jobs[0].get("jobname")), _word(jobs[0].get("hostname"))
    grouped = len(jobs) == 1 and _holds_others(jobs[0], options)
    if grouped:
        # The options of the first job describe only a part of the group, and nothing is known of the rest.
        options = FioOptions({})
    everything = name == ALL_CLIENTS or grouped
    done = {direction: [_dict(job.get(direction)) for job in jobs] for direction in _DIRECTIONS}
    ops = {
        direction: _sum(whole(part.get("total_ios")) for part in parts) for direction, parts in done.items()
    }
    moved = {direction: _sum(_io_bytes(part) for part in parts) for direction, parts in done.items()}
    active = [direction for direction in _DIRECTIONS if ops[direction] or moved[direction]]
    verified = options.verifies and options.pattern in WRITES and "read" in active
    if verified:
        active.remove("read")
        done["read"] = []
    most = max(active or _DIRECTIONS, key=lambda direction: ops[direction] or 0)
    workers = options.jobs if len(jobs) == 1 else len(jobs)
    run = ToolRun(
        cell=_group_label(name, host)
        if grouped
        else "fio.all clients"
        if everything
        else options.label(name, active, ops, workers, host),
        key=CellKey() if everything else options.cell_key(workers),
        kind=options.kind(active),
        title=f"job {name}" if name else "",
        levels={"job": name} if grouped else options.levels(name, workers, host),
        bytes_read=moved["read"],
        bytes_written=moved["write"],
        ops_read=ops["read"],
        ops_written=ops["write"],
        outstanding=None if everything else options.outstanding(workers),
        printed=_printed(jobs),
    )
    _rates(run, done, active)
    _latencies(run, done, most)
    _total_latency(run, done, options.waits)
    _syncs(run, jobs)
    if options.is_durable and active == ["write"] and not run.latencies_ns and not everything:
        run.keep_quantiles("commit", run.quantiles_ns, ops["write"])
    _errors(run, jobs)
    if verified:
        leave_verification(run, ops["read"])
    if grouped:
        run.notes.append(
            f"{run.cell}: fio's group_reporting gives one figure for jobs of which it names only the first; without "
            "it, or with a group for each job (new_group), each has its own"
        )
    return run


def _group_label(name: str, host: str) -> str:
    return f"fio.group of {name} and others" + (f", host {host}" if host else "")


def _holds_others(job: dict[str, Any], options: FioOptions) -> bool:
    """Whether an entry combines a group of different jobs, under the name and options of the first.

    It did what the options of the first do not, moved other amounts with an operation, or its members ran longer
    together than the jobs of the first could.
    """
    pattern = options.pattern
    ops = {direction: whole(_dict(job.get(direction)).get("total_ios")) or 0 for direction in _DIRECTIONS}
    if (ops["read"] and pattern in WRITES) or (ops["write"] and pattern in READS):
        return not options.verifies
    moved = {direction: _io_bytes(_dict(job.get(direction))) for direction in _DIRECTIONS}
    size = options.block_bytes if "bs" in options.values and not options.verifies else None
    if size and any(
        total is not None
        and whole(_dict(job.get(name)).get("total_ios")) is not None
        and abs(total - ops[name] * size) > size * (1 + _OTHER_SIZE_MIN * ops[name])
        for name, total in moved.items()
    ):
        return True
    times_ms = [number(_dict(job.get(direction)).get("runtime")) or 0.0 for direction in _DIRECTIONS]
    ran_ms = number(job.get("job_runtime"))
    if not options.values or ran_ms is None:
        return False
    # A job that verifies reads after it wrote, and both times count.
    longest_ms = sum(times_ms) if options.verifies else max(times_ms)
    return longest_ms > 0 and ran_ms > _SLACK * options.jobs * longest_ms + _SLACK_MS


def _sum(values: Any) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _io_bytes(part: dict[str, Any]) -> int | None:
    return whole(part.get("io_bytes"))


def _not_numbers(jobs: list[dict[str, Any]]) -> list[str]:
    """Figures of reading and writing that are no numbers."""
    found = []
    for direction in _DIRECTIONS:
        for part in (_dict(job.get(direction)) for job in jobs):
            wanted = [
                "total_ios",
                "io_bytes",
                "iops",
                "runtime",
                *(["bw_bytes"] if "bw_bytes" in part else []),
            ]
            found += [
                f"{direction}.{name}"
                for name in wanted
                if direction != "trim" and number(part.get(name)) is None
            ]
    return list(dict.fromkeys(found))


def _rates(run: ToolRun, done: dict[str, list[dict[str, Any]]], active: list[str]) -> None:
    """Rates of all directions together: fio's own figures of one part, else the sums over the longest time."""
    parts = [part for direction in active for part in done[direction]]
    times = [time for part in parts if (time := number(part.get("runtime"))) is not None]
    run.elapsed_s = max(times) / 1000 if times and max(times) > 0 else None
    if len(parts) == 1:
        run.rate_bytes_per_s = _bandwidth(parts[0], run.elapsed_s)
        run.ops_per_s = number(parts[0].get("iops"))
        return
    if run.elapsed_s is None:
        return
    moved, ops = _sum(map(_io_bytes, parts)), _sum(whole(part.get("total_ios")) for part in parts)
    run.rate_bytes_per_s = None if moved is None else moved / run.elapsed_s
    run.ops_per_s = None if ops is None else ops / run.elapsed_s


def _bandwidth(part: dict[str, Any], elapsed_s: float | None) -> float | None:
    """Bytes per second. fio 3.0 and 3.1 write `bw` alone, whole KiB/s: the bytes over the time are exact."""
    if "bw_bytes" in part:
        return number(part["bw_bytes"])
    moved, kib_per_s = _io_bytes(part), number(part.get("bw"))
    if moved is not None and elapsed_s is not None:
        return moved / elapsed_s
    return None if kib_per_s is None else kib_per_s * 1024


def _latencies(run: ToolRun, done: dict[str, list[dict[str, Any]]], most: str) -> None:
    """Histograms of JSON+; percentiles of the direction that was done most, where one part has them all."""
    for direction, ours in _DIRECTIONS.items():
        counts: dict[int, int] = {}
        ends: list[tuple[int | None, int | None]] = []
        for part in done[direction]:
            latency = _dict(part.get("clat_ns"))
            for text, many in _dict(latency.get("bins")).items():
                value_ns, times = whole(text), whole(many)
                if value_ns is not None and times is not None:
                    counts[value_ns] = counts.get(value_ns, 0) + times
            ends.append((whole(latency.get("min")), whole(latency.get("max"))))
        if counts:
            lows, highs = ([end for end in side if end is not None] for side in zip(*ends, strict=True))
            sums = [_sum_ns(part, "clat_ns") for part in done[direction]]
            run.latency[ours] = histogram_of(
                counts,
                sum(value for value in sums if value) or None,
                min(lows, default=None),
                max(highs, default=None),
            )
    parts = [part for part in done[most] if whole(part.get("total_ios"))]
    # With lat_percentiles=1 fio reports percentiles of the total latency in place of completion latency.
    total = any(
        "percentile" in _dict(part.get("lat_ns")) and "percentile" not in _dict(part.get("clat_ns"))
        for part in parts
    )
    run.levels["percentiles"] = "of total latency" if total else "of completion latency"
    if len(parts) == 1:
        run.quantiles_ns = _quantiles(_dict(parts[0].get("lat_ns" if total else "clat_ns")))
        run.latency_p99_ns = run.quantiles_ns.get("p99")
    elif len(parts) > 1 and _DIRECTIONS[most] in run.latency:
        joined = run.latency[_DIRECTIONS[most]]
        run.quantiles_ns = quantiles_ns(joined)
        run.latency_p99_ns = run.quantiles_ns["p99"]
    elif len(parts) > 1:
        note_unjoined(run, len(parts))


def _total_latency(run: ToolRun, done: dict[str, list[dict[str, Any]]], waits: bool) -> None:
    """The sum of all latencies from submission to completion, and whether submission is in it.

    fio's `lat_ns` is the whole of it, `slat_ns` and `clat_ns` its parts; either may be switched off. An engine that
    waits for each operation submits within the call that completes it.
    """
    parts = [part for direction in done.values() for part in direction if whole(part.get("total_ios"))]
    completion = [_sum_ns(part, "clat_ns") for part in parts]
    submission = [_sum_ns(part, "slat_ns") for part in parts]
    whole_ns = [_sum_ns(part, "lat_ns") for part in parts]
    sums = [
        max(
            value
            for value in (all_ns, None if done_ns is None else done_ns + (begun_ns or 0))
            if value is not None
        )
        for all_ns, begun_ns, done_ns in zip(whole_ns, submission, completion, strict=True)
        if (all_ns, done_ns) != (None, None)
    ]
    if not sums or len(sums) < len(parts):
        return
    run.latency_sum_ns = sum(sums)
    run.submission_counted = waits or all(
        all_ns is not None or begun_ns is not None
        for all_ns, begun_ns in zip(whole_ns, submission, strict=True)
    )
    share = sum(value or 0 for value in submission) / run.latency_sum_ns if run.latency_sum_ns else 0
    if share > _SUBMISSION_MAX and run.levels.get("percentiles") != "of total latency":
        run.notes.append(
            f"submission takes {share:.0%} of the latency of {run.cell}; the percentiles are of completion alone"
        )


def _syncs(run: ToolRun, jobs: list[dict[str, Any]]) -> None:
    """Quantiles of the syncs of one job; the time that a job waits for its syncs is part of its operations' latency."""
    found = [
        latency for job in jobs if whole((latency := _dict(_dict(job.get("sync")).get("lat_ns"))).get("N"))
    ]
    if run.latency_sum_ns is not None:
        run.latency_sum_ns += sum(_sum_ns({"lat_ns": latency}, "lat_ns") or 0.0 for latency in found)
    if found and len(jobs) == 1:
        judge_syncs(run, _quantiles(found[0]), whole(found[0].get("N")))


def _sum_ns(part: dict[str, Any], name: str) -> float | None:
    """The sum of one kind of latency; None where fio did not count it."""
    latency = _dict(part.get(name))
    mean, count = number(latency.get("mean")), whole(latency.get("N", part.get("total_ios")))
    return mean * count if mean and count else None


def _quantiles(latency: dict[str, Any]) -> dict[str, float]:
    # fio writes 0 for latencies that it did not measure (gtod_reduce, disable_clat).
    if not number(latency.get("max")) and not number(latency.get("mean")):
        return {}
    found = {
        name: value for name in ("mean", "min", "max") if (value := number(latency.get(name))) is not None
    }
    for text, value in _dict(latency.get("percentile")).items():
        percent, value_ns = number(text), number(value)
        for wanted, name in QUANTILES.items():
            if percent is not None and value_ns is not None and abs(percent - wanted) < 1e-6:
                found[name] = value_ns
    return found


def _errors(run: ToolRun, jobs: list[dict[str, Any]]) -> None:
    failed = sorted({code for job in jobs if (code := whole(job.get("error")))})
    failed_ops = _sum(whole(job.get("total_err")) for job in jobs)
    if failed:
        run.error = f"fio ended with error {', '.join(map(str, failed))}"
    if failed_ops:
        run.notes.append(f"{failed_ops:,} operations failed")
        run.counters["failed_ops"] = failed_ops
    for name in ("short_ios", "drop_ios"):
        count = _sum(whole(_dict(job.get(direction)).get(name)) for job in jobs for direction in _DIRECTIONS)
        if count:
            run.counters[name] = count


def _moved(disks: list[dict[str, Any]]) -> int | None:
    """Bytes that the disks moved, where fio counts sectors."""
    sectors = [whole(disk.get(name)) for disk in disks for name in ("read_sectors", "write_sectors")]
    known = [count for count in sectors if count is not None]
    return _SECTOR_BYTES * sum(known) if known and len(known) == len(sectors) else None


def _printed(jobs: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Every number of the jobs but the bins of histograms, by its path; of several jobs with their number before."""
    found: list[tuple[str, float]] = []
    for at, job in enumerate(jobs, 1):
        stack: list[tuple[str, Any, int]] = [(f"{at}." if len(jobs) > 1 else "", job, 0)]
        while stack:
            path, value, depth = stack.pop()
            if isinstance(value, dict) and depth < 8:
                stack += [
                    (f"{path}{'.' if path and not path.endswith('.') else ''}{key}", member, depth + 1)
                    for key, member in reversed(value.items())
                    if key not in ("bins", "job options")
                ]
            elif isinstance(value, int | float) and not isinstance(value, bool):
                size = number(abs(value))
                figure = rounded(size) if isinstance(value, int) and size and size > 2**53 else size
                if figure is not None:
                    found.append((path, math.copysign(figure, value)))
    return found


# Status reports of fio: with `--status-interval` a file holds several documents of one run, each with totals so far.
# Scope: two documents after one another are of one run when fio began at the same moment in both (the time of the
# document less `elapsed`), no total of any job is smaller in the second one, and the jobs ran on in between. The last
# document of a run holds all of it; those before are a part of it and no runs of their own. Documents without a time
# stamp are runs of their own.

_LISTS: Final = ("jobs", "client_stats")
_TOTALS: Final = ("total_ios", "io_bytes", "runtime")
_BEGIN_S: Final = 1.1
"""Maximum difference between two computed start times of the same run: fio rounds `elapsed` up to whole seconds."""
_BEGIN_WITHOUT_MS_S: Final = 2.1
"""The same maximum for documents whose own time is in whole seconds."""
_RAN_ON_MIN: Final = 0.3
"""Least share of the time between two documents in which some job of one run was running."""

Totals = dict[tuple[str, ...], dict[str, float]]


def jobs_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs of a document, those of clients among them."""
    lists = [found for name in _LISTS if isinstance(found := value.get(name), list)]
    return [job for found in lists for job in found if isinstance(job, dict)]


class Reports(NamedTuple):
    """The documents of one run."""

    last: Document
    """The last one that has all jobs."""
    documents: int
    torn: Document | None = None
    """A later report that was truncated."""


def last_reports(found: Sequence[Document]) -> list[Reports]:
    """The documents of each run, in the order of the file."""
    kept: list[Reports] = []
    for document in found:
        if not kept or not _is_later(kept[-1].last, document):
            kept.append(Reports(document, 1))
        elif len(_totals(document.value)) == len(_totals(kept[-1].last.value)):
            kept[-1] = Reports(document, kept[-1].documents + 1)
        else:
            kept[-1] = Reports(kept[-1].last, kept[-1].documents + 1, document)
    return kept


def _is_later(before: Document, after: Document) -> bool:
    """Whether a document belongs to the same run as the one before it."""
    times = [_time_s(document.value) for document in (before, after)]
    begins = [_begin_s(document.value) for document in (before, after)]
    if None in times or None in begins:
        return False
    exact = all("timestamp_ms" in document.value for document in (before, after))
    if abs((begins[1] or 0) - (begins[0] or 0)) > (_BEGIN_S if exact else _BEGIN_WITHOUT_MS_S):
        return False
    old, new = _totals(before.value), _totals(after.value)
    if not new.keys() <= old.keys() or (after.whole and new.keys() != old.keys()):
        return False
    if any(new[job][name] < value for job in new for name, value in old[job].items()):
        return False
    ran_on_s = max((_runtime_s(new[job]) - _runtime_s(old[job]) for job in new), default=0.0)
    between_s = (times[1] or 0) - (times[0] or 0)
    return all(new[job] == old[job] for job in new) or ran_on_s >= _RAN_ON_MIN * between_s


def _time_s(value: dict[str, Any]) -> float | None:
    """Time at which a document was written, in seconds since 1970."""
    exact = number(value.get("timestamp_ms"))
    return exact / 1000 if exact is not None else number(value.get("timestamp"))


def _begin_s(value: dict[str, Any]) -> float | None:
    """Start time of fio in seconds since 1970; of clients, which report no `elapsed`, that of the longest job."""
    written_s = _time_s(value)
    elapsed = [time for job in jobs_of(value) if (time := number(job.get("elapsed"))) is not None]
    lasted_s = max(elapsed) if elapsed else max(map(_runtime_s, _totals(value).values()), default=0.0)
    return None if written_s is None else written_s - lasted_s


def _runtime_s(totals: dict[str, float]) -> float:
    return max((value for name, value in totals.items() if name.endswith("runtime")), default=0.0) / 1000


def _totals(value: dict[str, Any]) -> Totals:
    """Totals of each job so far, by its name, group, host and number among jobs of the same name."""
    found: Totals = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for job in jobs_of(value):
        name = tuple(str(job.get(key)) for key in ("jobname", "groupid", "hostname"))
        counts[name] += 1
        totals: dict[str, float] = {}
        for direction in ("read", "write", "trim"):
            if isinstance(part := job.get(direction), dict):
                totals |= {f"{direction}.{total}": number(part.get(total)) or 0.0 for total in _TOTALS}
        found[(*name, str(counts[name]))] = totals
    return found
