"""What a user asks of the drives that come with Mileage: do they do what was published of them?

The truth is the published figure, as the profile quotes it. A drive reaches it, or its profile says by how much not and
why.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mileage.app.published_rates import published_rates, simulate_rate
from mileage.model.data_sheet import DataSheet
from mileage.report.published_rates import RateRow, rates_page
from mileage.targets.data_sheets import all_data_sheets
from mileage.targets.profiles import load_profile
from tests.answers.question import ask, suppose

PROFILES = Path(__file__).parents[2] / "profiles"
DRIVES = PROFILES / "drives"
OFF = 0.1
"""Relative difference from a published rate that needs a reason."""
NAMES = sorted(path.stem for path in DRIVES.glob("*.toml"))


def profile_of(name: str) -> dict[str, Any]:
    return tomllib.loads((DRIVES / f"{name}.toml").read_text(encoding="utf-8"))


def rates() -> list[Any]:
    return [
        pytest.param(
            name,
            at,
            id=f"{name}-{rate['workload']}-{rate['value']}-{at}",
            marks=[pytest.mark.slow] if "overwritten_before_times" in rate else [],
        )
        for name in NAMES
        for at, rate in enumerate(profile_of(name).get("rate", ()))
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "at"), rates())
def test_a_drive_does_what_its_profile_says_of_a_published_rate(name: str, at: int) -> None:
    """Does this drive reach the rate that its profile quotes?

    Truth: the published figure. A tenth off is accepted; more needs a reason in the profile, with the rate that the
    simulated drive has, to 2 %, and `mileage drive show` prints both.
    """
    rate = profile_of(name)["rate"][at]
    found = simulate_rate(load_profile(name), published_rates(name)[at], name)
    assert found == pytest.approx(rate["simulated"], rel=0.02)
    assert (abs(found / rate["value"] - 1) > OFF) == ("why_off" in rate)
    if "why_off" in rate:
        shown = " ".join(ask("drive", "show", name, cwd=Path.cwd()).split())
        assert f"{rate['value']:,.7g}" in shown
        assert f": {rate['why_off']}" in shown


@pytest.mark.parametrize("name", NAMES)
def test_every_rate_that_a_source_quotes_is_one_that_the_drive_is_held_to(name: str) -> None:
    """Are there rates in this profile that nobody checks?

    Truth: the texts of its sources: a number before MB/s, or before random reads or writes.
    """
    profile = profile_of(name)
    texts = [figure["source"] for figure in profile.values() if isinstance(figure, dict)]
    pattern = r"([\d,]+(?:\.\d+)?) (?:MB/s|random (?:reads|writes)\b)"
    quoted = {float(found.replace(",", "")) for text in texts for found in re.findall(pattern, text)}
    suppose(bool(quoted) or name == "plain-64gib", f"{name} quotes no rate")
    assert quoted <= {float(rate["value"]) for rate in profile.get("rate", ())}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "plain-64gib"])
def test_two_rates_are_held_out_and_they_are_those_that_were_written_down_before_the_fit(name: str) -> None:
    """Were the held-out rates chosen when it was known which ones the drive reaches?

    Truth: a list that is older than the fits, and that profiles must agree with.
    """
    listed = tomllib.loads((PROFILES / "held_out_rates.toml").read_text(encoding="utf-8"))[name]
    assert len(listed) == 2
    held = [rate for rate in profile_of(name)["rate"] if rate.get("held_out")]
    found = {
        f"{rate['workload']} {rate['record_bytes']} {rate['depth']} {rate['value']:g} {rate['unit']}"
        for rate in held
    }
    assert {_plain(row) for row in listed} == found


def _plain(row: str) -> str:
    workload, record, depth, value, unit = row.split()
    return f"{workload} {record} {depth} {float(value):g} {unit}"


def test_most_held_out_rates_are_predicted_within_15_percent() -> None:
    """How well does a virtual drive do what it was not fitted to? Truth: the published rates that were held out."""
    rows = [
        (name, rate, rate["simulated"] / rate["value"])
        for name in NAMES
        for rate in profile_of(name).get("rate", ())
    ]
    held = [ratio for _, rate, ratio in rows if rate.get("held_out")]
    hits = sum(abs(ratio - 1) <= 0.15 for ratio in held)
    print(
        f"held out: {hits} of {len(held)}; all: {sum(abs(ratio - 1) <= 0.15 for *_, ratio in rows)} of {len(rows)}"
    )
    assert hits >= 0.8 * len(held)


@pytest.mark.parametrize(
    "sheet", [sheet for sheet in all_data_sheets() if sheet.drive], ids=lambda sheet: sheet.name
)
def test_every_rate_of_a_data_sheet_is_one_that_its_virtual_drive_is_compared_with(sheet: DataSheet) -> None:
    """Does the comparison skip promises of the maker? Truth: the data sheet."""
    own = published_rates(sheet.drive)
    for quoted in sheet.rate:
        same = [
            rate
            for rate in own
            if (rate.workload, rate.value, rate.unit) == (quoted.workload, quoted.value, quoted.unit)
        ]
        assert same, f"{quoted.workload} {quoted.value} {quoted.unit}"
        assert any(quoted.depth in (None, rate.depth) for rate in same)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "plain-64gib"])
def test_fitted_figures_are_those_of_the_committed_log(name: str) -> None:
    """Was a figure changed by hand after the fit? Truth: the log of the fit."""
    log = (PROFILES / "fits" / f"{name}.txt").read_text(encoding="utf-8")
    profile = profile_of(name)
    for rate in profile["rate"]:
        if figure := rate.get("fits"):
            after = re.search(rf"^{figure}: fitted to .*\n  \S+ before, (\S+) after", log, re.MULTILINE)
            assert after is not None, figure
            assert float(after[1]) == pytest.approx(profile[figure]["value"], rel=1e-4)


def test_the_page_of_quoted_rates_has_what_the_profiles_say() -> None:
    """Is the page in the documentation of other drives than those that are shipped? Truth: the profiles."""
    rows = [
        RateRow(name, rate, rate.simulated)
        for name in NAMES
        for rate in published_rates(name)
        if rate.simulated is not None
    ]
    page = (PROFILES.parent / "docs" / "reference" / "quoted-rates.md").read_text(encoding="utf-8")
    assert page == rates_page(rows)


@pytest.mark.parametrize(
    "words",
    [
        ("drive", "run", "intel-x25e-64gb", "-w", "random_write", "--size", "64MiB"),
        ("measure", "-t", "virtual:intel-x25e-64gb", "-w", "random_write", "--size", "64MiB"),
    ],
    ids=["drive run", "measure"],
)
def test_a_result_of_a_drive_that_misses_its_sheet_says_so(words: tuple[str, ...]) -> None:
    """Is this what the X25-E does?

    Truth: no. Its data sheet states 3,300 random writes a second of a drive in use; the profile says why it is
    exceeded.
    """
    output = " ".join(ask(*words, cwd=Path.cwd()).split())
    assert "published 3,300 IOPS" in output
    assert "+1" in output.split("published 3,300 IOPS")[1][:60]


def test_a_result_of_a_drive_without_published_rates_has_no_such_line() -> None:
    """Does a drive that was never built miss a data sheet? Truth: there is none."""
    words = ("-w", "random_write", "--size", "1MiB")
    assert "published" not in ask("measure", "-t", "virtual:plain-64gib", *words, cwd=Path.cwd())
