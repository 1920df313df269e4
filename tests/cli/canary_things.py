"""What can be at a path that a user gives, and whether it is still as it was.

Scope: files, links, devices, a FIFO, a directory and names that do not exist in /dev; a snapshot is everything of them
that a command could change: content, size, times, inode, links, mode, device number, extended attributes, and what is
mounted or attached. Loop devices are made here and detached by their names.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CONTENT: Final = b"precious" * (16 << 10)
"""Shorter than what the commands move, so that a write and a longer file are both seen."""
DEVICE_BYTES: Final = 4 << 20
TYPO: Final = f"/dev/mileage-canary-{os.getpid()}"


@dataclass
class Canary:
    """What was put at a path."""

    kind: str
    at: Path
    keeps: tuple[Path, ...]
    """The names whose state is compared."""
    may_grow: bool = False
    """A directory: names may be added to it."""

    def snapshot(self) -> dict[str, Any]:
        found = {str(path): _state(path) for path in self.keeps}
        if self.kind.startswith("typo"):
            found["/dev"] = sorted(name for name in os.listdir("/dev") if name.startswith(Path(TYPO).name))
        if self.kind in ("mounted", "backing"):
            found["mounts"] = [line for line in _mounts() if f"{self.at.parent}/mnt" in line]
        return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What changed, in words."""
    found = []
    for path, state in before.items():
        now, name = after[path], Path(path).name
        if state == now:
            continue
        if isinstance(state, dict) and isinstance(now, dict):
            if state["kind"] != now["kind"]:
                found.append(f"{name} replaced")
            else:
                found.append(f"{', '.join(key for key in state if state[key] != now[key])} of {name}")
        else:
            found.append(f"{name} removed" if now is None else f"{name}: {state} -> {now}")
    return found


def _state(path: Path) -> dict[str, Any] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    state = {
        "kind": stat.S_IFMT(status.st_mode),
        "inode": status.st_ino,
        "links": status.st_nlink,
        "mode": stat.S_IMODE(status.st_mode),
        "owner": (status.st_uid, status.st_gid),
        "device number": status.st_rdev,
    }
    if stat.S_ISLNK(status.st_mode):
        return state | {"target": os.readlink(path)}
    if stat.S_ISFIFO(status.st_mode):
        return state | {"written": status.st_mtime_ns, "read": status.st_atime_ns}
    if stat.S_ISREG(status.st_mode):
        state |= {"size": status.st_size, "written": status.st_mtime_ns, "attributes": os.listxattr(path)}
    if stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode):
        state |= {"content": hashlib.sha256(_head(path)).hexdigest()}
    if stat.S_ISDIR(status.st_mode):
        # Of entries that are made and removed only these counts stay.
        state |= {"links": 0, "names": sorted(os.listdir(path))}
    return state


def _head(path: Path) -> bytes:
    """The content; of a file that a command made larger than anything that is put here, its beginning."""
    with path.open("rb") as file:
        return file.read(4 * DEVICE_BYTES)


def _mounts() -> list[str]:
    return Path("/proc/self/mounts").read_text().splitlines()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class Maker:
    """Puts things at paths below a folder; `undo` ends mounts and loop devices."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self.folder = folder
        self.undo = undo

    def put(self, kind: str, at: Path) -> Canary:
        """Put a thing at a path that does not exist."""
        at.parent.mkdir(parents=True, exist_ok=True)
        return _MAKERS[kind](self, at)

    def device(self, kind: str) -> Path:
        """A loop device, for a path that is the node itself."""
        image = self.folder / "image"
        _image(image, kind)
        return Path(self._loop(image, kind == "mounted"))

    def node(self, kind: str, at: Path) -> Canary:
        """Another node of a loop device at a path."""
        device = self.device(kind)
        os.mknod(at, 0o600 | stat.S_IFBLK, device.stat().st_rdev)
        return self.known_device(kind, at)

    def known_device(self, kind: str, at: Path) -> Canary:
        """A node as a thing; made again at the end if it was removed."""
        number = at.stat().st_rdev
        self.undo.callback(_restore_node, at, number)
        return Canary(kind, at, (at,))

    def backing(self, at: Path) -> Canary:
        """The backing file of a mounted loop device."""
        _image(at, "mounted")
        self._loop(at, mounts=True)
        return Canary("backing", at, (at,))

    def _loop(self, image: Path, mounts: bool) -> str:
        device = _run("losetup", "--find", "--show", str(image))
        self.undo.callback(subprocess.run, ["losetup", "--detach", device], check=False, timeout=60)
        if mounts:
            place = image.parent / "mnt"
            place.mkdir()
            # Without a journal nothing is written to an idle file system later on.
            _run("mount", "-o", "noatime", device, str(place))
            self.undo.callback(subprocess.run, ["umount", str(place)], check=False, timeout=60)
            (place / "keep").write_bytes(CONTENT)
            _run("sync", "--file-system", str(place))
        return device


def _image(path: Path, kind: str) -> None:
    with path.open("wb") as file:
        file.write(CONTENT)
        file.truncate(DEVICE_BYTES)
    if kind == "mounted":
        _run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", str(path))


def _restore_node(at: Path, number: int) -> None:
    if not at.parent.is_dir() or (at.is_block_device() and at.stat().st_rdev == number):
        return
    at.unlink(missing_ok=True)
    os.mknod(at, 0o600 | stat.S_IFBLK, number)


def _content(_: Maker, at: Path) -> Canary:
    at.write_bytes(CONTENT)
    return Canary("content", at, (at,))


def _empty(_: Maker, at: Path) -> Canary:
    at.touch()
    return Canary("empty", at, (at,))


def _hard_link(_: Maker, at: Path) -> Canary:
    other = at.with_name("other-name")
    other.write_bytes(CONTENT)
    os.link(other, at)
    return Canary("hardlink", at, (at, other))


def _symbolic_link(_: Maker, at: Path) -> Canary:
    other = at.with_name("other-name")
    other.write_bytes(CONTENT)
    at.symlink_to(other)
    return Canary("symlink", at, (at, other))


def _directory(_: Maker, at: Path) -> Canary:
    at.mkdir()
    (at / "keep").write_bytes(CONTENT)
    return Canary("directory", at, (at, at / "keep"))


def _fifo(_: Maker, at: Path) -> Canary:
    os.mkfifo(at)
    return Canary("fifo", at, (at,))


_MAKERS: Final[dict[str, Callable[[Maker, Path], Canary]]] = {
    "content": _content,
    "empty": _empty,
    "hardlink": _hard_link,
    "symlink": _symbolic_link,
    "directory": _directory,
    "fifo": _fifo,
    "backing": Maker.backing,
    "mounted": lambda maker, at: maker.node("mounted", at),
    "free": lambda maker, at: maker.node("free", at),
}
TYPOS: Final = {"typo": Path(TYPO), "typo-folder": Path(f"{TYPO}-folder/x")}
"""Names in /dev that do not exist."""
DEVICES: Final = ("mounted", "free")
MADE: Final = ("made", "edited")
"""What the command itself left at the path before, and that after an edit."""
KINDS: Final = (*_MAKERS, *TYPOS, *MADE)


def typo(kind: str) -> Canary:
    """A name in /dev that does not exist."""
    return Canary(kind, TYPOS[kind], ())


def remove_typos() -> None:
    """Remove what a command made at these names."""
    for name in os.listdir("/dev"):
        if name.startswith(Path(TYPO).name):
            _run("rm", "-rf", "--", f"/dev/{name}")


def edit(at: Path) -> None:
    """Change one byte of a file, and not its size."""
    with at.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))
