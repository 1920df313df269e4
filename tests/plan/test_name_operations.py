"""Settings that have no effect on an operation on names are refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Refused

TARGET = "virtual:plain-64gib@phenom-8gib"


def study(place: Path, settings: str) -> str:
    file = place / "names.toml"
    file.write_text(
        f'name = "names"\ntarget = "{TARGET}"\n[[stage]]\nname = "measured"\nmeasure = ["names"]\n'
        f"[measure.names]\n{settings}\nstop = {{ operations = 100 }}\n"
    )
    return str(file)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            'workload = ["metadata.create", "metadata.stat"]\nsync = "fsync"',
            "measure.names.sync: of metadata.stat",
        ),
        ('workload = "metadata.unlink"\nsync = "fsync"', "measure.names.sync: of metadata.unlink"),
        ('workload = "metadata.mkdir"\nrecord = "4KiB"', "measure.names.record: of metadata.mkdir"),
        ('workload = "metadata.stat"\nfiles = 1000', 'files: found 1000, expected "per_thread" or "shared"'),
    ],
)
def test_the_plan_refuses_a_setting_without_an_effect(settings: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        app.plan(study(tmp_path, settings))
    assert words in str(refused.value)


def test_files_are_synced_one_by_one_where_they_are_made(tmp_path: Path) -> None:
    (cell,) = app.plan(study(tmp_path, 'workload = "metadata.create"\nsync = "fsync"')).cells
    assert cell.job is not None
    assert "synced one by one" in cell.job.words()
