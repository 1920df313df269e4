"""Doing a plan on its target: look at the target, check with the core, run, clean up.

Where `plan`, `targets`, `store` and `execute` meet, without the judgement: what needs no verdict need not load it.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec

from mileage.errors import Interrupted, Refused
from mileage.execute.progress import Progress
from mileage.execute.signals import count_signals, raise_on_signals
from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan, Setting, Study, TargetFacts, TraceFile, places_of, trace_paths
from mileage.plan.external_program import Program
from mileage.plan.faults import Faults
from mileage.plan.initial_state import check_state, file_system, settings_of_device, used
from mileage.plan.pattern import PatternTable, pattern_word
from mileage.plan.study import Repeat, State
from mileage.store.study_folder import StudyFolder
from mileage.targets.target_interface import Target
from mileage.targets.target_kinds import open_target

if TYPE_CHECKING:
    from mileage.execute.concurrent_cycles import CyclePool
    from mileage.execute.stop_rules import Rules

_PROVISIONAL_HASH = "0" * 16


def facts_of_all(study: Study, destroy: str | None, resumed: Plan | None = None) -> dict[str, TargetFacts]:
    """Inspect every target of a study, in order. `resumed`: the plan whose work files are there already."""
    hashes = {} if resumed is None else {s.place: _hash_at(resumed, s) for s in resumed.settings}
    return {
        place: _with_named_files(
            study,
            _open(setting.target, hashes.get(place, _PROVISIONAL_HASH), destroy, setting.state, probe=True),
        )
        for place, setting in places_of(study).items()
    }


def _with_named_files(study: Study, target: Target) -> TargetFacts:
    """Facts of a target. Files that a study names and that are there already count as free: runs write them again."""
    facts, place = target.facts(), target.place
    switches = [table.iozone for table in study.measure.values() if table.iozone is not None]
    names = {name for each in switches for name in (each.name, *each.files) if name is not None}
    if place is None or not names:
        return facts
    found = [path.lstat() for name in names if os.path.lexists(path := place / name)]
    return msgspec.structs.replace(
        facts,
        free_bytes=facts.free_bytes + sum(status.st_blocks * 512 for status in found),
        free_files=None if facts.free_files is None else facts.free_files + len(found),
    )


def facts_of(
    target: str, destroy: str | None, *, state: State, plan_hash: str = _PROVISIONAL_HASH
) -> TargetFacts:
    """Look at a target; the guards run, nothing is opened for writing and nothing is made."""
    return _open(target, plan_hash, destroy, state, probe=True).facts()


def _open(
    target: str,
    plan_hash: str,
    destroy: str | None,
    state: State,
    seed: int = 1,
    *,
    probe: bool = False,
    bare: bool = False,
) -> Target:
    """The target as the state of a study wants it. Raises Refused."""
    for fault in check_state(state, target):
        raise Refused.because(fault.below("state"))
    made = file_system(state)
    return open_target(
        target,
        plan_hash=plan_hash,
        destroy=destroy,
        keep=state.start == "kept",
        made=made,
        settings=settings_of_device(state),
        purge=state.purge,
        used=used(state, seed),
        probe=probe,
        bare=bare,
    )


def _is_bare(resolved: Plan, place: str) -> bool:
    """Whether every run on a place names its own files, so that the study needs no work file there."""
    runs = [run for run in resolved.runs if resolved.setting_of(run).place == place]
    works = [run for run in runs if run.workload is not None or run.job is not None]
    return bool(works) and all(run.job is not None and run.job.names_its_files for run in works)


def _hash_at(resolved: Plan, setting: Setting) -> str:
    """The hash by which a place is found again: the plan's, of its own for each of several on one target."""
    places = {other.place for other in resolved.settings if other.target == setting.target}
    if len(places) < 2:
        return resolved.hash
    return hashlib.sha256(f"{resolved.hash} {setting.place}".encode()).hexdigest()


def targets_of(resolved: Plan) -> Iterator[Target]:
    """The real targets of a plan that hold files of Mileage's own, opened once more to be cleaned up.

    Targets that the guards refuse are skipped: they hold nothing of this plan, or another study uses them.
    """
    for setting in {setting.place: setting for setting in resolved.settings}.values():
        kind = capabilities_of(setting.target)
        if kind.simulated or not (kind.has_work_file or kind.is_made):
            continue
        with suppress(Refused):
            yield _open(
                setting.target,
                _hash_at(resolved, setting),
                None,
                setting.state,
                resolved.study.seed,
                bare=_is_bare(resolved, setting.place),
            )


def refuse_another(resolved: Plan, target: str, opened: Target) -> None:
    """Refuse a device that is not the one that the study was planned for, though its path is the same.

    And a file system that does not bypass the page cache, which a plan does not try: it makes no file.
    """
    facts = opened.facts()
    if not facts.direct_supported and any(run.reach and run.reach.options.direct for run in resolved.runs):
        opened.close()
        raise Refused(
            target,
            'the file system does not bypass the page cache, as the study wants with cache = "direct"',
            advice='choose a target on another file system, or cache = "warm"',
            code="unsupported",
        )
    planned = resolved.others.get(target, resolved.facts).identity
    if planned and (found := facts.identity) != planned:
        opened.close()
        noun = "device" if capabilities_of(target).is_drive else "file"
        raise Refused(
            target,
            f"this is another {noun} than the study was planned for",
            found=found,
            expected=planned,
            advice="plan the study anew",
            code="changed",
        )


