"""`python docs/make_pictures.py [FOLDER]`: the pictures of docs/pictures, from runs of the built-in studies.

Every study runs as shipped, on its virtual drive. Of each, the figure that a page shows is kept and, of two where
Chromium is installed, the report's first screen. FOLDER holds the studies (a new temporary one); a study that is there
already is not run again.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
KEPT: Final = {
    "drive-or-host": "effects",
    "degradation": "over_time",
    "compressibility": "changes_map",
    "drives": "levels",
    "sustained": "torture",
}
SCREENS: Final = ("drive-or-host", "degradation")


def packed(png: bytes) -> bytes:
    """The same picture, its data compressed as far as they go: reports are written with little time for that."""
    parts, data, at = [png[:8]], b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        else:
            parts.append(png[at : at + 12 + length])
        at += 12 + length
    body = b"IDAT" + zlib.compress(zlib.decompress(data), 9)
    parts.insert(-1, struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)))
    return b"".join(parts)


def main() -> None:
    """Run what is missing, and keep the pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.report import chromium

    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="mileage-pictures-"))
    pictures = ROOT / "docs" / "pictures"
    pictures.mkdir(exist_ok=True)
    for study, name in KEPT.items():
        folder = place / study
        if not (folder / "report.html").exists():
            subprocess.run([sys.executable, "-m", "mileage", "run", study, "--out", str(folder)], check=True)
        (pictures / f"{study}_{name}.png").write_bytes(
            packed((folder / "figures" / f"{name}.png").read_bytes())
        )
        if study not in SCREENS:
            continue
        if chromium.PROGRAM is None:
            sys.stderr.write("chromium is not installed: the first screens are left as they are\n")
            continue
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
            chromium.Chromium(Path(profile)) as browser,
        ):
            browser.do("Emulation.setScrollbarsHidden", hidden=True)
            browser.open(folder / "report.html", 1280, 1010)
            browser.picture(pictures / f"{study}_screen.png")


if __name__ == "__main__":
    main()
