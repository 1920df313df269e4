"""Read the wear that a drive has counted itself, from the facts of `store.drive_health`.

Scope: bytes that the host wrote and the drive's indicator of wear. NVMe counts units of 512,000 bytes (base
specification, SMART / Health Information log, Data Units Written). ATA attributes have units in their names, as
smartctl's drive database gives them; the normalised value of a wear attribute falls from 100 to 0.
What it refuses: attributes whose unit is not in their name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mileage.endurance.life import Wear

_KEY: Final = "now.health_"
NVME_UNIT_BYTES: Final = 512_000
_ATA_WRITTEN: Final = {
    "total_lbas_written": 512,
    "total_host_sector_write": 512,
    "host_writes_32mib": 32 << 20,
    "host_writes_mib": 1 << 20,
    "host_writes_gib": 1 << 30,
    "lifetime_writes_gib": 1 << 30,
    "total_writes_gib": 1 << 30,
}
_ATA_WEAR: Final = (
    *("media_wearout_indicator", "wear_leveling_count", "ssd_life_left", "percent_lifetime_remain"),
    *("percent_life_remaining", "remaining_lifetime_perc"),
)


def written_bytes_of(facts: Mapping[str, str]) -> int | None:
    """Bytes that the host wrote in the life of a drive, by its own count; None where it has none."""
    units = _whole(facts, "data_units_written")
    if units is not None:
        return units * NVME_UNIT_BYTES
    for key in facts:
        name = _ata_name(key)
        if name in _ATA_WRITTEN and (count := _whole(facts, key.removeprefix(_KEY))) is not None:
            return count * _ATA_WRITTEN[name]
    return None


def percent_used_of(facts: Mapping[str, str]) -> int | None:
    """The drive's indicator of wear in percent, 100 when its rated life is used up; None where it has none."""
    for key in ("percentage_used", "percent_used"):
        if (used := _whole(facts, key)) is not None:
            return used
    for key in facts:
        if _ata_name(key).removesuffix("_normalised") in _ATA_WEAR and key.endswith("_normalised"):
            left = _whole(facts, key.removeprefix(_KEY))
            if left is not None and 0 <= left <= 100:
                return 100 - left
    return None


def wear_of(facts: Mapping[str, str]) -> Wear:
    """The wear of a drive."""
    return Wear(
        written_bytes=written_bytes_of(facts),
        percent_used=percent_used_of(facts),
        power_on_hours=_whole(facts, "power_on_hours"),
    )


def _ata_name(key: str) -> str:
    """The name of an ATA attribute in a key such as "now.health_ata_241_total_lbas_written"; empty for other keys."""
    parts = key.removeprefix(_KEY + "ata_").split("_", 1)
    return parts[1] if key.startswith(_KEY + "ata_") and len(parts) == 2 else ""


def _whole(facts: Mapping[str, str], key: str) -> int | None:
    text = facts.get(_KEY + key, "").replace(",", "")
    return int(text) if text.isascii() and text.isdecimal() else None
