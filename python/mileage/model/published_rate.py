"""A published rate of a drive that a profile quotes, with the workload and the state that it is meant for.

Scope: the `PublishedRate` of the Rust crate `mileage-drive`, field for field, and its words. A rate is fitted
(a figure of the profile was chosen so that the simulated drive reaches it), held out (set aside before anything was
fitted, so that it tests the model), or neither.
What it refuses: nothing; the crate checks what a profile says.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mileage.model.data_sheet import RateUnit, RateWorkload

REASON_ABOVE: Final = 0.1
"""A simulated rate that is further off than this share has its reason in the profile."""
HIT_WITHIN: Final = 0.15
"""A simulated rate that is this close to the published one counts as predicted."""
UNITS: Final[dict[RateUnit, str]] = {"iops": "IOPS", "mb_per_s": "MB/s", "mean_us": "us"}


class PublishedRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rate that somebody published of a drive."""

    workload: RateWorkload
    record_bytes: int
    depth: int
    span_bytes: int
    """Part of the drive that is visited."""
    moved_bytes: int
    """Bytes that are read or written there."""
    written_before_bytes: int
    """Bytes written in order before, to a new drive."""
    overwritten_before_times: int
    """Times that the span was overwritten at random before, 4 KiB at a time."""
    compressible_percent: int
    value: float
    """The published figure, above 0."""
    unit: RateUnit
    source: str
    confidence: str
    simulated: float | None
    """Rate of the simulated drive, in the same unit; None where nobody has simulated it yet."""
    why_off: str | None
    fits: str | None
    """The figure that is fitted to this rate."""
    held_out: bool
    size_divided_by: int
    """Simulated on a drive of this part of the size."""

    @property
    def role(self) -> str:
        """Use of the rate: "fits FIGURE", "held out", or "" for a rate that is only compared."""
        return f"fits {self.fits}" if self.fits else "held out" if self.held_out else ""

    @property
    def quoted(self) -> str:
        """The published rate as text with its unit, such as "3,300 IOPS"."""
        return rate_text(self.value, self.unit)

    @property
    def in_short(self) -> str:
        """The operations: "4 KiB random reads, depth 32"."""
        order, _, direction = self.workload.partition("_")
        size, unit = (
            (self.record_bytes >> 20, "MiB")
            if self.record_bytes % (1 << 20) == 0
            else (self.record_bytes // 1024, "KiB")
        )
        return f"{size} {unit} {order} {direction}s, depth {self.depth}"

    @property
    def state(self) -> str:
        """State of the drive from which the rate was measured, and how far the data can be compressed, for people.

        Empty for reads of incompressible data, whose rate depends on neither.
        """
        parts = []
        if self.overwritten_before_times:
            parts.append(f"overwritten {self.overwritten_before_times} times")
        elif self.workload.endswith("write"):
            before = self.written_before_bytes
            parts.append(f"after {before / 1e9:g} GB" if before else "new")
        if self.compressible_percent:
            parts.append(f"{self.compressible_percent} % compressible")
        return ", ".join(parts)

    def ratio(self, simulated: float) -> float:
        """Simulated over published."""
        return simulated / self.value

    def is_hit(self, simulated: float) -> bool:
        """True when the simulated rate is within 15 % of the published one."""
        return abs(self.ratio(simulated) - 1) <= HIT_WITHIN


def rate_text(value: float, unit: RateUnit) -> str:
    """A rate with its unit."""
    return f"{value:,.4g} {UNITS[unit]}" if abs(value) < 1000 else f"{value:,.0f} {UNITS[unit]}"
