"""Where the parts of a study stand on the disk.

    plan.toml  environment/  journal.jsonl  state/  samples.parquet ...  report.html  figures/  tables/  traces/  logs/

`state/` holds the drive states from which an unfinished study on a virtual drive goes on; it is emptied at the end.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from mileage.errors import Refused
from mileage.record.journal import JournalContent, read_journal


def write_durably(path: Path, data: bytes) -> None:
    """Write a whole file or none: a temporary neighbour, forced to the disk, then renamed. Raises OSError."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        # What is half written on a full disk takes the room of what is to be written next.
        temporary.unlink(missing_ok=True)
        raise
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class StudyFolder:
    """The folder of one study. Made by :meth:`create`, found again by :meth:`open`."""

    def __init__(self, path: Path) -> None:
        """Name the parts; touches nothing."""
        self.path = path
        self._seen: tuple[object, JournalContent] | None = None
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
    def create(cls, path: Path, plan_toml: str, plan_json: bytes) -> StudyFolder:
        """Make a new study folder with its resolved plan.

        Raises:
            Refused: the path exists and is not an empty folder, or cannot be made.
        """
        # A crash while the folder was being made leaves only what is made before plan.json.
        early = {"environment", "state", "plan.toml", ".plan.toml.part", ".plan.json.part"}
        if path.exists() and (not path.is_dir() or {part.name for part in path.iterdir()} - early):
            raise Refused(f"{path} exists and is not an empty folder; name a new one with --out")
        folder = cls(path)
        try:
            for part in (folder.environment, folder.state):
                part.mkdir(parents=True, exist_ok=True)
            write_durably(folder.plan_toml, plan_toml.encode())
            write_durably(folder.plan_json, plan_json)
        except OSError as cause:
            raise Refused(
                f"cannot make the study folder {path}: {cause.strerror}; name another with --out"
            ) from cause
        return folder

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Find an existing study folder.

        Raises:
            Refused: there is none at the path.
        """
        folder = cls(path)
        if not folder.plan_json.is_file():
            raise Refused(
                f"{path} is not a study folder: it has no plan.json; give a folder that `mileage run` made"
            )
        return folder

    def lock(self) -> None:
        """Keep other processes from running this study at the same time; released when the process ends.

        Raises:
            Refused: another process runs it.
        """
        path = self.path / ".lock"
        while self._lock is None:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Who held it may have removed it meanwhile: a lock without a name keeps nobody out.
                with suppress(FileNotFoundError):
                    if os.path.samestat(path.stat(), os.fstat(descriptor)):
                        self._lock = descriptor
            except BlockingIOError as cause:
                raise Refused(
                    f"{self.path} is being run by another process; wait for it or name another --out"
                ) from cause
            finally:
                if self._lock is None:
                    os.close(descriptor)

    def unlock(self) -> None:
        """Release :meth:`lock`."""
        if self._lock is not None:
            # Removed while it is held, so that it is nobody else's.
            (self.path / ".lock").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def is_locked(self) -> bool:
        """Whether a process runs the study now."""
        try:
            descriptor = os.open(self.path / ".lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def content(self, *, around_damage: bool = False) -> JournalContent:
        """What the journal holds, read again only when it has changed; `around_damage` as in :func:`read_journal`."""
        try:
            found = self.journal.stat()
            state = (found.st_ino, found.st_size, found.st_mtime_ns, around_damage)
        except FileNotFoundError:
            state = None
        if state is None or self._seen is None or self._seen[0] != state:
            self._seen = (state, read_journal(self.journal, around_damage=around_damage))
        return self._seen[1]

    def save_environment(self, name: str, snapshot: dict[str, str]) -> None:
        """Keep one environment snapshot under a stage's name."""
        write_durably(
            self.environment / f"{name}.json", msgspec.json.format(msgspec.json.encode(snapshot), indent=1)
        )

    def load_environment(self, name: str) -> dict[str, str] | None:
        """The snapshot under a name; None when there is none."""
        path = self.environment / f"{name}.json"
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str]) if path.is_file() else None

    def save_raw_environment(self, name: str, texts: dict[str, str]) -> None:
        """Keep the texts that a snapshot was read from, as the machine gave them."""
        folder = self.environment / "raw"
        folder.mkdir(exist_ok=True)
        write_durably(folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(texts), indent=1))

    def environments(self) -> list[tuple[str, dict[str, str]]]:
        """All snapshots that can be read, in the order of their names; see `damaged_environments`."""
        return [(path.stem, found) for path, found in self._snapshots() if found is not None]

    def damaged_environments(self) -> list[str]:
        """The names of snapshots that cannot be read."""
        return [path.stem for path, found in self._snapshots() if found is None]

    def _snapshots(self) -> Iterator[tuple[Path, dict[str, str] | None]]:
        for path in sorted(self.environment.glob("*.json")):
            try:
                yield path, msgspec.json.decode(path.read_bytes(), type=dict[str, str])
            except (msgspec.DecodeError, UnicodeDecodeError, OSError):
                yield path, None

    def save_state(self, owner: str, state: bytes, keep: bool) -> str:
        """Name a drive state by its SHA-256; keep it on the disk when it may be resumed from. Returns the hash.

        `owner` (cycle and arm) keeps equal states of different cycles apart, so that each can be forgotten alone.
        """
        name = hashlib.sha256(state).hexdigest()
        if keep:
            write_durably(self.state / f"{owner}-{name}", state)
        return name

    def load_state(self, owner: str, name: str) -> bytes | None:
        """A saved state, or `None` when it is absent or its bytes no longer have that hash."""
        path = self.state / f"{owner}-{name}"
        if not path.is_file():
            return None
        data = path.read_bytes()
        return data if hashlib.sha256(data).hexdigest() == name else None

    def forget_states(self, owner: str, but: str | None = None) -> None:
        """Delete the saved states of a cycle's arm, except one, and what a crash left half written."""
        for path in self.state.iterdir():
            if path.name.startswith((f"{owner}-", f".{owner}-")) and path.name != f"{owner}-{but}":
                path.unlink()

    def save_trace(self, sha256: str, operations: bytes) -> None:
        """Keep the operations of a trace (a JSON list) that the study replays, under their hash."""
        self.traces.mkdir(exist_ok=True)
        write_durably(self.traces / f"{sha256}.json", operations)

    def load_trace(self, sha256: str) -> bytes | None:
        """The operations of a kept trace; None when it is absent or its bytes no longer have that hash."""
        path = self.traces / f"{sha256}.json"
        if not path.is_file():
            return None
        data = path.read_bytes()
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def log_of(self, run: int) -> Path:
        """Where the log of every operation of a run is written; its folder exists."""
        self.logs.mkdir(exist_ok=True)
        return self.logs / f"run-{run:06d}.csv"

    def plan(self) -> Any:
        """The resolved plan as plain JSON values."""
        return msgspec.json.decode(self.plan_json.read_bytes())
