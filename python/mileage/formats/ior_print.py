"""IOR's own listing, CSV and JSON, as version 4 lays them out; its formulas are in `judge.tasks`.

Scope: a repetition's phases with their times; the summary's figures of all repetitions. A MiB is 2^20 bytes.
A line of the removal is omitted, since it is not timed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mileage.judge.tasks import DECIMAL, MIB, bandwidth_mib_s, column, operations_per_s

VERSION: Final = "4.0.0"


@dataclass(frozen=True)
class Phase:
    """One phase of one repetition; times in seconds."""

    access: str
    moved_bytes: int
    transfers: int
    open_s: float
    transfer_s: float
    close_s: float
    total_s: float
    latency_s: float
    """The smallest of the tasks' own means."""
    repetition: int
    stonewall_s: float = 0.0
    """Time until the stonewall, with wear-out."""
    stonewall_bytes: int = 0
    """Mean of the tasks' bytes at the stonewall."""

    @property
    def mib_per_s(self) -> float:
        return bandwidth_mib_s(self.moved_bytes, self.total_s) if self.total_s else 0.0

    @property
    def iops(self) -> float:
        return operations_per_s(self.transfers, self.transfer_s) if self.transfer_s else 0.0


@dataclass(frozen=True)
class Setting:
    """Settings as IOR prints them; sizes in bytes."""

    command: str
    machine: str
    began: str
    file_name: str
    file_system: str
    """Capacity and use, as IOR writes them."""
    own_files: bool
    tasks: int
    segments: int
    repetitions: int
    transfer: int
    block: int
    reorder: bool
    reorder_random: bool
    distance: int
    verbose: int
    signature: int

    @property
    def aggregate(self) -> int:
        return self.tasks * self.segments * self.block


def _figure(value: float) -> str:
    """A number in ten columns, with as many digits after the point as its size leaves room for."""
    digits = 6 if value < 1 else 2 if value < 3600 else 0
    return f"{value:<10.{digits}f}"


def human(size: int) -> str:
    """A size as IOR's options have it: "1 MiB", "48.83 GiB", "65536 bytes"."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}" if size % unit == 0 else f"{size / unit:.2f} {name}"
    return f"{size} bytes"


def file_system_of(directory: Path) -> dict[str, str]:
    """Capacity and use of a file system, as IOR writes them; empty where it cannot be looked at."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return {}
    size = found.f_blocks * found.f_frsize
    unit, name = (1 << 40, "TiB") if size >= 1 << 40 else (1 << 30, "GiB")
    used = 100.0 * (found.f_blocks - found.f_bfree) / found.f_blocks if found.f_blocks else 0.0
    inodes = 100.0 * (found.f_files - found.f_ffree) / found.f_files if found.f_files else 0.0
    return {
        "Capacity": f"{size / unit:.1f} {name}",
        "Used Capacity": f"{used:2.1f}%",
        "Inodes": f"{found.f_files / MIB:.1f} Mi",
        "Used Inodes": f"{inodes:2.1f}%",
    }


def file_system_text(directory: Path) -> str:
    """The same in a line."""
    found = file_system_of(directory)
    if not found:
        return ""
    use = (
        f"Used FS: {found['Used Capacity']}   Inodes: {found['Inodes']}   Used Inodes: {found['Used Inodes']}"
    )
    return f"{found['Capacity']}   {use}"


def options_of(setting: Setting) -> dict[str, Any]:
    """The block of options, in order."""
    order = "no tasks offsets"
    if setting.reorder_random:
        order = "random task offsets"
    elif setting.reorder:
        order = "constant task offset"
    return {
        "api": "POSIX",
        "apiVersion": "",
        "test filename": setting.file_name,
        "access": "file-per-process" if setting.own_files else "single-shared-file",
        "type": "independent",
        "segments": setting.segments,
        "ordering in a file": "sequential",
        "ordering inter file": order,
        **({"task offset": setting.distance} if setting.reorder and not setting.reorder_random else {}),
        "nodes": 1,
        "tasks": setting.tasks,
        "clients per node": setting.tasks,
        "repetitions": setting.repetitions,
        "xfersize": human(setting.transfer),
        "blocksize": human(setting.block),
        "aggregate filesize": human(setting.aggregate),
    }


