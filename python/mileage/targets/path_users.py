"""Find the processes that use a path: working directory, root, open files, mapped files.

Scope: the links under /proc/PID, which the kernel keeps for every process.
Processes that may not be looked at, or that end meanwhile, are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import read_word


def users_of(place: str, *, root: Path = ROOT) -> str:
    """The processes that use this directory or something below it, as "PID (name), ..."; "" when none shows."""
    processes = sorted((root / "proc").glob("[0-9]*"), key=lambda path: int(path.name))
    return ", ".join(
        f"{process.name} ({read_word(process / 'comm') or 'unnamed'})"
        for process in processes
        if any(_below(link, place) for link in _links(process))
    )


def _links(process: Path) -> list[str]:
    links = [process / "cwd", process / "root"]
    for folder in ("fd", "map_files"):
        try:
            links += list((process / folder).iterdir())
        except OSError:
            continue
    return [target for link in links if (target := _target(link)) is not None]


def _target(link: Path) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")
