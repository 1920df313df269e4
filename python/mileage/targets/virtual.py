"""`virtual:NAME`: a drive that ships with Mileage, or one from the user's own profile (`virtual:PATH.toml`).

Scope: a factory-fresh drive in virtual time. A purge replaces it by a new drive
without wear.
What it refuses: work areas larger than the drive, and whatever the drive itself refuses in its profile.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.plan.io_options import Reach
from mileage.targets.profiles import alternatives_of, load_profile, profile_identity, rated_write_bytes, trims
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target

BLOCK_BYTES = 512
"""Logical block size of every virtual drive."""


class VirtualTarget(Target):
    """A virtual drive. It has no randomness of its own: equal operations give equal times.

    `make_drive` builds a drive from the profile's text; None means the built-in `mileage._core.Drive`.
    """

    def __init__(self, spec: TargetSpec, *, make_drive: Callable[[str], Any] | None = None) -> None:
        super().__init__(spec)
        self.profile = load_profile(spec.name)
        self._make_drive = make_drive or _core().Drive
        self._drive: Any = self._fresh()

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> VirtualTarget:
        return cls(spec)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> None:
        load_profile(spec.name)

    @property
    def host(self) -> Any:
        raise ValueError(f"{self.spec} has no host: give one, {self.spec}@HOST")

    @property
    def simulation(self) -> VirtualTarget:
        return self

    @property
    def drive(self) -> Any:
        """The simulated drive, an object of the compiled core."""
        return self._drive

    @property
    def path(self) -> None:
        return None

    @property
    def place(self) -> None:
        return None

    def facts(self) -> TargetFacts:
        capacity_bytes = int(self._drive.capacity_bytes)
        return TargetFacts(
            kind=self.spec.scheme,
            name=self.spec.name,
            capacity_bytes=capacity_bytes,
            free_bytes=capacity_bytes,
            memory_bytes=0,
            block_bytes=BLOCK_BYTES,
            virtual=True,
            direct_supported=True,
            rated_write_bytes=rated_write_bytes(self.profile),
            host_layer=False,
            identity=profile_identity(self.profile),
            trims=trims(self.profile),
            alternatives=alternatives_of(self.profile),
        )

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        if files:
            raise Refused(
                self.spec,
                'files = "per_thread" needs files',
                advice="a drive without a host has none",
                code="needs-files",
            )
        if work_bytes <= 0:
            raise Refused(
                self.spec,
                f"a work area of {work_bytes} bytes makes no sense",
                expected="more than 0",
                code="out-of-range",
            )
        capacity_bytes = int(self._drive.capacity_bytes)
        if work_bytes > capacity_bytes:
            raise Refused(
                self.spec,
                f"the study needs {work_bytes} bytes and the drive has {capacity_bytes}",
                advice="make the study smaller or choose a larger drive",
                code="no-room",
            )
        return f"took {work_bytes} of the {capacity_bytes} bytes of {self._drive.name}"

    def purge(self) -> str:
        self._drive = self._fresh()
        return f"replaced {self._drive.name} by a factory-fresh one"

    def trim(self) -> str:
        """Discard all of the drive; its wear stays."""
        try:
            self._drive.discard_all()
        except ValueError as error:
            raise Refused(self.spec, str(error), code="no-effect") from error
        return f"discarded all {self._drive.capacity_bytes} bytes of {self._drive.name}"

    def run(self, workload: str, poll: Callable[[int, int], bool], reach: Reach | None = None) -> str:
        return str(self._drive.run(workload, poll))

    def idle(self, nanoseconds: int) -> None:
        self._drive.idle(nanoseconds)

    def before_power_cut(self) -> None:
        """Does nothing: a drive knows its cache."""

    def power_cut(self, seed: int) -> dict[str, int]:
        """Cut the power now, and switch it on again; how many acknowledged writes and bytes that lost."""
        lost = list(self._drive.power_cut())
        # Count a write once even if several of its parts were lost.
        return {
            "power_cut_writes_lost": len({write for write, _, _ in lost}),
            "power_cut_bytes_lost": sum(length_bytes for _, _, length_bytes in lost),
        }

    def save(self) -> bytes:
        return bytes(self._drive.save())

    def restore(self, state: bytes) -> None:
        try:
            self._drive = _core().Drive.restore(self.profile, state)
        except ValueError as error:
            raise Refused(
                self.spec, f"the saved state does not fit this drive: {error}", code="mismatch"
            ) from error

    def close(self) -> None:
        """Does nothing: a virtual drive exists in this process only."""

    def cleanup(self) -> None:
        """Does nothing: a virtual drive has no files."""

    def _fresh(self) -> Any:
        try:
            return self._make_drive(self.profile)
        except ValueError as error:
            raise Refused(self.spec, f"the drive refuses its profile: {error}", code="wrong-value") from error


def _core() -> Any:
    """The core; imported late, so that commands that need no drive start fast."""
    return import_module("mileage._core")
