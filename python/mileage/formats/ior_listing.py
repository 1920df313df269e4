"""What IOR prints while it works: its listing line by line, its CSV, and its JSON.

Scope: the layout of IOR 4.0 for every verbose level up to 3; figures and columns stand below. From the
second level on also what only IOR 2 and 3 print: the kind of timer, the skew of the tasks' start, their hosts, and the
file that rank 0 has opened to read.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from mileage.judge.tasks import DECIMAL, MIB, bandwidth_mib_s, column, operations_per_s
from mileage.model.ior_phase import IorPhase, StartedTasks
from mileage.plan.ior_options import PACKETS, IorOptions


class IorReport:
    """Printer of one command; of several tests in order."""

    def __init__(
        self,
        out: IO[str],
        log: IO[str],
        words: Sequence[str],
        options: IorOptions,
        *,
        clock: Callable[[], str] = time.ctime,
        machine: str = "",
    ) -> None:
        """`out`: for results; `log`: for messages; `words`: the command line.

        `clock`: the time in words, and `machine`: where the tasks ran, for results that are printed later or elsewhere.
        """
        self._clock = clock
        self._host = machine
        self._out, self._log = out, log
        self._words = words
        self._form = options.summaryformat
        self._verbose = options.verbose
        self._began = clock()
        self._tests: list[dict[str, Any]] = []
        self._done: list[tuple[int, IorOptions, list[IorPhase]]] = []
        self._phases: list[IorPhase] = []

    def say(self, level: int, text: str) -> None:
        """Print a line of the log from a verbose level on."""
        if self._verbose >= level:
            print(text, file=self._log, flush=True)

    def head(self) -> None:
        """What precedes all tests."""
        if self._form == "default":
            self._out.write(f"IOR-{VERSION}: MPI Coordinated Test of Parallel I/O\n")
            self._line("Began", self._began)
            self._line("Command line", " ".join(self._words))
            self._line("Machine", self._machine())
        if self._verbose >= 3:
            environment = [f"{name}={value}" for name, value in os.environ.items()]
            self.say(3, "\n".join(["STARTING ENVIRON LOOP", *environment, "ENDING ENVIRON LOOP"]))
        if self._form == "CSV":
            self._out.write(
                "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n"
            )

    def _machine(self) -> str:
        if self._host:
            return self._host
        found = os.uname()
        more = f" {found.release} {found.version} {found.machine}" if self._verbose >= 2 else ""
        return f"{found.sysname} {found.nodename}{more}"

    def _line(self, name: str, value: object) -> None:
        self._out.write(f"{name:<20}: {value}\n")

    def test(
        self,
        number: int,
        options: IorOptions,
        path: str,
        system: dict[str, str],
        tasks: StartedTasks | None = None,
    ) -> None:
        """What precedes one test."""
        self._phases = []
        self._done.append((number, options, self._phases))
        parameters, shown = parameters_of(number, options), options_of(options)
        started = self._clock()
        self._tests.append(
            {
                "TestID": number,
                "StartTime": started,
                "Path": path,
                **system,
                "Parameters": parameters,
                "Options": shown,
                "Results": [],
            }
        )
        if self._form != "default":
            return
        self._line("TestID", number)
        self._line("StartTime", started)
        if tasks is not None:
            # All tasks read the clock of one machine; IOR's other words are of the timer of MPI.
            self._out.write("Using synchronized POSIX timer\n")
            self._out.write(f"Start time skew across all tasks: {tasks.skew_s:.2f} sec\n")
        self._line("Path", path)
        if system:
            used, inodes = system["Used Capacity"], system["Used Inodes"]
            self._line(
                "FS",
                f"{system['Capacity']}   Used FS: {used}   Inodes: {system['Inodes']}   Used Inodes: {inodes}",
            )
        if self._verbose >= 3:
            self._out.write("\nParameters: \n")
            for name, value in parameters.items():
                self._line(name, value)
        if self._verbose >= 1:
            self._line("Participating tasks", options.numtasks)
        if tasks is not None:
            self._out.writelines(f"task {rank} on {host}\n" for rank, host in enumerate(tasks.hosts))
        self._out.write("\nOptions: \n")
        for name, value in shown.items():
            self._line(name, value)
        self._out.write("\nResults: \n")
        self._out.flush()

    def repetition(self, number: int, signature: int) -> None:
        """What precedes a repetition."""
        self.say(2, f"Using Time Stamp {signature} (0x{signature:x}) for Data Signature")
        if number == 0 and self._form == "default":
            self._out.write("\n" + table_head())
            self._out.flush()

    def result(self, options: IorOptions, phase: IorPhase) -> None:
        """One phase."""
        if options.writefile if phase.access == "write" else options.readfile:
            # A read that only compares (-R without -r) has no row in the summary.
            self._phases.append(phase)
        figures = (
            *(
                mib_per_s(phase),
                iops_of(phase),
                phase.latency_s,
                options.blocksize / 1024,
                options.transfersize / 1024,
            ),
            *(phase.open_s, phase.transfer_s, phase.close_s, phase.total_s),
        )
        if self._form == "default":
            self._out.write(figure_columns(phase.access, figures, phase.repetition))
        elif self._form == "CSV":
            shown = ",".join(f"{value:.4f}" for value in figures)
            self._out.write(f"{phase.access},{shown},{options.numtasks},{phase.repetition}\n")
        else:
            names = (
                *("bwMiB", "iops", "latency", "blockKiB", "xferKiB", "openTime", "wrRdTime", "closeTime"),
                "totalTime",
            )
            found = dict(zip(names, (round(value, 4) for value in figures), strict=True))
            order = ("bwMiB", "blockKiB", "xferKiB", "iops", "latency", *names[5:])
            self._tests[-1]["Results"].append(
                {"access": phase.access, **{name: found[name] for name in order}}
            )
        self._out.flush()

    def removed(self, seconds: float, repetition: int) -> None:
        """The removal of the files."""
        if self._verbose < 1:
            return
        if self._form == "default":
            self._out.write(figure_columns("remove", (*[None] * 8, seconds), repetition))
            self._out.flush()
        elif self._form == "JSON":
            self._tests[-1]["Results"].append({"access": "remove", "totalTime": round(seconds, 4)})

    def end(self) -> None:
        """The summary of all tests."""
        if self._form == "CSV":
            self._out.flush()
            return
        if self._form == "JSON":
            self._json()
            return
        for _, options, phases in self._done:
            self._most(options, phases)
        lines = ["", "Summary of all tests:", summary_head()]
        for number, options, phases in self._done:
            lines += [summary_line(number, options, own) for own in by_access(phases)]
        self._out.write("\n".join(lines) + "\n")
        self._line("Finished", self._clock())
        self._out.flush()

    def _most(self, options: IorOptions, phases: list[IorPhase]) -> None:
        if options.verbose < 1:
            return
        for own in by_access(phases):
            most = max(mib_per_s(phase) for phase in own)
            name = f"Max {own[0].access.capitalize()}:"
            self._out.write(f"{name:<10} {most:.2f} MiB/sec ({most * DECIMAL:.2f} MB/sec)\n")

    def _json(self) -> None:
        for test, (_, options, phases) in zip(self._tests, self._done, strict=True):
            if options.verbose:
                most = {own[0].access: max(mib_per_s(phase) for phase in own) for own in by_access(phases)}
                test["max"] = {
                    f"{access}{unit}": round(rate * factor, 4)
                    for access, rate in most.items()
                    for unit, factor in (("MiB", 1.0), ("MB", DECIMAL))
                }
        whole = {
            "Version": VERSION,
            "Began": self._began,
            "Command line": " ".join(self._words),
            "Machine": self._machine(),
            "tests": self._tests,
            "summary": [
                _json_summary(number, options, own)
                for number, options, phases in self._done
                for own in by_access(phases)
            ],
            "Finished": self._clock(),
        }
        self._out.write(json.dumps(whole, indent=2) + "\n")
        self._out.flush()


def options_of(options: IorOptions) -> dict[str, Any]:
    """The block of options, in order."""
    order: dict[str, Any] = {"ordering inter file": "no tasks offsets"}
    if options.reordertasks:
        order = {"ordering inter file": "constant task offset", "task offset": options.taskpernodeoffset}
    elif options.reordertasksrandom == 1:
        order = {
            "ordering inter file": "random task offset",
            "task offset": options.taskpernodeoffset,
            "reorder random seed": options.reordertasksrandomseed,
        }
    elif options.reordertasksrandom:
        order = {}
    stonewall = options.deadlineforstonewalling
    memory = {
        name: human(value)
        for name, value in (
            ("memoryPerTask", options.memorypertask),
            ("memoryPerNode", options.memorypernode),
        )
        if value
    }
    return {
        "api": "DUMMY" if options.dummy else "POSIX",
        "apiVersion": "",
        "test filename": options.testfile,
        "access": "file-per-process" if options.fileperproc else "single-shared-file",
        "type": "independent",
        "segments": options.segmentcount,
        "ordering in a file": "random" if options.randomoffset else "sequential",
        **order,
        "nodes": 1,
        "tasks": options.numtasks,
        "clients per node": options.numtasks,
        **memory,
        "repetitions": options.repetitions,
        "xfersize": human(options.transfersize),
        "blocksize": human(options.blocksize),
        "aggregate filesize": human(options.aggregate),
        **({"dryRun": 1} if options.dryrun else {}),
        **({"verbose": options.verbose} if options.verbose else {}),
        **(
            {"stonewallingTime": stonewall, "stoneWallingWearOut": options.stonewallingwearout}
            if stonewall
            else {}
        ),
    }


def parameters_of(number: int, options: IorOptions) -> dict[str, Any]:
    """The block of parameters, in order."""
    host = os.uname()
    return {
        "testID": number,
        "refnum": options.refnum,
        "api": "DUMMY" if options.dummy else "POSIX",
        "platform": f"{host.nodename}({host.sysname})",
        "testFileName": options.testfile,
        "deadlineForStonewall": options.deadlineforstonewalling,
        "stoneWallingWearOut": options.stonewallingwearout,
        "maxTimeDuration": options.maxtimeduration,
        "outlierThreshold": options.outlierthreshold,
        "options": "(null)",
        "dryRun": options.dryrun,
        "nodes": 1,
        "memoryPerTask": options.memorypertask,
        "memoryPerNode": options.memorypernode,
        "tasksPerNode": options.numtasks,
        "repetitions": options.repetitions,
        "multiFile": options.multifile,
        "interTestDelay": options.intertestdelay,
        "fsync": options.fsync,
        "fsyncperwrite": options.fsyncperwrite,
        "useExistingTestFile": options.useexistingtestfile,
        "uniqueDir": options.uniquedir,
        "singleXferAttempt": options.singlexferattempt,
        "readFile": options.readfile,
        "writeFile": options.writefile,
        "filePerProc": options.fileperproc,
        "reorderTasks": options.reordertasks,
        "reorderTasksRandom": options.reordertasksrandom,
        "reorderTasksRandomSeed": options.reordertasksrandomseed,
        "randomOffset": options.randomoffset,
        "checkWrite": options.checkwrite,
        "checkRead": options.checkread,
        "dataPacketType": PACKETS.index(options.datapackettype),
        "keepFile": options.keepfile,
        "keepFileWithError": options.keepfilewitherror,
        "warningAsErrors": options.warningaserrors,
        "verbose": options.verbose,
        "data packet type": "gtoi"[PACKETS.index(options.datapackettype)],
        "setTimeStampSignature/incompressibleSeed": options.settimestampsignature,
        "collective": 0,
        "segmentCount": options.segmentcount,
        "transferSize": options.transfersize,
        "blockSize": options.blocksize,
    }


def summary_line(number: int, options: IorOptions, own: Sequence[IorPhase]) -> str:
    """One line of the summary."""
    figures = (*column([mib_per_s(phase) for phase in own]), *column([operations_of(phase) for phase in own]))
    mean_s = math.fsum(phase.total_s for phase in own) / len(own)
    stonewall = f"{'NA':>10} {'NA':>13}"
    wall_s = math.fsum(phase.stonewall_s for phase in own)
    if options.stonewallingwearout and wall_s:
        rate = sum(phase.stonewall_bytes for phase in own) / wall_s / MIB
        stonewall = f"{wall_s / len(own):10.2f} {rate:13.2f}"
    counts = (
        f"{number:5d} {options.numtasks:6d} {options.numtasks:3d} {options.repetitions:4d} "
        f"{options.fileperproc:3d} {options.reordertasks:5d} {options.taskpernodeoffset:8d} "
        f"{options.reordertasksrandom:9d} {options.reordertasksrandomseed:4d} "
    )
    sizes = f"{options.segmentcount:6d} {options.blocksize:8d} {options.transfersize:8d} "
    moved = f"{own[0].moved_bytes / MIB:9.1f} "
    shown = "".join(f"{value:10.2f} " for value in figures)
    api = "DUMMY" if options.dummy else "POSIX"
    head = f"{own[0].access:<9} {shown}{mean_s:10.5f} {stonewall} "
    return f"{head}{counts}{sizes}{moved}{api} {options.refnum:6d}"


def _json_summary(number: int, options: IorOptions, own: Sequence[IorPhase]) -> dict[str, Any]:
    rates, ops = column([mib_per_s(phase) for phase in own]), column([operations_of(phase) for phase in own])
    names = ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB", "OPsMax", "OPsMin", "OPsMean", "OPsSD")
    wall_s = math.fsum(phase.stonewall_s for phase in own)
    stonewall: dict[str, float] = {}
    if options.stonewallingwearout and wall_s:
        stonewall = {
            "StoneWallTime": round(wall_s / len(own), 4),
            "StoneWallbwMeanMIB": round(sum(phase.stonewall_bytes for phase in own) / wall_s / MIB, 4),
        }
    return {
        "operation": own[0].access,
        "API": "POSIX",
        "TestID": number,
        "ReferenceNumber": options.refnum,
        "segmentCount": options.segmentcount,
        "blockSize": options.blocksize,
        "transferSize": options.transfersize,
        "numTasks": options.numtasks,
        "tasksPerNode": options.numtasks,
        "repetitions": options.repetitions,
        "filePerProc": options.fileperproc,
        "reorderTasks": options.reordertasks,
        "taskPerNodeOffset": options.taskpernodeoffset,
        "reorderTasksRandom": options.reordertasksrandom,
        "reorderTasksRandomSeed": options.reordertasksrandomseed,
        **dict(zip(names, (round(value, 4) for value in (*rates, *ops)), strict=True)),
        "MeanTime": round(math.fsum(phase.total_s for phase in own) / len(own), 4),
        **stonewall,
        "xsizeMiB": round(own[0].moved_bytes / MIB, 4),
    }


# Columns and figures of IOR's listing, as version 4 lays them out; its formulas are in `judge.tasks`.
# Scope: a repetition's phases with their times, sizes and file systems in words. A MiB is 2^20 bytes.
# `formats.ior_listing` makes the listing of them.

VERSION: Final = "4.0.0"


def mib_per_s(phase: IorPhase) -> float:
    """MiB/s of a phase over its whole time."""
    return bandwidth_mib_s(phase.moved_bytes, phase.total_s) if phase.total_s else 0.0


def iops_of(phase: IorPhase) -> float:
    """Transfers a second while they were made."""
    return operations_per_s(phase.transfers, phase.transfer_s) if phase.transfer_s else 0.0


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


def by_access(phases: Sequence[IorPhase]) -> list[list[IorPhase]]:
    """The phases of writing, then those of reading."""
    found = [[phase for phase in phases if phase.access == access] for access in ("write", "read")]
    return [own for own in found if own]


def operations_of(phase: IorPhase) -> float:
    """Transfers over the whole time, as the summary has them."""
    return operations_per_s(phase.transfers, phase.total_s) if phase.total_s else 0.0
