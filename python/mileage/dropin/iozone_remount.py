"""`-U` of IOzone: a mount point that is unmounted and mounted again before each test.

Scope: what must be true before that is begun.
What it refuses: children, as IOzone does, with its statuses; an ordinary user; a path that is no mount point, or has no
line in /etc/fstab, by which alone `mount` knows what to mount there; a file that is elsewhere; a working directory that
is there and would keep it in use.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mileage.dropin.flags import GivenFlags
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.targets.kernel_text import unescape

_FSTAB: Final = Path("/etc/fstab")
_AFTER_CHILDREN: Final = 16
"""IOzone's status where -U comes after a flag of children; where that comes after -U, it is the flag's."""
_OF_CHILDREN: Final = {"-t": 15, "-l": 5, "-u": 7}


def remount_of(given: GivenFlags, place: Path) -> str | None:
    """The mount point of -U for files in `place`, without links; None without the flag. Raises Refused."""
    named = given.last("-U")
    if named is None:
        return None
    _refuse_children(given)
    mount_point = os.path.realpath(named)
    if os.geteuid() != 0:
        raise _refused(named, "only root can unmount it and mount it again", "needs-permission")
    if not os.path.ismount(mount_point):
        raise _refused(named, "is no mount point", "not-found")
    if mount_point not in _listed():
        raise _refused(
            named, f"has no line in {_FSTAB}, so that `mount {named}` cannot mount it", "not-found"
        )
    if not Path(os.path.realpath(place)).is_relative_to(mount_point):
        raise _refused(named, f"the file is in {place.absolute()}, which is not below it", "conflict")
    if Path(os.path.realpath(Path.cwd())).is_relative_to(mount_point):
        raise _refused(named, "the working directory is below it, so that it cannot be unmounted", "in-use")
    return mount_point


def _refuse_children(given: GivenFlags) -> None:
    spellings = [flag.spelling for flag, _ in given.flags]
    first = next((word for word in spellings if word in ("-U", *_OF_CHILDREN)), "-U")
    later = next((word for word in spellings if word in (_OF_CHILDREN if first == "-U" else ("-U",))), None)
    if later is not None:
        raise ToolRefusal(
            "iozone",
            "iozone: -U",
            "can not run throughput tests with unmount & remounts, as IOzone says",
            code="conflict",
            status=_OF_CHILDREN.get(later, _AFTER_CHILDREN),
        )


def _refused(named: str, text: str, code: str) -> Refused:
    return Refused(f"iozone: -U {named}", text, code=code)


def _listed() -> set[str]:
    """The mount points in the table of file systems."""
    try:
        lines = _FSTAB.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    fields = (line.split() for line in lines if not line.lstrip().startswith("#"))
    return {os.path.realpath(unescape(found[1])) for found in fields if len(found) > 1}
