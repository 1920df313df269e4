"""Write amplification: bytes that a drive programs into its medium, over bytes that the host wrote.

Scope: the one definition for every place that prints it, from the counters of a record or of its series.
Below 1 only where a drive stores less than it is given (compression, duplicates, rewrites in its buffer).
A target that does not count both has no write amplification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

HOST: Final = "host_bytes_written"
FLASH: Final = "flash_bytes_programmed"
MEDIA: Final = (FLASH, "media_bytes_written")
"""Names of the counter of bytes written to the medium, of flash and of disks; a drive has one of them."""


def write_amplification(counters: Mapping[str, int]) -> float | None:
    """Bytes programmed over bytes written; None where one is not counted, or the host wrote nothing."""
    host, medium = counters.get(HOST, 0), _medium(counters)
    return counters[medium] / host if host and medium is not None else None


def write_amplifications(counters: Mapping[str, Sequence[int]]) -> list[float | None] | None:
    """Write amplification in each interval of a series of cumulative totals; None for one without host writes.

    Returns None if the series lacks the bytes of the host or those of the medium.
    """
    medium = _medium(counters)
    if HOST not in counters or medium is None:
        return None
    totals = [
        {HOST: host, medium: moved} for host, moved in zip(counters[HOST], counters[medium], strict=True)
    ]
    steps = pairwise([{HOST: 0, medium: 0}, *totals])
    return [
        write_amplification({name: after[name] - before[name] for name in after}) for before, after in steps
    ]


def _medium(counters: Mapping[str, object]) -> str | None:
    """The counter of bytes that reached the medium; None where there is none."""
    return next((name for name in MEDIA if name in counters), None)
