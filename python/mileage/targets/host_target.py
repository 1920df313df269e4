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
from importlib import import_module
from pathlib import Path
from typing import Any

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import HOSTED
from mileage.plan.io_options import Reach
from mileage.regular_file import read_state
from mileage.targets.host_profiles import load_hosted, start_state
from mileage.targets.profiles import alternatives_of, profile_identity, rated_write_bytes, trims
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target
from mileage.targets.virtual import BLOCK_BYTES


class HostTarget(Target):
    """A file on a modelled host. Equal calls give equal times."""

    def __init__(self, spec: TargetSpec) -> None:
        super().__init__(spec)
        self.drive_profile, self.host_profile = load_hosted(spec.name)
        self._state_file = start_state(spec.name)
        self._state = None if self._state_file is None else read_state(self._state_file, spec)
        """Read once: every cycle of a study begins with the same state."""
        self._work_bytes = 0
        self._host: Any = self._fresh()

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> HostTarget:
        return cls(spec)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> None:
        load_hosted(spec.name)
        start_state(spec.name)

    @property
    def simulation(self) -> HostTarget:
        return self

    @property
    def host(self) -> Any:
        """The host itself, of the core."""
        return self._host

    @property
    def path(self) -> None:
        return None

    @property
    def place(self) -> None:
        return None

    def facts(self) -> TargetFacts:
        free_bytes = self._work_bytes + int(self._host.free_bytes)
        drive = profile_identity(self.drive_profile)
        if self._state is not None:
            drive += f", state {hashlib.sha256(self._state).hexdigest()[:16]}"
        identities = (drive, profile_identity(self.host_profile))
        return TargetFacts(
            kind=HOSTED,
            name=self.spec.name,
            capacity_bytes=free_bytes,
            free_bytes=free_bytes,
            memory_bytes=int(self._host.memory_bytes),
            block_bytes=BLOCK_BYTES,
            virtual=True,
            direct_supported=True,
            rated_write_bytes=rated_write_bytes(self.drive_profile),
            host_layer=True,
            identity=" on ".join(identities),
            trims=trims(self.drive_profile),
            alternatives=alternatives_of(self.drive_profile),
        )

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        if files:
            raise Refused(
                self.spec, 'files = "per_thread" is not built on a modelled host yet', code="needs-files"
            )
        if work_bytes <= 0:
            raise Refused(
                self.spec,
                f"a work file of {work_bytes} bytes makes no sense",
                expected="more than 0",
                code="out-of-range",
            )
        try:
            self._host.make_work_file(work_bytes)
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
        self._host = self._fresh()
        work_bytes, self._work_bytes = self._work_bytes, 0
        drive = "a factory-fresh drive" if self._state is None else f"the drive as {self._state_file} has it"
        made = f"started the host anew, with a new file system on {drive}"
        return f"{made}; {self.prepare(work_bytes)}" if work_bytes else made

    def trim(self) -> str:
        """Discard all free blocks of the file system."""
        try:
            self._host.trim()
        except ValueError as error:
            raise Refused(self.spec, str(error), code="no-effect") from error
        return "discarded all free blocks of the file system"

    def run(self, workload: str, poll: Callable[[int, int], bool], reach: Reach | None = None) -> str:
        reach = reach or Reach()
        mode = reach.caching.mode
        if mode == "limited":
            raise ValueError(
                "the memory of a modelled host is a figure of its profile: instead of cache = "
                '"limited:SIZE" write virtual:DRIVE@HOST,memory_bytes=...,cache_bytes=...'
            )
        if mode in ("cold", "dropped"):
            self._host.empty_caches()
        elif mode == "hot":
            self._host.fill_cache()
        return str(self._host.run(workload, poll, reach.options.direct, reach.options.dsync))

    def idle(self, nanoseconds: int) -> None:
        self._host.idle(nanoseconds)

    def before_power_cut(self) -> None:
        self._host.track_durability()

    def power_cut(self, seed: int) -> dict[str, int]:
        """What of the synced writes a cut now would lose; the host works on as if there had been none."""
        try:
            synced, lost = self._host.survival(seed)
        finally:
            self._host.forget_durability()
        return {"power_cut_writes_synced": synced, "power_cut_writes_lost": lost}

    def save(self) -> bytes:
        return bytes(self._host.save())

    def restore(self, state: bytes) -> None:
        try:
            self._host = _core().Host.restore(self.host_profile, self.drive_profile, state)
        except ValueError as error:
            raise Refused(
                self.spec, f"the saved state does not fit this host: {error}", code="mismatch"
            ) from error

    def close(self) -> None:
        """Does nothing: a modelled host exists in this process only."""

    def cleanup(self) -> None:
        """Does nothing: a modelled host has no files outside of this process."""

    def _fresh(self) -> Any:
        try:
            return _core().Host(self.host_profile, self.drive_profile, self._state)
        except ValueError as error:
            raise Refused(self.spec, f"the host refuses its profile: {error}", code="wrong-value") from error


def _core() -> Any:
    """The core; imported late, so that commands that need no host start fast."""
    return import_module("mileage._core")
