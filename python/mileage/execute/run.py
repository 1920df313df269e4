"""One run: a workload turned on a target by the wall clock or by virtual time. Nothing above knows which it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from mileage.errors import Interrupted, Refused, RunFailed
from mileage.plan import PlannedRun
from mileage.plan.api import Reach
from mileage.plan.sizes import format_bytes
from mileage.target import Target, empty_cache

#: Called about twenty times a second with (bytes done, operations done); true means stop now.
Poll = Callable[[int, int], bool]

_IDLE_SLICE_S = 0.1


def perform(target: Target, run: PlannedRun, *, idle_ns: int, poll: Poll) -> dict[str, Any]:
    """Do one run and return its record (the JSON of `RunRecord`, see the measure crate).

    `idle_ns`: how long an idle run rests, in nanoseconds.

    Raises:
        RunFailed: the target failed under the load; `cause` names the error (`ENOSPC`, `EIO`, `vanished` ...).
        Interrupted: `poll` asked to stop.
    """
    if run.workload is None:
        return _rest(target, idle_ns, poll)
    from mileage import _core

    workload = run.workload.to_json()
    _still_there(target, run)
    try:
        if target.path is None:
            text = target.drive.run(workload, poll)  # type: ignore[attr-defined]
        else:
            reach = run.reach or Reach()
            if reach.cold:
                empty_cache(target.path)
            text = _core.run_file(str(target.path), workload, reach.options.to_json(), poll)
    except ValueError as cause:
        raise Refused(f"{run.cell}: {cause}") from cause
    except OSError as cause:
        raise RunFailed.from_os_error(f"{run.cell} on {target.spec}", cause) from cause
    record: dict[str, Any] = msgspec.json.decode(text)
    if record["interrupted"]:
        raise Interrupted()
    if failure := _failure(record, f"{run.cell} on {target.spec}"):
        raise failure
    _still_there(target, run)
    return record


def _failure(record: dict[str, Any], what: str) -> RunFailed | None:
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


def _still_there(target: Target, run: PlannedRun) -> None:
    """An open file outlives its name: without this look, a run would go on in a file that nobody can find."""
    if target.path is not None and not target.path.exists():
        raise RunFailed(f"{run.cell}: {target.path} vanished; bring it back and resume", cause="vanished")


def _rest(target: Target, idle_ns: int, poll: Poll) -> dict[str, Any]:
    """Leave the target alone for `idle_ns` nanoseconds of its own time."""
    if target.path is None:
        target.drive.idle(idle_ns)  # type: ignore[attr-defined]
    else:
        end = time.monotonic() + idle_ns / 1e9
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _IDLE_SLICE_S))
            if poll(0, 0):
                raise Interrupted()
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
    times = dict.fromkeys(("submit_ns", "durable_ns", "elapsed_ns"), idle_ns)
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
