"""Gaps between stages and the time of the whole, from hand-written journals."""

from __future__ import annotations

import pytest

from mileage.analysis.stage_times import StageTimes, clock, wall_time
from mileage.store.journal import JournalContent
from tests import entries


def at(second: float) -> str:
    return f"2010-11-21T10:00:{second:06.3f}+00:00"


def test_the_gap_is_from_the_last_end_to_the_first_start() -> None:
    times = StageTimes()
    spans = [(1, "torture", 1.0, 2.0), (1, "after", 2.5, 3.0), (1, "torture", 2.0, 2.2), (2, "torture", 10, 11),
             (2, "after", 12, 13)]  # fmt: skip
    for cycle, stage, started, finished in spans:
        times.add(entries.run(stage=stage, cycle=cycle, started=at(started), finished=at(finished)))
    times.add(entries.run(arm="sham", stage="after", started=at(40), finished=at(41)))
    assert times.gaps_s() == {("torture", "after"): [pytest.approx(0.3), pytest.approx(1.0)]}
    assert times.words() == {"gap torture to after": "0.30 to 1.00 s"}


def test_the_wall_time_is_known_at_the_end_alone() -> None:
    head = {"kind": "study", "format": 1, "plan": "", "mileage": "1", "command": "", "started": at(1)}
    begun, end = entries.entry_of(head), entries.entry_of({"kind": "end", "finished": at(31.5)})
    assert wall_time(JournalContent((begun,), 0, 0)) == {}
    assert wall_time(JournalContent((begun, end), 0, 0)) == {"wall time": "30.5 s"}


def test_an_imported_study_has_no_wall_time() -> None:
    """Its first line has the time at which the other tool ran, its last the time of the import."""
    head = {
        "kind": "study",
        "format": 2,
        "plan": "",
        "mileage": "1",
        "command": "",
        "started": "2010-11-21T10:00:01",
    }
    begun = entries.entry_of({**head, "imported_at": "2026-01-01T00:00:00"})
    end = entries.entry_of({"kind": "end", "finished": "2026-01-01T00:00:00"})
    assert wall_time(JournalContent((begun, end), 0, 0)) == {}


@pytest.mark.parametrize(
    ("time_s", "words"), [(0.04, "0.0 s"), (59.9, "59.9 s"), (125, "2 min 5 s"), (7380, "2 h 03 min")]
)
def test_the_words_of_a_time(time_s: float, words: str) -> None:
    assert clock(time_s) == words
