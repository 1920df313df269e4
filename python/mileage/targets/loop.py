"""`loop:SIZE` or `loop:SIZE@FOLDER`: a raw loop device over a file that Mileage makes and removes.

Scope: a block device for somebody who has none to spare. Its speed is that of the file system below it; what
a device does with discards, flushes and direct I/O can be tried on it.
What it refuses: what is refused for a directory target in its folder.
"""

from __future__ import annotations

from pathlib import Path

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.targets.block_ioctls import discard
from mileage.targets.device_identity import may_take_steps
from mileage.targets.devices import LoopDevice, MadeDevice
from mileage.targets.directory import refuse_unwritable_directory
from mileage.targets.file_identity import FileIdentity
from mileage.targets.filesystem import memory_bytes
from mileage.targets.guard import ROOT
from mileage.targets.in_place_target import refuse_more_files
from mileage.targets.ledger import Ledger
from mileage.targets.queue_settings import NO_SETTINGS, Settings
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
