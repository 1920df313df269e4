"""Reads of a virtual flash drive that met blocks never written, or discarded: no flash was read for them.

Scope: by the counters of the compared runs: pages that the host read and that were not in the write buffer, against the
pages of flash that were read for them. One page of flash may have several pages of the host, so the share is a lower
bound. Drives that compress, disks, phase-change memory and arrays are skipped: there the counters do not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mileage.model.caveat import Caveat, veto
from mileage.model.journal_entries import Run
from mileage.plan import Plan
from mileage.targets.profiles import figures_of_target

UNWRITTEN_MAX: Final = 0.05
"""Share of the pages read from which a run did not measure reads of the flash."""


class UnwrittenReads:
    """The share of unwritten reads of each run of a study; figures of drives are looked up once."""

    def __init__(self, plan: Plan) -> None:
        """Begin without any figures."""
        self._plan = plan
        self._figures: dict[str, Mapping[str, Any]] = {}

    def share(self, entry: Run) -> float:
        """The least share of the pages that a run read which nothing had written; 0 where it is not counted."""
        if "host_pages_read" not in entry.record.counters:
            return 0.0
        run = self._plan.runs[entry.run]
        target = self._plan.setting_of(run).target
        if target not in self._figures:
            self._figures[target] = figures_of_target(target)
        is_whole = run.workload is not None and not self._plan.facts.host_layer
        return _unwritten_share(
            entry, self._figures[target], run.workload.record_bytes if run.workload and is_whole else None
        )


def unwritten_caveats(shares: Iterable[tuple[float, str, str]]) -> list[Caveat]:
    """A veto on cells whose runs read what nothing had written. `shares`: of each run its share, stage and cell."""
    found = sorted((run for run in shares if run[0] > UNWRITTEN_MAX), reverse=True)
    if not found:
        return []
    tests = tuple(dict.fromkeys(cell for _, _, cell in found))
    stages = ", ".join(dict.fromkeys(stage for _, stage, _ in found))
    return [veto("unwritten-reads", tests=tests, unwritten_share=found[0][0], stages=stages)]


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
