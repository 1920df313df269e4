"""Requirements on storage: capacity, endurance, years, protection, speed, money.

Scope: values; `choice` finds the drives that meet them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Pattern = Literal["sequential", "random"]


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements on the storage as a whole."""

    capacity_bytes: float
    """Usable bytes."""
    tbw: float = 0.0
    """Terabytes (10^12 bytes) that are written to it in its years."""
    years: float = 5.0
    pattern: Pattern = "random"
    """Access pattern of most operations; it decides which quoted rates count."""
    power_loss_protection: bool = False
    hot_swap: bool = False
    link: str = ""
    """Beginning of the name of the link, such as "sata" or "pcie"; empty for any."""
    read_rate: float = 0.0
    """Reads per second at random, or MB/s in sequence, at least."""
    write_rate: float = 0.0
    """Writes per second at random, or MB/s in sequence, at least."""
    note: str = ""
    """Assumptions that were made."""
