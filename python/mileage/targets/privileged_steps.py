"""The privileged steps that leave something behind, and how each is undone.

Scope: a step as a value that can be written down before it is done. `undo` works from that value alone, in
another process and whether or not the step was ever done: it looks at the kernel's tables, undoes what it finds there,
and says so in one line; None means that there was nothing to undo. Undoing twice does no harm.
What it refuses: undoing what is not this step's own. A loop device is known by the path that backs it, a mount by its
mount point, both of which Mileage chose; a setting that meanwhile has a third value is left alone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from mileage.errors import RunFailed
from mileage.targets.guard import loop_devices, users_of
from mileage.targets.kernel_text import decoded, lines_of
from mileage.targets.mounts import read_mounts
from mileage.targets.programs import call, find_program

_BUSY_S: Final = 5.0
"""Time that an undo step waits for users of the object: a child that is just ending, a lazy close."""
_PAUSE_S: Final = 0.05
_DELETED: Final = " (deleted)"


class MadeDirectory(msgspec.Struct, frozen=True, tag="directory"):
    """An empty directory to mount on."""

    path: str
    persists: ClassVar[bool] = True

    def undo(self) -> str | None:
        """Remove it while it is empty and nothing is mounted there."""
        try:
            Path(self.path).rmdir()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunFailed.from_os_error(f"cannot remove the directory {self.path}", error) from error
        return f"removed the directory {self.path}"


class AttachedLoop(msgspec.Struct, frozen=True, tag="loop"):
    """A loop device over a file that no other program knows."""

    backing: str
    persists: ClassVar[bool] = False

    def undo(self) -> str | None:
        """Detach every loop device backed by this file, and wait until each has disappeared."""
        found = self.devices()
        for name in found:
            call(f"loop device {name}", "losetup", "--detach", f"/dev/{name}")
        end = time.monotonic() + _BUSY_S
        while left := self.devices():
            if time.monotonic() > end:
                raise RunFailed(f"{', '.join(left)} over {self.backing} is still in use", cause="EBUSY")
            time.sleep(_PAUSE_S)
        return f"detached {', '.join(found)} from {self.backing}" if found else None

    def devices(self) -> list[str]:
        """Kernel names of the loop devices over this file, also when it has been deleted meanwhile."""
        names = (self.backing, self.backing + _DELETED)
        return [name for name, backing in loop_devices() if backing in names]


class MountedFileSystem(msgspec.Struct, frozen=True, tag="mount"):
    """A file system mounted on a directory that Mileage made for it."""

    device: str
    place: str
    persists: ClassVar[bool] = False

    def undo(self) -> str | None:
        """Unmount everything that is on this directory. Raises RunFailed that names who still works there."""
        done = False
        end = time.monotonic() + _BUSY_S
        while any(mount.mount_point == self.place for mount in read_mounts()):
            try:
                call(self.place, "umount", self.place)
                done = True
            except RunFailed as failure:
                if time.monotonic() > end:
                    users = users_of(self.place)
                    raise RunFailed(
                        f"{self.place} cannot be unmounted: {failure}; in use by {users or 'nothing that shows'}",
                        cause="EBUSY",
                    ) from failure
                time.sleep(_PAUSE_S)
        return f"unmounted {self.place}" if done else None


class MountedDrive(msgspec.Struct, frozen=True, tag="served-drive"):
    """A virtual drive that a process of its own serves as a file below this directory."""

    place: str
    persists: ClassVar[bool] = False

    def undo(self) -> str | None:
        """Unmount the directory, whether the process lives or not. Raises RunFailed that names who uses it."""
        if os.geteuid() == 0 or find_program("fusermount3") is None:
            return MountedFileSystem("", self.place).undo()
        if not any(mount.mount_point == self.place for mount in read_mounts()):
            return None
        call(self.place, "fusermount3", "-u", self.place)
        return f"unmounted {self.place}"


class MadeSocket(msgspec.Struct, frozen=True, tag="socket"):
    """A unix socket at a path."""

    path: str
    persists: ClassVar[bool] = True

    def undo(self) -> str | None:
        """Remove it; what is no socket is left alone."""
        path = Path(self.path)
        if not path.is_socket():
            return None
        path.unlink(missing_ok=True)
        return f"removed the socket {self.path}"


class MadeGroup(msgspec.Struct, frozen=True, tag="cgroup"):
    """A control group of this process's own, and the group it came from."""

    path: str
    parent: str
    persists: ClassVar[bool] = False

    def undo(self) -> str | None:
        """Send what is in the group back to where it came from and remove the group."""
        group = Path(self.path)
        end = time.monotonic() + _BUSY_S
        done = False
        while group.is_dir():
            try:
                for process in lines_of((group / "cgroup.procs").read_text()):
                    _move(process, Path(self.parent))
                group.rmdir()
                done = True
            except FileNotFoundError:
                done = True
            except OSError as error:
                if time.monotonic() > end:
                    raise RunFailed.from_os_error(
                        f"cannot remove the control group {group}", error
                    ) from error
                time.sleep(_PAUSE_S)
        return f"removed the control group {self.path}" if done else None


def _move(process: str, group: Path) -> None:
    try:
        (group / "cgroup.procs").write_text(process)
    except ProcessLookupError:
        return


class ChangedSetting(msgspec.Struct, frozen=True, tag="setting"):
    """A file of /proc/sys or /sys that was given another value."""

    path: str
    before: str
    wanted: str
    persists: ClassVar[bool] = False

    def undo(self) -> str | None:
        """Restore the earlier value, unless the setting is missing or another program has changed it since."""
        found = read_setting(Path(self.path))
        if found is None or found == self.before:
            return None
        if found != self.wanted:
            return f"left {self.path} at {found}: another program changed it from {self.wanted}"
        try:
            Path(self.path).write_text(self.before)
        except OSError as error:
            raise RunFailed.from_os_error(f"cannot set {self.path} back to {self.before}", error) from error
        return f"set {self.path} back to {self.before}"


class LockedDrive(msgspec.Struct, frozen=True, tag="password"):
    """An ATA drive with a security password, which an erase needs and which its end removes."""

    device: str
    password: str
    persists: ClassVar[bool] = True

    def undo(self) -> str | None:
        """Unlock the drive and take the password off, where it still has one."""
        output = call(self.device, "hdparm", "-I", self.device)
        words = [" ".join(line.split()) for line in output.splitlines()]
        if "enabled" not in words:
            return None
        if "locked" in words:
            call(self.device, "hdparm", "--user-master", "u", "--security-unlock", self.password, self.device)
        call(self.device, "hdparm", "--user-master", "u", "--security-disable", self.password, self.device)
        return f"took the security password off {self.device}"


Step = (
    MadeDirectory
    | AttachedLoop
    | MountedFileSystem
    | MountedDrive
    | MadeSocket
    | MadeGroup
    | ChangedSetting
    | LockedDrive
)
"""`persists`: whether what the step did outlives a restart of the machine."""


def read_setting(path: Path) -> str | None:
    """The value of a setting; of a choice such as "[none] mq-deadline" the one in brackets. None when it is missing."""
    try:
        text = decoded(path.read_bytes()).strip()
    except OSError:
        return None
    first, bracket, rest = text.partition("[")
    return rest.partition("]")[0] if bracket else first
