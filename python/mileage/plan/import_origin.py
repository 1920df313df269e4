"""Origin of a study that another tool measured; such a plan cannot be run.

Scope: the files with their hashes, the tool and its version as the files say them.
Whoever would run such a plan asks `Plan.imported` first.
"""

from __future__ import annotations

import msgspec


class ImportedFile(msgspec.Struct, frozen=True):
    """One file that was imported."""

    path: str
    """Path as the user gave it."""
    sha256: str
    """SHA-256 of the file's bytes, 64 hexadecimal digits."""
    size_bytes: int
    layout: str
    """The reader that understood it."""


class ImportOrigin(msgspec.Struct, frozen=True):
    """Tool and files of an imported study."""

    tool: str
    """"fio", "iozone" ..."""
    version: str | None
    """Version as the files state it; None where they do not."""
    files: tuple[ImportedFile, ...]

    @property
    def words(self) -> str:
        """The tool with its version: "fio 3.33"."""
        return f"{self.tool} {self.version}" if self.version else f"{self.tool}, version not recorded"
