"""The facts about a target that planning needs.

Scope: the facts that decide whether a study fits and how its files are sized.
What it refuses: handles, paths to open, anything that touches the target. Planning stays pure.
"""

from __future__ import annotations

import msgspec

from mileage.model.target_kind import Capabilities, capabilities_of


class FigureAlternative(msgspec.Struct, frozen=True):
    """Another value that an unpublished figure of a virtual drive may have, as its profile declares it."""

    figure: str
    """Its key in profiles."""
    value: str
    """The value that the drive has."""
    alternative: str
    """The value that it may have instead."""
    reason: str
    """Reason for the alternative, in words."""

    @property
    def change(self) -> str:
        """The change in the form that follows the name of a virtual drive: "gc_pace=paced"."""
        return f"{self.figure}={self.alternative}"


class TargetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one target at the moment it was opened. Sizes are in bytes and not negative."""

    kind: str
    """Kind of access: "dir", "file", "block", "virtual" or "null". A file system that Mileage makes is a "dir"."""
    name: str
    """The path, or the name of the virtual drive, as the user wrote it."""
    capacity_bytes: int
    """Size of the file system or drive."""
    free_bytes: int
    """Bytes that a study may occupy: free to an ordinary user on a file system, all of a virtual drive."""
    memory_bytes: int
    """Memory that can cache the target: the machine's, or its cgroup limit; 0 for a bare virtual drive."""
    block_bytes: int
    """Logical block size; offsets and sizes of direct I/O are multiples of it."""
    virtual: bool = False
    """True when time is simulated."""
    direct_supported: bool = True
    """True when the page cache can be bypassed (O_DIRECT), or when there is none."""
    rated_write_bytes: int | None = None
    """Bytes the maker rates the device to accept in its life; None when not known."""
    host_layer: bool
    """True when a file system and a page cache are above the device."""
    free_files: int | None = None
    """Files that an ordinary user may make; None where the file system counts no inodes, or there is none."""
    file_block_bytes: int = 1
    """Size of which the bytes allocated to a file are a multiple."""
    writable: bool = True
    """False when the content is kept and nobody gave it up."""
    privileged: bool = True
    """Whether this process may take privileged steps: mount, limit memory, drop caches."""
    device_bytes: int = 0
    """Size of the device on which a file system is made, or of a loop device; 0 for others."""
    identity: str = ""
    """Identifier of the device, to detect another one at the same path; "" if there is none."""
    memory_file_system: str = ""
    """Type of the file system that a target lies in if it is memory, such as "tmpfs"; "" for others."""
    hole_bytes: int = 0
    """For a file that is used in place, bytes that were never written: reads of them reach no device."""
    alignment: str = ""
    """Offset of the partition on its disk, in words; "" where it is not known."""
    trims: bool = True
    """False for a virtual drive that ignores or refuses discards (TRIM)."""
    alternatives: tuple[FigureAlternative, ...] = ()
    """For a virtual drive, possible other values of its unpublished figures."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of its kind; an imported study has none."""
        return capabilities_of(self.kind)
