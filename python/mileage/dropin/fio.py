"""`mileage fio`: fio's job files and command lines, done side by side as fio does, with fio's output.

Scope: the order of jobs, what is printed when, and the exit status: 0, or 1 when a job failed. Nothing is left but
files of the jobs, as with fio itself.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from mileage.dropin.fio_flags import FIO
from mileage.dropin.fio_groups import batches_of, groups_of
from mileage.dropin.fio_jobs import FioJob, jobs_of
from mileage.dropin.fio_limits import check_engine, check_processes
from mileage.dropin.fio_logs import check_logs, notes_of_logs, write_logs
from mileage.dropin.fio_plan import JobResults, JobWork, works_of
from mileage.dropin.fio_reports import Reports, interval_of, results_of
from mileage.dropin.flags import GivenFlags
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused, RunFailed
from mileage.execute.fio_jobs.layout import Targets, check_files, lay_out
from mileage.execute.fio_jobs.link import Requests
from mileage.execute.fio_jobs.report_timer import ReportTimer
from mileage.execute.fio_jobs.run import FioResult, run_group
from mileage.formats import fio_print
from mileage.targets.door import Door, result_file

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
    found = [f"{flag.name}: {flag.ignored}" for flag in FIO.flags if flag.name in given and flag.ignored]
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
    taken = [flag for flag in FIO.flags if not flag.instead]
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
