"""The modelled host, with the queue of the device that the real kernel has."""

from __future__ import annotations

import json
from pathlib import Path

from mileage import _core
from mileage.targets.host_profiles import load_hosted

DRIVE = f"plain-64gib,capacity_bytes={2 << 30},blocks_per_plane=128"
"""The drive below the model, and below the real kernel where it is served."""
_FIRST_HANDLE = 100


def host_like(queue: Path, kind: str, options: str, read_ahead_kb: int | None) -> _core.Host:
    """A host with the block queue of a real device, above a flash drive of the size of its file system."""

    def limit(name: str) -> int:
        return int(queue.joinpath("queue", name).read_text())

    scheduler = queue.joinpath("queue", "scheduler").read_text().partition("[")[2].partition("]")[0] or "none"
    ahead = limit("read_ahead_kb") if read_ahead_kb is None else read_ahead_kb
    changes = {
        "read_ahead_bytes": ahead << 10,
        "request_bytes_max": limit("max_sectors_kb") << 10,
        "discard_bytes_max": limit("discard_max_bytes"),
        "scheduler": scheduler,
        "segments_max": limit("max_segments"),
        "native_fua": str(bool(limit("fua"))).lower(),
        "device_queue_depth": limit("nr_requests"),
        "requests_waiting_max": limit("nr_requests"),
        "journal_bytes": 64 << 20,
        "file_system": kind,
        "discard": str("discard" in options).lower(),
    }
    text = ",".join(f"{key}={value}" for key, value in changes.items())
    drive, host = load_hosted(f"{DRIVE}@server-2025,{text}")
    return _core.Host(host, drive)


class ModelCalls:
    """Calls on files of a modelled host."""

    def __init__(self, host: _core.Host) -> None:
        self.host = host
        self.handles: dict[tuple[str, bool], int] = {}

    def _do(self, call: str, **arguments: object) -> None:
        self.host.call(json.dumps({call: arguments} if arguments else call))

    def _file(self, name: str, direct: bool) -> int:
        key = (name, direct)
        if key not in self.handles:
            handle = _FIRST_HANDLE + len(self.handles)
            self._do("open", path=name, handle=handle, how={"create": True, "direct": direct})
            self.handles[key] = handle
        return self.handles[key]

    def read(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        self._do("read", handle=self._file(name, direct), offset=offset, length=length)

    def write(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        self._do("write", handle=self._file(name, direct), offset=offset, length=length)

    def fsync(self, name: str, *, data_only: bool = False) -> None:
        self._do("sync", handle=self._file(name, False), data_only=data_only)

    def create(self, name: str) -> None:
        self._do("open", path=name, handle=1, how={"create": True, "exclusive": True})
        self._do("close", handle=1)

    def unlink(self, name: str) -> None:
        self.close()
        self._do("unlink", path=name, directory=False)

    def sync(self) -> None:
        self._do("sync_all")

    def fstrim(self) -> None:
        self._do("trim_free")

    def sleep(self, milliseconds: int) -> None:
        self.host.idle(milliseconds * 1_000_000)

    def drop_caches(self) -> None:
        self._do("drop_caches")

    def close(self) -> None:
        for handle in self.handles.values():
            self._do("close", handle=handle)
        self.handles.clear()
