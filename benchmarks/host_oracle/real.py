"""A real file system on a loop device, and the requests to it as the kernel's tracepoint `block_rq_issue` reports them.

Needs root, loop devices, tracefs, and mkfs of the file system. Everything made is removed.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from mileage.targets.ledger import Ledger
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

Counts = Callable[[], dict[str, int]]
IMAGE_BYTES = 2 << 30
SECTOR_BYTES = 512
_ISSUED = re.compile(r"block_rq_issue: (\d+),(\d+) (\S+) (\d+) \(.*?\) (\d+) \+ (\d+)")
MKFS = {
    "ext4": [
        "mkfs.ext4",
        "-q",
        "-F",
        "-E",
        "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
        "-J",
        "size=64",
    ],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
}


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class RealCalls:
    """Calls on files below a mount point."""

    place: Path
    open_files: dict[tuple[str, bool], int] = field(default_factory=dict)
    buffer: memoryview | None = None

    def _file(self, name: str, direct: bool) -> int:
        key = (name, direct)
        if key not in self.open_files:
            flags = os.O_RDWR | os.O_CREAT | (os.O_DIRECT if direct else 0)
            self.open_files[key] = os.open(self.place / name, flags, 0o644)
        return self.open_files[key]

    def _memory(self, length: int) -> memoryview:
        """Memory on a page boundary, as direct I/O needs it."""
        import mmap

        if self.buffer is None or len(self.buffer) < length:
            self.buffer = memoryview(mmap.mmap(-1, max(length, 1 << 20)))
        return self.buffer[:length]

    def read(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        os.preadv(self._file(name, direct), [self._memory(length)], offset)

    def write(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        os.pwritev(self._file(name, direct), [self._memory(length)], offset)

    def fsync(self, name: str, *, data_only: bool = False) -> None:
        (os.fdatasync if data_only else os.fsync)(self._file(name, False))

    def create(self, name: str) -> None:
        os.close(os.open(self.place / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))

    def unlink(self, name: str) -> None:
        self.close()
        os.unlink(self.place / name)

    def sync(self) -> None:
        descriptor = os.open(self.place, os.O_RDONLY)
        _run("sync", "-f", str(self.place))
        os.close(descriptor)

    def fstrim(self) -> None:
        _run("fstrim", str(self.place))

    def sleep(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1e3)

    def close(self) -> None:
        for descriptor in self.open_files.values():
            os.close(descriptor)
        self.open_files.clear()


@contextmanager
def mounted(
    kind: str, options: str, folder: str, drive: str = ""
) -> Iterator[tuple[Path, Path, Counts | None]]:
    """A new file system of a kind on a loop device over a file, or over a virtual drive that is served.

    Its mount point, the device's folder below /sys/block, and what asks a served drive for its counts.
    """
    with TemporaryDirectory(dir=folder) as made:
        place = Path(made, "mount")
        place.mkdir()
        with served(Path(made, "drive"), drive) if drive else image(Path(made, "image")) as (device, counts):
            _run(*MKFS[kind], device)
            _run("mount", "-o", options or "defaults", device, str(place))
            try:
                yield place, Path("/sys/block", Path(device).name), counts
            finally:
                _run("umount", str(place))


@contextmanager
def image(path: Path) -> Iterator[tuple[str, None]]:
    """A loop device over a new file."""
    with path.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    device = _run("losetup", "-f", "--show", "--direct-io=on", str(path))
    try:
        yield device, None
    finally:
        _run("losetup", "-d", device)


@contextmanager
def served(at: Path, drive: str) -> Iterator[tuple[str, Counts]]:
    """A loop device over a virtual drive that is served in real time."""
    ledger, server = Ledger(), ServedDrive("host_oracle", ServedDriveOptions(profile=drive, at=at))
    server.start(ledger)
    try:
        device = str(server.attach(ledger))

        def counts() -> dict[str, int]:
            return {kind: row["requests"] for kind, row in server.control("stats")["requests"].items()}

        yield device, counts
    finally:
        server.stop(ledger)


@contextmanager
def traced(tracefs: Path, queue: Path) -> Iterator[list[tuple[str, int, int, bool]]]:
    """Record requests to a device: kind, first byte, bytes, FUA; they are in the list afterwards."""
    major, minor = (int(part) for part in queue.joinpath("dev").read_text().split(":"))
    found: list[tuple[str, int, int, bool]] = []
    own = tracefs / "instances" / f"mileage-{os.getpid()}"
    own.mkdir()
    try:
        event = own / "events" / "block" / "block_rq_issue"
        own.joinpath("buffer_size_kb").write_text("16384")
        event.joinpath("filter").write_text(f"dev == {major << 20 | minor}")
        event.joinpath("enable").write_text("1")
        yield found
        event.joinpath("enable").write_text("0")
        for line in own.joinpath("trace").read_text().splitlines():
            if match := _ISSUED.search(line):
                _, _, flags, _, first, sectors = match.groups()
                found.append(_request(flags, int(first), int(sectors)))
    finally:
        own.rmdir()


def _request(flags: str, first: int, sectors: int) -> tuple[str, int, int, bool]:
    """A request by its flags (`rwbs` of the tracepoint): a leading F is a flush before it."""
    plain = flags.lstrip("F") if flags[0] == "F" else flags
    if not plain or (flags[0] == "F" and sectors == 0):
        return ("flush", 0, 0, False)
    kind = {"R": "read", "W": "write", "D": "discard"}.get(plain[0], "other")
    return (kind, first * SECTOR_BYTES, sectors * SECTOR_BYTES, "F" in plain[1:])
