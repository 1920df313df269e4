"""`dir:PATH`: a work file of Mileage's own in a directory of the user's.

Scope: a file target whose file Mileage makes, names and removes. Other files in the directory are
neither read nor touched, so the directory need not be empty.
What it refuses: a directory that is missing, not a directory, or read-only by mount or by mode (for root
too); a name that is taken by something that is not its own; `--destroy`, since nothing is destroyed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from mileage.errors import Refused, RunFailed
from mileage.file_lock import is_locked
from mileage.model.target_facts import TargetFacts
from mileage.targets.device_identity import may_take_steps
from mileage.targets.file_identity import FileIdentity
from mileage.targets.filesystem import look_at, memory_bytes, probe_direct
from mileage.targets.guard import ROOT, device_number, kind_of, refuse_file_in_use
from mileage.targets.mounts import mount_of, read_mounts
from mileage.targets.room import NoRoom, refuse_without_room
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target
from mileage.targets.workfile import WorkFile

PURGED_FILE = "fresh file only: a file target cannot purge the device below it"


def work_file_name(plan_hash: str) -> str:
    """The name of the work file of a plan: `.mileage-<8 hex digits of the plan's hash>.dat`."""
    return f".mileage-{plan_hash[:8]}.dat"


class DirectoryTarget(Target):
    """A work file in a directory. `plan_hash` is hexadecimal; its first eight digits name the file."""

    stands = True

    def __init__(self, spec: TargetSpec, plan_hash: str, *, root: Path = ROOT) -> None:
        super().__init__(spec)
        self._root = root
        directory = Path(spec.name)
        refuse_unwritable_directory(str(spec), directory)
        self._directory = directory.resolve()
        self._plan_hash = plan_hash
        path = self._directory / work_file_name(plan_hash)
        self._file = WorkFile(str(spec), path, plan_hash=plan_hash)
        self._more: list[WorkFile] = []
        """The files of threads that `prepare` made."""
        self._of_run: list[WorkFile] = []
        """Files that a run made for its threads."""
        self._direct_supported: bool | None = None
        """Whether files can be opened with O_DIRECT; None until that was tried."""

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> DirectoryTarget:
        return cls(spec, how.plan_hash, root=how.root)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path:
        refuse_unwritable_directory(str(spec), Path(spec.name))
        return Path(spec.name).resolve()

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(file.path for file in self._files())

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return tuple(file.identity for file in self._files())

    @property
    def place(self) -> Path:
        return self._directory

    @property
    def place_identity(self) -> FileIdentity:
        return self._file.parent_identity

    def claim(self) -> None:
        path = self._file.path
        self._file = self._work_file(path)
        self._more = [self._work_file(found) for found in _numbered(path)]
        self._direct_supported = probe_direct(self._directory)

    def facts(self) -> TargetFacts:
        return file_facts(self.spec, self._file, direct_supported=self._direct_supported, root=self._root)

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        there = {file.path: file for file in (*self._more, *self._of_run)}
        self.check_place()
        refuse_without_room(
            str(self.spec),
            self._directory,
            needed_bytes=work_bytes + files * (file_bytes or work_bytes),
            needed_files=1 + files - len([path for path in self.paths if path.exists()]),
            held_bytes=sum(file.allocated_bytes for file in self._files()),
        )
        summary = self._file.prepare(work_bytes)
        self._more = [there.get(path) or self._work_file(path) for path in self._names(files)]
        # Further files were made by a run, and are left for the run that reads them.
        self._of_run = [file for file in there.values() if file not in self._more]
        for file in self._more:
            file.prepare(file_bytes or work_bytes)
        return summary + (f", and {files} of_threads it, one for each thread" if files else "")

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        there = {file.path: file for file in self._more}
        of_threads = [there.get(path) for path in self._names(files)]
        whole = (file is not None and file.is_whole(file_bytes or work_bytes) for file in of_threads)
        return self._file.is_whole(work_bytes) and all(whole)

    def make_files(self, count: int, file_bytes: int) -> None:
        self.remove_files()
        for path in self._names(count):
            try:
                file = self._work_file(path)
                self._of_run.append(file)
                file.prepare(file_bytes)
            except NoRoom as full:
                raise RunFailed(str(full), cause="ENOSPC") from full
            except Refused as taken:
                raise RunFailed(str(taken), cause="EEXIST") from taken

    def remove_files(self) -> None:
        while self._of_run:
            self._of_run.pop().discard()

    def purge(self) -> str:
        self.remove_files()
        for file in (self._file, *self._more):
            file.renew()
        return f"removed and made {self.path} again; {PURGED_FILE}"

    def close(self) -> None:
        for file in self._files():
            file.close()

    def cleanup(self) -> None:
        # If the directory was unmounted or replaced, the files there now do not belong to this plan.
        if self._file.is_claimed:
            remove_remains_of_runs(self._directory, self.path.name)
        for file in self._files():
            file.discard()

    def check_place(self) -> None:
        """Raise RunFailed when the directory or its work file is another one than was opened."""
        self._file.check_place()

    def _files(self) -> tuple[WorkFile, ...]:
        return self._file, *self._more, *self._of_run

    def _names(self, count: int) -> list[Path]:
        """The files of the threads."""
        return [self.path.with_name(f"{self.path.name}.{number}") for number in range(count)]

    def _work_file(self, path: Path) -> WorkFile:
        """A work file of this plan; one that is already there is claimed."""
        file = WorkFile(str(self.spec), path, plan_hash=self._plan_hash)
        if os.path.lexists(path):
            refuse_file_in_use(str(self.spec), path, root=self._root)
            file.claim()
        return file


def _numbered(path: Path) -> list[Path]:
    """The files of threads that lie next to a work file, in their order; a copy of the user's has another name."""
    numbers = (found.name.removeprefix(f"{path.name}.") for found in path.parent.glob(f"{path.name}.*"))
    own = (int(number) for number in numbers if re.fullmatch("0|[1-9][0-9]*", number))
    return [path.with_name(f"{path.name}.{number}") for number in sorted(own)]


