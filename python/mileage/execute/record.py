"""What a run leaves behind, where Python makes or reads it: the record of a rest, and why a run failed.

What it models: the JSON of `RunRecord`, see the measure crate.
What it refuses: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mileage.errors import RunFailed
from mileage.plan.sizes import format_bytes

#: Called about twenty times a second with (bytes done, operations done); true means stop now.
Poll = Callable[[int, int], bool]


def empty_record(elapsed_ns: int) -> dict[str, Any]:
    """The record of a run that did no I/O for so long, in nanoseconds."""
    empty = {"count": 0, "sum_ns": 0, "min_ns": 0, "max_ns": 0, "buckets": []}
    series = {
        "interval_ns": 1,
        "bytes_read": [],
        "bytes_written": [],
        "ops": [],
        "latency_sum_ns": [],
        "counters": {},
    }
    zeros = dict.fromkeys(("bytes_read", "bytes_written", "ops_read", "ops_written"), 0)
    times = dict.fromkeys(("submit_ns", "durable_ns", "elapsed_ns"), elapsed_ns)
    latency = {"read": empty, "write": empty}
    rest = {
        "latency": latency,
        "series": series,
        "counters": {},
        "threads": [],
        "error": None,
        "interrupted": False,
    }
    return {**zeros, **times, **rest}


def failure_of(record: dict[str, Any], what: str) -> RunFailed | None:
    """Why a run that came to an end did not do what it should; it keeps what the run had done."""
    mismatches = record.get("mismatches") or []
    if record["error"] is not None:
        failure = RunFailed(
            f"{what}: {record['error']['message']}{_until(record)}", cause=record["error"]["kind"]
        )
    elif mismatches:
        first = mismatches[0]
        more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
        told = f"wrong data at byte {first['offset_bytes']}: {first['kind']}: {first['message']}{more}"
        failure = RunFailed(f"{what}: {told}", cause="verification")
    else:
        return None
    failure.record = record
    return failure


def _until(record: dict[str, Any]) -> str:
    moved = int(record["bytes_read"]) + int(record["bytes_written"])
    return f"; until then {format_bytes(moved)} in {record['submit_ns'] / 1e9:.3g} s" if moved else ""
