"""Every row of the published table of sizing cases comes out of the command, derived ones computed anew."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mileage.endurance.cases import all_cases, case_contradictions, case_named
from mileage.errors import Refused
from tests.command import mileage

ROWS = list(csv.DictReader(Path(__file__).with_name("endurance_cases.csv").read_text().splitlines()))
NAMES = sorted({row["case"] for row in ROWS})


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, dict[str, object]]]:
    cases = {name: json.loads(mileage("endurance", "case", name, "--json").stdout) for name in NAMES}
    return {name: {row["quantity"]: row for row in case["row"]} for name, case in cases.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['case']}-{row['quantity']}")
def test_every_row_is_reproduced(
    row: dict[str, str], printed: dict[str, dict[str, dict[str, object]]]
) -> None:
    found = printed[row["case"]][row["quantity"]]
    assert found["unit"] == row["unit"]
    assert found.get("derived", False) == (row["kind"] == "derived")
    for end in ("low", "high"):
        if not row[f"value_{end}"]:
            assert found.get(end) is None
            continue
        expected, value = float(row[f"value_{end}"]), found[end]
        assert isinstance(value, float)
        if row["kind"] == "stated":
            assert value == expected
        else:
            # As the table rounds it.
            digits = len(row[f"value_{end}"].partition(".")[2])
            assert abs(value - expected) <= 0.5 * 10**-digits + 1e-9


def test_no_row_is_added() -> None:
    assert sum(len(case.row) for case in all_cases()) == len(ROWS) == 42


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("worker-node", ["75 TB/year are 205 GB/day, not 200; 200 GB/day are 73 TB/year"]),
        ("bulk-storage", []),
        ("zfs-zil", ["5,000 TBW are 2.74 DWPD, not 3; 3 DWPD would be 5,475 TBW"]),
        (
            "ceph-typical",
            [
                "170 TB/year are 3.88 DWPD, above the rated 3.5",
                "1,500 TBW last 8.8 years at 170 TB/year, not the 10 of the rating",
            ],
        ),
        ("ceph-proxmox", ["2,000 TBW of 400 GB over 5 years are 2.74 DWPD, not 3"]),
    ],
)
def test_contradictions_of_the_source_are_reported(name: str, expected: list[str]) -> None:
    assert case_contradictions(case_named(name)) == expected
    text = mileage("endurance", "case", name).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert " ".join(text.split()).count("[!]") == len(expected)


def test_a_case_that_is_not_known_is_refused() -> None:
    with pytest.raises(Refused, match=r"did you mean 'zfs-zil'\?"):
        case_named("zfs-zli")
