"""Two workloads of one study compared with each other: from its plan, and on request, with scipy as the oracle."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mileage.app import load, run
from mileage.app.importer import make_study, read_files
from mileage.app.multi_study import compare_workloads
from mileage.errors import Refused
from tests.command import mileage
from tests.execute.test_factors import written

ARMS = """
[compare]
arms = "workload"
baseline = "random_read"
candidate = "zipf_read"
"""
CHANGES = (
    (
        'workload = ["iops.random_read", "iops.random_write"]',
        'workload = ["pattern.random_read", "pattern.zipf_read", "iops.random_write"]',
    ),
    ("repeat = 4", "repeat = 6"),
    ("stop = { operations = 200 }", "depth = 16\nstop = { operations = 4000 }"),
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arms")
    run(written(folder, ARMS, *CHANGES), out=folder / "out")
    return folder / "out"


def test_the_difference_is_that_of_pairs_by_block(study: Path) -> None:
    found = load(study).comparison()
    assert (found.baseline, found.candidate) == ("pattern.random_read", "pattern.zipf_read")
    (cell,) = found.headline
    assert (cell.cell, found.unit, found.units_candidate) == ("4 KiB", "block", 6)
    values = {
        name: {
            s.block: s.value
            for s in load(study).samples()
            if s.cell == f"{name} 4 KiB" and s.metric == "ops_per_s"
        }
        for name in (found.baseline, found.candidate)
    }
    logs = [math.log(values[found.candidate][block] / values[found.baseline][block]) for block in range(1, 7)]
    assert cell.ratio == pytest.approx(math.exp(float(np.mean(logs))))
    oracle = stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)
    assert cell.ci95 == pytest.approx((math.exp(oracle.low), math.exp(oracle.high)), rel=1e-6)


def test_sentence_page_and_method_name_the_workloads(study: Path) -> None:
    result = load(study)
    sentence = " ".join(result.text(100).rpartition("\n\n")[2].split())
    assert "pattern.zipf_read does 4 KiB at" in sentence
    assert "and pattern.random_read at" in sentence
    assert "iops.random_write" not in sentence
    assert "the two workloads in each block" in " ".join(result.method().split())
    page = (study / "report.html").read_text(encoding="utf-8")
    assert "pattern.zipf_read against pattern.random_read" in page


def test_any_two_workloads_of_a_study_can_be_asked_for(study: Path) -> None:
    found = compare_workloads(str(study), ("zipf_read", "random_read"))
    (planned,), (asked,) = load(study).comparison().headline, found.headline
    assert asked.ratio == pytest.approx(1 / (planned.ratio or 0.0))
    done = mileage(
        "compare", str(study), "--workloads", "zipf_read", "random_read", "--fail-if", "slower > 1%"
    )
    text = " ".join(done.stdout.split())
    assert "pattern.random_read does 4 KiB at" in text
    assert done.returncode == (1 if asked.ratio is not None and asked.ratio < 0.99 else 0), done.stderr


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("random_read", "sequential_read"),
            "no workload 'sequential_read'; expected one of pattern.random_read",
        ),
        (("random_read", "pattern.random_read"), "is named twice"),
    ],
)
def test_workloads_that_were_not_measured_are_refused(study: Path, names: tuple[str, str], said: str) -> None:
    with pytest.raises(Refused, match=said):
        compare_workloads(str(study), names)


def test_workloads_of_two_studies_are_refused(study: Path) -> None:
    done = mileage("compare", str(study), str(study), "--workloads", "random_read", "zipf_read")
    assert done.returncode == 2
    assert "give one folder" in done.stderr


def test_two_tests_of_an_import_are_compared_size_by_size(tmp_path: Path) -> None:
    """IOzone's automatic mode has each test at 30 pairs of file and record size: 30 ratios, each of one run."""
    sample = Path(__file__).parents[1] / "formats" / "samples" / "iozone-auto.out"
    folder = make_study(read_files([sample]), tmp_path / "auto")
    plan = load(folder.path).plan
    assert {cell.key.label for cell in plan.cells} == {cell.label for cell in plan.cells}
    found = compare_workloads(str(folder.path), ("iozone.write", "iozone.rewrite"))
    values = {
        (run.cell, run.record.reported.rate_bytes_per_s)
        for run in folder.content(around_damage=True).imported_runs()
    }
    rates = dict(values)
    assert len(found.cells) == 30
    for cell in found.cells:
        ratio = (rates[f"iozone.rewrite {cell.cell}"] or 0) / (rates[f"iozone.write {cell.cell}"] or 1)
        assert cell.ratio == pytest.approx(ratio)
