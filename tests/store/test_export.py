"""All tables of a real study, whole or not at all, and never over something."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from mileage import _core
from mileage.app import load
from mileage.app.export_tables import exported_tables
from mileage.errors import Refused, RunFailed
from mileage.model.histogram import bounds_of
from mileage.store.export_folder import FORMATS, write_tables
from tests.command import mileage
from tests.execute.conftest import FinishedStudies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, finished: FinishedStudies) -> Path:
    return finished(tmp_path_factory.mktemp("study") / "s")


def saved(study: Path, word: str, out: Path) -> Path:
    title, tables, missing = exported_tables(study)
    write_tables(word, tables, out, title=title, missing=missing)
    return out


def test_every_table_is_there_in_every_format_and_says_the_same(study: Path, tmp_path: Path) -> None:
    names = (
        *("runs", "series", "latency", "counters", "environment", "cell_keys"),
        *("cells", "summaries", "within"),
    )
    counts = {}
    for word, (ending, _) in FORMATS.items():
        out = saved(study, word, tmp_path / word)
        assert {path.name for path in out.iterdir()} == {"README.md", *(f"{name}.{ending}" for name in names)}
        readme = (out / "README.md").read_text(encoding="utf-8")
        assert all(f"## {name}.{ending}" in readme for name in names)
    for name in names:
        rows = json.loads((tmp_path / "json" / f"{name}.json").read_text())
        lines = (tmp_path / "csv" / f"{name}.csv").read_text().splitlines()
        (parquet,) = duckdb.sql(
            f"SELECT count(*) FROM read_parquet('{tmp_path}/parquet/{name}.parquet')"
        ).fetchall()
        marked = (tmp_path / "markdown" / f"{name}.md").read_text().splitlines()
        counts[name] = {len(rows), len(lines) - 1, parquet[0], len(marked) - 6}
    assert all(len(found) == 1 and found != {0} for found in counts.values()), counts


def test_the_runs_are_those_of_the_journal(study: Path, tmp_path: Path) -> None:
    rows = json.loads((saved(study, "json", tmp_path / "j") / "runs.json").read_text())
    entries = [json.loads(line) for line in (study / "journal.jsonl").read_text().splitlines()]
    runs = sorted((e for e in entries if e["kind"] == "run"), key=lambda e: e["run"])
    assert [
        (row["run"], row["cell"], row["bytes_written"], row["elapsed_ns"], row["seed"]) for row in rows
    ] == [
        (e["run"], e["cell"], e["record"]["bytes_written"], e["record"]["elapsed_ns"], e["seed"])
        for e in runs
    ]
    samples = {(s.run, s.metric): s.value for s in load(study).samples()}
    output = {
        (row["run"], metric): row[metric]
        for row in rows
        for metric in ("rate_bytes_per_s", "ops_per_s", "latency_p99_ns", "elapsed_s")
        if row[metric] is not None
    }
    assert output == samples


def test_buckets_have_the_bounds_of_the_core(study: Path, tmp_path: Path) -> None:
    for index in (*range(300), 1000, 2500, 5000, 7000):
        low, high = bounds_of(index)
        histogram = {"count": 1, "sum_ns": low, "min_ns": low, "max_ns": high, "buckets": [[index, 1]]}
        output = _core.latency_quantile_ns(json.dumps(histogram), 0.5)
        assert output is not None
        assert low <= output <= high
        assert bounds_of(index + 1)[0] == high + 1
    rows = json.loads((saved(study, "json", tmp_path / "j") / "latency.json").read_text())
    runs = {row["run"]: row for row in json.loads((tmp_path / "j" / "runs.json").read_text())}
    for number, one in runs.items():
        counted = sum(
            row["count"] for row in rows if row["run"] == number and row["direction"] in ("read", "write")
        )
        assert counted == one["ops_read"] + one["ops_written"]


def test_nothing_is_written_over(study: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    (tmp_path / "empty").mkdir()
    for name in ("full", "file", "link"):
        with pytest.raises(Refused, match="nothing is written over"):
            saved(study, "csv", tmp_path / name)
    with pytest.raises(Refused) as refusal:
        saved(study, "csv", tmp_path / "absent" / "x")
    assert refusal.value.refusals[0].code == "not-found"
    assert (tmp_path / "full" / "mine").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"
    saved(study, "csv", tmp_path / "empty")


def test_a_failure_leaves_nothing(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    title, tables, missing = exported_tables(study)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(FORMATS, "csv", ("csv", full))
    with pytest.raises(RunFailed, match="No space left"):
        write_tables("csv", tables, tmp_path / "out", title=title, missing=missing)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_export_leaves_no_folder_of_that_name(study: Path, tmp_path: Path) -> None:
    for wait_s in (0.3, 0.6, 0.9, 1.2):
        command = [
            sys.executable,
            "-m",
            "mileage",
            "export",
            "markdown",
            str(study),
            "--out",
            str(tmp_path / "out"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "out").exists():
            assert (tmp_path / "out" / "README.md").is_file()
            break
        assert all(name.startswith("mileage-scratch-") for name in os.listdir(tmp_path))


def test_the_command_says_what_it_wrote_and_what_is_missing(study: Path, tmp_path: Path) -> None:
    done = mileage("export", "csv", str(study), "--out", str(tmp_path / "a"))
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/a/runs.csv" in done.stdout
    again = mileage("export", "csv", str(study), "--out", str(tmp_path / "a"))
    assert again.returncode == 2
    assert "nothing is written over" in again.stderr
    broken = tmp_path / "broken"
    broken.mkdir()
    lines = (study / "journal.jsonl").read_text().splitlines(keepends=True)
    (broken / "journal.jsonl").write_text("".join(lines[:9]) + "damaged\n" + "".join(lines[10:12]))
    part = mileage("export", "csv", str(broken), "--out", str(tmp_path / "b"))
    assert part.returncode == 0, part.stderr
    assert "The comparison is missing" in part.stderr
    assert (tmp_path / "b" / "runs.csv").read_text().count("\n") > 3
    none = mileage("export", "csv", str(tmp_path), "--out", str(tmp_path / "c"))
    assert none.returncode == 2


def test_the_earlier_name_of_the_command_works_with_one_line(study: Path, tmp_path: Path) -> None:
    old = mileage("save-as", "csv", str(study), "--out", str(tmp_path / "old"))
    new = mileage("export", "csv", str(study), "--out", str(tmp_path / "new"))
    assert (old.returncode, new.returncode) == (0, 0), old.stderr + new.stderr
    assert old.stderr == "save-as is now called export\n"
    assert new.stderr == ""
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()
    }
