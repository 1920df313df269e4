"""The load model: when operations start.

Scope: the `Load` of the Rust crate `mileage-workload`. The default is the closed loop: the next
operation as soon as one completes. Rates are totals over all threads.
What it refuses: what the Rust rules refuse.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.plan.rules import U64_MAX

Spacing = Literal["constant", "poisson"]


class Ramp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A linear change of the rate."""

    to_operations_per_s: int
    """At its end, 1 or more."""
    over_ns: int
    """Duration of the ramp in nanoseconds, 1 or more."""


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Open loop: operations are due by a clock, whether earlier ones have completed or not."""

    operations_per_s: int
    """1 or more."""
    spacing: Spacing = "constant"
    """Even gaps, or exponential ones (a Poisson process)."""
    ramp: Ramp | None = None


class Cap(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A limit of the closed loop's rate: exactly one of the two."""

    operations_per_s: int | None = None
    bytes_per_s: int | None = None


class Think(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pause after every N operations; with more than one, a burst with a pause."""

    pause_ns: int
    """In nanoseconds, 1 or more, from the completion of the last operation before it."""
    every_operations: int = 1
    """Operations between two pauses, 1 or more."""


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When operations start."""

    open: Open | None = None
    cap: Cap | None = None
    think: Think | None = None
    warm_up_ns: int = 0
    """Time at the start whose operations are done and not counted, in nanoseconds."""


OPERATIONS_PER_S_MAX: Final = 10**9


def read_cap(value: int | str, capacity_bytes: int) -> Cap:
    """A limit of the rate: operations per second as a whole number, bytes ("100MiB/s"), or "1 drive write/day".

    `capacity_bytes` is that of the target, of which drive writes are multiples. A rate in bytes is rounded to whole
    bytes per second, 1 or more. Raises ValueError.
    """
    from mileage.plan.write_rates import parse_write_rate

    text = str(value).strip()
    if text.isdecimal() and text.isascii() and 0 < int(text) <= U64_MAX:
        return Cap(operations_per_s=int(text))
    try:
        rate = parse_write_rate(text).of(capacity_bytes)
    except ValueError:
        wanted = (
            'expected operations per second such as 5000, or bytes per second such as "100MiB/s", above 0'
        )
        raise ValueError(
            f'{value!r} is not a rate: {wanted}, or drive writes such as "1 drive write/day"'
        ) from None
    return Cap(bytes_per_s=max(round(rate), 1))
