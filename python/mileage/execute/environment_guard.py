"""Environment guard: a snapshot before and after every stage, compared with the snapshot at the study's start.

Scope: the first snapshot is kept in the study folder; resume compares with it too. On a real target, a change
of a key that figures depend on (kernel, firmware, scheduler, mount, memory) ends the study, unless the user accepts the
change. Every other change of a stable key, such as a reboot, is noted. Simulated time does not depend on the machine,
so for virtual drives every change is only noted. A temporary study folder gets no snapshots, and its machine is not
asked for what is only recorded: versions of programs, the drive's answers, the condition of the file system.
What it refuses: to resume after such a change without the user's consent; the message gives the old and new values.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from mileage.errors import RunFailed
from mileage.model.journal_entries import AcceptedChange, EnvironmentChange
from mileage.plan import Plan
from mileage.plan.factors import key_of as key_of_factor
from mileage.store import Journal, StudyFolder
from mileage.store.drive_health import health
from mileage.store.environment import (
    NOTE_PREFIX,
    diff,
    disk_of,
    key_of,
    program_versions,
    raw_snapshot,
    snapshot,
    weighty,
)
from mileage.store.study_folder import encoded, environment_file
from mileage.targets import Target
from mileage.targets.filesystem_condition import condition_of
from mileage.targets.guard import ROOT

HOST: Path = ROOT
"""Where /proc, /sys and /etc of the machine are looked for; the one seam through which tests change the machine."""
START = "start"
"""Name of the snapshot that all others are compared with; each part (each set of labels) has one."""


class EnvironmentGuard:
    """Snapshots of the machine's environment during one study; safe to use from several threads."""

    def __init__(
        self,
        folder: StudyFolder,
        journal: Journal,
        *,
        marks: bool,
        accepts: bool,
        own: frozenset[str],
        notes: Mapping[str, str],
        print_line: Callable[[str], None],
    ) -> None:
        """Takes no snapshot yet.

        `marks`: a change never ends the study. `accepts`: the present machine becomes the reference from here on.
        `own`: keys that the study changes itself. `notes`: what the study states of the machine.
        `print_line` prints a line for the user.
        """
        self._accepts = accepts
        self._own = own
        self._notes = {f"{NOTE_PREFIX}{name}": text for name, text in notes.items()}
        self._folder = folder
        self._journal = journal
        self._marks = marks
        self._print_line = print_line
        self._lock = threading.Lock()
        self._reported: set[str] = set()
        self._starts: dict[str, dict[str, str]] = {}

    def before(self, target: Target, stage: str, part: str = "") -> None:
        """Look before a stage. `part` is the labels at which it is done.

        Raises:
            RunFailed: the machine changed in a way that makes runs before and after incomparable.
        """
        with self._lock:
            now, files = self._look(target, stage)
            start = self._starts.get(part) or self._kept(start_name(part))
            if start is not None and self._accepts and part not in self._starts:
                self._journal.append(_accepted(part, start, now))
                start = None
            if start is None:
                start = now
                files[environment_file(start_name(part))] = encoded(now)
            self._save(files)
            self._starts[part] = start
        self._weigh(target, f"before {stage}", start, now)

    def expect(self, target: Target, stage: str, part: str = "") -> None:
        """Look before a target is prepared for a stage: what changed may be where its content is to be written again.

        Keeps nothing. Raises as `before`.
        """
        if not target.stands or (self._accepts and part not in self._starts):
            return
        with self._lock:
            start = self._starts.get(part) or self._kept(start_name(part))
        if start is not None:
            now = snapshot(target.place, root=HOST)
            # Use only facts of a plain snapshot: querying a drive may wake it, or take seconds before each stage.
            self._weigh(target, f"before {stage}", {key: start[key] for key in start if key in now}, now)

    def after(self, target: Target, stage: str, part: str = "") -> None:
        """Look after a stage: device counters have moved on, nothing else should have. Raises as `before`."""
        if target.is_virtual:
            return
        with self._lock:
            now, files = self._look(target, f"{stage}.after")
            self._save(files)
            start = self._starts.get(part, now)
        self._weigh(target, f"during {stage}", start, now)

    def _kept(self, name: str) -> dict[str, str] | None:
        """Load a saved environment snapshot; None when its process was killed before it was recorded."""
        if self._journal.is_sealed and environment_file(name) not in self._journal.files:
            return None
        return self._folder.load_environment(name)

    def _look(self, target: Target, name: str) -> tuple[dict[str, str], dict[str, bytes]]:
        """A snapshot, of a real target with what its drive says of itself, and the files that keep it and its texts."""
        now = {**snapshot(target.place, root=HOST), **self._notes}
        files = {}
        if not target.is_virtual and not self._folder.is_temporary:
            disk = disk_of(target.place, root=HOST)
            facts, answers = health(disk)
            now = {**now, **program_versions(), **facts, **condition_of(target, root=HOST)}
            files[environment_file(f"raw/{name}")] = encoded({**raw_snapshot(disk, root=HOST), **answers})
        files[environment_file(name)] = encoded(now)
        return now, files

    def _save(self, files: dict[str, bytes]) -> None:
        """Keep the files of a snapshot in the study folder, unless the folder is removed with them."""
        if not self._folder.is_temporary:
            self._folder.save_sealed(self._journal, files)

    def _weigh(self, target: Target, when: str, start: dict[str, str], now: dict[str, str]) -> None:
        changes = diff(start, now)
        grave = [
            line for line in changes if weighty(key_of(line), start, now) and key_of(line) not in self._own
        ]
        for change in changes:
            if change not in self._reported:
                self._reported.add(change)
                self._print_line(f"environment changed {when}: {change}")
        if not grave or target.is_virtual or self._marks:
            return
        self._journal.append(EnvironmentChange(when=when, changes=grave))
        raise RunFailed(
            f"the study stops: {'; '.join(grave)} (seen {when}); what was measured before and after would not be "
            "comparable. Undo the change and resume, or resume with --accept-change, which the report states",
            cause="environment",
        )


def _accepted(part: str, before: dict[str, str], after: dict[str, str]) -> AcceptedChange:
    """The journal's entry of an accepted change. The first snapshot is replaced: what it said is kept here."""
    lines = diff(before, after)
    changed = [key_of(line) for line in lines]
    was, now = ({key: found[key] for key in changed if key in found} for found in (before, after))
    return AcceptedChange(part=part, changes=lines, was=was, now=now)


def start_name(part: str) -> str:
    """The name of a part's first snapshot."""
    return f"{START}-{part.replace('/', '_')}" if part else START


_CHANGED_BY: Final = {
    "cache": ("memory.limit_bytes",),
    "memory": ("memory.limit_bytes", "memory.total_bytes"),
    "scheduler": ("target.scheduler",),
    "governor": ("cpu.governor",),
    "read_ahead": ("target.read_ahead_kb",),
    "mount": ("target.mount_options",),
    "mkfs": ("target.journal_bytes", "target.inodes"),
    "filesystem": ("target.fs_type", "target.mount_options", "target.source"),
}
"""Keys of the environment that a factor changes, by its name or key."""


def changed_by(plan: Plan) -> frozenset[str]:
    """Keys of the environment that a study itself changes while it runs."""
    keys = {key_of_factor(name, factor) for name, factor in plan.study.factor.items()}
    return frozenset(changed for key in keys for changed in _CHANGED_BY.get(key, ()))
