"""The kernel's tables of mounts and swap areas, as values.

Scope: /proc/self/mountinfo and /proc/swaps, field by field (proc_pid_mountinfo(5), proc_swaps(5)).
What it refuses: guessing. A line that does not have the documented fields raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from mileage.targets.kernel_text import fields_of, lines_of, read_text, unescape


class Mount(msgspec.Struct, frozen=True):
    """One line of mountinfo: a file system seen at one place."""

    mount_id: int
    """The kernel's number of this mount."""
    device: str
    """"MAJOR:MINOR" as stat reports it; major 0 for file systems without one block device."""
    mount_point: str
    """Absolute path where it is seen, unescaped."""
    options: tuple[str, ...]
    """Options of this mount point, such as "ro" or "relatime"."""
    fs_type: str
    """File system type, such as "ext4"."""
    source: str
    """Mounted source: a device path, a server and path, or a word."""
    super_options: tuple[str, ...]
    """Options of the whole file system, such as "discard"."""

    @property
    def all_options(self) -> tuple[str, ...]:
        """Options of the mount point and of the file system, each once, in the kernel's order."""
        return tuple(dict.fromkeys(self.options + self.super_options))


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """The mounts in a mountinfo text, in its order (a later one hides an earlier one at the same place)."""
    return tuple(_parse_mount(line) for line in lines_of(text))


def _parse_mount(line: str) -> Mount:
    # Split at single spaces, because the source of a mount may be an empty text.
    fields = line.split(" ")
    try:
        separator = fields.index("-", 6)
        fs_type, source = fields[separator + 1], fields[separator + 2]
        mount_id = int(fields[0])
    except (ValueError, IndexError):
        raise ValueError(f"not a line of mountinfo: {line!r}") from None
    super_options = fields[separator + 3] if len(fields) > separator + 3 else ""
    return Mount(
        mount_id=mount_id,
        device=fields[2],
        mount_point=unescape(fields[4]),
        options=tuple(fields[5].split(",")),
        fs_type=fs_type,
        source=unescape(source),
        super_options=tuple(option for option in super_options.split(",") if option),
    )


def parse_swaps(text: str) -> tuple[str, ...]:
    """The paths of the swap areas in a /proc/swaps text: partitions and files."""
    return tuple(unescape(fields_of(line)[0]) for line in lines_of(text)[1:])


def mount_of(path: Path, mounts: Iterable[Mount], device: str | None = None) -> Mount | None:
    """The mount that an absolute, resolved path lies on; None where the table does not say.

    `device` is the "MAJOR:MINOR" that stat reports for the path. Mounts of that device are preferred, because
    a path prefix alone is misled by a mount that was later hidden; some file systems (btrfs) report another
    number than their mounts have, and for those the longest prefix decides.
    """
    candidates = [mount for mount in mounts if PurePosixPath(path).is_relative_to(mount.mount_point)]
    same_device = [mount for mount in candidates if mount.device == device]
    best: Mount | None = None
    for mount in same_device or candidates:
        if best is None or len(mount.mount_point) >= len(best.mount_point):
            best = mount
    return best


def read_mounts(root: Path = Path("/")) -> tuple[Mount, ...]:
    """The mounts this process sees now; empty where /proc is not there."""
    return parse_mountinfo(read_text(root / "proc/self/mountinfo"))


def read_swaps(root: Path = Path("/")) -> tuple[str, ...]:
    """The swap areas in use now; empty where /proc is not there."""
    return parse_swaps(read_text(root / "proc/swaps"))
