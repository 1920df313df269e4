"""`mileage export raw`: a file for each cell and run, which the importers read to the record's own figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage import app
from mileage.dropin.tool_texts import raw_outputs
from mileage.errors import Refused
from mileage.formats.raw_print import CLASSES, SqlioRun, shares_of, sqlio_text
from mileage.model.histogram import Histogram, bucket_of
from mileage.model.run_record import RunRecord
from mileage.store import StudyFolder
from tests.command import mileage
from tests.formats.sample_reader import of

HOST = "virtual:intel-x25e-64gb@phenom-8gib,scale=1/64"
STUDY = f"""
name = "raw"
seed = 5
target = "{HOST}"
state = {{ start = "purged", cache = "warm", file = "4MiB" }}
stage = [{{ name = "before", measure = ["meta", "tree", "zone", "ranks", "sql", "plain"] }}]

[measure.meta]
workload = ["metarates.create", "metarates.stat", "metarates.utime"]
threads = [1, 2, 4]
stop = {{ operations = 8, at_least = "5 ms" }}
repeat = 2

[measure.tree]
workload = "mdtest.*"
threads = 2
stop = {{ operations = 40 }}
repeat = 1

[measure.zone]
workload = ["iozone.write", "iozone.read", "iozone.random_read"]
record = "64KiB"
threads = [1, 2]
fidelity = true
repeat = 1

[measure.ranks]
workload = "ior.*"
record = "64KiB"
block = "256KiB"
threads = 2
repeat = 1

[measure.sql]
workload = "sqlio.random_write"
stop = {{ operations = 300 }}
repeat = 1

