"""The layout of a study folder.

    plan.toml  environment/  journal.jsonl  state/  samples.parquet ...  report.html  figures/  tables/  traces/  logs/

A check has also `check.txt`, what it printed. `state/` holds the drive states from which an unfinished study on a
virtual drive resumes; it is emptied at the end.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from mileage.errors import Refused
from mileage.file_lock import is_locked, take_lock
from mileage.json_text import decode_json
from mileage.model.journal_entries import Files, StudyHead
from mileage.plan.planned_runs import hash_is_right
from mileage.store.journal import Journal, JournalContent, read_journal
from mileage.store.journal_line_check import PlannedRuns, brief
from mileage.store.safe_directory import Directory, open_to_read, read_at_most, refuse_links
from mileage.store.seal import checksum
from mileage.targets.door import make_directory

T = TypeVar("T")
MISSING: Final = "is missing"
CHECK_TEXT: Final = "check.txt"
"""File in the study folder with the printed text of `mileage check`."""
FILE_BYTES_MAX: Final = 1 << 30
"""Size of the largest plan or snapshot that is read: a plan of a million runs has 0.3 GB."""
CHANGED: Final = "was changed after it was written"
"""Message about a sealed file that was changed."""


def environment_file(name: str) -> str:
    """The path in a study folder of the snapshot of that name."""
    return f"environment/{name}.json"


def encoded(snapshot: Mapping[str, str]) -> bytes:
    """A snapshot of the environment as it is stored."""
    return msgspec.json.format(msgspec.json.encode(snapshot), indent=1)


def _refuse_name(path: Path) -> None:
    """Refuse a folder whose path is not UTF-8, because tables and journals contain the path. Raises Refused."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise Refused(
            path, "a path that is not UTF-8 text", advice="rename the folder", code="wrong-value"
        ) from None


COMPARES_FOLDERS: Final = "`mileage compare A B` takes such a folder as a side with the sessions of all"


def is_study(path: Path) -> bool:
    """Whether a path is a study folder, by its plan; it is not opened."""
    return (path / "plan.json").is_file() and not path.is_symlink()


