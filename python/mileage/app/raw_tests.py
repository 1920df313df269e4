"""Raw tests of eight drives by hdparm and dd, as a talk printed them, next to what the simulated drives do.

Scope: `hdparm --direct` reads 2 MiB at a time past the page cache: the same 2 MiB again and again (-T), or on and on
(-t); the kernel cuts each into four requests of 512 KiB, and hdparm waits for all of them. `dd` writes 10.7 GB through
the page cache, which the kernel writes out in requests of 512 KiB with a full queue; the drive is new. Reads through
the page cache (-T, -t, `dd`) are of a file on the modelled host of the talk, of twice its memory: `dd` reads it ten
minutes after it was written, hdparm after the drive had four hours to tidy up. The talk does not
state these times; they are assumptions.
What it refuses: drives that were not tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from mileage._core import Drive, Host
from mileage.app.published_rates import IDLE_NS, run_on, sequential_writes
from mileage.errors import Refused
from mileage.execute.live_view import CountedProgress
from mileage.execute.mpi.futures import spread
from mileage.model.raw_tests import RawTables, SimulatedTest
from mileage.model.run_record import RunRecord
from mileage.plan.workload import Stop, Workload
from mileage.targets.host_profiles import load_hosted
from mileage.targets.profiles import load_profile

_MIB: Final = 1 << 20
_DD_BYTES: Final = 10_240 * _MIB
_READ_BYTES: Final = 1024 * _MIB
"""Bytes that hdparm reads here; of a real device it reads for some seconds."""
_HDPARM_BYTES: Final = 2 * _MIB
_REQUEST_BYTES: Final = _MIB // 2
"""The largest request that the kernel of the tests sends."""
_DEPTH: Final = 32
_TIDY_NS: Final = 4 * 3600 * 10**9
"""Idle time in which a shingled drive brings its persistent cache into the bands."""
HOST: Final = "hpe-dl60-2gib"
"""The modelled server of the talk."""
_ON_HOST: Final = ("cached", "buffered", "dd_read")
SIMULATED: Final = ("cached", "buffered", "cached_direct", "buffered_direct", "dd_read", "dd_write")
"""The tests."""


@cache
def raw_tables() -> RawTables:
    """The tables of the talk."""
    text = resources.files("mileage.app").joinpath("raw_tests.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=RawTables)


def raw_test_mb_per_s(name: str, test: str) -> float:
    """The rate of the virtual drive of a name in a test, in MB/s. Raises Refused."""
    if test in _ON_HOST:
        return _host_mb_per_s(name, test)
    span = _DD_BYTES if test == "dd_write" else _READ_BYTES
    filling = sequential_writes(span, depth=_DEPTH, record_bytes=_REQUEST_BYTES)
    drive = Drive(load_profile(name))
    record = run_on(drive, filling, name)
    if test == "dd_write":
        return record.bytes_written / record.elapsed_s / 1e6
    drive.idle(IDLE_NS)
    began_ns = drive.now_ns
    for read in range(_READ_BYTES // _HDPARM_BYTES):
        start = 0 if test == "cached_direct" else read * _HDPARM_BYTES
        pieces = range(start, start + _HDPARM_BYTES, _REQUEST_BYTES)
        ends_ns = drive.submit("read", list(pieces), _REQUEST_BYTES)
        drive.idle(int(max(ends_ns)) - drive.now_ns)
    return _READ_BYTES / ((drive.now_ns - began_ns) / 1e9) / 1e6


def _host_mb_per_s(name: str, test: str) -> float:
    """The same through the page cache of the host."""
    drive, profile = load_hosted(f"{name}@{HOST}")
    host = Host(profile, drive)
    host.make_work_file(2 * host.memory_bytes)
    host.idle(IDLE_NS if test == "dd_read" else _TIDY_NS)
    host.empty_caches()
    span, record = (2 * host.memory_bytes, _MIB) if test == "dd_read" else (_READ_BYTES, _HDPARM_BYTES)
    reading = Workload(
        pattern="fixed" if test == "cached" else "sequential",
        read_percent=100,
        record_bytes=record,
        span_start_bytes=0,
        span_bytes=record if test == "cached" else span,
        depth=1,
        threads=1,
        stop=Stop(bytes=span),
        seed=1,
    )
    if test == "cached":
        host.run(reading.to_json())
    record_read = RunRecord.from_json(host.run(reading.to_json()))
    return record_read.bytes_read / record_read.elapsed_s / 1e6


def simulated_tests(drives: Sequence[str] = (), *, processes: int | None = None) -> list[SimulatedTest]:
    """The tests of all drives of the talk or of some. Raises Refused for drives that it lacks."""
    known = {one.drive: one for one in raw_tables().test}
    if unknown := [name for name in drives if name not in known]:
        raise Refused(
            unknown[0],
            "is no drive of the raw tests",
            expected=f"one of {', '.join(known)}",
            code="unknown-name",
        )
    tasks = [
        (name, test, _first(getattr(known[name], test))) for name in drives or known for test in SIMULATED
    ]
    with CountedProgress("raw tests", len(tasks), unit="tests") as progress:
        return spread(_simulated, tasks, processes=processes, advance=progress.advance)


def _first(published: float | tuple[float, ...]) -> float:
    """The first of several reads: the others find the drive tidier."""
    return published[0] if isinstance(published, tuple) else published


def _simulated(task: tuple[str, str, float]) -> SimulatedTest:
    name, test, published = task
    return SimulatedTest(name, test, published, raw_test_mb_per_s(name, test))
