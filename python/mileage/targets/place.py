"""`dir:PATH` without a work file: every run makes, names and removes files of its own.

Scope: the directory target of a study whose runs all have names of the user's for their files. Nothing of Mileage's own
is in the directory, so that a killed process leaves nothing that the user has not named, and nothing is open there
between runs.
What it refuses: what `directory` refuses of the directory.
"""

from __future__ import annotations

from pathlib import Path

from mileage.targets.directory import DirectoryTarget
from mileage.targets.file_identity import FileIdentity
from mileage.targets.filesystem import probe_direct
from mileage.targets.room import refuse_without_room


class PlaceTarget(DirectoryTarget):
    """A directory in which runs have their files."""

    @property
    def path(self) -> Path | None:  # type: ignore[override]
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        return ()

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return ()

    def claim(self) -> None:
        self._direct_supported = probe_direct(self._directory)

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        self.check_place()
        refuse_without_room(str(self.spec), self._directory, needed_bytes=work_bytes, needed_files=0)
        return f"nothing is made in {self._directory} before a run"

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        return True

    def purge(self) -> str:
        self.check_place()
        return f"nothing is there to be made again in {self._directory}"
