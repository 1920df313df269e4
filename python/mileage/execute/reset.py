"""What is done between blocks, so that one does not begin with what the one before left.

What it models: a reset as a run of its own, whose record says how long it took and no I/O.
What it refuses: a way of resetting that the target does not have, by name.
"""

from __future__ import annotations

import time
from typing import Any

from mileage.errors import Refused
from mileage.execute.record import empty_record
from mileage.target import Target


def reset(target: Target, how: str) -> dict[str, Any]:
    """Bring a target back by "trim", "purge" or "remount"; the record says in `note` what was done.

    Raises Refused when the target cannot, RunFailed when the system fails.
    """
    started_ns = time.monotonic_ns()
    if how == "purge":
        note = target.purge()
    else:
        do = getattr(target, how, None)
        if do is None:
            raise Refused(f'state.carryover: {target.spec} knows no {how}; expected "none" or "purge"')
        note = do()
    elapsed_ns = 0 if target.is_virtual else time.monotonic_ns() - started_ns
    return {**empty_record(elapsed_ns), "notes": [note]}
