"""IOR's command line as a study of the workloads `ior.*`: what `--study` keeps, and what a modelled host does.

Scope: segments, blocks and transfers of several tasks; a repetition is a run that writes and reads.
What it refuses: sizes that do not divide, and flags that no study can keep.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from pathlib import Path
from typing import Any, Final

from mileage.dropin.dropin_study import do_study, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_tools import study_of
from mileage.dropin.task_values import number, size_of, tasks_of
from mileage.errors import Refused
from mileage.formats import ior_print as layout
from mileage.judge.tasks import smallest_mean_latency_s
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun
from mileage.plan.sizes import exact_bytes
from mileage.plan.study import Measure

_S: Final = 1e9
_FORMATS: Final = ("default", "JSON", "CSV")


_KEPT: Final = (
    *(
        "-a",
        "-b",
        "-t",
        "-s",
        "-i",
        "-F",
        "-o",
        "-w",
        "-r",
        "-R",
        "-e",
        "-Y",
        "-C",
        "-Q",
        "-Z",
        "-B",
        "-v",
        "-O",
    ),
    *("--tasks", "--study", "--destroy", "-h"),
)
"""Flags that a study can keep."""


def run_study(given: GivenFlags) -> None:
    """Do the command line as a study and print it as IOR does. Raises Refused and RunFailed."""
    for flag, _ in given.flags:
        if flag.spelling not in _KEPT:
            raise Refused(
                f"ior: {flag.spelling}",
                "is not kept in a study, and not done on a modelled host",
                advice="leave --study out",
                code="unsupported",
            )
    shown = _format(given)
    began = time.ctime()
    setting = _setting(given, began)
    directory = Path(given.last("-o") or "testFile").parent
    phases: list[layout.Phase] = []

    def finished(run: PlannedRun, record: RunRecord) -> str:
        own = _phases(record, run.block - 1)
        phases.extend(own)
        return layout.listing_lines(setting, own) if shown == "default" else ""

    hosts = [socket.gethostname()] * setting.tasks
    head = layout.listing_head(setting, hosts) if shown == "default" else ""
    print_notes(given.traps)
    do_study(given, study_of(given, directory, _table(given, setting)), head=head, finished=finished)
    if shown == "CSV":
        sys.stdout.write(layout.csv_text(setting, phases))
    elif shown == "JSON":
        sys.stdout.write(layout.json_text(setting, phases, time.ctime()))
    else:
        sys.stdout.write(layout.listing_end(setting, phases, time.ctime()))


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


def _setting(given: GivenFlags, began: str) -> layout.Setting:
    tasks = tasks_of(given)
    if given.has("-C") and given.has("-Z"):
        raise Refused("ior: -C and -Z", "give one of them", code="conflict")
    if given.has("-Q") and not given.has("-C"):
        raise Refused("ior: -Q", "has no effect without -C", advice="remove it", code="no-effect")
    name = given.last("-o") or "testFile"
    found: Any = os.uname()
    return layout.Setting(
        command=shlex.join(["ior", *given.words]),
        machine=f"{found.sysname} {found.nodename} {found.release} {found.version} {found.machine}",
        began=began,
        file_name=name,
        file_system=layout.file_system_text(Path(name).parent),
        own_files=given.has("-F"),
        tasks=tasks,
        segments=number(given, "-s", 1, 1, 1 << 40),
        repetitions=number(given, "-i", 1, 1, 10_000),
        transfer=size_of(given, "-t", 256 << 10),
        block=size_of(given, "-b", 1 << 20),
        reorder=given.has("-C"),
        reorder_random=given.has("-Z"),
        distance=number(given, "-Q", 1, 0, 1 << 20),
        verbose=given.count("-v"),
        signature=int(time.time()),
    )


def _table(given: GivenFlags, setting: layout.Setting) -> Measure:
    wanted = [phase for phase, flag in (("write", "-w"), ("read", "-r")) if given.has(flag)] or [
        "write",
        "read",
    ]
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
    if setting.reorder and setting.tasks > 1:
        reorder = setting.distance % setting.tasks
    return Measure(
        workload=tuple(f"ior.{phase}" for phase in wanted),
        record=exact_bytes(setting.transfer),
        threads=setting.tasks,
        repeat=setting.repetitions,
        block=exact_bytes(setting.block),
        segments=setting.segments,
        reorder="random" if setting.reorder_random else reorder or None,
        files="per_thread" if setting.own_files else "shared",
        cache="direct" if given.has("-B") else "warm",
        sync="fsync" if given.has("-e") or given.has("-Y") else "none",
        sync_every=1 if given.has("-Y") else None,
        verify="all" if given.has("-R") else None,
    )


def _phases(record: RunRecord, repetition: int) -> list[layout.Phase]:
    """The phases of a repetition, in the order in which they were done."""
    return [_phase(result.test, result.record, repetition) for result in record.results or ()]


def _phase(access: str, record: RunRecord, repetition: int) -> layout.Phase:
    spans = record.phases
    assert spans is not None
    moved = [(task, task.transfer_ns) for task in record.tasks if task.operations and task.transfer_ns]
    times_s = [(end_ns - start_ns) / _S for _, (start_ns, end_ns) in moved]
    return layout.Phase(
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
