"""One number measured by one run, with the labels that say which comparison it belongs to.

Scope: the level ids of the experiment (run, block, stage, arm, cycle). Refuses nothing by value: a zero or
NaN is carried to the judgement, which says that the cell cannot be judged, rather than dropped on the way.
"""

import math
import re
from collections.abc import Iterable
from typing import Final

import msgspec

TORTURE: Final = "torture"
SHAM: Final = "sham"
RATE_METRICS: Final = ("rate_bytes_per_s", "ops_per_s", "elapsed_s")
"""The metrics by which a test is judged first, one of them each."""

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:\s*([KMGT])i?B)?")
_POWER: Final = {None: 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Sample(msgspec.Struct, frozen=True):
    """One metric of one run.

    `run` is the run's index in the study, `cycle` and `block` count from 1, `arm` is "torture" or "sham",
    `measure` is "throughput" or "iops", `cell` its label ("throughput.write 1 MiB"). `metric` names its unit
    last: "rate_bytes_per_s", "ops_per_s" (higher is better) or "latency_p99_ns" (lower is better).
    """

    run: int
    cycle: int
    arm: str
    stage: str
    block: int
    measure: str
    cell: str
    metric: str
    value: float
    higher_is_better: bool
    session: int = 0
    """The session in which it was measured, equal on both sides of a comparison for one; 0: a simulation has none."""

    @property
    def has_logarithm(self) -> bool:
        """Whether the value is finite and above zero."""
        return math.isfinite(self.value) and self.value > 0


def check_unique(samples: Iterable[Sample]) -> None:
    """ValueError if one run has two values of one metric: which of them counts cannot be known."""
    seen: set[tuple[object, ...]] = set()
    for s in samples:
        key = (s.cell, s.metric, s.session, s.run, s.cycle, s.arm, s.stage, s.block)
        if key in seen:
            raise ValueError(
                f"{s.metric} of {s.cell} appears twice (run {s.run}, cycle {s.cycle}, {s.arm}, {s.stage}, "
                f"block {s.block}): keep one of the rows"
            )
        seen.add(key)


def by_cell(samples: Iterable[Sample]) -> list[list[Sample]]:
    """The samples of each (cell, metric), in an order that depends on the labels only, sizes ascending.

    Raises ValueError if one (cell, metric) has two measures or two directions of better.
    """
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.cell, sample.metric), []).append(sample)
    for (cell, metric), group in groups.items():
        if len({(s.measure, s.higher_is_better) for s in group}) != 1:
            raise ValueError(f"samples of {metric} in cell {cell!r} differ in measure or in higher_is_better")
    return [groups[key] for key in sorted(groups, key=lambda key: (_label_order(key[0]), key))]


def _label_order(label: str) -> tuple[tuple[str, float], ...]:
    """Sort key that puts "64 KiB" before "1 MiB" before "16 MiB"."""
    key: list[tuple[str, float]] = []
    end = 0
    for match in _SIZE.finditer(label):
        key.append((label[end : match.start()], float(match[1]) * 1024.0 ** _POWER[match[2]]))
        end = match.end()
    return (*key, (label[end:], 0.0))
