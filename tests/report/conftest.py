"""A realistic study for the report's tests: three cycles, a sham arm, six cells, made from a seed."""

import math
import random

import pytest

from mileage.judge import Comparison, Sample, compare_stages
from mileage.model.caveat import veto
from mileage.report import StudyView, ValidityCheck, render_html
from mileage.report.chart_data import AMPLIFICATION, RunTrace
from tests.judge.conftest import arm, sample, stages

__all__ = ["arm", "sample", "stages"]

GIB = 2**30
RELEVANCE = {"throughput": 0.02, "iops": 0.05, "p99": 0.10}
CELLS = (
    ("throughput", "throughput.write 1 MiB", 221e6, 0.905, 0.005),
    ("throughput", "throughput.rewrite 1 MiB", 218e6, 0.938, 0.006),
    ("throughput", "throughput.read 1 MiB", 258e6, 1.0, 0.002),
    ("throughput", "throughput.random_write 4 MiB", 204e6, 0.983, 0.012),
    ("iops", "iops.random_write 4 KiB", 11_800.0, 0.71, 0.02),
    ("iops", "iops.random_read 4 KiB", 35_400.0, 1.004, 0.006),
)


def samples(cycles: int = 3, sham: bool = True, blocks: int = 10, seed: int = 7) -> list[Sample]:
    rng = random.Random(seed)
    found: list[Sample] = []
    for cycle in range(1, cycles + 1):
        for kind in ("torture", "sham") if sham else ("torture",):
            for measure, cell, base, effect, noise in CELLS:
                drift = rng.gauss(0, noise / 2)
                for stage in ("before", "after"):
                    aged = math.log(effect) + drift if (kind, stage) == ("torture", "after") else 0.0
                    for block in range(1, blocks + 1):
                        value = base * math.exp(aged + rng.gauss(0, noise))
                        place = {
                            "run": len(found),
                            "cycle": cycle,
                            "arm": kind,
                            "stage": stage,
                            "block": block,
                        }
                        metric = "rate_bytes_per_s" if measure == "throughput" else "ops_per_s"
                        found.append(Sample(**place, measure=measure, cell=cell, metric=metric, value=value,
                                            higher_is_better=True))  # fmt: skip
                        if measure == "iops":
                            found.append(Sample(**place, measure=measure, cell=cell, metric="latency_p99_ns",
                                                value=3.2e10 / value, higher_is_better=False))  # fmt: skip
    return found


def comparison(cycles: int = 3, sham: bool = True, vetoes: tuple[str, ...] = ()) -> Comparison:
    return compare_stages(
        samples(cycles, sham),
        baseline="before",
        candidate="after",
        relevance=RELEVANCE,
        caveats=[veto("edited", what=what) for what in vetoes],
    )


def torture(cycles: int = 3, amplification: bool = True) -> list[RunTrace]:
    rng = random.Random(11)
    traces = []
    for cycle in range(1, cycles + 1):
        written, rates, amplified = [], [], []
        total = 0.0
        while total < 190 * GIB:
            fill = total / (64 * GIB)
            wear = 1 / (1 + math.exp(-(fill - 0.95) * 14))
            factor = 1.02 + 1.75 * wear * (1 - 0.25 * math.exp(-fill / 2)) + rng.gauss(0, 0.04) * wear
            rate = 236e6 / (0.45 + 0.55 * factor) * math.exp(rng.gauss(0, 0.02))
            total += rate
            written.append(total)
            rates.append(rate)
            amplified.append(factor)
        ends = [float(at) for at in range(1, len(written) + 1)]
        traces.append(
            RunTrace(arm="torture", cycle=cycle, block=1, end_s=ends, moved_bytes=written, rate_bytes_per_s=rates,
                     counters={AMPLIFICATION: amplified} if amplification else {})
        )  # fmt: skip
    return traces


def example(**changes: object) -> StudyView:
    host = {"kernel": "Linux 6.1.0-44-amd64", "file system": "ext4, 12 % full", "scheduler": "mq-deadline",
            "CPU governor": "performance", "memory": "8 GiB", "write cache": "on"}  # fmt: skip
    fields: dict[str, object] = {
        "name": "degradation",
        "question": "Does sustained writing make this drive slower?",
        "target": "virtual:intel-x25e-64gb@phenom-8gib",
        "identity": {
            "device": "intel-x25e-64gb (virtual), 64 GB",
            "devices": "n = 1",
            "host": "phenom-8gib",
            "kernel": "Linux 6.1.0-44-amd64",
            "purge": "whole-drive discard before each cycle",
            "version": "mileage 0.1.0",
            "plan": "sha256:5f1c0c5e9a77",
            "seed": "2010",
            "date": "2026-11-21T14:30Z",
        },
        "command": "mileage run degradation --target virtual:intel-x25e-64gb@phenom-8gib --seed 2010",
        "comparison": comparison(),
        "torture": torture(),
        "environments": [
            ("before", host),
            ("torture", host),
            ("after", {**host, "file system": "ext4, 13 % full"}),
        ],
        "environment_changes": ["file system: ext4, 12 % full (before) became ext4, 13 % full (after)"],
        "trust": [
            ValidityCheck(
                "steady state", "ok", "all headline cells steady; drift under 1 % over 20 intervals"
            ),
            ValidityCheck("repetitions", "ok", "3 cycles x 10 blocks, order randomised, sham arm"),
            ValidityCheck("repeatability", "ok", "CV between runs 0.2 to 2.0 %"),
            ValidityCheck("cache", "ok", "0.0 % of reads served from memory"),
            ValidityCheck("limits", "warn", "client used 81 % of one core at 4 KiB reads"),
            ValidityCheck("interference", "ok", "no foreign I/O, no throttling, 1 environment change"),
            ValidityCheck("A/A control", "unknown", "not run in this study"),
        ],
        "runs_total": 726,
        "runs_failed": 0,
        "method": "Each of 3 cycles began with a discard of the whole drive. Six workloads were measured "
        "before and after the torture, 10 times each, in random order within blocks (seed 2010).\n\n"
        "A sham arm waited for the same time without writing; its change is removed from each ratio. The "
        "unit of inference is the cycle. Headline: Holm; all others: Benjamini-Hochberg.",
        "capacity_bytes": 64 * 10**9,
    }
    return StudyView(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def study() -> StudyView:
    return example()


@pytest.fixture(scope="session")
def page(study: StudyView) -> str:
    return render_html(study)
