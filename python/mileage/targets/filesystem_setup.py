"""A file system that Mileage makes on a device, and a work file in it.

Scope: a cycle's start: the device emptied, the file system made and mounted, its options read back from the
kernel; then everything that a directory target does. Steps stand in the ledger and are undone on the way out.
What it refuses: a mount whose options the kernel did not take.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mileage.errors import Refused, RunFailed
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import capabilities_of
from mileage.plan.filesystems import LABEL_PREFIX, SAFE_MOUNT, FileSystem
from mileage.plan.initial_state import FillState
from mileage.targets.aging import age, fill
from mileage.targets.device_identity import alignment_of, identity_of, may_take_steps
from mileage.targets.devices import Device, GivenDevice, LoopDevice, MadeDevice
from mileage.targets.directory import DirectoryTarget, work_file_name
from mileage.targets.file_identity import FileIdentity, held_device
from mileage.targets.filesystem import memory_bytes
from mileage.targets.guard import ROOT
from mileage.targets.ledger import Ledger
from mileage.targets.loop import served_device
from mileage.targets.mounts import read_mounts
from mileage.targets.privileged_steps import MadeDirectory, MountedFileSystem
from mileage.targets.programs import call, find_program, missing
from mileage.targets.spec import TargetSpec
from mileage.targets.target_interface import OpenOptions, Target
from mileage.targets.workfile import read_mark

MOUNTS = Path("/run/mileage")
"""Parent directory of the mount points of file systems made by Mileage, each named by its plan's hash."""
_USABLE_PERCENT = {"ext3": 88, "ext4": 88, "xfs": 88, "btrfs": 75}
"""Approximate percentage of a new file system of 1 GiB or more that files can use.

The exact value is known after mkfs.
"""
_USED_BYTES = 64 << 20


