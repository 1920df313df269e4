"""`mileage fio`: fio's job files and command lines, done side by side as fio does, with fio's output.

Scope: the order of jobs, what is printed when, and the exit status: 0, or 1 when a job failed. Nothing is left but
files of the jobs, as with fio itself.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from mileage import _core
from mileage.dropin.fio_jobs import FioJob, jobs_of
from mileage.dropin.fio_patterns import trims_of
from mileage.dropin.fio_plan import FILE_CALLS, UNIFIED, JobResults, JobWork, works_of
from mileage.dropin.flags import GivenFlags, tool_named
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused, RunFailed
from mileage.execute.fio_jobs.layout import Targets, check_files, lay_out
from mileage.execute.fio_jobs.link import Requests
from mileage.execute.fio_jobs.run import FioResult, ReportTimer, run_group
from mileage.formats import fio_print
from mileage.formats.fio_results import KINDS, PERCENTILES, JobResult
from mileage.model.operation_kind import OperationKind
from mileage.plan.fio_work import FioOptions, FioWorkload
from mileage.plan.pattern import PatternTable, Trace, TraceOp
from mileage.plan.workload import Stop
from mileage.targets.door import Door, check_result, result_file, write_result

OUTPUT: Final = "fio-output"
"""Kind of a result: what fio prints."""
_FULL: Final = ("ENOSPC", "EDQUOT")
INTERRUPTED: Final = 128
"""Exit status of fio after an interrupt."""
_FORMATS: Final = ("normal", "terse", "json", "json+")


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as fio does; the exit status. Raises Refused and RunFailed."""
    if given.has("--version"):
        sys.stdout.write(f"{fio_print.VERSION}\n")
        return 0
    if given.has("--cmdhelp"):
        sys.stdout.write(command_help(given.last("--cmdhelp") or ""))
        return 0
    if given.has("--parse-only") and not given.operands and not given.has("--name"):
        # Scripts ask so whether options of the output are known; fio ends with 0 where there is no job to read.
        _forms(given), terse_version(given)
        return 0
    if given.has("--study"):
        raise Refused("fio: --study", "is not built", advice="`mileage run JOB.fio`", code="not-built")
    forms, version, interval_s = (
        _forms(given),
        terse_version(given),
        interval_of(given.last("--status-interval")),
    )
    jobs = jobs_of(given)
    check_processes(jobs)
    works = [works_of(job) for job in jobs]
    if given.has("--readonly"):
        _refuse_writes(works)
    check_late_values(works)
    check_engine(works)
    if given.has("--parse-only"):
        return 0
    for line in notes_of(jobs, works):
        sys.stderr.write(f"fio: {line}\n")
    with ExitStack() as stack:
        door = Door("fio", given.every("--destroy"))
        stack.callback(door.close)
        every = [work for copies in works for work in copies]
        check_logs(every)
        targets = check_files(every, door)
        # Opened before the jobs: their results must have a place.
        name = given.last("--output")
        output = result_file("fio", name, OUTPUT, text=True, at_once=interval_s is not None) if name else None
        reports = Reports(
            forms, version, jobs[0].shared, stack.enter_context(output) if output is not None else None
        )
        is_normal = "normal" in forms
        reports.write(_announced(works) if is_normal else "")
        try:
            lay_out(every, targets, lambda line: reports.write(f"{line}\n" if is_normal else ""))
            reports.begin()
            results, status = _do_jobs(works, targets, interval_s, reports)
        except RunFailed as failure:
            if failure.cause in _FULL:
                door.remove_made()
            raise
        reports.show(results)
        if any(result.errno in (errno.ENOSPC, errno.EDQUOT) for result in results):
            door.remove_made()
            sys.stderr.write("fio: the file system is full: what was made is removed\n")
        # Last: a log that cannot be written must not keep the results back.
        write_logs(results)
    return status


