"""The storage below a path: file system, mount, device, space and memory.

Scope: the facts that statvfs, mountinfo and /sys report of an existing directory, file or block device.
What it refuses: writing. The one exception is `probe_direct`, which makes an empty file that has no name (or,
where the file system has no such files, one that is removed at once) and is called after the guards passed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mileage.targets.guard import ROOT, device_number
from mileage.targets.kernel_text import fields_of, lines_of, read_text, read_word
from mileage.targets.mounts import Mount, mount_of, read_mounts

UNKNOWN = "unknown"
_PIECES_MAX = 1000
"""Pieces of a file that are looked at for holes."""
_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
_ONLY_CACHED = frozenset({"ramfs", "hugetlbfs", "ecryptfs", "jffs2"})
"""File systems whose files cannot be opened with O_DIRECT in any version of the kernel."""
_INLINE = frozenset({"btrfs", "f2fs", "bcachefs", "ntfs", "ntfs3", "zfs", "fuse", "fuseblk"})
"""File systems that may keep the bytes of a small file with its inode."""

_JOURNALLED = "data=journal"
"""Mount option with which ext4 has no direct I/O: O_DIRECT goes through the page cache (Linux, ext4.rst)."""
_SERVED = frozenset(
    {
        *("fuse", "fuseblk", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "lustre", "beegfs"),
        *("gpfs", "afs"),
    }
)


class Ground(msgspec.Struct, frozen=True):
    """File system, device and free space below a path. Text fields are "unknown" where the kernel does not say."""

    fs_type: str
    """File system type, such as "ext4"."""
    mount_point: str
    """Where the file system is mounted."""
    mount_options: tuple[str, ...]
    """Options of the mount and of the file system."""
    source: str
    """Device or source that is mounted there."""
    device: str
    """Kernel name of the block device, such as "sda1"; "unknown" for network and memory file systems."""
    disk: str
    """Kernel name of the whole disk, which has the request queue; same as `device` when not a partition."""
    block_bytes: int
    """Logical block size of the device; the file system's block size when no device is known."""
    capacity_bytes: int
    """Size of the file system."""
    free_bytes: int
    """Free to an ordinary user (f_bavail)."""
    read_only: bool
    """True when the file system is mounted read-only."""
    free_files: int | None = None
    """Inodes free to an ordinary user (f_favail); None where they are made when they are needed, as btrfs does."""
    file_block_bytes: int = 1
    """Size of which the bytes allocated to a file are a multiple; 1 where a small file needs no block of its own."""

    @property
    def is_memory(self) -> bool:
        """True when the file system lives in memory and has no storage below it."""
        return self.memory_file_system != ""

    @property
    def memory_file_system(self) -> str:
        """Its type if it lives in memory; "" otherwise."""
        return self.fs_type if self.fs_type in _MEMORY_FILE_SYSTEMS else ""

    @property
    def has_direct(self) -> bool:
        """Whether files can be opened with O_DIRECT here, by the type of the file system alone.

        `probe_direct` tries it, for which it makes a file.
        """
        if self.fs_type == "tmpfs":
            return _memory_has_direct()
        return self.fs_type not in _ONLY_CACHED and _JOURNALLED not in self.mount_options

    @property
    def is_served(self) -> bool:
        """Whether a program or another machine serves the file system, with a cache of its own."""
        return self.fs_type.partition(".")[0] in _SERVED


