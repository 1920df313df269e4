"""Interface of all kinds of targets.

Scope: the life of a target: opened (the guards have passed, nothing is written), prepared (it holds
a work area of known size), purged as often as the study asks, cleaned up.
What it refuses: doing the load. Execute turns a workload on `path`, or on the drive of a virtual target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.plan.filesystems import FileSystem
from mileage.plan.initial_state import FillState
from mileage.plan.io_options import Reach
from mileage.targets.file_identity import FileIdentity
from mileage.targets.queue_settings import Settings
from mileage.targets.spec import TargetSpec


class Simulation(Protocol):
    """A drive in simulated time: what execute needs of a virtual target beyond what every target can do."""

    @property
    def host(self) -> Any:
        """The modelled host of the core, which does work on files. Raises ValueError for a drive without one."""

    def run(self, workload: str, poll: Callable[[int, int], bool], reach: Reach | None = None) -> str:
        """Do a workload (JSON); the JSON of its record. `poll` is given bytes and operations, and ends it with True.

        `reach`: through which calls and with which cache, where a modelled host is above the drive.
        Raises ValueError for what the drive or host cannot do.
        """

    def idle(self, nanoseconds: int) -> None:
        """Leave the drive alone for so long."""

    def before_power_cut(self) -> None:
        """Prepare for `power_cut` after the next run."""

    def power_cut(self, seed: int) -> dict[str, int]:
        """Counters of what a power cut now loses; `seed` draws what chance decides.

        Raises ValueError where nobody knows what is lost.
        """

    def save(self) -> bytes:
        """The drive's whole state, to be given to `restore`."""

    def restore(self, state: bytes) -> None:
        """Put the drive back into a state that `save` returned. Raises Refused when it does not fit."""


@dataclass(frozen=True)
class OpenOptions:
    """Options for opening a target; see `open_target`."""

    plan_hash: str
    destroy: str | None
    keep: bool
    made: FileSystem | None
    settings: Settings
    purge: str
    used: FillState | None
    root: Path
    bare: bool = False


class Target(ABC):
    """An open target. As a context manager it cleans up on the way out, whatever the way was."""

    is_marked: bool = True
    """Whether `resumes` can distinguish writes of this plan from later writes of another program."""
    stands: bool = False
    """Whether `place` is the same before and after `prepare`: nothing is attached, mounted or set for a study."""

    def __init__(self, spec: TargetSpec) -> None:
        self.spec = spec

    @classmethod
    @abstractmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> Target:
        """The target after its guards have passed: looked at, and neither claimed nor written. Raises Refused."""

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path | None:
        """Run the guards alone: the existing directory that the target lives in, or the device; None without one.

        Raises Refused.
        """
        return None

    @property
    def is_virtual(self) -> bool:
        """True when time is simulated and there is no path."""
        return self.simulation is not None

    @property
    def simulation(self) -> Simulation | None:
        """The drive whose time is simulated; None for what is measured in real time."""
        return None

    def recent_lateness(self) -> Mapping[str, int]:
        """How late the answers of a served drive were since this was last asked; empty for others.

        Raises RunFailed when the drive does not answer.
        """
        return {}

    def drive_counters(self) -> Mapping[str, int]:
        """What a served drive has counted since it began, by the names that virtual drives have; empty for others.

        Raises RunFailed when the drive does not answer.
        """
        return {}

    @property
    @abstractmethod
    def path(self) -> Path | None:
        """Path of the file or device under test; None for a virtual drive. Exists after `prepare`."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file that runs may use: `path`, and those of single threads; empty for a virtual drive."""
        return () if self.path is None else (self.path,)

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        """Expected identity of each of `paths`, in order; empty before `prepare`, and for a virtual drive."""
        return ()

    @property
    def place_identity(self) -> FileIdentity | None:
        """Expected identity of `place`, where it is a directory in which runs make files."""
        return None

    @property
    @abstractmethod
    def place(self) -> Path | None:
        """The existing directory whose environment belongs to the target; None for a virtual drive."""

    def claim(self) -> None:
        """Take over and lock what this plan left there earlier, if anything. Until then nothing is open for writing.

        Raises Refused when another study uses it, or when it is not what a plan leaves.
        """
        return

    @abstractmethod
    def facts(self) -> TargetFacts:
        """Facts for a plan; nothing is opened for writing.

        Raises RunFailed when the target is no longer there.
        """

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        """Whether `prepare` with the same sizes keeps everything that this plan wrote earlier.

        Attaches and mounts the target for the check. False when any part is missing: `prepare` then makes an empty one.
        """
        return self.path is not None and self.path.exists()

    @abstractmethod
    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        """Make the work area hold at least `work_bytes` (> 0) and say in words what was done.

        With `files`, that many further files of `file_bytes` each (0 for the size of the work file) are made next to
        the work file, one per thread: `PATH.0`, `PATH.1` and so on.

        Its content is undefined afterwards. Raises Refused when it does not fit, and RunFailed (cause: the
        errno name, or "vanished") when the system fails.
        """

    def make_files(self, count: int, file_bytes: int) -> None:
        """Make `files` files of `file_bytes` each for the threads of one run: `PATH.0`, `PATH.1` and so on.

        What an earlier run had there is removed before. Raises Refused where the target is no directory, and RunFailed:
        ENOSPC where they do not fit, EEXIST where something else is in the way.
        """
        raise Refused(
            self.spec,
            "is no directory, so threads have no files of their own",
            expected="dir:",
            code="needs-files",
        )

    def remove_files(self) -> None:
        """Remove what `make_files` made. May be repeated; raises RunFailed."""
        return

    @abstractmethod
    def purge(self) -> str:
        """Bring the prepared target back to its start state; says in words how, and how far that goes.

        Raises RunFailed as `prepare` does.
        """

    def trim(self) -> str:
        """Discard (TRIM) the unused blocks; returns how, in words. Raises Refused where the target cannot."""
        raise Refused(
            self.spec, "knows no trim", expected='carryover = "none" or "purge"', code="unsupported"
        )

    def remount(self) -> str:
        """Unmount and mount again what is measured, which empties caches. Raises Refused where the target cannot."""
        raise Refused(
            self.spec,
            "is not mounted by Mileage, so it is not remounted",
            expected='carryover = "none" or "purge"',
            code="unsupported",
        )

    @abstractmethod
    def close(self) -> None:
        """Release the target and keep the work area for a later resume. May be repeated."""

    @abstractmethod
    def cleanup(self) -> None:
        """Remove everything Mileage put there and let go. May be called twice, and before `prepare`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()
