"""Memory: a limit around what this process does, by a control group.

Scope: control groups of version 1 (memory.limit_in_bytes) and 2 (memory.max). The whole process is moved
into a group of its own and back again. What it reads or writes in between is charged to that group, but only pages
that are not in the page cache already: they stay charged to whoever read them first, so the caller empties the cache
of the target before it comes here.
What it refuses: limiting where there is no memory controller, or no permission to make a group.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mileage.errors import Refused, RunFailed
from mileage.log import log_step
from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import fields_of, lines_of, read_text, read_word
from mileage.targets.ledger import Ledger
from mileage.targets.mounts import read_mounts
from mileage.targets.privileged_steps import MadeGroup

_NO_SWAP_V2 = "memory.swap.max"
_SWAPPINESS_V1 = "memory.swappiness"


class Controller(msgspec.Struct, frozen=True):
    """The memory controller that this process is under."""

    version: int
    """1 or 2."""
    own: Path
    """The group that this process is in."""

    @property
    def place(self) -> Path:
        """Folder of the new group: that of this process, or its parent where a group with processes has no children."""
        return self.own if self.version == 1 or _is_top(self.own) else self.own.parent

    @property
    def limit_file(self) -> str:
        """The file of a group that holds its limit in bytes."""
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"


def find_controller(root: Path = ROOT) -> Controller | None:
    """The memory controller of this process; None where there is none."""
    groups = dict(_groups(root))
    for mount in read_mounts(root):
        place = Path(mount.mount_point) if root == ROOT else root / mount.mount_point.lstrip("/")
        if mount.fs_type == "cgroup" and "memory" in mount.super_options and "memory" in groups:
            return Controller(1, _below(place, groups["memory"]))
        available = fields_of(read_text(place / "cgroup.controllers"))
        if mount.fs_type == "cgroup2" and "memory" in available and "" in groups:
            return Controller(2, _below(place, groups[""]))
    return None


@contextmanager
def limited_memory(limit_bytes: int, what: str, *, root: Path = ROOT) -> Iterator[None]:
    """Limit the memory of this process, its threads and children, page cache included.

    `what` names the target in messages. Raises Refused where memory cannot be limited.
    """
    found = find_controller(root)
    if found is None:
        raise Refused(
            what,
            "memory cannot be limited: no control group here has the memory controller",
            code="unsupported",
        )
    ledger = Ledger()
    group = found.place / f"mileage-{os.getpid()}"
    step = MadeGroup(str(group), str(found.own))
    try:
        ledger.take(step, lambda: _make(found, group, limit_bytes))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        log_step(
            "limit memory", str(group), f"{found.limit_file} {limit_bytes}, process {os.getpid()} moved there"
        )
    except OSError as error:
        ledger.undo_all()
        raise Refused(
            what,
            f"memory cannot be limited in {group}: {error.strerror}",
            advice="run as root, or in a control group that was handed over to you",
            code="needs-root",
        ) from error
    try:
        yield
        _check(found, group, limit_bytes, what)
    finally:
        ledger.undo_all()


def _make(found: Controller, group: Path, limit_bytes: int) -> None:
    group.mkdir()
    if found.version == 2 and not (group / found.limit_file).exists():
        # Not undone: it changes nothing for existing groups, and another program may have set it as well.
        (found.place / "cgroup.subtree_control").write_text("+memory")
    (group / found.limit_file).write_text(str(limit_bytes))
    for name in (_NO_SWAP_V2, _SWAPPINESS_V1):
        if (group / name).exists():
            (group / name).write_text("0")


def _check(found: Controller, group: Path, limit_bytes: int, what: str) -> None:
    """Raise RunFailed when the limit was not in force to the end."""
    limit = read_word(group / found.limit_file)
    members = lines_of(read_text(group / "cgroup.procs"))
    if limit is None or int(limit) > limit_bytes or str(os.getpid()) not in members:
        raise RunFailed(
            f"{what}: the memory limit of {limit_bytes} bytes was removed during the run", cause="vanished"
        )


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """The groups of this process, by controller; "" for version 2."""
    for line in lines_of(read_text(root / "proc/self/cgroup")):
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def _below(place: Path, group: str) -> Path:
    """A group's folder; the mount itself where the path counts from outside of this container."""
    folder = place / group.lstrip("/")
    return folder if folder.is_dir() else place


def _is_top(group: Path) -> bool:
    """Whether this is the root of the hierarchy, which has no limits of its own."""
    return not (group / "memory.max").exists()
