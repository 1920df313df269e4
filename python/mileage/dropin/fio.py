"""`mileage fio`: fio's job files and command lines, done side by side as fio does, with fio's output.

Scope: the order of jobs, what is printed when, and the exit status: 0, or 1 when a job failed. Nothing is left but
files of the jobs, as with fio itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, TextIO

from mileage.dropin.fio_flags import FIO
from mileage.dropin.fio_jobs import FioJob, jobs_of
from mileage.dropin.fio_logs import LOGS, write_logs
from mileage.dropin.fio_plan import FioWork, is_direct, refuse_devices, works_of
from mileage.dropin.fio_run import FioResult, groups_of, lay_out, run_group
from mileage.dropin.flags import GivenFlags
from mileage.errors import Refused, RunFailed
from mileage.formats import fio_print
from mileage.formats.fio_print import PERCENTILES, Shown

_ACCEPTED: Final = "Accepted: "
"""Help of an option that is taken and does not do what it does in fio begins so."""
INTERRUPTED: Final = 128
"""Exit status of fio after an interrupt."""
_FORMATS: Final = ("normal", "terse", "json", "json+")


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as fio does; the exit status. Raises Refused and RunFailed."""
    if given.has("--version"):
        sys.stdout.write(f"{fio_print.VERSION}\n")
        return 0
    if given.has("--study"):
        raise Refused("fio: --study", "is not built", advice="`mileage run --job JOB.fio`", code="not-built")
    forms = _forms(given)
    jobs = jobs_of(given)
    works = [works_of(job) for job in jobs]
    if given.has("--parse-only"):
        return 0
    for line in notes_of(jobs):
        sys.stderr.write(f"fio: {line}\n")
    refuse_devices([work for copies in works for work in copies], given.every("--destroy"))
    is_normal = "normal" in forms
    text = _announced(works) if is_normal else ""
    name = given.last("--output")
    # Opened before the jobs: their results must have a place.
    output = open_output(name) if name else None

    def say(line: str) -> None:
        nonlocal text
        if is_normal:
            text += f"{line}\n"

    lay_out([work for copies in works for work in copies], say)
    interrupted = False
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        text = ""
    results: list[FioResult] = []
    status = 0
    group = -1
    for members in groups_of(works):
        for copies in members:
            if group < 0 or copies[0].job.is_on("stonewall") or copies[0].job.is_on("new_group"):
                group += 1
            results += [FioResult(work, group) for work in copies]
        own = [result for result in results if not result.pid]
        interrupted = run_group(own)
        for result in own:
            if result.error:
                status = 1
                sys.stderr.write(f"fio: {result.work.job.name}: {result.error}\n")
        if interrupted:
            sys.stderr.write("\nfio: terminating on signal 2\n")
            status = INTERRUPTED
            break
    if any(log in result.work.job.options for result in results for log in LOGS):
        write_logs(results)
    shown = _shown(results)
    for form in forms:
        if form == "normal":
            text += fio_print.normal(shown, group + 1)
        else:
            text += fio_print.terse(shown) if form == "terse" else fio_print.document(shown, {})
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        with output:
            output.write(text)
    return status


def open_output(name: str) -> TextIO:
    """The file of `--output`. Raises RunFailed."""
    try:
        return open(name, "w")
    except OSError as error:
        raise RunFailed.from_os_error(f"fio: --output={name}", error) from error


def notes_of(jobs: Sequence[FioJob]) -> list[str]:
    """What options that are on and have another effect than in fio, or none, mean here; each once."""
    given = {key for job in jobs for key, value in job.options.items() if value != "0"}
    return [
        f"{flag.spelling.removeprefix('--')}: {flag.summary.removeprefix(_ACCEPTED).rstrip('.')}"
        for flag in FIO.flags
        if flag.spelling.removeprefix("--") in given and flag.summary.startswith(_ACCEPTED)
    ]


def _forms(given: GivenFlags) -> list[str]:
    """The formats of output, in order. Raises Refused."""
    if given.has("--minimal"):
        return ["terse"]
    found = [form for text in given.every("--output-format") for form in text.split(",")] or ["normal"]
    for form in found:
        if form not in _FORMATS:
            raise Refused(f"fio: --output-format={form}", expected=", ".join(_FORMATS), code="unknown-word")
    if given.last("--terse-version") not in (None, "3"):
        raise Refused("fio: --terse-version", expected="3", code="unsupported")
    return found


def _announced(works: Sequence[Sequence[FioWork]]) -> str:
    """The lines before the jobs begin."""
    lines = []
    group = -1
    for copies in works:
        job = copies[0].job
        if group < 0 or job.is_on("stonewall") or job.is_on("new_group"):
            group += 1
        size = f"{copies[0].workload['record_bytes']}B"
        sizes = f"(R) {size}-{size}, (W) {size}-{size}, (T) {size}-{size}"
        depth, engine = job.number("iodepth", 1), job.text("ioengine", "psync")
        lines.append(fio_print.head_line(job.name, group, job.text("rw", "read"), sizes, engine, depth))
        lines += ["...\n"] if len(copies) > 1 else []
    count = sum(len(copies) for copies in works)
    threads = [job_is_thread(copies[0].job) for copies in works]
    kind = "thread" if all(threads) else "process"
    plural = "" if count == 1 else "s" if kind == "thread" else "es"
    return "".join(lines) + f"{fio_print.VERSION}\nStarting {count} {kind}{plural}\n"


def job_is_thread(job: FioJob) -> bool:
    """Whether fio would do the job in a thread."""
    return job.is_on("thread")


def _shown(results: Sequence[FioResult]) -> list[Shown]:
    """Results as they are printed: of each process, or of a group."""
    found: list[Shown] = []
    for result in results:
        job = result.work.job
        together = job.is_on("group_reporting") and found and found[-1].group == result.group
        if not together:
            wanted = tuple(float(part) for part in job.text("percentile_list").split(":") if part)
            found.append(
                Shown(
                    job.name,
                    result.group,
                    0,
                    result.pid,
                    job.number("iodepth", 1) if is_direct(job) or job.text("ioengine") != "libaio" else 1,
                    dict(job.given),
                    wanted=wanted or PERCENTILES,
                    description=job.text("description"),
                )
            )
        shown = found[-1]
        shown.jobs += 1
        shown.error = shown.error or result.errno
        shown.elapsed_s = max(shown.elapsed_s, result.elapsed_s)
        for record in result.records:
            shown.add(record)
            if result.work.verifies and "verified" in record and not record.get("bytes_read"):
                shown.add({**record["verified"], "bytes_written": 0, "ops_written": 0})
    return found
