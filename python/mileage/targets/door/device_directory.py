"""The directory of devices, in which no file is made: a mistyped name of a device would become one."""

from __future__ import annotations

import os

from mileage.errors import Refused


def refuse_device_directory(about: str, folder: int) -> None:
    """Refuse a new name in the directory of devices: a mistyped device would become a file. Raises Refused."""
    place = os.readlink(f"/proc/self/fd/{folder}")
    try:
        is_devices = place == "/dev" or (
            place.startswith("/dev/") and os.fstat(folder).st_dev == os.stat("/dev").st_dev
        )
    except OSError:
        is_devices = False
    if is_devices:
        raise Refused(
            about, "no such device", advice="no file is made in a directory of devices", code="unwritable"
        )
