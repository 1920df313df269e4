"""The log of a watch: counters of what was written to a drive, sampled over hours to months.

Scope: a file of JSON lines. The first states format, target and identity; each other is one sample. A
sample is appended with one write and an fsync, so that a watch that is killed loses at most the line that it was
writing, and the next watch resumes the same file.
What it refuses: a file that is no such log, one of another target, and one that another watch is writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.targets.door import ResultLog

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
