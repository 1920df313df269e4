"""Find files that killed studies left in a directory: their work files, and files of single runs.

Scope: the names that Mileage gives, each with eight digits of its plan's hash. A study that is resumed needs
its work file; what a run made for itself alone nobody needs.
What it refuses: to remove what a running study has (its work file is locked), and what belongs to another user.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from mileage.file_lock import is_locked

_OF_STUDY: Final = r"\.mileage-[0-9a-f]{8}\.(dat(\.[0-9]+)?|img)"
_OF_RUN: Final = r"(\.mileage-[0-9a-f]{8})\.(tasks|metadata|dat\.iozone(\.[0-9]+)?)"


def remains_in(place: Path) -> list[Path]:
    """All files that studies left in a directory, sorted."""
    return sorted(
        path for path in place.glob(".mileage-*") if re.fullmatch(f"{_OF_STUDY}|{_OF_RUN}", path.name)
    )


def remove_remains_of_runs(place: Path, study: str | None = None) -> list[Path]:
    """Remove what single runs left in a directory; what was removed.

    `study`: the name of the work file of the one study whose remains these are, which the caller has locked; without
    it, those of all studies that are not running.
    """
    removed = []
    for path in remains_in(place):
        found = re.fullmatch(_OF_RUN, path.name)
        if found is None:
            continue
        work = f"{found[1]}.dat"
        if (work != study) if study is not None else is_locked(place / work):
            continue
        with suppress(OSError):
            if path.lstat().st_uid == os.geteuid():
                _remove(path)
                removed.append(path)
    return removed


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
