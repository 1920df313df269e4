"""The frequency governor of this machine's processors: changed for a study, and set back.

Scope: `cpufreq/scaling_governor` of every processor below /sys, as steps of the ledger.
What it refuses: a machine whose kernel does not set the clock, such as most virtual machines, and a governor that a
processor does not offer or does not keep.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final, Self

from mileage.errors import Refused
from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import fields_of, read_text
from mileage.targets.ledger import Ledger
from mileage.targets.privileged_steps import ChangedSetting, read_setting

KEY: Final = "state.governor"
_FILE: Final = "scaling_governor"
_OFFERED: Final = "scaling_available_governors"


class ProcessorGovernor:
    """The governor that a study has set, until it is closed; none at first. Not safe for use by several threads."""

    def __init__(self, *, root: Path = ROOT) -> None:
        self._root = root
        self._ledger = Ledger()
        self._now: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.undo()

    def set(self, wanted: str | None) -> None:
        """Give every processor this governor; None gives each its own back. Raises Refused and RunFailed."""
        if wanted == self._now:
            return
        self.undo()
        if wanted is None:
            return
        refuse_governor(wanted, root=self._root)
        try:
            for path in _files(self._root):
                self._set_one(path, wanted)
        except BaseException:
            self._ledger.undo_all()
            raise
        self._now = wanted

    def undo(self) -> None:
        """Give every processor its own governor back. Raises RunFailed."""
        self._now = None
        self._ledger.undo_all()

    def _set_one(self, path: Path, wanted: str) -> None:
        before = read_setting(path)
        if before is None or before == wanted:
            return
        try:
            self._ledger.take(ChangedSetting(str(path), before, wanted), partial(path.write_text, wanted))
        except OSError as error:
            raise Refused(
                KEY, f"{path} does not take {wanted!r} ({error.strerror})", code="unsupported"
            ) from error
        if (found := read_setting(path)) != wanted:
            raise Refused(KEY, f"{path} was set to {wanted!r} and says {found!r}", code="unsupported")


def refuse_governor(wanted: str, *, root: Path = ROOT) -> None:
    """Refuse a governor that this machine's processors cannot have; nothing is changed."""
    files = _files(root)
    if not files:
        raise Refused(
            KEY,
            "the governor cannot be set: no processor here has cpufreq/scaling_governor (the firmware or a hypervisor "
            "sets the clock)",
            advice='leave it out, or vary it by hand with kind = "label"',
            code="unsupported",
        )
    for path in files:
        offered = fields_of(read_text(path.with_name(_OFFERED)))
        if offered and wanted not in offered:
            raise Refused(
                KEY,
                f"{path} does not offer {wanted!r}",
                expected=f"one of {', '.join(offered)}",
                code="unsupported",
            )


def _files(root: Path) -> list[Path]:
    """The file of each group of processors that share a clock, once."""
    found = (root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/cpufreq/{_FILE}")
    return sorted({path.resolve() for path in found})
