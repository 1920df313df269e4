"""A virtual drive that stalls, loses a command or drops off: the study keeps what was measured, and names the end."""

from pathlib import Path
from typing import Any

import pytest

from mileage.model.journal_entries import DidNotFinish, Run
from mileage.store import StudyFolder
from tests.command import mileage
from tests.execute.conftest import Small, run_keys

STALLS = {"stall_s": "0.05", "stall_every_s": "0.5", "fault_seed": "1"}
LOSES = {"lost_command_every": "5_000", "command_timeout_s": "2.0"}
DROPS = {"drop_off_s": "1.5"}


def faulty(small: Small, faults: dict[str, str]) -> str:
    """The file of a study of one cycle on a small drive with these faults."""
    study, *_ = small.virtual(cycles=1)
    figures = [
        f'{key} = {{ value = {value}, source = "a test", confidence = "defined" }}\n'
        for key, value in faults.items()
    ]
    profile = small.folder / "small-drive.toml"
    profile.write_text(profile.read_text() + "".join(figures))
    return study


def unfinished(folder: Path) -> list[dict[str, Any]]:
    return list(StudyFolder(folder).content().of_kind(DidNotFinish))


@pytest.mark.parametrize(
    ("faults", "cause", "message"),
    [
        (STALLS | LOSES, "ETIMEDOUT", "did not answer within 2 s"),
        (STALLS | DROPS, "ENODEV", "dropped off 1.5 s after it was first powered on"),
    ],
    ids=["loses", "drops"],
)
def test_the_study_ends_as_dnf_with_the_cause_and_all_before_it(
    small: Small, tmp_path: Path, faults: dict[str, str], cause: str, message: str
) -> None:
    folder = tmp_path / "study"
    result = mileage("run", faulty(small, faults), "--out", str(folder))
    assert result.returncode == 0, result.stderr
    assert "DNF" in result.stdout
    assert message in result.stdout
    failed = unfinished(folder)
    assert failed
    assert {entry.cause for entry in failed} == {cause}
    kept = run_keys(folder)
    assert kept, "runs before the failure stay in the journal"
    record = failed[0].record
    assert failed[0].run not in kept
    assert message in record.error.message
    # What the run itself had done: operations, latency over time, and how the drive stood.
    assert record.ops_read + record.ops_written > 0
    series = record.series
    intervals = len(series.ops)
    for name in ("latency_p50_ns", "latency_p99_ns", "latency_max_ns"):
        assert len(getattr(series, name)) == intervals
    assert len(series.counters["free_blocks"]) == intervals
    assert sum(series.ops) == record.ops_read + record.ops_written


def test_stalls_alone_end_nothing_and_are_counted(small: Small, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    result = mileage("run", faulty(small, STALLS), "--out", str(folder))
    assert result.returncode in (0, 1), result.stderr
    records = [entry.record for entry in StudyFolder(folder).content().of_kind(Run)]
    assert sum(record.counters.get("commands_stalled", 0) for record in records) > 0
    longest_ns = max(record.latency["write"].max_ns for record in records)
    assert 0.05e9 < longest_ns < 0.5e9
