"""`null:`: nothing at all.

Scope: a target whose operations complete at once, so that what is measured is the engine itself: offsets,
clock, histograms.
The engine refuses what has no meaning without a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mileage.model.target_facts import TargetFacts
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target

CAPACITY_BYTES: Final = 1 << 40


class NullTarget(Target):
    """The engine's null API: no call is made and no byte is moved."""

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> NullTarget:
        return cls(spec)

    @property
    def path(self) -> Path:
        """A path that exists; the null API never opens it."""
        return Path("/dev/null")

    @property
    def place(self) -> None:
        return None

    def facts(self) -> TargetFacts:
        return TargetFacts(
            kind=self.spec.scheme,
            name=self.spec.name,
            capacity_bytes=CAPACITY_BYTES,
            free_bytes=CAPACITY_BYTES,
            memory_bytes=0,
            block_bytes=512,
            host_layer=False,
        )

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        return f"nothing to prepare for {work_bytes} bytes"

    def purge(self) -> str:
        return "nothing to purge"

    def close(self) -> None:
        """Does nothing: there is no file to close."""

    def cleanup(self) -> None:
        """Does nothing: there are no files."""
