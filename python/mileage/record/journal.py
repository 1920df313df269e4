"""The journal: one JSON object per line, forced to the disk before `append` returns.

A crash can tear only the last line. Reading drops such a line and says so; opening for append cuts it off, so that
the next line starts clean. A damaged line before the last one is not ours to repair and is refused.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import msgspec

from mileage.errors import Refused

#: Version of the journal's layout; a folder with another one is refused by name.
FORMAT = 1


class Head(msgspec.Struct, frozen=True, gc=False):
    """What an entry says of itself without its record: enough to choose entries by. `run` is -1 where there is none."""

    kind: str
    run: int = -1
    role: str = ""
    session: str = ""
    cycle: int = 0
    arm: str = ""
    stage: str = ""
    cell: str = ""


class _Series(msgspec.Struct):
    interval_ns: int
    bytes_read: list[int]
    bytes_written: list[int]
    ops: list[int]
    latency_sum_ns: list[int]
    counters: dict[str, list[int]]


class _Histogram(msgspec.Struct):
    count: int
    sum_ns: int
    min_ns: int
    max_ns: int
    buckets: list[tuple[int, int]]


class _Record(msgspec.Struct):
    bytes_read: int
    bytes_written: int
    ops_read: int
    ops_written: int
    submit_ns: int
    durable_ns: int
    elapsed_ns: int
    latency: dict[str, _Histogram]
    series: _Series
    counters: dict[str, int]


class _Run(msgspec.Struct):
    """What every entry of a run has; one that lacks it was damaged into other valid JSON."""

    run: int
    cycle: int
    block: int
    stage: str
    role: str
    measure: str
    cell: str
    metrics: list[str]
    record: _Record


class Entries(Sequence[dict[str, Any]]):
    """Entries of a journal on the disk, decoded one at a time, so that a long study needs little memory.

    `heads` and `places` (offset and length in bytes) have one member for each entry.
    """

    def __init__(self, path: Path, heads: list[Head], places: list[tuple[int, int]]) -> None:
        """Reads nothing yet."""
        self._path = path
        self.heads = heads
        self._places = places

    def where(self, wanted: Callable[[Head], bool]) -> Entries:
        """Those whose head is wanted, in the same order."""
        return self._at([at for at, head in enumerate(self.heads) if wanted(head)])

    def by_run(self) -> Entries:
        """The same entries ordered by their number in the plan."""
        return self._at(sorted(range(len(self.heads)), key=lambda at: self.heads[at].run))

    def grouped(self, key: Callable[[Head], Any]) -> dict[Any, Entries]:
        """The entries of each key, in the order in which the keys come first."""
        found: dict[Any, list[int]] = {}
        for at, head in enumerate(self.heads):
            found.setdefault(key(head), []).append(at)
        return {name: self._at(picked) for name, picked in found.items()}

    def _at(self, picked: list[int]) -> Entries:
        heads = [self.heads[at] for at in picked]
        return Entries(self._path, heads, [self._places[at] for at in picked])

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.heads:
            return
        with open(self._path, "rb") as file:
            for offset, length in self._places:
                if file.tell() != offset:
                    file.seek(offset)
                yield msgspec.json.decode(file.read(length))

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Entries: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | Entries:
        if isinstance(at, slice):
            return self._at(list(range(len(self))[at]))
        return next(iter(self._at([range(len(self))[at]])))


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds: its whole entries, where they end (bytes) and how much of a torn line follows (bytes).

    `damaged` are the numbers (from 1) of the lines that were left out because they cannot be read.
    """

    entries: Sequence[dict[str, Any]]
    whole_bytes: int
    torn_bytes: int
    damaged: tuple[int, ...] = ()

    def of_kind(self, kind: str) -> Sequence[dict[str, Any]]:
        """The entries of one kind: `study`, `run`, `failed`, `dnf`, `look`, `stage`, `accepted`, `end` and others."""
        if isinstance(self.entries, Entries):
            return self.entries.where(lambda head: head.kind == kind)
        return [entry for entry in self.entries if entry["kind"] == kind]

    @property
    def heads(self) -> list[Head]:
        """What each entry says of itself, in the journal's order."""
        if isinstance(self.entries, Entries):
            return self.entries.heads
        return [msgspec.convert(entry, Head) for entry in self.entries]

    def runs(self) -> Sequence[dict[str, Any]]:
        """The finished runs, ordered by their number in the plan."""
        if isinstance(self.entries, Entries):
            return self.entries.where(lambda head: head.kind == "run").by_run()
        return sorted(self.of_kind("run"), key=lambda entry: int(entry["run"]))


def left_out(content: JournalContent) -> int:
    """Runs of the plan that will not be done: enough was known without them, or the device did not finish."""
    ends = [*content.of_kind("stage"), *content.of_kind("dnf")]
    return sum(int(entry.get("left_out", 0)) for entry in ends)


def read_journal(path: Path, *, around_damage: bool = False) -> JournalContent:
    """Look through a journal; its entries stay on the disk until they are asked for.

    `around_damage`: lines that cannot be read are left out and counted, for who only looks.

    Raises:
        Refused: a line before the last one is damaged, or the format is not this version's.
    """
    heads: list[Head] = []
    places: list[tuple[int, int]] = []
    damaged: list[int] = []
    imported = False
    start = 0
    size = path.stat().st_size if path.exists() else 0
    decoder = msgspec.json.Decoder(Head)
    shape = msgspec.json.Decoder(_Run)
    with open(path if size else os.devnull, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                # Texts that nobody asks for are not looked at by the decoder.
                line.decode("utf-8")
                head = decoder.decode(line)
                imported = imported or (head.kind == "study" and b'"imported_at"' in line)
                if around_damage and head.kind == "run" and not imported:
                    shape.decode(line)
                heads.append(head)
            except (msgspec.DecodeError, UnicodeDecodeError) as cause:
                if start + len(line) >= size:
                    break
                if around_damage:
                    damaged.append(len(heads) + len(damaged) + 1)
                    start += len(line)
                    continue
                raise Refused(
                    f"{path}: line {len(heads) + 1} is damaged ({cause}) and is not the last; restore the file"
                ) from cause
            places.append((start, len(line)))
            start += len(line)
    entries = Entries(path, heads, places)
    if entries and entries[0].get("format") != FORMAT and 1 not in damaged:
        raise Refused(
            f"{path}: format {entries[0].get('format')!r}, expected {FORMAT}; use the version of Mileage that wrote it"
        )
    return JournalContent(entries, start, size - start, tuple(damaged))


def _sync_folder(path: Path) -> None:
    """Force the names in a folder to the disk: lines that are safe in a file without a name are lost all the same."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Journal:
    """Appends entries; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open for append; a torn last line is cut off first (see :func:`read_journal`)."""
        content = read_journal(path)
        self.torn_bytes = content.torn_bytes
        self._lock = threading.Lock()
        is_new = not path.exists()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if is_new:
            _sync_folder(path.parent)
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

    def extend(self, entries: Iterable[dict[str, Any]]) -> None:
        """Write many entries that are on the disk elsewhere, and wait once. Raises OSError."""
        with self._lock, open(self._descriptor, "wb", closefd=False) as file:
            for entry in entries:
                self._whole_bytes += file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file; the journal is complete up to the last `append`."""
        os.close(self._descriptor)
