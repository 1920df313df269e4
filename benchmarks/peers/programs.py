"""The programs that take turns: where they are, how they are called, what is read from what they print."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmarks.peers.table import ProgramRun

#: Environment variable, and names in PATH, of every program that may take part.
OTHERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fio": ("FIO", ("fio",)),
    "fio-new": ("FIO_NEW", ()),
    "t/io_uring": ("T_IO_URING", ("t_io_uring", "fio-t-io_uring")),
    "elbencho": ("ELBENCHO", ("elbencho",)),
    "ior": ("IOR", ("ior",)),
    "mdtest": ("MDTEST", ("mdtest",)),
    "iozone": ("IOZONE", ("iozone",)),
}

RECORD = 4096
"""Bytes of a record of `t/io_uring`."""


class Unusable(Exception):
    """A program that did not do what it was asked to; the text says why."""


@dataclass(frozen=True)
class Programs:
    """What is there."""

    one_run: Path
    one_job: Path
    bare_loop: Path
    others: Mapping[str, str]

    @classmethod
    def find(cls, folder: Path) -> Programs:
        """The engine's examples in `folder`, the others by environment variable or in PATH."""
        one_run, one_job, bare_loop = (folder / name for name in ("one_run", "one_job", "bare_loop"))
        for program in (one_run, one_job, bare_loop):
            if not program.exists():
                raise Unusable(f"{program} is missing: cargo build --release -p mileage-engine --examples")
        found = {}
        for name, (variable, names) in OTHERS.items():
            given = os.environ.get(variable)
            if given and not os.access(given, os.X_OK):
                raise Unusable(f"{variable}={given} is not a program")
            path = given or next(filter(None, map(shutil.which, names)), None)
            if path:
                found[name] = path
        return cls(one_run, one_job, bare_loop, found)

    def missing(self) -> list[str]:
        return [f"{name} ({OTHERS[name][0]})" for name in OTHERS if name not in self.others]


@dataclass(frozen=True)
class ProgramOutput:
    """A program that ended well: what it printed, and what the kernel counted of it, start-up included."""

    printed: str
    processor_ns: float
    read_bytes: int
    """Bytes that it had read from devices, at its own calls or through a ring."""


def ended(command: Sequence[str], cwd: Path | None = None) -> ProgramOutput:
    """Run a program to its end. Raises Unusable when it fails."""
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        # Without a terminal: fio changes the settings of one that it finds, and is stopped for it in the background.
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=cwd,
            start_new_session=True,
        )
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text, error = output.read(), errors.read()
    if child.returncode != 0:
        said = (error.strip() or text.strip() or "nothing").splitlines()[-1]
        raise Unusable(f"{Path(command[0]).name} ended with status {child.returncode}: {said}")
    return ProgramOutput(text, (used.ru_utime + used.ru_stime) * 1e9, used.ru_inblock * 512)


def called(command: Sequence[str], cwd: Path | None = None) -> tuple[str, float]:
    """What a program prints, and the processor time in nanoseconds that it took."""
    done = ended(command, cwd)
    return done.printed, done.processor_ns


def _ours(record: Mapping[str, Any], operations: int) -> ProgramRun:
    """The engine's own account of its workers' processor time, kernel threads that worked for them included."""
    if record["error"]:
        raise Unusable(f"mileage: {record['error']['message']}")
    usage = record["usage"]
    used_ns = usage["user_ns"] + usage["system_ns"] + usage["kernel_workers_ns"]
    return ProgramRun(operations / record["elapsed_ns"] * 1e9, used_ns / operations)


def engine(
    programs: Programs, path: Path, workload: Mapping[str, Any], options: Mapping[str, Any]
) -> ProgramRun:
    """One run of the engine."""
    output, _ = called([str(programs.one_run), str(path), json.dumps(workload), json.dumps(options)])
    record = json.loads(output)["record"]
    return _ours(record, record["ops_read"] + record["ops_written"])


def metadata(programs: Programs, folder: Path, files: int, operation: str) -> ProgramRun:
    """One operation by the engine, on the files that its `create` left in the folder."""
    job = {
        "operation": operation,
        "files": files,
        "place": "given",
        "set_up": "owner" if operation == "create" else "existing",
        "keep": operation != "unlink",
        "names": {"item": "f{item}"},
    }
    output, _ = called([str(programs.one_job), "metadata", str(folder), json.dumps(job)])
    record = json.loads(output)
    return _ours(record, record["ops_metadata"])


def bare(programs: Programs, words: Sequence[str]) -> ProgramRun:
    """What a bare loop says of itself."""
    output, _ = called([str(programs.bare_loop), *words])
    said = json.loads(output)
    operations = said["operations"]
    return ProgramRun(operations / said["elapsed_ns"] * 1e9, said["processor_ns"] / operations)


