"""The machine a measurement was made on, as text that can be compared.

Scope: one flat mapping of dotted keys to text, taken at every stage: kernel, server, CPU, memory, clock,
virtualisation, and what the target stands on. A key that starts with `now.` is volatile: it describes the
moment (load, free memory, free space, the date) and is expected to change. Every other key is stable: when it
changes within a study, the runs before and after were not made on the same machine, and that is an invalidity
flag.
What it refuses: to omit a key. A value that the kernel does not report is "unknown", so that two snapshots can
always be compared. The host's name is stored only as a hash.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mileage._core import VERSION
from mileage.plan.sizes import whole_number
from mileage.store.block_device import bus_facts, device_facts, selected
from mileage.store.machine_hardware import driver_of, hardware_facts, pci_name, raid_card
from mileage.targets.filesystem import UNKNOWN, Ground, look_at, memory_bytes
from mileage.targets.filesystem_condition import USED_PERCENT
from mileage.targets.guard import ROOT
from mileage.targets.io_limits import limit_facts
from mileage.targets.kernel_text import decoded, fields_of, lines_of, printable, read_text, read_word
from mileage.targets.mounts import read_swaps
from mileage.targets.programs import find_program

VOLATILE_PREFIX = "now."
"""Keys that begin with this describe the moment; all others describe the machine."""
SHOWN_MOMENTS = frozenset({USED_PERCENT})
"""Keys of the moment that a report shows: what they measure is part of what was set up."""

NOTE_PREFIX = "note."
"""Keys that begin with this are what a study states of the machine in `[notes]`."""

_VM_KEYS = (
    *("dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes"),
    *("dirty_expire_centisecs", "dirty_writeback_centisecs", "swappiness", "overcommit_memory"),
    *("nr_hugepages", "vfs_cache_pressure", "min_free_kbytes"),
)
_MODULES = ("nvme", "nvme_core", "ahci", "virtio_blk", "md_mod", "dm_mod", "loop", "zram")
_RAW = (
    *("proc/cpuinfo", "proc/meminfo", "proc/cmdline", "proc/version", "proc/swaps", "proc/self/mountinfo"),
    *("proc/modules", "proc/diskstats", "proc/interrupts", "proc/loadavg", "etc/os-release"),
)
_LOG_LINES = 200
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_PRESSURE = re.compile(r"(some|full) avg10=([0-9.]+)")


def snapshot(path: Path | None = None, *, root: Path = ROOT) -> dict[str, str]:
    """The environment now, with sorted keys. Sizes are in bytes, shares in percent.

    `path` is an existing directory or file of the target, None for a virtual drive. `root` is where /proc and
    /sys are looked for. Never raises for something that cannot be read; that is "unknown".
    """
    found: dict[str, str | None] = {}
    for part in (_kernel(root), hardware_facts(root), _cpu(root), _memory(root), _load(root), _versions()):
        found.update(part)
    found.update(limit_facts(path, root=root))
    if path is not None:
        found.update(_target(path, root))
    return {key: printable(found[key] or UNKNOWN) for key in sorted(found)}


def raw_snapshot(disk: str | None = None, *, root: Path = ROOT) -> dict[str, str]:
    """The texts that a snapshot is read from, by their path, and what the kernel logged about a disk.

    Paths that do not exist are skipped.
    """
    texts = {f"/{name}": text for name in _RAW if (text := read_word(root / name)) is not None}
    if disk:
        for file in sorted((root / "sys/block" / disk / "queue").glob("*")):
            if file.is_file() and (text := read_word(file)) is not None:
                texts[f"/sys/block/{disk}/queue/{file.name}"] = text
        log = [line for line in _kernel_log(root) if disk in line]
        texts["kernel log"] = "\n".join(log[-_LOG_LINES:])
    return {name: printable(text) for name, text in texts.items()}


def _kernel_log(root: Path) -> list[str]:
    """The kernel's messages; none where they may not be read."""
    try:
        log = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []
    lines = []
    try:
        while True:
            try:
                record = os.read(log, 1 << 16)
            except BrokenPipeError:
                # Older messages were overwritten while we read.
                continue
            if not record:
                break
            lines.append(decoded(record).partition(";")[2].partition("\n")[0])
    except OSError:
        pass
    finally:
        os.close(log)
    return lines


