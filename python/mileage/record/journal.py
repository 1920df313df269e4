"""The journal: one JSON object per line, forced to the disk before `append` returns.

A crash can tear only the last line. Reading drops such a line and says so; opening for append cuts it off, so that
the next line starts clean. A damaged line before the last one is not ours to repair and is refused.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mileage.errors import Refused

#: Version of the journal's layout; a folder with another one is refused by name.
FORMAT = 1


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds: its whole entries, where they end (bytes) and how much of a torn line follows (bytes)."""

    entries: list[dict[str, Any]]
    whole_bytes: int
    torn_bytes: int

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The entries of one kind: `study`, `run`, `failed`, `dnf`, `look`, `stage`, `accepted`, `end` and others."""
        return [entry for entry in self.entries if entry["kind"] == kind]


def left_out(content: JournalContent) -> int:
    """Runs of the plan that will not be done: enough was known without them, or the device did not finish."""
    ends = [*content.of_kind("stage"), *content.of_kind("dnf")]
    return sum(int(entry.get("left_out", 0)) for entry in ends)


def read_journal(path: Path) -> JournalContent:
    """Read a journal.

    Raises:
        Refused: a line before the last one is damaged, or the format is not this version's.
    """
    data = path.read_bytes() if path.exists() else b""
    entries: list[dict[str, Any]] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            break
        try:
            entry = msgspec.json.decode(data[start:end])
        except msgspec.DecodeError as cause:
            if data.find(b"\n", end + 1) < 0 and end + 1 == len(data):
                break
            raise Refused(
                f"{path}: line {len(entries) + 1} is damaged ({cause}) and is not the last; restore the file"
            ) from cause
        entries.append(entry)
        start = end + 1
    if entries and entries[0].get("format") != FORMAT:
        raise Refused(
            f"{path}: format {entries[0].get('format')!r}, expected {FORMAT}; use the version of Mileage that wrote it"
        )
    return JournalContent(entries, start, len(data) - start)


class Journal:
    """Appends entries; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open for append; a torn last line is cut off first (see :func:`read_journal`)."""
        content = read_journal(path)
        self.torn_bytes = content.torn_bytes
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(self._descriptor, content.whole_bytes)
        os.lseek(self._descriptor, content.whole_bytes, os.SEEK_SET)
        self._whole_bytes = content.whole_bytes

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry and wait until it is on the disk.

        Raises:
            OSError: the line could not be written whole; the journal is cut back to its last whole line.
        """
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._descriptor, line[written:])
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._whole_bytes)
                os.lseek(self._descriptor, self._whole_bytes, os.SEEK_SET)
                raise
            self._whole_bytes += len(line)

    def close(self) -> None:
        """Close the file; the journal is complete up to the last `append`."""
        os.close(self._descriptor)
