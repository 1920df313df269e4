"""Python and notebooks: the figures of the command, unknown options refused, results that show themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mileage
from mileage.app.notebook_view import shown
from mileage.errors import Refused

TARGET = "virtual:plain-64gib"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two kept measurements; the second drive programs more slowly."""
    place = tmp_path_factory.mktemp("pair")
    for name, target in (("one", TARGET), ("two", f"{TARGET},program_us=900")):
        mileage.measure(target, "random_write", operations=3000, repeat=4, save=place / name)
    return place / "one", place / "two"


def test_a_call_measures_what_the_command_measures() -> None:
    found = mileage.measure(
        TARGET, "random_write", operations=2000, depth=4, record="8KiB", vary="threads=1,2"
    )
    command = [*(sys.executable, "-m", "mileage", "measure", "-t", TARGET, "-w", "random_write", "--json")]
    command += ["--operations", "2000", "--depth", "4", "--record", "8KiB", "--vary", "threads=1,2"]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert [(cell["cell"], cell["ops_per_s"]) for cell in printed] == [
        (cell.cell, list(cell.ops_per_s)) for cell in found.cells
    ]
    assert "IOPS" in repr(found)
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dept": 4}, "dept: is no option of a measurement; expected such as depth"),
        ({"depth": "4"}, "expected a whole number"),
        ({"depth": True}, "expected a whole number"),
        ({"cold": 1}, "expected True or False"),
        ({"sync": "maybe"}, "expected one of none, fsync, fdatasync, fua"),
        ({"vary": [1]}, "expected a text, or a list of texts"),
        ({"record": 4.5}, "expected a text"),
        ({"as_json": True}, "is no option of a measurement"),
        ({"latency_target": "p99=1ms"}, "is no option of a measurement"),
    ],
)
def test_an_option_that_has_no_effect_is_refused_by_name(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=next(iter(options))) as refused:
        mileage.measure(TARGET, save=tmp_path / "kept", **options)
    assert words in str(refused.value)
    assert not (tmp_path / "kept").exists()


def test_results_are_compared_as_their_folders_are(pair: tuple[Path, Path]) -> None:
    by_name = mileage.compare(*map(str, pair))
    assert mileage.compare(*map(mileage.load, pair)) == by_name
    assert mileage.compare(mileage.load(pair[0]), str(pair[1])) == by_name
    assert mileage.rank([mileage.load(place) for place in pair]) == mileage.rank(list(map(str, pair)))
    with pytest.raises(Refused, match="named twice"):
        mileage.rank([mileage.load(pair[0]), mileage.load(pair[0])])
    with pytest.raises(Refused, match="a history needs"):
        mileage.history([mileage.load(place) for place in pair])


def test_a_comparison_shows_its_verdict_table_and_intervals(pair: tuple[Path, Path]) -> None:
    found = shown(mileage.compare(*map(str, pair)))
    text, page = repr(found), found._repr_html_()
    assert "slower" in text.splitlines()[0]
    assert len(text.splitlines()) == 1 + len(found.cells)
    assert page.count("<svg") == sum(cell.ratio is not None for cell in found.cells)
    assert repr(mileage.load(pair[0])) == f"StudyResult({str(pair[0])!r}, 7 of 7 runs)"
    assert "IOPS" in mileage.load(pair[0])._repr_html_()


def test_names_of_strangers_are_harmless(pair: tuple[Path, Path]) -> None:
    found = mileage.compare(*map(str, pair))
    cells = tuple(msgspec.structs.replace(cell, cell="<script>\x1b[31m") for cell in found.cells)
    hostile = shown(msgspec.structs.replace(found, cells=cells))
    assert "<script>" not in hostile._repr_html_()
    assert "\x1b" not in repr(hostile)


def test_many_cells_are_shown_in_part(pair: tuple[Path, Path]) -> None:
    found = mileage.compare(*map(str, pair))
    many = shown(msgspec.structs.replace(found, cells=found.cells * 200))
    assert repr(many).endswith(f"and {200 * len(found.cells) - 100} more tests")
    assert many._repr_html_().count("<tr>") == 101


def test_samples_have_a_unit_in_each_library(pair: tuple[Path, Path]) -> None:
    table = mileage.load(pair[0]).table("samples")
    expected = {"ops_per_s": "1/s", "rate_bytes_per_s": "B/s", "latency_p99_ns": "ns", "elapsed_s": "s"}

    def rows(frame: Any) -> set[tuple[str, str]]:
        return set(zip(list(frame["metric"]), list(frame["unit"]), strict=True))

    ways: dict[str, Callable[[], set[tuple[str, str]]]] = {
        "duckdb": lambda: set(table.project("metric, unit").fetchall()),
        "pandas": lambda: rows(table.df()),
        "arrow": lambda: rows(table.to_arrow_table().to_pydict()),
        "polars": lambda: rows(table.pl()),
    }
    for name, way in ways.items():
        found = way()
        assert found, name
        assert found <= set(expected.items()), name
