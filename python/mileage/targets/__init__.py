"""Open, guard, prepare and purge what is measured; one class per kind of target.

spec             the text that names a target        guard       what must never be written to
target_kinds     from the text to an open target     mounts      the kernel's tables
base             what every target can do            filesystem  what a path stands on
directory        dir:PATH                            workfile    the file that is filled
file             file:PATH                           profiles    where virtual drives come from
in_place_target  a file or device used as it is      null        null:
block            block:PATH                          virtual     virtual:NAME
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.targets.page_cache import empty_cache
    from mileage.targets.spec import TargetSpec, parse_target
    from mileage.targets.target_interface import Target
    from mileage.targets.target_kinds import guard_target, open_target
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.targets.target_interface": ("Target",),
            "mileage.targets.page_cache": ("empty_cache",),
            "mileage.targets.target_kinds": ("guard_target", "open_target"),
            "mileage.targets.spec": ("TargetSpec", "parse_target"),
        },
    )

__all__ = ["Target", "TargetSpec", "empty_cache", "guard_target", "open_target", "parse_target"]
