"""The journal: one JSON object per line, sealed (`seal`) and forced to the disk before `append` returns.

A crash can tear only the last line. Reading drops such a line; opening for append cuts it off, so that the next line
starts clean. Other damaged, edited or misplaced lines are not ours to repair: who only reads leaves them out and lists
them, who would append is refused.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Generic, TypeVar, cast, overload

import msgspec

from mileage.errors import Refused
from mileage.model.journal_entries import (
    AnyRun,
    DidNotFinish,
    Entry,
    Files,
    ImportedRun,
    Run,
    StageEnd,
    StudyHead,
    kind_of,
)
from mileage.store.journal_line_check import LineCheck, PlannedRuns, brief, decoder_of
from mileage.store.safe_directory import open_to_append, open_to_read
from mileage.store.seal import Seal, checksum, first_after, seal_of_line, sealed_line

FORMAT: Final = 2
"""Version of the journal's layout."""
UNSEALED: Final = 1
"""The layout of version 0.1.0, whose lines have no seals. It is read, and continued as it is."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """Head of an entry, without its record: the fields by which entries are selected.

    `run` is -1 where there is none.
    """

    kind: str
    run: int = -1
    role: str = ""
    part: str = msgspec.field(default="", name="session")
    cycle: int = 0
    arm: str = ""
    stage: str = ""
    cell: str = ""


E_co = TypeVar("E_co", bound=Entry, covariant=True)
K = TypeVar("K", bound=Entry)
G = TypeVar("G")
R = TypeVar("R", Run, ImportedRun)
_KIND: Final = re.compile(rb'\{"kind":"([a-z]+)"[,}]')
"""Beginning of every line that Mileage wrote; its head can be read without decoding the line."""
_HEAD: Final = msgspec.json.Decoder(Head)
_NAMES: Final = Head.__struct_fields__[1:]
_TAIL_BYTES: Final = 4096
_LINE_BYTES_MAX: Final = 256 << 20
"""Longest line that is read: a run of a week with intervals of one second has some 50 MB."""
_LISTED: Final = 3
"""Problems of a journal that are listed one by one."""


def head_of(entry: Entry) -> Head:
    """Read the head of an entry."""
    members = {name: value for name in _NAMES if (value := getattr(entry, name, None)) is not None}
    return Head(kind_of(entry), **members)


class Entries(Sequence[E_co], Generic[E_co]):
    """Entries of a journal on the disk, decoded one at a time, so that a long study needs little memory.

    `heads` and `places` (offset and length in bytes) have one member for each entry. `imported`: the runs are another
    tool's.
    """

    def __init__(
        self, path: Path, heads: list[Head], places: list[tuple[int, int]], *, imported: bool = False
    ) -> None:
        """Reads nothing yet."""
        self._path = path
        self.heads = heads
        self._places = places
        self._imported = imported

    def where(self, wanted: Callable[[Head], bool]) -> Entries[E_co]:
        """The entries whose head fulfils the condition, in the order of the journal."""
        return self._at([at for at, head in enumerate(self.heads) if wanted(head)])

    def by_run(self) -> Entries[E_co]:
        """The same entries ordered by their number in the plan."""
        return self._at(sorted(range(len(self.heads)), key=lambda at: self.heads[at].run))

    def grouped(self, key: Callable[[Head], G]) -> dict[G, Entries[E_co]]:
        """The entries of each key, in the order in which the keys come first."""
        found: dict[G, list[int]] = {}
        for at, head in enumerate(self.heads):
            found.setdefault(key(head), []).append(at)
        return {name: self._at(picked) for name, picked in found.items()}

    def _at(self, picked: list[int]) -> Entries[E_co]:
        heads = [self.heads[at] for at in picked]
        return Entries(self._path, heads, [self._places[at] for at in picked], imported=self._imported)

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[E_co]:
        for head, line in zip(self.heads, self._lines(), strict=True):
            yield cast(E_co, decoder_of(head.kind, imported=self._imported).decode(line))

    def _lines(self) -> Iterator[bytes]:
        if not self.heads:
            return
        with open_to_read(self._path) as file:
            for offset, length in self._places:
                if file.tell() != offset:
                    file.seek(offset)
                yield file.read(length)

    @overload
    def __getitem__(self, at: int) -> E_co: ...
    @overload
    def __getitem__(self, at: slice) -> Entries[E_co]: ...
    def __getitem__(self, at: int | slice) -> E_co | Entries[E_co]:
        if isinstance(at, slice):
            return self._at(list(range(len(self))[at]))
        return next(iter(self._at([range(len(self))[at]])))


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds: its whole entries, where they end (bytes) and how much of a torn line follows (bytes)."""

    entries: Sequence[Entry]
    whole_bytes: int
    torn_bytes: int
    dropped: tuple[tuple[int, str], ...] = ()
    """The skipped lines, by number from 1, with the reason in words that follow "line 7"."""
    breaks: tuple[int, ...] = ()
    """The lines that were not written after the line that is before them."""
    seal: str | None = None
    """The seal of the last line; None where no line has one."""
    files: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The checksums that each sealed file of the folder may have, by its path in it."""
    version: str = ""
    """The version of this state of the journal: see `version_of`."""

    @property
    def seal_words(self) -> str:
        """The seal of the last line, or that there is none."""
        if self.seal is not None or not self.entries:
            return self.seal or "none, no line was written"
        return "none: the folder is unsealed (an early version of Mileage wrote it), and an edit of it is not noticed"

    @property
    def problems(self) -> list[str]:
        """Skipped lines with the reason, and gaps, each worded to follow "not conclusive because"."""
        reasons = []
        if self.dropped:
            lines = [f"line {number} of the journal {why}" for number, why in self.dropped[:_LISTED]]
            more = len(self.dropped) - _LISTED
            lines += [f"{more:,} more lines cannot be believed"] if more > 0 else []
            reasons = [f"{'; '.join(lines)} (ignored)"]
        if self.breaks:
            numbers = ", ".join(map(str, self.breaks[:_LISTED]))
            more = len(self.breaks) - _LISTED
            before = (
                f"line{'s' if self.breaks[1:] else ''} {numbers}{f' and {more:,} more' if more > 0 else ''}"
            )
            reasons.append(f"lines of the journal were removed, added or moved before {before}")
        return reasons

    def of_kind(self, kind: type[K]) -> Sequence[K]:
        """The entries of one type, in the journal's order."""
        name = kind_of(kind)
        if isinstance(self.entries, Entries):
            return cast(Entries[K], self.entries.where(lambda head: head.kind == name))
        return cast(list[K], [entry for entry in self.entries if kind_of(entry) == name])

    @property
    def heads(self) -> list[Head]:
        """Heads of the entries, in the journal's order."""
        if isinstance(self.entries, Entries):
            return self.entries.heads
        return [head_of(entry) for entry in self.entries]

    @property
    def study(self) -> StudyHead | None:
        """The first line; None where it cannot be believed."""
        return next(iter(self.of_kind(StudyHead)), None)

    def runs(self) -> Sequence[Run]:
        """The finished runs of a study that was measured, ordered by their number in the plan."""
        return self._by_run(Run)

    def imported_runs(self) -> Sequence[ImportedRun]:
        """The runs of a study that was imported, ordered by their number in the plan."""
        return self._by_run(ImportedRun)

    def any_runs(self) -> Sequence[AnyRun]:
        """The runs of either."""
        return self._by_run(Run)

    def _by_run(self, kind: type[R]) -> Sequence[R]:
        found = self.of_kind(kind)
        return found.by_run() if isinstance(found, Entries) else sorted(found, key=lambda entry: entry.run)


