"""How long finished runs and the ends of stages took, from hand-written journals."""

from __future__ import annotations

from typing import Any

import pytest

from mileage.model.journal_entries import Entry, Run
from mileage.store.durations import closed_s, spent_s
from mileage.store.journal import JournalContent
from tests import entries

STAGE: dict[str, Any] = {"part": "", "cycle": 1, "arm": "torture", "stage": "before"}


def at(second: float) -> str:
    return f"2010-11-21T10:00:{second:06.3f}+00:00"


def run(number: int, started: float, finished: float, **other: Any) -> Run:
    return entries.run(number, started=at(started), finished=at(finished), **STAGE | other)


def end(second: float, **other: Any) -> Entry:
    return entries.entry_of({"kind": "stage", "at": at(second)} | STAGE | other)


def content(*lines: Entry) -> JournalContent:
    return JournalContent(lines, 0, 0)


def test_a_run_takes_from_the_end_of_the_one_before_it() -> None:
    found = spent_s(content(run(0, 1, 2), run(1, 2.5, 4), run(2, 4, 5, stage="after")))
    assert found == pytest.approx({0: 1.0, 1: 2.0, 2: 1.0})


def test_an_interruption_belongs_to_no_run() -> None:
    assert spent_s(content(run(0, 1, 2), run(1, 30, 31)))[1] == pytest.approx(1.0)


def test_the_end_of_a_stage_takes_from_its_last_run() -> None:
    runs = run(0, 1, 2), run(1, 2, 5), run(2, 7, 8.75, cycle=2)
    found = closed_s(content(*runs, end(7.5), end(9, cycle=2)))
    assert found == pytest.approx({("", 1, "torture", "before"): 2.5, ("", 2, "torture", "before"): 0.25})
    assert closed_s(content(run(0, 1, 2), end(7.5, stage="idle"))) == {}
