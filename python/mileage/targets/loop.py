"""`loop:SIZE` or `loop:SIZE@FOLDER`: a raw loop device over a file that Mileage makes and removes.

Scope: a block device for somebody who has none to spare. Its speed is that of the file system below it; what
a device does with discards, flushes and direct I/O can be tried on it.
What it refuses: what is refused for a directory target in its folder.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.regular_file import read_state
from mileage.targets.device_identity import may_take_steps
from mileage.targets.devices import Device, LoopDevice, MadeDevice
from mileage.targets.directory import refuse_unwritable_directory
from mileage.targets.file_identity import FileIdentity, check_identity
from mileage.targets.filesystem import available_memory_bytes, memory_bytes
from mileage.targets.guard import ROOT
from mileage.targets.in_place_target import refuse_more_files
from mileage.targets.ledger import Ledger
from mileage.targets.profiles import load_profile, profile_identity
from mileage.targets.purge import discard
from mileage.targets.queue_settings import NO_SETTINGS, Settings, apply_settings, undo_settings
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions
from mileage.targets.spec import LoopName, TargetSpec
from mileage.targets.target_interface import OpenOptions, Target

_NOT_ATTACHED = Path("/run/mileage/not-attached")


class LoopTarget(Target):
    """A raw loop device, attached when it is prepared."""

    def __init__(
        self,
        spec: TargetSpec,
        plan_hash: str,
        settings: Settings = NO_SETTINGS,
        *,
        root: Path = ROOT,
        device: MadeDevice | None = None,
    ) -> None:
        super().__init__(spec)
        self._root = root
        self._device = device or LoopDevice(spec, plan_hash, settings, root=root)
        self._ledger = Ledger()
        self._is_new = False

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> LoopTarget:
        return cls(spec, how.plan_hash, how.settings, root=how.root)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path | None:
        folder = Path(LoopName.parse(spec).folder)
        refuse_unwritable_directory(str(spec), folder)
        return folder.resolve()

    @property
    def path(self) -> Path:
        return self._device.path or _NOT_ATTACHED

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return (self._device.identity,)

    @property
    def place(self) -> Path:
        return self._device.path or self._device.folder

    def claim(self) -> None:
        self._device.claim()

    def facts(self) -> TargetFacts:
        size = self._device.size_bytes
        return TargetFacts(
            kind="block",
            name=self.spec.name,
            capacity_bytes=size,
            free_bytes=min(size, self._device.free_bytes),
            memory_bytes=memory_bytes(self._root),
            block_bytes=self._device.block_bytes,
            host_layer=False,
            privileged=may_take_steps(),
            device_bytes=size,
        )

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        if self._device.path is None and not self._device.is_whole():
            return False
        self._device.attach(self._ledger)
        return True

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        refuse_more_files(self.spec, files)
        if work_bytes > self._device.size_bytes:
            raise Refused(
                self.spec,
                f"the study needs {work_bytes} bytes and the device has {self._device.size_bytes}",
                code="no-room",
            )
        if self._device.path is not None:
            return f"kept {self._device.path}"
        summary = self._device.empty(self._ledger)
        self._is_new = True
        return summary

    def purge(self) -> str:
        if self._is_new:
            self._is_new = False
            return "nothing to purge: it was made just now"
        self._device.check()
        return self._device.empty(self._ledger)

    def trim(self) -> str:
        return discard(str(self.spec), self.path, self._device.identity)

    def close(self) -> None:
        self._device.detach(self._ledger)
        self._ledger.undo_all()
        self._device.close()

    def cleanup(self) -> None:
        try:
            self._device.check()
        finally:
            self._device.detach(self._ledger)
            self._ledger.undo_all()
            self._device.remove()


# `served:PROFILE` or `served:PROFILE@STATE`: a virtual drive below the real kernel, as a loop device of its own.
# Scope: a block device whose speed, state and age are those of a stated drive. Every cycle begins with a new drive, or
# with the drive as STATE has it, so that kernels, file systems and their options meet identical drives.
# What it refuses: users other than root, unknown drives, a STATE that is no file.

_MEMORY_PERCENT: Final = 80
"""Share of the memory that is available that data of a served drive may take."""
PLACES = Path("/run/mileage")
"""Parent directory of the mount points, each named by its plan's hash."""


class ServedName(msgspec.Struct, frozen=True):
    """Parsed served: target."""

    profile: str
    state: Path | None

    @classmethod
    def parse(cls, spec: TargetSpec) -> ServedName:
        """The drive, and the file of its state. Raises Refused."""
        profile, _, state = spec.name.partition("@")
        load_profile(profile)
        if state and not Path(state).is_file():
            raise Refused(
                spec,
                f"{state} is no file",
                expected="served:PROFILE@STATE with a state that --save of drive serve wrote",
                code="not-found",
            )
        return cls(profile, Path(state) if state else None)