def skipped_runs(content: JournalContent) -> int:
    """Runs of the plan that will not be done: enough was known without them, or the device did not finish."""
    ends: list[StageEnd | DidNotFinish] = [*content.of_kind(StageEnd), *content.of_kind(DidNotFinish)]
    return sum(entry.left_out for entry in ends)


def read_journal(
    path: Path, plan: PlannedRuns | None = None, *, around_damage: bool = False
) -> JournalContent:
    """Look through a journal; its entries stay on the disk until they are read.

    `plan`: what its lines are compared with. `around_damage`: damaged lines are skipped and listed,
    for callers that only read.

    Raises:
        Refused: a line before the last one is damaged, edited or misplaced, the format is not known, or there is no
            permission to read it.
    """
    if not os.path.lexists(path):
        return JournalContent(Entries[Entry](path, [], []), 0, 0)
    try:
        opened = open_to_read(path)
    except OSError as error:
        raise Refused(path, f"cannot be read: {error.strerror}", code="unreadable") from error
    with opened as file:
        reading = _LineReader(plan, os.fstat(file.fileno()).st_size)
        for line in iter(lambda: file.readline(_LINE_BYTES_MAX), b""):
            if not reading.take(path, line):
                break
        content = reading.content(path, version_of(file))
    if content.problems and not around_damage:
        raise Refused(
            path, content.problems[0].removesuffix(" (ignored)"), advice="restore the file", code="damaged"
        )
    return content


