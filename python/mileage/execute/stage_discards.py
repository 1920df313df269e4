"""Discards of a stage outside its runs: what a file system sends to its device when it commits.

Scope: file systems that Mileage made and mounted with `discard`; the devices of others are shared, and what they
discard cannot be separated. ext4 and xfs discard removed blocks after a commit
of their journal, btrfs later still: by then the run that removed the file has ended. At the end of a stage the file
system is synced, and its device watched until it gets no more discards.
What it refuses: nothing. A device that keeps getting discards is waited for `LONGEST_S` seconds; what comes later is
counted to the next stage.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from mileage.errors import RunFailed
from mileage.execute import environment_guard
from mileage.model.journal_entries import DISCARDED, DISCARDED_OUTSIDE
from mileage.store.block_device import SECTOR_BYTES, disk_counters
from mileage.targets import Target
from mileage.targets.aging import sync_file_system
from mileage.targets.filesystem import UNKNOWN, look_at

QUIET_S: Final = 0.5
"""Seconds without a discard after which a device is taken to have got all."""
LONGEST_S: Final = 30.0
_PAUSE_S: Final = 0.05


class StageDiscards:
    """The discards of one stage, from its making to `settle`; of an interrupted stage those since it was resumed."""

    def __init__(self, targets: Iterable[Target]) -> None:
        """Read the devices' counters."""
        self._root = environment_guard.HOST
        self._places = dict(self._discarding(targets))
        self._before = self._discarded()
        self._in_runs = 0

    def add(self, watch: Mapping[str, int]) -> None:
        """Take what was counted during a run of this stage."""
        self._in_runs += watch.get(DISCARDED, 0)

    def settle(self) -> dict[str, int]:
        """Have removed blocks discarded, and the counts of the stage; empty where nothing discards.

        Raises RunFailed when the file system cannot be written any more.
        """
        if self._before is None:
            return {}
        for place in self._places.values():
            try:
                sync_file_system(place)
            except OSError as error:
                raise RunFailed.from_os_error(f"{place}: its file system cannot be synced", error) from error
        now = self._when_quiet()
        if now is None:
            return {}
        total = now - self._before
        return {DISCARDED: total, DISCARDED_OUTSIDE: max(total - self._in_runs, 0)}

    def _when_quiet(self) -> int | None:
        last, quiet_since = self._discarded(), time.monotonic()
        end = quiet_since + LONGEST_S
        while (now_s := time.monotonic()) < end and now_s - quiet_since < QUIET_S:
            time.sleep(_PAUSE_S)
            if (now := self._discarded()) != last:
                last, quiet_since = now, time.monotonic()
        return last

    def _discarding(self, targets: Iterable[Target]) -> Iterable[tuple[str, Path]]:
        """Devices below targets whose file system discards, each once, with a directory on it."""
        for target in targets:
            if target.is_virtual or target.place is None:
                continue
            try:
                ground = look_at(target.place, root=self._root)
            except OSError:
                continue
            if ground.disk != UNKNOWN and any(_discards(option) for option in ground.mount_options):
                yield ground.disk, target.place

    def _discarded(self) -> int | None:
        """Bytes that the devices have discarded since boot; None where one does not count them, or there is none."""
        counted = [disk_counters(disk, self._root) or {} for disk in self._places]
        if not counted or any("discarded_sectors" not in found for found in counted):
            return None
        return SECTOR_BYTES * sum(found["discarded_sectors"] for found in counted)


def _discards(option: str) -> bool:
    return option == "discard" or option.startswith("discard=")
