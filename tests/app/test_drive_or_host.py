"""The conclusions of the demo, the built-in study drive-or-host, do not hang on its seed, its scale or its drive."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.judge.effects_apart import EffectsApart
from mileage.plan import builtin_text
from mileage.report.effects_apart import cause_words, effect_rows

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]

CAUSES = {
    "iozone.stride_read 4 MiB": "host",
    "iozone.backward_read 4 MiB": "host",
    "iozone.random_read 4 MiB": "host",
    "iozone.freread 4 MiB": "host",
    "iozone.random_write 4 MiB": "open",
    "iozone.random_write 32 KiB": "open",
    "iozone.random_write 64 KiB": "open",
    "iozone.random_read 32 KiB": "open",
    "iozone.random_read 64 KiB": "open",
    "metarates.stat": "open",
    "iozone.fread 4 MiB": "not host",
    "iozone.read 4 MiB": "",
    "iozone.random_read 2 MiB, cache direct": "",
}
HALF_PERCENT = 0.005


def effects(folder: Path, text: str, *, seed: int | None = None, scale: str | None = None) -> EffectsApart:
    (folder / "study.toml").write_text(text)
    found = app.run(
        str(folder / "study.toml"), out=folder / "study", seed=seed, scale=scale, report="none"
    ).apart()
    assert found is not None
    return found


@pytest.mark.parametrize(("seed", "scale"), [(7, None), (None, "1/8")])
def test_another_seed_and_another_scale_find_the_same_causes(
    seed: int | None, scale: str | None, tmp_path: Path
) -> None:
    """Negative controls: reads past the page cache and names in memory depend on neither its size nor the drive."""
    found = effects(tmp_path, builtin_text("drive-or-host"), seed=seed, scale=scale)
    rows = {row.name: row for row in effect_rows(found)}
    assert {name: cause_words(row, found) for name, row in rows.items()} == CAUSES
    for cell in rows["iozone.random_read 2 MiB, cache direct"].effects:
        assert cell is not None
        assert cell.ratio == pytest.approx(1, abs=HALF_PERCENT)
    for row in rows.values():
        assert row.effects[0] is not None
        assert row.effects[0].verdict in ("same", "real but irrelevant"), row.name


def test_a_drive_with_little_spare_flash_is_found(tmp_path: Path) -> None:
    """Positive control: 7 % of spare flash in place of 34 %, and the torture halves random writes by itself."""
    text = builtin_text("drive-or-host").replace("@phenom-8gib", "@phenom-8gib,blocks_per_plane=6554")
    found = effects(tmp_path, text)
    rows = {row.name: row for row in effect_rows(found)}
    for name in ("iozone.random_write 32 KiB", "iozone.random_write 64 KiB"):
        drive, host, _ = rows[name].effects
        assert drive is not None
        assert host is not None
        assert drive.ci95 is not None
        assert drive.ci95[1] < 0.7
        assert host.verdict == "same"
