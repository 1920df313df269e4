"""Guards that keep Mileage from writing to devices and files in use.

Scope: the ways the kernel can be using a block device or a file: mounted, swap, backing a device
mapper, md, LVM or loop device, member of a btrfs, or opened exclusively by anything else. A whole disk is in
use when one of its partitions is, and a partition when its whole disk is; a neighbouring partition is no
obstacle.
What it refuses: every block device and every file that something uses. The reasons are given in this order: missing,
not a block device, in use and how. All are raised before anything is written; the only call that touches the device is
an exclusive open for reading.

Invariant: no function here opens anything for writing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.targets.file_identity import FileIdentity
from mileage.targets.kernel_text import read_line, read_text, read_word, unescape
from mileage.targets.mounts import Mount, mount_of, parse_mountinfo, read_mounts, read_swaps

ROOT = Path("/")
ADVICE = "Mileage never writes to a device or file in use; choose another target"
_HOLDER_CHAIN_MAX = 16

ExclusiveProbe = Callable[[Path], bool]
"""Answers whether the kernel refuses an exclusive open of a block device."""


def block_device_refusal(
    text: str, path: Path, *, root: Path = ROOT, probe: ExclusiveProbe | None = None
) -> Refused | None:
    """Reason why a path given as a block device must not be written: the most useful one.

    None when it is a block device that nothing uses.

    `text` is the target as the user wrote it, `root` is where /proc, /sys and /dev are looked for.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Refused(text, "no such device", code="not-found")
    except OSError as error:
        return Refused(text, f"cannot be looked at: {error.strerror}", code="unreadable")
    if not stat.S_ISBLK(status.st_mode):
        kind = kind_of(status.st_mode)
        return Refused(
            text, f"this is {kind}, not a block device", advice="use dir: or file: for it", code="wrong-kind"
        )
    number = device_number(status.st_rdev)
    uses = uses_of_device(number, root=root) or uses_elsewhere(number, root=root)
    # Last, because it opens the device, and because the tables give a better reason where they know one.
    if not uses and (probe or is_held_exclusively)(path):
        uses = ("opened exclusively by something that does not show in /proc or /sys",)
    if uses:
        return Refused(text, f"in use: {'; '.join(uses)}. {ADVICE}", code="in-use")
    if read_word(root / "sys/dev/block" / number / "ro") == "1":
        return Refused(
            text,
            "the device is read-only",
            advice=f"make it writable first: blockdev --setrw {path}",
            code="unwritable",
        )
    return None


def uses_elsewhere(device: str, *, root: Path = ROOT) -> tuple[str, ...]:
    """Mounts of the block device "MAJOR:MINOR" that only other processes see, in mount namespaces of their own."""
    seen: dict[tuple[str, str], str] = {}
    for table in sorted((root / "proc").glob("[0-9]*/mountinfo")):
        # The mount table depends on namespace and root: a process sees only what is mounted below its root.
        namespace = (_link(table.parent / "ns/mnt"), _link(table.parent / "root"))
        if namespace in seen:
            continue
        text = read_text(table)
        if not text:
            # Try the next process of this namespace if this one has ended or may not be read.
            continue
        number = table.parent.name
        try:
            found = [mount.mount_point for mount in parse_mountinfo(text) if mount.device == device]
        except ValueError as error:
            seen[namespace] = f"what process {number} has mounted cannot be read ({error})"
            continue
        where = f"mounted at {found[0]} in the mount namespace of process {number}" if found else ""
        seen[namespace] = where
    return tuple(dict.fromkeys(text for text in seen.values() if text))


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return str(path)


def refuse_file_in_use(text: str, path: Path, *, root: Path = ROOT) -> None:
    """Refuse a regular file which is a swap area, backs a loop device, or is mounted over."""
    uses = uses_of_file(path, root=root)
    if uses:
        raise Refused(text, f"in use: {'; '.join(uses)}. {ADVICE}", code="in-use")


