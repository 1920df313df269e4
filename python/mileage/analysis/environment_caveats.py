"""In what the machines, devices and mounts of two studies differ, by the snapshots of the compared stages.

Scope: two snapshots of `mileage.store.environment`. What identifies a drive is no difference of the machine: two
drives may be what is compared, and a note gives their models. A value that one side does not know is no difference.
Simulated time depends on no machine, so a simulated side has no snapshot here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mileage.execute.cycle import stage_name
from mileage.model.caveat import Caveat, Severity
from mileage.plan import Plan
from mileage.store.environment import is_volatile, weighty
from mileage.targets.filesystem import UNKNOWN

Environment = Mapping[str, str]

_CODE: Final = "environment-differs"
_IDENTITY: Final = frozenset(
    {
        *("target.drive_model", "target.drive_serial_hash", "target.drive_firmware"),
        *("target.model", "target.serial_hash", "target.firmware"),
        *("target.disk_bytes", "target.source", "target.mount_point"),
    }
)
"""Keys of `weighty` that say which drive it is, and where."""
_SERIAL: Final = ("target.drive_serial_hash", "target.serial_hash")
_FIRMWARE: Final = ("target.drive_firmware", "target.firmware")
_MODEL: Final = ("target.drive_model", "target.model")
_NOTED: Final = ("host.hash", "cpu.model", "cpu.online", "cpu.governor", "cpu.boost", "cpu.hypervisor")
"""Keys of the machine that are noted; those of `vm.` and of the device's queue are noted as well."""
_CACHE: Final = "target.write_cache"
_QUEUE: Final = frozenset(
    f"target.{key}"
    for key in (
        "nr_requests",
        "read_ahead_kb",
        "rq_affinity",
        "nomerges",
        "max_sectors_kb",
        "wbt_lat_usec",
    )
)


def stage_environment(plan: Plan, saved: Mapping[str, Mapping[str, str]], stage: str) -> dict[str, str]:
    """The snapshot of the first runs of a stage; empty where none was kept. `saved`: those of a study by name."""
    names = dict.fromkeys(stage_name(run) for run in plan.runs if run.stage == stage)
    return dict(next((saved[name] for name in names if name in saved), {}))


def environment_caveats(a: Environment, b: Environment) -> list[Caveat]:
    """The differences of two snapshots: grave ones limit a conclusion, others are noted."""
    if not a or not b:
        return []
    differing = [
        key
        for key in sorted(a.keys() & b.keys())
        if a[key] != b[key] and UNKNOWN not in (a[key], b[key]) and not is_volatile(key)
    ]
    grave = [key for key in differing if key == _CACHE or (weighty(key, a, b) and key not in _IDENTITY)]
    # Those of the target first: they are settings that somebody chose.
    grave.sort(key=lambda key: not key.startswith("target."))
    noted = [key for key in differing if key in _NOTED or key in _QUEUE or key.startswith("vm.")]
    return [
        *(_differs("limits", key, a, b) for key in grave),
        *_of_drive(a, b),
        *(_differs("informs", key, a, b) for key in noted if key not in grave),
    ]


def _of_drive(a: Environment, b: Environment) -> Iterator[Caveat]:
    """Another drive is noted; other firmware of the same drive limits."""
    same = {key: a[key] == b[key] for key in _SERIAL if _is_known(key, a, b)}
    for key in _FIRMWARE:
        if _is_known(key, a, b) and a[key] != b[key] and same and all(same.values()):
            yield _differs("limits", key, a, b)
            return
    for key in (*_MODEL, "target.disk_bytes"):
        if _is_known(key, a, b) and a[key] != b[key]:
            yield _differs("informs", key, a, b)
            return
    if not all(same.values()):
        key = next(key for key, equal in same.items() if not equal)
        yield _differs("informs", key, a, b)


def _differs(severity: Severity, key: str, a: Environment, b: Environment) -> Caveat:
    return Caveat(code=_CODE, severity=severity, figures={"key": _NAMES.get(key, key), **_values(key, a, b)})


def _is_known(key: str, a: Environment, b: Environment) -> bool:
    return UNKNOWN not in (a.get(key, UNKNOWN), b.get(key, UNKNOWN))


def _values(key: str, a: Environment, b: Environment) -> dict[str, str]:
    """The values of both; of lists of options what the other one lacks."""
    if key != "target.mount_options":
        return {"baseline": a[key], "candidate": b[key]}
    one, other = (found[key].split(",") for found in (a, b))
    return {
        "baseline": ",".join(option for option in one if option not in other) or "without them",
        "candidate": ",".join(option for option in other if option not in one) or "without them",
    }


_NAMES: Final = {
    "kernel.release": "the kernel's release",
    "kernel.version": "the kernel's build",
    "kernel.cmdline": "the kernel's command line",
    "target.scheduler": "the I/O scheduler",
    "target.fs_type": "the type of the file system",
    "target.mount_options": "the list of mount options",
    "memory.total_bytes": "the machine's memory in bytes",
    "memory.limit_bytes": "the memory that can be used in bytes",
    "target.drive_firmware": "the drive's firmware",
    "target.firmware": "the drive's firmware",
    "target.drive_model": "the drive's model",
    "target.model": "the drive's model",
    "target.disk_bytes": "the size of the disk in bytes",
    "target.drive_serial_hash": "the hash of the drive's serial number",
    "target.serial_hash": "the hash of the drive's serial number",
    "host.hash": "the machine",
}
