"""Disturbances during a run: pressure stall, steal time, temperature, processor clock, and the device's whole work.

Scope: kernel counters read just before and just after a run on a real target, as differences in whole numbers
with the unit in the name. Values without a counter (temperature, clock) are sampled once a second during the run.
A run in simulated time cannot be disturbed and has no such values.
What it refuses: to invent a value that the kernel does not report; its key is missing.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mileage.errors import MileageError
from mileage.execute import environment_guard
from mileage.store.block_device import SECTOR_BYTES, disk_counters
from mileage.store.environment import disk_of
from mileage.targets import Target
from mileage.targets.io_limits import lowest_io_limits
from mileage.targets.kernel_text import fields_of, read_text, read_word

PERIOD_S: Final = 1.0
"""Seconds between two looks at what has no counter."""
BACKING_READ: Final = "backing_read_bytes"
"""Bytes that the disk below a loop device read: the kernel may serve the device's reads from the file's page cache."""
GROUP: Final = "group_"
"""Beginning of the keys of limits that control groups put on the I/O of a run."""
_TOTAL: Final = re.compile(r"^some .*total=(\d+)", re.M)


class Monitor:
    """Watches while it is open; `found` holds what it saw once it is closed."""

    def __init__(self, target: Target) -> None:
        """Begin without a reading."""
        self.found: dict[str, int] = {}
        self._real = not target.is_virtual
        self._root = environment_guard.HOST
        self._disk = disk_of(target.place, root=self._root) if self._real else None
        self._below = _disk_below(self._disk, self._root) if self._disk else None
        self._target = target
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._before: dict[str, int] = {}
        self._limits: dict[str, int] = {}
        self._looked: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        """Read the counters, and begin to look."""
        if self._real:
            self._look()
            self._target.recent_lateness()
            self._thread = threading.Thread(target=self._watch, name="monitor", daemon=True)
            self._thread.start()
            self._limits = self._group_limits()
            self._before = dict(_counters(self._disk, self._below, self._root))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Read the counters again."""
        if not self._real:
            return
        after = dict(_counters(self._disk, self._below, self._root))
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._look()
        limits = self._group_limits()
        self.found = {key: value - self._before[key] for key, value in after.items() if key in self._before}
        for key, limit in (self._limits | limits).items():
            self.found[f"{GROUP}{key}"] = min(limit, self._limits.get(key, limit))
        # The record of a run outlives a drive that does not answer any more.
        with contextlib.suppress(MileageError):
            self.found |= self._target.recent_lateness()
        for key, values in self._looked.items():
            self.found |= {f"{key}_first": values[0], f"{key}_least": min(values), f"{key}_most": max(values)}

    def _group_limits(self) -> dict[str, int]:
        """The limits of control groups on I/O that hold now."""
        place = self._target.place
        return {} if place is None else lowest_io_limits(place, root=self._root)

    def _watch(self) -> None:
        while not self._ended.wait(PERIOD_S):
            self._look()

    def _look(self) -> None:
        for key, value in _moments(self._disk, self._root):
            self._looked.setdefault(key, []).append(value)


def _counters(disk: str | None, below: str | None, root: Path) -> Iterator[tuple[str, int]]:
    """Counters that only grow: times in the unit of their names, bytes and counts."""
    yield "wall_us", time.monotonic_ns() // 1000
    times = os.times()
    yield (
        "client_cpu_us",
        round((times.user + times.system + times.children_user + times.children_system) * 1e6),
    )
    words = fields_of(read_text(root / "proc/stat").partition("\n")[0])
    if len(words) > 8 and words[0] == "cpu":
        ticks = [int(word) for word in words[1:9]]
        per_tick_us = 1_000_000 // os.sysconf("SC_CLK_TCK")
        yield "cpu_all_us", sum(ticks) * per_tick_us
        yield "cpu_idle_us", (ticks[3] + ticks[4]) * per_tick_us
        yield "steal_us", ticks[7] * per_tick_us
    for resource in ("cpu", "io", "memory"):
        match = _TOTAL.search(read_word(root / "proc/pressure" / resource) or "")
        if match:
            yield f"pressure_{resource}_us", int(match[1])
    throttled = list((root / "sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))
    if throttled:
        yield "cpu_throttles", sum(int(read_word(file) or 0) for file in throttled)
    counted = disk_counters(disk, root) if disk else None
    if counted is not None:
        yield "device_read_bytes", counted["read_sectors"] * SECTOR_BYTES
        yield "device_written_bytes", counted["written_sectors"] * SECTOR_BYTES
        yield "device_reads", counted["reads"]
        yield "device_writes", counted["writes"]
        if "discarded_sectors" in counted:
            yield "device_discarded_bytes", counted["discarded_sectors"] * SECTOR_BYTES
    counted = disk_counters(below, root) if below else None
    if counted is not None:
        yield BACKING_READ, counted["read_sectors"] * SECTOR_BYTES


def _disk_below(disk: str, root: Path) -> str | None:
    """The disk that holds the backing file of a loop device; None for other disks, and where the file is not seen."""
    backing = read_word(root / "sys/block" / disk / "loop/backing_file")
    return disk_of(Path(backing), root=root) if backing and Path(backing).is_file() else None


def _moments(disk: str | None, root: Path) -> Iterator[tuple[str, int]]:
    """Momentary values: temperatures in thousandths of a degree Celsius, the clock frequency in kHz."""
    device = root / "sys/block" / disk / "device" if disk else None
    sensors = [*device.glob("hwmon*/temp1_input"), *device.glob("hwmon/hwmon*/temp1_input")] if device else []
    zones = {
        "device_millicelsius": sensors,
        "cpu_millicelsius": [root / "sys/class/thermal/thermal_zone0/temp"],
    }
    zones["cpu_khz"] = [root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"]
    for key, files in zones.items():
        for file in files:
            with contextlib.suppress(ValueError):
                text = read_word(file)
                if text is not None:
                    yield key, int(text)
