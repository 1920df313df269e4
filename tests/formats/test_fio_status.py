"""Documents of one run of fio are distinguished from documents of several runs, whatever else is in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mileage.formats.result import Result
from tests.answers import fio_report
from tests.formats.sample_reader import of

BEGIN_S = 1_700_000_000


def status(
    at_s: int, iops: float = 1000, begin_s: int = BEGIN_S, runtime_s: int | None = None
) -> dict[str, Any]:
    """What fio printed `at_s` seconds after it began."""
    runtime_ms = 1000 * (at_s if runtime_s is None else runtime_s)
    job = fio_report.job("one", iops=iops, runtime_ms=runtime_ms, clat_ns=0.95e9 / iops)
    job["elapsed"] = at_s + 1
    return fio_report.report([job], begin_s + at_s)


def read(folder: Path, *documents: dict[str, Any]) -> Result:
    return of(folder / fio_report.save(folder / "status.json", *documents))


def test_the_last_status_report_of_each_run_is_kept(tmp_path: Path) -> None:
    first = [status(at) for at in (1, 2, 3)]
    second = [status(at, iops=900, begin_s=BEGIN_S + 100) for at in (1, 2, 3)]
    result = read(tmp_path, *first, *second)
    assert [run.ops_per_s for run in result.runs] == [1000, 900]
    assert [run.elapsed_s for run in result.runs] == [3, 3]
    assert all("3 status reports of one run" in run.notes[0] for run in result.runs)


@pytest.mark.parametrize("between_s", [1, 2, 30])
def test_short_runs_one_after_another_are_repetitions(tmp_path: Path, between_s: int) -> None:
    runs = [status(1, iops=1000 + at, begin_s=BEGIN_S + at * (1 + between_s)) for at in range(5)]
    assert len(read(tmp_path, *runs).runs) == 5


def test_a_job_that_ended_before_others_belongs_to_the_run(tmp_path: Path) -> None:
    documents = [status(at) for at in (2, 4, 6)]
    for document, runtime_s in zip(documents, (2, 3, 3), strict=True):
        document["jobs"].append(fio_report.job("other", rw="randwrite", runtime_ms=1000 * runtime_s))
        document["jobs"][1]["elapsed"] = document["jobs"][0]["elapsed"]
    result = read(tmp_path, *documents)
    assert [run.elapsed_s for run in result.runs] == [6, 3]


def test_reports_of_clients_have_no_elapsed_time(tmp_path: Path) -> None:
    documents = [status(at) for at in (1, 2, 3)]
    for document in documents:
        (job,) = document["client_stats"] = document.pop("jobs")
        del job["elapsed"], document["timestamp_ms"]
        job["hostname"] = "node"
    assert [run.elapsed_s for run in read(tmp_path, *documents).runs] == [3]


def test_a_torn_last_report_costs_the_time_since_the_one_before(tmp_path: Path) -> None:
    documents = [status(at) for at in (1, 2)]
    for document in documents:
        document["jobs"].append(fio_report.job("other", rw="randwrite", runtime_ms=1000))
        document["jobs"][1]["elapsed"] = document["jobs"][0]["elapsed"]
    path = tmp_path / fio_report.save(tmp_path / "status.json", *documents)
    text = path.read_text()
    path.write_text(text[: text.rindex('"jobname": "other"')])
    result = of(path)
    assert [run.elapsed_s for run in result.runs] == [1, 1]
    assert any("is damaged" in text for text in result.lost)


def test_documents_without_a_time_are_runs(tmp_path: Path) -> None:
    documents = [status(at) for at in (1, 2)]
    for document in documents:
        del document["timestamp"], document["timestamp_ms"]
    assert len(read(tmp_path, *documents).runs) == 2
