"""The profile of a drive or a host of a part of the size: `scale=1/16` in the name of a target.

Scope: what makes a drive or a memory large: blocks, capacity, caches in flash, rated life; memory, page cache and
journal of a host. Buffers, pages, blocks and times stay, so ratios of sizes do not change and rates of a steady state
do not either.
What it refuses: a profile with nothing to divide (arrays, disks), and a scale that is not 1/N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mileage.errors import Refused
from mileage.plan.sizes import scale_divisor

_SIZES: Final = {
    "blocks_per_plane": ("blocks_per_plane", "capacity_bytes", "slc_cache_bytes", "rated_endurance_bytes"),
    "memory_bytes": ("memory_bytes", "cache_bytes", "journal_bytes"),
}
"""What is divided in a profile that has the key: in that of a flash drive, and in that of a host."""
_LEAST_BYTES: Final = {"journal_bytes": 4 << 20}
"""What a size is at least, where that is more than 1 MiB."""
_MIB: Final = 1 << 20


def scaled_figures(figures: Mapping[str, Any], scale: str, where: str) -> dict[str, Any]:
    """The figures of a profile with its sizes divided; sizes in bytes become whole MiB. `where` is that of messages.

    Raises Refused.
    """
    try:
        divisor = scale_divisor(scale)
    except ValueError as error:
        raise Refused(where, str(error), code="wrong-value") from None
    keys = next((sizes for key, sizes in _SIZES.items() if key in figures), None)
    if keys is None:
        raise Refused(
            where,
            "has no flash whose blocks could be divided",
            expected="a flash drive or a host with scale=1/N",
            code="unsupported",
        )
    scaled = dict(figures)
    for key in keys:
        figure = scaled.get(key)
        value = figure.get("value") if isinstance(figure, dict) else figure
        if not isinstance(value, int):
            continue
        smaller = value // divisor
        if key.endswith("_bytes"):
            smaller = max(smaller // _MIB * _MIB, _LEAST_BYTES.get(key, _MIB))
        source = f"1/{divisor} of {value}: scale of the target"
        scaled[key] = {"value": smaller, "source": source, "confidence": "defined"}
    return scaled
