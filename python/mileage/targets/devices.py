"""The device below a file system that Mileage makes, or below a raw loop target: found, attached, emptied, let go.

Scope: two kinds of device with one life. A block device of the user's is given up with `--destroy` and is
discarded; a loop device stands over a file that Mileage makes, which is made anew.
What it refuses: what the guards refuse; a loop file where there is no room for it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from mileage.errors import Refused, RunFailed
from mileage.targets.directory import refuse_unwritable_directory
from mileage.targets.file_identity import FileIdentity, check_identity, opened_as, replaced
from mileage.targets.filesystem import look_at
from mileage.targets.guard import ROOT, backing_of, block_device_refusal
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import AttachedLoop
from mileage.targets.programs import call
from mileage.targets.purge import purge_device
from mileage.targets.queue_settings import NO_SETTINGS, Settings, apply_settings, undo_settings
from mileage.targets.spec import LoopName, TargetSpec
from mileage.targets.workfile import WorkFile


class Device(ABC):
    """A block device whose data may be destroyed."""

    @property
    @abstractmethod
    def path(self) -> Path | None:
        """Path of the device; None while it is not attached."""

    @property
    @abstractmethod
    def identity(self) -> FileIdentity:
        """Expected identity of the device, once attached."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Its size, also before it is attached."""

    @property
    @abstractmethod
    def block_bytes(self) -> int:
        """Its logical block size."""

    def claim(self) -> None:
        """Take over and lock what this plan left there earlier, if anything. Raises Refused."""
        return

    @abstractmethod
    def attach(self, ledger: Ledger) -> Path:
        """Make it ready, keeping what is on it, and say where it is. Raises Refused and RunFailed."""

    @property
    def stated_identity(self) -> str:
        """Identity of a device whose state follows from files; empty for others."""
        return ""

    def recent_lateness(self) -> Mapping[str, int]:
        """As of a target."""
        return {}

    def drive_counters(self) -> Mapping[str, int]:
        """As of a target."""
        return {}

    @abstractmethod
    def empty(self, ledger: Ledger) -> str:
        """Make it as good as new, and ready; says in words how. Nothing may be mounted from it."""

    def close(self) -> None:
        """Unlock the device and its resources, and keep them for a later resume."""
        return

    @abstractmethod
    def detach(self, ledger: Ledger) -> None:
        """Let go of it; what is on it stays."""

    @abstractmethod
    def remove(self) -> None:
        """Remove what Mileage made for it. It is detached."""


class MadeDevice(Device):
    """A device that Mileage makes and removes."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """An existing directory whose environment belongs to the device."""

    @property
    @abstractmethod
    def free_bytes(self) -> int:
        """Bytes that a work area on it can have."""

    @abstractmethod
    def is_whole(self) -> bool:
        """Whether what this plan made before exists in its full size."""

    @abstractmethod
    def check(self) -> None:
        """Raise RunFailed when another device has its number by now."""


class GivenDevice(Device):
    """A block device of the user's, given up with `--destroy`."""

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        *,
        destroy: str | None,
        purge: str = "discard",
        root: Path = ROOT,
    ) -> None:
        self._spec = spec
        self._purge = purge
        self._settings = settings
        self._attached = False
        self._root = root
        # Resolve links once, so that all later steps use the same device node.
        self._path = Path(os.path.realpath(spec.name))
        if refusal := block_device_refusal(str(spec), self._path, root=root):
            raise refusal
        if destroy is None:
            raise Refused(
                spec,
                "to make a file system on it destroys what is on it",
                advice=f"to allow its loss add --destroy {spec.name}",
                code="needs-destroy",
            )
        self._identity = FileIdentity.at(self._path)
        if refusal := block_device_refusal(str(spec), self._path, root=root):
            raise refusal
        self._check()

    @property
    def path(self) -> Path:
        return self._path

    @property
    def size_bytes(self) -> int:
        return look_at(self._path, root=self._root).capacity_bytes

    @property
    def block_bytes(self) -> int:
        return look_at(self._path, root=self._root).block_bytes

    def attach(self, ledger: Ledger) -> Path:
        self._check()
        if not self._attached:
            apply_settings(str(self._spec), self._path, self._settings, ledger)
            self._attached = True
        return self._path

    def empty(self, ledger: Ledger) -> str:
        self.attach(ledger)
        if refusal := block_device_refusal(str(self._spec), self._path, root=self._root):
            raise refusal
        if self._purge == "none":
            return f"left what is on {self._path} to be written over"
        return purge_device(
            str(self._spec), self._path, self._purge, ledger, own=self._identity, root=self._root
        )

    def detach(self, ledger: Ledger) -> None:
        if self._attached:
            undo_settings(ledger)
            self._attached = False

    def remove(self) -> None:
        """Does nothing: the device was there before the study."""

    @property
    def identity(self) -> FileIdentity:
        return self._identity

    def _check(self) -> None:
        """Raise RunFailed when the path means another device than when the guards passed."""
        check_identity(str(self._spec), self._path, self._identity)


