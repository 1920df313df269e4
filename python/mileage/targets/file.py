"""`file:PATH`: one file that the user names.

Scope: a file target where the user chose. A missing file is made and removed at the end;
a file that is there is taken over in place (keeping owner, mode, attributes) and left empty at the end.
What it refuses: a file with content, unless `--destroy PATH` names it exactly or the same plan left it there;
symbolic links, devices, pipes and directories by name; files that are swap, back a loop device or are mounted
over; places where no file can be made.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.model.target_facts import TargetFacts
from mileage.targets.directory import PURGED_FILE, file_facts, refuse_unwritable_directory
from mileage.targets.door import marks
from mileage.targets.file_identity import FileIdentity
from mileage.targets.filesystem import probe_direct
from mileage.targets.guard import ADVICE, ROOT, block_device_refusal, kind_of, refuse_file_in_use, users_of
from mileage.targets.mounts import mount_of, read_mounts
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target
from mileage.targets.workfile import Origin, WorkFile, is_work_file, read_mark


class FileTarget(Target):
    """Target for a single named file.

    `destroy` is the path whose content the user gave up, exactly as in the target.
    """

    stands = True

    def __init__(
        self, spec: TargetSpec, plan_hash: str, *, destroy: str | None = None, root: Path = ROOT
    ) -> None:
        super().__init__(spec)
        self._root = root
        named = Path(spec.name)
        status = guard_file(spec, destroy=destroy, plan_hash=plan_hash, root=root)
        path = named.parent.resolve() / named.name
        origin: Origin = "made"
        if status is not None:
            origin = read_mark(path, plan_hash) or "taken"
        self._file = WorkFile(str(spec), path, plan_hash=plan_hash, origin=origin)
        self._found = None if status is None else FileIdentity.of_status(status)
        """Identity of an existing file at the path; it becomes the work file."""
        self._direct_supported: bool | None = None

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> FileTarget:
        return cls(spec, how.plan_hash, destroy=how.destroy, root=how.root)

    @classmethod
    def guarded(cls, spec: TargetSpec, destroy: str | None, root: Path) -> Path:
        guard_file(spec, destroy=destroy, plan_hash=None, root=root)
        return Path(spec.name).parent.resolve()

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return (self._file.identity,)

    @property
    def place(self) -> Path:
        return self._file.path.parent

    @property
    def place_identity(self) -> FileIdentity:
        return self._file.parent_identity

    def claim(self) -> None:
        if self._found is not None:
            self._file.claim(self._found)
        self._direct_supported = probe_direct(self.path.parent)

    def facts(self) -> TargetFacts:
        return file_facts(self.spec, self._file, direct_supported=self._direct_supported, root=self._root)

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        return self._file.is_whole(work_bytes)

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        if files:
            raise Refused(
                self.spec,
                f'files = "per_thread" needs a directory, in which {files} files can be made',
                advice="use dir:",
                code="needs-files",
            )
        return self._file.prepare(work_bytes)

    def purge(self) -> str:
        self._file.renew()
        return f"gave {self.path} fresh blocks; {PURGED_FILE}"

    def close(self) -> None:
        self._file.close()

    def cleanup(self) -> None:
        self._file.discard()


def guard_file(
    spec: TargetSpec, *, destroy: str | None, plan_hash: str | None, root: Path = ROOT
) -> os.stat_result | None:
    """Refuse a path that must not be written. Returns the status of the file, None when there is none."""
    path = Path(spec.name)
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        refuse_unwritable_directory(str(spec), path.parent)
        return None
    except OSError as error:
        raise Refused(spec, f"cannot be looked at: {error.strerror}", code="unreadable") from error
    try:
        status = os.fstat(descriptor)
        _refuse_kind(spec, path, status, root)
        is_given_up = destroy == spec.name or (
            plan_hash is not None and read_mark(path, plan_hash) is not None
        )
        refuse_file(
            str(spec), path, descriptor, is_given_up=is_given_up or is_of_mileage(descriptor), root=root
        )
        return status
    finally:
        os.close(descriptor)


def refuse_file(text: str, path: Path, descriptor: int, *, is_given_up: bool, root: Path = ROOT) -> None:
    """Refuse to write to a regular file that is open (O_PATH): in use, read-only, or with content that is not given up.

    `text` is the file in the user's words. Raises Refused.
    """
    status = os.fstat(descriptor)
    # Ask only the open descriptor from here on, because the path may change its meaning.
    here = Path(f"/proc/self/fd/{descriptor}")
    refuse_file_in_use(text, here, root=root)
    _refuse_written(text, here, root)
    _refuse_unwritable(text, here, status)
    if status.st_size > 0 and status.st_nlink > 1:
        raise Refused(
            text,
            f"the file has {status.st_nlink - 1} other name{'s' if status.st_nlink > 2 else ''} (hard "
            "links), under which its content would be lost too",
            advice="name a file of its own",
            code="needs-destroy",
        )
    if status.st_size > 0 and not is_given_up:
        raise Refused(
            text,
            f"the file holds {status.st_size} bytes, which would be lost",
            advice=f"to allow their loss add --destroy {path}",
            code="needs-destroy",
        )


def is_of_mileage(descriptor: int) -> bool:
    """Whether Mileage made a file that is open (O_PATH), and nothing has changed it since."""
    try:
        readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        mark = marks.read_mark(readable)
        return mark is not None and mark.role == marks.WORK
    finally:
        os.close(readable)


def _refuse_kind(spec: TargetSpec, path: Path, status: os.stat_result, root: Path) -> None:
    """Refuse what is no regular file, with a hint."""
    if path.is_block_device():
        free = Refused(spec, "this is a block device", advice=f"use block:{spec.name}", code="wrong-kind")
        raise block_device_refusal(str(spec), path, root=root) or free
    if stat.S_ISLNK(status.st_mode):
        raise Refused(
            spec,
            f"a symbolic link to {os.path.realpath(path)}",
            advice="name that file itself",
            code="wrong-kind",
        )
    if not stat.S_ISREG(status.st_mode):
        hint = "; use dir: for it" if stat.S_ISDIR(status.st_mode) else ""
        raise Refused(spec, f"{kind_of(status.st_mode)}, not a regular file{hint}", code="wrong-kind")


def _refuse_written(text: str, path: Path, root: Path) -> None:
    """Refuse a file that something else has open for writing. A work file is locked instead."""
    real = os.path.realpath(path)
    mount = mount_of(Path(real), read_mounts(root))
    if mount is None or mount.fs_type not in LOCAL or is_work_file(Path(real)):
        return
    if is_open_for_writing(path):
        users = users_of(real, root=root) or "the kernel, or a program in another container"
        raise Refused(text, f"in use: open for writing in {users}. {ADVICE}", code="in-use")


def _refuse_unwritable(text: str, path: Path, status: os.stat_result) -> None:
    """Refuse a file that is read-only by its mount or mode, for root too."""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise Refused(
            text, "on a file system mounted read-only", advice="mount it writable", code="unwritable"
        )
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK, effective_ids=True):
        raise Refused(
            text,
            f"the file is read-only (mode {stat.S_IMODE(status.st_mode):04o})",
            advice="chmod u+w it",
            code="unwritable",
        )


# Detect whether any process or kernel driver has a file open for writing, as the kernel counts it.
# Scope: a read lease of fcntl(2), which the kernel grants only while nothing has the file open for writing. It
# sees what no table of paths shows: the server of a network block device, a SCSI or NVMe target over a file, the bitmap
# file of an md array, a virtual machine; through whatever name, mount or container they opened it.
# What it refuses: to conclude anything where leases are not the kernel's own: on network file systems, and where this
# process may take none.

LOCAL: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "bcachefs", "overlay"})
"""File systems that grant leases by the kernel's own counts."""


def is_open_for_writing(path: Path) -> bool:
    """Whether anything has a regular file open for writing; False where that cannot be known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # The kernel signals the holder of the lease when another program opens the file: use a signal that is ignored
        # by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False
