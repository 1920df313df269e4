"""The drive below a path: what the kernel reports of it and of how it is attached, and what it says of itself.

Scope: flat keys, as `environment.snapshot` has them; `disk` is the kernel name of the drive, below encryption
and volume managers where these lie on one drive, and `above` that of the topmost of these. `bus` and `speed` are those
of `bus_facts`.
What is not known is omitted.
"""

from __future__ import annotations

from pathlib import Path

from mileage.store.block_device import bus_facts, device_facts, physical_disk
from mileage.store.drive_health import health
from mileage.store.environment import disk_of, snapshot
from mileage.targets.guard import ROOT


def drive_facts(place: Path | None, *, root: Path = ROOT) -> dict[str, str]:
    """All known facts about the drive below an existing path; empty without one."""
    return {} if place is None else {**snapshot(place, root=root), **own_facts(place, root=root)}


def own_facts(place: Path, *, root: Path = ROOT) -> dict[str, str]:
    """Facts about the drive below an existing path that a snapshot of the machine does not have."""
    disk = disk_of(place, root=root)
    below = physical_disk(disk, root) if disk is not None else None
    found: dict[str, str] = {}
    if below is not None:
        if below != disk:
            found |= {key: text for key, text in device_facts(below, below, root) if text is not None}
            found["above"] = str(disk)
        found |= {"disk": below, **bus_facts(below, root)}
    return found | health(below)[0]
