"""`mileage endurance convert` and `life`: figures, units, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import mileage
from tests.execute.conftest import Small


@pytest.mark.parametrize(
    "words",
    [
        ["--dwpd", "3"],
        ["--tbw", "2190TB"],
        ["--tbw", "2.19PB"],
        ["--writes", "1.2 TB/day"],
        ["--writes", "21 drive writes/week"],
        ["--writes", "438 TB/year"],
        ["--cycles", "5475"],
        ["--cycles", "10950", "--wa", "2"],
        ["--cycles", "2737.5", "--raw", "800GB"],
    ],
)
def test_every_statement_of_one_endurance_is_converted_to_the_same(words: list[str]) -> None:
    done = mileage("endurance", "convert", "--capacity", "400GB", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rated_bytes"] == pytest.approx(2190e12)
    assert found["drive_writes_per_day"] == pytest.approx(3)
    assert found["drive_writes_per_week"] == pytest.approx(21)
    assert found["bytes_per_day"] == pytest.approx(1.2e12)
    assert found["bytes_per_year"] == pytest.approx(438e12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("convert --capacity 400GB", "found none; expected one of --tbw"),
        ("convert --capacity 400GB --dwpd 3 --cycles 5", "found --dwpd and --cycles"),
        ("convert --capacity 400G --dwpd 3", "--capacity: '400G' is not a size"),
        ("convert --capacity 0B --dwpd 3", "a size above 0"),
        ("convert --capacity 400GB --writes 5", "--writes: '5' is not a rate of writing"),
        ("life --tbw 600TB --writes 5TB/year", "--capacity: the drive is not known"),
        ("life --capacity 1TB --tbw 600TB", "--writes: the rate of writing is not known"),
        ("life -d optane-16g --writes 5TB/year", "did you mean 'optane-16gb'?"),
    ],
)
def test_what_cannot_be_converted_is_refused(words: str, message: str) -> None:
    done = mileage("endurance", *words.split())
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_the_life_of_a_drive_in_one_sentence() -> None:
    done = mileage("endurance", "life", "--capacity", "1TB", "--tbw", "600TB", "--writes", "60TB/year")
    assert done.returncode == 0, done.stderr
    assert "reaches its rated endurance in 10 years." in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_write_amplification_comes_from_a_study(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    done = mileage("run", *Small(tmp_path).virtual(), "--out", str(folder), env={"MILEAGE_REPORT": "none"})
    assert done.returncode == 0, done.stderr
    words = [
        "endurance",
        "life",
        "-d",
        "intel-x25e-64gb",
        "--writes",
        "1 DWPD",
        "--wa-from",
        str(folder),
        "--json",
    ]
    found = json.loads(mileage(*words).stdout)
    (row,) = json.loads(
        mileage(
            "query",
            "SELECT sum(value) FILTER (counter = 'flash_bytes_programmed') AS medium, "
            "sum(value) FILTER (counter = 'host_bytes_written') AS host FROM counters",
            str(folder),
            "--json",
        ).stdout
    )
    assert found["write_amplification"] == pytest.approx(row["medium"] / row["host"])
