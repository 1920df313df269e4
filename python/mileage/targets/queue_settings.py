"""Settings of a device's request queue: changed for a study, and set back.

Scope: files of /sys/block/DISK/queue such as `scheduler` and `write_cache`, as steps of the ledger.
What it refuses: a value that the kernel does not take, or takes without keeping it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from mileage.errors import Refused
from mileage.targets.filesystem import disk_of
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import ChangedSetting, read_setting

Settings = Mapping[str, str]
"""Values to write, by the name of the file below `queue`."""
NO_SETTINGS: Final[Settings] = MappingProxyType({})


def apply_settings(what: str, device: Path, settings: Settings, ledger: Ledger) -> None:
    """Change the settings of a block device's disk; each stands in the ledger first. Raises Refused."""
    for name, wanted in settings.items():
        path = Path("/sys/block", disk_of(device), "queue", name)
        before = read_setting(path)
        if before is None:
            raise Refused(
                what,
                f"{path} is not there: this kernel has no such setting for the device",
                code="unsupported",
            )
        if before == wanted:
            continue
        try:
            ledger.take(ChangedSetting(str(path), before, wanted), partial(path.write_text, wanted))
        except OSError as error:
            offered = path.read_text().strip()
            raise Refused(
                what,
                f"{path} does not take {wanted!r} ({error.strerror})",
                advice=f"it says {offered!r}",
                code="unsupported",
            ) from error
        if (found := read_setting(path)) != wanted:
            raise Refused(what, f"{path} was set to {wanted!r} and says {found!r}", code="unsupported")


def undo_settings(ledger: Ledger) -> None:
    """Set back every setting that stands in a ledger, last one first."""
    for step in reversed(ledger.steps):
        if isinstance(step, ChangedSetting):
            ledger.undo(step)
