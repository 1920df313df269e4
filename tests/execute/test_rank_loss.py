"""A lost rank is in the journal at once, also when no run is in progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mileage.errors import RunFailed
from mileage.execute.cycle import RankLoss
from mileage.model.journal_entries import FailedRun, StudyHead
from mileage.store import FORMAT, Journal
from mileage.store.journal import read_journal


class Ranks:
    """Ranks whose loss is reported by a call."""

    def __init__(self) -> None:
        self.handlers: list[Callable[[str], None]] = []

    @contextmanager
    def on_loss(self, handler: Callable[[str], None]) -> Iterator[None]:
        self.handlers.append(handler)
        try:
            yield
        finally:
            self.handlers.remove(handler)


def test_a_loss_between_two_runs_is_journalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = Ranks()
    monkeypatch.setattr("mileage.execute.cycle.ranks_here", lambda: ranks)
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(
        StudyHead(format=FORMAT, plan="ab", mileage="1", command="c", started="2030-01-01T00:00:00Z")
    )
    loss = RankLoss(journal, 3)
    loss.raise_if_lost()
    with loss.journalled():
        loss.run = 4
        ranks.handlers[0]("rank 2 died")
        with pytest.raises(RunFailed, match="rank 2 died") as raised:
            loss.raise_if_lost()
    assert raised.value.cause == "rank"
    assert not ranks.handlers
    journal.close()
    (entry,) = read_journal(tmp_path / "journal.jsonl").of_kind(FailedRun)
    assert (entry.run, entry.cause, entry.message) == (4, "rank", "rank 2 died")
