"""Where Mileage keeps what must outlive a process: ledgers of privileged steps, lists and marks of files.

Scope: it loads nothing, so that a small call starts fast.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LEDGER_VARIABLE: Final = "MILEAGE_LEDGER"
"""Environment variable that names another folder for ledgers; everybody who is to repair needs the same."""


def ledger_folder() -> Path:
    """Folder of the ledgers: for root in /var/lib, for other users in their own state folder."""
    if named := os.environ.get(LEDGER_VARIABLE):
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/mileage/ledger")
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    # Ignore a relative path (XDG Base Directory Specification): the next command may run in another folder.
    return (state if state.is_absolute() else Path.home() / ".local/state") / "mileage/ledger"
