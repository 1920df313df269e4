"""Progress and outcome of a study: running, interrupted, failed, waiting for another part, finished.

Scope: what the journal and the folder's lock say at this moment;
and what is not as it was written: lines of the journal, the plan, the environment.
Of a journal with damaged or edited lines the other lines are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from mileage.model.caveat import Caveat, veto
from mileage.model.journal_entries import End, EnvironmentChange, FailedRun, PartEnd
from mileage.store.journal import JournalContent, skipped_runs
from mileage.store.study_folder import StudyFolder

State = Literal["finished", "running", "failed", "waiting", "interrupted"]


class Outcome(msgspec.Struct, frozen=True):
    """The state of a study. `missing` of `needed` runs are not there."""

    state: State
    needed: int
    missing: int
    edited: tuple[str, ...] = ()
    """Files or lines that were changed after they were written, each worded to follow "not conclusive because"."""
    reason: str = ""
    """The failure of a failed study, the remaining parts of a waiting one, the remaining time of a running one."""

    @property
    def caveats(self) -> list[Caveat]:
        """Reasons against a verdict; empty for a complete study."""
        found = []
        if self.state != "finished":
            found.append(self._state_caveat() if self.missing else veto("no-end"))
        if self.missing:
            found.append(veto("runs-missing", missing=self.missing, needed=self.needed))
        return found + [veto("edited", what=line) for line in self.edited]

    def _state_caveat(self) -> Caveat:
        key = _FIGURES.get(self.state)
        figures: dict[str, Any] = {} if key is None else {key: self.reason}
        return veto(self.state, **figures)


_LISTED = 3
_FIGURES = {"running": "left", "failed": "message", "waiting": "parts"}
"""What the reason of each state is."""


def outcome_of(
    folder: StudyFolder,
    content: JournalContent,
    runs_planned: int,
    parts: Sequence[str] = (),
    *,
    left: Callable[[], str] = lambda: "now",
) -> Outcome:
    """Whether a study is running, finished, interrupted or failed, from its journal; `parts`: of the plan.

    `left` says how long a running study will take, in words; it is asked of a running one only.
    """
    needed = runs_planned - skipped_runs(content)
    done = len({head.run for head in content.heads if head.kind == "run"})
    state: State = "finished"
    reason = ""
    if not content.of_kind(End):
        state = "interrupted"
        finished = {entry.part for entry in content.of_kind(PartEnd)}
        waiting = [name for name in parts if name and name not in finished]
        last = _last_word(content)
        if folder.is_locked():
            state, reason = "running", left()
        elif last is not None:
            state, reason = "failed", last
        elif finished and waiting:
            state, reason = "waiting", " and ".join(waiting)
    edited = edits(folder, content, running=state == "running")
    return Outcome(state, needed, max(needed - done, 0), tuple(edited), reason)


def edits(folder: StudyFolder, content: JournalContent, *, running: bool = False) -> list[str]:
    """Files or lines that were changed after they were written, each worded to follow "not conclusive because".

    While it runs, files are not compared.
    """
    found = content.problems
    if content.torn_bytes and content.of_kind(End):
        # Only after the end line: in an interrupted study half a line is normal.
        found.append(f"the journal has {content.torn_bytes:,} bytes after its last line")
    files = [] if running else [f"{name} {why}" for name, why in folder.changed_files(content).items()]
    more = len(files) - _LISTED
    return [
        *found,
        *files[:_LISTED],
        *([f"{more:,} more files are not as they were written"] if more > 0 else []),
    ]


def _last_word(content: JournalContent) -> str | None:
    """Reason why the last process stopped, if it was recorded and nothing was done since."""
    heads = content.heads
    at = next((at for at in range(len(heads) - 1, -1, -1) if heads[at].kind != "look"), None)
    if at is None:
        return None
    entry = content.entries[at]
    if isinstance(entry, FailedRun):
        return entry.message
    return "; ".join(entry.changes) if isinstance(entry, EnvironmentChange) else None
