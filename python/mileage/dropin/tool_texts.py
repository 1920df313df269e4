"""The text of one run of a study, as the tool prints it after which its workload is named.

Scope: IOzone, IOR, mdtest, metarates, hdparm, dd, SQLIO and IOMeter. Figures, times and the machine are those of the
run's record; the command line is the tool's own for such a run, where the tool can do it.
What it refuses: nothing; a run of another workload has no text.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mileage.dropin import iozone_text
from mileage.dropin.flags import read, tool_named
from mileage.dropin.hdparm import seconds_of
from mileage.dropin.iometer import figures_of
from mileage.dropin.ior_study import phases_of
from mileage.dropin.mdtest_study import rates_of as mdtest_rates
from mileage.dropin.metarates import rates_of
from mileage.formats import iozone_print
from mileage.formats.equivalents import line_of
from mileage.formats.iometer_print import result_text
from mileage.formats.ior_listing import IorReport
from mileage.formats.metadata_print import mdtest_head, mdtest_table, metarates_head, metarates_lines
from mileage.formats.raw_print import summary, timing_line
from mileage.formats.sqlio_print import SqlioRun, sqlio_text
from mileage.formats.worksheet import biff2
from mileage.model.journal_entries import Run
from mileage.plan import PlannedRun, Workload
from mileage.plan.ior_options import IorOptions
from mileage.plan.iozone_suite import Suite
from mileage.plan.pattern import pattern_word
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun

_KB: Final = 1024


@dataclass(frozen=True)
class FinishedRun:
    """A run of a plan with its line of the journal."""

    run: PlannedRun
    entry: Run
    workload: str
    """Name of its workload, or of the set of tests."""
    tool: str
    """First part of that name; of a study that a drop-in command kept, the command."""
    place: str
    """What it was done on, without the kind of the target."""
    cell_words: list[str]
    """Its cell, in the parts that the name of a file has."""

    @property
    def started(self) -> datetime:
        """When it began, UTC."""
        return datetime.fromisoformat(self.entry.started)

    @property
    def finished(self) -> datetime:
        """When it was journalled, UTC."""
        return datetime.fromisoformat(self.entry.finished)


def texts_of(done: FinishedRun) -> dict[str, bytes]:
    """The files of a run by their ending, "txt" and for IOzone "wks" as well; none of a run that is of no tool."""
    job = done.run.job
    if isinstance(job, Suite):
        return _iozone(done, job)
    if isinstance(job, IorRun):
        return {"txt": _ior(done, job).encode()}
    if isinstance(job, MdtestRun):
        return {"txt": _mdtest(done, job).encode()}
    if isinstance(job, MetaratesRun):
        return {"txt": _metarates(done, job).encode()}
    write = _OF_BLOCKS.get(done.tool)
    if write is None or done.run.workload is None:
        return {}
    return {"txt": write(done, done.run.workload).encode()}


def _metarates(done: FinishedRun, job: MetaratesRun) -> str:
    value = job.value
    results = done.entry.record.results or []
    # A count that was calibrated is in the record only.
    each = max((result.record.ops_metadata for result in results), default=value.files) // value.tasks
    tests = [result.test for result in results if result.test != "unlink"]
    head = metarates_head(
        done.place, each * value.tasks, value.tasks, tests, own=value.own_directories, fsync=value.fsync
    )
    head += "Creating Unique Subdirs...\n" if value.own_directories else ""
    return head + metarates_lines([rates_of(result, each) for result in results if result.test in tests])


def _mdtest(done: FinishedRun, job: MdtestRun) -> str:
    value = job.value
    record = done.entry.record
    items = max(
        (one.record.ops_metadata for one in record.results or () if not one.test.startswith("tree_")),
        default=value.files,
    )
    kinds = {test.partition("_")[0] for test in value.tests} - {"tree"}
    flags = ["-d", done.place, "-n", str(items // value.tasks)]
    flags += {frozenset({"file"}): ["-F"], frozenset({"dir"}): ["-D"]}.get(frozenset(kinds), [])
    flags += ["-u"] if value.own_directories else []
    flags += ["-z", str(value.depth), "-b", str(value.branch)] if value.depth else []
    flags += ["-L"] if value.leaves_only else []
    flags += ["-N", str(value.stride)] if value.stride else []
    flags += ["-w", str(value.write_bytes), "-e", str(value.read_bytes)] if value.write_bytes else []
    flags += ["-y"] if value.fsync else []
    kind = {"-F": "files", "-D": "directories"}.get(next((f for f in flags if f in ("-F", "-D")), ""), "")
    head = mdtest_head(
        f"{done.started:%m/%d/%Y %H:%M:%S}",
        flags,
        done.place,
        "",
        value.tasks,
        f"{items} {kind or 'files/directories'}",
    )
    return (
        f"{head}{mdtest_table(mdtest_rates([record]))}-- finished at {done.finished:%m/%d/%Y %H:%M:%S} --\n"
    )


def _ior(done: FinishedRun, job: IorRun) -> str:
    value, record = job.value, done.entry.record
    phases = phases_of(record, 0)
    options = IorOptions(
        testfile=done.place,
        writefile=int(any(phase.access == "write" for phase in phases)),
        readfile=int(any(phase.access == "read" for phase in phases)),
        fileperproc=int(value.files == "per_thread"),
        numtasks=value.tasks,
        segmentcount=value.segments,
        repetitions=1,
        transfersize=value.transfer_bytes,
        blocksize=value.block_bytes,
        reordertasks=int(bool(value.reorder)),
        reordertasksrandom=int(value.reorder_random),
        taskpernodeoffset=value.reorder or 1,
    )
    line = line_of(done.run, "ior", done.place)
    words = line[line.index("ior ") :].split(" ") if line is not None else ("ior",)
    hosts = sorted({task.host for result in record.results or () for task in result.record.tasks})
    times = iter([done.started, done.started])
    out = io.StringIO()
    report = IorReport(
        out,
        out,
        words,
        options,
        clock=lambda: f"{next(times, done.finished):%a %b %e %H:%M:%S %Y}",
        machine=" ".join(filter(None, hosts)) or "simulated",
    )
    report.head()
    report.test(0, options, done.place, {})
    report.repetition(0, 0)
    for phase in phases:
        report.result(options, phase)
    report.end()
    return out.getvalue()


def _iozone_flags(job: Suite) -> list[str]:
    threads = job.value.workers is not None and job.options.processes is not True
    return ["-R", *([] if job.value.retests else ["-+n"]), *(["-T"] if threads else [])]


def _iozone(done: FinishedRun, job: Suite) -> dict[str, bytes]:
    value, record = job.value, done.entry.record
    given = read(tool_named("iozone"), _iozone_flags(job))
    line = line_of(done.run, "iozone", done.place) or f"iozone ({done.workload})"
    record_kb = value.record_bytes // _KB
    head = iozone_text.version_text() + (
        f"\tRun began: {done.started:%a %b %e %H:%M:%S %Y}\n\n"
        f"\tRecord Size {record_kb} kB\n\tFile size set to {value.file_bytes // _KB} kB\n"
        f"\tCommand line used: {line}\n\tOutput is in kBytes/sec\n"
    )
    if value.workers is None:
        row = iozone_text.row_of(given, value, record.results or ())
        text = (
            iozone_print.table_head()
            + iozone_print.table_row(row)
            + "\niozone test complete.\n"
            + iozone_print.table_reports([row], [record_kb], cpu=False)
        )
        cells = iozone_print.sheet_of_table(line + " ", [row], [record_kb], cpu=False)
    else:
        blocks = iozone_text.blocks_of(given, value, record)
        port, ports = ("thread", "threads") if given.has("-T") else ("process", "processes")
        parts = iozone_text.parts_of(given, {value.workers: blocks}, cpu=False)
        text = f"\tThroughput test with {value.workers} {port if value.workers == 1 else ports}\n"
        text += iozone_text.children_text(given, value, blocks)
        for what, unit, rows in parts:
            text += iozone_print.children_report(rows, record_kb, unit, ports, what)
        text += "\niozone test complete.\n"
        cells = iozone_print.sheet_of_children(line + " ", parts, record_kb, ports)
    return {"txt": (head + text).encode(), "wks": biff2(cells)}


def _hdparm(done: FinishedRun, work: Workload) -> str:
    what = "cached" if pattern_word(work.pattern) == "fixed" else "buffered"
    direct = done.run.reach is not None and done.run.reach.options.direct
    record = done.entry.record
    return f"\n{done.place}:\n" + timing_line(what, direct, record.bytes_read, seconds_of(record))


def _dd(done: FinishedRun, work: Workload) -> str:
    record = done.entry.record
    return summary(record.bytes_moved, work.record_bytes, record.elapsed_s)


def _iometer(done: FinishedRun, work: Workload) -> str:
    row = figures_of(done.workload, work.threads, work.depth, done.entry.record)
    return result_text(done.run.cell, f"{done.started:%Y-%m-%d %H:%M:%S}", done.place, [row])


def _sqlio(done: FinishedRun, work: Workload) -> str:
    record = done.entry.record
    return sqlio_text(
        SqlioRun(
            threads=work.threads,
            verb="reading" if work.read_percent == 100 else "writing",
            pattern=pattern_word(work.pattern),
            record_bytes=work.record_bytes,
            depth=work.depth,
            place=done.place,
            seconds=record.elapsed_s,
            operations=record.operations,
            bytes_moved=record.bytes_moved,
            latency=record.latency_of("read", "write"),
        )
    )


_OF_BLOCKS: Final[dict[str, Callable[[FinishedRun, Workload], str]]] = {
    "hdparm": _hdparm,
    "dd": _dd,
    "iometer": _iometer,
    "sqlio": _sqlio,
}
TOOLS: Final = ("iozone", "ior", "mdtest", "metarates", *_OF_BLOCKS)
"""Tools whose texts there are."""