[measure.plain]
workload = "throughput.write"
record = "1MiB"
stop = {{ bytes = "2MiB" }}
repeat = 1
"""
NAMES = {
    *(f"metarates.np_{tasks}.before.{run}.txt" for tasks in (1, 2, 4) for run in (1, 2)),
    "mdtest.np_2.before.1.txt",
    *(f"iozone-64-KiB-{tasks}.before.1.{e}" for tasks in ("1-thread", "2-threads") for e in ("txt", "wks")),
    "ior-64-KiB.np_2.before.1.txt",
    "sqlio_random_write-8-KiB.before.1.txt",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("raw")
    (place / "raw.toml").write_text(STUDY)
    app.run(str(place / "raw.toml"), out=place / "study", report="none")
    return place / "study"


@pytest.fixture(scope="module")
def out(study: Path) -> Path:
    done = mileage("export", "raw", str(study), "--out", str(study.parent / "out"))
    assert done.returncode == 0, done.stderr
    assert "throughput.write 1 MiB: of no tool" in done.stderr
    return study.parent / "out"


def records(study: Path, cell: str, block: int) -> dict[str, RunRecord]:
    """The records of one run of a set of tests, by test."""
    (entry,) = [
        run for run in StudyFolder.open(study).content().runs() if (run.cell, run.block) == (cell, block)
    ]
    return {result.name: result.record for result in entry.record.results}


def test_each_cell_and_run_has_a_file_with_both_in_its_name(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == NAMES | {"README.md"}


@pytest.mark.parametrize(("tasks", "cell"), [(1, "metarates 1 thread"), (4, "metarates 4 threads")])
def test_metarates_rates_are_the_slowest_tasks_times_the_tasks(
    study: Path, out: Path, tasks: int, cell: str
) -> None:
    result = of(out / f"metarates.np_{tasks}.before.2.txt")
    assert result.unread == []
    found = {run.cell: run.ops_per_s for run in result.runs}
    expected = {
        name: tasks
        * min(t.operations * 1e9 / (t.operate_ns[1] - t.operate_ns[0]) for t in one.tasks if t.operate_ns)
        for name, one in records(study, cell, 2).items()
    }
    assert found == pytest.approx(expected)
    assert {run.levels["processes"] for run in result.runs} == {str(tasks)}


def test_metarates_has_one_number_of_files_at_all_numbers_of_tasks(out: Path) -> None:
    heads = {
        line
        for path in out.glob("metarates.*")
        for line in path.read_text().splitlines()
        if "total number" in line
    }
    assert len(heads) == 1
    assert int(heads.pop().split()[-1]) > 8


@pytest.mark.parametrize(
    "name", sorted(name for name in NAMES if name.startswith(("mdtest", "iozone", "ior")))
)
def test_the_importers_read_every_line(study: Path, out: Path, name: str) -> None:
    result = of(out / name)
    assert result.tool == name.partition("-")[0].partition(".")[0]
    assert result.unread == []
    if name.startswith(("iozone-64-KiB-1", "ior")):
        cell = name.partition(".")[0].replace("-", " ").replace("KiB 1", "KiB, 1")
        rates = sorted(one.bytes_moved * 1e9 / one.elapsed_ns for one in records(study, cell, 1).values())
        assert sorted(run.rate_bytes_per_s or 0.0 for run in result.runs) == pytest.approx(rates, rel=0.01)


def test_sqlios_histogram_counts_whole_milliseconds(study: Path, out: Path) -> None:
    lines = (out / "sqlio_random_write-8-KiB.before.1.txt").read_text().splitlines()
    assert (
        lines[-2] == "ms: " + "  ".join(map(str, range(10))) + " " + " ".join(map(str, range(10, 25))) + "+"
    )
    shares = [int(lines[-1][2 + 3 * at : 5 + 3 * at]) for at in range(CLASSES)]
    done = mileage("export", "json", str(study), "--out", str(study.parent / "tables"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((study.parent / "tables" / "latency.json").read_text())
    mine = [row for row in rows if row["cell"].startswith("sqlio") and row["direction"] == "write"]
    total = sum(row["count"] for row in mine)
    for at, share in enumerate(shares):
        inside = sum(row["count"] for row in mine if min(row["low_ns"] // 1_000_000, 24) == at)
        assert share == round(100 * inside / total)
    assert total == 300


def test_sqlios_lines_have_its_columns() -> None:
    values = [400_000] * 81 + [1_500_000] * 15 + [2_999_000] * 2 + [30_000_000] * 2
    latency = Histogram(
        count=len(values),
        sum_ns=sum(values),
        min_ns=min(values),
        max_ns=max(values),
        buckets=sorted((bucket_of(value), values.count(value)) for value in set(values)),
    )
    assert shares_of(latency) == [81, 15, 2, *[0] * 21, 2]
    run = SqlioRun(2, "writing", "random", 65536, 8, "/mnt/x", 2.0, 7054, 7054 * 65536, latency)
    assert sqlio_text(run).splitlines() == [
        "2 threads writing for 2 secs to file /mnt/x",
        "\tusing 64KB random IOs",
        "\tenabling multiple I/Os per thread with 8 outstanding",
        "CUMULATIVE DATA:",
        "throughput metrics:",
        "IOs/sec:  3527.00",
        "MBs/sec:   220.44",
        "latency metrics:",
        "Min_Latency(ms): 0",
        "Avg_Latency(ms): 1",
        "Max_Latency(ms): 30",
        "histogram:",
        "ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+",
        "%: 81 15  2" + "  0" * 21 + "  2",
    ]
    assert "%:100" in sqlio_text(SqlioRun(1, "reading", "random", 8192, 1, "x", 1.0, 1, 8192, HALF))


HALF = Histogram(count=1, sum_ns=5, min_ns=5, max_ns=5, buckets=[(5, 1)])


def test_a_study_of_no_tool_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f"""
name = "s"
seed = 5
target = "{HOST}"
state = {{ start = "purged", cache = "warm", file = "4MiB" }}
stage = [{{ name = "before", measure = ["plain"] }}]
[measure.plain]
workload = "throughput.write"
record = "1MiB"
stop = {{ bytes = "2MiB" }}
repeat = 1
"""
    )
    app.run(str(tmp_path / "s.toml"), out=tmp_path / "study", report="none")
    with pytest.raises(Refused, match="has no finished run of a tool's workload"):
        raw_outputs(tmp_path / "study")
