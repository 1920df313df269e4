"""Write amplification: bytes that a drive programs into its medium, over bytes that the host wrote.

What it models: the one definition for every place that prints it, from the counters of a record or of its series.
Below 1 only where a drive stores less than it is given (compression, duplicates, rewrites in its buffer).
What it refuses: nothing; a target that does not count both has no write amplification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

HOST: Final = "host_bytes_written"
MEDIUM: Final = "flash_bytes_programmed"


def write_amplification(counters: Mapping[str, int]) -> float | None:
    """Bytes programmed over bytes written; None where one is not counted, or the host wrote nothing."""
    host = counters.get(HOST, 0)
    return counters[MEDIUM] / host if host and MEDIUM in counters else None


def write_amplifications(counters: Mapping[str, Sequence[int]]) -> list[float | None] | None:
    """Write amplification in each interval of a series of cumulative totals; None for one without host writes.

    Returns None if the series lacks the bytes of the host or those of the medium.
    """
    if HOST not in counters or MEDIUM not in counters:
        return None
    totals = [
        {HOST: host, MEDIUM: medium} for host, medium in zip(counters[HOST], counters[MEDIUM], strict=True)
    ]
    steps = pairwise([{HOST: 0, MEDIUM: 0}, *totals])
    return [
        write_amplification({name: after[name] - before[name] for name in after}) for before, after in steps
    ]
