"""A run that ended badly says what happened, and what it had done until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.errors import RunFailed
from mileage.execute import run
from mileage.execute.run_failure import failure_of
from tests.entries import record
from tests.execute.conftest import Small

DONE = {"bytes_read": 3 << 20, "bytes_written": 1 << 20, "submit_ns": 2_500_000_000}


def test_a_good_run_is_no_failure() -> None:
    assert failure_of(record(**DONE), "x") is None


def test_a_failed_run_reports_what_was_done() -> None:
    error = {"kind": "ETIMEDOUT", "message": "a read did not complete in 1 s"}
    failure = failure_of(record(**DONE, error=error), "iops on dir:/x")
    assert failure is not None
    assert failure.cause == "ETIMEDOUT"
    assert str(failure) == "iops on dir:/x: a read did not complete in 1 s; until then 4 MiB in 2.5 s"
    assert failure.record is not None


def test_wrong_data_is_a_failure_with_its_kind() -> None:
    wrong = [{"offset_bytes": 4096, "kind": "stale", "message": "generation 3, found 2"}] * 3
    failure = failure_of(record(**DONE, mismatches=wrong), "x")
    assert failure is not None
    assert failure.cause == "verification"
    assert str(failure) == "x: wrong data at byte 4096: stale: generation 3, found 2 (and 2 more)"


def test_a_target_that_vanishes_before_it_is_opened_is_reported_as_missing(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at, then unmounted or removed, then opened: not a file that was forgotten to be made."""
    place = tmp_path / "target"
    place.mkdir()
    monkeypatch.setattr(run, "settle", lambda *_: next(place.glob(".mileage-*")).unlink())
    with pytest.raises(RunFailed, match=r"\.dat vanished; bring it back and resume") as failure:
        app.run(str(small.study(f"dir:{place}")), out=tmp_path / "study")
    assert failure.value.cause == "vanished"
