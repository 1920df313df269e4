"""Labels, merging, listing and SQL from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import mileage
from tests.execute.test_factors import KERNELS, written


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two sessions of a study, and the study that they make together."""
    folder = tmp_path_factory.mktemp("questions")
    study = written(folder, KERNELS)
    refused = mileage("run", study, "--out", str(folder / "a"))
    assert refused.returncode == 2
    assert "give --label kernel=LEVEL; expected one of 6.1, 6.8" in refused.stderr
    for name, kernel in (("a", "6.1"), ("b", "6.8")):
        done = mileage("run", study, "--out", str(folder / name), "--label", f"kernel={kernel}")
        assert done.returncode == 0, done.stderr
        assert f"Still to do at kernel={'6.8' if kernel == '6.1' else '6.1'}: mileage run" in done.stderr
    joined = mileage("merge", str(folder / "a"), str(folder / "b"), "--out", str(folder / "both"))
    assert joined.returncode == 0, joined.stderr
    assert "both: 18 of 18 runs" in joined.stdout
    return folder


def test_the_studies_of_a_folder_are_listed(merged: Path) -> None:
    rows = json.loads(mileage("list", "studies", str(merged), "--json").stdout)
    assert [(Path(row["name"]).name, row["runs"], row["finished"]) for row in rows] == [
        ("a", 9, False),
        ("b", 9, False),
        ("both", 18, True),
    ]
    assert mileage("list", "drives", str(merged)).returncode == 2


def test_sql_is_answered_as_text_and_as_json(merged: Path) -> None:
    sql = "SELECT levels['kernel'] AS kernel, count(*) AS n FROM samples WHERE role = 'measure' GROUP BY ALL ORDER BY 1"
    both = str(merged / "both")
    assert mileage("query", sql, both).stdout.split() == ["kernel", "n", "6.1", "8", "6.8", "8"]
    assert json.loads(mileage("query", sql, both, "--json").stdout) == [
        {"kernel": "6.1", "n": 8},
        {"kernel": "6.8", "n": 8},
    ]
    broken = mileage("query", "SELECT nothing FROM samples", both)
    assert broken.returncode == 2
    assert broken.stderr.startswith("mileage: query: Binder Error")


def test_the_comparison_of_a_merged_study_has_no_veto(merged: Path) -> None:
    done = mileage("compare", str(merged / "both"), "--json")
    assert done.returncode == 0, done.stderr
    assert not [one for one in json.loads(done.stdout)["caveats"] if one["severity"] == "vetoes"]
