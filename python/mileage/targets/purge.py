"""Purging a block device: as good as new, by what the device itself offers.

Scope: discarding all of it, formatting an NVMe namespace with erasing, the ATA security erase. The guards have
passed; before each method that a program carries out, nothing may have the device open.
What it refuses: a method that the device has not, by name; an ATA drive that its firmware has frozen, that has a
password already, or whose erase would not reach the whole of what the path names (a partition); an NVMe format that
reaches other namespaces too.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mileage.errors import Refused, RunFailed
from mileage.log import logged_step
from mileage.targets.file_identity import FileIdentity, held_device, opened_as
from mileage.targets.filesystem import disk_of, queue_word
from mileage.targets.guard import ROOT, is_held_exclusively
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import LockedDrive
from mileage.targets.programs import call

_NVME: Final = re.compile(r"nvme\d+n\d+")
_CONTROLLER: Final = re.compile(r"(nvme\d+)n\d+")
_FORMATS_ALL: Final = 0b11
"""Bits of a controller's FNA field: a format, or the erase that comes with it, reaches every namespace (NVMe base
specification, Identify Controller)."""
_ERASE_S: Final = 24 * 3600.0
"""A large disk may take most of a day to write itself over."""
_MINUTES: Final = re.compile(r"(\d+)min for SECURITY ERASE UNIT")


def purge_device(
    what: str, path: Path, method: str, ledger: Ledger, *, own: FileIdentity | None = None, root: Path = ROOT
) -> str:
    """Purge a device by "discard", "nvme-format" or "ata-erase"; says what was done. Raises Refused and RunFailed.

    `own`: what the path must be. The device is held open meanwhile, so that no other one gets its number.
    """
    if method not in _METHODS:
        raise Refused(f"{what}: purge = {method!r}", expected=", ".join(_METHODS), code="unknown-word")
    with held_device(what, path, own):
        if method != "discard":
            _refuse_part(what, path, method, root)
        return _METHODS[method](what, path, ledger, root)


def _refuse_part(what: str, path: Path, method: str, root: Path) -> None:
    if path.resolve().name != disk_of(path, root=root):
        raise Refused(
            what,
            f"{method} erases the whole of {disk_of(path, root=root)}, and this is a part of it",
            code="unsupported",
        )
    if is_held_exclusively(path):
        raise Refused(what, f"{path} is in use", advice="nothing was erased", code="in-use")


def _discard(what: str, path: Path, _ledger: Ledger, root: Path) -> str:
    if queue_word(path, "discard_max_bytes", root=root) in (None, "0"):
        raise Refused(
            what,
            "the device takes no discards, so it cannot be purged",
            advice='use it as it is with state.start = "kept"',
            code="unsupported",
        )
    return discard(what, path)


def _nvme_format(what: str, path: Path, _ledger: Ledger, root: Path) -> str:
    name = path.resolve().name
    if not _NVME.fullmatch(name):
        raise Refused(
            what,
            f"{path} is no NVMe namespace",
            expected='purge = "discard" or "ata-erase"',
            code="unsupported",
        )
    others = other_namespaces(name, root=root)
    controller = _controller_of(name)
    if others and formats_all(what, f"/dev/{controller}"):
        raise Refused(
            what,
            f"{controller} formats all of its namespaces at once, and {', '.join(others)} would be "
            "erased with it",
            advice='use purge = "discard"',
            code="unsupported",
        )
    call(what, "nvme", "format", str(path), "--ses=1", "--force", timeout_s=_ERASE_S)
    return f"formatted the NVMe namespace {path}, user data erased"


def other_namespaces(name: str, *, root: Path = ROOT) -> list[str]:
    """The other namespaces of the controller of this one, by their kernel names."""
    controller = _controller_of(name)
    every = (entry.name for entry in (root / "sys/block").glob("nvme*"))
    return sorted(
        other for other in every if other != name and controller and _controller_of(other) == controller
    )


def _controller_of(name: str) -> str | None:
    found = _CONTROLLER.fullmatch(name)
    return found[1] if found else None


def formats_all(what: str, controller: str) -> bool:
    """Whether formatting one namespace formats all; True where the controller does not state it."""
    try:
        output = json.loads(call(what, "nvme", "id-ctrl", controller, "--output-format=json"))
        return bool(int(output["fna"]) & _FORMATS_ALL)
    except (RunFailed, ValueError, KeyError, TypeError):
        return True


def _ata_erase(what: str, path: Path, ledger: Ledger, _root: Path) -> str:
    output = call(what, "hdparm", "-I", str(path))
    words = {" ".join(line.split()) for line in output.splitlines()}
    if "supported" not in words or not _MINUTES.search(output):
        raise Refused(what, f"{path} knows no ATA security erase", code="unsupported")
    if "frozen" in words:
        raise Refused(
            what,
            f"the firmware has frozen the security of {path}",
            advice="suspend and wake the machine, or plug the drive in again, and try once more",
            code="unsupported",
        )
    if "enabled" in words:
        raise Refused(
            what,
            f"{path} has a security password already, which is not Mileage's",
            advice="take it off first",
            code="unsupported",
        )
    minutes = _MINUTES.search(output)
    step = LockedDrive(str(path), f"mileage-{secrets.token_hex(8)}")
    ledger.take(
        step,
        lambda: call(what, "hdparm", "--user-master", "u", "--security-set-pass", step.password, str(path)),
    )
    try:
        call(
            what,
            *("hdparm", "--user-master", "u", "--security-erase", step.password, str(path)),
            timeout_s=_ERASE_S,
        )
    finally:
        ledger.undo(step)
    return f"erased {path} by ATA security erase (rated {minutes[1] if minutes else '?'} min)"


_METHODS: Final[dict[str, Callable[[str, Path, Ledger, Path], str]]] = {
    "discard": _discard,
    "nvme-format": _nvme_format,
    "ata-erase": _ata_erase,
}


# ioctls on block devices: size, and discarding all of one.
# Scope: BLKGETSIZE64 and BLKDISCARD of ioctl(2).
# What it refuses: a device that something else holds: it is opened exclusively.

BLKDISCARD: Final = 0x1277
"""Discard a range of a block device, given as two 64-bit numbers: first byte and length."""
BLKGETSIZE64: Final = 0x80081272


def discard(what: str, path: Path, own: FileIdentity | None = None) -> str:
    """Discard a whole block device, held exclusively meanwhile; says what was done. `own`: what it must be.

    Raises RunFailed.
    """
    try:
        with (
            logged_step("discard all of it (BLKDISCARD)", str(path)),
            opened_as(what, path, own, os.O_WRONLY | os.O_EXCL) as descriptor,
        ):
            size = struct.unpack("Q", fcntl.ioctl(descriptor, BLKGETSIZE64, bytes(8)))[0]
            fcntl.ioctl(descriptor, BLKDISCARD, struct.pack("QQ", 0, size))
    except OSError as error:
        raise RunFailed.from_os_error(f"{what}: cannot discard {path}", error) from error
    return f"discarded the {size} bytes of {path}"
