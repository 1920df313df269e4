"""Duplicate blocks of what `mileage iozone` writes with `-+w`, `-+y` and `-+C`, next to the nominal shares.

Scope: shares of 4 KiB blocks that equal another one, in a file, in a second child's, in those of all children.
"""

from __future__ import annotations

import msgspec

from mileage.plan.content import Content, ContentTable, IozoneDedup
from mileage.plan.sizes import format_bytes


class FileDuplicates(msgspec.Struct, frozen=True):
    """Shares of blocks in percent, as the core counts them."""

    bytes: int
    within_percent: float
    across_two_percent: float
    children: int
    across_all_percent: float


def duplicates_of(
    content: Content | None, record_bytes: int, file_bytes: int, children: int
) -> FileDuplicates | None:
    """The duplicates in files of this content; None for contents that are not IOzone's."""
    from mileage import _core

    if content is None:
        return None
    text = _core.iozone_duplicates(
        msgspec.json.encode(content).decode(), record_bytes, file_bytes, max(children, 1)
    )
    return None if text is None else msgspec.json.decode(text, type=FileDuplicates)


def duplicates_text(content: Content | None, record_bytes: int, file_bytes: int, children: int) -> str | None:
    """One line with the nominal shares and the measured ones; None without -+w."""
    shares = content.iozone_dedup if isinstance(content, ContentTable) else None
    if not isinstance(shares, IozoneDedup):
        return None
    found = duplicates_of(content, record_bytes, file_bytes, children)
    if found is None:
        return None
    several = (
        f", {found.across_all_percent:.1f} % of the blocks of {found.children} children equal an earlier one"
        if found.children > 1
        else ""
    )
    return (
        f"duplicates: nominal -+w {shares.within_percent} -+y {shares.across_percent} -+C {shares.compress_percent} %; "
        f"of 4 KiB blocks in files of {format_bytes(found.bytes)}, {found.within_percent:.1f} % equal an earlier one "
        f"of the same file, {found.across_two_percent:.1f} % of a second child's equal one of the first's{several}"
    )