def disk_of(path: Path | None, *, root: Path = ROOT) -> str | None:
    """Kernel name of the whole disk below a path; None when there is none or it is not known."""
    try:
        disk = look_at(path, root=root).disk if path is not None else UNKNOWN
    except OSError:
        return None
    return None if disk == UNKNOWN else disk


def is_volatile(key: str) -> bool:
    """True when a change of this key is expected from one moment to the next."""
    return key.startswith(VOLATILE_PREFIX)


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The changes in stable keys, one line each, sorted by key; any line is an invalidity flag."""
    return [line for key, line in _changes(before, after) if not is_volatile(key)]


WEIGHTY = (
    *("kernel.release", "kernel.version", "kernel.cmdline", "target.drive_firmware", "target.drive_model"),
    *("target.drive_serial_hash", "target.serial_hash", "target.firmware", "target.model"),
    *("target.scheduler", "target.disk_bytes", "target.source", "target.fs_type", "target.mount_point"),
    *("target.mount_options", "memory.total_bytes", "memory.limit_bytes", "group.io_limits"),
    "group.processor_limit",
)
"""Keys whose change makes the runs before and after it incomparable."""
MEMORY_TOLERANCE = 0.01
"""Share by which the memory size that the kernel reports may differ between boots."""


def key_of(change: str) -> str:
    """The key that a line of `diff` is about."""
    return change.partition(" ")[0]


def weighty(key: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """True when a changed environment key (such as the kernel) makes runs before and after it incomparable."""
    if key not in WEIGHTY or UNKNOWN in (before.get(key, UNKNOWN), after.get(key, UNKNOWN)):
        # A value that was unknown at first may have been the same all along, so it is not a change.
        return False
    if key == "target.source":
        # The kernel numbers devices anew at every boot; serial number, model and size identify the drive instead.
        return not all(found.get(key, "").startswith("/dev/") for found in (before, after))
    if key.startswith("memory."):
        old, new = (whole_number(found.get(key, "")) for found in (before, after))
        if old and new is not None:
            return abs(new / old - 1) > MEMORY_TOLERANCE
    return True


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
    yield ("kernel.clocksource", read_word(root / _CLOCK))
    yield "kernel.config_hash", _config_hash(root)
    for module in _MODULES:
        yield f"kernel.module_{module}", read_word(root / "sys/module" / module / "version")
    yield "host.hash", _host_hash(root)
    yield "host.distribution", _distribution(root)


def _config_hash(root: Path) -> str | None:
    """A hash of the kernel's configuration, where it is kept."""
    release = read_word(root / "proc/sys/kernel/osrelease")
    for name in ("proc/config.gz", f"boot/config-{release}"):
        try:
            return hashlib.sha256((root / name).read_bytes()).hexdigest()[:16]
        except OSError:
            continue
    return None


def _distribution(root: Path) -> str | None:
    text = read_word(root / "etc/os-release") or ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M)
    return match[1] if match else None


def _host_hash(root: Path) -> str | None:
    """The first 16 hex digits of SHA-256 over machine id and host name: distinguishes hosts without identifying one."""
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
    cpu = root / "sys/devices/system/cpu"
    yield "cpu.min_khz", read_word(policy / "scaling_min_freq")
    yield "now.cpu_khz", read_word(policy / "scaling_cur_freq")
    sockets = set(re.findall(r"^physical id\s*: (\d+)", text, re.M))
    yield "cpu.sockets", str(len(sockets)) if sockets else None
    cores = re.search(r"^cpu cores\s*: (\d+)", text, re.M)
    yield "cpu.cores_per_socket", cores[1] if cores else None
    yield "cpu.isolated", read_word(cpu / "isolated") or ("none" if (cpu / "isolated").exists() else None)
    yield "cpu.nohz_full", read_word(cpu / "nohz_full") or ("none" if (cpu / "nohz_full").exists() else None)
    yield "cpu.idle_driver", read_word(cpu / "cpuidle/current_driver")
    yield "cpu.idle_states", " ".join(_idle_states(cpu)) or None
    yield "cpu.mitigations", "; ".join(_mitigations(cpu)) or None
    for level in (2, 3):
        yield f"cpu.l{level}_bytes", _cache_bytes(cpu, level)
    yield "cpu.numa_nodes", read_word(root / "sys/devices/system/node/online")