class _LineReader:
    """The lines of a journal, taken one after the other."""

    def __init__(self, plan: PlannedRuns | None, size: int) -> None:
        self._check = LineCheck(plan)
        self._size = size
        self._kept: list[tuple[int, Head, tuple[int, int], bool]] = []
        """For each line: its number, its head, its position, and whether it has a seal."""
        self._dropped: list[tuple[int, str]] = []
        self._breaks: list[int] = []
        self._files: dict[str, set[str]] = {}
        self._format: int | None = None
        self._start = 0
        self._number = 0
        self._seal: str | None = None
        """Seal of the last line; None while there is none, and empty where it cannot be read."""
        self._after: str | None = first_after(plan.hash) if plan is not None else None
        """Seal that the next line must follow, where it is known."""

    def take(self, path: Path, line: bytes) -> bool:
        """Take a line; false when it is torn, and the journal ends before it. Raises Refused."""
        if not line.endswith(b"\n"):
            if len(line) == _LINE_BYTES_MAX:
                raise Refused(
                    path,
                    f"line {self._number + 1} has more than {_LINE_BYTES_MAX:,} bytes",
                    advice="restore the file",
                    code="too-large",
                )
            return False
        self._number += 1
        seal = seal_of_line(line[:-1])
        is_edited = seal is not None and not seal.is_right
        entry, why = None, None
        try:
            # Check the encoding of the whole line: the decoder skips texts that no field asks for, and would accept
            # invalid bytes there.
            line.decode("utf-8")
            if not is_edited:
                begins = _KIND.match(line)
                kind = begins[1].decode() if begins is not None else _HEAD.decode(line).kind
                entry, why = self._check.problem(line, kind, self._number)
            head = head_of(entry) if isinstance(entry, Entry) and why is None else _HEAD.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
            if self._start + len(line) >= self._size:
                return False
            why = f"is damaged ({brief(cause)})"
        if is_edited:
            why = "was changed after it was written"
        if why is None and isinstance(entry, StudyHead | Files):
            self._note(entry)
        self._follow(seal)
        if why is None:
            self._kept.append((self._number, head, (self._start, len(line)), seal is not None))
        else:
            self._dropped.append((self._number, why))
        self._start += len(line)
        return True

    def _note(self, entry: StudyHead | Files) -> None:
        if isinstance(entry, StudyHead):
            self._format = entry.format
            if self._after is None:
                self._after = first_after(entry.plan)
        for name, found in entry.files.items():
            self._files.setdefault(name, set()).add(found)

    def _follow(self, seal: Seal | None) -> None:
        """Compare what a line says that it comes after with the line before it."""
        if seal is not None and seal.is_right and self._after is not None and seal.after != self._after:
            self._breaks.append(self._number)
        self._after = seal.own if seal is not None else None
        self._seal = seal.own if seal is not None else self._seal

    def content(self, path: Path, version: str) -> JournalContent:
        if self._format not in (None, UNSEALED, FORMAT):
            raise Refused(
                path,
                f"format {self._format!r}",
                expected=f"{FORMAT}",
                advice="use the version of Mileage that wrote it",
                code="unsupported",
            )
        sealed = self._format == FORMAT or (self._format is None and self._seal is not None)
        # Lines with and without seals cannot mix: a line without a seal was inserted or lost its seal, and the reverse.
        why = "has no checksum" if sealed else "has a checksum, in a journal without"
        dropped = sorted([*self._dropped, *((row[0], why) for row in self._kept if row[3] != sealed)])
        kept = [row for row in self._kept if row[3] == sealed]
        files = {name: frozenset(found) for name, found in self._files.items()}
        return JournalContent(
            Entries[Entry](
                path, [row[1] for row in kept], [row[2] for row in kept], imported=self._check.imported
            ),
            self._start,
            self._size - self._start,
            tuple(dropped),
            tuple(self._breaks) if sealed else (),
            self._seal if sealed else None,
            files,
            version,
        )


