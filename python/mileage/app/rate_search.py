"""The highest rate of an open loop that keeps a latency on a target: what `mileage measure --latency-target` does.

The rules of the search are the judge's; here its probes are done, one after the other on one prepared target; a virtual
drive that they write to is made anew for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mileage.app.plan_execution import opened
from mileage.errors import Refused
from mileage.execute.run import perform
from mileage.execute.signals import raise_on_signals
from mileage.judge.highest_rate_search import Probe, best_of, next_rate, probe_of
from mileage.model.histogram import Histogram
from mileage.model.metrics import QUANTILES as METRIC_QUANTILES
from mileage.model.operation_kind import UNFINISHED
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.plan.expansion import has_commits
from mileage.plan.load_model import Load, Open, Spacing
from mileage.plan.pattern import is_own_master
from mileage.plan.quantiles import operations_needed, quantile_is_supported
from mileage.plan.sizes import counted, parse_time_ns
from mileage.plan.study import PURGE_EACH
from mileage.plan.workload import Workload

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "max": 1.0}


_KINDS: Final = {row.word.rpartition("_")[0]: row.latency for row in METRIC_QUANTILES.values()}
"""Latencies by what stands before the quantile in the name of a metric: "commit" in "commit_p99", nothing in "p99"."""


class Goal(msgspec.Struct, frozen=True):
    """A latency that is to be kept, from when operations are due."""

    quantile: str
    """A name of `QUANTILES`."""
    limit_ns: int
    kind: str = ""
    """What of: a key of `_KINDS`; empty: operations."""

    @property
    def name(self) -> str:
        """The quantile as the user writes it: "p99", "commit_p99"."""
        return f"{self.kind}_{self.quantile}" if self.kind else self.quantile

    def latencies(self, record: RunRecord) -> Histogram:
        """The latencies of a run that the goal is about; those that never ended count with what they had taken."""
        if _KINDS[self.kind] == "judged":
            return record.judged_latency
        return record.latency_of(_KINDS[self.kind], f"{UNFINISHED}{_KINDS[self.kind]}")

    @property
    def text(self) -> str:
        """The limit as the user writes it: "p99=1ms"."""
        return f"{self.name}={self.limit_ns} ns"


class SearchResult(msgspec.Struct, frozen=True):
    """Result of a search."""

    closed_ops_per_s: float
    """Rate of the target in a closed loop, measured before the search."""
    probes: tuple[Probe, ...]
    best: Probe | None
    """The highest rate that kept the goal; None when none did."""
    operations_fewest: int = 0
    """Operations behind the latency of the shortest probe."""

    def doubt(self, goal: Goal) -> str:
        """Reason why the latencies of the probes are uncertain, in a sentence; "" where they are not."""
        share = QUANTILES[goal.quantile]
        if share == 1 or not self.probes or quantile_is_supported(self.operations_fewest, share):
            return ""
        needed = f"{goal.name} needs {operations_needed(share):,}; give more with --operations or --for"
        what = goal.kind.replace("durable", "durable write") or "operation"
        return f"a probe had {counted(self.operations_fewest, what)}, too few: {needed}"


def read_goal(text: str) -> Goal:
    """The goal that "p99=1ms" names. Raises Refused."""
    name, equals, limit = text.partition("=")
    kind, _, quantile = name.strip().rpartition("_")
    try:
        if equals and kind in _KINDS and quantile in QUANTILES:
            return Goal(quantile, parse_time_ns(limit), kind)
    except ValueError:
        pass
    kinds = " or ".join(f"{kind}_" for kind in _KINDS if kind)
    raise Refused(
        f"--latency-target {text}",
        expected=f"one of {', '.join(QUANTILES)}, with {kinds} before it if wanted, and a time, such as p99=1ms",
        code="wrong-value",
    )


def search(
    resolved: Plan,
    goal: Goal,
    spacing: Spacing,
    destroy: str | None,
    *,
    on_probe: Callable[[Probe], None],
    moved: Callable[[PlannedRun, int], None],
) -> SearchResult:
    """Search on the target of a one-off plan with one cell in a closed loop.

    `on_probe` receives every probe, `moved` the current run and its completed bytes. Raises Refused when the
    plan has several cells, and RunFailed when a run fails; what Mileage put on the target is removed.
    """
    measured, workload = _closed_loop(resolved, goal)
    probes: list[Probe] = []
    counts: list[int] = []
    with raise_on_signals(), opened(resolved, destroy) as target:

        def done(run: PlannedRun) -> RunRecord:
            def poll(byte_count: int, _operations: int) -> bool:
                moved(run, byte_count)
                return False

            return perform(target, run, idle_ns=0, poll=poll)

        def prepare() -> None:
            for run in resolved.runs:
                if run.role == "prepare":
                    done(run)

        prepare()
        closed = done(measured).ops_per_s
        while (rate := next_rate(probes, closed)) is not None:
            load = Load(open=Open(rate, spacing), warm_up_ns=workload.load.warm_up_ns)
            probing = msgspec.structs.replace(measured, workload=msgspec.structs.replace(workload, load=load))
            if resolved.study.state.carryover == PURGE_EACH:
                target.purge()
                prepare()
            record = done(probing)
            counts.append(goal.latencies(record).count)
            probes.append(probe_of(rate, record.ops_per_s, _latency_ns(record, goal), goal.limit_ns))
            on_probe(probes[-1])
    return SearchResult(closed, tuple(probes), best_of(probes), min(counts, default=0))


def _closed_loop(resolved: Plan, goal: Goal) -> tuple[PlannedRun, Workload]:
    """The one measured run of a plan, which is to be a closed loop that has what the goal is about. Raises Refused."""
    measured = next(run for run in resolved.runs if run.role == "measure")
    if len(resolved.cells) != 1 or measured.workload is None:
        raise Refused(
            "--latency-target",
            "searches the rate of one setting of a workload of blocks",
            advice="remove --vary",
            code="conflict",
        )
    workload = measured.workload
    if is_own_master(workload.pattern):
        raise Refused(
            "--latency-target",
            "needs one size of operations",
            advice=f"{measured.cell} times each operation itself",
            code="unsupported",
        )
    if workload.load.open is not None or workload.load.cap is not None:
        raise Refused(
            "--latency-target",
            "searches the rate itself",
            advice="remove --rate and --cap",
            code="conflict",
        )
    if goal.kind and not has_commits(workload, measured.reach):
        raise Refused(
            "--latency-target",
            f"{goal.name}: {measured.cell} has no commits",
            advice="add --sync-every 1 or --dsync",
            code="no-effect",
        )
    return measured, workload


def _latency_ns(record: RunRecord, goal: Goal) -> float:
    found = goal.latencies(record).quantile_ns(QUANTILES[goal.quantile])
    return float("inf") if found is None else float(found)
