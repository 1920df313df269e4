"""The tables of `python -m benchmarks.published_studies`: what a system changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.published_studies.__main__ import effects, page
from mileage import app
from mileage.app.published_results import compare_published
from mileage.formats.published_results import COLUMNS

STUDY = """
name = "systems"
target = "virtual:plain-64gib"
seed = 3
[[stage]]
name = "before"
measure = ["m"]
[[stage]]
name = "churn"
measure = ["w"]
[[stage]]
name = "after"
measure = "before"
[measure.m]
workload = "throughput.write"
record = ["64KiB", "1MiB"]
stop = { bytes = "16MiB" }
repeat = 2
[measure.w]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 100 }
repeat = 1
[factor.system]
kind = "target"
levels = { stated = "virtual:plain-64gib", slow = "virtual:plain-64gib,channel_mb_per_s=20" }
[compare]
arms = "system"
baseline = "stated"
candidate = "slow"
"""


def test_effects_are_ratios_of_the_means_of_cells(tmp_path: Path) -> None:
    """Oracle: the samples, averaged here."""
    (tmp_path / "systems.toml").write_text(STUDY)
    study = app.run(str(tmp_path / "systems.toml"), out=tmp_path / "study", report="none")
    fields = {
        "workload": "throughput.write",
        "record": "1MiB",
        "low": "-90",
        "high": "-90",
        "unit": "change %",
    }
    row = ",".join(
        (fields | {"verdict": "changed", "use": "predicted"}).get(column, "") for column in COLUMNS
    )
    (tmp_path / "source.csv").write_text(f"# S\n{','.join(COLUMNS)}\n{row}\n")
    source = compare_published(tmp_path / "study", str(tmp_path / "source.csv"))

    def mean(cell: str, stage: str) -> float:
        own = [
            s.value
            for s in study.samples()
            if (s.cell, s.stage, s.metric) == (cell, stage, "rate_bytes_per_s")
        ]
        assert len(own) == 2
        return sum(own) / 2

    host = {effect.cell: effect for effect in effects(study, source)}
    whole, slow = (
        mean(f"throughput.write 1 MiB, system {system}", "before") for system in ("stated", "slow")
    )
    assert host["throughput.write 1 MiB"].changes == pytest.approx(
        {"stated": 0, "slow": 100 * (slow / whole - 1)}
    )
    assert host["throughput.write 1 MiB"].published == "-90 %"
    assert slow < 0.9 * whole
    text = page([source], {"### A new drive": list(host.values())})
    assert "### A new drive\n\nLargest: throughput.write 1 MiB, published -90 %; here `slow` -" in text
    assert "| throughput.write 1 MiB | -90 % | +0.0 |" in text
