"""The rate at which a counter grew, from samples: bytes per second with an interval, and what was skipped.

Scope: the sum of all growth over the sum of all time, in which intervals between two samples are skipped
when they cannot be read: the machine was restarted (of a counter that begins anew then), the counter went
backwards, the clock did. A counter of 32 bits that wraps is continued. The 95 % interval is that of a ratio of
means over at most 20 batches of about equal length (Cochran, Sampling Techniques, section 6.3), with Student's t:
batches, because neighbouring intervals resemble each other.
What it refuses: to say more than the samples do. The interval is of the time that was watched; a day does not show
what a week does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from mileage._core import t_quantile
from mileage.errors import Refused
from mileage.targets.door import ResultLog

BATCHES_MAX: Final = 20
WRAP: Final = 2**32
"""Values of a counter of 32 bits, in its own unit."""
_NEAR_SHARE: Final = 0.1
"""Share of the 32 bits before and after a wrap within which two samples lie."""


class WearRate(msgspec.Struct, frozen=True):
    """How fast a counter grew."""

    bytes_per_s: float
    written_bytes: int
    counted_s: float
    """Time of the intervals that were counted."""
    low: float | None = None
    """Lower end of the 95 % interval; None with fewer than 3 samples."""
    high: float | None = None
    batches: int = 0
    events: tuple[str, ...] = ()
    """Skipped or joined intervals, each with the reason."""


class _Step(msgspec.Struct, frozen=True):
    time_s: float
    grown_bytes: int


def wear_rate(samples: Sequence[Sample], name: str) -> WearRate | None:
    """The rate of the counter of a name; None where it was not read at two moments that can be compared."""
    events: list[str] = []
    steps = list(_steps([one for one in samples if name in one.counters], name, events))
    last = max((at for at, one in enumerate(samples) if name in one.counters), default=-1)
    if 0 <= last < len(samples) - 1:
        missing = len(samples) - 1 - last
        noun = "sample" if missing == 1 else f"{missing} samples"
        events.append(f"the counter is missing in the last {noun}: the rate ends before")
    elif last >= 0 and any(name not in one.counters for one in samples[:last]):
        events.append("the counter was missing in between: the growth over that time is counted")
    time_s = sum(step.time_s for step in steps)
    if time_s <= 0:
        return None
    grown = sum(step.grown_bytes for step in steps)
    low, high, batches = _interval(steps, grown / time_s)
    return WearRate(grown / time_s, grown, time_s, low, high, batches, tuple(dict.fromkeys(events)))


def _steps(samples: Sequence[Sample], name: str, events: list[str]) -> Iterator[_Step]:
    for before, after in pairwise(samples):
        one, other = before.counters[name], after.counters[name]
        time_s = after.time_s - before.time_s
        reason = _skipped(before, after, one, other, time_s)
        if reason:
            events.append(f"{max(time_s, 0.0) / 3600:.3g} h are skipped: {reason}")
            continue
        grown = other.value - one.value
        if grown < 0:
            grown += WRAP
            events.append("the counter of 32 bits wrapped and is continued")
        yield _Step(time_s, grown * one.unit_bytes)


def _skipped(before: Sample, after: Sample, one: Counter, other: Counter, time_s: float) -> str:
    """Why the increase of a wear counter between two samples cannot be used, such as a restart; empty if it can.

    `one` and `other` are the counter in the samples `before` and `after`, which are `time_s` apart.
    """
    if time_s <= 0:
        return "the clock of the machine went backwards"
    if one.unit_bytes != other.unit_bytes:
        return "the counter has another unit"
    if one.since_boot and before.boot != after.boot:
        return "the machine was restarted, and the counter began anew"
    near_end = one.value >= WRAP * (1 - _NEAR_SHARE) and one.value < WRAP
    if other.value < one.value and not (near_end and other.value < WRAP * _NEAR_SHARE):
        return "the counter went backwards"
    return ""


def _interval(steps: Sequence[_Step], rate: float) -> tuple[float | None, float | None, int]:
    """The ends of the 95 % interval of a rate, and the number of batches; no ends with fewer than two."""
    whole_s = sum(step.time_s for step in steps)
    batches: list[tuple[float, float]] = []
    time_s, grown = 0.0, 0.0
    for step in steps:
        time_s, grown = time_s + step.time_s, grown + step.grown_bytes
        if time_s >= whole_s / BATCHES_MAX * (1 - 1e-9):
            batches.append((time_s, grown))
            time_s, grown = 0.0, 0.0
    if time_s and batches:
        batches[-1] = (batches[-1][0] + time_s, batches[-1][1] + grown)
    count = len(batches)
    if count < 2:
        return None, None, count
    squares = sum((grown - rate * time_s) ** 2 for time_s, grown in batches)
    error = math.sqrt(count / (count - 1) * squares) / whole_s
    reach = t_quantile(count - 1, 0.975) * error
    return max(rate - reach, 0.0), rate + reach, count


# The log of a watch: counters of what was written to a drive, sampled over hours to months.
# Scope: a file of JSON lines. The first states format, target and identity; each other is one sample. A
# sample is appended with one write and an fsync, so that a watch that is killed loses at most the line that it was
# writing, and the next watch resumes the same file.
# What it refuses: a file that is no such log, one of another target, and one that another watch is writing.

FORMAT: Final = "mileage wear log 1"
_BEGIN: Final = f'{{"format":"{FORMAT}"'.encode()
"""With what every log begins."""
LOG_BYTES_MAX: Final = 1 << 28


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    format: str
    target: str
    identity: str
    """Identifier of the drive or file system, to detect another one at the same path; empty if there is none."""


class Counter(msgspec.Struct, frozen=True):
    """A counter of what was written, as it was read."""

    value: int
    unit_bytes: int
    since_boot: bool = False
    """Whether the counter restarts at 0 when the machine starts."""


class Sample(msgspec.Struct, frozen=True):
    """All counters at one moment."""

    time_s: float
    """Seconds since 1970, UTC."""
    boot: str
    """Identity of the boot of the machine."""
    counters: dict[str, Counter]
    percent_used: int | None = None
    """The drive's own indicator of wear."""