class StudyFolder:
    """The folder of one study. Made by :meth:`create`, found again by :meth:`open`."""

    def __init__(self, path: Path) -> None:
        """Name the parts; touches nothing."""
        self.path = path
        self.is_temporary = False
        """Whether it is removed when its command ends, so that nobody reads what no figure needs."""
        self._seen: tuple[object, JournalContent] | None = None
        self._directory: Directory | None = None
        self.plan_toml = path / "plan.toml"
        self.plan_json = path / "plan.json"
        self.journal = path / "journal.jsonl"
        self.environment = path / "environment"
        self.state = path / "state"
        self.figures = path / "figures"
        self.tables = path / "tables"
        self.traces = path / "traces"
        self.logs = path / "logs"
        self.report = path / "report.html"
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, plan_toml: str, plan_json: bytes, *, temporary: bool = False) -> StudyFolder:
        """Make a new study folder with its resolved plan. `temporary`: it is removed when its command ends.

        Raises:
            Refused: the path exists and is not an empty folder, or cannot be made.
        """
        # Files that exist before plan.json come from a crash during creation, so they do not make the folder foreign.
        early = re.compile(r"environment|state|plan\.toml|\.plan\.(toml|json)\.part.*")
        foreign = path.exists() and (
            not path.is_dir() or any(not early.fullmatch(part.name) for part in path.iterdir())
        )
        if foreign:
            raise Refused(
                path, "exists and is not an empty folder", advice="name a new one with --out", code="exists"
            )
        _refuse_name(path)
        folder = cls(path)
        folder.is_temporary = temporary
        try:
            make_directory("study folder", path, parents=True)
            refuse_links(path)
            for name in (folder.environment.name, folder.state.name):
                folder.directory.below(name).close()
            folder.directory.write(folder.plan_toml.name, plan_toml.encode())
            folder.directory.write(folder.plan_json.name, plan_json)
        except OSError as cause:
            raise Refused(
                path,
                f"cannot make the study folder: {cause.strerror}",
                advice="give another with --out",
                code="unwritable",
            ) from cause
        return folder

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Find an existing study folder.

        Raises:
            Refused: there is none at the path, or it has links, pipes or devices in it.
        """
        _refuse_name(path)
        folder = cls(path)
        try:
            os.lstat(folder.plan_json)
        except (FileNotFoundError, NotADirectoryError) as cause:
            found = (
                "is not a study folder: it has no plan.json" if os.path.lexists(path) else "does not exist"
            )
            advice = "give the folder of a study"
            if any(is_study(inside) for inside in path.glob("*")):
                found, advice = "is a folder of studies", f"give one; {COMPARES_FOLDERS}"
            elif path.is_file():
                advice += f"; of a result of another tool `mileage import {shlex.quote(str(path))}` makes one"
            raise Refused(path, found, advice=advice, code="not-found") from cause
        refuse_links(path)
        return folder

    @property
    def directory(self) -> Directory:
        """The open folder, through which everything is written."""
        if self._directory is None:
            self._directory = Directory.open(self.path)
        return self._directory

    def lock(self) -> None:
        """Keep other processes from running this study at the same time; released when the process ends.

        Raises:
            Refused: another process runs it.
        """
        while self._lock is None:
            descriptor = self.directory.open_lock(".lock")
            try:
                if not take_lock(descriptor):
                    raise Refused(
                        self.path,
                        "is being run by another process",
                        advice="wait for it or name another --out",
                        code="in-use",
                    )
                # The former holder may have removed the lock file meanwhile: a lock on a file without a name excludes
                # nobody.
                with suppress(FileNotFoundError):
                    if os.path.samestat((self.path / ".lock").lstat(), os.fstat(descriptor)):
                        self._lock = descriptor
            finally:
                if self._lock is None:
                    os.close(descriptor)

    def unlock(self) -> None:
        """Release :meth:`lock`."""
        if self._lock is not None:
            # Remove the lock file while holding it, so that no other process can have locked it.
            self.directory.remove(".lock")
            os.close(self._lock)
            self._lock = None

    def is_locked(self) -> bool:
        """Whether a process runs the study now."""
        return is_locked(self.path / ".lock")

    @property
    def without_plan(self) -> str:
        """Advice about a plan that cannot be used."""
        export = f"mileage export csv {shlex.quote(str(self.path))}"
        return f"restore it; `{export}` still gives what was measured, without what was judged"

    def decoded_plan(self, kind: type[T]) -> T:
        """The plan, or a part of it. Raises Refused where it cannot be read, or was changed after it was made."""
        try:
            data = self.read(self.plan_json)
            found: T = decode_json(data, kind)
        except (msgspec.DecodeError, OSError) as cause:
            raise Refused(
                self.plan_json, f"is damaged ({brief(cause)})", advice=self.without_plan, code="damaged"
            ) from cause
        expected = self.content(around_damage=True).files.get(self.plan_json.name)
        if not (checksum(data) in expected if expected else hash_is_right(data)):
            raise Refused(
                self.plan_json,
                "was changed after the study was planned",
                advice=self.without_plan,
                code="changed",
            )
        return found

    def planned_runs(self) -> PlannedRuns | None:
        """Planned runs of the plan; None where it cannot be read."""
        try:
            return decode_json(self.read(self.plan_json), PlannedRuns)
        except (msgspec.DecodeError, OSError):
            return None

    def plan_checksums(self) -> dict[str, str]:
        """Checksums of the files plan.json and plan.toml, by name, as the first line of the journal keeps them."""
        return {path.name: checksum(self.read(path)) for path in (self.plan_json, self.plan_toml)}

    def read(self, path: Path) -> bytes:
        """The bytes of one of the folder's files. Raises Refused for what is no file, and OSError (EFBIG)."""
        with open_to_read(path) as file:
            return read_at_most(file, FILE_BYTES_MAX, path)

    def content(self, *, around_damage: bool = False) -> JournalContent:
        """Content of the journal, read again only when it has changed; `around_damage` as in :func:`read_journal`."""
        try:
            found = self.journal.lstat()
            state = (found.st_ino, found.st_size, found.st_mtime_ns, around_damage)
        except FileNotFoundError:
            state = None
        if state is None or self._seen is None or self._seen[0] != state:
            content = read_journal(self.journal, self.planned_runs(), around_damage=around_damage)
            self._seen = (state, content)
        return self._seen[1]

    def save_sealed(self, journal: Journal, files: Mapping[str, bytes]) -> None:
        """Write files of the environment, by their paths in this folder, and first their checksums to the journal.

        After a crash in between a file is missing, or is an earlier one; it is not taken for an edited one.
        """
        if journal.is_sealed:
            journal.append(Files(files={name: checksum(data) for name, data in files.items()}))
            journal.files |= files.keys()
        for name, data in files.items():
            self.directory.write(name, data)

    def changed_files(self, content: JournalContent) -> dict[str, str]:
        """Files whose checksum differs from the recorded one: path in this folder, and the difference found.

        Empty for a folder without seals, about whose files nothing is known.
        """
        found = {}
        for name, expected in content.files.items():
            try:
                if checksum(self.directory.read(name, FILE_BYTES_MAX)) not in expected:
                    found[name] = CHANGED
            except FileNotFoundError:
                found[name] = MISSING
            except OSError as error:
                found[name] = f"cannot be read ({error.strerror})"
        if content.seal is not None and content.of_kind(StudyHead):
            for path in [*self.environment.glob("*.json"), *self.environment.glob("raw/*.json")]:
                if (name := str(path.relative_to(self.path))) not in content.files:
                    found[name] = "was added to the folder"
        return found

    def load_environment(self, name: str) -> dict[str, str] | None:
        """The snapshot under a name; None when there is none. Raises Refused where it cannot be read."""
        path = self.path / environment_file(name)
        try:
            return decode_json(self.read(path), dict[str, str])
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError) as cause:
            raise Refused(
                path, f"is damaged ({brief(cause)})", advice="restore or remove it", code="damaged"
            ) from cause

    def environments(self) -> list[tuple[str, dict[str, str]]]:
        """All undamaged snapshots of the environment, in the order of their names; see `damaged_environments`."""
        return [(name, found) for name, found in self._snapshots() if found is not None]

    def damaged_environments(self) -> list[str]:
        """The names of snapshots that cannot be read, or were changed after they were written."""
        return [name for name, found in self._snapshots() if found is None]

    def _snapshots(self) -> Iterator[tuple[str, dict[str, str] | None]]:
        changed = self.changed_files(self.content(around_damage=True))
        for path in sorted(self.environment.glob("*.json")):
            found: dict[str, str] | None
            try:
                found = decode_json(self.read(path), dict[str, str])
            except (msgspec.DecodeError, OSError):
                found = None
            yield path.stem, None if str(path.relative_to(self.path)) in changed else found

    def save_state(self, owner: str, state: bytes, keep: bool) -> str:
        """Name a drive state by its SHA-256; keep it on the disk when it may be resumed from. Returns the hash.

        `owner` (cycle and arm) keeps equal states of different cycles apart, so that each can be forgotten alone.
        """
        name = checksum(state)
        if keep:
            self.directory.write(f"{self.state.name}/{owner}-{name}", state)
        return name

    def load_state(self, owner: str, name: str) -> bytes | None:
        """A saved state, or `None` when it is absent or its bytes no longer have that hash."""
        return self._named_by_checksum(f"{self.state.name}/{owner}-{name}", name)

    def _named_by_checksum(self, path: str, expected: str) -> bytes | None:
        try:
            data = self.directory.read(path)
        except OSError:
            return None
        return data if checksum(data) == expected else None

    def forget_states(self, owner: str, but: str | None = None) -> None:
        """Delete the saved states of a cycle's arm, except one, and what a crash left half written."""
        with self.directory.below(self.state.name) as states:
            for name in states.names():
                if name.startswith((f"{owner}-", f".{owner}-")) and name != f"{owner}-{but}":
                    states.remove(name)

    def save_trace(self, sha256: str, operations: bytes) -> None:
        """Keep the operations of a trace (a JSON list) that the study replays, under their hash."""
        self.directory.write(f"{self.traces.name}/{sha256}.json", operations)

    def load_trace(self, sha256: str) -> bytes | None:
        """The operations of a kept trace; None when it is absent or its bytes no longer have that hash."""
        return self._named_by_checksum(f"{self.traces.name}/{sha256}.json", sha256)

    def log_of(self, run: int) -> Path:
        """Path of a run's log of single operations; its folder exists, and no file of that name."""
        name = f"run-{run:06d}.csv"
        with self.directory.below(self.logs.name) as logs:
            # Remove the log of a run that did not finish, because the engine refuses to overwrite a file.
            logs.remove(name)
        return self.logs / name

    def plan(self) -> Any:
        """The resolved plan as plain JSON values."""
        return decode_json(self.read(self.plan_json))
