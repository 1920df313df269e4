"""Each metric of the one list is known at every door that takes a metric or prints one: the next one too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage.app.importer import metrics_of
from mileage.app.rate_search import read_goal
from mileage.formats.input_file import open_source
from mileage.formats.readers import read_source
from mileage.judge.gate_rules import parse_rule
from mileage.judge.verdict import relevance_of
from mileage.model.metrics import METRICS, QUANTILES
from mileage.model.operation_kind import LATENCY_KINDS
from mileage.model.run_record import RunRecord
from mileage.report.wording import METRIC_WORDS
from tests.command import mileage

COMMITTING = (
    *("-t", "virtual:plain-64gib", "-w", "random_write", "-r", "4KiB", "--size", "16MiB"),
    *("--sync-every", "1", "--operations", "1000"),
)


@pytest.mark.parametrize("word", METRICS)
def test_a_rule_and_a_margin_and_a_text_know_it(word: str) -> None:
    row = METRICS[word]  # type: ignore[index]
    assert METRIC_WORDS[row.figure] == row.title
    assert relevance_of(row.figure, {}) > 0
    if not row.higher_is_better:
        assert parse_rule(f"{word} slower > 5%").metric == word


@pytest.mark.parametrize("word", QUANTILES)
def test_a_search_has_it_as_its_goal(word: str) -> None:
    row = QUANTILES[word]  # type: ignore[index]
    goal = read_goal(f"{word}=1ms")
    assert (goal.name, goal.limit_ns) == (word, 1_000_000)
    assert row.latency == "judged" or row.latency in LATENCY_KINDS
    assert goal.latencies(RunRecord.idle(1)).count == 0


@pytest.mark.parametrize("word", QUANTILES)
def test_a_table_of_samples_may_have_it(tmp_path: Path, word: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"cell,repetition,metric,value,unit\nlog,1,{word},2,ms\n")
    (run,) = read_source(open_source(path)).runs
    assert metrics_of(run) == (word,)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is judged by every metric, with enough commits for each."""
    folder = tmp_path_factory.mktemp("doors")
    text = mileage("measure", *COMMITTING, "--as-study", cwd=folder).stdout
    words = json.dumps(list(METRICS))
    (folder / "study.toml").write_text(text.replace("repeat = 1", f"repeat = 1\nmetric = {words}"))
    assert mileage("run", "study.toml", "-o", "kept", cwd=folder).returncode == 0
    return folder


def test_a_study_is_judged_by_it_and_its_samples_have_it(study: Path) -> None:
    asked = 'SELECT metric, "value" FROM samples'
    done = mileage("query", asked, "kept", "--json", cwd=study)
    assert done.returncode == 0, done.stderr
    found = {row["metric"]: row["value"] for row in json.loads(done.stdout)}
    assert found.keys() == {row.figure for row in METRICS.values()}
    assert all(value > 0 for value in found.values())
    assert found["commit_p50_ns"] >= max(found["sync_p50_ns"], found["durable_p50_ns"])


def test_the_table_of_runs_has_a_column_for_it(study: Path) -> None:
    done = mileage("export", "csv", "kept", "-o", "tables", cwd=study)
    assert done.returncode == 0, done.stderr
    head = (study / "tables" / "runs.csv").read_text().splitlines()[0].split(",")
    assert {row.figure for row in METRICS.values()} <= set(head)


def test_a_goal_of_commits_needs_commits(tmp_path: Path) -> None:
    without = COMMITTING[:-4]
    done = mileage("measure", *without, "--operations", "9", "--latency-target", "sync_p99=1ms", cwd=tmp_path)
    assert done.returncode == 2
    assert "has no commits; add --sync-every 1 or --dsync" in done.stderr
