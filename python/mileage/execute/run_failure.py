"""Detect from its record that a run failed, and stop runs on request.

Scope: an error that the core noted, and reads that did not return what was written.
"""

from __future__ import annotations

from collections.abc import Callable

from mileage.errors import RunFailed
from mileage.model.operation_kind import UNFINISHED
from mileage.model.run_record import RunRecord, TestResult
from mileage.plan.sizes import format_bytes

Poll = Callable[[int, int], bool]
"""Function called about twenty times a second with (bytes done, operations done); true means stop now."""

Tested = Callable[[TestResult], None]
"""Function called with the result of each test of a set soon after the test is done."""


def failure_of(record: RunRecord, what: str) -> RunFailed | None:
    """The failure of a finished run, with the work that it had done; None if it succeeded."""
    if record.error is not None:
        failure = RunFailed(f"{what}: {record.error.message}{_until(record)}", cause=record.error.kind)
    elif record.mismatches:
        first, *others = record.mismatches
        more = f" (and {len(others)} more)" if others else ""
        description = f"wrong data at byte {first.offset_bytes}: {first.kind}: {first.message}{more}"
        failure = RunFailed(f"{what}: {description}", cause="verification")
    else:
        return None
    failure.record = record
    return failure


def _until(record: RunRecord) -> str:
    """What had been done, and how long a commit had lasted that did not end."""
    moved = record.bytes_moved
    words = f"; until then {format_bytes(moved)} in {record.submit_ns / 1e9:.3g} s" if moved else ""
    unfinished = record.latency_of(f"{UNFINISHED}commit")
    return words + (
        f"; its commit takes {unfinished.max_ns / 1e9:.3g} s at least" if unfinished.count else ""
    )
