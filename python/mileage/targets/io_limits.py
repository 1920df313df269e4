"""The limits that control groups put on this process: on its I/O on the disk below a path, and on its processors.

Scope: `io.max` and `cpu.max` of version 2, `blkio.throttle.*` and `cpu.cfs_quota_us` of version 1, of the group of this
process and of those that enclose it. A drive behind such a limit is not measured; the limit is. Where the kernel does
not report it, there is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mileage.targets.filesystem import look_at
from mileage.targets.guard import ROOT, device_number
from mileage.targets.kernel_text import fields_of, lines_of, read_text, read_word

_VERSION_1: Final = {
    "blkio.throttle.read_bps_device": "read_bytes_per_s",
    "blkio.throttle.write_bps_device": "write_bytes_per_s",
    "blkio.throttle.read_iops_device": "read_ops_per_s",
    "blkio.throttle.write_iops_device": "write_ops_per_s",
}
_VERSION_2: Final = {
    "rbps": "read_bytes_per_s",
    "wbps": "write_bytes_per_s",
    "riops": "read_ops_per_s",
    "wiops": "write_ops_per_s",
}
_WORDS: Final = {
    "read_bytes_per_s": "reads to {:,} bytes/s",
    "write_bytes_per_s": "writes to {:,} bytes/s",
    "read_ops_per_s": "reads to {:,} operations/s",
    "write_ops_per_s": "writes to {:,} operations/s",
}
NO_LIMIT: Final = "none"


def io_limits(path: Path, *, root: Path = ROOT) -> list[str]:
    """A sentence for each control group that limits this process on the disk below an existing path."""
    return [
        f"a control group limits {limit_words(limits)}: the limit is measured, not the drive"
        for limits in _limits(path, root)
    ]


def limit_words(limits: Mapping[str, Any]) -> str:
    """Limits in words: "reads to 1,000,000 bytes/s, writes to 50 operations/s"."""
    return ", ".join(_WORDS[key].format(limits[key]) for key in _WORDS if key in limits)


def lowest_io_limits(path: Path, *, root: Path = ROOT) -> dict[str, int]:
    """The limits that hold on the disk below a path: of all groups the lowest of each kind; empty without any."""
    found: dict[str, int] = {}
    for limits in _limits(path, root):
        for key, limit in limits.items():
            found[key] = min(limit, found.get(key, limit))
    return found


def limit_facts(path: Path | None, *, root: Path = ROOT) -> dict[str, str | None]:
    """Limits of control groups as facts of the environment: of I/O on a target, and of processors. None: not known."""
    if not read_text(root / "proc/self/cgroup"):
        return dict.fromkeys(("group.processor_limit", *(("group.io_limits",) if path else ())))
    found: dict[str, str | None] = {"group.processor_limit": _processor_limit(root)}
    if path is not None:
        limits = lowest_io_limits(path, root=root)
        found["group.io_limits"] = " ".join(f"{key}={limits[key]}" for key in sorted(limits)) or NO_LIMIT
    return found


def _processor_limit(root: Path) -> str:
    """The number of processors that may be used on average, the lowest of all groups; "none" without a limit."""
    found = []
    for folder in _groups(root, "cpu"):
        quota, period = (read_word(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        words = fields_of(read_text(folder / "cpu.max")) or [quota or "max", period or ""]
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            found.append(int(words[0]) / int(words[1]))
    return f"{min(found):g}" if found else NO_LIMIT


def _limits(path: Path, root: Path) -> Iterator[dict[str, int]]:
    """The limits of each group that has some on the disk below a path."""
    numbers = _numbers(path, root)
    for folder in _groups(root, "blkio"):
        limits = {**dict(_of_version_1(folder, numbers)), **dict(_of_version_2(folder, numbers))}
        if limits:
            yield limits


def _numbers(path: Path, root: Path) -> set[str]:
    """The device numbers, "MAJOR:MINOR", of the device below a path and of its whole disk."""
    try:
        status = path.stat()
        ground = look_at(path, root=root)
    except OSError:
        return set()
    number = device_number(status.st_rdev if path.is_block_device() else status.st_dev)
    disk = read_word(root / "sys/block" / ground.disk / "dev")
    return {number, disk} if disk else {number}


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's control groups that have a controller, and of those that enclose them."""
    for line in lines_of(read_text(root / "proc/self/cgroup")):
        _, controllers, group = line.split(":", 2)
        tops = []
        if controllers == "":
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            tops = [root / "sys/fs/cgroup" / controller, root / "sys/fs/cgroup" / controllers]
        for top in dict.fromkeys(tops):
            place = Path(os.path.normpath(top / group.lstrip("/")))
            for folder in (place, *place.parents):
                yield folder
                if folder == top:
                    break


def _of_version_1(folder: Path, numbers: set[str]) -> Iterator[tuple[str, int]]:
    for name, key in _VERSION_1.items():
        for line in lines_of(read_text(folder / name)):
            fields = fields_of(line)
            if len(fields) == 2 and fields[0] in numbers:
                yield key, int(fields[1])


def _of_version_2(folder: Path, numbers: set[str]) -> Iterator[tuple[str, int]]:
    for line in lines_of(read_text(folder / "io.max")):
        number, *pairs = fields_of(line)
        for key, _, limit in (pair.partition("=") for pair in pairs if number in numbers):
            if key in _VERSION_2 and limit.isdigit():
                yield _VERSION_2[key], int(limit)
