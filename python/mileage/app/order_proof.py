"""Test by simulation that a drifting target does not look like a difference between arms in the default order of runs.

Scope: small studies of two arms in which nothing differs: one drive under two names, whose every run is slower
than the one before by 2 % over ten runs, with noise between runs. The drift is in the target: plan, execution and
judgement are those of any study and know nothing of it. Each study is judged once in the default order, and once with
one arm after the other.
Studies are done without a folder, so that a thousand take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from mileage.analysis.journal_reader import samples_of
from mileage.app.answer import planned_answer
from mileage.execute.cycle import entry_of
from mileage.execute.run import perform
from mileage.judge import Comparison, Sample
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, Study, parse_study
from mileage.plan.resolver import resolve
from mileage.targets import parse_target
from mileage.targets.virtual import VirtualTarget

DRIFT_PER_RUN: Final = 0.002
"""2 % over ten runs."""
NOISE: Final = 0.01
"""Standard deviation between runs, on the log scale."""
DRIVE: Final = "virtual:plain-64gib,blocks_per_plane=8,capacity_bytes=134217728"
"""A small drive: its speed is that of the large one."""

STUDY: Final = f"""
name = "order"
question = "Is a drive different from itself?"
target = "{DRIVE}"
[[stage]]
name = "measured"
measure = ["writes"]
[measure.writes]
workload = "iops.random_write"
record = "4KiB"
stop = {{ operations = 64 }}
repeat = 10
[factor.drive]
levels = {{ one = "{DRIVE}", other = "{DRIVE}" }}
[compare]
arms = "drive"
"""


class Drift:
    """Slow-down of the target so far, and its noise.

    Shared by all drives of a study, because all of them age with the same time.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._runs = 0

    def slower(self) -> float:
        """The factor on the time of the next run."""
        self._runs += 1
        return math.exp(DRIFT_PER_RUN * self._runs + float(self._rng.normal()) * NOISE)


class DriftingDrive:
    """A drive all of whose times are longer than they would be, more so with every run."""

    def __init__(self, drive: Any, drift: Drift) -> None:
        self._drive = drive
        self._drift = drift

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drive, name)

    def run(self, workload: str, poll: Any) -> str:
        """Run on the inner drive, then lengthen the times by the drift."""
        record = RunRecord.from_json(self._drive.run(workload, poll))
        factor = self._drift.slower()
        times = {
            key: round(getattr(record, key) * factor) for key in ("submit_ns", "durable_ns", "elapsed_ns")
        }
        return msgspec.json.encode(msgspec.structs.replace(record, **times)).decode()


def judged(study: Study, seed: int, rng: np.random.Generator) -> Comparison:
    """Plan, do and judge one study on a target that drifts."""
    plan = _planned(study, seed)
    drift = Drift(rng)
    return planned_answer(plan, _measured(plan, drift))


def _planned(study: Study, seed: int) -> Plan:
    return resolve(study, VirtualTarget(parse_target(DRIVE)).facts(), seed=seed)


def _measured(plan: Plan, drift: Drift) -> list[Sample]:
    from mileage import _core

    def drifting(profile: str) -> DriftingDrive:
        return DriftingDrive(_core.Drive(profile), drift)

    targets = {
        setting.instance: VirtualTarget(parse_target(setting.target), make_drive=drifting)
        for setting in plan.settings
    }
    samples: list[Sample] = []
    for run in plan.runs:
        target = targets[plan.setting_of(run).instance]
        record = perform(target, run, idle_ns=0, poll=lambda _bytes, _operations: False)
        samples += samples_of(entry_of(run, record, plan.setting_of(run)))
    return samples


def false_differences(studies: int, seed: int) -> Iterator[tuple[str, int]]:
    """For each order its name and the number of studies, of `studies`, in which an arm differed from itself."""
    for order in ("random", "blocked"):
        study = msgspec.structs.replace(parse_study(STUDY, "order"), order=order)
        found = 0
        for index in range(studies):
            rng = np.random.default_rng([seed, 3, index])
            (cell,) = judged(study, seed + index, rng).headline
            found += cell.p_adjusted is not None and cell.p_adjusted <= 0.05
        yield order, found
