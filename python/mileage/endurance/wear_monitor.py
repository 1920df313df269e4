"""A watch: counters sampled into a log, and what they say of the life of the drive.

Scope: samples at even times, the first at once, the last when the watch ends, by time or by Ctrl-C.
Everything that is reported follows from the log alone, so that a watch may end and begin again at any time.
What it refuses: targets without a drive that counts; see `WearLog` for the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from mileage.endurance.wear_rate import Sample, WearLog, WearRate, span_s, wear_rate
from mileage.endurance.write_counters import DRIVE, TITLES, Reading, read_counters
from mileage.errors import Refused, RunFailed

_UNITS_MIN = 100
"""Growth of a counter, in its units, from which it decides: the drive's own may count in units of 32 MiB."""


class WearEvaluation(msgspec.Struct, frozen=True):
    """Evaluation of a wear log."""

    samples: int
    span_s: float
    rates: dict[str, WearRate]
    """Growth rate of each counter, the counter nearest to the flash cells first."""
    chosen: str
    """The counter that decides; empty without any."""
    first_used: int | None = None
    last_used: int | None = None
    """The drive's own indicator of wear, in percent, at the beginning and at the end."""

    @property
    def rate(self) -> WearRate | None:
        """The rate that decides."""
        return self.rates.get(self.chosen)


def watched(samples: Sequence[Sample]) -> WearEvaluation:
    """Evaluate the samples of a wear log."""
    found = {name: rate for name in TITLES if (rate := wear_rate(samples, name)) is not None}
    used = [one.percent_used for one in samples if one.percent_used is not None]
    return WearEvaluation(
        len(samples),
        span_s(samples),
        found,
        _chosen(found, samples),
        used[0] if used else None,
        used[-1] if used else None,
    )


def _chosen(rates: Mapping[str, WearRate], samples: Sequence[Sample]) -> str:
    for name, rate in rates.items():
        unit = max(one.counters[name].unit_bytes for one in samples if name in one.counters)
        if rate.written_bytes >= _UNITS_MIN * unit and (name != DRIVE or rate.written_bytes >= 1 << 32):
            return name
    return next(iter(rates), "")


def begin(place: Path) -> Reading:
    """The first reading of a watch. Raises Refused where nothing counts."""
    try:
        reading = read_counters(place)
    except OSError as error:
        raise Refused(place, f"cannot be looked at: {error.strerror}", code="unreadable") from error
    if not reading.sample.counters:
        raise Refused(
            place,
            f"nothing counts what is written to it ({'; '.join(reading.missing)})",
            expected="a path on a local drive",
            code="unsupported",
        )
    return reading


def watch(
    log: WearLog,
    place: Path,
    *,
    every_s: float,
    for_s: float | None,
    seen: Callable[[Sequence[Sample]], None],
) -> None:
    """Sample a drive's write counters into a log until the time is over, or Ctrl-C. `seen` is called after each sample.

    Raises RunFailed when the path cannot be looked at any more, or the log cannot be written.
    """
    started = time.monotonic()
    end = None if for_s is None else started + for_s
    count = 0
    try:
        while True:
            _take(log, place)
            seen(log.samples)
            count += 1
            due = started + count * every_s
            if end is not None and due >= end:
                time.sleep(max(end - time.monotonic(), 0.0))
                break
            time.sleep(max(due - time.monotonic(), 0.0))
    except KeyboardInterrupt:
        pass
    _take(log, place)
    seen(log.samples)


def _take(log: WearLog, place: Path) -> None:
    try:
        log.append(read_counters(place).sample)
    except OSError as error:
        raise RunFailed.from_os_error(f"looking at {place}", error) from error
