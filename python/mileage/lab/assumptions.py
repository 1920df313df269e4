"""The figures of a virtual drive that a verdict on it depends on most and that nobody has published.

What it models: which figures decide reads, and which decide writes, in the order of their usual weight; the order is
known from the model (`docs/drives.md`), not computed for the study at hand.
What it refuses: nothing; a drive whose profile cannot be read any more is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.plan import Plan
from mileage.plan.workload import Workload
from mileage.report import TrustLamp
from mileage.report.datasheet import Figure, missed_rates
from mileage.target.profiles import load_profile

NAMED_MAX: Final = 6
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
_SCHEME: Final = "virtual:"


def assumption_lamps(plan: Plan) -> list[TrustLamp]:
    """For each virtual drive of a study a check that lists the unpublished figures that decide what is compared."""
    measured = [run.workload for run in plan.runs if run.role == "measure" and run.workload]
    writes = any(workload.read_percent < 100 for workload in measured)
    reads = any(workload.read_percent > 0 for workload in measured)
    weighed = [*(_WRITES if writes else ()), *(_READS if reads else ())]
    names = {name for workload in measured for name in _rate_names(workload)}
    targets = [setting.target for setting in plan.settings] or [str(plan.study.target)]
    told: dict[str, list[str]] = {}
    for target in dict.fromkeys(targets):
        name = target.removeprefix(_SCHEME)
        found = _told(name, weighed, names) if name != target else ""
        if found:
            told.setdefault(found, []).append(name)
    return [_lamp(names, found) for found, names in told.items()]


def _lamp(names: Iterable[str], found: str) -> TrustLamp:
    several = list(names)
    whose = several[0] if len(several) == 1 else f"{several[0]} and {len(several) - 1} more"
    return TrustLamp(
        "drive model",
        "warn",
        f"{whose}: {found}; change a figure to see how much it matters (virtual:{several[0]},KEY=VALUE), mileage drive "
        "show lists all",
    )


def _rate_names(workload: Workload) -> list[str]:
    """What a workload does, in the words of published rates."""
    order = "sequential" if workload.pattern == "sequential" else "random"
    reads = [f"{order}_read"] if workload.read_percent > 0 else []
    return reads + ([f"{order}_write"] if workload.read_percent < 100 else [])


def _told(name: str, weighed: Iterable[str], workloads: set[str]) -> str:
    """The assumed figures of a drive, and the published rates that it misses; empty where there are none."""
    from mileage._core import drive_figures, drive_rates

    try:
        profile = load_profile(name)
        assumed = _assumed(drive_figures(profile), weighed)
        missed = missed_rates(msgspec.json.decode(drive_rates(profile)), workloads)
    except Refused:
        return ""
    parts = [f"the result depends most on figures that are not published: {assumed}"] if assumed else []
    return "; ".join([*parts, *missed])


def _assumed(rows: Sequence[Figure], weighed: Iterable[str]) -> str:
    """The figures of a drive that are neither published nor chosen, with value and confidence, heaviest first."""
    figures = {key: (value, kind) for key, value, _, kind in rows}
    keys = [key for key in dict.fromkeys(weighed) if key in figures]
    open_ones = [key for key in keys if figures[key][1] not in PUBLISHED and figures[key][1] != CHOSEN]
    return ", ".join(f"{key} {figures[key][0]} ({figures[key][1]})" for key in open_ones[:NAMED_MAX])