class ServedDevice(MadeDevice):
    """A loop device over a drive that is served by a process of its own."""

    def __init__(
        self, spec: TargetSpec, plan_hash: str, settings: Settings = NO_SETTINGS, *, root: Path = ROOT
    ) -> None:
        name = ServedName.parse(spec)
        self._spec = spec
        self._settings = settings
        self._root = root
        self._options = ServedDriveOptions(
            profile=name.profile, state=name.state, at=PLACES / f"served-{plan_hash[:8]}"
        )
        self._drive: ServedDrive | None = None
        self._last: Path | None = None
        self._identity = FileIdentity(0, 0)

    @property
    def path(self) -> Path | None:
        return self._drive.loop if self._drive is not None else None

    @property
    def identity(self) -> FileIdentity:
        return self._identity

    @cached_property
    def size_bytes(self) -> int:
        from mileage import _core

        return int(_core.Drive(load_profile(self._options.profile)).capacity_bytes)

    @property
    def block_bytes(self) -> int:
        return self._options.sector_bytes

    @property
    def folder(self) -> Path:
        """The existing directory whose environment belongs to the drive."""
        return Path("/")

    @property
    def free_bytes(self) -> int:
        """Bytes that a work area can have: the data is in memory, of which something has to be left."""
        return min(self.size_bytes, available_memory_bytes(self._root) * _MEMORY_PERCENT // 100)

    @property
    def stated_identity(self) -> str:
        profile = profile_identity(load_profile(self._options.profile))
        if self._options.state is None:
            return profile
        return f"{profile}, state {hashlib.sha256(read_state(self._options.state)).hexdigest()[:16]}"

    def recent_lateness(self) -> Mapping[str, int]:
        if self._drive is None:
            return {}
        found = self._drive.control("lateness")
        late = {f"served_late_{which}_ns": found[f"{which}_ns"] for which in ("p50", "p99", "max")}
        return {
            "served_answers": int(found["answers"]),
            **{k: int(v) for k, v in late.items() if v is not None},
        }

    def drive_counters(self) -> Mapping[str, int]:
        if self._drive is None:
            return {}
        return {name: int(value) for name, value in self._drive.control("stats")["counters"].items()}

    def is_whole(self) -> bool:
        """False: what was written ends with the process that serves the drive."""
        return False

    def attach(self, ledger: Ledger) -> Path:
        if self._drive is None:
            drive = ServedDrive(str(self._spec), self._options)
            drive.start(ledger)
            self._drive = drive
            self._last = drive.attach(ledger, self._last)
            self._identity = FileIdentity.at(self._last)
            apply_settings(str(self._spec), self._last, self._settings, ledger)
        assert self._last is not None
        return self._last

    def check(self) -> None:
        """Raise RunFailed when another device has its number by now."""
        if self.path is not None:
            check_identity(str(self._spec), self.path, self._identity)

    def empty(self, ledger: Ledger) -> str:
        self.detach(ledger)
        path = self.attach(ledger)
        begun = f"as {self._options.state} has it" if self._options.state else "new"
        return f"served {self._options.profile}, {begun}, at {path}"

    def detach(self, ledger: Ledger) -> None:
        if self._drive is not None:
            undo_settings(ledger)
            self._drive.stop(ledger)
            self._drive = None

    def remove(self) -> None:
        """Does nothing: the drive was in memory."""


class ServedTarget(LoopTarget):
    """A served drive as a raw device."""

    def __init__(
        self, spec: TargetSpec, plan_hash: str, settings: Settings = NO_SETTINGS, *, root: Path = ROOT
    ) -> None:
        super().__init__(
            spec, plan_hash, settings, root=root, device=ServedDevice(spec, plan_hash, settings, root=root)
        )

    def facts(self) -> TargetFacts:
        return msgspec.structs.replace(super().facts(), identity=self._device.stated_identity)

    def recent_lateness(self) -> Mapping[str, int]:
        return self._device.recent_lateness()

    def drive_counters(self) -> Mapping[str, int]:
        return self._device.drive_counters()

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path | None:
        refuse_no_root(spec)
        ServedName.parse(spec)
        return None


def refuse_no_root(spec: TargetSpec) -> None:
    """Raise Refused for somebody who may not attach a loop device."""
    if os.geteuid() != 0 and not may_take_steps():
        profile = spec.name.partition("@")[0]
        raise Refused(
            spec,
            "a served drive is attached to a loop device, which needs root",
            advice=f"without it use virtual:{profile}, or the file of "
            f"`mileage drive serve {shlex.quote(profile)} --at DIR`",
            code="needs-root",
        )


def served_device(spec: TargetSpec, how: OpenOptions) -> Device:
    """The device below a file system on this target."""
    refuse_no_root(spec)
    return ServedDevice(spec, how.plan_hash, how.settings, root=how.root)
