"""The figures of a virtual drive that a verdict on it depends on most and that nobody has published.

Scope: which figures decide reads, and which decide writes, in the order of their usual weight; the order is
known from the model (`docs/reference/drive-profiles.md`), not computed for the study at hand.
A drive whose profile cannot be read any more is skipped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mileage.errors import Refused
from mileage.plan import Plan
from mileage.targets.profiles import load_profile, virtual_name

if TYPE_CHECKING:
    from mileage.report import ValidityCheck
    from mileage.report.datasheet import MissedRate

NAMED_MAX: Final = 3
"""Figures that are named of a drive; `mileage drive show` has all."""
PUBLISHED: Final = frozenset({"source", "seed", "fitted"})
"""Confidences of figures that a text states or that reproduce one that is stated."""
CHOSEN: Final = "defined"
"""Confidence of figures that define a drive, or that the name of the target chooses."""
_WRITES: Final = (
    "gc_pace",
    "blocks_per_plane",
    "gc_victim",
    "mapping",
    "slc_design",
    "program_us",
    "slc_idle_after_us",
    "write_buffer_pages",
    "pages_per_block",
    "mapping_bytes",
    "page_bytes",
    "dies_per_channel",
    "frontiers",
    "levelling",
    "erase_us",
    "gc_copies",
    "write_combining",
)
_READS: Final = (
    "read_us",
    "dies_per_channel",
    "page_bytes",
    "suspend",
    "allocation",
    "channel_mb_per_s",
    "slc_read_us",
    "write_buffer_reads",
)


def assumption_checks(plan: Plan) -> list[ValidityCheck]:
    """For each virtual drive of a study a check that lists the unpublished figures that decide what is compared."""
    workloads = _workloads(plan)
    weighed = [*(_WRITES if _any("write", workloads) else ()), *(_READS if _any("read", workloads) else ())]
    by_figure: dict[tuple[str, tuple[MissedRate, ...]], list[str]] = {}
    for name, profile in _drives(plan).items():
        found = (_assumed(profile, weighed), _missed(profile, workloads))
        if any(found):
            by_figure.setdefault(found, []).append(name)
    return [_check(drives, *found) for found, drives in by_figure.items()]


def missed_rate_notes(plan: Plan) -> list[str]:
    """Published rates that the simulated drives of a plan miss by more than a tenth, one line of text each."""
    return [
        f"{name}, {missed.sentence()} (`mileage drive show {shlex.quote(name)}` says why)"
        for name, profile in _drives(plan).items()
        for missed in _missed(profile, _workloads(plan))
    ]


def model_miss(*plans: Plan) -> str:
    """The published rate that the drives of some plans miss most, such as "+123 % (random write, depth 32)".

    A rate that is missed by more percent the other way follows: -79 % is the larger factor, and a reader who meets
    +123 % elsewhere would take it for an error. Of several drives with the name of the one; empty where none is missed
    by more than a tenth.
    """
    drives = {name: (profile, plan) for plan in plans for name, profile in _drives(plan).items()}
    missed = [
        (missed.distance, name, missed)
        for name, (profile, plan) in drives.items()
        for missed in _missed(profile, _workloads(plan))
    ]
    if not missed:
        return ""
    worst = [max(missed), max(missed, key=lambda entry: (abs(entry[2].percent), entry[1]))]
    return " and ".join(
        dict.fromkeys(
            f"{rate.off} ({rate.workload}{f', {name}' if len(drives) > 1 else ''})" for _, name, rate in worst
        )
    )


def model_error(target: str) -> str:
    """How far a virtual drive is from the published rates of the real one: how many it misses, and which most."""
    from mileage._core import drive_rates
    from mileage.report.datasheet import missed_rates

    name = virtual_name(target)
    rates = msgspec.json.decode(drive_rates(load_profile(name))) if name is not None else []
    compared = [rate for rate in rates if rate["simulated"] is not None]
    if not compared:
        return "no published rate of a real drive is known to compare the model with"
    missed = missed_rates(compared, {rate["workload"] for rate in compared})
    if not missed:
        return f"all {len(compared)} published rates are met within 10 %"
    worst = missed[0].sentence()
    verb = "is" if len(missed) == 1 else "are"
    return f"{len(missed)} of {len(compared)} published rates {verb} missed by over 10 %, most by {worst}"


def _drives(plan: Plan) -> dict[str, str]:
    """The profiles of the virtual drives that a plan measures, by their names."""
    targets = [setting.target for setting in plan.settings] or [str(plan.study.target)]
    found = {}
    for target in dict.fromkeys(targets):
        if (name := virtual_name(target)) is not None:
            with suppress(Refused):
                found[name] = load_profile(name)
    return found


def _workloads(plan: Plan) -> set[str]:
    """The workloads that a study measures, by the names that published rates use, such as "random_write"."""
    found = set()
    for run in plan.runs:
        if run.role == "measure" and run.workload:
            order = "sequential" if run.workload.pattern == "sequential" else "random"
            found |= {f"{order}_read"} if run.workload.read_percent > 0 else set()
            found |= {f"{order}_write"} if run.workload.read_percent < 100 else set()
    return found


def _any(direction: str, workloads: Iterable[str]) -> bool:
    return any(name.endswith(direction) for name in workloads)


def _check(drives: Sequence[str], assumed: str, missed: Sequence[MissedRate]) -> ValidityCheck:
    from mileage.report import ValidityCheck
    from mileage.report.datasheet import MissedRate

    whose = drives[0] if len(drives) == 1 else f"{drives[0]} and {len(drives) - 1} more"
    clauses = [assumed] if assumed else []
    if missed:
        most = f"{missed[0].off} ({missed[0].workload})"
        clauses.insert(0, f"the simulated rates are off the published ones by up to {most}")
    # The text of a study has the first clause only.
    clauses[:1] = [", as ".join([*clauses[:1], f"`mileage drive show {shlex.quote(drives[0])}` explains"])]
    table = [list(MissedRate._fields), *map(list, missed)] if missed else []
    return ValidityCheck("drive model", "warn", f"{whose}: {'; '.join(clauses)}", table)


def _missed(profile: str, workloads: set[str]) -> tuple[MissedRate, ...]:
    from mileage._core import drive_rates
    from mileage.report.datasheet import missed_rates

    return tuple(missed_rates(msgspec.json.decode(drive_rates(profile)), workloads))


def _assumed(profile: str, weighed: Iterable[str]) -> str:
    """The figures of a drive that are neither published nor chosen, heaviest first, in a clause, if there are any."""
    from mileage._core import drive_figures
    from mileage.report.datasheet import confidence_word

    figures = {key: (value, kind) for key, value, _, kind in drive_figures(profile)}
    keys = [key for key in dict.fromkeys(weighed) if key in figures]
    open_ones = [key for key in keys if figures[key][1] not in PUBLISHED and figures[key][1] != CHOSEN]
    listed = ", ".join(
        f"{key} {figures[key][0]} ({confidence_word(figures[key][1])})" for key in open_ones[:NAMED_MAX]
    )
    return f"not published, and the result depends on them: {listed}" if listed else ""