class LoopDevice(MadeDevice):
    """A loop device over a file of Mileage's own, which resume finds again by the hash of the plan."""

    def __init__(
        self, spec: TargetSpec, plan_hash: str, settings: Settings = NO_SETTINGS, *, root: Path = ROOT
    ) -> None:
        wanted = LoopName.parse(spec)
        self._settings = settings
        self._spec = spec
        self._root = root
        self._size_bytes = wanted.size_bytes
        refuse_unwritable_directory(str(spec), Path(wanted.folder))
        folder = Path(wanted.folder).resolve()
        self._file_path = folder / f".mileage-{plan_hash[:8]}.img"
        self._plan_hash = plan_hash
        self._file = WorkFile(str(spec), self._file_path, plan_hash=plan_hash)
        self._step = AttachedLoop(str(self._file_path))
        self._path: Path | None = None
        self._last: Path | None = None
        self._identity = FileIdentity(0, 0)
        self._claimed = False

    def claim(self) -> None:
        if os.path.lexists(self._file_path):
            self._file.claim()
            self._claimed = True

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def identity(self) -> FileIdentity:
        return self._identity

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    @property
    def block_bytes(self) -> int:
        return 512

    @property
    def folder(self) -> Path:
        """Folder of the file."""
        return self._file_path.parent

    @property
    def free_bytes(self) -> int:
        """Bytes that a work file can have: free space of its file system plus its present size."""
        return look_at(self.folder, root=self._root).free_bytes + self._file.allocated_bytes

    def is_whole(self) -> bool:
        """Whether the file that this plan made exists in its full size."""
        return self._claimed and self._file.is_whole(self._size_bytes)

    def attach(self, ledger: Ledger) -> Path:
        if self._path is None:
            if not self._claimed:
                self._make()
            self._path = ledger.take(self._step, self._attach)
            self._identity = self._attached_identity(self._path)
            apply_settings(str(self._spec), self._path, self._settings, ledger)
        return self._path

    def check(self) -> None:
        """Raise RunFailed when another device has its number by now."""
        if self._path is not None:
            check_identity(str(self._spec), self._path, self._identity)

    def empty(self, ledger: Ledger) -> str:
        self.detach(ledger)
        if self._claimed:
            self._file.discard()
            self._claimed = False
            self._file = WorkFile(str(self._spec), self._file_path, plan_hash=self._plan_hash)
        self.attach(ledger)
        return f"made {self._file_path} of {self._size_bytes} bytes and attached it to {self._path}"

    def detach(self, ledger: Ledger) -> None:
        if self._path is not None:
            undo_settings(ledger)
            ledger.undo(self._step)
            self._path = None

    def remove(self) -> None:
        self._file.discard()
        self._claimed = False

    def close(self) -> None:
        self._file.close()

    def _attached_identity(self, path: Path) -> FileIdentity:
        """Identity of the loop device. Raises RunFailed when another file than the work file backs it."""
        try:
            with opened_as(str(self._spec), path, None) as descriptor:
                if backing_of(descriptor) == self._file.identity:
                    return FileIdentity.of(descriptor)
        except OSError as error:
            raise RunFailed.from_os_error(f"{self._spec}: {path} cannot be looked at", error) from error
        raise replaced(str(self._spec), self._file_path)

    def _make(self) -> None:
        self._file.prepare(self._size_bytes)
        self._claimed = True

    def _attach(self) -> Path:
        try:
            return self._losetup("--direct-io=on")
        except RunFailed:
            # The file system below does not bypass its page cache (tmpfs): then the loop device does not either.
            self._step.undo()
            return self._losetup()

    def _losetup(self, *options: str) -> Path:
        what, file = str(self._spec), str(self._file_path)
        if self._last is not None:
            # Reuse the device number, so that the environment guard does not see a changed machine between two cycles.
            try:
                call(what, "losetup", *options, str(self._last), file)
            except RunFailed:
                self._step.undo()
            else:
                return self._last
        self._last = Path(call(what, "losetup", "--find", "--show", *options, file).strip())
        return self._last
