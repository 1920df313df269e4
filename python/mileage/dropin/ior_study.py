"""IOR's command line as a study of the workloads `ior.*`: what `--study` keeps, and what a modelled host does.

Scope: segments, blocks and transfers of several tasks; a repetition is a run that writes and reads.
What it refuses: sizes that do not divide, and flags that no study can keep.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Final

from mileage.dropin.dropin_study import do_study, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_tools import refuse_unkept, study_of
from mileage.dropin.task_values import number, size_of, tasks_of
from mileage.errors import Refused
from mileage.formats.ior_listing import IorReport, file_system_of
from mileage.judge.tasks import smallest_mean_latency_s
from mileage.model.ior_phase import IorPhase
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun
from mileage.plan.ior_options import IorOptions
from mileage.plan.sizes import exact_bytes
from mileage.plan.study import Measure

_S: Final = 1e9
_FORMATS: Final = ("default", "JSON", "CSV")


_KEPT: Final = (
    *("-a", "-b", "-t", "-s", "-i", "-F", "-o", "-w", "-r", "-R", "-e", "-Y"),
    *("-C", "-Q", "-Z", "-B", "-v", "-O", "--tasks", "--study", "--destroy", "-h"),
)
"""Flags that a study can keep."""


def run_study(given: GivenFlags) -> None:
    """Do the command line as a study and print it as IOR does. Raises Refused and RunFailed."""
    refuse_unkept(given, _KEPT)
    options = _options(given)
    directory = Path(options.testfile).parent
    # The study prints what the report wrote since the last time.
    text = io.StringIO()
    report = IorReport(text, text, ("ior", *given.words), options)

    def written() -> str:
        found = text.getvalue()
        text.seek(0)
        text.truncate()
        return found

    def finished(run: PlannedRun, record: RunRecord) -> str:
        for phase in phases_of(record, run.block - 1):
            report.result(options, phase)
        return written()

    report.head()
    report.test(
        0, options, f"{options.testfile}{'.00000000' * options.fileperproc}", file_system_of(directory)
    )
    report.repetition(0, int(time.time()))
    print_notes(given.notes)
    do_study(given, study_of(given, directory, _table(given, options)), head=written(), finished=finished)
    report.end()
    sys.stdout.write(written())


def _format(given: GivenFlags) -> str:
    found = "default"
    for text in given.every("-O"):
        key, _, value = text.partition("=")
        if key != "summaryFormat" or value not in _FORMATS:
            raise Refused(
                f"ior: -O {text}", expected="summaryFormat=default, JSON or CSV", code="unknown-word"
            )
        found = value
    return found


def _options(given: GivenFlags) -> IorOptions:
    """The parameters that a study can keep. Raises Refused."""
    if given.has("-C") and given.has("-Z"):
        raise Refused("ior: -C and -Z", "give one of them", code="conflict")
    if given.has("-Q") and not given.has("-C"):
        raise Refused("ior: -Q", "has no effect without -C", advice="remove it", code="no-effect")
    wanted = _wanted(given)
    return IorOptions(
        testfile=given.last("-o") or "testFile",
        writefile=int("write" in wanted),
        readfile=int("read" in wanted),
        checkread=int(given.has("-R")),
        fileperproc=int(given.has("-F")),
        numtasks=tasks_of(given),
        segmentcount=number(given, "-s", 1, 1, 1 << 40),
        repetitions=number(given, "-i", 1, 1, 10_000),
        transfersize=size_of(given, "-t", 256 << 10),
        blocksize=size_of(given, "-b", 1 << 20),
        reordertasks=int(given.has("-C")),
        reordertasksrandom=int(given.has("-Z")),
        taskpernodeoffset=number(given, "-Q", 1, 0, 1 << 20),
        verbose=given.count("-v"),
        summaryformat=_format(given),
    )


def _wanted(given: GivenFlags) -> list[str]:
    """The phases that are asked for; without a flag both."""
    asked = [phase for phase, flag in (("write", "-w"), ("read", "-r")) if given.has(flag)]
    return asked or ["write", "read"]


def _table(given: GivenFlags, options: IorOptions) -> Measure:
    wanted = _wanted(given)
    if given.has("-R") and "read" not in wanted:
        raise Refused(
            "ior: -R", "compares what is read", advice="it has no effect without -r", code="no-effect"
        )
    for flag in ("-C", "-Z"):
        if given.has(flag) and "read" not in wanted:
            raise Refused(
                f"ior: {flag}", "is of reading", advice="it has no effect without -r", code="no-effect"
            )
    reorder: int | str | None = None
    if options.reordertasks and options.numtasks > 1:
        reorder = options.taskpernodeoffset % options.numtasks
    return Measure(
        workload=tuple(f"ior.{phase}" for phase in wanted),
        record=exact_bytes(options.transfersize),
        threads=options.numtasks,
        repeat=options.repetitions,
        block=exact_bytes(options.blocksize),
        segments=options.segmentcount,
        reorder="random" if options.reordertasksrandom else reorder or None,
        files="per_thread" if options.fileperproc else "shared",
        cache="direct" if given.has("-B") else "warm",
        sync="fsync" if given.has("-e") or given.has("-Y") else "none",
        sync_every=1 if given.has("-Y") else None,
        verify="all" if given.has("-R") else None,
    )


def phases_of(record: RunRecord, repetition: int) -> list[IorPhase]:
    """The phases of a repetition, in the order in which they were done."""
    return [_phase(result.test, result.record, repetition) for result in record.results or ()]


def _phase(access: str, record: RunRecord, repetition: int) -> IorPhase:
    spans = record.phases
    assert spans is not None
    moved = [(task, task.transfer_ns) for task in record.tasks if task.operations and task.transfer_ns]
    times_s = [(end_ns - start_ns) / _S for _, (start_ns, end_ns) in moved]
    return IorPhase(
        access=access,
        moved_bytes=record.bytes_moved,
        transfers=record.ops_read + record.ops_written,
        open_s=spans.open_ns / _S,
        transfer_s=spans.transfer_ns / _S,
        close_s=spans.close_ns / _S,
        total_s=spans.total_ns / _S,
        latency_s=smallest_mean_latency_s(times_s, [task.operations for task, _ in moved]) if moved else 0.0,
        repetition=repetition,
    )
