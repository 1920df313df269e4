"""Capacity given up against write amplification, rate and life, simulated on a virtual drive.

Scope: the host leaves a share of the capacity unused, never written, so that all of its pages are spare. For
each share a new drive is filled once in order, overwritten at random until garbage collection is steady, and measured
over one more pass of overwrites. A large drive is simulated at a part of its size, by which ratios do not change,
unless its name states a scale. Life is that of the cells: cycles x flash / write amplification, relative to nothing
given up, and in bytes where the profile states the cycles.
What it refuses: drives without flash, shares at which nothing is left, and content of another kind: what is written is
incompressible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from mileage._core import Drive, drive_figures
from mileage.endurance.conversions import bytes_of_cycles
from mileage.errors import Refused
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import SCALE
from mileage.plan.workload import Stop, Workload
from mileage.targets.profiles import load_profile

SHARES: Final = (0.0, 0.07, 0.15, 0.28)
"""Shares of the capacity that are given up by default: those by which makers sold drives of one kind of flash."""
WARM_PASSES: Final = 2.0
"""Overwrites of the used part before the measured one."""
RECORD_BYTES: Final = 4096
WHOLE_MAX_BYTES: Final = 64_000_000_000
"""Capacity up to which a drive is simulated whole; each share of it takes some ten seconds."""
_GEOMETRY: Final = (
    *("page_bytes", "pages_per_block", "blocks_per_plane", "planes_per_die", "dies_per_channel", "channels"),
)

Poll = Callable[[int, int], bool]


class Step(msgspec.Struct, frozen=True):
    """A drive of which a share is given up."""

    share: float
    """Share of the capacity that is left unused, 0 to below 1."""
    usable_bytes: int
    spare_share: float
    """Flash beyond the usable bytes, over the usable bytes."""
    write_amplification: float
    rate_bytes_per_s: float
    life: float
    """Bytes that the host can write, relative to nothing given up."""
    written_bytes: float | None
    """Bytes that the host can write in the life of the cells; None where the profile states no cycles."""


def divisor_of(name: str, capacity_bytes: float) -> int:
    """N of the scale 1/N at which a drive is simulated, a power of two; 1 where its name states a scale."""
    if f",{SCALE}=" in name:
        return 1
    return 1 << max(math.ceil(math.log2(capacity_bytes / WHOLE_MAX_BYTES)), 0)


def bytes_of(capacity_bytes: float, shares: Sequence[float]) -> int:
    """Bytes that are written to the simulated drives of a capacity, one for each share."""
    return round(sum((2 + WARM_PASSES) * capacity_bytes * (1 - share) for share in {0.0, *shares}))


def over_provisioning(
    name: str,
    shares: Sequence[float],
    *,
    depth: int,
    seed: int,
    divisor: int = 1,
    seen: Callable[[float], Poll | None] = lambda _: None,
) -> list[Step]:
    """Simulate each share on a drive of its own, of 1/`divisor` of its size.

    `seen` is called with each share before it is simulated; it returns a function for each of the three runs to call
    with the bytes and operations that are done, or None.

    Raises Refused for a drive without flash, and for shares outside 0 to below 1.
    """
    for share in shares:
        if not 0 <= share < 1:
            expected = "a share of the capacity from 0 to below 100 %"
            raise Refused("--give-up", found=f"{100 * share:g} %", expected=expected, code="out-of-range")
    profile = load_profile(name)
    simulated = profile if divisor == 1 else load_profile(f"{name},{SCALE}=1/{divisor}")
    figures = {row[0]: row[1] for row in drive_figures(profile)}
    if not set(_GEOMETRY) <= set(figures):
        raise Refused(
            name, "has no flash, whose spare could grow", expected="a flash drive", code="unsupported"
        )
    raw_bytes = 1
    for key in _GEOMETRY:
        raw_bytes *= int(figures[key].replace("_", "").replace(",", ""))
    cycles = _cycles(figures)
    # Always include a share of 0, because the lives of all other shares are relative to it.
    wanted = sorted({0.0, *shares})
    found: dict[float, tuple[int, float, float]] = {}
    for share in wanted:
        found[share] = _simulated(simulated, name, share, depth, seed, seen(share))
    reference = found[0.0][1]
    return [
        Step(
            share,
            usable * divisor,
            raw_bytes / (usable * divisor) - 1,
            amplification,
            rate,
            reference / amplification,
            None if cycles is None else bytes_of_cycles(cycles, raw_bytes, amplification),
        )
        for share, (usable, amplification, rate) in found.items()
        if share in shares
    ]


def _cycles(figures: Mapping[str, str]) -> float | None:
    text = figures.get("pe_cycles", "").replace("_", "").replace(",", "")
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def _simulated(
    profile: str, name: str, share: float, depth: int, seed: int, poll: Poll | None
) -> tuple[int, float, float]:
    """Usable bytes, write amplification and bytes per second of a drive of which a share is given up."""
    try:
        drive = Drive(profile)
        usable = int(drive.capacity_bytes * (1 - share)) >> 20 << 20
        if not usable:
            expected = "a share that leaves 1 MiB or more"
            raise Refused("--give-up", found=f"{100 * share:g} %", expected=expected, code="out-of-range")
        drive.run(_writes("sequential", 1 << 20, usable, usable, 8, seed), poll)
        warm = int(usable * WARM_PASSES) // RECORD_BYTES * RECORD_BYTES
        drive.run(_writes("random", RECORD_BYTES, usable, warm, depth, seed), poll)
        record = RunRecord.from_json(
            drive.run(_writes("random", RECORD_BYTES, usable, usable, depth, seed + 1), poll)
        )
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error
    amplification = record.write_amplification
    if amplification is None or record.error is not None:
        reason = "counts no writes of its flash" if record.error is None else record.error.message
        raise Refused(name, reason, expected="a flash drive that lasts the writes", code="unsupported")
    return usable, amplification, record.bytes_moved / record.elapsed_s


def _writes(order: str, record_bytes: int, span: int, amount: int, depth: int, seed: int) -> str:
    return Workload(
        pattern="random" if order == "random" else "sequential",
        read_percent=0,
        record_bytes=record_bytes,
        span_start_bytes=0,
        span_bytes=span,
        depth=depth,
        threads=1,
        stop=Stop(bytes=amount),
        seed=seed,
        content="incompressible",
    ).to_json()
