"""The machine a measurement was made on, as text that can be compared.

What it models: one flat mapping of dotted keys to text, taken at every stage: kernel, CPU, memory, clock,
virtualisation, and what the target stands on. A key that starts with `now.` is volatile: it describes the
moment (load, free memory, free space, the date) and is expected to change. Every other key is stable: when it
changes within a study, the runs before and after were not made on the same machine, and that is an invalidity
flag.
What it refuses: leaving a key out. What the kernel does not tell is "unknown", so that two snapshots can
always be compared. The host's name is stored only as a hash.
"""

from __future__ import annotations

import datetime
import hashlib
import platform
import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from mileage.target.filesystem import UNKNOWN, Ground, look_at
from mileage.target.guard import ROOT, read_word
from mileage.target.mounts import read_swaps

VOLATILE_PREFIX = "now."
"""Keys that begin with this describe the moment; all others describe the machine."""

QUEUE_KEYS = (
    "scheduler",
    "nr_requests",
    "read_ahead_kb",
    "rotational",
    "write_cache",
    "discard_granularity",
    "max_sectors_kb",
    "logical_block_size",
    "physical_block_size",
    "wbt_lat_usec",
    "nomerges",
    "rq_affinity",
)
"""Files of a disk's request queue that are recorded, as named in /sys/block/*/queue."""

_VM_KEYS = (
    "dirty_ratio",
    "dirty_bytes",
    "dirty_background_ratio",
    "dirty_background_bytes",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
    "swappiness",
    "overcommit_memory",
    "nr_hugepages",
)
_RAW = (
    *("proc/cpuinfo", "proc/meminfo", "proc/cmdline", "proc/version", "proc/swaps", "proc/self/mountinfo"),
    *("proc/modules", "proc/diskstats", "proc/interrupts", "proc/loadavg", "etc/os-release"),
)
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_SELECTED = re.compile(r"\[([^\]]+)\]")
_PRESSURE = re.compile(r"(some|full) avg10=([0-9.]+)")


def snapshot(path: Path | None = None, *, root: Path = ROOT) -> dict[str, str]:
    """The environment now, with sorted keys. Sizes are in bytes, shares in percent.

    `path` is an existing directory or file of the target, None for a virtual drive. `root` is where /proc and
    /sys are looked for. Never raises for something that cannot be read; that is "unknown".
    """
    found: dict[str, str | None] = {}
    for part in (_kernel(root), _cpu(root), _memory(root), _load(root), _versions()):
        found.update(part)
    if path is not None:
        found.update(_target(path, root))
    return {key: found[key] or UNKNOWN for key in sorted(found)}


def raw_snapshot(path: Path | None = None, *, root: Path = ROOT) -> dict[str, str]:
    """The texts that a snapshot is read from, by their path; what does not exist is left out."""
    del path
    texts = {}
    for name in _RAW:
        text = read_word(root / name)
        if text is not None:
            texts[f"/{name}"] = text
    return texts


def is_volatile(key: str) -> bool:
    """True when a change of this key is expected from one moment to the next."""
    return key.startswith(VOLATILE_PREFIX)


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The changes in stable keys, one line each, sorted by key; any line is an invalidity flag."""
    return [line for key, line in _changes(before, after) if not is_volatile(key)]


WEIGHTY = (
    *("kernel.release", "kernel.version", "kernel.cmdline"),
    *("target.firmware", "target.model", "target.scheduler", "target.device", "target.source"),
    *("target.fs_type", "target.mount_point", "target.mount_options"),
    *("memory.total_bytes", "memory.limit_bytes"),
)
"""Keys on which figures depend so much that a change makes runs before and after incomparable."""
MEMORY_TOLERANCE = 0.01
"""Share by which the memory that the kernel tells may differ from boot to boot."""


def key_of(change: str) -> str:
    """The key that a line of `diff` is about."""
    return change.partition(" ")[0]


def weighty(key: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether a change of this key makes runs before and after incomparable."""
    if key not in WEIGHTY:
        return False
    if key == "memory.total_bytes":
        old, new = before.get(key, ""), after.get(key, "")
        if old.isdigit() and new.isdigit() and int(old) > 0:
            return abs(int(new) / int(old) - 1) > MEMORY_TOLERANCE
    return True


