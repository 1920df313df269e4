"""Sentences about offered load: what a target could not keep, and what latencies cannot show.

Scope: the figures of `judge.overload` in words.
"""

from __future__ import annotations

from mileage.judge.overload import Omission, Overload


def overload_words(found: Overload) -> str:
    """What was done of the offered rate: "80.1% of the offered rate, and 995 more wait each second"."""
    done = f"{found.achieved / found.offered:.1%} of the offered rate"
    return (
        f"{done}, and {found.backlog_slope:,.0f} more wait each second"
        if found.state == "saturated"
        else done
    )


def omission_words(found: Omission) -> str:
    """One sentence on latencies that a run cannot show."""
    if found.kind == "waited":
        return (
            f"From the intended start p99 is {found.response_p99_ns / 1e6:,.1f} ms, from submission "
            f"{found.service_p99_ns / 1e6:,.1f} ms: the difference is waiting that a closed loop does not see."
        )
    return (
        f"The longest operation took {found.longest_ns / 1e6:,.0f} ms, {found.stopped_share:.1%} of the run, and "
        "counts as one: a closed loop issues nothing while it waits (coordinated omission). Measure at a fixed rate "
        "to see who would have waited."
    )
