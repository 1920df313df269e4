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
        ("convert --capacity 400GB", "give one of --tbw, --dwpd, --writes and --cycles; found none"),
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


def test_a_drive_in_use_is_recognised_and_its_counters_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {
        "target.drive_model": "Samsung SSD 960 PRO 512GB",
        "now.health_data_units_written": str(200 * 10**12 // 512_000),
        "now.health_percentage_used": "30",
        "now.health_power_on_hours": str(365 * 24),
    }
    monkeypatch.setattr("mileage.store.drive_facts.drive_facts", lambda place: facts)
    found = json.loads(mileage("endurance", "life", "-t", ".", "--json").stdout)
    # 200 TB in a year, of 400: another year. Of the cells 30 % are used.
    assert found["title"] == "Samsung 960 Pro 512 GB"
    assert found["bytes_per_year"] == pytest.approx(200e12, rel=1e-6)
    assert found["years"] == pytest.approx(1, rel=1e-6)
    shares = [measure["used_share"] for measure in found["measures"]]
    assert shares == pytest.approx([0.5, 0.5, 0.3], rel=1e-6)
    text = mileage("endurance", "life", "-t", ".").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "reaches its rated endurance in 1 year." in " ".join(text.split())


def test_a_cap_in_drive_writes_limits_a_measurement() -> None:
    # 74 MB/s; without the limit the drive does 200.
    words = [
        "measure",
        "-t",
        "virtual:intel-x25e-64gb",
        "-w",
        "throughput.write",
        "--size",
        "64MiB",
        "--json",
    ]
    capped = json.loads(mileage(*words, "--cap", "100 drive writes/day").stdout)
    (cell,) = capped
    assert cell["rate_bytes_per_s"][0] == pytest.approx(100 * 64e9 / 86_400, rel=0.03)
    refused = mileage(*words, "--cap", "100 drives/day")
    assert refused.returncode == 2
    assert 'or drive writes such as "1 drive write/day"' in refused.stderr