def uses_of_file(path: Path, *, root: Path = ROOT) -> tuple[str, ...]:
    """Uses of this file by the system, under whatever name; one reason each, empty when there are none."""
    mounts = read_mounts(root)
    own, known = os.path.realpath(path), identities_of(path, mounts)

    # By device and inode as well as by path: a file has several names, and the kernel keeps the one it was given.
    def is_own(other: str) -> bool:
        return os.path.realpath(other) == own or not known.isdisjoint(identities_of(other, mounts))

    uses = [f"swap area {area}" for area in read_swaps(root) if is_own(area)]
    uses += [
        f"backs {name}"
        for name, backing in loop_devices(root)
        if is_own(backing) or backing_at(root / "dev" / name) in known
    ]
    over = [mount.mount_point for mount in mounts if mount.mount_point == own]
    uses += [f"mounted over at {mount_point}" for mount_point in over]
    return tuple(uses)


def uses_of_device(device: str, *, root: Path = ROOT) -> tuple[str, ...]:
    """Uses of the block device "MAJOR:MINOR", its partitions and its whole disk.

    One reason each, most direct first; empty when nothing is known to use it. Reads only /proc and /sys.
    """
    place = root / "sys/dev/block" / device
    # A device without an entry in sysfs may still be mounted: in a container /sys can be hidden or of another host.
    if not place.exists():
        return tuple(_uses_of_one(device, device, root))
    place = place.resolve()
    relatives = [place]
    # Writing to a partition changes the disk and the reverse, so either of them in use protects the other.
    if (place / "partition").exists():
        relatives.append(place.parent)
    else:
        relatives += sorted(entry for entry in place.iterdir() if (entry / "partition").exists())
    uses: list[str] = []
    for relative in relatives:
        number = read_word(relative / "dev") or device
        prefix = "" if relative == place else f"{relative.name}: "
        uses += [prefix + use for use in _uses_of_one(number, relative.name, root)]
        uses += [prefix + use for use in _uses_by_holders(relative, root, _HOLDER_CHAIN_MAX)]
    return tuple(dict.fromkeys(uses))


def _uses_of_one(device: str, name: str, root: Path) -> list[str]:
    """Mounts, swap areas, loop devices and btrfs memberships of exactly this device."""

    def names_it(path: str) -> bool:
        return path == f"/dev/{name}" or _block_number(root / path.lstrip("/")) == device

    # A btrfs has a device number of its own in the mount table; only the mount's source names the real device.
    mounts = [mount for mount in read_mounts(root) if mount.device == device or names_it(mount.source)]
    uses = [f"mounted at {mount.mount_point} ({mount.fs_type})" for mount in mounts]
    uses += [f"swap area {area}" for area in read_swaps(root) if names_it(area)]
    uses += [f"backs {loop}" for loop, backing in loop_devices(root) if names_it(backing)]
    uses += [f"member of the btrfs {uuid}" for uuid in _btrfs_with(name, root)]
    return uses


def _uses_by_holders(place: Path, root: Path, depth: int) -> Iterable[str]:
    """Devices stacked on this one (md, dm, LVM, bcache), and their uses, up the chain."""
    holders = place / "holders"
    # The depth limit guards against a circular chain.
    if depth == 0 or not holders.is_dir():
        return
    for holder in sorted(holders.iterdir()):
        label = read_word(holder / "dm/name")
        yield f"held by {holder.name}" + (f" ({label})" if label else "")
        number = read_word(holder / "dev")
        if number is None:
            continue
        yield from (f"{holder.name} {use}" for use in _uses_of_one(number, holder.name, root))
        yield from _uses_by_holders(holder.resolve(), root, depth - 1)


def _btrfs_with(name: str, root: Path) -> list[str]:
    members = sorted((root / "sys/fs/btrfs").glob(f"*/devices/{name}"))
    return [member.parent.parent.name for member in members]


