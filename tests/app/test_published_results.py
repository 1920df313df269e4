"""A study next to what its source printed: which cells are matched, what is read of them, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mileage import app
from mileage.app.published_results import compare_published
from mileage.errors import Refused
from mileage.formats.published_results import COLUMNS, published_names, read_published_study
from mileage.plan import builtin_names
from mileage.report.charts import published_ranges
from mileage.report.published_results import published_results_csv, published_results_text
from mileage.report.published_results_page import render

STUDY = """
name = "small"
target = "virtual:plain-64gib"
seed = 4
[[stage]]
name = "one"
measure = ["m"]
[measure.m]
workload = ["throughput.write", "throughput.read"]
record = ["64KiB", "1MiB"]
stop = { bytes = "16MiB" }
repeat = 5
[factor.drive]
kind = "target"
levels = { fast = "virtual:plain-64gib", slow = "virtual:plain-64gib,channel_mb_per_s=20" }
[compare]
arms = "drive"
baseline = "fast"
candidate = "slow"
"""
STRESSED = """
name = "stressed"
target = "virtual:intel-x25e-64gb@phenom-8gib"
scale = "1/64"
seed = 4
published = "x25e-2010"
[state]
cache = "warm"
file = "16GiB"
[[stage]]
name = "before"
measure = ["m", "small"]
[[stage]]
name = "torture"
measure = ["ior"]
[[stage]]
name = "after"
measure = "before"
[measure.m]
workload = ["iozone.read", "iozone.stride_read", "iozone.random_write"]
record = "4MiB"
fidelity = true
repeat = 2
[measure.small]
workload = ["iozone.random_read", "iozone.random_write"]
record = "32KiB"
fidelity = true
sync = "fsync"
repeat = 2
[measure.ior]
workload = "ior.*"
record = "256KiB"
block = "1MiB"
segments = 1400
threads = 4
files = "per_thread"
repeat = 1
"""
HEAD = ",".join(COLUMNS)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    (folder / "small.toml").write_text(STUDY)
    app.run(str(folder / "small.toml"), out=folder / "study", report="none")
    return folder / "study"


def published(folder: Path, *rows: str) -> str:
    path = folder / "source.csv"
    path.write_text("# A source.\n" + "\n".join([HEAD, *rows]) + "\n")
    return str(path)


def row(**fields: str) -> str:
    return ",".join(fields.get(column, "") for column in COLUMNS)


def test_changes_rates_and_ratios_are_those_of_the_cells_that_are_named(study: Path, tmp_path: Path) -> None:
    """Oracle: the samples of the study, averaged here."""
    cell = {"workload": "throughput.write", "use": "predicted"}
    small = {"record": "64KiB", "low": "1", "high": "1", "levels": "drive=slow"}
    reads = {"workload": "throughput.read", "over": "drive=fast", "unit": "ratio", "use": "fitted: x"}
    change = {"record": "1MiB", "low": "-90", "high": "-10", "unit": "change %", "verdict": "changed"}
    name = published(
        tmp_path,
        row(**cell | change),
        row(**cell | small | {"unit": "MB/s"}),
        row(**small | reads),
        row(**cell | {"record": "4KiB", "unit": "change %", "verdict": "same"}),
    )
    found = compare_published(study, name)
    slower, rate, ratio, missing = found.results
    result = app.load(study)

    def mean(cell: str) -> float:
        values = [
            one.value for one in result.samples() if one.cell == cell and one.metric == "rate_bytes_per_s"
        ]
        assert len(values) == 5
        return sum(values) / 5

    assert rate.found == pytest.approx(mean("throughput.write 64 KiB, drive slow") / 1e6)
    assert ratio.found == pytest.approx(
        mean("throughput.read 64 KiB, drive slow") / mean("throughput.read 64 KiB, drive fast")
    )
    verdict = next(
        one for one in result.comparison().cells
        if one.cell == "throughput.write 1 MiB" and one.metric == "rate_bytes_per_s"
    )  # fmt: skip
    assert verdict.ratio is not None
    assert slower.found == pytest.approx(100 * (verdict.ratio - 1))
    assert (slower.published_reading, slower.found_reading) == ("slower", "slower")
    assert (missing.found, missing.missing) == (None, "not compared in this study")
    assert [share.of for share in found.scores] == [1, 1, 1, 1, 1], "the fitted ratio does not count"
    text = published_results_text(found, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "no counterpart in this study: 1" in " ".join(text.split())
    rows = list(csv.DictReader(published_results_csv(found).splitlines()))
    assert [line["agrees"] for line in rows] == ["true", "false", "false", ""]
    page = render(found, [])
    assert "A source." in page
    assert "drive slow" in page


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"workload": "w", "unit": "furlongs"}, "unit: found 'furlongs'"),
        ({"workload": "w", "unit": "change %"}, "verdict: found nothing"),
        ({"workload": "w", "unit": "MB/s"}, "only changes may be stated in words"),
        ({"workload": "w", "unit": "MB/s", "low": "2", "high": "1"}, "the lower first"),
        ({"workload": "w", "unit": "MB/s", "low": "x", "high": "1"}, "low: found 'x'"),
        ({"workload": "w", "unit": "MB/s", "low": "0", "high": "1"}, "a number above 0"),
        ({"workload": "w", "unit": "MB/s", "low": "1", "high": "nan"}, "a number above 0"),
        (
            {"workload": "w", "unit": "change %", "verdict": "changed", "low": "-100", "high": "1"},
            "above -100",
        ),
        ({"workload": "w", "unit": "MB/s", "low": "1", "high": "1", "spread": "-1"}, "a number 0 or more"),
        ({"workload": "w", "unit": "ratio", "low": "1", "high": "1"}, "over: found nothing"),
        ({"workload": "w", "unit": "MB/s", "low": "1", "high": "1", "record": "4K"}, "record"),
        ({"workload": "w", "unit": "MB/s", "low": "1", "high": "1", "levels": "slow"}, "factor=level"),
        ({"workload": "w", "unit": "MB/s", "low": "1", "high": "1", "threads": "two"}, "a whole number"),
        ({"workload": "w\x1b[2J", "unit": "MB/s", "low": "1", "high": "1"}, "without control characters"),
    ],
)
def test_a_row_that_cannot_be_judged_is_refused_with_its_line(
    fields: dict[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="line 3") as refused:
        read_published_study(published(tmp_path, row(**fields)))
    assert words in str(refused.value)


def test_a_study_shows_what_the_source_printed_that_it_repeats(tmp_path: Path) -> None:
    """Oracle: the same study next to the source by command."""
    (tmp_path / "short.toml").write_text(STRESSED)
    result = app.run(str(tmp_path / "short.toml"), out=tmp_path / "study", report="text")
    found = compare_published(tmp_path / "study", "x25e-2010")
    assert result.view().published == found
    text = " ".join(result.text().split())
    assert "Published (J. Layton, " in text
    assert "iozone.stride_read 4 MiB -23 to -22 % " in text
    page = (tmp_path / "study" / "report.html").read_text()
    assert "4 of these 5 tests changed, by -23 to +14.26 %" in page
    assert "Published and here" in page
    low, high = published_ranges(result.view())["iozone.stride_read 4 MiB", "rate_bytes_per_s"]
    assert (round(low, 6), round(high, 6)) == (0.77, 0.78)


def test_a_study_that_repeats_an_unknown_source_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(STUDY.replace("seed = 4", 'seed = 4\npublished = "../x25e-2010"'))
    with pytest.raises(
        Refused, match=r"line 5: published: found '\.\./x25e-2010', expected one of anandtech-2009"
    ):
        app.plan(str(path))


def test_a_study_without_two_arms_repeats_no_source(tmp_path: Path) -> None:
    alone = STUDY[: STUDY.index("[factor.drive]")].replace("seed = 4", 'seed = 4\npublished = "x25e-2010"')
    (tmp_path / "small.toml").write_text(alone)
    with pytest.raises(Refused, match="line 5: published: has no effect on a study that compares nothing"):
        app.plan(str(tmp_path / "small.toml"))


def test_a_result_that_names_several_cells_and_a_study_without_its_cells_are_refused(
    study: Path, tmp_path: Path
) -> None:
    several = row(workload="throughput.write", low="1", high="1", unit="MB/s", use="predicted")
    with pytest.raises(Refused, match="names several cells"):
        compare_published(study, published(tmp_path, several))
    with pytest.raises(Refused, match="has none of the cells"):
        compare_published(study, "x25e-2010")
    with pytest.raises(Refused, match="did you mean x25e-2010"):
        compare_published(study, "x25-2010")


@pytest.mark.parametrize("name", published_names())
def test_each_shipped_source_can_be_read_and_names_itself(name: str) -> None:
    found = read_published_study(name)
    assert found.source
    assert found.results
    cells = [
        (one.workload, one.record_bytes, one.threads, *one.levels.items(), *one.over.items(), one.unit)
        for one in found.results
    ]
    assert len(set(cells)) == len(cells)
    if name in builtin_names():
        planned = {cell.key.workload for cell in app.plan(name).cells}
        assert {one.workload for one in found.results} <= planned