def _cache_bytes(cpu: Path, level: int) -> str | None:
    """The size of a cache that the first processor reaches; the kernel writes it as "2048K"."""
    for index in sorted((cpu / "cpu0/cache").glob("index[0-9]*")):
        size = re.fullmatch(r"(\d+)K", read_word(index / "size") or "")
        if read_word(index / "level") == str(level) and size:
            return str(int(size[1]) << 10)
    return None


def _idle_states(cpu: Path) -> Iterator[str]:
    """Names of the idle states that are not switched off."""
    for state in sorted((cpu / "cpu0/cpuidle").glob("state[0-9]*")):
        name = read_word(state / "name")
        if name and read_word(state / "disable") != "1":
            yield name


def _mitigations(cpu: Path) -> Iterator[str]:
    for file in sorted((cpu / "vulnerabilities").glob("*")):
        yield f"{file.name}: {read_word(file)}"


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
    if "hypervisor" not in fields_of(flags):
        return "none"
    return read_word(root / "sys/class/dmi/id/sys_vendor") or "unnamed"


def _memory(root: Path) -> Iterator[tuple[str, str | None]]:
    text = read_word(root / "proc/meminfo") or ""
    yield "memory.total_bytes", _meminfo_bytes(text, "MemTotal")
    yield "memory.limit_bytes", str(memory_bytes(root)) if text else None
    yield "memory.swap_total_bytes", _meminfo_bytes(text, "SwapTotal")
    yield "memory.swap_areas", ", ".join(read_swaps(root)) or ("none" if text else None)
    yield (
        "memory.transparent_hugepage",
        selected(read_word(root / "sys/kernel/mm/transparent_hugepage/enabled")),
    )
    yield "now.memory_available_bytes", _meminfo_bytes(text, "MemAvailable")
    yield "now.swap_free_bytes", _meminfo_bytes(text, "SwapFree")
    yield "now.dirty_bytes", _meminfo_bytes(text, "Dirty")
    for key in _VM_KEYS:
        yield f"vm.{key}", read_word(root / "proc/sys/vm" / key)


def _load(root: Path) -> Iterator[tuple[str, str | None]]:
    yield "now.date_utc", datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    yield "now.loadavg", " ".join(fields_of(read_text(root / "proc/loadavg"))[:3])
    yield "now.steal_percent", _steal_percent(read_word(root / "proc/stat") or "")
    for resource in ("cpu", "io", "memory"):
        pressure = dict(_PRESSURE.findall(read_word(root / "proc/pressure" / resource) or ""))
        yield f"now.pressure_{resource}_some_percent", pressure.get("some")
        yield f"now.pressure_{resource}_full_percent", pressure.get("full")


def _steal_percent(text: str) -> str | None:
    """Share of CPU time since boot that the hypervisor gave to others; fields as in proc_stat(5)."""
    line = next((line for line in lines_of(text) if line.startswith("cpu ")), "")
    ticks = [int(word) for word in fields_of(line)[1:9]]
    if len(ticks) < 8 or sum(ticks) == 0:
        return None
    return f"{100 * ticks[7] / sum(ticks):.2f}"


def _versions() -> Iterator[tuple[str, str | None]]:
    yield "version.python", platform.python_version()
    yield "version.mileage", VERSION


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
    yield "target.read_only", str(ground.read_only).lower() if ground else None
    yield "now.target_inodes_free", _inodes_free(path)
    device, disk = (ground.device, ground.disk) if ground else (UNKNOWN, UNKNOWN)
    yield from device_facts(device, disk, root)
    yield from attachment_facts(disk, root)


def _inodes_free(path: Path) -> str | None:
    try:
        return str(os.statvfs(path).f_favail)
    except OSError:
        return None


def _first_field(text: str, name: str) -> str | None:
    """The value of the first "name : value" line."""
    for line in lines_of(text):
        key, separator, value = line.partition(":")
        if separator and key.strip() == name:
            return value.strip()
    return None


def _meminfo_bytes(text: str, name: str) -> str | None:
    value = _first_field(text, name)
    return str(int(fields_of(value)[0]) * 1024) if value else None


# How a disk is attached: transport, controller, RAID card, and the stack of devices that it is the top of.
# Scope: flat keys `target.*` of one disk, for a stack (dm, md, bcache) of the physical disks at its bottom, read
# below /sys without asking a drive.
# What it refuses: to look through what hides a drive. The cache of a RAID card, and what is behind a virtual disk or
# below the file of a loop device, are said to be unknown.

Fact = tuple[str, str | None]

