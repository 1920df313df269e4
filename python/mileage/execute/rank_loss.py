"""The loss of a rank of an MPI run, journalled at once: in a run, and between two runs as well.

The launcher ends this process soon after a rank is lost, possibly before the run in progress ends or the next one
begins. So the watch's thread writes the line, and the outcome of the study says which rank was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from mileage.errors import RunFailed
from mileage.execute.workers import ranks_here
from mileage.model.journal_entries import FailedRun
from mileage.store import Journal


class RankLoss:
    """Information about a lost MPI rank that the cycles of a study share.

    `run` is the number of the run in progress, or of the next one; `failure` is set once a rank is lost and its line is
    in the journal.
    """

    def __init__(self, journal: Journal, first_run: int) -> None:
        self._journal = journal
        self.run = first_run
        self.failure: RunFailed | None = None

    @contextmanager
    def journalled(self) -> Iterator[None]:
        """Journal a loss in this block."""
        ranks = ranks_here()
        if ranks is None:
            yield
            return
        with ranks.on_loss(self._note):
            yield

    def raise_if_lost(self) -> None:
        """Raise RunFailed (cause "rank") if a rank was lost."""
        if self.failure is not None:
            raise self.failure

    def _note(self, message: str) -> None:
        failure = RunFailed(message, cause="rank")
        self._journal.append(failed_entry(self.run, failure))
        self.failure = failure


def failed_entry(run: int, failure: RunFailed) -> FailedRun:
    """The line of the journal for a run that failed."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return FailedRun(run=run, cause=failure.cause, message=str(failure), record=failure.record, at=at)
