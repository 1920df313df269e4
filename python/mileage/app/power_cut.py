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
import itertools
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from mileage import _core
from mileage.app.power_cut_apps import App, AppState
from mileage.app.power_cut_process import CutAnswer, LoadResult, cut_load, end
from mileage.app.power_cut_result import CampaignResult, Combination, CombinationResult, CutResult
from mileage.errors import MileageError, Refused, RunFailed
from mileage.execute.signals import ENDING, handled, raise_on_signals
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import MadeDirectory, MountedFileSystem
from mileage.targets.profiles import load_profile, profile_figures, profile_identity
from mileage.targets.programs import call, find_program, missing
from mileage.targets.queue_settings import apply_settings, undo_settings
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

FILE_SYSTEMS: Final = ("ext4", "xfs", "btrfs")
_BARRIER_OPTION: Final = {"ext4": "barrier=0", "btrfs": "nobarrier"}
"""Mount option that leaves flushes out; a file system without one is shown a drive without a write cache."""
_OWN_FIGURES: Final = {"write_buffer_power": "--power", "write_buffer_flush": "--flush"}
"""Figures of a drive that every combination sets, and the options that say how."""
_EARLIEST_S: Final = 0.05
_LATEST_S: Final = 0.4
_NUMBERS: Final = itertools.count(1)


class PowerCutOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign does."""

    drive: str = "intel-x25e-64gb"
    cuts: int = 60
    seed: int = 1
    repeats: int = 3
    speed: str = "real"
    """Speed of the drive's clock; a slow drive has more in its buffer when the power fails."""

    def profile(self, *, protected: bool, honest: bool) -> str:
        """Name of the drive with a combination's write buffer."""
        power = "protected" if protected else "volatile"
        flush = "honoured" if honest else "ignored"
        return f"{self.drive},write_buffer_power={power},write_buffer_flush={flush}"


def check_campaign(kinds: Sequence[str], protected: Sequence[bool], options: PowerCutOptions) -> None:
    """Raise Refused where a campaign on these file systems, with a write buffer so protected or not, cannot run."""
    if unknown := [kind for kind in kinds if kind not in FILE_SYSTEMS]:
        raise Refused(f"--fs {unknown[0]}", expected=", ".join(FILE_SYSTEMS), code="unknown-word")
    for key, option in _OWN_FIGURES.items():
        if f",{key}=" in options.drive:
            raise Refused(
                f"powercut {options.drive}", f"{key} would have no effect", expected=option, code="no-effect"
            )
    if not _is_speed(options.speed):
        raise Refused(
            f"--speed {options.speed}", expected="real, or a factor from x0.001 to x1000", code="wrong-value"
        )
    if profile_figures(load_profile(options.drive)).get("kind") == "array":
        raise Refused(
            f"powercut {options.drive}", "an array of drives", expected="one drive", code="unsupported"
        )
    for power in protected:
        _check_buffer(options, power)
    if os.geteuid() != 0:
        raise Refused("powercut", "mounts file systems, which needs root", code="needs-root")
    for program in (*(f"mkfs.{kind}" for kind in sorted(set(kinds))), "losetup", "mount"):
        if find_program(program) is None:
            raise Refused("powercut", missing(program), code="needs-program")


def _check_buffer(options: PowerCutOptions, is_protected: bool) -> None:
    """Raise Refused for a drive that cannot have such a write buffer, which is for the drive to say."""
    try:
        _core.Drive(load_profile(options.profile(protected=is_protected, honest=True)))
    except Refused as refusal:
        power = "protected" if is_protected else "volatile"
        raise Refused(
            f"powercut {options.drive} --power {power}",
            f"nobody knows what this drive loses then: {refusal}",
            advice="intel-x25e-64gb has both kinds; docs/how-to/power-cuts.md says which drives have one",
            code="unsupported",
        ) from refusal


def _is_speed(text: str) -> bool:
    """Whether the drive's time passes at a steady pace; with an unbounded clock no request is ever outstanding."""
    try:
        return text == "real" or (text.startswith("x") and 0.001 <= float(text[1:]) <= 1000)
    except ValueError:
        return False


