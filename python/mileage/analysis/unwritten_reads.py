"""Reads of a virtual flash drive that met blocks never written, or discarded: no flash was read for them.

Scope: by the counters of the compared runs: pages that the host read and that were not in the write buffer, against the
pages of flash that were read for them. One page of flash may have several pages of the host, so the share is a lower
bound. Drives that compress, disks, phase-change memory and arrays are skipped: there the counters do not show it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from mileage.judge.samples import SHAM
from mileage.model.caveat import Caveat, veto
from mileage.model.journal_entries import Run
from mileage.plan import Plan
from mileage.store.journal import JournalContent
from mileage.targets.profiles import figures_of_target

UNWRITTEN_MAX: Final = 0.05
"""Share of the pages read from which a run did not measure reads of the flash."""


def unwritten_reads(
    plan: Plan, content: JournalContent, cells: Collection[str], stages: Collection[str]
) -> list[Caveat]:
    """A veto on cells whose runs read what nothing had written, with the largest share of a run."""
    if plan.imported is not None:
        return []
    figures: dict[str, Mapping[str, Any]] = {}
    found: dict[str, float] = {}
    for entry in content.runs():
        run = plan.runs[entry.run]
        if run.role != "measure" or run.arm == SHAM or entry.cell not in cells or run.stage not in stages:
            continue
        target = plan.setting_of(run).target
        if target not in figures:
            figures[target] = figures_of_target(target)
        record_bytes = None if run.workload is None or plan.facts.host_layer else run.workload.record_bytes
        share = _unwritten_share(entry, figures[target], record_bytes)
        if share > max(UNWRITTEN_MAX, found.get(entry.cell, 0.0)):
            found[entry.cell] = share
    if not found:
        return []
    return [veto("unwritten-reads", tests=tuple(found), unwritten_share=max(found.values()))]


def _unwritten_share(entry: Run, figures: Mapping[str, Any], record_bytes: int | None) -> float:
    """Least share of the pages that a run read of which no page of flash was read; 0 where it is not counted.

    `record_bytes`: the size of a request; None where the drive gets requests of another size.
    """
    counters = entry.record.counters
    page = _number(figures, "page_bytes")
    if figures.get("kind") != "flash" or page is None or "compression_unit_bytes" in figures:
        return 0.0
    mapped = _number(figures, "mapping_bytes") or page
    needed = counters.get("host_pages_read", 0) - counters.get("buffer_pages_read", 0)
    if needed <= 0 or "flash_pages_read" not in counters:
        return 0.0
    largest = page if record_bytes is None else min(page, max(record_bytes, mapped))
    read = counters["flash_pages_read"] * max(largest // mapped, 1)
    return max(0.0, 1 - read / needed)


def _number(figures: Mapping[str, Any], key: str) -> int | None:
    found = figures.get(key)
    value = found.get("value") if isinstance(found, dict) else found
    return value if isinstance(value, int) else None