def refuse_unwritable_directory(text: str, directory: Path) -> None:
    """Refuse a path that is not a directory in which a file can be made. Touches nothing."""
    try:
        status = directory.stat()
    except FileNotFoundError:
        hint = "; a ~ is not expanded here, write the path in full" if str(directory).startswith("~") else ""
        raise Refused(
            text, f"the directory {directory} does not exist{hint}", advice="make it first", code="not-found"
        ) from None
    except OSError as error:
        raise Refused(
            text, f"{directory} cannot be looked at: {error.strerror}", code="unreadable"
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise Refused(
            text,
            f"{directory} is {kind_of(status.st_mode)}, not a directory",
            advice="use file: for a file",
            code="wrong-kind",
        )
    if _is_of_device_nodes(directory, status):
        raise Refused(
            text,
            f"{directory} holds device nodes, and a new file there would be in memory, not on a device",
            advice="a device is block:PATH, check its name",
            code="wrong-kind",
        )
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        raise Refused(
            text,
            f"{directory} is on a file system mounted read-only",
            advice="mount it writable",
            code="unwritable",
        )
    if not status.st_mode & 0o222:
        raise Refused(
            text,
            f"{directory} is read-only (mode {stat.S_IMODE(status.st_mode):04o})",
            advice="chmod u+w it",
            code="unwritable",
        )
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        raise Refused(
            text,
            f"no permission to write in {directory}",
            advice="choose another or change its owner or mode",
            code="unwritable",
        )


def _is_of_device_nodes(directory: Path, status: os.stat_result) -> bool:
    """Whether a directory is in the file system of device nodes: /dev, what of it is mounted elsewhere, or a devtmpfs.

    /dev/shm, a file system of its own, is not.
    """
    real = directory.resolve()
    mount = mount_of(real, read_mounts(), device_number(status.st_dev))
    is_below = real.is_relative_to("/dev") and status.st_dev == os.stat("/dev").st_dev
    return is_below or (mount is not None and mount.fs_type == "devtmpfs")


def file_facts(spec: TargetSpec, file: WorkFile, *, direct_supported: bool | None, root: Path) -> TargetFacts:
    """The facts of a target that is one work file. Space that the file itself occupies counts as free.

    `direct_supported` is None where nothing may be made to try it.
    """
    try:
        ground = look_at(file.path.parent, root=root)
    except OSError as error:
        failure = RunFailed.from_os_error(f"{spec}: {file.path.parent} cannot be looked at", error)
        failure.cause = "vanished"
        raise failure from error
    return TargetFacts(
        kind=spec.scheme,
        name=spec.name,
        capacity_bytes=ground.capacity_bytes,
        free_bytes=ground.free_bytes + file.allocated_bytes,
        memory_bytes=memory_bytes(root),
        block_bytes=ground.block_bytes,
        direct_supported=ground.has_direct if direct_supported is None else direct_supported,
        host_layer=True,
        privileged=may_take_steps(),
        memory_file_system=ground.memory_file_system,
        free_files=None if ground.free_files is None else ground.free_files + file.path.exists(),
        file_block_bytes=ground.file_block_bytes,
    )


# `dir:PATH` without a work file: every run makes, names and removes files of its own.
# Scope: the directory target of a study whose runs all have names of the user's for their files. Nothing of Mileage's
# own is in the directory, so that a killed process leaves nothing that the user has not named, and nothing is open
# there between runs.
# What it refuses: what `directory` refuses of the directory.


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


# Find files that killed studies left in a directory: their work files, and files of single runs.
# Scope: the names that Mileage gives, each with eight digits of its plan's hash. A study that is resumed needs
# its work file; what a run made for itself alone nobody needs.
# What it refuses: to remove what a running study has (its work file is locked), and what belongs to another user.

_OF_STUDY: Final = r"\.mileage-[0-9a-f]{8}\.(dat(\.[0-9]+)?|img)"
_OF_RUN: Final = r"(\.mileage-[0-9a-f]{8})\.(tasks|metadata|dat\.iozone(\.[0-9]+)?)"


def remains_in(place: Path) -> list[Path]:
    """All files that studies left in a directory, sorted."""
    return sorted(
        path for path in place.glob(".mileage-*") if re.fullmatch(f"{_OF_STUDY}|{_OF_RUN}", path.name)
    )


def remove_remains_of_runs(place: Path, study: str | None = None) -> list[Path]:
    """Remove what single runs left in a directory; what was removed.

    `study`: the name of the work file of the one study whose remains these are, which the caller has locked; without
    it, those of all studies that are not running.
    """
    removed = []
    for path in remains_in(place):
        found = re.fullmatch(_OF_RUN, path.name)
        if found is None:
            continue
        work = f"{found[1]}.dat"
        if (work != study) if study is not None else is_locked(place / work):
            continue
        with suppress(OSError):
            if path.lstat().st_uid == os.geteuid():
                _remove(path)
                removed.append(path)
    return removed


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
