"""A table of samples: every row is a figure of a run, in the unit that it states, or the table is refused."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from mileage import app
from mileage.app.importer import make_study, name_settings, read_files
from mileage.errors import Refused
from mileage.model.imported_settings import INCIDENTAL
from tests.formats.made_results import SAMPLES_CSV
from tests.formats.sample_reader import SAMPLES, of_text

FACTORS = {
    "IOPS": 1,
    "GiB/s": 2**30,
    "MB/s": 10**6,
    "ms": 10**6,
    "us": 10**3,
    "s": 1,
}
"""Of the table above; its only s are of time."""
HEAD = "cell,repetition,value,unit\n"


def test_each_row_becomes_one_sample(tmp_path: Path) -> None:
    """Compared with csv.DictReader, through the whole import."""
    path = tmp_path / "table.csv"
    path.write_text(SAMPLES_CSV)
    study = make_study(read_files([path]), tmp_path / "study")
    kept = sorted(
        (sample.cell.partition(", queue depth")[0], sample.value)
        for sample in app.load(study.path).samples()
        if sample.metric != "elapsed_s" or sample.cell == "unpack"
    )
    rows = csv.DictReader(io.StringIO(SAMPLES_CSV))
    expected = sorted(
        (row["cell"], float(row["value"]) * FACTORS[row["unit"]])
        for row in rows
        if (row["cell"], row["metric"]) != ("copy, large", "time")
    )
    assert kept == expected


def test_settings_separate_cells_and_repetitions_share_a_block(tmp_path: Path) -> None:
    result = of_text(tmp_path, SAMPLES_CSV)
    assert (result.tool, result.unread) == ("csv", [])
    assert [(run.cell, run.levels.get("queue depth"), run.kind) for run in result.runs] == [
        ("random read", "8", "iops"),
        ("random read", "8", "iops"),
        ("random read", "32", "iops"),
        ("copy, large", None, "throughput"),
        ("copy, large", None, "throughput"),
        ("unpack", None, "time"),
        ("unpack", None, "time"),
    ]
    assert [run.call for run in result.runs] == [2, 4, 2, 2, 4, 2, 4]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_and_ends_of_lines(tmp_path: Path, separator: str) -> None:
    text = SAMPLES_CSV.replace('"copy, large"', "copy large").replace(",", separator)
    other = of_text(tmp_path, SAMPLES_CSV.replace('"copy, large"', "copy large"))
    assert of_text(tmp_path, "\ufeff" + text.replace("\n", "\r\n")).runs == other.runs


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,1,5,KB/s", "line 2: the unit is 'KB/s'; expected kB/s (1,000 bytes) or KiB/s (1,024 bytes)"),
        ("a,1,5,MBps", "line 2: the unit is 'MBps'; expected MB/s (1,000,000 bytes) or MiB/s"),
        ("a,1,5,M", "expected MB/s"),
        ("a,1,5,furlongs", "line 2: the unit is 'furlongs'; expected B/s, kB/s"),
        ("a,1,5,", "line 2: the unit is ''"),
        ("a,1,5,ms", "line 2: the unit is ms, and no metric says which time; expected a column metric"),
        ("a,1,5,IOPS\na,1,6,IOPS", "line 3: iops of a, repetition 1, is given in line 2 too"),
    ],
)
def test_what_has_two_meanings_is_refused(tmp_path: Path, row: str, words: str) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        of_text(tmp_path, HEAD + row + "\n")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,1,5,MB/s,iops", "iops in MB/s"),
        ("a,1,5,ms,throughput", "throughput in ms"),
        ("a,1,5,ms,latency", "the metric is 'latency'; expected throughput, iops, p99, time, commit_p50"),
    ],
)
def test_a_metric_that_does_not_fit_its_unit_is_refused(tmp_path: Path, row: str, words: str) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        of_text(tmp_path, HEAD.replace("\n", ",metric\n") + row + "\n")


def test_rows_that_are_not_understood_are_listed(tmp_path: Path) -> None:
    rows = [
        "a,1,5,MB/s",
        "a,2,5",
        "a,2,-5,MB/s",
        "a,2,nan,MB/s",
        "a,x,5,MB/s",
        ",3,5,MB/s",
        '"a,3,"5,5",MB/s',
    ]
    result = of_text(tmp_path, HEAD + "\n".join(rows) + "\n")
    assert [run.rate_bytes_per_s for run in result.runs] == [5e6]
    assert [entry.line for entry in result.unread] == [3, 4, 5, 6, 7, 8]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="two columns 'value'"):
        of_text(tmp_path, "cell,repetition,value,unit,Value\na,1,5,MB/s,6\n")


def test_a_session_has_a_name_of_at_most_a_hundred_characters(tmp_path: Path) -> None:
    text = HEAD.replace("\n", ",session\n") + "a,1,5,MB/s,{}\na,1,7,MB/s,tuesday\n"
    result = of_text(tmp_path, text.format(100 * "m"))
    assert [run.session for run in result.runs] == [100 * "m", "tuesday"]
    with pytest.raises(Refused, match="line 2"):
        of_text(tmp_path, text.format(101 * "m"))


def test_latencies_that_are_not_judged_are_kept(tmp_path: Path) -> None:
    text = HEAD.replace("\n", ",metric\n") + "a,1,5,ms,p50\na,1,7,ms,p99\na,1,4000,us,mean\n"
    (run,) = of_text(tmp_path, text).runs
    assert (run.latency_p99_ns, run.quantiles_ns) == (7e6, {"p50": 5e6, "p99": 7e6, "mean": 4e6})


@pytest.mark.parametrize("name", INCIDENTAL)
def test_every_column_is_a_setting_whatever_its_name(tmp_path: Path, name: str) -> None:
    """Also names that distinguish no cells in the files of a tool, in one table and in two."""
    head = HEAD.replace("\n", f",{name}\n")
    tables = {"one": ["a,1,5,MB/s,x", "a,1,6,MB/s,y"], "left": ["a,1,5,MB/s,x"], "right": ["a,1,6,MB/s,y"]}
    for table, rows in tables.items():
        (tmp_path / table).write_text(head + "\n".join(rows) + "\n")
    for files in (["one"], ["left", "right"]):
        found = [result.runs for _, result in read_files([tmp_path / file for file in files])]
        name_settings(found)
        assert [run.cell for runs in found for run in runs] == [
            f"a, column {name} x",
            f"a, column {name} y",
        ]


@pytest.mark.parametrize("files", [1, 2])
def test_repetitions_of_a_cell_with_different_figures_are_refused(tmp_path: Path, files: int) -> None:
    rows = ["x,1,10,MB/s,", "x,2,20,IOPS,"]
    paths = [tmp_path / f"table-{at}.csv" for at in range(files)]
    for path, own in zip(paths, [rows] if files == 1 else [rows[:1], rows[1:]], strict=True):
        path.write_text(HEAD.replace("\n", ",metric\n") + "\n".join(own) + "\n")
    with pytest.raises(Refused, match=r"line [23].*iops of x, of which .*line 2 has throughput"):
        make_study(read_files(paths), tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_a_damaged_file_of_a_tool_adds_no_run_with_another_figure_to_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(
        re.sub(r'"iops" : [1-9][0-9.]*', '"iops" : -1', (SAMPLES / "fio-one-job.json").read_text())
    )
    study = make_study(read_files([SAMPLES / "fio-one-job.json", path]), tmp_path / "study")
    cells = {(sample.cell, sample.metric) for sample in app.load(study.path).samples()}
    name = next(iter(cells))[0].removesuffix(", throughput only")
    assert (name, "ops_per_s") in cells
    assert (f"{name}, throughput only", "rate_bytes_per_s") in cells


def test_settings_may_have_different_figures(tmp_path: Path) -> None:
    text = HEAD.replace("\n", ",depth\n") + "x,1,10,MB/s,1\nx,1,20,IOPS,2\n"
    assert [run.kind for run in of_text(tmp_path, text).runs] == ["throughput", "iops"]
    study = make_study(read_files([tmp_path / "file"]), tmp_path / "study")
    assert {sample.cell for sample in app.load(study.path).samples()} == {"x, depth 1", "x, depth 2"}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_table_with_decimal_commas_is_refused(tmp_path: Path, separator: str) -> None:
    """Its 1.234 may be a thousand, so the rows that look right are not read either."""
    rows = ["a,1,1.234,MB/s", "a,2,1@5,MB/s"]
    text = (HEAD + "\n".join(rows) + "\n").replace(",", separator).replace("@", ",")
    with pytest.raises(Refused, match=r"line 3: the value is '1,5'; expected decimal points"):
        of_text(tmp_path, text)