class PlacedTarget(Target):
    """A new file system on a device. The path is known before anything is made; it exists once prepared."""

    def __init__(
        self,
        spec: TargetSpec,
        device: Device,
        made: FileSystem,
        plan_hash: str,
        *,
        used: FillState | None = None,
        root: Path = ROOT,
    ) -> None:
        super().__init__(spec)
        self._device = device
        self._made = made
        self._hash = plan_hash
        self._root = root
        self._mount_point = MOUNTS / plan_hash[:8]
        self._label = f"{LABEL_PREFIX}{plan_hash[:8]}"
        self._ledger = Ledger()
        self._inner: DirectoryTarget | None = None
        self._wanted = (0, 0, 0)
        self._used = used
        self._is_new = False
        for program in (f"mkfs.{made.kind}", "mount", "umount"):
            if find_program(program) is None:
                raise Refused(spec, missing(program), code="needs-program")

    @classmethod
    def as_asked(cls, spec: TargetSpec, how: OpenOptions) -> PlacedTarget:
        assert how.made is not None
        device: Device
        if capabilities_of(spec.scheme).is_served:
            device = served_device(spec, how)
        elif capabilities_of(spec.scheme).is_made:
            device = LoopDevice(spec, how.plan_hash, how.settings, root=how.root)
        else:
            device = GivenDevice(spec, how.settings, destroy=how.destroy, purge=how.purge, root=how.root)
        return cls(spec, device, how.made, how.plan_hash, used=how.used, root=how.root)

    @property
    def path(self) -> Path:
        return self._mount_point / work_file_name(self._hash)

    @property
    def paths(self) -> tuple[Path, ...]:
        return self._inner.paths if self._inner is not None else (self.path,)

    @property
    def identities(self) -> tuple[FileIdentity, ...]:
        return self._inner.identities if self._inner is not None else ()

    @property
    def place(self) -> Path:
        return self._mount_point

    @property
    def place_identity(self) -> FileIdentity | None:
        return self._inner.place_identity if self._inner is not None else None

    def claim(self) -> None:
        self._device.claim()

    def facts(self) -> TargetFacts:
        capacity = self._device.size_bytes * _USABLE_PERCENT[self._made.kind] // 100
        inner = None if self._inner is None else self._inner.facts()
        if inner is not None:
            free = inner.free_bytes
        else:
            free = capacity - min(_USED_BYTES, self._device.size_bytes // 8)
            free -= int(capacity * self._used.percent / 100) if self._used is not None else 0
            if isinstance(self._device, MadeDevice):
                free = min(free, self._device.free_bytes)
        return TargetFacts(
            kind="dir",
            name=self.spec.name,
            capacity_bytes=capacity,
            free_bytes=free,
            free_files=None if inner is None else inner.free_files,
            file_block_bytes=1 if inner is None else inner.file_block_bytes,
            memory_bytes=memory_bytes(self._root),
            block_bytes=self._device.block_bytes,
            host_layer=True,
            privileged=may_take_steps(),
            device_bytes=self._device.size_bytes,
            identity=self._device.stated_identity or identity_of(self._device.path, root=self._root),
            alignment=alignment_of(self._device.path, root=self._root),
        )

    def recent_lateness(self) -> Mapping[str, int]:
        return self._device.recent_lateness()

    def drive_counters(self) -> Mapping[str, int]:
        return self._device.drive_counters()

    def resumes(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> bool:
        """Whether the work files of this plan are still on the device, which is mounted for that."""
        if self._inner is not None:
            return self._inner.resumes(work_bytes, files, file_bytes)
        try:
            path = self._device.attach(self._ledger)
            if self._label_on(path) != self._label:
                return False
            self._mount(path)
        except RunFailed:
            return False
        if read_mark(self.path, self._hash) != "made":
            return False
        self._inner = self._directory()
        return self._inner.resumes(work_bytes, files, file_bytes)

    def prepare(self, work_bytes: int, files: int = 0, file_bytes: int = 0) -> str:
        self._wanted = (work_bytes, files, file_bytes)
        summary = ""
        if not self._is_mounted():
            summary = self._make() + "; "
            self._is_new = True
        if self._inner is None:
            self._inner = self._directory()
        return summary + self._inner.prepare(work_bytes, files, file_bytes)

    def make_files(self, count: int, file_bytes: int) -> None:
        if self._inner is None:
            raise RuntimeError("prepare must come before make_files")
        self._inner.make_files(count, file_bytes)

    def remove_files(self) -> None:
        if self._inner is not None:
            self._inner.remove_files()

    def purge(self) -> str:
        if self._is_new:
            self._is_new = False
            return "nothing to purge: it was made just now"
        self._unmount()
        summary = self._make()
        self._inner = self._directory()
        return f"{summary}; {self._inner.prepare(*self._wanted)}"

    def trim(self) -> str:
        if self._inner is not None:
            self._inner.check_place()
        output = call(str(self.spec), "fstrim", "--verbose", str(self._mount_point))
        return f"fstrim {output.strip()}"

    def remount(self) -> str:
        self._unmount()
        device = self._device.attach(self._ledger)
        with held_device(str(self.spec), device, self._device.identity):
            self._mount(device)
        self._inner = self._directory()
        self._inner.prepare(*self._wanted)
        return f"mounted {self._mount_point} again"

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()
            self._inner = None
        self._ledger.undo_all()
        self._device.detach(self._ledger)
        self._device.close()

    def cleanup(self) -> None:
        try:
            if self._inner is not None:
                self._inner.cleanup()
                self._inner = None
        finally:
            self._ledger.undo_all()
            self._device.detach(self._ledger)
            self._device.remove()

    def _directory(self) -> DirectoryTarget:
        inner = DirectoryTarget(TargetSpec("dir", str(self._mount_point)), self._hash, root=self._root)
        inner.claim()
        return inner

    def _make(self) -> str:
        """Empty the device, make the file system and mount it; says in words what was done."""
        summary = self._device.empty(self._ledger)
        path = self._device.attach(self._ledger)
        made = self._made
        with held_device(str(self.spec), path, self._device.identity):
            call(str(self.spec), f"mkfs.{made.kind}", *made.mkfs, "-L", self._label, str(path))
            self._mount(path)
        summary = f"{summary}; made {made.kind} on it and mounted it at {self._mount_point}"
        if self._used is None:
            return summary
        percent = self._used.percent
        if self._used.how == "fill":
            return f"{summary}; {fill(self._mount_point, percent)}"
        return f"{summary}; {age(self._mount_point, percent, self._used.seed)}"

    def _mount(self, device: Path) -> None:
        place = self._mount_point
        if any(mount.mount_point == str(place) for mount in read_mounts(self._root)):
            raise Refused(
                self.spec,
                f"something is mounted at {place} already",
                advice="if no other study is running, undo it with mileage doctor --repair",
                code="in-use",
            )
        self._ledger.take(
            MadeDirectory(str(place)), lambda: place.mkdir(mode=0o700, parents=True, exist_ok=True)
        )
        options = ",".join((*SAFE_MOUNT, *self._made.mount))
        what, kind = str(self.spec), self._made.kind
        self._ledger.take(
            MountedFileSystem(str(device), str(place)),
            lambda: call(what, "mount", "-t", kind, "-o", options, str(device), str(place)),
        )
        self._check_options()

    def _check_options(self) -> None:
        """Verify in /proc/self/mountinfo that the mount has the requested options. Raises Refused if not."""
        mount = next(m for m in reversed(read_mounts(self._root)) if m.mount_point == str(self._mount_point))
        shown = {*mount.all_options}
        for option in self._made.mount:
            if not holds(option, shown):
                raise Refused(
                    self.spec,
                    f"mounted with {option}, but the kernel shows {','.join(sorted(shown))}",
                    advice="this kernel does not honour the option: leave it out",
                    code="unsupported",
                )

    def _unmount(self) -> None:
        if self._inner is not None:
            self._inner.close()
            self._inner = None
        place = str(self._mount_point)
        for step in reversed(self._ledger.steps):
            # A served drive has a directory of its own, which stays.
            is_mount = isinstance(step, MountedFileSystem) and step.place == place
            if is_mount or step == MadeDirectory(place):
                self._ledger.undo(step)

    def _is_mounted(self) -> bool:
        return any(isinstance(step, MountedFileSystem) for step in self._ledger.steps)

    def _label_on(self, device: Path) -> str:
        try:
            return call(str(self.spec), "blkid", "-p", "-s", "LABEL", "-o", "value", str(device)).strip()
        except RunFailed:
            return ""


_SILENT = {
    "barrier": ("nobarrier", "barrier=0"),
    "barrier=1": ("nobarrier", "barrier=0"),
    "nodiscard": ("discard", "discard=async"),
    "delalloc": ("nodelalloc",),
    "datacow": ("nodatacow",),
    "datasum": ("nodatasum",),
    "treelog": ("notreelog",),
    "relatime": ("noatime", "strictatime"),
    "strictatime": ("noatime", "relatime"),
    "auto_da_alloc": ("noauto_da_alloc",),
    "noautodefrag": ("autodefrag",),
    "noflushoncommit": ("flushoncommit",),
    "nolazytime": ("lazytime",),
    "init_itable": ("noinit_itable",),
    "dioread_nolock": ("dioread_lock",),
    "inode64": ("inode32",),
    "noikeep": ("ikeep",),
    "nolargeio": ("largeio",),
}
"""Options that are the default, which the kernel shows by not showing their opposites."""
_ALSO = {"nobarrier": ("barrier=0", "nobarrier"), "barrier=0": ("nobarrier", "barrier=0")}
"""Options that the kernel shows by another name."""
_UNSHOWN = ("ssd", "nossd", "commit=", "data=", "stripe=", "noload", "sunit=", "swidth=", "space_cache=")


def holds(option: str, shown: set[str]) -> bool:
    """Whether the mount options reported by the kernel show that this option is in force."""
    if option in shown or any(other in shown for other in _ALSO.get(option, ())):
        return True
    if option in _SILENT:
        return not any(opposite in shown for opposite in _SILENT[option])
    word = option.partition("=")[0]
    if "=" in option:
        # The kernel shows values in its own units ("64k" as "65536") and a compression with its level: compare
        # normalised values.
        return any(found == word or found.startswith(f"{word}=") for found in shown) or option.startswith(
            _UNSHOWN
        )
    return any(found.startswith(f"{word}=") for found in shown)
