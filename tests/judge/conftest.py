"""Builders of samples with a known truth, shared by the tests of the judge."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from mileage.judge import Sample

HEADLINE_CELL = "iops.random_write 4 KiB"


def _sample(
    value: float,
    *,
    run: int = 0,
    cycle: int = 1,
    arm: str = "torture",
    stage: str = "before",
    block: int = 1,
    measure: str = "iops",
    cell: str = HEADLINE_CELL,
    metric: str = "ops_per_s",
    higher_is_better: bool = True,
) -> Sample:
    return Sample(run, cycle, arm, stage, block, measure, cell, metric, value, higher_is_better)


def _stages(
    seed: int,
    *,
    cycles: int = 3,
    blocks: int = 5,
    sham: bool = True,
    effect: float = 0.0,
    drift: float = 0.0,
    noise: float = 0.01,
    between: float = 0.01,
    cells: Sequence[str] = (HEADLINE_CELL,),
) -> list[Sample]:
    """Stages before and after; `effect` and `drift` in ln, `between` the cycles' own spread."""
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for cell in cells:
        for cycle in range(1, cycles + 1):
            for arm in ("torture", "sham") if sham else ("torture",):
                change = drift + (effect if arm == "torture" else 0.0) + rng.normal(0, between)
                for stage, level in (("before", 0.0), ("after", change)):
                    for block in range(1, blocks + 1):
                        value = 1000.0 * float(np.exp(level + rng.normal(0, noise)))
                        labels = {"run": len(samples), "cycle": cycle, "arm": arm, "stage": stage}
                        samples.append(_sample(value, cell=cell, block=block, **labels))  # type: ignore[arg-type]
    return samples


def _arm(values: Sequence[float], **labels: object) -> list[Sample]:
    return [_sample(v, run=i, block=i + 1, **labels) for i, v in enumerate(values)]  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def sample() -> Callable[..., Sample]:
    return _sample


@pytest.fixture(scope="session")
def stages() -> Callable[..., list[Sample]]:
    return _stages


@pytest.fixture(scope="session")
def arm() -> Callable[..., list[Sample]]:
    """One run per block, all in one cycle."""
    return _arm
