"""Looks at files that another process makes, writes and removes meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def has_blocks(path: Path) -> bool:
    """Whether something was written to a file; a file that is removed and made again is missing for a moment."""
    with suppress(FileNotFoundError):
        return path.stat().st_blocks > 0
    return False


def has_entries(directory: Path) -> bool:
    """Whether anything is in a directory."""
    with suppress(FileNotFoundError):
        return any(directory.iterdir())
    return False