class PowerCutBench:
    """A served drive with one file system and one application."""

    def __init__(self, combination: Combination, app: App, options: PowerCutOptions) -> None:
        self._combination, self._app, self._options = combination, app, options
        profile = options.profile(protected=combination.protected, honest=combination.honest)
        self._root = Path(f"/run/mileage-powercut-{os.getpid()}-{next(_NUMBERS)}")
        self._place = self._root / "fs"
        self._drive = ServedDrive(
            "powercut", ServedDriveOptions(profile=profile, at=self._root / "drive", speed=options.speed)
        )
        self._ledger = Ledger()
        self._device: Path | None = None
        self._load: subprocess.Popen[bytes] | None = None
        self._is_damaged = False
        self._known: frozenset[int] = frozenset()
        """Transactions that were there after the last recovery."""

    def __enter__(self) -> PowerCutBench:
        try:
            self._ledger.take(MadeDirectory(str(self._root)), self._make_root)
            self._ledger.take(MadeDirectory(str(self._place)), self._place.mkdir)
            self._drive.start(self._ledger)
            self._new_file_system()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(MileageError):
            self._end_load()
        with contextlib.suppress(MileageError):
            self._app.stop(self._place)
        # First what stands on the drive, then the drive: a dead drive would fail what the file system still writes.
        with contextlib.suppress(RunFailed):
            self._unmount()
        with contextlib.suppress(MileageError):
            undo_settings(self._ledger)
        with contextlib.suppress(RunFailed):
            self._drive.stop(self._ledger)
        self._drive.kill()
        self._ledger.undo_all()

    def _make_root(self) -> None:
        self._root.mkdir()
        # A server with a user of its own has to reach its files.
        self._root.chmod(0o711)

    def cut(self, number: int, seed: int) -> CutResult:
        """Commit, cut the power, recover, compare. Raises RunFailed when nobody can say what came out."""
        if self._is_damaged:
            self._renew()
        drawn_s = random.Random(seed).uniform(_EARLIEST_S, _LATEST_S)
        flushes = self._flushes()
        load = self._run_load(drawn_s, seed)
        flushes = self._flushes() - flushes
        self._app.stop(self._place)
        self._unmount()
        self._detach()
        self._drive.control("power-on")
        began = time.monotonic()
        state = self._recovered()
        recovery_s = time.monotonic() - began
        # Transactions of earlier cuts that were there stay acknowledged.
        promised = load.acknowledged | self._known
        torn = promised & state.damaged
        lost = promised - state.found - torn if state.found is not None else frozenset()
        self._is_damaged = bool(state.damaged or state.found is None or state.corrupt)
        self._known = state.found or frozenset()
        return CutResult(
            cut=number,
            seed=seed,
            drawn_s=round(drawn_s, 4),
            after_s=round(load.after_s, 4),
            ended=load.ended,
            answer=load.answer,
            flushes=flushes,
            acknowledged=len(load.acknowledged),
            promised=len(promised),
            is_examined=state.found is not None,
            lost=len(lost),
            torn=len(torn),
            corrupt=state.corrupt,
            unreplayable=state.open,
            recovery_s=round(recovery_s, 3),
        )

    def _renew(self) -> None:
        """A new file system in the place of one that a cut has damaged."""
        self._app.stop(self._place)
        self._unmount()
        self._detach()
        self._new_file_system()
        self._is_damaged = False

    def _run_load(self, after_s: float, seed: int) -> LoadResult:
        # A signal in between would leave a load that nobody knows, and that writes below the mount point.
        asked: list[int] = []
        with handled(ENDING, lambda number, _: asked.append(number)):
            self._load = self._app.start(self._place, self._next_number())
        try:
            if asked:
                raise KeyboardInterrupt
            return cut_load(
                self._load,
                after_s,
                lambda: msgspec.convert(self._drive.control("power-cut", seed=seed), CutAnswer),
            )
        finally:
            self._end_load()

    def _end_load(self) -> None:
        load, self._load = self._load, None
        if load is not None:
            end(load)

    def _next_number(self) -> int:
        return max(self._known, default=-1) + 1

    def _recovered(self) -> AppState:
        """The state after recovery. Raises RunFailed when the bench fails, rather than file system or application."""
        self._show_device()
        try:
            self._mount()
        except RunFailed as failure:
            return AppState(found=None, open=str(failure))
        return self._app.state(self._place)

    def _new_file_system(self) -> None:
        self._show_device()
        force = "-F" if self._combination.fs == "ext4" else "-f"
        call("powercut", f"mkfs.{self._combination.fs}", "-q", force, str(self._device))
        self._mount()
        self._app.set_up(self._place)
        self._known = frozenset()
        call("powercut", "sync", "-f", str(self._place))

    def _show_device(self) -> None:
        """Attach the loop device, with the write cache that the combination shows."""
        self._device = self._drive.attach(self._ledger, self._device)
        # A loop device keeps this word after it was detached: it is set here whatever it is, and set back.
        shown = (
            "write back"
            if self._combination.barriers or self._combination.fs in _BARRIER_OPTION
            else "write through"
        )
        apply_settings("powercut", self._device, {"write_cache": shown}, self._ledger)

    def _mount(self) -> None:
        options = "noatime"
        if self._combination.fs == "ext4":
            # The first inode table that ext4 makes after mounting it follows with a flush, barriers or not.
            options = f"{options},noinit_itable"
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
        """Flushes that the drive has answered; one that finds it without power is none."""
        row = self._drive.control("stats")["requests"]["flush"]
        return int(row["requests"] - row["failed"])

    def _unmount(self) -> None:
        for step in reversed(self._ledger.steps):
            if isinstance(step, MountedFileSystem):
                self._ledger.undo(step)