def _do_jobs(
    works: Sequence[Sequence[JobWork]], targets: Targets, interval_s: float | None, reports: Reports
) -> tuple[JobResults, int]:
    """Do the jobs, group after group; the results of all that were begun, and the exit status."""
    batches = batches_of(works)
    every = [result for batch in batches for result in batch]
    status = 0
    requests = Requests()
    timer = ReportTimer(interval_s, lambda: reports.show(every))
    begun: list[FioResult[JobWork]] = []
    try:
        for own in batches:
            begun += own
            end = run_group(own, targets, requests, timer, _say_interrupted)
            for result in own:
                for place in result.mismatches:
                    sys.stderr.write(f"verify: bad block at {place}\n")
                if result.error:
                    status = 1
                    sys.stderr.write(f"fio: {result.work.name}: {result.error}\n")
            if end == "interrupted":
                # As fio: jobs that have not begun are among the results.
                return every, INTERRUPTED
            if end == "ended":
                break
    finally:
        timer.close()
    return begun, status


def _say_interrupted(number: int) -> None:
    sys.stdout.write(f"\nfio: terminating on signal {number}\n")


def _refuse_writes(works: Sequence[Sequence[JobWork]]) -> None:
    """Refuse jobs that write, as fio does with `--readonly`. Raises Refused."""
    for copies in works:
        changes = copies[0].job.text("ioengine") in ("filecreate", "filedelete")
        if changes:
            where, text = f"fio: [{copies[0].job.name}]", "changes files, and --readonly is given"
            raise Refused(where, text, code="conflict")
        if copies[0].reads < 100:
            where, text = f"fio: [{copies[0].job.name}]", "writes, and --readonly is given"
            raise ToolRefusal("fio", where, text, code="conflict")


_LATE_SWITCHES: Final = ("group_reporting", "new_group", "stonewall", "thread", "log_offset")


def check_late_values(works: Sequence[Sequence[JobWork]]) -> None:
    """Refuse values that are read when the jobs run or have ended: results must not be lost by them. Raises Refused."""
    for copies in works:
        job = copies[0].job
        for key in _LATE_SWITCHES:
            job.is_on(key)
        job.number("log_avg_msec", 0)
        results_of([FioResult(copies[0], 0)])
    groups_of(works)


def notes_of(jobs: Sequence[FioJob], works: Sequence[Sequence[JobWork]]) -> list[str]:
    """What options that are on and have another effect than in fio, or none, mean here; each once."""
    given = {key for job in jobs for key, value in job.options.items() if value not in ("0", "never")}
    found = [
        f"{flag.name}: {flag.ignored}"
        for flag in tool_named("fio").flags
        if flag.name in given and flag.ignored
    ]
    found += [note for copies in works for work in copies for note in (*work.notes, *notes_of_logs(work))]
    return list(dict.fromkeys(found))


def _forms(given: GivenFlags) -> list[str]:
    """The formats of output, in order. Raises Refused."""
    if given.has("--minimal"):
        return ["terse"]
    found = [form for text in given.every("--output-format") for form in text.split(",")] or ["normal"]
    for form in found:
        if form not in _FORMATS:
            where = f"fio: --output-format={form}"
            raise ToolRefusal("fio", where, expected=", ".join(_FORMATS), code="unknown-word", fault="value")
    return found


def command_help(name: str) -> str:
    """What an option does, or each of them: one that is refused is none, so that scripts which look for it know."""
    taken = [flag for flag in tool_named("fio").flags if not flag.instead]
    if name in ("", "all"):
        return "".join(f"{flag.name:<24}: {flag.summary}\n" for flag in taken)
    found = [flag for flag in taken if f"--{name}" in flag.spellings]
    if not found:
        return f"No such command: {name}\n"
    lines = [(found[0].name, found[0].summary)]
    lines += [("alias", spelling.removeprefix("--")) for spelling in found[0].spellings[1:]]
    lines += [("here", found[0].ignored)] if found[0].ignored else []
    return "".join(f"{label:>20}: {text}\n" for label, text in lines)


def terse_version(given: GivenFlags) -> int:
    """The version of the terse output. Raises Refused."""
    word = given.last("--terse-version") or "3"
    found = [version for version in fio_print.TERSE_VERSIONS if str(version) == word]
    if not found:
        where = f"fio: --terse-version={word}"
        raise ToolRefusal("fio", where, expected="2, 3, 4 or 5", code="unknown-word", fault="value")
    return found[0]