def version_of(file: BinaryIO) -> str:
    """The version of a growing journal: its size and the checksum of its end."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(size - _TAIL_BYTES, 0))
    return f"{size} {checksum(file.read(_TAIL_BYTES))}"


def _sync_folder(path: Path) -> None:
    """Force the names in a folder to the disk: lines that are safe in a file without a name are lost all the same."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Journal:
    """Appends entries, each sealed after the one before; safe to use from several threads."""

    def __init__(self, path: Path, plan: PlannedRuns | None = None) -> None:
        """Open for append; a torn last line is cut off first. `plan` and errors as of :func:`read_journal`."""
        content = read_journal(path, plan)
        self.torn_bytes = content.torn_bytes
        self._lock = threading.Lock()
        is_new = not path.exists()
        self._descriptor = open_to_append(path)
        if is_new:
            _sync_folder(path.parent)
        os.ftruncate(self._descriptor, content.whole_bytes)
        os.lseek(self._descriptor, content.whole_bytes, os.SEEK_SET)
        self._whole_bytes = content.whole_bytes
        self._after = content.seal
        self.files = set(content.files)
        """The sealed files of the folder, by their paths in it."""
        self.is_sealed = content.seal is not None or not content.entries
        """False for a journal of version 0.1.0, which is continued as it was begun."""

    def append(self, entry: Entry) -> None:
        """Write one entry and wait until it is on the disk.

        Raises:
            OSError: the line could not be written whole; the journal is cut back to its last whole line.
        """
        with self._lock:
            line, seal = self._line(entry)
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
            self._after = seal

    def extend(self, entries: Iterable[Entry]) -> None:
        """Write many entries that are on the disk elsewhere, and wait once. Raises OSError."""
        with self._lock, open(self._descriptor, "wb", closefd=False) as file:
            for entry in entries:
                line, self._after = self._line(entry)
                self._whole_bytes += file.write(line)
            file.flush()
            os.fsync(self._descriptor)

    def _line(self, entry: Entry) -> tuple[bytes, str | None]:
        if self._after is None and isinstance(entry, StudyHead):
            # The first line of folders of version 0.1.0 that are merged has no seal.
            self.is_sealed = entry.format != UNSEALED
            self._after = first_after(entry.plan)
        if not self.is_sealed:
            return msgspec.json.encode(entry) + b"\n", None
        assert self._after is not None, "the first line of a journal is its study"
        return sealed_line(entry, self._after)

    def close(self) -> None:
        """Close the file; the journal is complete up to the last `append`."""
        os.close(self._descriptor)
