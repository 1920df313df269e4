"""SQL over study folders: against what Python counts, while a study is unfinished, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from statistics import median

import pytest

import mileage
from mileage.app import run
from mileage.errors import Refused
from mileage.store.query import Query, study_folders
from tests.execute.test_factors import DRIVES, written


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    study = written(folder, DRIVES)
    run(study, out=folder / "a")
    run(study, out=folder / "b", seed=4)
    return folder


def test_rows_of_all_folders_with_their_levels(studies: Path) -> None:
    query = Query(study_folders([studies]))
    columns, rows = query.sql(
        "SELECT folder, levels['read_us'] AS level, median(value) AS value FROM samples "
        "WHERE metric = 'ops_per_s' AND cell LIKE 'iops.random_read%' GROUP BY ALL ORDER BY ALL"
    )
    assert columns == ["folder", "level", "value"]
    expected = []
    for name in ("a", "b"):
        samples = [s for s in mileage.load(studies / name).samples() if s.metric == "ops_per_s"]
        for level in ("50", "80"):
            cell = f"iops.random_read 4 KiB, read_us {level}"
            expected.append((str(studies / name), level, median(s.value for s in samples if s.cell == cell)))
    assert rows == expected


def test_the_table_of_studies(studies: Path) -> None:
    _, rows = Query(study_folders([studies])).sql("SELECT study, runs, runs_planned, finished FROM studies")
    assert rows == [("arms", 18, 18, True)] * 2


def test_the_keys_of_cells_join_the_samples(studies: Path) -> None:
    _, rows = Query(study_folders([studies])).sql(
        "SELECT DISTINCT workload, work, record_bytes, threads, depth FROM samples JOIN cell_keys USING (folder, cell) "
        "WHERE cell LIKE 'iops.random_read%'"
    )
    assert rows == [("iops.random_read", "random_read", 4096, 1, 1)]


def test_an_unfinished_study_is_asked_with_what_it_has(studies: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    for name in ("plan.json", "plan.toml"):
        (part / name).write_bytes((studies / "a" / name).read_bytes())
    lines = (studies / "a" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (part / "journal.jsonl").write_bytes(b"".join(lines[:9]) + lines[9][:30])
    query = Query([part])
    measured = sum(b'"role":"measure"' in line for line in lines[:9])
    assert query.sql("SELECT count(DISTINCT run) FROM samples") == (["count(DISTINCT run)"], [(measured,)])
    assert query.sql("SELECT finished FROM studies")[1] == [(False,)]


def test_series_and_latencies_have_a_row_for_each_interval_and_bucket(studies: Path) -> None:
    folder = mileage.load(studies / "a").folder
    records = [entry.record for entry in folder.content().runs()]
    query = Query([folder.path])
    (intervals, ops) = query.sql("SELECT count(*), sum(ops) FROM series")[1][0]
    assert intervals == sum(len(record.series.ops) for record in records)
    assert ops == sum(sum(record.series.ops) for record in records)
    found = dict(query.sql("SELECT direction, sum(count) FROM latency GROUP BY ALL")[1])
    assert found["read"] == sum(record.latency["read"].count for record in records)


def test_a_loaded_study_gives_its_tables_to_duckdb_and_numpy(studies: Path) -> None:
    table = mileage.load(studies / "a").table("samples")
    values = table.filter("metric = 'ops_per_s'").fetchnumpy()["value"]
    assert len(values) == 16
    assert (values > 0).all()
    with pytest.raises(Refused, match="there is no table 'sample'; expected one of samples"):
        mileage.load(studies / "a").table("sample")


@pytest.mark.parametrize("name", ["it's one", "'; DROP VIEW samples; --", "run[1]", "a*", "b?", 'say "hi"'])
def test_a_folder_may_have_any_name(studies: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(studies / "a", folder)
    shutil.copytree(studies / "b", tmp_path / "run1")
    for table in folder.glob("*.parquet"):
        table.unlink()
    text = "SELECT DISTINCT folder FROM samples"
    assert Query([folder]).sql(text)[1] == [(str(folder),)], "tables that are made"
    assert Query([folder]).sql(text)[1] == [(str(folder),)], "tables that are there"
    count = "SELECT count(*) FROM samples"
    assert Query([folder]).sql(count) == Query([studies / "a"]).sql(count)


def test_what_cannot_be_asked_is_refused_in_one_line(studies: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="query: Parser Error") as refused:
        Query([studies / "a"]).sql("SELEC 1")
    assert "\n" not in str(refused.value)
    with pytest.raises(Refused, match="contains no study folder"):
        study_folders([tmp_path])
