"""What a user asks about units: GB and GiB, and the same figure in text, JSON, CSV and tables."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_json
from tests.command import mileage

GIB = 2**30


def test_a_gibibyte_in_two_seconds_is_512_mib_per_second(tmp_path: Path) -> None:
    """What is the rate of 1 GiB in 2 s?

    Truth: 512 MiB/s, and 537 MB/s of 10^6 bytes, by arithmetic.
    """
    line = f"{GIB} bytes (1.1 GB, 1.0 GiB) copied, 2 s, 537 MB/s\n"
    (tmp_path / "dd.out").write_text("1024+0 records in\n1024+0 records out\n" + line)
    printed = ask("import", "dd.out", "--out", "out", cwd=tmp_path)
    (row,) = [line for line in printed.splitlines() if line.startswith("dd.")]
    assert row.split()[-2:] == ["512", "537"]
    (value,) = ask_json("query", "SELECT value FROM samples WHERE metric LIKE 'rate%'", "out", cwd=tmp_path)
    assert value["value"] == GIB / 2


@pytest.mark.parametrize(
    ("size", "operations"), [("4MiB", 1024), ("4096kB", 1000), ("4096000B", 1000), ("0.00390625GiB", 1024)]
)
def test_decimal_and_binary_units_differ(tmp_path: Path, size: str, operations: int) -> None:
    """How many records of 4 KiB are 4 MiB, and how many 4,096 kB?

    Truth: 4 x 2^20 / 4096 = 1,024 and 4,096,000 / 4096 = 1,000.
    """
    words = ("-w", "random_read", "--size", "8MiB", "--bytes", size)
    cell = ask_json("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)[0]
    assert cell["ops_read"] == operations


def test_a_unit_that_tools_disagree_about_is_refused(tmp_path: Path) -> None:
    """Is 4k 4,000 or 4,096 bytes?

    Truth: fio means 4,096 and the SI 4,000; the documentation promises a refusal.
    """
    done = mileage(
        "measure", "-t", write_profile(tmp_path), "--record", "4k", "--operations", "10", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "4k" in done.stderr


def test_text_json_and_csv_have_one_rate(tmp_path: Path) -> None:
    """Do the terminal, the JSON and the saved CSV have the same figures?

    Truth: all three report one simulated measurement with one seed, so that they differ by rounding only: the text has
    three digits, and MiB/s are bytes over 2^20, MB/s bytes over 10^6.
    """
    words = (
        "measure",
        "-t",
        write_profile(tmp_path),
        "-w",
        "random_read",
        "--size",
        "8MiB",
        "--operations",
        "900",
    )
    text = ask(*words, cwd=tmp_path)
    cell = ask_json(*words, "--save", "out", cwd=tmp_path)[0]
    ask("export", "csv", "out", "--out", "tables", cwd=tmp_path)
    with (tmp_path / "tables" / "measured.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    found = re.search(r"rate\s+([\d.,]+) MiB/s\s+([\d.,]+) MB/s", text)
    counted = re.search(r"operations\s+([\d,]+) /s\s+([\d,]+) in ([\d.]+) s", text)
    assert found
    assert counted
    rate = cell["rate_bytes_per_s"][0]
    assert float(row["rate_bytes_per_s"]) == pytest.approx(rate, rel=1e-12)
    assert float(row["ops_per_s"]) == pytest.approx(cell["ops_per_s"][0], rel=1e-12)
    assert float(found[1]) == pytest.approx(rate / 2**20, rel=5e-3)
    assert float(found[2]) == pytest.approx(rate / 1e6, rel=5e-3)
    assert float(counted[1].replace(",", "")) == pytest.approx(cell["ops_per_s"][0], rel=1e-3)
    assert rate == pytest.approx(900 * 4096 / cell["elapsed_s"][0], rel=1e-9)


def test_a_query_that_mixes_rates_and_latencies_says_so(tmp_path: Path) -> None:
    """What is the median value of a test?

    Truth: samples hold rates and latencies, and a median over both is neither.
    """
    words = ("-w", "random_read", "--size", "8MiB", "--bytes", "4MiB", "--save", "out")
    ask("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)
    mixed = "SELECT cell, median(value) FROM samples GROUP BY ALL"
    for sql, warns in ((mixed, True), (mixed.replace("cell,", "cell, metric,"), False)):
        assert ("this query mixes them" in mileage("query", sql, "out", cwd=tmp_path).stderr) == warns
