"""The range of a result over unpublished choices, in numbers and in words."""

from __future__ import annotations

import msgspec
import pytest

from mileage.judge.model_band import BandChoice, ModelBand
from mileage.report.sentence import range_words, variant_words, verdict_sentence
from tests.report.test_sentence import LATE, SLOWER, comparison


def band(*ratios: float | None, cell: str = SLOWER.cell, metric: str = SLOWER.metric) -> ModelBand:
    choices = [
        BandChoice(f"figure{number}", "b", "a", "why", {} if ratio is None else {cell: {metric: ratio}})
        for number, ratio in enumerate(ratios)
    ]
    return ModelBand(tuple(choices), len(choices))


@pytest.mark.parametrize(
    ("ends", "higher_is_better", "words"),
    [
        ((0.08, 0.44), True, "56 to 92 % slower"),
        ((0.08, 1.052), True, "5.2 % faster to 92 % slower"),
        ((0.44, 0.44), True, "56 % slower"),
        ((7.13, 128.2), False, "7.1 to 128 times as high"),
        ((0.5, 0.9), False, "10 to 50 % lower"),
        ((1.5, 3.0), True, "50 % faster to 3.0 times as fast"),
    ],
)
def test_a_range_in_words(ends: tuple[float, float], higher_is_better: bool, words: str) -> None:
    assert range_words(ends, higher_is_better=higher_is_better) == words


def test_the_range_includes_the_drive_as_it_is() -> None:
    assert band(0.9, 0.4).around(SLOWER.cell, SLOWER.metric, 0.57) == (0.4, 0.9)
    assert band(0.7).around(SLOWER.cell, SLOWER.metric, 0.57) == (0.57, 0.7)
    assert band(None).around(SLOWER.cell, SLOWER.metric, 0.57) is None


def test_a_choice_without_a_result_is_counted() -> None:
    assert variant_words(band(0.9, 0.4), SLOWER) == "2 variants"
    assert variant_words(band(0.9, None), SLOWER) == "1 of 2 variants"


def test_the_choice_that_moves_the_result_most_comes_first() -> None:
    found = band(0.6, None, 0.1).by_effect(SLOWER.cell, SLOWER.metric, 0.57)
    assert [choice.figure for choice in found] == ["figure2", "figure0", "figure1"]


def test_the_sentence_has_the_range_in_a_clause_of_its_own() -> None:
    shown = verdict_sentence(comparison(SLOWER, band=band(0.9, 0.4)))
    assert (
        f"one unpublished figure of the drive (2 variants tried), {SLOWER.cell} would be 10 to 60 % slower."
        in shown
    )
    assert "model" not in verdict_sentence(comparison(SLOWER))


def test_the_range_of_a_latency_is_named() -> None:
    late = band(7.0, cell=LATE.cell, metric=LATE.metric)
    shown = verdict_sentence(comparison(SLOWER, others=(LATE,), band=late))
    assert f"the p99 latency of {LATE.cell} 30 % higher to 7.0 times as high." in shown


def test_a_test_that_only_a_variant_moves_is_named_where_nothing_changed() -> None:
    """A result "same" would otherwise hide that an unpublished figure decides it."""
    same = msgspec.structs.replace(SLOWER, verdict="same", ratio=0.99, ci95=(0.98, 1.0))
    shown = verdict_sentence(comparison(same, band=band(0.98, 0.24)))
    assert f"{SLOWER.cell} would be 1.0 to 76 % slower." in shown
    within = verdict_sentence(comparison(same, band=band(0.99, 1.0)))
    assert "variants" not in within
