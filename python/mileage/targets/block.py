"""`block:PATH` from a purged state: a whole block device whose content the user gave up.

Scope: purging by discarding the whole device. A study whose state starts "kept" uses a device in place
instead, see `kept`.
What it refuses: a device that was not named by `--destroy`, that anything uses, or that takes no discards, since
nothing else brings it back to a known state.
"""

from __future__ import annotations

from pathlib import Path

from mileage.errors import Refused
from mileage.targets.filesystem import queue_word
from mileage.targets.guard import ROOT, block_device_refusal
from mileage.targets.in_place_target import KeptTarget, guard_in_place
from mileage.targets.purge import discard, purge_device
from mileage.targets.queue_settings import NO_SETTINGS, Settings
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions


class BlockTarget(KeptTarget):
    """A block device that is discarded whole before each cycle."""

    def __init__(
        self,
        spec: TargetSpec,
        *,
        destroy: str | None = None,
        settings: Settings = NO_SETTINGS,
        purge: str = "discard",
        root: Path = ROOT,
    ) -> None:
        guard_in_place(spec, destroy=destroy, root=root)
        if destroy is None:
            raise Refused(
                spec,
                "a study that starts from a purged device destroys what is on it",
                advice=f'to allow its loss add --destroy {spec.name}, or only read with state.start = "kept"',
                code="needs-destroy",
            )
        super().__init__(spec, destroy=destroy, settings=settings, root=root)
        self._purge = purge
        most = queue_word(self.path, "discard_max_bytes", root=root)
        if purge == "discard" and most in (None, "0"):
            raise Refused(
                spec,
                "the device takes no discards, so it cannot be purged",
                advice='use it as it is with state.start = "kept"',
                code="unsupported",
            )

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> BlockTarget:
        return cls(spec, destroy=how.destroy, settings=how.settings, purge=how.purge, root=how.root)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path:
        path = Path(spec.name)
        if refusal := block_device_refusal(str(spec), path, root=root):
            raise refusal
        return path.resolve()

    def trim(self) -> str:
        return discard(str(self.spec), self.path, self._identity)

    def purge(self) -> str:
        return purge_device(
            str(self.spec), self.path, self._purge, self._ledger, own=self._identity, root=self._root
        )
