"""Two causes apart and together: which runs are which arm, what is said of them, and what is refused."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from msgspec.structs import replace

from mileage import app
from mileage.app.published_results import published_next_to
from mileage.app.result import StudyResult
from mileage.errors import Refused
from mileage.formats.published_results import COLUMNS, read_published_study
from mileage.judge.effects_apart import headline_cells
from mileage.report.effects_apart import cause_words, effect_rows, effects_sentence

STUDY = """
name = "causes"
seed = 4
cycles = 2
[state]
file = "64MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "before"
measure = ["m"]
[[stage]]
name = "stress"
measure = ["w"]
[[stage]]
name = "after"
measure = "before"
[measure.m]
workload = ["throughput.write", "throughput.read"]
record = "1MiB"
stop = { bytes = "16MiB" }
repeat = 2
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[measure.w]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 100 }
repeat = 1
[factor.link]
kind = "target"
[factor.link.levels]
fast = "virtual:plain-64gib"
half = "virtual:plain-64gib,channel_mb_per_s=40"
slow = "virtual:plain-64gib,channel_mb_per_s=20"
[apart]
factor = "link"
candidate = "slow"
causes = ["drive", "link"]
note = "The link is a wire."
"""
BY_LEVELS = (
    STUDY.replace("cycles = 2", "cycles = 1")
    + """
[compare]
arms = "depth"
[factor.depth]
levels = [1, 8]
"""
)


def run(folder: Path, text: str) -> StudyResult:
    (folder / "causes.toml").write_text(text)
    return app.run(str(folder / "causes.toml"), out=folder / "study", report="text")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run(tmp_path_factory.mktemp("apart"), STUDY)


def test_each_effect_is_the_ratio_of_its_arm_to_the_one_with_neither_cause(study: StudyResult) -> None:
    """Oracle: the samples, averaged here; the link of the slow drive has a half or less of what the fast one moves."""
    apart = study.apart()
    assert apart is not None

    def mean(stage: str, level: str) -> float:
        own = [
            s.value
            for s in study.samples()
            if (s.cell, s.stage, s.metric)
            == (f"throughput.read 1 MiB, link {level}", stage, "rate_bytes_per_s")
        ]
        assert len(own) == 4
        return statistics.geometric_mean(own)

    neither = mean("before", "fast")
    arms = [("after", "fast"), ("before", "slow"), ("after", "slow")]
    row = next(row for row in effect_rows(apart) if row.name == "throughput.read 1 MiB")
    for cell, arm in zip(row.effects, arms, strict=True):
        assert cell is not None
        assert cell.ratio == pytest.approx(mean(*arm) / neither)
        assert cell.units_candidate == 2
    assert list(row.doses) == ["half"]
    assert row.doses["half"].ratio == pytest.approx(mean("before", "half") / neither)
    assert mean("before", "slow") < 0.5 * neither
    assert abs(mean("after", "fast") / neither - 1) < 0.02
    assert apart.heads == ("stress", "slow")


def test_a_study_without_a_source_counts_the_tests_that_each_cause_changes(study: StudyResult) -> None:
    apart = study.apart()
    assert apart is not None
    said = effects_sentence(apart)
    assert said.startswith(
        "In this simulation the link alone (link slow instead of fast) changes 2 of 2 tests, "
        "the drive alone (stress) none: "
    )
    text = study.text()
    assert " ".join(text.split()).endswith(said)
    assert "The link is a wire." in text
    assert max(map(len, text.splitlines())) <= 80
    page = (study.folder.path / "report.html").read_text()
    assert "The link is a wire." in page
    assert study.figures()["apart"] == apart


def test_effects_of_levels_are_separated_as_those_of_stages(tmp_path: Path) -> None:
    result = run(tmp_path, BY_LEVELS)
    apart = result.apart()
    assert apart is not None
    assert apart.stands_for == ("depth 8 instead of 1", "link slow instead of fast")
    row = next(row for row in effect_rows(apart) if row.name == "throughput.read 1 MiB")
    first, second, both = (cell for cell in row.effects if cell is not None)
    assert first.ratio is not None
    assert second.ratio is not None
    assert first.ratio > 1 > second.ratio
    assert both.mean_baseline == first.mean_baseline == second.mean_baseline
    assert "From one cycle only: in this simulation the link alone (link slow instead of fast)" in " ".join(
        result.text().split()
    )


@pytest.mark.parametrize(
    ("times", "verdict", "word"),
    [
        (1.0, "changed", "link"),
        (1.8, "changed", "link"),
        (2.2, "changed", "open"),
        (None, "same", "not link"),
    ],
)
def test_a_published_change_has_the_cause_that_reproduces_it(
    times: float | None, verdict: str, word: str, study: StudyResult, tmp_path: Path
) -> None:
    """A change that is printed is the link's where their logarithms are within a factor of two."""
    bare = study.apart()
    assert bare is not None
    own = headline_cells(bare.second)["throughput.read 1 MiB"].ratio
    assert own is not None
    low = "" if times is None else f"{100 * (own**times - 1):.6f}"
    fields = {"workload": "throughput.read", "record": "1MiB", "low": low, "high": low, "unit": "change %",
              "verdict": verdict, "use": "predicted"}  # fmt: skip
    rows = [",".join(COLUMNS), ",".join(fields.get(name, "") for name in COLUMNS)]
    (tmp_path / "source.csv").write_text("# S.\n" + "\n".join(rows) + "\n")
    source = read_published_study(str(tmp_path / "source.csv"))
    printed = tuple(published_next_to(source, study.plan, study.samples(), one) for one in bare.effects)
    apart = replace(bare, published=printed)
    first = effect_rows(apart)[0]
    assert (first.name, cause_words(first, apart)) == ("throughput.read 1 MiB", word)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('factor = "link"', 'factor = "wire"', "apart.factor"),
        ('candidate = "slow"', 'candidate = "slower"', "apart.candidate"),
        ('candidate = "slow"', 'candidate = "fast"', "both 'fast'"),
        ('causes = ["drive", "link"]', 'causes = ["link", "link"]', "two words"),
    ],
)
def test_a_second_cause_that_is_none_is_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "causes.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(Refused) as refused:
        app.plan(str(tmp_path / "causes.toml"))
    assert words in str(refused.value)


def test_a_study_of_workloads_has_no_second_cause(tmp_path: Path) -> None:
    arms = '[compare]\narms = "workload"\nbaseline = "throughput.write"\ncandidate = "throughput.read"\n'
    (tmp_path / "causes.toml").write_text(STUDY + arms)
    with pytest.raises(Refused, match="has no effect"):
        app.plan(str(tmp_path / "causes.toml"))
