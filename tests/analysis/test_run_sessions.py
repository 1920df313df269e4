"""In which session runs were measured: boots, gaps, names and dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from mileage.analysis.run_sessions import GAP_S, RunSession, numbered, sessions_of
from mileage.model.journal_entries import Run, SourceFile

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


def planned(index: int, stage: str = "before") -> Any:
    return SimpleNamespace(index=index, part="", cycle=1, arm="torture", stage=stage)


def done(number: int, after_s: float, length_s: float = 60.0) -> Any:
    began = START + timedelta(seconds=after_s)
    ended = began + timedelta(seconds=length_s)
    return SimpleNamespace(run=number, started=began.isoformat(), finished=ended.isoformat())


def plan_of(runs: list[Any], *, virtual: bool = False, session: str = "", imported: bool = False) -> Any:
    study = SimpleNamespace(session=session)
    return SimpleNamespace(
        runs=runs, virtual=virtual, study=study, imported=object() if imported else None, hash="p"
    )


def content_of(runs: list[Any], files: list[Any] | None = None) -> Any:
    def of_kind(kind: type) -> list[Any]:
        return runs if kind is Run else (files or []) if kind is SourceFile else []

    return SimpleNamespace(of_kind=of_kind, imported_runs=lambda: runs)


def numbers(plan: Any, content: Any, saved: dict[str, dict[str, str]]) -> list[int]:
    found = sessions_of(plan, content, saved)
    order = numbered(found.values())
    return [order[found[run]] for run in sorted(found)]


def boots(**boot_of: str) -> dict[str, dict[str, str]]:
    return {
        f"cycle-1-torture-{stage}": {"kernel.boot_id": boot, "host.hash": "h"}
        for stage, boot in boot_of.items()
    }


@pytest.mark.parametrize(("gap_s", "expected"), [(600.0, [1, 1]), (GAP_S + 120, [1, 2])])
def test_a_gap_of_hours_begins_another_session(gap_s: float, expected: list[int]) -> None:
    plan = plan_of([planned(0), planned(1, "after")])
    content = content_of([done(0, 0), done(1, gap_s)])
    assert numbers(plan, content, boots(before="x", after="x")) == expected


def test_another_boot_is_another_session_at_once() -> None:
    plan = plan_of([planned(0), planned(1, "after")])
    content = content_of([done(0, 0), done(1, 300)])
    assert numbers(plan, content, boots(before="x", after="y")) == [1, 2]


def test_a_name_is_a_session_whatever_the_times() -> None:
    plan = plan_of([planned(0), planned(1, "after")], session="monday")
    content = content_of([done(0, 0), done(1, 10 * GAP_S)])
    assert numbers(plan, content, boots(before="x", after="y")) == [1, 1]


def test_a_simulation_has_none() -> None:
    assert sessions_of(plan_of([planned(0)], virtual=True), content_of([done(0, 0)]), {}) == {}


def test_two_studies_of_one_boot_are_one_session_within_hours() -> None:
    one = RunSession("boot h x", 1e9, 1e9 + 100)
    soon, later = RunSession("boot h x", 1e9 + 500, 1e9 + 600), RunSession("boot h x", 1e9 + 9 * 3600, 2e9)
    elsewhere = RunSession("boot h y", 1e9 + 500, 1e9 + 600)
    found = numbered([later, soon, one, elsewhere])
    assert found[one] == found[soon] == 1
    assert len({found[session] for session in (one, later, elsewhere)}) == 3


def test_imports_have_the_sessions_of_their_dates_or_names() -> None:
    def run(number: int, file: str, name: str = "") -> Any:
        reported = SimpleNamespace(elapsed_s=60.0)
        return SimpleNamespace(
            run=number, session_name=name, record=SimpleNamespace(file=file, reported=reported)
        )

    def file(path: str, day: int | None) -> Any:
        return SimpleNamespace(path=path, began_at=None if day is None else f"2026-03-{day:02}T08:00:00")

    plan = plan_of([], imported=True)
    dated = content_of([run(0, "a"), run(1, "b"), run(2, "c")], [file("a", 1), file("b", 1), file("c", 3)])
    assert numbers(plan, dated, {}) == [1, 1, 2]
    undated = content_of([run(0, "a"), run(1, "b")], [file("a", None), file("b", None)])
    assert numbers(plan, undated, {}) == [1, 1]
    named = content_of([run(0, "a", "x"), run(1, "a", "y"), run(2, "a", "x")], [file("a", None)])
    assert numbers(plan, named, {}) == [1, 2, 1]
