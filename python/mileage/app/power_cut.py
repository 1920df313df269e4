"""`mileage powercut`: real file systems and applications on a served drive whose power fails at random instants.

Scope: for each combination of file system, application and settings a served drive; again and again the
application commits, the power is cut at a drawn instant, the drive is switched on, the file system and the application
recover, and what was acknowledged to the application is compared with what it has.
What it refuses: users other than root, missing programs, and drives of which nobody knows what a power cut loses.

A drawn instant repeats with its seed, what the host did until then does not: it runs in real time. So a loss is
repeated by cutting at the same instants again, not by the same requests.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from mileage.app.power_cut_apps import App, AppState
from mileage.errors import MileageError, Refused, RunFailed
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import MadeDirectory, MountedFileSystem
from mileage.targets.programs import call, find_program, missing
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

FILE_SYSTEMS: Final = ("ext4", "xfs", "btrfs")
_BARRIER_OPTION: Final = {"ext4": "barrier=0", "btrfs": "nobarrier"}
"""Mount option that leaves flushes out; a file system without one is shown a drive without a write cache."""
_EARLIEST_S: Final = 0.05
_LATEST_S: Final = 0.4
_END_S: Final = 30.0


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    fs: str
    app: str
    """Name of the application, with its option."""
    barriers: bool
    """Whether the host sends flushes."""
    protected: bool
    """Whether the drive's write buffer survives a power cut."""
    honest: bool
    """Whether the drive honours flushes."""
    asks: bool
    """Whether the application syncs what it reports."""

    @property
    def must_keep(self) -> bool:
        """Whether nothing that was acknowledged may be lost."""
        return self.asks and (self.protected or (self.barriers and self.honest))

    @property
    def name(self) -> str:
        """Its settings in words."""
        words = [self.fs, self.app]
        words.append("barriers" if self.barriers else "no barriers")
        words.append("protected" if self.protected else "volatile")
        words.append("honest" if self.honest else "lying flush")
        return ", ".join(words)


class CutResult(msgspec.Struct, frozen=True, kw_only=True):
    """One power cut."""

    cut: int
    seed: int
    after_s: float
    """When the power failed, after the application began."""
    acknowledged: int
    """Transactions whose durability was acknowledged to the application, since the cut before."""
    lost: int
    """Of these, those that are missing."""
    torn: int
    """Of these, those that are there and damaged."""
    corrupt: str = ""
    unreplayable: str = ""
    """Why file system or application did not recover."""
    recovery_s: float
    """Mounting and recovery of the application."""

    @property
    def is_failure(self) -> bool:
        """Whether something is wrong that a careful application does not expect."""
        return bool(self.lost or self.torn or self.corrupt or self.unreplayable)


class CombinationResult(msgspec.Struct, frozen=True, kw_only=True):
    """All cuts of a combination."""

    combination: Combination
    cuts: tuple[CutResult, ...]
    repeated: tuple[int, int] | None = None
    """Of a failed cut's seed that was tried again: how often it failed again, and how often it was tried."""

    @property
    def first_failure(self) -> CutResult | None:
        """The first cut at which something was wrong."""
        return next((cut for cut in self.cuts if cut.is_failure), None)

    def total(self, name: str) -> int:
        """Sum of a count over all cuts; of a text the number of cuts that have it."""
        return sum(
            int(bool(value)) if isinstance(value := getattr(cut, name), str) else value for cut in self.cuts
        )


class PowerCutOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign does."""

    drive: str = "intel-x25e-64gb"
    cuts: int = 60
    seed: int = 1
    repeats: int = 3
    speed: str = "real"
    """Speed of the drive's clock; a slow drive has more in its buffer when the power fails."""


def check_programs(kinds: set[str]) -> None:
    """Raise Refused where a campaign cannot run."""
    if os.geteuid() != 0:
        raise Refused("powercut", "mounts file systems, which needs root", code="needs-root")
    for program in (*(f"mkfs.{kind}" for kind in sorted(kinds)), "losetup", "mount"):
        if find_program(program) is None:
            raise Refused("powercut", missing(program), code="needs-program")


