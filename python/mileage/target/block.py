"""`block:PATH` from a purged state: a whole block device whose content the user gave up.

What it models: purging by discarding the whole device. A study whose state starts "kept" uses a device in place
instead, see `kept`.
What it refuses: a device that was not named by `--destroy`, that anything uses, or that takes no discards, since
nothing else brings it back to a known state.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from mileage.errors import Refused, RunFailed
from mileage.target.filesystem import queue_word
from mileage.target.guard import ROOT
from mileage.target.kept import KeptTarget, guard_in_place, size_bytes
from mileage.target.spec import TargetSpec

BLKDISCARD: Final = 0x1277
"""ioctl(2): discard a range of a block device, given as two 64-bit numbers: first byte and length."""


class BlockTarget(KeptTarget):
    """A block device that is discarded whole before each cycle."""

    def __init__(self, spec: TargetSpec, *, destroy: str | None = None, root: Path = ROOT) -> None:
        guard_in_place(spec, destroy=destroy, root=root)
        if destroy is None:
            raise Refused(
                f"{spec}: a study that starts from a purged device destroys what is on it; to give it up say "
                f'--destroy {spec.name}, or only read with state.start = "kept"'
            )
        super().__init__(spec, destroy=destroy, root=root)
        most = queue_word(self.path, "discard_max_bytes", root=root)
        if most in (None, "0"):
            raise Refused(
                f"{spec}: the device takes no discards, so it cannot be purged; use it as it is with "
                'state.start = "kept"'
            )

    def purge(self) -> str:
        size = size_bytes(self.path)
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC)
            try:
                fcntl.ioctl(descriptor, BLKDISCARD, struct.pack("QQ", 0, size))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RunFailed.from_os_error(f"{self.spec}: cannot discard {self.path}", error) from error
        return f"discarded the {size} bytes of {self.path}"
