"""The life of a drive by its three measures, and what a drive in use has counted."""

from __future__ import annotations

import pytest

from mileage.endurance.life import Rating, Wear, life_of, rating_of
from mileage.endurance.life_text import life_text
from mileage.endurance.write_counters import percent_used_of, wear_of, written_bytes_of
from mileage.targets.data_sheets import load_data_sheet

TB = 1e12
YEAR_S = 365 * 86_400


def test_the_journal_drive_of_the_talk() -> None:
    life = life_of(rating_of(load_data_sheet("samsung-sm863-120gb")), 170 * TB / YEAR_S)
    assert life.years == pytest.approx(1500 / 170)
    assert life.drive_writes_per_day == pytest.approx(3.88, abs=5e-3)
    assert any("3.88 drive writes per day are more than the rated 3.5" in words for words in life.warnings)
    assert any("8.82 years, before the 10 years" in words for words in life.warnings)


def test_cells_wear_with_what_is_programmed() -> None:
    rating = Rating("x", 100e9, cycles=1000, raw_bytes=128e9)
    for amplification in (0.5, 1.0, 4.0):
        life = life_of(rating, 12.8 * TB / YEAR_S, amplification)
        assert life.years == pytest.approx(10 / amplification)
    assert any("write amplification is not known" in note for note in life_of(rating, 1.0).notes)


def test_use_so_far_shortens_what_is_left() -> None:
    rating = Rating("x", 1e12, rated_bytes=600 * TB, rated_years=5, cycles=1000, raw_bytes=1e12)
    wear = Wear(written_bytes=150 * TB, percent_used=40, power_on_hours=8760)
    host, daily, cells = life_of(rating, 45 * TB / YEAR_S, 2.0, wear).measures
    assert (host.years, host.used_share) == (pytest.approx(10), pytest.approx(0.25))
    assert cells.years == pytest.approx(500 / 45 * 0.6)
    assert cells.used_share == pytest.approx(0.4)
    # No drive writes per day are stated: they follow from the bytes.
    assert (daily.years, daily.used_share) == (pytest.approx(10), pytest.approx(0.25))
    assert "used" in life_text(life_of(rating, 45 * TB / YEAR_S, 2.0, wear), 80)


def test_without_any_rating_nothing_is_made_up() -> None:
    life = life_of(Rating("x", 1e12), 1e6)
    assert life.years is None
    text = life_text(life, 80)
    assert "no measure of its endurance is known" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_rating_in_dwpd_alone_is_converted_and_says_so() -> None:
    life = life_of(Rating("x", 1e12, rated_dwpd=1.0), 365 * TB / YEAR_S)
    assert life.years == pytest.approx(5)
    assert any("the usual term" in note for note in life.notes)


NVME = {
    "now.health_data_units_written": "1000000",
    "now.health_percentage_used": "7",
    "now.health_power_on_hours": "10",
}
ATA = {
    "now.health_ata_241_total_lbas_written": "2000000000",
    "now.health_ata_177_wear_leveling_count": "12",
    "now.health_ata_177_wear_leveling_count_normalised": "93",
}


def test_counters_of_drives_have_their_units() -> None:
    assert wear_of(NVME) == Wear(512e9, 7, 10)
    assert written_bytes_of(ATA) == 2_000_000_000 * 512
    assert percent_used_of(ATA) == 7
    intel = {
        "now.health_ata_225_host_writes_32mib": "1000",
        "now.health_ata_233_media_wearout_indicator": "0",
    }
    assert written_bytes_of(intel) == 1000 << 25
    assert percent_used_of(intel) is None  # The raw value says nothing, the normalised one is not there.
    assert wear_of({}) == Wear()