class PowerCutBench:
    """A served drive with one file system and one application."""

    def __init__(self, combination: Combination, app: App, options: PowerCutOptions) -> None:
        self._combination, self._app, self._options = combination, app, options
        power = "protected" if combination.protected else "volatile"
        flush = "honoured" if combination.honest else "ignored"
        profile = f"{options.drive},write_buffer_power={power},write_buffer_flush={flush}"
        self._root = Path(tempfile.mkdtemp(prefix="mileage-powercut-", dir="/run"))
        # A server with a user of its own has to reach its files.
        self._root.chmod(0o711)
        self._place = self._root / "fs"
        self._drive = ServedDrive(
            "powercut", ServedDriveOptions(profile=profile, at=self._root / "drive", speed=options.speed)
        )
        self._ledger = Ledger()
        self._device: Path | None = None
        self._known: frozenset[int] = frozenset()
        """Transactions that were there after the last recovery."""

    def __enter__(self) -> PowerCutBench:
        self._ledger.take(MadeDirectory(str(self._root)), lambda: None)
        self._ledger.take(MadeDirectory(str(self._place)), self._place.mkdir)
        try:
            self._drive.start(self._ledger)
            self._new_file_system()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(MileageError):
            self._app.stop(self._place)
        # First what stands on the drive, then the drive: a dead drive would fail what the file system still writes.
        for step in reversed(self._ledger.steps):
            if isinstance(step, MountedFileSystem):
                with contextlib.suppress(RunFailed):
                    self._ledger.undo(step)
        with contextlib.suppress(RunFailed):
            self._drive.stop(self._ledger)
        self._drive.kill()
        self._ledger.undo_all()

    def cut(self, number: int, seed: int) -> CutResult:
        """Commit, cut the power, recover, compare."""
        draw = random.Random(seed)
        after_s = draw.uniform(_EARLIEST_S, _LATEST_S)
        process = self._app.start(self._place, self._next_number())
        acknowledged = _acknowledged(process, after_s, lambda: self._drive.control("power-cut", seed=seed))
        _kill(process)
        self._app.stop(self._place)
        self._unmount()
        self._drive.detach(self._ledger)
        self._drive.control("power-on")
        began = time.monotonic()
        state, unreplayable = self._recovered()
        recovery_s = time.monotonic() - began
        # Transactions of earlier cuts that were there stay acknowledged.
        promised = acknowledged | self._known
        torn = promised & state.damaged
        lost = promised - state.found - torn
        result = CutResult(
            cut=number,
            seed=seed,
            after_s=round(after_s, 4),
            acknowledged=len(acknowledged),
            lost=len(lost),
            torn=len(torn),
            corrupt=state.corrupt,
            unreplayable=unreplayable,
            recovery_s=round(recovery_s, 3),
        )
        if state.damaged or result.corrupt or unreplayable:
            self._unmount()
            self._drive.detach(self._ledger)
            self._new_file_system()
        else:
            self._known = state.found
        return result

    def _next_number(self) -> int:
        return max(self._known, default=-1) + 1

    def _recovered(self) -> tuple[AppState, str]:
        """The state after recovery, and why there is none."""
        try:
            self._mount()
            state = self._app.state(self._place)
        except RunFailed as failure:
            return AppState(found=frozenset()), str(failure)
        return state, state.open

    def _new_file_system(self) -> None:
        self._device = self._drive.attach(self._ledger, self._device)
        force = "-F" if self._combination.fs == "ext4" else "-f"
        call("powercut", f"mkfs.{self._combination.fs}", "-q", force, str(self._device))
        self._mount()
        self._app.set_up(self._place)
        self._known = frozenset()
        call("powercut", "sync", "-f", str(self._place))

    def _mount(self) -> None:
        self._device = self._drive.attach(self._ledger, self._device)
        options = "noatime"
        if not self._combination.barriers:
            if option := _BARRIER_OPTION.get(self._combination.fs):
                options = f"{options},{option}"
            else:
                self._hide_cache(self._device)
        device, place, kind = str(self._device), str(self._place), self._combination.fs
        self._ledger.take(
            MountedFileSystem(device, place),
            lambda: call("powercut", "mount", "-t", kind, "-o", options, device, place),
        )

    def _hide_cache(self, device: Path) -> None:
        """Let the kernel believe that the device has no write cache. It is a device of our own: nothing to set back."""
        (Path("/sys/block") / device.name / "queue/write_cache").write_text("write through")

    def _unmount(self) -> None:
        for step in reversed(self._ledger.steps):
            if isinstance(step, MountedFileSystem):
                self._ledger.undo(step)


