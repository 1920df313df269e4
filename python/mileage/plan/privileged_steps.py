"""The privileged steps of a plan, in words, before any is taken.

Scope: changes to the machine other than reading and writing the work area: devices and file systems made,
mounted, emptied; memory limited; the whole machine's cache dropped. Each is undone on the way out, unless it says so.
Whether they may be taken, `resolve` says.
"""

from __future__ import annotations

from itertools import chain

import msgspec

from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.factors import at_setting, settings_of
from mileage.plan.initial_state import file_system, settings_of_device
from mileage.plan.page_cache_state import Caching
from mileage.plan.planned_runs import PlannedRun
from mileage.plan.study import Study


class PrivilegedStep(msgspec.Struct, frozen=True):
    """One step that needs root."""

    text: str
    """Description of the step."""
    destroys: bool = False
    """Whether the step destroys existing data."""


def steps_of(study: Study, facts: TargetFacts, runs: tuple[PlannedRun, ...]) -> tuple[PrivilegedStep, ...]:
    """Every privileged step of a study, in the order in which they are first taken."""
    found = []
    for setting in settings_of(study):
        found += _of_target(at_setting(study, setting), facts)
    return tuple(dict.fromkeys([*found, *_of_runs(runs)]))


def _of_target(study: Study, facts: TargetFacts) -> list[PrivilegedStep]:
    target, made = study.target, file_system(study.state)
    each = "once" if study.cycles == 1 else f"before each of {study.cycles} cycles"
    found = []
    device = target
    kind = capabilities_of(target)
    if kind.is_made:
        device = "a loop device"
        size = sizes.format_bytes(facts.device_bytes)
        if kind.is_served:
            found.append(
                PrivilegedStep(f"mount a served drive of {size} below /run/mileage as a file, {each}")
            )
        found.append(PrivilegedStep(f"attach a loop device over a file of {size}"))
    elif kind.is_block_device and study.state.start != "kept":
        device = facts.name
        if study.state.purge != "none":
            found.append(PrivilegedStep(f"{_PURGES[study.state.purge]} {device}, {each}", destroys=True))
    if study.state.governor is not None:
        found.append(PrivilegedStep(f"set the governor of every processor to {study.state.governor}"))
    for name, value in settings_of_device(study.state).items():
        found.append(PrivilegedStep(f"set {name} of {device} to {value}"))
    if made is not None:
        options = " ".join(made.mkfs)
        found.append(PrivilegedStep(f"mkfs.{made.kind} {options} on {device}, {each}", destroys=True))
        mount = ",".join(made.mount) or "its default options"
        found.append(PrivilegedStep(f"mount it below /run/mileage with {mount}"))
    return found


_PURGES = {
    "discard": "discard all of",
    "nvme-format": "nvme format --ses=1 (all user data)",
    "ata-erase": "ATA security erase (the whole drive, behind a password that is taken off again) of",
}


def _of_runs(runs: tuple[PlannedRun, ...]) -> list[PrivilegedStep]:
    jobs = (run.job.privileged_steps for run in runs if run.job is not None)
    return [*map(PrivilegedStep, chain.from_iterable(jobs)), *_of_caches(runs)]


def _of_caches(runs: tuple[PlannedRun, ...]) -> list[PrivilegedStep]:
    counts: dict[Caching, int] = {}
    for run in runs:
        caching = run.action.caching
        if caching is not None and caching.mode in ("dropped", "limited"):
            counts[caching] = counts.get(caching, 0) + 1
    found = []
    for caching, count in counts.items():
        times = f"around {count} run{'' if count == 1 else 's'}"
        if caching.mode == "limited":
            limit_words = sizes.format_bytes(caching.limit_bytes)
            found.append(PrivilegedStep(f"limit memory to {limit_words} by a control group, {times}"))
        else:
            found.append(PrivilegedStep(f"drop the whole machine's page cache, {times}"))
    return found