def listing_head(setting: Setting, hosts: Sequence[str]) -> str:
    """The lines above the results."""
    path = f"{setting.file_name}.00000000" if setting.own_files else setting.file_name
    lines = [
        f"IOR-{VERSION}: MPI Coordinated Test of Parallel I/O",
        f"{'Began':<20}: {setting.began}",
        f"{'Command line':<20}: {setting.command}",
        f"{'Machine':<20}: {setting.machine}",
        f"{'TestID':<20}: 0",
        f"{'StartTime':<20}: {setting.began}",
        f"{'Path':<20}: {path}",
        f"{'FS':<20}: {setting.file_system}",
    ]
    if setting.verbose > 1:
        lines.append(f"{'Participating tasks':<20}: {setting.tasks}")
        lines += [f"task {number} on {host}" for number, host in enumerate(hosts)]
    lines += ["", "Options: "]
    lines += [f"{name:<20}: {value}" for name, value in options_of(setting).items()]
    if setting.verbose:
        lines.append(f"{'verbose':<20}: {setting.verbose}")
    lines += ["", "Results: "]
    if setting.verbose > 1:
        stamp = (
            f"Using Time Stamp {setting.signature} (0x{setting.signature & 0xFFFFFFFF:x}) for Data Signature"
        )
        lines.append(stamp)
    return "\n".join([*lines, "", _HEAD, _RULE]) + "\n"


def listing_lines(setting: Setting, phases: Sequence[Phase]) -> str:
    """A line of results for each phase."""
    return "".join(f"{_line(setting, phase)}\n" for phase in phases)


def listing_end(setting: Setting, phases: Sequence[Phase], finished: str) -> str:
    """The summary that follows all results."""
    lines = [*_most(phases), "", "Summary of all tests:", _SUMMARY]
    lines += [_summary_line(setting, own) for own in by_access(phases)]
    return "\n".join([*lines, f"{'Finished':<20}: {finished}"]) + "\n"


_COLUMNS: Final = {
    "access": 10,
    "bw(MiB/s)": 11,
    "IOPS": 11,
    "Latency(s)": 12,
    "block(KiB)": 11,
    "xfer(KiB)": 11,
    "open(s)": 11,
    "wr/rd(s)": 11,
    "close(s)": 11,
    "total(s)": 11,
    "iter": 0,
}
"""The headings with their widths; each is underlined as far as IOR underlines it."""
_HEAD: Final = "".join(name.ljust(width) for name, width in _COLUMNS.items())
_RULES: Final = (6, 9, 4, 10, 10, 9, 8, 8, 8, 8, 4)
_RULE: Final = "".join(
    ("-" * rule).ljust(width) for rule, width in zip(_RULES, _COLUMNS.values(), strict=True)
)
_SUMMARY: Final = (
    "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) "
    "Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize "
    "aggs(MiB)   API RefNum"
)


def table_head() -> str:
    """The heading of the results."""
    return f"{_HEAD}\n{_RULE}\n"


def summary_head() -> str:
    """The heading of the summary."""
    return _SUMMARY


def figure_columns(access: str, figures: Sequence[float | None], repetition: int) -> str:
    """A line of results; None is a dash."""
    widths = tuple(_COLUMNS.values())[1:-1]
    shown = (
        ("-" if value is None else _figure(value)).ljust(width)
        for value, width in zip(figures, widths, strict=True)
    )
    return f"{access:<10}{''.join(shown)}{repetition:<4d}\n"


def _line(setting: Setting, phase: Phase) -> str:
    figures = (
        *(phase.mib_per_s, phase.iops, phase.latency_s, setting.block / 1024, setting.transfer / 1024),
        *(phase.open_s, phase.transfer_s, phase.close_s, phase.total_s),
    )
    widths = tuple(_COLUMNS.values())[1:-1]
    shown = (_figure(value).ljust(width) for value, width in zip(figures, widths, strict=True))
    return f"{phase.access:<10}{''.join(shown)}{phase.repetition:<4d}"


def by_access(phases: Sequence[Phase]) -> list[list[Phase]]:
    """The phases of writing, then those of reading."""
    found = [[phase for phase in phases if phase.access == access] for access in ("write", "read")]
    return [own for own in found if own]


def _most(phases: Sequence[Phase]) -> list[str]:
    lines = []
    for own in by_access(phases):
        most = max(phase.mib_per_s for phase in own)
        name = f"Max {own[0].access.capitalize()}:"
        lines.append(f"{name:<10} {most:.2f} MiB/sec ({most * DECIMAL:.2f} MB/sec)")
    return lines


def operations_of(phase: Phase) -> float:
    """Transfers over the whole time, as the summary has them."""
    return operations_per_s(phase.transfers, phase.total_s) if phase.total_s else 0.0


