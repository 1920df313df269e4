"""The parameters of a run of mdtest, as its command line gives them."""

from __future__ import annotations

from dataclasses import dataclass

from mileage.errors import Refused


@dataclass
class MdtestOptions:
    """Parameters of a command line; sizes in bytes."""

    directories: list[str]
    phases: tuple[str, ...]
    """Of create, stat, rename, read, remove."""
    kinds: tuple[str, ...]
    """Of dir and file."""
    items: int = 0
    items_per_directory: int = 0
    iterations: int = 1
    depth: int = 0
    branch: int = 1
    leaves: bool = False
    own: bool = False
    stride: int = 0
    written: int = 0
    read: int = 0
    sync: bool = False
    sync_phase: bool = False
    random: bool = False
    random_seed: int = 0
    stonewall_s: int = 0
    status_file: str = ""
    mknod: bool = False
    shared: bool = False
    collective: bool = False
    barriers: bool = True
    pause_s: int = 0
    compare: bool = False
    signature: int = 0
    packet: str = "timestamp"
    warnings_are_errors: bool = False
    dummy: bool = False
    """The interface DUMMY: nothing is called."""
    verbose: bool = False
    """Whether every phase is printed as it ends."""

    @property
    def nodes(self) -> int:
        """Directories of a tree."""
        return sum(self.branch**level for level in range(self.depth + 1))

    def settle(self) -> None:
        """Deal the items to the directories as mdtest does. Raises Refused."""
        holders = self.branch**self.depth if self.leaves else self.nodes
        if self.items and self.items_per_directory:
            raise Refused("mdtest: -n and -I", "give one of them", code="conflict")
        if self.items:
            self.items_per_directory = self.items // holders
        self.items = self.items_per_directory * holders
