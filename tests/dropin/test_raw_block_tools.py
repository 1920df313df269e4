"""`mileage export raw` of hdparm, dd and IOMeter: each file holds the figures of its run's record.

IOMeter's files are read by the importer; hdparm's and dd's lines by a pattern, as no importer takes them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage import app
from mileage.model.run_record import RunRecord
from mileage.store import StudyFolder
from tests.command import mileage
from tests.dropin.test_iometer import ICF
from tests.formats.sample_reader import of

STUDY = """
name = "blocks"
seed = 7
target = "virtual:intel-x25e-64gb@phenom-8gib,scale=1/64"
state = { start = "purged", cache = "warm", file = "4MiB" }
stage = [{ name = "before", measure = ["timings", "copies", "mixes"] }]

[measure.timings]
workload = "hdparm.*"
stop = { bytes = "2MiB" }
repeat = 2

[measure.copies]
workload = "dd.*"
stop = { bytes = "2MiB" }
repeat = 1

[measure.mixes]
workload = "iometer.*"
stop = { operations = 200 }
repeat = 1
"""
HDPARM = re.compile(
    r"\n(.+):\n Timing (cached|buffered disk|O_DIRECT disk|O_DIRECT cached) reads: +"
    r"(\d+) MB in +([\d.]+) seconds = +([\d.]+) (MB|kB)/sec\n"
)
DD = re.compile(
    r"(\d+)\+0 records in\n\1\+0 records out\n(\d+) bytes (?:\(.+\) )?copied, ([\d.e-]+) s, ([\d.]+) ([kMG]?B)/s\n"
)
UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def exported(study: Path) -> dict[str, Path]:
    """The raw outputs of a study, by name."""
    done = mileage("export", "raw", str(study), "--out", str(study.parent / "out"))
    assert done.returncode == 0, done.stderr
    return {path.name: path for path in (study.parent / "out").iterdir() if path.name != "README.md"}


def records_of(study: Path) -> dict[str, RunRecord]:
    """The measured runs, by the words of the cell and the number of the repetition."""
    runs = [run for run in StudyFolder.open(study).content().runs() if run.role == "measure"]
    return {f"{_words(run.cell)}.{run.stage}.{run.block}.txt": run.record for run in runs}


def _words(cell: str) -> str:
    return re.sub("[^A-Za-z0-9_-]+", "-", cell.replace(".", "_"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blocks")
    (place / "blocks.toml").write_text(STUDY)
    app.run(str(place / "blocks.toml"), out=place / "study", report="none")
    return place / "study"


@pytest.fixture(scope="module")
def files(study: Path) -> dict[str, Path]:
    return exported(study)


def check_hdparm(text: str, record: RunRecord) -> None:
    """One timing, with the bytes and the time of its record."""
    found = HDPARM.fullmatch(text)
    assert found, text
    assert int(found[3]) == record.bytes_read >> 20
    rate = record.bytes_read / 2**20 / record.elapsed_s
    assert float(found[5]) * (1.0 if found[6] == "MB" else 1 / 1024) == pytest.approx(rate, rel=0.01)


def check_dd(text: str, record: RunRecord) -> None:
    """The three lines of a copy, with the bytes and the time of its record."""
    found = DD.fullmatch(text)
    assert found, text
    assert int(found[2]) == record.bytes_moved
    assert int(found[1]) == record.operations
    assert float(found[3]) == pytest.approx(record.elapsed_s, rel=1e-4)
    assert float(found[4]) * UNITS[found[5]] == pytest.approx(record.bytes_moved / record.elapsed_s, rel=0.05)


def check_iometer(path: Path, record: RunRecord) -> None:
    """What the importer reads of a row is in the record."""
    result = of(path)
    assert (result.tool, result.unread) == ("iometer", [])
    (row,) = result.runs
    assert row.rate_bytes_per_s == pytest.approx(record.bytes_moved / record.elapsed_s, rel=1e-3)
    assert row.ops_per_s == pytest.approx(record.operations / record.elapsed_s, rel=1e-3)


def test_each_cell_and_run_has_a_file(study: Path, files: dict[str, Path]) -> None:
    assert files.keys() == records_of(study).keys()
    tools = [name.partition("_")[0] for name in files]
    assert {tool: tools.count(tool) > 1 for tool in set(tools)} == dict.fromkeys(
        ("hdparm", "dd", "iometer"), True
    )


@pytest.mark.parametrize("tool", ["hdparm", "dd", "iometer"])
def test_the_file_has_the_figures_of_the_record(study: Path, files: dict[str, Path], tool: str) -> None:
    records = records_of(study)
    names = [name for name in files if name.startswith(tool)]
    assert names
    for name in names:
        if tool == "iometer":
            check_iometer(files[name], records[name])
        else:
            {"hdparm": check_hdparm, "dd": check_dd}[tool](files[name].read_text(), records[name])


def test_studies_that_the_commands_keep_are_exported_as_their_tool(tmp_path: Path) -> None:
    (tmp_path / "t.icf").write_text(ICF)
    for words in (
        "hdparm -t virtual:plain-64gib --study hdparm/study",
        "dd if=/dev/zero of=copy bs=64k count=16 --study dd/study",
        "iometer -t virtual:plain-64gib --study iometer/study t.icf",
    ):
        tool = words.split()[0]
        (tmp_path / tool).mkdir()
        done = mileage(*words.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        records = list(records_of(tmp_path / tool / "study").values())
        paths = sorted(exported(tmp_path / tool / "study").values())
        assert len(paths) == len(records) == (2 if tool == "iometer" else 1)
        for path, record in zip(paths, records, strict=True):
            if tool == "iometer":
                check_iometer(path, record)
            else:
                {"hdparm": check_hdparm, "dd": check_dd}[tool](path.read_text(), record)
                # dd prints of its run what the file has.
                assert tool != "dd" or path.read_text() in done.stderr
