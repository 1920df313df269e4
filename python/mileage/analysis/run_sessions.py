"""In which session each run of a study was measured.

A session is one visit to a target: the starts of Mileage or of another tool on one boot of a machine, less than six
hours apart, unless the study says otherwise. Stages of one study are not two sessions.

Scope: own studies by the boot in the snapshots of their stages and the times of their runs; imports by what the file or
the user calls the session, else by the dates in the files, else the whole import is one. Two imports are never one
session unless they are called so, since no tool records the boot. Simulated time has no sessions.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from mileage.execute.cycle import stage_name
from mileage.model.journal_entries import Run, SourceFile
from mileage.plan import Plan
from mileage.plan.planned_runs import PlannedRun
from mileage.store.journal import JournalContent

GAP_S: Final = 6 * 3600.0
"""Seconds without a run after which another session begins."""
VISIT_S: Final = 24 * 3600.0
"""Seconds in which sessions on one boot are one stretch of time, whatever they are called."""
_DATED_FROM_S: Final = 1e8


class RunSession(msgspec.Struct, frozen=True, order=True):
    """A session: where it was (a boot, or an import), and from when to when, or the name that the user gave it.

    Times are in seconds since 1970; of an import without dates they are its place in the file.
    """

    place: str
    began_s: float = 0.0
    ended_s: float = 0.0
    name: str = ""
    boot: str = ""
    """The boot, with the machine, where it is known."""

    @property
    def is_dated(self) -> bool:
        """Whether its date is known."""
        return self.began_s > _DATED_FROM_S


def sessions_of(
    plan: Plan, content: JournalContent, saved: Mapping[str, Mapping[str, str]]
) -> dict[int, RunSession]:
    """The session of each run by its number; empty in simulated time. `saved`: the snapshots of a study by name."""
    if plan.virtual:
        return {}
    if plan.imported is not None:
        return _of_import(plan, content)
    return _of_study(plan, content.of_kind(Run), saved)


def numbered(sessions: Iterable[RunSession]) -> dict[RunSession, int]:
    """The number of each session, from 1 in the order of their times; those that are one have one number."""
    found: dict[RunSession, int] = {}
    last: dict[str, RunSession] = {}
    number = 0
    for session in sorted(set(sessions), key=lambda one: (one.began_s, one.place)):
        before = last.get(session.place)
        one = before is not None and (session.name or session.began_s - before.ended_s <= GAP_S)
        if before is not None and one:
            found[session] = found[before]
        else:
            number += 1
            found[session] = number
        if before is None or not one or session.ended_s > before.ended_s:
            last[session.place] = session
            found[session] = found.get(session, number)
    return found


def visit_s(sessions: Iterable[RunSession]) -> float | None:
    """The seconds over which all of some sessions were measured, where that was on one boot within a day; else None."""
    found = list(sessions)
    boots = {session.boot for session in found}
    if len(boots) != 1 or "" in boots:
        return None
    span_s = max(one.ended_s for one in found) - min(one.began_s for one in found)
    return span_s if span_s <= VISIT_S else None


def _of_study(
    plan: Plan, runs: Sequence[Run], saved: Mapping[str, Mapping[str, str]]
) -> dict[int, RunSession]:
    planned = {run.index: run for run in plan.runs}
    times = sorted(
        (began, ended, run.run)
        for run in runs
        if (began := _seconds(run.started)) is not None and (ended := _seconds(run.finished)) is not None
    )
    clusters: list[tuple[str, list[tuple[float, float, int]]]] = []
    for began, ended, number in times:
        boot = _boot(planned.get(number), saved)
        last = clusters[-1] if clusters else None
        if last is not None and boot in ("", last[0]) and began - max(e for _, e, _ in last[1]) <= GAP_S:
            last[1].append((began, ended, number))
        else:
            clusters.append((boot, [(began, ended, number)]))
    found = {}
    for boot, own in clusters:
        name = plan.study.session
        session = RunSession(
            # A boot that is not known is no other one.
            f"named {name}" if name else f"boot {boot}" if boot else f"plan {plan.hash} at {own[0][0]}",
            min(began for began, _, _ in own),
            max(ended for _, ended, _ in own),
            name,
            boot,
        )
        found.update({number: session for _, _, number in own})
    return found


def _boot(run: PlannedRun | None, saved: Mapping[str, Mapping[str, str]]) -> str:
    """The boot of the stage of a run, with the machine; empty where no snapshot says it."""
    found = {} if run is None else saved.get(stage_name(run), {})
    boot = found.get("kernel.boot_id", "")
    return f"{found.get('host.hash', '')} {boot}" if boot else ""


def _of_import(plan: Plan, content: JournalContent) -> dict[int, RunSession]:
    dates = {file.path: _seconds(file.began_at) for file in content.of_kind(SourceFile)}
    found: dict[int, RunSession] = {}
    named: dict[str, int] = {}
    for run in content.imported_runs():
        name = run.session_name or plan.study.session
        at = dates.get(run.record.file)
        if name:
            began = float(named.setdefault(name, len(named))) if at is None else at
            found[run.run] = RunSession(f"named {name}", began, began, name)
        elif at is not None:
            found[run.run] = RunSession(
                f"import {plan.hash}", at, at + (run.record.reported.elapsed_s or 0.0)
            )
        else:
            found[run.run] = RunSession(f"import {plan.hash} without dates")
    return found


def _seconds(text: str | None) -> float | None:
    """A date of ISO 8601 in seconds; None for what is none."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return when.timestamp() if when.tzinfo else float(calendar.timegm(when.timetuple()))
