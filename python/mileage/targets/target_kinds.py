"""From the text that names a target to an open one.

Scope: the one place that knows which class serves which kind. Each class has `as_asked`, which runs the guards
and reads, `guarded`, which only runs the guards, and `claim`, after which the target may be written.
What it refuses: `--destroy` that does not name the file or device of the target exactly, and a plan hash that is not
hexadecimal. Every guard runs here, before anything is written.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.model.target_kind import capabilities_of
from mileage.plan.filesystems import FileSystem
from mileage.plan.initial_state import FillState
from mileage.targets.guard import ROOT
from mileage.targets.ledger import repair
from mileage.targets.queue_settings import NO_SETTINGS, Settings
from mileage.targets.spec import TargetSpec, parse_target
from mileage.targets.target_interface import OpenOptions, Target

_HASH = re.compile(r"[0-9a-f]{8,}")
CLASSES: Final = {
    "dir": "directory.DirectoryTarget",
    "file": "file.FileTarget",
    "block": "block.BlockTarget",
    "loop": "loop.LoopTarget",
    "served": "loop.ServedTarget",
    "virtual": "virtual.VirtualTarget",
    "null": "null.NullTarget",
}
"""Module and class of each kind; a module is imported when a target of its kind is opened."""
_WITH_FILE_SYSTEM: Final = "filesystem_setup.PlacedTarget"
_HOSTED: Final = "host_target.HostTarget"
_IN_PLACE: Final = "in_place_target.KeptTarget"
_BARE: Final = "directory.PlaceTarget"


def open_target(
    target: str | TargetSpec,
    *,
    plan_hash: str,
    destroy: str | None = None,
    keep: bool = False,
    made: FileSystem | None = None,
    settings: Settings = NO_SETTINGS,
    purge: str = "discard",
    used: FillState | None = None,
    root: Path = ROOT,
    probe: bool = False,
    bare: bool = False,
) -> Target:
    """Open a target after all guards have passed; nothing is written yet.

    Before that, what the ledger holds of processes that have ended is undone.

    `plan_hash`: at least 8 lower-case hexadecimal digits; resume finds the work file by it.
    `destroy`: the path whose content may be lost, exactly as in `file:PATH` or `block:PATH`. `keep`: a file or device
    is used as it is, in place; it can then be written only with `destroy`. `made`: the file system that is made on it;
    `settings`: those of the device's request queue meanwhile. `purge`: how a device is
    made as good as new.
    `root` is where /proc and /sys are looked for. `probe`: only its facts are asked: nothing is opened for writing,
    nothing is made, and what an earlier session left is neither locked nor taken over. `bare`: every run names its own
    files, so that a directory needs no work file. Raises Refused.
    """
    spec = parse_target(target) if isinstance(target, str) else target
    if not _HASH.fullmatch(plan_hash):
        raise ValueError(f"plan hash {plan_hash!r}: expected at least 8 lower-case hexadecimal digits")
    check_destroy(spec, destroy)
    if capabilities_of(spec.scheme).is_real:
        # Repair first: mounts and loop devices of a killed study would block its own target.
        repair()
    how = OpenOptions(plan_hash, destroy, keep, made, settings, purge, used, root, bare)
    found = _class_of(spec, how).as_asked(spec, how)
    if probe:
        return found
    try:
        found.claim()
    except BaseException:
        found.close()
        raise
    return found


def guard_target(spec: TargetSpec, *, destroy: str | None = None, root: Path = ROOT) -> Path | None:
    """Run the guards of a target without opening it. Raises Refused; writes nothing.

    Returns the existing directory that the target lives in, the device itself, or None where there is neither.
    """
    check_destroy(spec, destroy)
    return _class_of(spec).guarded(spec, destroy, root)


def _class_of(spec: TargetSpec, how: OpenOptions | None = None) -> type[Target]:
    kind = capabilities_of(spec.scheme)
    if how is not None and how.made is not None and kind.is_block_device:
        place = _WITH_FILE_SYSTEM
    elif capabilities_of(str(spec)).has_host:
        place = _HOSTED
    elif how is not None and how.keep and kind.in_place:
        place = _IN_PLACE
    elif how is not None and how.bare and spec.scheme == "dir":
        place = _BARE
    else:
        place = CLASSES[spec.scheme]
    module, name = place.split(".")
    found: type[Target] = getattr(import_module(f"mileage.targets.{module}"), name)
    return found


def check_destroy(spec: TargetSpec, destroy: str | None) -> None:
    """Refuse a `--destroy` that names anything but the file or device of this target."""
    if destroy is None:
        return
    if not capabilities_of(spec.scheme).in_place:
        raise Refused(
            f"--destroy {destroy}", f"{spec} destroys nothing", advice="leave --destroy out", code="no-effect"
        )
    if destroy != spec.name:
        raise Refused(
            f"--destroy {destroy}",
            "does not name the target exactly",
            expected=f"--destroy {spec.name}",
            code="needs-destroy",
        )