def _mode(job: FioJob) -> str:
    """The order of a job as fio prints it: without what follows a colon, by the shorter of two names."""
    mode = job.text("rw", "read").partition(":")[0]
    return "rw" if mode == "readwrite" else mode


def _announced(works: Sequence[Sequence[JobWork]]) -> str:
    """The lines before the jobs begin."""
    lines = []
    processors: list[str] = []
    group = -1
    for copies in works:
        job = copies[0].job
        if group < 0 or job.is_on("stonewall") or job.is_on("new_group"):
            group += 1
        depth, engine = job.number("iodepth", 1), job.text("ioengine", "psync")
        if engine == "cpuio":
            load, cycle = job.number("cpuload", 0), job.number("cpuchunks", 50_000)
            mode = job.text("cpumode", "noop")
            # As in fio, by each process once it has begun.
            line = f"{job.name} ({mode}): ioengine=cpuio, cpuload={load}, cpucycle={cycle}\n"
            processors += [line] * len(copies)
            lines += ["...\n"] if len(copies) > 1 else []
            continue
        ranges = [
            f"({letter}) {fio_print.size_text(least)}-{fio_print.size_text(most)}"
            for letter, (least, most) in zip("RWT", copies[0].sizes, strict=True)
        ]
        lines.append(fio_print.head_line(job.name, group, _mode(job), ", ".join(ranges), engine, depth))
        lines += ["...\n"] if len(copies) > 1 else []
    threads = sum(len(copies) for copies in works if copies[0].job.is_on("thread"))
    processes = sum(len(copies) for copies in works) - threads
    kinds = [
        f"{count} {word if count == 1 else plural}"
        for count, word, plural in ((threads, "thread", "threads"), (processes, "process", "processes"))
        if count
    ]
    return "".join([*lines, f"{fio_print.VERSION}\nStarting {' and '.join(kinds)}\n", *processors])


# Which of fio's jobs begin together: those between two stonewalls, and those that wait for others.
# What it refuses: a job that waits for one that is not there, or for one next to which others run.


def groups_of(works: Sequence[Sequence[JobWork]]) -> list[list[Sequence[JobWork]]]:
    """The jobs between two stonewalls, in order."""
    found: list[list[Sequence[JobWork]]] = []
    for copies in works:
        job = copies[0].job
        waits = "wait_for" in job.options and _waits_for_all(job, found)
        if not found or job.is_on("stonewall") or waits:
            found.append([])
        found[-1].append(copies)
    return found


def _waits_for_all(job: FioJob, batches: list[list[Sequence[JobWork]]]) -> bool:
    """Whether a job waits for the last ones, rather than for earlier ones, which have ended. Raises Refused."""
    name = job.text("wait_for")
    at = next((at for at, own in enumerate(batches) if any(one[0].job.name == name for one in own)), None)
    if at is None:
        raise job.refuse("wait_for", "there is no such job before", code="not-found")
    if at < len(batches) - 1:
        return False
    if any(one[0].job.name != name for one in batches[-1]):
        raise job.refuse("wait_for", "is not built while other jobs run next to that one", code="not-built")
    return True


def batches_of(works: Sequence[Sequence[JobWork]]) -> list[list[FioResult[JobWork]]]:
    """Results to be, with the number of the group of each: those that begin together, one batch after the other."""
    batches: list[list[FioResult[JobWork]]] = []
    group = -1
    for members in groups_of(works):
        batches.append([])
        for copies in members:
            if group < 0 or copies[0].job.is_on("stonewall") or copies[0].job.is_on("new_group"):
                group += 1
            batches[-1] += [FioResult(work, group) for work in copies]
    return batches


# What this machine and the engine cannot do of fio's jobs: refused before anything is printed as fio.
# Scope: the number of processes, by what they need of this machine; and each file's workload, by the engine's own
# check.
# What it refuses: nothing that depends on the files themselves, such as the sector of a device: there fio fails as
# well.