class WearLog:
    """A log that is open for appending."""

    def __init__(self, path: Path, target: str, identity: str) -> None:
        """Open or begin the log at `path`. A torn last line is cut off.

        Raises:
            Refused: it is no log, the log of another target, or in use.
            RunFailed: it cannot be opened or written.
        """
        self.path = path
        self._log = ResultLog("--log", path, "wear-log", _BEGIN)
        try:
            self.samples = self._resumed(target, identity)
        except BaseException:
            self._log.close()
            raise

    def _resumed(self, target: str, identity: str) -> list[Sample]:
        text = self._log.read(LOG_BYTES_MAX)
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            self._log.cut(0)
            self._write(Head(FORMAT, target, identity))
            return []
        head, samples = _parsed(whole, self.path)
        if head.identity != identity:
            raise Refused(
                self.path,
                f"is the log of another drive or file system at {head.target}",
                advice="choose another --log",
                code="mismatch",
            )
        self._log.cut(len(whole))
        return samples

    def append(self, sample: Sample) -> None:
        """Write a sample, durably. Raises RunFailed."""
        self._write(sample)
        self.samples.append(sample)

    def _write(self, line: msgspec.Struct) -> None:
        self._log.append(msgspec.json.encode(line))

    def __enter__(self) -> WearLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()


def _parsed(text: bytes, path: Path) -> tuple[Head, list[Sample]]:
    lines = text.splitlines()
    number = 1
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=Head)
        if head.format != FORMAT:
            raise msgspec.ValidationError(f"another format: {head.format!r}")
        samples: list[Sample] = []
        for number, line in enumerate(lines[1:], 2):  # noqa: B007  the line of a fault
            samples.append(msgspec.json.decode(line, type=Sample))
    except msgspec.MsgspecError as error:
        raise Refused(
            f"{path}: line {number}", f"is no line of a wear log: {error}", code="malformed"
        ) from None
    return head, samples


def span_s(samples: Sequence[Sample]) -> float:
    """Seconds from the first sample to the last."""
    return samples[-1].time_s - samples[0].time_s if len(samples) > 1 else 0.0