def volatile_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The changes in volatile keys, one line each, sorted by key; for information only."""
    return [line for key, line in _changes(before, after) if is_volatile(key)]


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is None:
            yield key, f"{key} appeared: {new}"
        elif new is None:
            yield key, f"{key} disappeared: it was {old}"
        else:
            yield key, f"{key} changed from {old} to {new}"


def _kernel(root: Path) -> Iterator[tuple[str, str | None]]:
    kernel = root / "proc/sys/kernel"
    yield "kernel.release", read_word(kernel / "osrelease")
    yield "kernel.version", read_word(kernel / "version")
    yield "kernel.cmdline", read_word(root / "proc/cmdline")
    yield "kernel.tainted", read_word(kernel / "tainted")
    yield "kernel.boot_id", read_word(kernel / "random/boot_id")
    yield (
        "kernel.clocksource",
        read_word(root / _CLOCK),
    )
    yield "host.hash", _host_hash(root)


def _host_hash(root: Path) -> str | None:
    """The first 16 hex digits of SHA-256 over machine id and host name: tells hosts apart, names none."""
    name = read_word(root / "proc/sys/kernel/hostname")
    machine = read_word(root / "etc/machine-id")
    if name is None and machine is None:
        return None
    return hashlib.sha256(f"{machine}\n{name}".encode(errors="replace")).hexdigest()[:16]


def _cpu(root: Path) -> Iterator[tuple[str, str | None]]:
    text = read_word(root / "proc/cpuinfo") or ""
    policy = root / "sys/devices/system/cpu/cpu0/cpufreq"
    yield "cpu.model", _first_field(text, "model name") or _first_field(text, "Processor")
    yield "cpu.microcode", _first_field(text, "microcode")
    yield "cpu.online", read_word(root / "sys/devices/system/cpu/online")
    yield "cpu.smt", read_word(root / "sys/devices/system/cpu/smt/control")
    yield "cpu.governor", _governors(root)
    yield "cpu.max_khz", read_word(policy / "scaling_max_freq")
    yield "cpu.boost", _boost(root)
    yield "cpu.hypervisor", _hypervisor(text, root)


def _governors(root: Path) -> str | None:
    """The governors of all CPUs; one word when they agree."""
    files = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    words = {word for file in files if (word := read_word(file))}
    return ", ".join(sorted(words))


def _boost(root: Path) -> str | None:
    cpu = root / "sys/devices/system/cpu"
    no_turbo = read_word(cpu / "intel_pstate/no_turbo")
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    boost = read_word(cpu / "cpufreq/boost")
    return {"0": "off", "1": "on"}.get(boost or "")


def _hypervisor(cpuinfo: str, root: Path) -> str | None:
    """The hypervisor's name where one is found, "unnamed" in other virtual machines, "none" on bare metal."""
    named = read_word(root / "sys/hypervisor/type")
    if named is not None:
        return named
    flags = _first_field(cpuinfo, "flags")
    if flags is None:
        return None
    if "hypervisor" not in flags.split():
        return "none"
    return read_word(root / "sys/class/dmi/id/sys_vendor") or "unnamed"


def _memory(root: Path) -> Iterator[tuple[str, str | None]]:
    text = read_word(root / "proc/meminfo") or ""
    yield "memory.total_bytes", _meminfo_bytes(text, "MemTotal")
    yield "memory.swap_total_bytes", _meminfo_bytes(text, "SwapTotal")
    yield "memory.swap_areas", ", ".join(read_swaps(root)) or ("none" if text else None)
    yield (
        "memory.transparent_hugepage",
        _selected(read_word(root / "sys/kernel/mm/transparent_hugepage/enabled")),
    )
    yield "now.memory_available_bytes", _meminfo_bytes(text, "MemAvailable")
    yield "now.swap_free_bytes", _meminfo_bytes(text, "SwapFree")
    yield "now.dirty_bytes", _meminfo_bytes(text, "Dirty")
    for key in _VM_KEYS:
        yield f"vm.{key}", read_word(root / "proc/sys/vm" / key)


def _load(root: Path) -> Iterator[tuple[str, str | None]]:
    yield "now.date_utc", datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    yield "now.loadavg", " ".join((read_word(root / "proc/loadavg") or "").split()[:3])
    yield "now.steal_percent", _steal_percent(read_word(root / "proc/stat") or "")
    for resource in ("cpu", "io", "memory"):
        pressure = dict(_PRESSURE.findall(read_word(root / "proc/pressure" / resource) or ""))
        yield f"now.pressure_{resource}_some_percent", pressure.get("some")
        yield f"now.pressure_{resource}_full_percent", pressure.get("full")


def _steal_percent(text: str) -> str | None:
    """Share of CPU time since boot that the hypervisor gave to others; fields as in proc_stat(5)."""
    line = next((line for line in text.splitlines() if line.startswith("cpu ")), "")
    ticks = [int(word) for word in line.split()[1:9]]
    if len(ticks) < 8 or sum(ticks) == 0:
        return None
    return f"{100 * ticks[7] / sum(ticks):.2f}"


def _versions() -> Iterator[tuple[str, str | None]]:
    yield "version.python", platform.python_version()
    try:
        yield "version.mileage", metadata.version("mileage")
    except metadata.PackageNotFoundError:
        yield "version.mileage", None


def _target(path: Path, root: Path) -> Iterator[tuple[str, str | None]]:
    try:
        ground: Ground | None = look_at(path, root=root)
    except OSError:
        ground = None
    yield "target.fs_type", ground.fs_type if ground else None
    yield "target.mount_point", ground.mount_point if ground else None
    yield "target.mount_options", ",".join(ground.mount_options) if ground else None
    yield "target.source", ground.source if ground else None
    yield "target.device", ground.device if ground else None
    yield "target.capacity_bytes", str(ground.capacity_bytes) if ground else None
    yield "now.target_free_bytes", str(ground.free_bytes) if ground else None
    disk = root / "sys/block" / (ground.disk if ground else UNKNOWN)
    yield "target.model", read_word(disk / "device/model")
    yield "target.firmware", read_word(disk / "device/firmware_rev") or read_word(disk / "device/rev")
    for key in QUEUE_KEYS:
        yield f"target.{key}", _selected(read_word(disk / "queue" / key))


def _first_field(text: str, name: str) -> str | None:
    """The value of the first "name : value" line."""
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator and key.strip() == name:
            return value.strip()
    return None


def _meminfo_bytes(text: str, name: str) -> str | None:
    value = _first_field(text, name)
    return str(int(value.split()[0]) * 1024) if value else None


def _selected(text: str | None) -> str | None:
    """The choice in brackets of a text such as "always [madvise] never"; the text itself without any."""
    match = _SELECTED.search(text or "")
    return match[1] if match else text