JOBS_MAX: Final = 4096
"""Most processes and threads of all jobs, as in fio (FIO_MAX_JOBS)."""
_FEW: Final = 32
"""Processes for which nothing is looked up."""
_PROCESS_BYTES: Final = 4 << 20
"""Memory that a process has of its own."""
_OWN_DESCRIPTORS: Final = 32


def check_processes(jobs: Sequence[FioJob]) -> None:
    """Refuse more processes than this machine can have. Raises Refused."""
    total = 0
    for job in jobs:
        total += max(job.number("numjobs", 1), 1)
        if total > _FEW:
            most, reason = min(_limits())
            if total > most:
                raise Refused(
                    f"fio: [{job.name}] numjobs={job.text('numjobs', '1')}",
                    found=f"{total:,} processes in all",
                    expected=f"at most {most:,}: {reason}",
                    code="out-of-range",
                )


def _limits() -> Iterator[tuple[int, str]]:
    """How many processes there can be, and by what."""
    from mileage.targets.filesystem import available_memory_bytes
    from mileage.targets.kernel_text import read_word

    yield JOBS_MAX, "fio has no more"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        yield max(files - _OWN_DESCRIPTORS, 1), f"the limit of open files is {files:,} (ulimit -n)"
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        yield max(processes, 1), f"the limit of processes is {processes:,} (ulimit -u)"
    for name in ("pid_max", "threads-max"):
        if (word := read_word(Path("/proc/sys/kernel") / name)) and word.isdigit():
            yield int(word), f"kernel.{name} is {int(word):,}"
    if available := available_memory_bytes():
        yield max(available // _PROCESS_BYTES, 1), f"{available >> 20:,} MiB of memory are available"


def check_engine(works: Sequence[Sequence[JobWork]]) -> None:
    """Refuse what the engine would refuse once the job has begun. Raises Refused."""
    for copies in works:
        # The copies of a job differ in their files and seeds only.
        work = copies[0]
        last = (os.cpu_count() or 1) - 1
        if any(number > last for copy in copies for number in copy.processors):
            where = f"fio: [{work.job.name}] cpus_allowed={work.job.text('cpus_allowed')}"
            raise ToolRefusal("fio", where, expected=f"processors 0 to {last}", code="out-of-range")
        if work.does != "transfers":
            continue
        record = work.workload.record_bytes
        for file in work.files:
            stop = Stop(bytes=max(file.amount // record, 1) * record) if file.amount else Stop(operations=1)
            options = work.options
            if work.drops_cache:
                options = msgspec.structs.replace(options, drop_cache_every_bytes=file.span)
            changes: dict[str, Any] = {}
            if work.rule is not None:
                changes, stop = _in_short(work), Stop(operations=1)
            if problem := _problem(work.on_file(file, stop, **changes), options):
                raise Refused(f"fio: [{work.job.name}]", problem, code="not-built")


def _in_short(work: JobWork) -> dict[str, Any]:
    """The fewest operations that keep or break the engine's rules as all that are listed do."""
    record = work.workload.record_bytes
    kinds: list[OperationKind] = ["read"] if work.reads else []
    kinds += ["write"] if work.writes else []
    kinds += ["discard"] if work.rule is not None and work.rule.trims else []
    trace = Trace(tuple(TraceOp(0, kind, 0, record) for kind in kinds))
    return {"pattern": PatternTable(trace=trace), "read_percent": 100}


def _problem(workload: FioWorkload, options: FioOptions) -> str | None:
    try:
        return _core.check_workload(workload.to_json(), options.to_json())
    except (ValueError, OverflowError):
        # A number that no field of the engine can hold.
        return "its bytes, operations or times are too many; expected less than 2^63 of each"


# fio's logs of rates and latencies, from the series of the engine.
# Scope: a line for each interval and direction: milliseconds, value, direction, block size and priority. Intervals
# are those of `log_avg_msec`, at least 10 ms; without it 10 ms, where fio writes every operation. Latencies are means
# of an interval and only written for jobs of one direction. They are whole: the log of submission latencies is empty,
# and that of completion has what the log of whole latencies has.

LOGS: Final = {"write_bw_log": ("bw",), "write_iops_log": ("iops",), "write_lat_log": ("lat", "slat", "clat")}

LOG: Final = "fio-log"
"""Kind of a result: rates or latencies of a job by intervals."""


def notes_of_logs(work: JobWork) -> list[str]:
    """What the logs of a job lack, for the user."""
    if trims_of(work.job) and any(option in work.job.options for option in LOGS):
        return [f"{option}: trims are not in it" for option in LOGS if option in work.job.options]
    if "write_lat_log" in work.job.options and 0 < work.reads < 100:
        what = "empty for a job that reads and writes: intervals have both latencies together"
        return [f"write_lat_log: {what}"]
    return []


def paths_of_logs(work: JobWork, number: int = 1) -> dict[str, str]:
    """The logs that a job asks for, each with what it logs; `number`: of the process among all, from 1 on."""
    job = work.job
    found: dict[str, str] = {}
    for option, kinds in LOGS.items():
        if option in job.options:
            name = job.text(option) if job.text(option) not in ("", "1") else job.name
            ending = "log" if job.text("per_job_logs", "1") == "0" else f"{number}.log"
            found |= {f"{name}_{kind}.{ending}": kind for kind in kinds}
    return found


def check_logs(works: Sequence[JobWork]) -> None:
    """Refuse places of logs that must not be replaced. Raises Refused."""
    for work in works:
        for path in paths_of_logs(work):
            check_result("fio", path, LOG)


def write_logs(results: JobResults) -> None:
    """Write the logs that the jobs ask for. Raises Refused and RunFailed."""
    # With per_job_logs=0 the processes of a job have one log together.
    logs: dict[str, list[str]] = {}
    for number, result in enumerate(results, 1):
        for path, kind in paths_of_logs(result.work, number).items():
            logs.setdefault(path, [])
            for record in result.records:
                logs[path].extend(_lines(kind, result.work, record))
    for path, lines in logs.items():
        write_result("fio", path, LOG, "".join(lines))


def _lines(kind: str, work: JobWork, record: dict[str, Any]) -> Iterator[str]:
    if "series" not in record or kind == "slat":
        return
    series = record["series"]
    interval_ms = series["interval_ns"] / 1e6
    step = max(round(work.job.number("log_avg_msec", 0) / interval_ms), 1)
    size = work.workload.record_bytes
    # A mean over an interval has no size of its own: fio writes 0.
    shown = 0 if work.job.number("log_avg_msec", 0) else size
    offset = "0, " if work.job.is_on("log_offset") else ""
    for direction, moved in enumerate((series["bytes_read"], series["bytes_written"])):
        if not any(moved) or (kind.endswith("lat") and 0 < work.reads < 100):
            continue
        for at in range(0, len(moved), step):
            end_ms = min((at + step) * interval_ms, record["elapsed_ns"] / 1e6)
            seconds = max(end_ms - at * interval_ms, 1e-3) / 1e3
            total = sum(moved[at : at + step])
            count = sum(series["ops"][at : at + step])
            value = total / seconds / 1024
            if kind == "iops":
                value = total / size / seconds
            elif kind.endswith("lat"):
                value = sum(series["latency_sum_ns"][at : at + step]) / count if count else 0
            if total:
                yield f"{end_ms:.0f}, {value:.0f}, {direction}, {shown}, {offset}0\n"


# What `mileage fio` prints of its jobs: at their end, and of what they have done so far.

MOST_PERCENTILES: Final = 20
_INTERVAL_MAX_S: Final = 10**9
_UNITS_S: Final = {"": 1.0, "s": 1.0, "us": 1e-6, "ms": 1e-3, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Reports:
    """The reports of one call: in each format that is asked for, to one output."""

    def __init__(
        self, forms: Sequence[str], version: int, shared: dict[str, str], output: IO[str] | None
    ) -> None:
        """`version`: of the terse format; `shared`: options of all jobs; `output`: a file in place of stdout."""
        self._forms = forms
        self._version = version
        self._shared = shared
        self._output = output or sys.stdout
        self._began = time.monotonic()

    def begin(self) -> None:
        """The jobs begin: their time counts from now, without that of laying out files."""
        self._began = time.monotonic()

    def write(self, text: str) -> None:
        """Write text that is no report."""
        self._output.write(text)
        self._output.flush()

    def show(self, results: JobResults) -> None:
        """Print the results of all jobs, whether they have ended or not."""
        shown = results_of(results)
        for form in self._forms:
            if form == "normal":
                text = fio_print.normal(shown, results[-1].group + 1)
            elif form == "terse":
                text = fio_print.terse(shown, self._version)
            else:
                elapsed_s = time.monotonic() - self._began
                text = fio_print.document(shown, self._shared, elapsed_s, plus=form == "json+")
            self._output.write(text)
        self._output.flush()


def results_of(results: JobResults) -> list[JobResult]:
    """Results as they are printed: of each process, or of a group."""
    found: list[JobResult] = []
    for result in results:
        work, job = result.work, result.work.job
        if not (job.is_on("group_reporting") and found and found[-1].group == result.group):
            found.append(
                JobResult(
                    job.name,
                    result.group,
                    result.pid,
                    depth=job.number("iodepth", 1),
                    level=work.workload.depth,
                    options=dict(job.given),
                    wanted=_percentiles(job),
                    percentiles_of=_kinds_of_percentiles(job),
                    description=job.text("description"),
                    unified=UNIFIED[job.text("unified_rw_reporting", "none")],
                    kinds=_kinds(job),
                    is_grouped=work.does in ("transfers", "processor"),
                    is_submitted=job.text("ioengine") != "null" or job.number("iodepth", 1) > 1,
                )
            )
        one = found[-1]
        one.jobs += 1
        if result.errno and not one.error:
            one.error, one.error_text = result.errno, os.strerror(result.errno)
        one.process_ms += result.process_ms
        one.major_faults += result.major_faults
        one.minor_faults += result.minor_faults
        # What was read back is the reading of a job that writes.
        records, sample_ms = [*result.records, *result.verified], job.number("bwavgtime", 500)
        # As fio, which does not count the sync of end_fsync.
        syncs = any(job.number(key, 0) for key in ("fsync", "fdatasync"))
        one.add_process(records, sample_ms, counts_syncs=syncs)
    return found


def _percentiles(job: FioJob) -> tuple[float, ...]:
    """The wanted percentiles, ascending. Raises Refused."""
    try:
        found = sorted(float(part) for part in job.text("percentile_list").split(":") if part)
    except ValueError:
        found = [-1.0]
    if not all(0 < percent <= 100 for percent in found) or len(found) > MOST_PERCENTILES:
        raise job.refuse("percentile_list", expected="up to 20 numbers above 0, at most 100, such as 50:99.9")
    return tuple(found) or PERCENTILES


def _kinds(job: FioJob) -> tuple[str, ...]:
    """Latencies that are printed: those that are not off."""
    if job.text("ioengine") in FILE_CALLS:
        return ("clat",)
    if job.is_on("gtod_reduce"):
        return ()
    off = {"slat": "disable_slat", "clat": "disable_clat", "lat": "disable_lat"}
    return tuple(kind for kind in KINDS if not job.is_on(off[kind]))


def _kinds_of_percentiles(job: FioJob) -> tuple[str, ...]:
    """Latencies of which percentiles are printed: clat, unless it is off; slat and lat, when they are on."""
    wanted = {
        "slat": job.is_on("slat_percentiles"),
        "clat": job.is_on("clat_percentiles", True),
        "lat": job.is_on("lat_percentiles"),
    }
    return tuple(kind for kind in _kinds(job) if wanted[kind])


def interval_of(text: str | None) -> float | None:
    """The seconds of `--status-interval`, None without it. Raises Refused."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip().lower())
    seconds = float(found[1]) * _UNITS_S.get(found[2], 0.0) if found else 0.0
    if seconds < 1e-3:
        where = f"fio: --status-interval={text}"
        raise ToolRefusal("fio", where, expected="a time of 1ms at least", code="wrong-value", fault="value")
    if seconds > _INTERVAL_MAX_S:
        raise Refused(
            f"fio: --status-interval={text}", expected=f"{_INTERVAL_MAX_S:,} s at most", code="out-of-range"
        )
    return seconds
