"""A p99 of fewer than 1,000 operations is neither judged nor printed, at any door."""

from __future__ import annotations

import json
from csv import DictReader
from pathlib import Path

import pytest

from mileage.analysis.journal_reader import read
from mileage.app import run
from mileage.app.importer import make_study, read_files
from mileage.app.result import StudyResult, load
from tests.command import mileage

SAMPLE = Path(__file__).parent.parent / "formats" / "samples" / "fio-one-job.json"
STUDY = """
name = "few"
question = "Is a p99 of too few operations judged?"
target = "virtual:plain-64gib"

[factor.depth]
key = "depth"
levels = {{ shallow = 1, deep = 2 }}

[measure.reads]
workload = "random_read"
record = "4KiB"
span = "64MiB"
repeat = 3
metric = ["iops", "p99"]
stop = {{ operations = {operations} }}

[[stage]]
name = "only"
measure = ["reads"]

[compare]
arms = "depth"
baseline = "shallow"
candidate = "deep"
"""


def p99_of(result: StudyResult) -> int:
    """The number of judged p99."""
    return sum(one.metric == "latency_p99_ns" for one in result.samples())


@pytest.mark.parametrize(("counts", "judged"), [([1000, 1000], 2), ([1000, 999], 0), ([300], 0)])
def test_an_import_with_too_few_has_none(tmp_path: Path, counts: list[int], judged: int) -> None:
    """The run with 1,000 is not judged alone either: with a time limit it would be the faster one."""
    paths = []
    for at, count in enumerate(counts):
        output = json.loads(SAMPLE.read_text())
        output["jobs"][0]["read"] |= {"total_ios": count, "io_bytes": 4096 * count, "bw_bytes": 10**6 + at}
        paths.append(tmp_path / f"{at}.json")
        paths[-1].write_text(json.dumps(output))
    result = load(make_study(read_files(paths), tmp_path / "study").path)
    assert p99_of(result) == judged
    found = read(result.plan, result.content()).few_operations
    assert found == ({} if judged else {("fio.randread 4 KiB", "p99"): min(counts)})
    result.write_report("text")
    with (tmp_path / "study" / "tables" / "imported.csv").open(newline="") as file:
        (row,) = DictReader(file)
    assert (row["latency_p99_ns"] == "") == (max(counts) < 1000)
    head = next(line for line in result.text().splitlines() if line.strip().startswith("runs "))
    assert ("p99" in head.split()) == (max(counts) >= 1000)


@pytest.mark.parametrize(("operations", "judged"), [(1000, 6), (999, 0)])
def test_a_study_with_too_few_judges_its_rates_alone(tmp_path: Path, operations: int, judged: int) -> None:
    path = tmp_path / "few.toml"
    path.write_text(STUDY.format(operations=operations))
    result = run(str(path), out=tmp_path / "out")
    assert p99_of(result) == judged
    assert {cell.metric for cell in result.comparison().cells} == {
        "ops_per_s",
        *(["latency_p99_ns"] if judged else []),
    }
    found = result.reading().few_operations
    assert found == ({} if judged else {(cell.label, "p99"): operations for cell in result.plan.cells})


@pytest.mark.parametrize("operations", [200, 199])
def test_measure_and_check_print_what_is_supported(tmp_path: Path, operations: int) -> None:
    """Five runs are one histogram: 1,000 operations, or 995."""
    words = ("-t", "virtual:plain-64gib", "-n", "5", "--operations", str(operations))
    done = mileage("measure", *words, "--json", cwd=tmp_path)
    (cell,) = json.loads(done.stdout)
    assert (cell["latency"]["read"]["p99_ns"] is None) == (operations < 200)
    text = mileage("measure", *words, cwd=tmp_path).stdout
    assert ("p99 needs 1,000" in text) == (operations < 200)


def test_check_leaves_a_quantile_open(tmp_path: Path) -> None:
    """A tenth of a second at 4.2 ms each is 24 operations, five times."""
    words = ("check", "virtual:intel-x25e-64gb", "--seconds", "0.1")
    rows = json.loads(mileage(*words, "--json", cwd=tmp_path).stdout)["rows"]
    slow = [row for row in rows if row["name"] == "SEQ 1 MiB" and row["depth"] == 1]
    assert [row["p99_us"] for row in slow] == [None] * 2
    assert all(row["p50_us"] is not None for row in slow)
    assert "(-: too few operations)" in " ".join(mileage(*words, cwd=tmp_path).stdout.split())
