"""Published rates of virtual drives, simulated at their own conditions.

Scope: a new drive, written in order and overwritten at random as the rate says, idle for ten minutes before it is
read, then one workload. A rate that names a part of the size is simulated on a drive with that part of the blocks, of
the capacity and of the SLC cache; spans and what was written before are divided as well, what is moved is not.
What it refuses: profiles that no drive can have, and rates that the drive cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mileage._core import Drive, drive_rates
from mileage.errors import Refused
from mileage.execute.live_view import CountedProgress
from mileage.execute.mpi.futures import spread
from mileage.model.published_rate import PublishedRate
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import SCALE
from mileage.plan.content import ContentTable, MixedContent
from mileage.plan.workload import Stop, Workload
from mileage.targets.profiles import changed, load_profile

_FILL_BYTES: Final = 131_072
IDLE_NS: Final = 600_000_000_000
"""Idle time before a drive is read: caches of one-bit cells are empty then."""
_INCOMPRESSIBLE: Final = ContentTable(mixed=MixedContent(0, 0))


class SimulatedRate(msgspec.Struct, frozen=True):
    """A published rate of a drive, and the rate of the simulated drive."""

    drive: str
    rate: PublishedRate
    simulated: float
    """In the unit of the rate."""

    @property
    def ratio(self) -> float:
        """Simulated over published."""
        return self.rate.ratio(self.simulated)

    @property
    def is_hit(self) -> bool:
        """True when the simulated rate is within 15 % of the published one."""
        return self.rate.is_hit(self.simulated)


def published_rates(name: str, profile: str | None = None) -> list[PublishedRate]:
    """The published rates of a drive, or of the text of its profile. Raises Refused."""
    try:
        text = load_profile(name) if profile is None else profile
        return msgspec.json.decode(drive_rates(text), type=list[PublishedRate])
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error


def simulated_rates(names: Sequence[str], *, processes: int | None = None) -> list[SimulatedRate]:
    """Every published rate of these drives, simulated, in the order of names and profiles. Raises Refused."""
    tasks = [(name, at) for name in names for at in range(len(published_rates(name)))]
    if not tasks:
        return []
    with CountedProgress(f"published rates of {len(names)} drives", len(tasks), unit="rates") as progress:
        return spread(_simulated_task, tasks, processes=processes, advance=progress.advance)


def _simulated_task(task: tuple[str, int]) -> SimulatedRate:
    name, at = task
    rate = published_rates(name)[at]
    return SimulatedRate(name, rate, simulate_rate(load_profile(name), rate, name))


def simulate_rate(profile: str, rate: PublishedRate, name: str) -> float:
    """The rate of the drive of a profile's text, in the unit of `rate`. `name` is that of messages. Raises Refused."""
    part = rate.size_divided_by
    try:
        drive = Drive(profile if part == 1 else changed(profile, [f"{SCALE}=1/{part}"], f"virtual:{name}"))
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error
    before = min(rate.written_before_bytes // part, drive.capacity_bytes) // _FILL_BYTES * _FILL_BYTES
    span = min(rate.span_bytes // part, drive.capacity_bytes)
    content = ContentTable(mixed=MixedContent(rate.compressible_percent, 0))
    if before:
        run_on(drive, sequential_writes(before, depth=32, record_bytes=_FILL_BYTES, content=content), name)
    if times := rate.overwritten_before_times:
        run_on(drive, _work("random_write", 4096, 32, 0, span, times * span, content), name)
    if rate.workload.endswith("read"):
        drive.idle(IDLE_NS)  # What was written goes to where it stays.
    start = before if rate.workload == "sequential_write" else 0
    work = _work(rate.workload, rate.record_bytes, rate.depth, start, span, rate.moved_bytes, content)
    record = run_on(drive, work, name)
    if not record.elapsed_s:
        raise Refused(name, f"{rate.in_short}: took no time", code="unsupported")
    operations = record.ops_read + record.ops_written
    if rate.unit == "iops":
        return operations / record.elapsed_s
    if rate.unit == "mb_per_s":
        return record.bytes_moved / 1e6 / record.elapsed_s
    return rate.depth * record.elapsed_s * 1e6 / operations


def run_on(drive: Drive, work: Workload, name: str) -> RunRecord:
    """The record of work on a drive. Raises Refused when the drive cannot do it, or ends it early."""
    try:
        record = RunRecord.from_json(drive.run(work.to_json()))
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error
    if record.error is not None:
        raise Refused(name, f"{work.in_words}: {record.error.message}", code="unsupported")
    return record


def sequential_writes(
    span: int, *, depth: int, record_bytes: int, content: ContentTable = _INCOMPRESSIBLE
) -> Workload:
    """Writes in order over the first bytes of a drive."""
    return _work("sequential_write", record_bytes, depth, 0, span, span, content)


def _work(
    kind: str, record: int, depth: int, start: int, span: int, moved: int, content: ContentTable
) -> Workload:
    """Work of a kind over whole records of a span."""
    order, _, direction = kind.partition("_")
    return Workload(
        pattern="random" if order == "random" else "sequential",
        read_percent=100 if direction == "read" else 0,
        record_bytes=record,
        span_start_bytes=start // record * record,
        span_bytes=span // record * record,
        depth=depth,
        threads=1,
        stop=Stop(bytes=moved // record * record),
        seed=1,
        content=content,
    )
