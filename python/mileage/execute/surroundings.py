"""The machine around a study: looked at before and after every stage, and compared with how the study began.

What it models: the environment at the study's start, kept in its folder, is what every later one is compared with,
also by a process that goes on after a crash. A change of what the figures depend on (kernel, firmware, scheduler,
mount, memory) ends the study on a real target, unless the change was accepted; every other change of a stable key is
noted, a new boot among them. Simulated time depends on no machine, so there every change is only noted.
What it refuses: going on after such a change without being told; the message says what changed, from what to what.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from mileage.errors import RunFailed
from mileage.record import Journal, StudyFolder
from mileage.record.environment import diff, key_of, raw_snapshot, snapshot, weighty
from mileage.target import Target
from mileage.target.guard import ROOT

HOST: Path = ROOT
"""Where /proc, /sys and /etc of the machine are looked for; the one seam through which tests change the machine."""
START = "start"
"""Name of the snapshot that all others are compared with; each session (each set of labels) has one."""


class Surroundings:
    """Snapshots of one study; safe to use from several threads."""

    def __init__(
        self, folder: StudyFolder, journal: Journal, *, marks: bool, tell: Callable[[str], None]
    ) -> None:
        """`marks`: a change is noted and never ends the study. `tell` says something to the user."""
        self._folder = folder
        self._journal = journal
        self._marks = marks
        self._tell = tell
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._starts: dict[str, dict[str, str]] = {}

    def accept(self, open_target: Callable[[], Target], session: str) -> None:
        """Take the machine as it is now for that of a session, and journal what that changed."""
        with self._lock:
            now = snapshot(open_target().place, root=HOST)
            before = self._folder.load_environment(_start(session)) or now
            self._journal.append({"kind": "accepted", "session": session, "changes": diff(before, now)})
            self._folder.save_environment(_start(session), now)
            self._starts[session] = now

    def before(self, target: Target, stage: str, session: str = "") -> None:
        """Look before a stage. `session` is the labels at which it is done.

        Raises:
            RunFailed: the machine changed in a way that makes runs before and after incomparable.
        """
        with self._lock:
            now = snapshot(target.place, root=HOST)
            self._folder.save_environment(stage, now)
            self._folder.save_raw_environment(stage, raw_snapshot(target.place, root=HOST))
            start = self._starts.get(session) or self._folder.load_environment(_start(session))
            if start is None:
                start = now
                self._folder.save_environment(_start(session), now)
            self._starts[session] = start
        self._weigh(target, f"before {stage}", start, now)

    def after(self, target: Target, stage: str, session: str = "") -> None:
        """Look after a stage: device counters have moved on, nothing else should have. Raises as `before`."""
        if target.is_virtual:
            return
        with self._lock:
            now = snapshot(target.place, root=HOST)
            self._folder.save_environment(f"{stage}.after", now)
            start = self._starts.get(session, now)
        self._weigh(target, f"during {stage}", start, now)

    def _weigh(self, target: Target, when: str, start: dict[str, str], now: dict[str, str]) -> None:
        changes = diff(start, now)
        grave = [line for line in changes if weighty(key_of(line), start, now)]
        for change in changes:
            if change not in self._told:
                self._told.add(change)
                self._tell(f"environment changed {when}: {change}")
        if not grave or target.is_virtual or self._marks:
            return
        self._journal.append({"kind": "environment", "when": when, "changes": grave})
        raise RunFailed(
            f"the study stops: {'; '.join(grave)} (seen {when}); what was measured before and after would not be "
            "comparable. Undo the change and resume, or resume with --accept-change, which the report tells",
            cause="environment",
        )


def _start(session: str) -> str:
    """The name of a session's first snapshot."""
    return f"{START}-{session.replace('/', '_')}" if session else START
