"""Columns and figures of IOR's listing, as version 4 lays them out; its formulas are in `judge.tasks`.

Scope: a repetition's phases with their times, sizes and file systems in words. A MiB is 2^20 bytes.
`formats.ior_listing` makes the listing of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mileage.judge.tasks import MIB, bandwidth_mib_s, operations_per_s
from mileage.model.ior_phase import IorPhase

VERSION: Final = "4.0.0"


def mib_per_s(phase: IorPhase) -> float:
    """MiB/s of a phase over its whole time."""
    return bandwidth_mib_s(phase.moved_bytes, phase.total_s) if phase.total_s else 0.0


def iops_of(phase: IorPhase) -> float:
    """Transfers a second while they were made."""
    return operations_per_s(phase.transfers, phase.transfer_s) if phase.transfer_s else 0.0


def _figure(value: float) -> str:
    """A number in ten columns, with as many digits after the point as its size leaves room for."""
    digits = 6 if value < 1 else 2 if value < 3600 else 0
    return f"{value:<10.{digits}f}"


def human(size: int) -> str:
    """A size as IOR's options have it: "1 MiB", "48.83 GiB", "65536 bytes"."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}" if size % unit == 0 else f"{size / unit:.2f} {name}"
    return f"{size} bytes"


def file_system_of(directory: Path) -> dict[str, str]:
    """Capacity and use of a file system, as IOR writes them; empty where it cannot be looked at."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return {}
    size = found.f_blocks * found.f_frsize
    unit, name = (1 << 40, "TiB") if size >= 1 << 40 else (1 << 30, "GiB")
    used = 100.0 * (found.f_blocks - found.f_bfree) / found.f_blocks if found.f_blocks else 0.0
    inodes = 100.0 * (found.f_files - found.f_ffree) / found.f_files if found.f_files else 0.0
    return {
        "Capacity": f"{size / unit:.1f} {name}",
        "Used Capacity": f"{used:2.1f}%",
        "Inodes": f"{found.f_files / MIB:.1f} Mi",
        "Used Inodes": f"{inodes:2.1f}%",
    }


def file_system_text(directory: Path) -> str:
    """The same in a line."""
    found = file_system_of(directory)
    if not found:
        return ""
    use = (
        f"Used FS: {found['Used Capacity']}   Inodes: {found['Inodes']}   Used Inodes: {found['Used Inodes']}"
    )
    return f"{found['Capacity']}   {use}"


_COLUMNS: Final = {
    "access": 10,
    "bw(MiB/s)": 11,
    "IOPS": 11,
    "Latency(s)": 12,
    "block(KiB)": 11,
    "xfer(KiB)": 11,
    "open(s)": 11,
    "wr/rd(s)": 11,
    "close(s)": 11,
    "total(s)": 11,
    "iter": 0,
}
"""The headings with their widths; each is underlined as far as IOR underlines it."""
_HEAD: Final = "".join(name.ljust(width) for name, width in _COLUMNS.items())
_RULES: Final = (6, 9, 4, 10, 10, 9, 8, 8, 8, 8, 4)
_RULE: Final = "".join(
    ("-" * rule).ljust(width) for rule, width in zip(_RULES, _COLUMNS.values(), strict=True)
)
_SUMMARY: Final = (
    "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) "
    "Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize "
    "aggs(MiB)   API RefNum"
)


def table_head() -> str:
    """The heading of the results."""
    return f"{_HEAD}\n{_RULE}\n"


def summary_head() -> str:
    """The heading of the summary."""
    return _SUMMARY


def figure_columns(access: str, figures: Sequence[float | None], repetition: int) -> str:
    """A line of results; None is a dash."""
    widths = tuple(_COLUMNS.values())[1:-1]
    shown = (
        ("-" if value is None else _figure(value)).ljust(width)
        for value, width in zip(figures, widths, strict=True)
    )
    return f"{access:<10}{''.join(shown)}{repetition:<4d}\n"


def by_access(phases: Sequence[IorPhase]) -> list[list[IorPhase]]:
    """The phases of writing, then those of reading."""
    found = [[phase for phase in phases if phase.access == access] for access in ("write", "read")]
    return [own for own in found if own]


def operations_of(phase: IorPhase) -> float:
    """Transfers over the whole time, as the summary has them."""
    return operations_per_s(phase.transfers, phase.total_s) if phase.total_s else 0.0
