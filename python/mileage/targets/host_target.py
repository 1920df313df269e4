"""`virtual:DRIVE@HOST`: a file on a modelled host above a virtual drive, in virtual time.

Scope: a host that was just started, with a new file system on a factory-fresh drive, or on a used one
(`virtual:DRIVE@HOST,state=FILE`). The work file is made by writing it once; then everything is synced and the cache
emptied. A purge starts again from there.
What it refuses: drives that find duplicates, since the host hands on how far pages compress, not which are equal; work
files larger than the file system; what the host refuses in its profile; the state of another drive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import HOSTED
from mileage.plan.io_options import Reach
from mileage.regular_file import read_state
from mileage.targets.host_profiles import load_hosted, start_state
from mileage.targets.profiles import profile_identity
from mileage.targets.spec import TargetSpec
from mileage.targets.virtual import SimulatedTarget, core


class HostTarget(SimulatedTarget):
    """A file on a modelled host. Equal calls give equal times."""

    def __init__(self, spec: TargetSpec) -> None:
        super().__init__(spec)
        self.drive_profile, self.host_profile = load_hosted(spec.name)
        self._state_file = start_state(spec.name)
        self._state = None if self._state_file is None else read_state(self._state_file, spec)
        """Read once: every cycle of a study begins with the same state."""
        self._work_bytes = 0
        self._simulated = self._fresh()

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> None:
        load_hosted(spec.name)
        start_state(spec.name)

    @property
    def host(self) -> Any:
        """The host itself, of the core."""
        return self._simulated

    def facts(self) -> TargetFacts:
        free_bytes = self._work_bytes + int(self.host.free_bytes)
        drive = profile_identity(self.drive_profile)
        if self._state is not None:
            drive += f", state {hashlib.sha256(self._state).hexdigest()[:16]}"
        identities = (drive, profile_identity(self.host_profile))
        return self._facts_of(
            self.drive_profile,
            kind=HOSTED,
            size_bytes=free_bytes,
            memory_bytes=int(self.host.memory_bytes),
            host_layer=True,
            identity=" on ".join(identities),
        )

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        if files:
            raise Refused(
                self.spec, 'files = "per_thread" is not built on a modelled host yet', code="needs-files"
            )
        self._refuse_no_work("file", work_bytes)
        try:
            self.host.make_work_file(work_bytes)
        except ValueError as error:
            raise Refused(
                self.spec,
                str(error),
                advice="make the study smaller or choose a larger drive",
                code="no-room",
            ) from error
        self._work_bytes = max(self._work_bytes, work_bytes)
        return f"wrote a work file of {work_bytes} bytes, synced it and emptied the cache"

    def purge(self) -> str:
        self._simulated = self._fresh()
        work_bytes, self._work_bytes = self._work_bytes, 0
        drive = "a factory-fresh drive" if self._state is None else f"the drive as {self._state_file} has it"
        made = f"started the host anew, with a new file system on {drive}"
        return f"{made}; {self.prepare(work_bytes)}" if work_bytes else made

    def trim(self) -> str:
        """Discard all free blocks of the file system."""
        return self._trimmed(self.host.trim, "discarded all free blocks of the file system")

    def run(self, workload: str, poll: Callable[[int, int], bool], reach: Reach | None = None) -> str:
        reach = reach or Reach()
        mode = reach.caching.mode
        if mode == "limited":
            raise ValueError(
                "the memory of a modelled host is a figure of its profile: instead of cache = "
                '"limited:SIZE" write virtual:DRIVE@HOST,memory_bytes=...,cache_bytes=...'
            )
        if mode in ("cold", "dropped"):
            self.host.empty_caches()
        elif mode == "hot":
            self.host.fill_cache()
        return str(self.host.run(workload, poll, reach.options.direct, reach.options.dsync))

    def before_power_cut(self) -> None:
        self.host.track_durability()

    def power_cut(self, seed: int) -> dict[str, int]:
        """What of the synced writes a cut now would lose; the host works on as if there had been none."""
        try:
            synced, lost = self.host.survival(seed)
        finally:
            self.host.forget_durability()
        return {"power_cut_writes_synced": synced, "power_cut_writes_lost": lost}

    def restore(self, state: bytes) -> None:
        self._simulated = self._refused_by(
            "the saved state does not fit this host",
            lambda: core().Host.restore(self.host_profile, self.drive_profile, state),
            "mismatch",
        )

    def _fresh(self) -> Any:
        return self._refused_by(
            "the host refuses its profile",
            lambda: core().Host(self.host_profile, self.drive_profile, self._state),
            "wrong-value",
        )