def loop_devices(root: Path = ROOT) -> tuple[tuple[str, str], ...]:
    """The loop devices in use and the path that backs each, as (device name, path)."""
    files = sorted((root / "sys/block").glob("loop*/loop/backing_file"))
    pairs = ((file.parent.parent.name, read_line(file)) for file in files)
    return tuple((name, backing) for name, backing in pairs if backing)


def is_held_exclusively(path: Path) -> bool:
    """True when the kernel refuses an exclusive open (O_EXCL, reading only) because something holds it.

    It catches holders that no table shows: ZFS, a mount in another namespace. No permission means False.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return error.errno == errno.EBUSY
    os.close(descriptor)
    return False


def kind_of(mode: int) -> str:
    """Kind of a path in words, from its st_mode."""
    kinds = (
        (stat.S_ISREG, "a regular file"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((words for test, words in kinds if test(mode)), "something unknown")


def device_number(number: int) -> str:
    """A device number as "MAJOR:MINOR"."""
    return f"{os.major(number)}:{os.minor(number)}"


def _block_number(path: Path) -> str | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return device_number(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None


# One file under several names of an overlay: its path in the overlay, and those in the layers below.
# Scope: overlayfs, whose mount options name the directories of the layers. A file of a layer has an identity of
# its own there, and another one in the overlay.
# Layers that are not visible here, as in a container, are ignored.


def identities_of(path: str | Path, mounts: tuple[Mount, ...]) -> set[FileIdentity]:
    """The identities of a file: at its path, and in the layers where that is on an overlay."""
    real = Path(os.path.realpath(path))
    return {found for name in (real, *_in_layers(real, mounts)) if (found := _identity(name)) is not None}


def _in_layers(path: Path, mounts: tuple[Mount, ...]) -> Iterator[Path]:
    mount = mount_of(path, mounts)
    if mount is None or mount.fs_type != "overlay":
        return
    name = path.relative_to(mount.mount_point)
    for option in mount.super_options:
        key, _, value = option.partition("=")
        if key.rstrip("+") in ("upperdir", "lowerdir"):
            yield from (Path(layer) / name for layer in unescape(value).split(":") if layer)


def _identity(path: Path) -> FileIdentity | None:
    try:
        return FileIdentity.of_status(path.stat())
    except OSError:
        return None


# Find the file behind a loop device, as the kernel knows it: by device and inode, whatever paths show.
# Scope: LOOP_GET_STATUS64 of loop(4).
# None where the device is not attached, or may not be asked.

_LOOP_GET_STATUS64: Final = 0x4C05
_STATUS_BYTES: Final = 232
"""Size of `struct loop_info64`, which begins with device and inode of the file."""


def backing_of(descriptor: int) -> FileIdentity | None:
    """The file below an open loop device."""
    try:
        answer: bytes = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_STATUS_BYTES))
    except OSError:
        return None
    device, inode = struct.unpack_from("QQ", answer)
    return FileIdentity(int(device), int(inode))


def backing_at(path: Path) -> FileIdentity | None:
    """Path of the backing file of the loop device at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return backing_of(descriptor)
    finally:
        os.close(descriptor)


# Find the processes that use a path: working directory, root, open files, mapped files.
# Scope: the links under /proc/PID, which the kernel keeps for every process.
# Processes that may not be looked at, or that end meanwhile, are skipped.


def users_of(place: str, *, root: Path = ROOT) -> str:
    """The processes that use this directory or something below it, as "PID (name), ..."; "" when none shows."""
    processes = sorted((root / "proc").glob("[0-9]*"), key=lambda path: int(path.name))
    return ", ".join(
        f"{process.name} ({read_word(process / 'comm') or 'unnamed'})"
        for process in processes
        if any(_below(link, place) for link in _links(process))
    )


def _links(process: Path) -> list[str]:
    links = [process / "cwd", process / "root"]
    for folder in ("fd", "map_files"):
        try:
            links += list((process / folder).iterdir())
        except OSError:
            continue
    return [target for link in links if (target := _target(link)) is not None]


def _target(link: Path) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")
