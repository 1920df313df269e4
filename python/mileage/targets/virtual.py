"""`virtual:NAME`: a drive that ships with Mileage, or one from the user's own profile (`virtual:PATH.toml`).

Scope: a factory-fresh drive in virtual time. A purge replaces it by a new drive
without wear.
What it refuses: work areas larger than the drive, and whatever the drive itself refuses in its profile.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.plan.io_options import Reach
from mileage.targets.profiles import alternatives_of, load_profile, profile_identity, rated_write_bytes, trims
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target

BLOCK_BYTES = 512
"""Logical block size of every virtual drive."""


class SimulatedTarget(Target):
    """What is simulated in this process: there is no path, nothing to close and nothing to remove.

    `_simulated` is the object of the compiled core, a drive or a host.
    """

    _simulated: Any

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> Self:
        return cls(spec)

    @property
    def simulation(self) -> Any:
        return self

    @property
    def path(self) -> None:
        return None

    @property
    def place(self) -> None:
        return None

    def _facts_of(
        self, profile: str, *, kind: str, size_bytes: int, memory_bytes: int, host_layer: bool, identity: str
    ) -> TargetFacts:
        return TargetFacts(
            kind=kind,
            name=self.spec.name,
            capacity_bytes=size_bytes,
            free_bytes=size_bytes,
            memory_bytes=memory_bytes,
            block_bytes=BLOCK_BYTES,
            virtual=True,
            rated_write_bytes=rated_write_bytes(profile),
            host_layer=host_layer,
            identity=identity,
            trims=trims(profile),
            alternatives=alternatives_of(profile),
        )

    def _refuse_no_work(self, what: str, work_bytes: int) -> None:
        if work_bytes <= 0:
            text = f"a work {what} of {work_bytes} bytes makes no sense"
            raise Refused(self.spec, text, expected="more than 0", code="out-of-range")

    def _trimmed(self, discard: Callable[[], object], done: str) -> str:
        try:
            discard()
        except ValueError as error:
            raise Refused(self.spec, str(error), code="no-effect") from error
        return done

    def _refused_by(self, what: str, make: Callable[[], Any], code: str) -> Any:
        """What `make` makes. Raises Refused with `what` before the core's reason."""
        try:
            return make()
        except ValueError as error:
            raise Refused(self.spec, f"{what}: {error}", code=code) from error

    def idle(self, nanoseconds: int) -> None:
        self._simulated.idle(nanoseconds)

    def save(self) -> bytes:
        return bytes(self._simulated.save())

    def close(self) -> None:
        """Does nothing: what is simulated exists in this process only."""

    def cleanup(self) -> None:
        """Does nothing: there are no files."""


class VirtualTarget(SimulatedTarget):
    """A virtual drive. It has no randomness of its own: equal operations give equal times.

    `make_drive` builds a drive from the profile's text; None means the built-in `mileage._core.Drive`.
    """

    def __init__(self, spec: TargetSpec, *, make_drive: Callable[[str], Any] | None = None) -> None:
        super().__init__(spec)
        self.profile = load_profile(spec.name)
        self._make_drive = make_drive or core().Drive
        self._simulated = self._fresh()

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> None:
        load_profile(spec.name)

    @property
    def host(self) -> Any:
        raise ValueError(f"{self.spec} has no host: give one, {self.spec}@HOST")

    @property
    def drive(self) -> Any:
        """The simulated drive, an object of the compiled core."""
        return self._simulated

    def facts(self) -> TargetFacts:
        return self._facts_of(
            self.profile,
            kind=self.spec.scheme,
            size_bytes=int(self.drive.capacity_bytes),
            memory_bytes=0,
            host_layer=False,
            identity=profile_identity(self.profile),
        )

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        if files:
            text, advice = 'files = "per_thread" needs files', "a drive without a host has none"
            raise Refused(self.spec, text, advice=advice, code="needs-files")
        self._refuse_no_work("area", work_bytes)
        capacity_bytes = int(self.drive.capacity_bytes)
        if work_bytes > capacity_bytes:
            raise Refused(
                self.spec,
                f"the study needs {work_bytes} bytes and the drive has {capacity_bytes}",
                advice="make the study smaller or choose a larger drive",
                code="no-room",
            )
        return f"took {work_bytes} of the {capacity_bytes} bytes of {self.drive.name}"

    def purge(self) -> str:
        self._simulated = self._fresh()
        return f"replaced {self.drive.name} by a factory-fresh one"

    def trim(self) -> str:
        """Discard all of the drive; its wear stays."""
        done = f"discarded all {self.drive.capacity_bytes} bytes of {self.drive.name}"
        return self._trimmed(self.drive.discard_all, done)

    def run(self, workload: str, poll: Callable[[int, int], bool], reach: Reach | None = None) -> str:
        return str(self.drive.run(workload, poll))

    def before_power_cut(self) -> None:
        """Does nothing: a drive knows its cache."""

    def power_cut(self, seed: int) -> dict[str, int]:
        """Cut the power now, and switch it on again; how many acknowledged writes and bytes that lost."""
        lost = list(self.drive.power_cut())
        # Count a write once even if several of its parts were lost.
        return {
            "power_cut_writes_lost": len({write for write, _, _ in lost}),
            "power_cut_bytes_lost": sum(length_bytes for _, _, length_bytes in lost),
        }

    def restore(self, state: bytes) -> None:
        self._simulated = self._refused_by(
            "the saved state does not fit this drive",
            lambda: core().Drive.restore(self.profile, state),
            "mismatch",
        )

    def _fresh(self) -> Any:
        return self._refused_by(
            "the drive refuses its profile", lambda: self._make_drive(self.profile), "wrong-value"
        )


def core() -> Any:
    """The core; imported late, so that commands that need no simulation start fast."""
    return import_module("mileage._core")