def fio(program: str, options: Sequence[str]) -> ProgramRun:
    """One job of fio; its own account of processor time."""
    output, _ = called([program, "--name=peer", "--output-format=json", *options])
    job = json.loads(output[output.index("{") :])["jobs"][0]
    if job["error"]:
        raise Unusable(f"fio: error {job['error']}")
    sides = [job["read"], job["write"]]
    operations, ran_ms = sum(side["total_ios"] for side in sides), max(side["runtime"] for side in sides)
    if not operations or not ran_ms:
        raise Unusable("fio did nothing")
    used_ns = (job["usr_cpu"] + job["sys_cpu"]) / 100 * ran_ms * 1e6
    return ProgramRun(operations / ran_ms * 1e3, used_ns / operations)


def t_io_uring(program: str, path: Path, seconds: float, direct: bool) -> ProgramRun:
    """`t/io_uring` at depth 32 with registered file and buffers.

    Of its processor time it prints nothing and of operations only rounded ones of whole seconds, the last one cut off.
    With O_DIRECT its total is what the kernel counted as read from the device; from the page cache, its mean second
    times the seconds.
    """
    whole = max(2, round(seconds))
    flags = ["-d32", "-s32", "-c32", f"-b{RECORD}", "-p0", "-B1", "-F1", "-n1", "-R1"]
    done = ended([program, *flags, f"-O{int(direct)}", f"-r{whole}", str(path)])
    scale = {"K": 1e3, "M": 1e6}
    rates = [
        float(number) * scale.get(unit, 1.0)
        for number, unit in re.findall(r"^IOPS=([0-9.]+)([KM]?)", done.printed, re.MULTILINE)
    ]
    if not rates:
        raise Unusable("t/io_uring printed no rate")
    rate = sum(rates[1:] or rates) / len(rates[1:] or rates)
    total = done.read_bytes / RECORD if direct else rate * whole
    if not total:
        raise Unusable("t/io_uring read nothing from the device")
    return ProgramRun(total / whole if direct else rate, done.processor_ns / total)


def elbencho(program: str, phase: str, options: Sequence[str], path: Path, scratch: Path) -> ProgramRun:
    """One phase of elbencho; processor time of the whole program."""
    table = scratch / "elbencho.csv"
    table.unlink(missing_ok=True)
    _, used_ns = called([program, "--nolive", "--csvfile", str(table), *options, str(path)])
    for row in csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))):
        if row["operation"] == phase:
            rate = float(row["IOPS [last]"] or row["entries/s [last]"])
            return ProgramRun(rate, used_ns / max(rate * float(row["time ms [last]"]) / 1e3, 1.0))
    raise Unusable(f"elbencho printed no phase {phase}")


def iozone(program: str, size_mib: int, folder: Path) -> ProgramRun:
    """IOzone's random read in operations per second; it prints no processor time."""
    work = folder / "iozone.tmp"
    common = ["-s", f"{size_mib}m", "-r", "4k", "-+n", "-w", "-f", str(work)]
    if not work.exists():
        called([program, *common, "-i", "0"], cwd=folder)
    output, _ = called([program, "-O", *common, "-i", "2"], cwd=folder)
    row = re.search(r"^ +\d+ +\d+ +(\d+)", output, re.MULTILINE)
    if row is None:
        raise Unusable("iozone printed no table")
    return ProgramRun(float(row[1]))


def ior(program: str, path: Path, size_mib: int) -> ProgramRun:
    """IOR's random read in operations per second; it prints no processor time."""
    words = [
        "-a",
        "POSIX",
        "-O",
        "summaryFormat=CSV",
        "-r",
        "-E",
        "-k",
        "-z",
        "-t",
        "4k",
        "-b",
        f"{size_mib}m",
    ]
    output, _ = called([program, *words, "-o", str(path)])
    rows = [line.split(",") for line in output.splitlines() if line.startswith("read,")]
    if not rows:
        raise Unusable("ior printed no read")
    return ProgramRun(float(rows[-1][2]))


def mdtest(program: str, folder: Path, files: int) -> dict[str, ProgramRun]:
    """Rates of creation, stat and removal by mdtest with one rank."""
    output, _ = called([program, "-F", "-u", "-n", str(files), "-d", str(folder / "mdtest")])
    words = {"creation": "create", "stat": "stat", "removal": "unlink"}
    rows = re.findall(r"^ *File (creation|stat|removal) +:? *([0-9.]+)", output, re.MULTILINE)
    return {words[word]: ProgramRun(float(rate)) for word, rate in rows}
