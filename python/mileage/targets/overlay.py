"""One file under several names of an overlay: its path in the overlay, and those in the layers below.

Scope: overlayfs, whose mount options name the directories of the layers. A file of a layer has an identity of
its own there, and another one in the overlay.
Layers that are not visible here, as in a container, are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mileage.targets.file_identity import FileIdentity
from mileage.targets.kernel_text import unescape
from mileage.targets.mounts import Mount, mount_of


def identities_of(path: str | Path, mounts: tuple[Mount, ...]) -> set[FileIdentity]:
    """The identities of a file: at its path, and in the layers where that is on an overlay."""
    real = Path(os.path.realpath(path))
    return {found for name in (real, *_in_layers(real, mounts)) if (found := _identity(name)) is not None}


def _in_layers(path: Path, mounts: tuple[Mount, ...]) -> Iterator[Path]:
    mount = mount_of(path, mounts)
    if mount is None or mount.fs_type != "overlay":
        return
    name = path.relative_to(mount.mount_point)
    for option in mount.super_options:
        key, _, value = option.partition("=")
        if key.rstrip("+") in ("upperdir", "lowerdir"):
            yield from (Path(layer) / name for layer in unescape(value).split(":") if layer)


def _identity(path: Path) -> FileIdentity | None:
    try:
        return FileIdentity.of_status(path.stat())
    except OSError:
        return None