_DEPTH_MAX: Final = 8
"""Devices in a stack, which guards against a circular chain."""
HIDDEN_CACHE: Final = "unknown: the kernel does not report it; a study states it in [notes]"
_DM_KINDS: Final = {"LVM": "LVM", "CRYPT": "crypt", "mpath": "multipath", "DMRAID": "host RAID"}
"""Kinds of device mapper targets, by the first word of their uuid."""
_IN_MEMORY: Final = ("zram", "ram")
_UNITS: Final = {"nvme": "GT/s", "sata": "Gbit/s", "sas": "Gbit/s", "usb": "Mbit/s"}
_NAMES: Final = {"nvme": "NVMe", "sata": "SATA", "sas": "SAS", "usb": "USB", "mmc": "MMC", "scsi": "SCSI"}


def attachment_facts(disk: str, root: Path) -> Iterator[Fact]:
    """Facts of how `disk` is attached, by its kernel name. An unknown fact is None."""
    below = member_disks(disk, root)
    yield "target.transport", _each(transport_of(name, root) for name in below)
    yield "target.controller", _each(_controller(name, root) for name in below)
    cards = [_raid_card(name, root) for name in below]
    yield "target.raid_card", _each(cards)
    has_card = [card for card in cards if card not in (None, "none")]
    yield "target.raid_cache", HIDDEN_CACHE if has_card else _each(cards)
    known = (root / "sys/block" / disk).exists()
    yield "target.stack", _stack(disk, root, _DEPTH_MAX) if known else None
    yield "target.members", "; ".join(_member(name, root) for name in below) if known else None


def member_disks(disk: str, root: Path) -> list[str]:
    """Kernel names of the physical disks below a disk, in order and each once; of one without a stack its own."""
    return list(dict.fromkeys(_leaves(disk, root, _DEPTH_MAX)))


def _leaves(disk: str, root: Path, depth: int) -> Iterator[str]:
    below = _below(disk, root) if depth else []
    if not below:
        yield disk
    for name in below:
        yield from _leaves(_whole(name, root), root, depth - 1)


def _below(disk: str, root: Path) -> list[str]:
    folder = root / "sys/block" / disk / "slaves"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _whole(name: str, root: Path) -> str:
    """The disk of a partition; the name itself of a disk."""
    place = (root / "sys/class/block" / name).resolve()
    return place.parent.name if (place / "partition").exists() else name


def _each(texts: Iterator[str | None] | list[str | None]) -> str | None:
    """What all members have in common, or each different text once. None when one of them is unknown."""
    found = list(dict.fromkeys(texts))
    return None if None in found else "; ".join(str(text) for text in found) or None


def transport_of(disk: str, root: Path) -> str | None:
    """Transport of one disk with the speed of its link: "SATA, 6.0 Gbit/s"; None when it is not known."""
    place = root / "sys/block" / disk
    if disk.startswith(_IN_MEMORY):
        return "memory"
    if disk.startswith("loop"):
        return "loop device over a file"
    if not (place / "device").exists():
        return None
    found = bus_facts(disk, root)
    bus, speed = found["bus"], found["speed"]
    if bus == "unknown":
        return None
    name = _NAMES.get(bus, bus)
    if bus == "nvme":
        over = read_word(place / "device/transport")
        name += "" if over is None else " over PCIe" if over == "pcie" else f" over {over}"
        if speed:
            return f"{name}, {speed} GT/s x{found['lanes']}"
    if bus == "raid":
        return "behind a RAID card"
    return f"{name}, {speed} {_UNITS[bus]}" if speed and bus in _UNITS else name


def _controller(disk: str, root: Path) -> str | None:
    """What a disk hangs on: the bridge of a USB drive, the PCI device of any other."""
    place = (root / "sys/block" / disk / "device").resolve()
    if not (root / "sys/block" / disk / "device").exists():
        return "none" if disk.startswith(_IN_MEMORY) else None
    for folder in (place, *place.parents):
        if (folder / "idVendor").exists():
            return _usb_name(folder, place)
        if _is_pci(folder):
            return pci_name(folder, root)
    return None


def _is_pci(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("class", "vendor", "device"))


