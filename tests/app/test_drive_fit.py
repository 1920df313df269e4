"""Fitting of profiles: figures with a known truth are found again, what cannot be fitted is reported, texts stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage._core import drive_rates
from mileage.app.drive_fit import CLOSE, fit_profile
from mileage.app.published_rates import simulate_rate
from mileage.model.published_rate import PublishedRate
from mileage.targets.profiles import changed
from tests.command import mileage
from tests.house.repository import ROOT

_PAGE = (ROOT / "docs" / "how-to" / "fit-a-drive.md").read_text(encoding="utf-8")
_FENCE = re.search(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
assert _FENCE is not None
PROFILE = _FENCE[1]
"""The profile of the how-to page: read_us and program_us are fitted, a third rate is held out."""
LONE_READ_US = 1 + 4096 / 300 + 4096 / 200
"""Controller, link and channel of a lone read of 4 KiB; the rest of its time is the array read."""


def with_rate(value: float) -> str:
    """The profile with one rate, another published rate of lone reads over 4 MiB."""
    alone = "[[rate]]".join(PROFILE.split("[[rate]]")[:2])
    return alone.replace("value = 9500", f"value = {value:.6g}").replace("33_554_432", "4_194_304")


@pytest.mark.slow
@given(st.floats(5.0, 500.0))
def test_a_read_time_is_found_again_from_the_rate_of_lone_reads(read_us: float) -> None:
    fit = fit_profile("my-drive", with_rate(1e6 / (LONE_READ_US + read_us)))
    found = next(one for one in fit.figures if one.figure == "read_us")
    assert found.before == 50
    # The rate is accepted within CLOSE; the figure is a part of the time of a read.
    assert found.after == pytest.approx(read_us, abs=(LONE_READ_US + read_us) * CLOSE * 1.1)


def test_the_program_time_is_that_of_four_planes() -> None:
    fit = fit_profile("my-drive", PROFILE)
    found = next(one for one in fit.figures if one.figure == "program_us")
    # 60 MB/s are a page for each of 4 planes every 273 us.
    assert found.after == pytest.approx(4 * 4096 / 60, rel=0.02)


def test_held_out_rates_are_simulated_once_and_after_the_fit() -> None:
    seen: list[str] = []
    fit = fit_profile("my-drive", PROFILE, seen.append)
    assert len(fit.trials) + len(fit.rates) == len(seen)
    (held,) = [one for one in fit.rates if one.rate.held_out]
    values = [f"{one.figure}={one.after}" for one in fit.figures]
    assert held.simulated == simulate_rate(changed(PROFILE, values, "x"), held.rate, "my-drive")
    assert seen[len(fit.trials) :] == [one.rate.in_short for one in fit.rates]


def test_a_figure_that_does_not_move_its_rate_stays_and_is_reported() -> None:
    # Sequential writes do not depend on the time of a read.
    text = PROFILE.replace('fits = "read_us"\n', "").replace('fits = "program_us"', 'fits = "read_us"')
    fit = fit_profile("my-drive", text)
    (one,) = fit.figures
    assert (one.before, one.after, one.bound_elsewhere) == (50, 50, True)


def test_write_changes_figures_and_simulated_rates_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "my-drive.toml"
    path.write_text(PROFILE, encoding="utf-8")
    done = mileage("drive", "fit", str(path), "--write", "--log", str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "log").read_text(encoding="utf-8") == done.stdout
    after = path.read_text(encoding="utf-8")
    kept = re.sub(r"(?m)^simulated = .*\n", "", after)
    kept = re.sub(r"read_us = \{ value = [\d.]+", "read_us = { value = 50", kept)
    kept = re.sub(r"program_us = \{ value = [\d.]+", "program_us = { value = 200", kept)
    assert kept.rstrip() == PROFILE.rstrip()
    again = mileage("drive", "fit", str(path), "--write")
    assert again.returncode == 0
    assert path.read_text(encoding="utf-8") == after, "a fitted profile is left as it is"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("held_out = true", 'held_out = true\nfits = "read_us"', "rate.held_out"),
        ('fits = "program_us"', 'fits = "read_us"', "twice"),
        ('fits = "program_us"', 'fits = "erase_us"', "whose confidence is fitted"),
        ('fits = "program_us"', 'fits = "program"', "whose confidence is fitted"),
        ("held_out = true", "size_divided_by = 0", "rate.size_divided_by"),
    ],
)
def test_roles_of_rates_that_make_no_sense_are_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "my-drive.toml"
    path.write_text(PROFILE.replace(old, new), encoding="utf-8")
    done = mileage("drive", "fit", str(path))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_shipped_drive_is_not_written(tmp_path: Path) -> None:
    done = mileage("drive", "fit", "optane-16gb", "--write", cwd=tmp_path)
    assert done.returncode == 2
    assert "--write" in done.stderr


def test_a_part_of_the_size_has_the_rate_of_the_whole_drive() -> None:
    import msgspec

    text = (
        PROFILE
        + """
[[rate]]
workload = "random_write"
record_bytes = 4096
depth = 32
span_bytes = 58_355_712
moved_bytes = 29_360_128
written_before_bytes = 58_355_712
overwritten_before_times = 2
value = 4000
unit = "iops"
source = "made up"
confidence = "assumed"
"""
    )
    large = changed(text, ["blocks_per_plane=1024", "capacity_bytes=466845696"], "x")
    rate = msgspec.json.decode(drive_rates(text), type=list[PublishedRate])[-1]
    whole = msgspec.structs.replace(rate, span_bytes=466_845_696, written_before_bytes=466_845_696)
    part = msgspec.structs.replace(whole, size_divided_by=8)
    assert simulate_rate(large, part, "x") == pytest.approx(simulate_rate(large, whole, "x"), rel=0.05)
