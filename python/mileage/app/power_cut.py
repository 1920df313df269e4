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
from mileage.app.power_cut_result import Combination, CombinationResult, CutResult
from mileage.errors import MileageError, Refused, RunFailed
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import MadeDirectory, MountedFileSystem
from mileage.targets.programs import call, find_program, missing
from mileage.targets.queue_settings import apply_settings, undo_settings
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

FILE_SYSTEMS: Final = ("ext4", "xfs", "btrfs")
_BARRIER_OPTION: Final = {"ext4": "barrier=0", "btrfs": "nobarrier"}
"""Mount option that leaves flushes out; a file system without one is shown a drive without a write cache."""
_EARLIEST_S: Final = 0.05
_LATEST_S: Final = 0.4
_END_S: Final = 30.0


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
        with contextlib.suppress(MileageError):
            undo_settings(self._ledger)
        with contextlib.suppress(RunFailed):
            self._drive.stop(self._ledger)
        self._drive.kill()
        self._ledger.undo_all()

    def cut(self, number: int, seed: int) -> CutResult:
        """Commit, cut the power, recover, compare."""
        draw = random.Random(seed)
        after_s = draw.uniform(_EARLIEST_S, _LATEST_S)
        flushes = self._flushes()
        process = self._app.start(self._place, self._next_number())
        acknowledged = _acknowledged(process, after_s, lambda: self._drive.control("power-cut", seed=seed))
        flushes = self._flushes() - flushes
        _kill(process)
        self._app.stop(self._place)
        self._unmount()
        self._detach()
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
            flushes=flushes,
            acknowledged=len(acknowledged),
            lost=len(lost),
            torn=len(torn),
            corrupt=state.corrupt,
            unreplayable=unreplayable,
            recovery_s=round(recovery_s, 3),
        )
        if state.damaged or result.corrupt or unreplayable:
            self._unmount()
            self._detach()
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
        # A loop device keeps this word after it was detached: it is set here whatever it is, and set back.
        shown = (
            "write back"
            if self._combination.barriers or self._combination.fs in _BARRIER_OPTION
            else "write through"
        )
        apply_settings("powercut", self._device, {"write_cache": shown}, self._ledger)
        options = "noatime"
        if not self._combination.barriers and (option := _BARRIER_OPTION.get(self._combination.fs)):
            options = f"{options},{option}"
        device, place, kind = str(self._device), str(self._place), self._combination.fs
        self._ledger.take(
            MountedFileSystem(device, place),
            lambda: call("powercut", "mount", "-t", kind, "-o", options, device, place),
        )

    def _detach(self) -> None:
        undo_settings(self._ledger)
        self._drive.detach(self._ledger)

    def _flushes(self) -> int:
        return int(self._drive.control("stats")["requests"]["flush"]["requests"])

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