def _memory_has_direct() -> bool:
    """Whether this kernel's tmpfs accepts O_DIRECT (since Linux 6.6), tested on a file without a name."""
    descriptor = os.memfd_create("mileage", os.MFD_CLOEXEC)
    try:
        os.close(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def look_at(path: Path, *, root: Path = ROOT) -> Ground:
    """Describe the file system and device below an existing path. Raises OSError when it cannot be read."""
    resolved = path.resolve(strict=True)
    if resolved.is_block_device():
        return _look_at_device(resolved, root)
    space = os.statvfs(resolved)
    number = device_number(resolved.stat().st_dev)
    mount = mount_of(resolved, read_mounts(root), number)
    device, disk = _device_names(number, mount, root)
    logical = read_word(root / "sys/block" / disk / "queue/logical_block_size")
    return Ground(
        fs_type=mount.fs_type if mount else UNKNOWN,
        mount_point=mount.mount_point if mount else UNKNOWN,
        mount_options=mount.all_options if mount else (),
        source=mount.source if mount else UNKNOWN,
        device=device,
        disk=disk,
        block_bytes=int(logical) if logical and logical.isdigit() else space.f_bsize,
        capacity_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        read_only=bool(space.f_flag & os.ST_RDONLY),
        free_files=space.f_favail if space.f_files > 0 else None,
        file_block_bytes=1 if mount is None or mount.fs_type in _INLINE else space.f_frsize,
    )


def _device_names(number: str, mount: Mount | None, root: Path) -> tuple[str, str]:
    """Kernel names of the device behind a file system and of its whole disk."""
    place = root / "sys/dev/block" / number
    if not place.exists() and mount is not None and mount.source.startswith("/dev/"):
        place = root / "sys/class/block" / Path(mount.source).resolve().name
    if not place.exists():
        return UNKNOWN, UNKNOWN
    place = place.resolve()
    return place.name, place.parent.name if (place / "partition").exists() else place.name


def _look_at_device(path: Path, root: Path) -> Ground:
    """A block device itself: no file system, and all of it is free."""
    device, disk = _device_names(device_number(path.stat().st_rdev), None, root)
    logical = read_word(root / "sys/block" / disk / "queue/logical_block_size")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)
    return Ground(
        fs_type="none",
        mount_point=UNKNOWN,
        mount_options=(),
        source=str(path),
        device=device,
        disk=disk,
        block_bytes=int(logical) if logical else 512,
        capacity_bytes=size,
        free_bytes=size,
        read_only=read_word(root / "sys/block" / disk / "ro") == "1",
    )


def hole_bytes(path: Path) -> int:
    """Bytes of a regular file that were never written, as its file system reports (lseek(2)); 0 where it does not.

    Of a file in more than a thousand pieces, those of the first thousand. Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end, data, held = os.fstat(descriptor).st_size, 0, 0
        for _ in range(_PIECES_MAX):
            try:
                start = os.lseek(descriptor, data, os.SEEK_DATA)
            except OSError as error:
                # ENXIO: no data from here to the end.
                return end - held if error.errno == errno.ENXIO else 0
            data = os.lseek(descriptor, start, os.SEEK_HOLE)
            held += data - start
            if data >= end:
                break
        return data - held
    finally:
        os.close(descriptor)


def disk_of(path: Path, *, root: Path = ROOT) -> str:
    """Kernel name of a block device's whole disk, such as "sda"."""
    return _device_names(device_number(path.stat().st_rdev), None, root)[1]


def queue_word(path: Path, name: str, *, root: Path = ROOT) -> str | None:
    """Read a setting of a disk's request queue from /sys/block/DISK/queue; None when the kernel does not have it."""
    _, disk = _device_names(device_number(path.stat().st_rdev), None, root)
    return read_word(root / "sys/block" / disk / "queue" / name)


def memory_bytes(root: Path = ROOT) -> int:
    """Memory that can cache files: MemTotal, or the cgroup's limit where that is lower; 0 when unknown."""
    total = _meminfo_bytes("MemTotal", root)
    limits = list(_memory_limits(root))
    return min([total, *limits]) if total else min(limits, default=0)


def available_memory_bytes(root: Path = ROOT) -> int:
    """Memory that programs can take: MemAvailable, or the cgroup's limit where that is lower; 0 when unknown."""
    return min([_meminfo_bytes("MemAvailable", root), *_memory_limits(root)])


def _meminfo_bytes(key: str, root: Path) -> int:
    lines = lines_of(read_text(root / "proc/meminfo"))
    return next((int(fields_of(line)[1]) * 1024 for line in lines if line.startswith(f"{key}:")), 0)


def _memory_limits(root: Path) -> Iterator[int]:
    """The memory limits of this process's control groups, own and enclosing, versions 1 and 2."""
    for line in lines_of(read_text(root / "proc/self/cgroup")):
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        file_name = "memory.limit_in_bytes" if controllers else "memory.max"
        place = top / group.lstrip("/")
        for folder in (place, *place.parents):
            word = read_word(folder / file_name)
            if word and word.isdigit():
                yield int(word)
            if folder == top:
                break


def probe_direct(directory: Path) -> bool:
    """True when a file in this directory can be opened with O_DIRECT. Leaves nothing behind."""
    flags = os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC
    try:
        os.close(os.open(directory, flags | os.O_TMPFILE, 0o600))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            return False
    else:
        return True
    return _probe_direct_named(directory / f".mileage-probe-{os.getpid()}", flags)


def _probe_direct_named(path: Path, flags: int) -> bool:
    """The probe for file systems without nameless files; also decides what EINVAL meant."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    os.close(descriptor)
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    else:
        return True
    finally:
        path.unlink()
