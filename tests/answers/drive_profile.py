"""A small flash drive for the questions about virtual drives: a profile of which every figure is chosen here.

64 MiB of flash as in the documentation's example, so that it is aged in a moment. A test changes single figures.
"""

from __future__ import annotations

from pathlib import Path

FLASH_BYTES = 64 * 2**20
FIGURES: dict[str, int | str] = {
    "capacity_bytes": 58_355_712,  # 15 % over-provisioned
    "page_bytes": 4096,
    "pages_per_block": 32,
    "blocks_per_plane": 128,
    "planes_per_die": 1,
    "dies_per_channel": 2,
    "channels": 2,
    "read_us": 50,
    "program_us": 200,
    "erase_us": 1000,
    "controller_us": 1,
    "channel_mb_per_s": 200,
    "link": "sata-2",
    "queue_depth_max": 32,
    "write_buffer_pages": 0,
}


def write_profile(folder: Path, name: str = "small.toml", **changed: int | str) -> str:
    """Write the profile with some figures changed or added; returns the name of its target."""
    lines = [f'name = "{Path(name).stem}"', 'title = "A small drive"', 'kind = "flash"']
    for key, value in (FIGURES | changed).items():
        shown = f'"{value}"' if isinstance(value, str) else value
        lines.append(f'{key} = {{ value = {shown}, source = "chosen for a test", confidence = "defined" }}')
    (folder / name).write_text("\n".join(lines) + "\n")
    return f"virtual:{name}"
