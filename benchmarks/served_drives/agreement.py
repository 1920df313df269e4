"""A served drive and the same drive in simulated time: write amplification and rates of four workloads.

Both begin with the same state, and the same engine does the same operations: in simulated time, and through io_uring
on the served file. A rate can differ because the machine did not keep up. That is measured: the mean time that a
request was outstanding, the mean time that it was at the drive by the model, and the rate of the same path with a
drive that answers at once. Engine and server have real-time priority (SCHED_RR): a drive waits for no processor.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage import _core
from mileage.model.run_record import RunRecord
from mileage.model.write_amplification import write_amplification
from mileage.plan.pattern import PatternName
from mileage.plan.transfer_api import URING, EngineOptions
from mileage.plan.workload import Stop, Workload
from mileage.targets.profiles import load_profile
from mileage.targets.served_drive import ServedDrive

AMPLIFICATION_MOST: Final = 0.01
"""Relative difference of write amplification that is expected at most."""
RATE_MOST: Final = 0.10
"""Relative difference of rates that is expected at most where the machine keeps up."""
OUTSIDE_MOST: Final = 0.10
"""Share of the time of requests that may be spent outside of the drive where a machine keeps up."""
_SPAN_BYTES: Final = 1 << 30
_FILL_BYTES: Final = 1 << 20

Serve = Callable[..., Any]
"""Context manager that serves a drive with these options; gives the drive and its ledger."""


@dataclass(frozen=True)
class Load:
    """One workload of both drives."""

    name: str
    pattern: PatternName
    read_percent: int
    record_bytes: int
    depth: int
    operations: int

    def workload(self) -> Workload:
        """The workload on the first GiB."""
        return Workload(
            pattern=self.pattern,
            read_percent=self.read_percent,
            record_bytes=self.record_bytes,
            span_start_bytes=0,
            span_bytes=_SPAN_BYTES,
            depth=self.depth,
            threads=1,
            stop=Stop(operations=self.operations),
            seed=7,
        )


LOADS: Final = (
    Load("random writes of 4 KiB, depth 32", "random", 0, 4096, 32, 40_000),
    Load("sequential writes of 128 KiB, depth 4", "sequential", 0, 131_072, 4, 8_000),
    Load("random reads of 4 KiB, depth 32", "random", 100, 4096, 32, 100_000),
    Load("sequential reads of 128 KiB, depth 4", "sequential", 100, 131_072, 4, 8_000),
)


@dataclass(frozen=True)
class ServedRun:
    """What was found of one workload on a served drive."""

    ops_per_s: float
    amplification: float | None
    latency_ns: float
    """Mean time that a request was outstanding at the engine."""
    modelled_ns: int
    """Mean time that it was at the drive, by the model."""
    late_ns: int
    """Mean lateness of answers."""

    @property
    def outside(self) -> float:
        """Share of the time of requests outside of the drive: in the kernel, or waiting for a processor."""
        return max(0.0, 1 - self.modelled_ns / self.latency_ns)


def aged_state(profile: str) -> bytes:
    """State of a drive that was filled in order and then written over once at random."""
    drive = _core.Drive(load_profile(profile))
    records = int(drive.capacity_bytes) // _FILL_BYTES
    fill = msgspec.structs.replace(
        LOADS[1].workload(),
        record_bytes=_FILL_BYTES,
        span_bytes=records * _FILL_BYTES,
        stop=Stop(operations=records),
    )
    overwrite = msgspec.structs.replace(
        LOADS[0].workload(),
        span_bytes=records * _FILL_BYTES,
        stop=Stop(bytes=records * _FILL_BYTES),
        seed=1,
    )
    drive.run(fill.to_json())
    drive.run(overwrite.to_json())
    return bytes(drive.save())


def simulated(profile: str, state: bytes, load: Load) -> RunRecord:
    """The record of a workload in simulated time."""
    drive = _core.Drive.restore(load_profile(profile), state)
    return RunRecord.from_json(drive.run(load.workload().to_json()))


def on_served(drive: ServedDrive, load: Load) -> ServedRun:
    """A workload on a served drive."""
    options = EngineOptions(direct=True, api=URING).to_json()
    before = drive.control("stats")["counters"]
    drive.control("lateness")
    record = RunRecord.from_json(_core.run_file(str(drive.file), load.workload().to_json(), options))
    late, after = drive.control("lateness"), drive.control("stats")["counters"]
    counted = {name: after[name] - before[name] for name in after}
    return ServedRun(
        ops_per_s=record.ops_per_s,
        amplification=write_amplification(counted),
        # Closed loop: as many requests as the depth are outstanding at all times (Little's law).
        latency_ns=load.depth * 1e9 / record.ops_per_s,
        modelled_ns=late["modelled_ns_mean"] or 0,
        late_ns=late["mean_ns"] or 0,
    )


def print_agreement(
    profile: str, serve: Serve, state_file: Path, repeats: int, say: Callable[[str], None]
) -> bool:
    """Print a row for each workload; whether all that can be judged agrees."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        say("without real-time priority, which needs root")
    state = aged_state(profile)
    state_file.write_bytes(state)
    agrees = True
    for load in LOADS:
        model = simulated(profile, state, load)
        with serve(profile, state=state_file, speed="unbounded") as (drive, _):
            limit = on_served(drive, load).ops_per_s
        runs = []
        for _ in range(repeats):
            with serve(profile, state=state_file) as (drive, _):
                runs.append(on_served(drive, load))
        agrees &= print_row(load, model, runs, limit, say)
    return agrees


def print_row(
    load: Load, model: RunRecord, runs: list[ServedRun], limit: float, say: Callable[[str], None]
) -> bool:
    """Print what was found of one workload; whether all that can be judged agrees."""
    rates = [run.ops_per_s / model.ops_per_s for run in runs]
    ratio = statistics.median(rates)
    outside = statistics.median(run.outside for run in runs)
    late_us = statistics.median(run.late_ns for run in runs) / 1000
    latency_us = statistics.median(run.latency_ns for run in runs) / 1000
    keeps_up = outside <= OUTSIDE_MOST
    is_near = abs(ratio - 1) <= RATE_MOST
    verdict = "agrees" if is_near else "DIFFERS" if keeps_up else "slower than the drive"
    say(f"{load.name}:")
    say(
        f"  rate {model.ops_per_s:,.0f}/s simulated, {ratio:.3f} of it served"
        f" ({min(rates):.3f} to {max(rates):.3f} in {len(runs)}): {verdict}"
    )
    say(
        f"  the machine {'kept up' if keeps_up else 'did NOT keep up'}: {outside:.1%} of a request's"
        f" {latency_us:,.0f} us were outside of the drive, {late_us:,.0f} us of lateness among them;"
        f" {limit / model.ops_per_s:.1f} times the rate without imposed time"
    )
    same = True
    if (stated := model.write_amplification) is not None:
        found = [run.amplification or 0.0 for run in runs]
        worst = max(abs(one / stated - 1) for one in found)
        same = worst <= AMPLIFICATION_MOST
        say(
            f"  write amplification {stated:.4f} simulated, {statistics.median(found):.4f} served,"
            f" {worst:.2%} apart at most: {'agrees' if same else 'DIFFERS'}"
        )
    return same and (is_near or not keeps_up)