def run_combination(
    combination: Combination, app: App, options: PowerCutOptions, note: Callable[[int], None]
) -> CombinationResult:
    """All cuts of a combination; `note` is called after each. A failed one is tried again with its seed.

    What fails in the bench, and Ctrl-C, ends it early: the result has the cuts until then and the reason.
    """
    cuts: list[CutResult] = []
    again: list[bool] = []
    ended, is_interrupted = "", False
    seeds = random.Random(f"{options.seed} {combination.name}")
    try:
        with PowerCutBench(combination, app, options) as bench:
            for number in range(options.cuts):
                cuts.append(bench.cut(number, seeds.getrandbits(32)))
                note(number + 1)
        failure = next((cut for cut in cuts if cut.is_failure), None)
        if failure is not None and options.repeats:
            with PowerCutBench(combination, app, options) as bench:
                again.extend(bench.cut(number, failure.seed).is_failure for number in range(options.repeats))
    except MileageError as failed:
        ended = str(failed)
    except KeyboardInterrupt:
        ended, is_interrupted = "interrupted", True
    return CombinationResult(
        combination=combination,
        planned=options.cuts,
        cuts=tuple(cuts),
        repeated=(sum(again), len(again)) if again else None,
        ended=ended,
        is_interrupted=is_interrupted,
    )


def run_campaign(
    pairs: Sequence[tuple[Combination, App]],
    options: PowerCutOptions,
    note: Callable[[int, str, int], None],
) -> CampaignResult:
    """All combinations. `note` is called with the number and the name of one, and its cuts that are done.

    Ctrl-C, SIGTERM and SIGHUP end it in order: the result has what was done. Raises Refused.
    """
    results: list[CombinationResult] = []
    with raise_on_signals():
        for number, (combination, app) in enumerate(pairs, start=1):
            result = run_combination(combination, app, options, partial(note, number, combination.name))
            results.append(result)
            if result.is_interrupted:
                break
    return CampaignResult(
        drive=options.drive,
        profile=profile_identity(load_profile(options.drive)),
        speed=options.speed,
        seed=options.seed,
        combinations=tuple(results),
    )


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
