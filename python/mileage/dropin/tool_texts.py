"""The text of one run of a study, as the tool prints it after which its workload is named.

Scope: IOzone, IOR, mdtest, metarates, hdparm, dd, SQLIO and IOMeter. Figures, times and the machine are those of the
run's record; the command line is the tool's own for such a run, where the tool can do it.
What it refuses: nothing; a run of another workload has no text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from mileage.app.result import StudyResult, load
from mileage.dropin import iozone_text
from mileage.dropin.flags import read, tool_named
from mileage.dropin.hdparm import seconds_of
from mileage.dropin.iometer import figures_of
from mileage.dropin.ior_study import phases_of
from mileage.dropin.mdtest_study import rates_of as mdtest_rates
from mileage.dropin.metarates import rates_of
from mileage.errors import Refused
from mileage.formats import iozone_print
from mileage.formats.equivalents import line_of
from mileage.formats.ior_listing import IorReport
from mileage.formats.metadata_print import mdtest_head, mdtest_table, metarates_head, metarates_lines
from mileage.formats.raw_print import SqlioRun, result_text, sqlio_text, summary, timing_line
from mileage.formats.worksheet import biff2
from mileage.model.cell_key import CellKey
from mileage.model.journal_entries import Run
from mileage.plan import Plan, PlannedRun, Workload
from mileage.plan.cell_keys import unit_of
from mileage.plan.ior_options import IorOptions
from mileage.plan.iozone_suite import Suite
from mileage.plan.pattern import pattern_word
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.store.safe_directory import refuse_links

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


# Raw outputs of a study for `mileage export raw`: a text for each cell, stage and run, as the cell's tool prints it.
# Scope: measured runs of cells that are named after a tool. The name of a file has the cell, the stage, and the
# cycle, the arm and the part where there are several, and ends in the number of the repetition.
# What it refuses: a folder without a study, an imported study, and one without such a cell.

_NAME_MAX: Final = 180
"""Characters of a name without its number and ending at most; a file system allows 255."""
_KEPT_BY: Final = ("iometer", "hdparm", "dd")
"""Studies that drop-in commands keep, whose workloads have other names."""


class RawOutputs(msgspec.Struct, frozen=True):
    """The raw outputs of a study."""

    files: list[tuple[str, bytes]]
    """Name and content of each file, in the order of the runs."""
    missing: list[str]
    """Sentences about cells that are of no tool."""
    title: str

    @property
    def readme(self) -> str:
        """What the files are, for the folder that holds them."""
        lines = [
            f"# {self.title}",
            "",
            "Each file has one run of one cell in the layout of the tool after which the workload is named. Mileage "
            "measured the figures and printed the files from the study's records.",
            "",
            "CELL.STAGE.RUN.txt; with several cycles, arms or parts these stand before RUN. np_4 means four tasks. "
            "Times are UTC. The layout of sqlio.* was not compared with a file of SQLIO.",
            "",
            *self.missing,
        ]
        return "\n".join(lines).rstrip() + "\n"


def raw_outputs(folder: Path) -> RawOutputs:
    """The raw outputs of a study folder, finished or not. Raises Refused."""
    refuse_links(folder)
    result = load(folder)
    if result.plan.imported is not None:
        raise Refused(folder, "was imported: the tool's own output is what was imported", code="unsupported")
    files: list[tuple[str, bytes]] = []
    names: set[str] = set()
    omitted: dict[str, None] = {}
    for done in _finished(result):
        texts = texts_of(done)
        if not texts:
            omitted[done.run.cell] = None
            continue
        name = _name(result.plan, done)
        # Two cells can differ only in characters that no file name has.
        if name in names:
            name = f"{name}.of-run-{done.run.index}"
        names.add(name)
        files += [(f"{name}.{ending}", content) for ending, content in texts.items()]
    if not files:
        raise Refused(
            folder,
            "has no finished run of a tool's workload",
            expected=f"a cell of {', '.join(f'{tool}.*' for tool in TOOLS)}",
            code="empty",
        )
    missing = [f"{cell}: of no tool, so that it has no raw output." for cell in omitted]
    study = result.plan.study
    return RawOutputs(files, missing, f"Raw outputs of the study {study.name}")


def _finished(result: StudyResult) -> Iterator[FinishedRun]:
    plan = result.plan
    keys = {cell.unit or cell.label: unit_of(cell) for cell in plan.cells}
    titles = {cell.unit or cell.label: cell.title for cell in plan.cells}
    planned = {run.index: run for run in plan.runs}
    for entry in result.folder.content().runs():
        run = planned[entry.run]
        if entry.role != "measure":
            continue
        key = keys[run.cell]
        workload = key.workload
        if plan.study.name in _KEPT_BY and workload.partition(".")[0] not in TOOLS:
            tool, workload = plan.study.name, titles.get(run.cell, workload)
        else:
            tool = workload.partition(".")[0]
        yield FinishedRun(run, entry, workload, tool, _place(plan, run), _cell_words(run, key))


def _cell_words(run: PlannedRun, key: CellKey) -> list[str]:
    """The cell in the name of a file: its label, of the tools under MPI with "np_4" in place of the threads."""
    if not isinstance(run.job, IorRun | MdtestRun | MetaratesRun):
        return [key.label]
    shown = {name: value for name, value in key.shown.items() if name != "threads"}
    return [msgspec.structs.replace(key, shown=shown).label, f"np_{run.job.workers}"]


def _place(plan: Plan, run: PlannedRun) -> str:
    """The target without its kind, on one line."""
    target = plan.setting_of(run).target
    return re.sub(r"[^\x20-\x7e]", "?", target.partition(":")[2] or target)


def _name(plan: Plan, done: FinishedRun) -> str:
    entry: Run = done.entry
    parts = [*done.cell_words, entry.stage]
    parts += [f"cycle-{entry.cycle}"] if plan.study.cycles > 1 else []
    parts += [entry.arm] if plan.study.sham else []
    parts += [entry.part] if entry.part else []
    words = [re.sub(r"[^A-Za-z0-9_-]+", "-", part.replace(".", "_")).strip("-") for part in parts]
    return f"{'.'.join(words)[:_NAME_MAX]}.{entry.block}"
