"""A copy of a result is no repetition, wherever its lines stand in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mileage.app.importer import read_files
from mileage.errors import Refused
from mileage.formats.input_file import open_source
from mileage.formats.readers import layout_of
from tests.formats.made_results import ELBENCHO_CSV, ELBENCHO_JSON, VDBENCH_50407
from tests.formats.sample_reader import SAMPLES, of
from tests.formats.test_hostile import CORPUS

TEXTS = [name for name, data in CORPUS.items() if not name.endswith((".log", ".xls")) and b"\0" not in data]


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_with_a_blank_line_in_front_is_a_copy(tmp_path: Path, name: str) -> None:
    paths = []
    for folder, before in (("first", b""), ("second", b"\n")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / Path(name).name)
        paths[-1].write_bytes(before + CORPUS[name])
    known = layout_of(open_source(paths[1])) is not None
    with pytest.raises(
        Refused, match="has the same figures" if known else "format of this file is not known"
    ):
        read_files(paths)


def test_the_files_that_vdbench_writes_of_one_run_are_copies(tmp_path: Path) -> None:
    page = "<html><pre>\n" + VDBENCH_50407.replace(
        "16:24:31.001 Starting", '<a name="rd1"></a>16:24:31.001 Starting'
    )
    lines = page.splitlines(keepends=True)
    totals = [
        line
        for line in lines
        if "interval" in line or "rate " in line or "avg_" in line or "Starting" in line
    ]
    for at, other in enumerate((page, "".join(totals))):
        paths = [tmp_path / f"console-{at}.out", tmp_path / f"totals-{at}.html"]
        paths[0].write_text(VDBENCH_50407)
        paths[1].write_text(other)
        with pytest.raises(Refused, match="has the same figures"):
            read_files(paths)


def test_a_file_with_one_run_more_holds_copies(tmp_path: Path) -> None:
    data = CORPUS["sysbench-fileio.out"].decode()
    last = data[data.rindex("sysbench 1.0") :]
    more = re.sub(r"(reads/s: +)[0-9]", r"\g<1>7", last)
    assert more != last
    paths = [tmp_path / "first.out", tmp_path / "both.out"]
    paths[0].write_text(data)
    paths[1].write_text(data + more)
    assert len(of(paths[1]).runs) == len(of(paths[0]).runs) + 1
    for files in (paths, paths[::-1]):
        with pytest.raises(Refused, match="has the same figures"):
            read_files(files)


@pytest.mark.parametrize("order", [1, -1])
def test_elbencho_writes_one_call_to_two_files(tmp_path: Path, order: int) -> None:
    """The CSV file has whole MiB, so its rates are not those of the JSON file."""
    paths = [tmp_path / "e.csv", tmp_path / "e.json"]
    paths[0].write_text(ELBENCHO_CSV)
    paths[1].write_text(ELBENCHO_JSON)
    assert of(paths[0]).runs[0].rate_bytes_per_s != of(paths[1]).runs[0].rate_bytes_per_s
    with pytest.raises(Refused, match="has the same figures"):
        read_files(paths[::order])
    paths[0].write_text(ELBENCHO_CSV.replace(",40201,", ",40202,"))
    assert len(read_files(paths)) == 2


def test_the_text_and_the_json_of_one_call_of_fio_are_one_run(tmp_path: Path) -> None:
    """All runs of one file are in the other one; a call with another count of operations is a repetition."""
    paths = [SAMPLES / "fio-status.out", tmp_path / "status.json"]
    (run,) = of(paths[0]).runs
    job = {
        "jobname": "four",
        "groupid": 0,
        "job options": {"rw": "randread", "bs": "4k", "numjobs": "2"},
        "read": {
            "io_bytes": run.bytes_read,
            "total_ios": run.ops_read,
            "bw_bytes": round(run.rate_bytes_per_s or 0),
            "iops": round(run.ops_per_s or 0, 1),
            "runtime": 3001,
        },
    }
    for ops, same in ((run.ops_read, True), ((run.ops_read or 0) + 1, False)):
        job["read"]["total_ios"] = ops
        paths[1].write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job]}))
        assert [other.cell for other in of(paths[1]).runs] == [run.cell]
        if same:
            with pytest.raises(Refused, match="has the same figures"):
                read_files(paths)
        else:
            assert len(read_files(paths)) == 2