def _summary_line(setting: Setting, own: Sequence[Phase]) -> str:
    figures = (*column([phase.mib_per_s for phase in own]), *column([operations_of(phase) for phase in own]))
    mean_s = math.fsum(phase.total_s for phase in own) / len(own)
    shown = "".join(f"{value:10.2f} " for value in figures)
    counts = (
        f"{0:5d} {setting.tasks:6d} {setting.tasks:3d} {setting.repetitions:4d} {int(setting.own_files):3d} "
        f"{int(setting.reorder):5d} {setting.distance:8d} {int(setting.reorder_random):9d} {0:4d} "
    )
    sizes = f"{setting.segments:6d} {setting.block:8d} {setting.transfer:8d} {setting.aggregate / MIB:9.1f} "
    return (
        f"{own[0].access:<9} {shown}{mean_s:10.5f} {'NA':>10} {'NA':>13} {counts}{sizes}{'POSIX':>3} {0:6d}"
    )


def csv_text(setting: Setting, phases: Sequence[Phase]) -> str:
    """The iterations, as `-O summaryFormat=CSV` prints them."""
    lines = [
        "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"
    ]
    for phase in phases:
        figures = (
            *(phase.mib_per_s, phase.iops, phase.latency_s, setting.block / 1024, setting.transfer / 1024),
            *(phase.open_s, phase.transfer_s, phase.close_s, phase.total_s),
        )
        shown = ",".join(f"{value:.4f}" for value in figures)
        lines.append(f"{phase.access},{shown},{setting.tasks},{phase.repetition}")
    return "\n".join(lines) + "\n"


def json_text(setting: Setting, phases: Sequence[Phase], finished: str) -> str:
    """One document, as `-O summaryFormat=JSON` prints it; numbers have four digits after the point."""
    parameters = {
        "testID": 0,
        "api": "POSIX",
        "testFileName": setting.file_name,
        "tasksPerNode": setting.tasks,
        "repetitions": setting.repetitions,
        "filePerProc": int(setting.own_files),
        "reorderTasks": int(setting.reorder),
        "reorderTasksRandom": int(setting.reorder_random),
        "verbose": setting.verbose,
        "segmentCount": setting.segments,
        "transferSize": setting.transfer,
        "blockSize": setting.block,
    }
    test = {
        "TestID": 0,
        "StartTime": setting.began,
        "Path": setting.file_name,
        "Parameters": parameters,
        "Options": options_of(setting),
        "Results": [_json_phase(setting, phase) for phase in phases],
    }
    whole = {
        "Version": VERSION,
        "Began": setting.began,
        "Command line": setting.command,
        "Machine": setting.machine,
        "tests": [test],
        "summary": [_json_summary(setting, own) for own in by_access(phases)],
        "Finished": finished,
    }
    return json.dumps(whole, indent=2) + "\n"


def _json_phase(setting: Setting, phase: Phase) -> dict[str, Any]:
    figures = {
        "bwMiB": phase.mib_per_s,
        "blockKiB": setting.block / 1024,
        "xferKiB": setting.transfer / 1024,
        "iops": phase.iops,
        "latency": phase.latency_s,
        "openTime": phase.open_s,
        "wrRdTime": phase.transfer_s,
        "closeTime": phase.close_s,
        "totalTime": phase.total_s,
    }
    return {"access": phase.access, **{name: round(value, 4) for name, value in figures.items()}}


def _json_summary(setting: Setting, own: Sequence[Phase]) -> dict[str, Any]:
    rates, ops = column([phase.mib_per_s for phase in own]), column([operations_of(phase) for phase in own])
    names = ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB", "OPsMax", "OPsMin", "OPsMean", "OPsSD")
    figures = dict(zip(names, (round(value, 4) for value in (*rates, *ops)), strict=True))
    return {
        "operation": own[0].access,
        "API": "POSIX",
        "TestID": 0,
        "ReferenceNumber": 0,
        "segmentCount": setting.segments,
        "blockSize": setting.block,
        "transferSize": setting.transfer,
        "numTasks": setting.tasks,
        "tasksPerNode": setting.tasks,
        "repetitions": setting.repetitions,
        "filePerProc": int(setting.own_files),
        "reorderTasks": int(setting.reorder),
        "taskPerNodeOffset": setting.distance,
        "reorderTasksRandom": int(setting.reorder_random),
        "reorderTasksRandomSeed": 0,
        **figures,
        "MeanTime": round(math.fsum(phase.total_s for phase in own) / len(own), 4),
        "xsizeMiB": setting.aggregate / MIB,
    }