def _acknowledged(
    process: subprocess.Popen[bytes], after_s: float, cut: Callable[[], object]
) -> frozenset[int]:
    """What the application printed by the time its drive lost power; it is cut so long after its first transaction."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    text = b""
    begin_by = time.monotonic() + _END_S
    while b"\n" not in text:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, begin_by - time.monotonic()))
        piece = os.read(descriptor, 65536) if ready else b""
        if not piece:
            _kill(process)
            raise RunFailed("powercut: the application has ended or hangs before its first transaction")
        text += piece
    end = time.monotonic() + after_s
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([descriptor], [], [], left)
        if ready:
            piece = os.read(descriptor, 65536)
            if not piece:
                break
            text += piece
    cut()
    # What was printed before it noticed.
    process.send_signal(signal.SIGKILL)
    while piece := os.read(descriptor, 65536):
        text += piece
    return frozenset(int(line) for line in text[: text.rindex(b"\n")].split(b"\n") if line.isdigit())


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(_END_S)
    if process.stdout is not None:
        process.stdout.close()


def run_combination(
    combination: Combination, app: App, options: PowerCutOptions, note: Callable[[int], None]
) -> CombinationResult:
    """All cuts of a combination; `note` is called after each. A failed one is tried again with its seed."""
    cuts = []
    seeds = random.Random(f"{options.seed} {combination.name}")
    with PowerCutBench(combination, app, options) as bench:
        for number in range(options.cuts):
            cuts.append(bench.cut(number, seeds.getrandbits(32)))
            note(number + 1)
    result = CombinationResult(combination=combination, cuts=tuple(cuts))
    failure = result.first_failure
    if failure is None or not options.repeats:
        return result
    with PowerCutBench(combination, app, options) as bench:
        again = [bench.cut(number, failure.seed).is_failure for number in range(options.repeats)]
    return msgspec.structs.replace(result, repeated=(sum(again), options.repeats))


def combinations_of(
    kinds: list[str], apps: list[App], barriers: list[bool], protected: list[bool], honest: list[bool]
) -> Iterator[tuple[Combination, App]]:
    """Every combination, with its application."""
    for kind in kinds:
        for app in apps:
            for barrier in barriers:
                for power in protected:
                    for flush in honest:
                        yield (
                            Combination(
                                fs=kind,
                                app=app.name,
                                barriers=barrier,
                                protected=power,
                                honest=flush,
                                asks=app.asks_for_durability,
                            ),
                            app,
                        )


def sentence_of(results: list[CombinationResult]) -> str:
    """What came out, in one sentence."""
    cuts = sum(len(result.cuts) for result in results)
    kept = [result for result in results if result.combination.must_keep]
    broken = [result for result in kept if result.first_failure is not None]
    others = [result for result in results if not result.combination.must_keep]
    losing = [result for result in others if result.first_failure is not None]
    if not kept:
        first = "no combination had to keep every acknowledged transaction"
    elif broken:
        names = "; ".join(result.combination.name for result in broken)
        first = (
            f"{len(broken)} of the {len(kept)} combinations that must keep every acknowledged transaction"
            f" failed ({names})"
        )
    else:
        acknowledged = sum(result.total("acknowledged") for result in kept)
        which = "the one combination" if len(kept) == 1 else f"all {len(kept)} combinations"
        first = f"{which} that must keep every acknowledged transaction kept all {acknowledged:,} of them"
    second = f"; {len(losing)} of {len(others)} others lost or damaged data" if others else ""
    return f"In {cuts:,} power cuts {first}{second}."


def row_of(result: CombinationResult) -> tuple[str, ...]:
    """The row of a combination, in the order of `report.power_cut_page.HEADS`."""
    combination, failure = result.combination, result.first_failure
    times = sorted(cut.recovery_s for cut in result.cuts)
    again = f"{result.repeated[0]} of {result.repeated[1]}" if result.repeated else ""
    return (
        combination.fs,
        combination.app,
        "on" if combination.barriers else "off",
        "protected" if combination.protected else "volatile",
        "honest" if combination.honest else "lying",
        "all" if combination.must_keep else "-",
        str(len(result.cuts)),
        f"{result.total('acknowledged'):,}",
        f"{result.total('lost'):,}",
        f"{result.total('torn'):,}",
        str(result.total("corrupt")),
        str(result.total("unreplayable")),
        f"{times[len(times) // 2]:.2f}" if times else "",
        str(failure.seed) if failure is not None else "",
        again,
    )
