"""From the text that names a target to an open one.

What it models: the one place that knows which class serves which scheme.
What it refuses: `--destroy` that does not name the file or device of the target exactly, and a plan hash that is not
hexadecimal. Every guard runs here, before anything is written.
"""

from __future__ import annotations

import re
from pathlib import Path

from mileage.errors import Refused
from mileage.plan.filesystems import FileSystem
from mileage.plan.initial_state import Used
from mileage.targets.base import Target
from mileage.targets.guard import ROOT, block_device_refusal
from mileage.targets.ledger import repair
from mileage.targets.profiles import load_profile
from mileage.targets.settings import NO_SETTINGS, Settings
from mileage.targets.spec import LoopName, TargetSpec, parse_target

_HASH = re.compile(r"[0-9a-f]{8,}")


def open_target(
    target: str | TargetSpec,
    *,
    plan_hash: str,
    destroy: str | None = None,
    keep: bool = False,
    made: FileSystem | None = None,
    settings: Settings = NO_SETTINGS,
    purge: str = "discard",
    used: Used | None = None,
    root: Path = ROOT,
) -> Target:
    """Open a target after all guards have passed; nothing is written yet.

    Before that, what the ledger holds of processes that have ended is undone.

    `plan_hash`: at least 8 lower-case hexadecimal digits; a study that goes on finds its work file by it.
    `destroy`: the path whose content may be lost, exactly as in `file:PATH` or `block:PATH`. `keep`: a file or device
    is used as it is, in place; it can then be written only with `destroy`. `made`: the file system that is made on it;
    `settings`: those of the device's request queue meanwhile. `purge`: how a device is
    made as good as new.
    `root` is where /proc and /sys are looked for. Raises Refused.
    """
    spec = parse_target(target) if isinstance(target, str) else target
    if not _HASH.fullmatch(plan_hash):
        raise ValueError(f"plan hash {plan_hash!r}: expected at least 8 lower-case hexadecimal digits")
    check_destroy(spec, destroy)
    if spec.scheme not in ("virtual", "null"):
        # The mounts and loop devices of a killed study would be in the way of its own target.
        repair()
    if spec.scheme == "virtual":
        from mileage.targets.virtual import VirtualTarget

        return VirtualTarget(spec)
    if spec.scheme == "null":
        from mileage.targets.null import NullTarget

        return NullTarget(spec)
    if made is not None:
        from mileage.targets.filesystem_setup import placed_target

        return placed_target(
            spec, made, plan_hash, settings, destroy=destroy, purge=purge, used=used, root=root
        )
    if spec.scheme == "loop":
        from mileage.targets.loop import LoopTarget

        return LoopTarget(spec, plan_hash, settings, root=root)
    if spec.scheme == "dir":
        from mileage.targets.directory import DirectoryTarget

        return DirectoryTarget(spec, plan_hash, root=root)
    if keep:
        from mileage.targets.in_place_target import KeptTarget

        return KeptTarget(spec, destroy=destroy, settings=settings, root=root)
    if spec.scheme == "file":
        from mileage.targets.file import FileTarget

        return FileTarget(spec, plan_hash, destroy=destroy, root=root)
    from mileage.targets.block import BlockTarget

    return BlockTarget(spec, destroy=destroy, settings=settings, purge=purge, root=root)


def guard_target(spec: TargetSpec, *, destroy: str | None = None, root: Path = ROOT) -> Path | None:
    """Run the guards of a target without opening it. Raises Refused; writes nothing.

    Returns the existing directory that the target lives in, the device itself, or None where there is neither.
    """
    check_destroy(spec, destroy)
    path = Path(spec.name)
    if spec.scheme == "virtual":
        load_profile(spec.name)
        return None
    if spec.scheme == "null":
        return None
    from mileage.targets.directory import refuse_unwritable_directory

    if spec.scheme == "loop":
        folder = Path(LoopName.parse(spec).folder)
        refuse_unwritable_directory(str(spec), folder)
        return folder.resolve()
    if spec.scheme == "dir":
        refuse_unwritable_directory(str(spec), path)
        return path.resolve()
    if spec.scheme == "file":
        from mileage.targets.file import guard_file

        guard_file(spec, destroy=destroy, plan_hash=None, root=root)
        return path.parent.resolve()
    if refusal := block_device_refusal(str(spec), path, root=root):
        raise refusal
    return path.resolve()


def check_destroy(spec: TargetSpec, destroy: str | None) -> None:
    """Refuse a `--destroy` that names anything but the file or device of this target."""
    if destroy is None:
        return
    if spec.scheme in ("dir", "loop", "virtual", "null"):
        raise Refused(f"--destroy {destroy}: {spec} destroys nothing; leave --destroy out")
    if destroy != spec.name:
        raise Refused(f"--destroy {destroy} does not name the target exactly; expected --destroy {spec.name}")
