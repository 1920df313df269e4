"""A file or a block device that is used as it is, in place: never created, truncated, emptied or removed.

Scope: the target of a study whose state starts "kept". Reading needs no permission of the guards, and the
device may be mounted; writing in place happens only where `--destroy` named the path exactly and the guards passed.
What it refuses: a path that is missing or is neither a regular file nor a block device; sizes beyond its end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mileage.errors import Refused, RunFailed
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import capabilities_of
from mileage.targets.device_identity import alignment_of, identity_of, may_take_steps
from mileage.targets.file import guard_file
from mileage.targets.file_identity import REPLACED, FileIdentity, check_identity
from mileage.targets.filesystem import hole_bytes, look_at, memory_bytes
from mileage.targets.guard import ROOT, block_device_refusal, kind_of
from mileage.targets.ledger import Ledger
from mileage.targets.queue_settings import NO_SETTINGS, Settings, apply_settings
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target


class KeptTarget(Target):
    """`file:PATH` or `block:PATH`, used in place. `destroy` is the path that may be overwritten, as in the target."""

    is_marked = False

    def __init__(
        self,
        spec: TargetSpec,
        *,
        destroy: str | None = None,
        settings: Settings = NO_SETTINGS,
        root: Path = ROOT,
    ) -> None:
        super().__init__(spec)
        self._settings = settings
        self._ledger = Ledger()
        self._root = root
        # Resolve links once, so that all later steps use the same node or file.
        self._path = Path(os.path.realpath(spec.name))
        self._writable = destroy is not None
        if self._writable:
            guard_in_place(spec, destroy=destroy, root=root)
        _refuse_unreadable(spec)
        self._is_device = capabilities_of(spec.scheme).is_block_device
        self._identity = FileIdentity.at(self._path)
        if self._writable:
            # Guard first, then compare with the identity taken before: the guarded file must be the one that is used.
            guard_in_place(spec, destroy=destroy, root=root)
            self._check()
        self._direct_supported = _opens(self._path, os.O_RDONLY | os.O_DIRECT) is None

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> KeptTarget:
        return cls(spec, destroy=how.destroy, settings=how.settings, root=how.root)

    @property
    def path(self) -> Path:
        return self._path

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return (self._identity,)

    @property
    def place(self) -> Path:
        return self._path

    def _check(self) -> None:
        """Raise RunFailed when the path means something else than when the guards passed."""
        check_identity(str(self.spec), self._path, self._identity)

    def facts(self) -> TargetFacts:
        try:
            ground = look_at(self._path, root=self._root)
            size = size_bytes(self._path)
        except OSError as error:
            failure = RunFailed.from_os_error(f"{self.spec}: {self._path} cannot be looked at", error)
            failure.cause = "vanished"
            raise failure from error
        return TargetFacts(
            kind=self.spec.scheme,
            name=self.spec.name,
            capacity_bytes=size,
            free_bytes=size,
            memory_bytes=memory_bytes(self._root),
            block_bytes=ground.block_bytes,
            direct_supported=self._direct_supported,
            host_layer=not self._is_device,
            writable=self._writable,
            privileged=may_take_steps(),
            memory_file_system=ground.memory_file_system,
            hole_bytes=hole_bytes(self._path) if not self._is_device else 0,
            identity=self._lasting_identity(),
            alignment=alignment_of(self._path, root=self._root) if self._is_device else "",
        )

    def _lasting_identity(self) -> str:
        """Identity that stays valid when a study is resumed, possibly after a restart of the machine."""
        if self._is_device:
            return identity_of(self._path, root=self._root)
        return f"inode {self._identity.inode}"

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        refuse_more_files(self.spec, files)
        self._check()
        size = size_bytes(self._path)
        if size < work_bytes:
            raise Refused(
                self.spec, f"the study needs {work_bytes} bytes and {self._path} has {size}", code="no-room"
            )
        if not self._ledger.steps:
            apply_settings(str(self.spec), self._path, self._settings, self._ledger)
        return f"use {self._path} as it is"

    def purge(self) -> str:
        self._check()
        return f"left {self._path} as it is"

    def close(self) -> None:
        """Settings go back; nothing else is held between runs: the engine claims a device for itself."""
        self._ledger.undo_all()

    def cleanup(self) -> None:
        """Settings go back; nothing was made. Raises RunFailed when something else is there by now."""
        self._ledger.undo_all()
        try:
            self._check()
        except RunFailed as failure:
            if failure.cause == REPLACED:
                raise


def refuse_more_files(spec: TargetSpec, files: int) -> None:
    """Refuse a file for each thread where there is but one."""
    if files:
        raise Refused(
            spec,
            f'files = "per_thread" needs a directory, in which {files} files can be made',
            advice="use dir:",
            code="needs-files",
        )


def guard_in_place(spec: TargetSpec, *, destroy: str | None, root: Path = ROOT) -> None:
    """Refuse a file or device that must not be overwritten."""
    path = Path(spec.name)
    if not capabilities_of(spec.scheme).is_block_device:
        if guard_file(spec, destroy=destroy, plan_hash=None, root=root) is None:
            raise Refused(
                spec,
                "there is no such file to keep",
                advice="give the path of one that exists",
                code="not-found",
            )
    elif refusal := block_device_refusal(str(spec), path, root=root):
        raise refusal


def size_bytes(path: Path) -> int:
    """Size of a regular file or a block device. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def _refuse_unreadable(spec: TargetSpec) -> None:
    """Refuse what is not the file or device that was named, or cannot be read."""
    path = Path(spec.name)
    wants_device = capabilities_of(spec.scheme).is_block_device
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        what = "device" if wants_device else "file"
        raise Refused(spec, f"no such {what}", code="not-found") from None
    except OSError as error:
        raise Refused(spec, f"cannot be looked at: {error.strerror}", code="unreadable") from error
    if wants_device and not stat.S_ISBLK(mode):
        raise Refused(
            spec,
            f"this is {kind_of(mode)}, not a block device",
            advice="use dir: or file: for it",
            code="wrong-kind",
        )
    if not wants_device and stat.S_ISBLK(mode):
        raise Refused(spec, "this is a block device", advice="use block: for it", code="wrong-kind")
    if not wants_device and not stat.S_ISREG(mode):
        hint = "; use dir: for it" if stat.S_ISDIR(mode) else ""
        raise Refused(spec, f"{kind_of(mode)}, not a regular file{hint}", code="wrong-kind")
    if cause := _opens(path, os.O_RDONLY):
        raise Refused(spec, f"cannot be opened for reading: {cause.strerror}", code="unreadable")


def _opens(path: Path, flags: int) -> OSError | None:
    """Reason why a path cannot be opened; None when it can."""
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        return error
    return None
