"""`mileage list datasheets`, `--show` and `mileage new datasheet`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage.targets.data_sheets import data_sheet_folder, data_sheet_names
from tests.command import mileage


def test_data_sheets_are_listed_and_shown() -> None:
    rows = json.loads(mileage("list", "datasheets", "--json").stdout)
    assert [row["name"] for row in rows] == list(data_sheet_names())
    shown = mileage("list", "datasheets", "--show", "optane-16gb").stdout
    assert "182.5 TBW" in shown
    assert "Contradiction: 182.5 TBW over 5 years are 6.25 DWPD; the sheet says 6 DWPD." in shown
    assert max(map(len, shown.splitlines())) <= 80
    sheet = json.loads(mileage("list", "datasheets", "--show", "optane-16gb", "--json").stdout)
    assert sheet["rated_tbw"]["value"] == 182.5


def test_a_new_data_sheet_is_valid_and_not_written_over(tmp_path: Path) -> None:
    done = mileage("new", "datasheet", "my-drive.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = mileage("list", "datasheets", "--show", "my-drive.toml", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "600 TBW" in shown.stdout
    again = mileage("new", "datasheet", "my-drive.toml", cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already" in again.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new", "datasheet"], "the file is missing"),
        (["new", "sheet", "x.toml"], "expected STUDY, or: mileage new datasheet x.toml"),
        (["new", "datasheet", "My Drive.toml"], "lower-case letters"),
        (["new", "datasheet", "x.toml", "--like", "drives"], "--like is for studies"),
        (["list", "datasheets", "--show", "no-such"], "there is no data sheet 'no-such'"),
        (["list", "drives", "--show", "x"], "--show prints a study file"),
    ],
)
def test_what_is_not_possible_is_refused(words: list[str], message: str, tmp_path: Path) -> None:
    done = mileage(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_faults_of_a_data_sheet_have_their_lines(tmp_path: Path) -> None:
    mileage("new", "datasheet", "x.toml", cwd=tmp_path)
    path = tmp_path / "x.toml"
    path.write_text(path.read_text().replace("value = 600", "value = -600").replace('"tlc"', '"plc"'))
    done = mileage("list", "datasheets", "--show", "x.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert 'medium.value: found "plc"' in done.stderr


@pytest.mark.parametrize("words", [("plan", "--target"), ("drive", "show"), ("check",)])
def test_a_data_sheet_in_place_of_a_drive_is_called_one(words: tuple[str, ...]) -> None:
    sheet = data_sheet_folder()
    assert sheet is not None
    own = str(sheet / "samsung-sm863-120gb.toml")
    for name in ("samsung-sm863-120gb", own):
        done = mileage(*words, name if words[0] == "drive" else f"virtual:{name}")
        assert done.returncode == 2
        command = f"mileage list datasheets --show {name}"
        assert command in done.stderr
        assert mileage(*command.split()[1:]).returncode == 0


def test_a_result_of_another_tool_in_place_of_a_study_folder_is_answered_with_import(tmp_path: Path) -> None:
    result = Path(__file__).parent.parent / "formats" / "samples" / "fio-one-job.json"
    done = mileage("compare", str(result), str(result))
    assert done.returncode == 2
    command = f"mileage import {result}"
    assert command in done.stderr
    assert mileage(*command.split()[1:], cwd=tmp_path).returncode == 0
