"""The limits that control groups put on the I/O of this process, on the disk below a path.

Scope: `io.max` of version 2 (bytes and operations a second) and `blkio.throttle.*` of version 1, of the
group of this process and of those that enclose it. A drive behind such a limit is not measured; the limit is.
Where the kernel does not report it, there is no sentence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mileage.targets.filesystem import look_at
from mileage.targets.guard import ROOT, device_number
from mileage.targets.kernel_text import fields_of, lines_of, read_text, read_word

_VERSION_1: Final = {
    "blkio.throttle.read_bps_device": "reads to {} bytes/s",
    "blkio.throttle.write_bps_device": "writes to {} bytes/s",
    "blkio.throttle.read_iops_device": "reads to {} operations/s",
    "blkio.throttle.write_iops_device": "writes to {} operations/s",
}
_VERSION_2: Final = {
    "rbps": "reads to {} bytes/s",
    "wbps": "writes to {} bytes/s",
    "riops": "reads to {} operations/s",
    "wiops": "writes to {} operations/s",
}


def io_limits(path: Path, *, root: Path = ROOT) -> list[str]:
    """A sentence for each control group that limits this process on the disk below an existing path."""
    numbers = _numbers(path, root)
    found = []
    for folder in _groups(root):
        limits = [*_of_version_1(folder, numbers), *_of_version_2(folder, numbers)]
        if limits:
            found.append(f"a control group limits {', '.join(limits)}: the limit is measured, not the drive")
    return found


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


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's control groups that may limit I/O, and of those that enclose them."""
    for line in lines_of(read_text(root / "proc/self/cgroup")):
        _, controllers, group = line.split(":", 2)
        tops = []
        if controllers == "":
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif "blkio" in controllers.split(","):
            tops = [root / "sys/fs/cgroup/blkio", root / "sys/fs/cgroup" / controllers]
        for top in dict.fromkeys(tops):
            place = Path(os.path.normpath(top / group.lstrip("/")))
            for folder in (place, *place.parents):
                yield folder
                if folder == top:
                    break


def _of_version_1(folder: Path, numbers: set[str]) -> Iterator[str]:
    for name, words in _VERSION_1.items():
        for line in lines_of(read_text(folder / name)):
            fields = fields_of(line)
            if len(fields) == 2 and fields[0] in numbers:
                yield words.format(f"{int(fields[1]):,}")


def _of_version_2(folder: Path, numbers: set[str]) -> Iterator[str]:
    for line in lines_of(read_text(folder / "io.max")):
        number, *pairs = fields_of(line)
        for key, _, limit in (pair.partition("=") for pair in pairs if number in numbers):
            if key in _VERSION_2 and limit.isdigit():
                yield _VERSION_2[key].format(f"{int(limit):,}")