def _usb_name(bridge: Path, place: Path) -> str:
    """A USB device with the driver of its storage interface: "JMicron Generic (152d:0578), uas"."""
    names = " ".join(text for key in ("manufacturer", "product") if (text := read_word(bridge / key)))
    numbers = ":".join(read_word(bridge / key) or "?" for key in ("idVendor", "idProduct"))
    inside = (folder for folder in (place, *place.parents) if bridge in folder.parents)
    driver = next((name for folder in inside if (name := driver_of(folder)) in ("uas", "usb-storage")), None)
    return ", ".join([f"{names} ({numbers})" if names else f"USB {numbers}", *([driver] if driver else [])])


def _raid_card(disk: str, root: Path) -> str | None:
    """The RAID card that a disk is behind; "none", or None where that is not known: a hypervisor hides it."""
    link = root / "sys/block" / disk / "device"
    if disk.startswith(_IN_MEMORY):
        return "none"
    place = link.resolve()
    if not link.exists() or "/virtio" in str(place):
        return None
    cards = (raid_card(folder, root) for folder in (place, *place.parents) if _is_pci(folder))
    return next((card for card in cards if card), "none")


def _stack(disk: str, root: Path, depth: int) -> str:
    """A device and what it is made of: "dm-0 (LVM) on md0 (raid1) on sda1 + sdb1"."""
    below = [_stack(name, root, depth - 1) for name in _below(disk, root)] if depth else []
    if len(below) > 1:
        below = [f"({text})" if " on " in text else text for text in below]
    kind = _kind(disk, root)
    return " on ".join([f"{disk} ({kind})" if kind else disk, *([" + ".join(below)] if below else [])])


def _kind(disk: str, root: Path) -> str | None:
    place = root / "sys/block" / disk
    if (level := read_word(place / "md/level")) is not None:
        return level
    if (place / "dm").is_dir():
        word = (read_word(place / "dm/uuid") or "").partition("-")[0]
        return _DM_KINDS.get(word, word or "device mapper")
    return None


def _member(disk: str, root: Path) -> str:
    """A physical disk with its model: "sda ATA Example SSD"."""
    device = root / "sys/block" / disk / "device"
    names = (disk, read_word(device / "vendor"), read_word(device / "model"))
    # The vendor of a disk of virtio is a number of the PCI bus.
    return " ".join(text for text in names if text and not text.startswith("0x"))


# Versions of the programs that a study runs on a real target, and of the MPI library of this process.
# Scope: a flat key `version.NAME` for each program that Mileage may call: made file systems, mounts, loop devices,
# discards and the questions to drives. A program is asked once in a process and again when its file changes.
# What it refuses: to omit a program. One that is not installed, or does not report a version, is said to be so.

TIMEOUT_S: Final = 10.0
OPTIONS: Final[Mapping[str, str]] = {
    "mkfs.ext4": "-V",
    "mkfs.xfs": "-V",
    "mkfs.btrfs": "--version",
    "mount": "--version",
    "fstrim": "--version",
    "losetup": "--version",
    "smartctl": "--version",
    "nvme": "version",
    "hdparm": "-V",
    "mpirun": "--version",
}
"""The option that prints a program's version."""
ABSENT: Final = "not installed"
NO_MPI: Final = "none in this process"


def program_versions() -> dict[str, str]:
    """The first line that each program prints of its version, by `version.NAME`."""
    found = {f"version.{name}": _version(name, option) for name, option in OPTIONS.items()}
    return {**found, "version.mpi_library": _mpi_library()}


def _version(name: str, option: str) -> str:
    place = find_program(name)
    if place is None:
        return ABSENT
    try:
        status = os.stat(place)
    except OSError:
        return ABSENT
    return _printed(place, option, (status.st_ino, status.st_mtime_ns))


@functools.lru_cache(maxsize=64)
def _printed(place: str, option: str, _state: tuple[int, int]) -> str:
    """First line that a program prints; mkfs.ext4 prints it on the error output."""
    try:
        done = subprocess.run(
            [place, option],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            process_group=0,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        return f"unknown: {type(cause).__name__}"
    lines = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0 or not lines:
        return f"unknown: {option} gives exit status {done.returncode}"
    # The features that util-linux lists after the version say nothing about what is done here.
    return lines[0].partition(" (libmount")[0][:120]


def _mpi_library() -> str:
    """The MPI library that connects the ranks, where this process is one of them."""
    if "mpi4py.MPI" not in sys.modules:
        return NO_MPI
    from mpi4py import MPI

    return str(MPI.Get_library_version()).splitlines()[0].strip("\0 ")[:120]
