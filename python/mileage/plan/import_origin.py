"""Where a study comes from that another tool measured: the plan says so, and nothing can be run from it.

What it models: the files with their hashes, the tool and its version as the files say them.
What it refuses: nothing; whoever would run such a plan asks `Plan.imported` first.
"""

from __future__ import annotations

import msgspec


class ImportedFile(msgspec.Struct, frozen=True):
    """One file that was imported."""

    path: str
    """As the user named it."""
    sha256: str
    """Of its bytes, 64 hexadecimal digits."""
    size_bytes: int
    layout: str
    """The reader that understood it."""


class Imported(msgspec.Struct, frozen=True):
    """What made the study."""

    tool: str
    """"fio", "iozone" ..."""
    version: str | None
    """As the files say it; None where they do not."""
    files: tuple[ImportedFile, ...]

    @property
    def words(self) -> str:
        """The tool with its version: "fio 3.33"."""
        return f"{self.tool} {self.version}" if self.version else f"{self.tool}, version not recorded"
