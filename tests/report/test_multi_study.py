"""Rankings and histories, as a terminal prints them."""

from __future__ import annotations

import pytest

from mileage.judge.history import Change
from mileage.report.multi_study import history_text


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 change over 3 studies:"), (2, "2 changes over 3 studies:")]
)
def test_changes_are_counted_in_words(count: int, words: str) -> None:
    change = Change(cell="c", study=1, ratio=0.5, p=0.001, p_adjusted=0.01)
    assert history_text([change] * count, ["a", "b", "c"]).splitlines()[0] == words
