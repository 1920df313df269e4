"""Logs of offset and latency (`-Q`) that the tests of IOzone's suite append to in a folder.

What it refuses: a folder in which the name of a log has another file, a link or a device.
"""

from __future__ import annotations

import os
import re
from typing import Final

from mileage.targets.door import check_result

_NAMES: Final = re.compile(r"r?[rw]ol\.dat|Child_\d+_\w+ol\.dat")
_HEAD: Final = b"Offset in kBytes   Latency in microseconds  Transfer size in bytes\n"
"""The first line; `HEAD` of crates/mileage-engine/src/iozone/record_extras.rs."""


def check_latency_logs(folder: str) -> None:
    """Refuse a folder in which a log would be added to something else. Raises Refused."""
    found = [name for name in os.listdir(folder) if _NAMES.fullmatch(name)]
    for name in ["wol.dat", *found]:
        check_result("iozone: -Q", os.path.join(folder, name), "iozone-log", _HEAD)
