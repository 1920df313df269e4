"""IOMeter's configuration files (.icf): access specifications, the test setup, and what each worker does.

Scope: the sections that say what I/O is done; comment lines begin with an apostrophe. Sizes in bytes,
shares in percent, delays in milliseconds.
What it refuses: a file without IOMeter's first line, a line that is not what its heading says, shares that do not add
up to 100; with the number of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mileage.errors import Refused
from mileage.regular_file import read_regular

_BYTES_MAX = 1 << 20
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_WHOLE = re.compile(r"[0-9]{1,9}")

_OF_NO_EFFECT = (
    *("bar chart", "data pattern", "default disk workers", "default network workers"),
    *("default target settings", "disk cycling", "end ", "manager", "queue depth cycling"),
    *("record last update", "record results", "start", "target assignments", "target type"),
    *("update frequency", "worker cycling", "worker type"),
)
"""Beginnings of headings whose values change nothing here.

They concern the window, the participants, and the order of tests of another type than `NORMAL`, which are refused.
"""


@dataclass(frozen=True)
class Line:
    """One line of an access specification."""

    size: int
    share: int
    reads: int
    random: int
    delay_ms: int
    burst: int
    align: int
    reply: int


@dataclass
class Worker:
    """One worker: its targets, its load, and the access specifications assigned to it."""

    name: str
    outstanding: int = 1
    size_sectors: int = 0
    """Part that is used, in sectors of 512 bytes; 0 for all."""
    start_sector: int = 0
    specifications: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass
class Configuration:
    """A whole file."""

    version: str
    description: str = ""
    run_s: int = 0
    ramp_s: int = 0
    specifications: dict[str, list[Line]] = field(default_factory=dict)
    defaults: list[str] = field(default_factory=list)
    """Names of those that every worker gets."""
    workers: list[Worker] = field(default_factory=list)


def read_icf(path: Path) -> Configuration:
    """Read a configuration. Raises Refused with the line."""
    try:
        data = read_regular(path, _BYTES_MAX)
    except OSError as error:
        raise Refused(path, f"cannot be read: {error.strerror}", code="unreadable") from error
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    if not lines or not lines[0].lower().startswith("version"):
        raise Refused(
            f"{path}: line 1",
            found=f"{lines[0][:60] if lines else 'nothing'!r}",
            expected="IOMeter's Version",
            code="not-understood",
        )
    reader = _Reader(path, lines)
    found = Configuration(version=lines[0][len("version") :].strip())
    for at, key in reader.headings():
        reader.take(at, key, found)
    if not found.specifications:
        raise Refused(path, "no access specification is in it", code="empty")
    return found


class _Reader:
    """The lines of a file; a heading is a line that begins with an apostrophe, its values follow."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._lines = lines
        self._specification: str | None = None

    def headings(self) -> Iterator[tuple[int, str]]:
        for at, line in enumerate(self._lines):
            if line.startswith("'"):
                yield at, line[1:].strip().lower()

    def _values(self, at: int) -> list[tuple[int, str]]:
        found = []
        for place in range(at + 1, len(self._lines)):
            if self._lines[place].startswith("'"):
                break
            if self._lines[place]:
                found.append((place, self._lines[place]))
        return found

    def _numbers(self, at: int, text: str, count: int) -> list[int]:
        words = [word.strip() for word in text.split(",")]
        if len(words) < count or not all(_INTEGER.fullmatch(word) for word in words[:count]):
            raise Refused(
                f"{self._path}: line {at + 1}",
                found=f"{text[:60]!r}",
                expected=f"{count} whole numbers",
                code="malformed",
            )
        return [int(word) for word in words[:count]]

    def take(self, at: int, key: str, found: Configuration) -> None:
        """Process the lines below one heading."""
        values = self._values(at)
        if not values:
            return
        first_at, first = values[0]
        if key.startswith("test description"):
            found.description = first
        elif key.split() == ["hours", "minutes", "seconds"]:
            found.run_s = self._run_time(values)
        elif key.startswith("ramp up time"):
            (found.ramp_s,) = self._numbers(first_at, first, 1)
        elif key.startswith("access specification name"):
            name, _, default = first.rpartition(",")
            self._specification = name.strip() or first.strip()
            found.specifications[self._specification] = []
            if default.strip().upper() in ("ALL", "DISK"):
                found.defaults.append(self._specification)
        elif key.startswith("size,% of size") and self._specification is not None:
            rows = [Line(*self._numbers(place, text, 8)) for place, text in values]
            self._check(first_at, rows)
            found.specifications[self._specification] = rows
        elif key == "worker":
            found.workers.append(Worker(first))
        elif key.startswith("test type"):
            if first.upper() != "NORMAL":
                raise Refused(
                    f"{self._path}: line {first_at + 1}",
                    found=f"test type {first[:60]!r}",
                    expected="NORMAL",
                    advice="settings that go round are measurements of their own: "
                    "mileage measure -t TARGET --vary depth=1,2,4",
                    code="unsupported",
                )
        elif not (found.workers and self._of_worker(key, values, found.workers[-1])) and not key.startswith(
            _OF_NO_EFFECT
        ):
            raise Refused(
                f"{self._path}: line {at + 1}",
                f"the heading {key[:60]!r} is not understood, and values follow it",
                advice="take both out if the test does without",
                code="malformed",
            )

    def _run_time(self, values: list[tuple[int, str]]) -> int:
        """Hours, minutes and seconds, each below a heading of its own or in one line."""
        at, text = values[0]
        words = text.replace(",", " ").split()
        if len(words) < 3 or not all(_WHOLE.fullmatch(word) for word in words[:3]):
            raise Refused(
                f"{self._path}: line {at + 1}",
                found=f"{text[:60]!r}",
                expected="hours, minutes and seconds",
                code="malformed",
            )
        hours, minutes, seconds = (int(word) for word in words[:3])
        return 3600 * hours + 60 * minutes + seconds

    def _check(self, at: int, rows: list[Line]) -> None:
        total = sum(row.share for row in rows)
        if total != 100:
            raise Refused(
                f"{self._path}: line {at + 1}",
                f"the shares add up to {total} percent",
                expected="100",
                code="malformed",
            )
        for row in rows:
            wrong = not (0 <= row.reads <= 100 and 0 <= row.random <= 100 and row.size > 0 and row.burst > 0)
            if wrong or row.delay_ms < 0 or row.align < 0:
                raise Refused(
                    f"{self._path}: line {at + 1}", "a share or a size is out of range", code="out-of-range"
                )

    def _of_worker(self, key: str, values: list[tuple[int, str]], worker: Worker) -> bool:
        """Whether the heading belongs to a worker."""
        at, text = values[0]
        if key.startswith("number of outstanding ios"):
            (worker.outstanding,) = self._numbers(at, text.split(",")[0], 1)
            if "enabled" in [word.strip().lower() for word in text.split(",")]:
                raise Refused(
                    f"{self._path}: line {at + 1}",
                    found=f"{text[:60]!r}, a test of connection rates",
                    expected="DISABLED: connections are not measured",
                    code="unsupported",
                )
        elif key.startswith("disk maximum size"):
            worker.size_sectors, worker.start_sector = self._numbers(at, text, 2)
        elif key.startswith("assigned access specs"):
            worker.specifications += [value for _, value in values]
        elif key == "target":
            worker.targets.append(text)
        else:
            return False
        return True