def traces_of(study: Study, folder: Path | None = None) -> dict[str, TraceFile]:
    """The properties of each trace that a study uses; relative paths start at the folder of the study file.

    Raises Refused for one that cannot be read.
    """
    found: dict[str, TraceFile] = {}
    for name in trace_paths(study):
        from mileage.formats.trace import read_trace, trace_file

        path = Path(folder or Path(), name)
        found[name] = trace_file(path.resolve(), read_trace(path))
    return found


def keep_traces(resolved: Plan, folder: StudyFolder) -> None:
    """Put the traces that a plan replays into its folder, so that it needs nothing else. Raises Refused."""
    needed = {
        trace.sha256: trace
        for run in resolved.runs
        if run.workload is not None and isinstance(run.workload.pattern, PatternTable)
        if (trace := run.workload.pattern.trace_file) is not None
    }
    for sha256, trace in needed.items():
        if folder.load_trace(sha256) is not None:
            continue
        from mileage.formats.trace import operations_json, read_trace, trace_file

        operations = read_trace(Path(trace.path))
        if trace_file(Path(trace.path), operations).sha256 != sha256:
            raise Refused(
                trace.path,
                "the trace has changed since the study was planned",
                advice="plan it anew",
                code="changed",
            )
        folder.save_trace(sha256, operations_json(operations))


def check_built(resolved: Plan) -> Plan:
    """The plan itself. Raises BrokenStudy for workloads that the core cannot do, before anything is touched."""
    from mileage import _core

    faults = Faults(resolved.study.name)
    seen: set[str] = set()
    for run in resolved.runs:
        text = run.workload.to_json() if run.workload is not None else ""
        if run.workload is None or run.cell in seen or pattern_word(run.workload.pattern) == "trace_file":
            continue
        seen.add(run.cell)
        options = run.reach.options.to_json() if run.reach is not None else None
        if problem := _core.check_workload(text, options):
            faults.add("", f"{run.cell}: {problem}", code="not-built")
    faults.refuse_any()
    return resolved


def check_commands(resolved: Plan, *, allowed: bool) -> None:
    """Refuse a plan that runs programs unless the user allowed it: a study file from a stranger is data."""
    for run in resolved.runs:
        if isinstance(run.job, Program) and not allowed:
            programs = "; ".join(shlex.join(argv) for argv in run.job.argvs)
            raise Refused(
                resolved.study.name,
                f"{run.cell} runs programs ({programs})",
                advice="read the study file, and allow it with --allow-commands",
                code="needs-permission",
            )


def do(
    resolved: Plan,
    folder: StudyFolder,
    destroy: str | None,
    reporter: Progress,
    *,
    command: str,
    part: str = "",
    always_clean: bool = False,
    accept_change: bool = False,
    keeps_states: bool = True,
    pool: CyclePool | None = None,
) -> tuple[str, ...]:
    """Do the remaining runs of a part of a plan; returns the parts left after it.

    What Mileage put on the targets is removed when all is done.

    With `always_clean` it is removed after a failure too, so that the study cannot be resumed.
    `accept_change`: a machine that changed since the study began is accepted. `keeps_states`, `pool`: as
    `execute_study`.
    Raises as :func:`run`.
    """
    from mileage.execute.study import execute_study

    keep_traces(resolved, folder)
    shared: dict[str, Target] = {}

    def open_one(setting: Setting) -> Target:
        if setting.place in shared:
            return shared[setting.place]
        opened = _open(
            setting.target,
            _hash_at(resolved, setting),
            destroy,
            setting.state,
            resolved.study.seed,
            bare=_is_bare(resolved, setting.place),
        )
        refuse_another(resolved, setting.place, opened)
        if not opened.is_virtual:
            shared[setting.place] = opened
        return opened

    done = False
    with raise_on_signals():
        try:
            left = execute_study(
                resolved,
                folder,
                open_one,
                reporter,
                command=command,
                part=part,
                rules=_rules(resolved.study),
                accept_change=accept_change,
                keeps_states=keeps_states,
                pool=pool,
            )
            done = not left
            return left
        finally:
            # Handle a second Ctrl-C only after everything is undone, so that it leaves no mount behind.
            with count_signals(Event()) as received:
                # A process killed after its last run was recorded did not clean up, and no run remains that would do
                # it.
                rest = targets_of(resolved) if done and not shared else ()
                _close_all((*shared.values(), *rest), cleans=done or always_clean)
            if received and done:
                raise Interrupted()


def _close_all(targets: Iterable[Target], *, cleans: bool) -> None:
    for opened in targets:
        if cleans:
            opened.cleanup()
        opened.close()


def _rules(study: Study) -> Rules | None:
    """The judgement's rules where the study asks for one; it is not loaded otherwise."""
    precise = any(isinstance(table.repeat, Repeat) for table in study.measure.values())
    if not precise and not any(table.until for table in study.torture.values()):
        return None
    from mileage.app.stop_decisions import StopDecisions

    return StopDecisions()


@contextmanager
def opened(resolved: Plan, destroy: str | None) -> Iterator[Target]:
    """The target of a plan, prepared and purged, and cleaned up on the way out, whatever the way was.

    Raises Refused and RunFailed as `open_target` and `Target.prepare` do.
    """
    with _open(resolved.target, resolved.hash, destroy, resolved.study.state, resolved.study.seed) as target:
        refuse_another(resolved, resolved.target, target)
        target.prepare(resolved.allocated_bytes(0), resolved.files, resolved.file_bytes)
        target.purge()
        yield target
