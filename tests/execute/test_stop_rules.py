"""Repetition until precise and rounds until steady, on virtual drives whose truth is known from a long run."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from mileage import app
from mileage.analysis.view import steady_rounds
from mileage.model.journal_entries import Look, Run, StageEnd
from mileage.store import StudyFolder
from tests.execute.conftest import Small, small_profile
from tests.execute.test_resume import kill_after

CHURN = """
name = "churn"
target = "virtual:PROFILE"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "torture"
torture = ["churn"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[torture.churn]
workload = "iops.random_write"
record = "4KiB"
threads = 4
amount = "1%"
"""


def rounds_of(folder: Path) -> list[float]:
    """Bytes per second of each round of the torture."""
    runs = [entry for entry in StudyFolder(folder).content().of_kind(Run) if entry.role == "torture"]
    return [entry.record.bytes_written / entry.record.elapsed_ns * 1e9 for entry in runs]


def churned(tmp_path: Path, name: str, keys: str, blocks_per_plane: int = 8) -> Path:
    """The folder of a study that overwrites a small drive at random places, one round after the other."""
    from mileage import app

    profile, study = tmp_path / "drive.toml", tmp_path / f"{name}.toml"
    profile.write_text(small_profile(blocks_per_plane))
    study.write_text(CHURN.replace("PROFILE", str(profile)) + keys)
    app.run(str(study), out=tmp_path / name)
    return tmp_path / name


def pts_by_hand(rounds: list[float]) -> bool:
    """The rule of PTS 2.0.2, definition 2.1.24, on the last five rounds, by numpy's own fit."""
    window = np.array(rounds[-5:])
    slope = np.polyfit(np.arange(5), window, 1)[0]
    return bool(np.ptp(window) <= 0.2 * window.mean() and abs(slope) * 4 <= 0.1 * window.mean())


def test_the_snia_rule_passes_a_fresh_drive_that_the_honest_rule_waits_for(tmp_path: Path) -> None:
    long = rounds_of(churned(tmp_path, "long", "rounds = 700\n", 32))
    truth = fmean(long[-300:])
    snia = rounds_of(churned(tmp_path, "snia", 'rounds = 700\nuntil = "pts-steady"\n', 32))
    honest = rounds_of(churned(tmp_path, "honest", 'rounds = 700\nuntil = "steady"\n', 32))
    assert snia == long[: len(snia)]
    assert honest == long[: len(honest)]
    # The SNIA rule: exactly the first window that its formulas accept, which is the drive's spare space filling up.
    assert pts_by_hand(snia)
    assert not any(pts_by_hand(snia[:count]) for count in range(5, len(snia)))
    assert fmean(snia[-5:]) > 2 * truth
    assert len(honest) >= 200
    assert abs(fmean(honest[len(honest) // 2 :]) / truth - 1) < 0.05


def test_every_look_is_journalled_with_its_figures(tmp_path: Path) -> None:
    folder = churned(tmp_path, "snia", 'rounds = 50\nuntil = "pts-steady"\n')
    content = StudyFolder(folder).content()
    looks = content.of_kind(Look)
    rounds = rounds_of(folder)
    assert [look.times for look in looks] == list(range(1, len(rounds) + 1))
    assert [look.enough for look in looks] == [False] * (len(rounds) - 1) + [True]
    window = rounds[-5:]
    assert looks[-1].range == pytest.approx((max(window) - min(window)) / fmean(window))
    (ended,) = [entry for entry in content.of_kind(StageEnd) if entry.stage == "torture"]
    assert ended.left_out == 50 - len(rounds)
    (drawn,) = steady_rounds(app.load(str(folder)).plan, content)
    assert drawn.rates_bytes_per_s == pytest.approx(rounds)
    assert (drawn.first, drawn.steady, drawn.mean) == (len(rounds) - 5, True, pytest.approx(fmean(window)))
    slope = np.polyfit(np.arange(5), window, 1)[0]
    assert drawn.line[1] - drawn.line[0] == pytest.approx(4 * slope, abs=1.0)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Shaded: the window of SNIA" in page or "without pictures" in page


def precise(small: Small, precision: float) -> list[str]:
    args = small.virtual(cycles=2)
    study = Path(args[0])
    text = study.read_text()
    assert text.count("repeat = 2") == 2
    study.write_text(text.replace("repeat = 2", f"repeat = {{ min = 5, max = 9, precision = {precision} }}"))
    return args


def blocks_of(folder: Path) -> dict[tuple[Any, ...], int]:
    """The highest block of each cell in each stage, arm and cycle."""
    found: dict[tuple[Any, ...], int] = {}
    for entry in StudyFolder(folder).content().of_kind(Run):
        if entry.role == "measure":
            key = (entry.cycle, entry.arm, entry.stage, entry.cell)
            found[key] = max(found.get(key, 0), entry.block)
    return found


@pytest.mark.parametrize(("precision", "blocks"), [(0.9, {5}), (1e-9, {9})])
def test_repetition_ends_when_precise_or_at_the_most(
    small: Small, tmp_path: Path, precision: float, blocks: set[int]
) -> None:
    from mileage import app

    study, *_ = precise(small, precision)
    result = app.run(study, out=tmp_path / "study")
    # A cell whose values do not differ at all is precise however much is asked for.
    found = blocks_of(tmp_path / "study")
    by_table = {key: count for key, count in found.items() if key[3].startswith("iops.random_write")}
    assert set(by_table.values()) == blocks
    assert result.text()
    assert not result.comparison().has("runs-missing")


def test_a_killed_study_decides_as_an_undisturbed_one(small: Small, tmp_path: Path) -> None:
    from mileage import app

    seed = int(os.environ.get("MILEAGE_SEED", "20260101"))
    print(f"MILEAGE_SEED={seed}")
    rng = random.Random(seed)
    study, *rest = precise(small, 0.02)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    app.run(study, out=whole, seed=7)
    for _ in range(3):
        kill_after([study, *rest, "--out", str(cut)], rng.uniform(0.3, 2.0))
    app.run(study, out=cut, seed=7)
    assert blocks_of(cut) == blocks_of(whole)
    assert (cut / "samples.parquet").read_bytes() == (whole / "samples.parquet").read_bytes()
    figures = [
        sorted((look.cycle, look.table, look.times, look.half_width) for look in looks)
        for looks in (StudyFolder(folder).content().of_kind(Look) for folder in (whole, cut))
    ]
    assert figures[0] == figures[1]
    assert all(math.isfinite(look[3]) for look in figures[0])


@pytest.mark.parametrize(("start", "tau", "bias"), [(2, 20, 0.83), (4, 40, 2.77), (8, 40, 6.4)])
def test_the_rules_that_end_rounds_on_slow_decays_of_known_truth(
    start: float, tau: float, bias: float
) -> None:
    """The SNIA rule ends far above the truth, by the published biases; the other within 6 % of it."""
    from mileage.app.stop_decisions import StopDecisions

    rules = StopDecisions()
    ends: dict[str, list[float]] = {"pts-steady": [], "steady": []}
    for index in range(20):
        rng = np.random.default_rng([round(start), round(tau), index])
        level = 1 + (start - 1) * np.exp(-np.arange(400) / tau)
        rounds = (level * (1 + rng.normal(0, 0.02, 400))).tolist()
        for rule, found in ends.items():
            at = next(n for n in range(1, 401) if rules.steady(rounds[:n], 10, rule, 1).enough)
            found.append(float(fmean(rounds[at - 5 : at])) - 1)
    assert fmean(ends["pts-steady"]) == pytest.approx(bias, rel=0.15)
    assert fmean(ends["steady"]) < 0.06


def test_a_level_that_changed_lately_is_not_steady_even_where_the_drift_is_none() -> None:
    from mileage.app.stop_decisions import StopDecisions

    rng = np.random.default_rng(3)
    noise = 1 + rng.normal(0, 0.004, 200)
    # High, low, high again: no line through the last half shows it.
    hump = np.where((np.arange(200) >= 140) & (np.arange(200) < 160), 0.9, 1.0) * noise
    found = StopDecisions().steady(hump.tolist(), 10, "steady", 1)
    assert not found.enough
    assert found.level_rounds < 100
    assert StopDecisions().steady(noise.tolist(), 10, "steady", 1).enough
    assert not StopDecisions().steady(noise.tolist(), 1, "steady", 1).enough


def test_a_sham_idles_and_a_round_reads_back_as_often_as_there_were_rounds(
    small: Small, tmp_path: Path
) -> None:
    from mileage import app

    study, *_ = small.virtual(cycles=1)
    path = Path(study)
    keys = 'rounds = 40\nuntil = "pts-steady"\nread_back = true\n'
    path.write_text(path.read_text().replace('amount = "3x"\n', 'amount = "5%"\n' + keys))
    result = app.run(study, out=tmp_path / "study")
    content = result.folder.content()
    rounds = len(
        [entry for entry in content.of_kind(Run) if entry.cell == "churn" and entry.arm == "torture"]
    )
    assert 5 <= rounds < 40
    for arm in ("torture", "sham"):
        for cell in ("churn", "churn read back"):
            done = [entry for entry in content.of_kind(Run) if (entry.arm, entry.cell) == (arm, cell)]
            assert len(done) == rounds, (arm, cell)
    assert not result.comparison().has("runs-missing")
    checks = {check.name: check for check in result.view().trust}
    assert checks["SNIA steady"].text == f"churn steady in 1 of 1, after {rounds} to {rounds} rounds"
