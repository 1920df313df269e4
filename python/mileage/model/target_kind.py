"""Capabilities of each kind of target: one row per kind.

Scope: the capabilities that plans, prepares and reports depend on. A new kind of target is a row here and a
class in `targets`; nothing else asks how its name begins.
A text that names no known kind has the capabilities of none; `targets` refuses it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

SCALE: Final = "scale"
"""Key in the name of a virtual target: a drive, and a host, of a part of the size."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of target. What is not given is what a real target without files or a device cannot do."""

    scheme: str = ""
    """Prefix of the target's name, before the colon."""
    form: str = ""
    """Form in which such a target is written: "dir:PATH"."""
    simulated: bool = False
    """Time is simulated; the state can be saved and restored."""
    has_host: bool = False
    """A simulated drive below a modelled host: runs use a file, through the page cache or past it."""
    moves_bytes: bool = True
    """Operations reach something; False where only the engine itself is measured."""
    has_files: bool = False
    """Runs can make files and directories in it."""
    file_families: tuple[str, ...] = ()
    """Families of work on files that it does though it has no directory: "ior"."""
    has_work_file: bool = False
    """Whether it is a work file of the size that the study gives, unless its content is kept."""
    in_place: bool = False
    """Whether it is the user's own file or device, used as it is.

    Its content is overwritten only if the user names it.
    """
    is_block_device: bool = False
    """Whether it has a request queue, and a file system can be made on it."""
    is_made: bool = False
    """Mileage makes the device and removes it."""
    is_served: bool = False
    """It is a simulated drive below the real kernel, in real time."""
    can_trim: bool = False
    """Whether all of it can be discarded."""
    can_purge: bool = False
    """Whether it can be purged in each way of `state.purge`."""
    unused_keys: tuple[str, ...] = ()
    """Keys of a workload that have no effect on it; those of calls are known to have none where none are made."""
    unused_reason: str = ""
    """Reason why some keys have no effect on it."""

    @property
    def is_real(self) -> bool:
        """Whether it is real storage, measured with the clock of the host."""
        return self.moves_bytes and not self.simulated

    def does(self, family: str) -> bool:
        """Whether a family of work on files, such as "iozone", can be done on it."""
        return self.has_files or family in self.file_families

    @property
    def is_drive(self) -> bool:
        """Whether it is a whole drive or device, rather than files on one."""
        return (self.simulated and not self.has_host) or self.is_block_device


_ROWS: Final = (
    Capabilities(scheme="dir", form="dir:PATH", has_files=True, has_work_file=True),
    Capabilities(scheme="file", form="file:PATH", has_work_file=True, in_place=True),
    Capabilities(
        scheme="block", form="block:PATH", is_block_device=True, in_place=True, can_trim=True, can_purge=True
    ),
    Capabilities(scheme="loop", form="loop:SIZE[@FOLDER]", is_block_device=True, is_made=True, can_trim=True),
    Capabilities(
        scheme="served",
        form="served:DRIVE[@STATE]",
        is_block_device=True,
        is_made=True,
        is_served=True,
        can_trim=True,
    ),
    Capabilities(
        scheme="virtual",
        form="virtual:NAME",
        simulated=True,
        can_trim=True,
        unused_keys=("pin", "interval", "processes"),
        unused_reason="work on a virtual drive makes no system calls",
    ),
    Capabilities(
        scheme="null",
        form="null:",
        moves_bytes=False,
        unused_keys=("verify", "content", "sync", "sync_every", "files"),
        unused_reason="the null target makes no call and moves no byte",
    ),
)
TARGET_KINDS: Final = MappingProxyType({row.scheme: row for row in _ROWS})
"""The capabilities of each kind, by its scheme."""
HOSTED: Final = "hosted"
"""What facts call a virtual drive below a modelled host, virtual:NAME@HOST."""
_HOSTED: Final = Capabilities(
    scheme="virtual",
    form="virtual:NAME@HOST",
    simulated=True,
    has_host=True,
    has_work_file=True,
    file_families=("iozone", "metadata", "metarates", "mdtest", "ior"),
    can_trim=True,
    unused_keys=("pin", "interval", "processes"),
    unused_reason="a modelled host makes its calls in simulated time, and has no processes to place",
)
_NONE: Final = Capabilities()


def capabilities_of(target: str) -> Capabilities:
    """Capabilities of a target, such as "loop:1GiB", or of a kind given by its prefix, such as "loop"."""
    scheme, _, name = target.partition(":")
    if target == HOSTED or (scheme == "virtual" and drive_and_host(name)[1]):
        return _HOSTED
    return TARGET_KINDS.get(scheme, _NONE)


def with_change(target: str, change: str) -> str:
    """The target of a virtual drive with one figure changed, KEY=VALUE; an earlier change of the figure is replaced."""
    array, parenthesis, rest = target.rpartition(")")
    base, *changes = rest.split(",")
    key = change.partition("=")[0].strip()
    # What holds the "@" of a host stays.
    kept = [one for one in changes if "@" in one or one.partition("=")[0].strip() != key]
    return array + parenthesis + ",".join((base, *kept, change))


def drive_and_host(name: str) -> tuple[str, str]:
    """The drive and the host in the name of a virtual target, each with its changes; the host is "" without one.

    In the path of a drive profile an @ is a letter like any other: "./my@drive.toml" has no host.
    """
    drive, _, host = name.partition("@")
    base = drive.partition(",")[0]
    return (drive, host) if "/" not in base or base.endswith(".toml") else (name, "")
