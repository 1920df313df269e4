"""The state in which runs began, and the differences of two states."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mileage import app
from mileage.analysis.drive_state import DriveState, drive_state, state_caveats
from mileage.model.caveat import Caveat
from mileage.report.caveat_words import caveat_words
from tests.execute.conftest import Small

USED = DriveState(
    target="virtual:x",
    start="purge",
    precondition="none",
    fill="none",
    written_capacities=4.0,
    free_blocks=40.0,
    slc_free_pages=0.0,
)


def codes(found: list[Caveat]) -> list[tuple[object, ...]]:
    assert {(one.code, one.severity) for one in found} <= {("state-differs", "limits")}
    return [(one.figures["key"], one.figures["baseline"], one.figures["candidate"]) for one in found]


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"start": "trim"}, [("purge", "trim")]),
        ({"precondition": "quick"}, [("none", "quick")]),
        ({"fill": "60%"}, [("none", "60%")]),
        ({"written_capacities": 0.0}, [("4.00", "0.00")]),
        ({"free_blocks": 400.0}, [("40", "400")]),
        ({"slc_free_pages": 1e6}, [("0", "1,000,000")]),
        ({"written_capacities": 9.0}, []),
        ({"free_blocks": 43.0}, []),
        ({"target": "virtual:y", "free_blocks": 400.0}, []),
        ({"written_capacities": None, "free_blocks": None, "slc_free_pages": None}, []),
    ],
)
def test_a_difference_of_state_has_both_values(
    changes: dict[str, str | float], values: list[tuple[str, str]]
) -> None:
    other = msgspec.structs.replace(USED, **changes)
    found = state_caveats(USED, other)
    assert [(one, two) for _, one, two in codes(found)] == values
    assert [(two, one) for _, one, two in codes(state_caveats(other, USED))] == values
    assert all(word in caveat_words(one) for one, pair in zip(found, values, strict=True) for word in pair)


def test_an_unknown_state_differs_from_none() -> None:
    assert state_caveats(None, USED) == state_caveats(USED, None) == []


def state_of(folder: Path, stage: str) -> DriveState:
    result = app.load(folder)
    runs = result.seen().of({cell.label for cell in result.plan.cells}, (stage,))
    found = drive_state([run.began for run in runs if run.began is not None])
    assert found is not None
    return found


def test_a_filled_and_churned_drive_is_known_from_a_trimmed_one(tmp_path: Path) -> None:
    study = Path(Small(tmp_path).virtual(cycles=1)[0])
    app.run(str(study), out=tmp_path / "used", report="text")
    head, _, rest = study.read_text().partition('[[stage]]\nname = "torture"')
    measures = rest.partition("[measure.throughput]")[2].replace("repeat = 2", "repeat = 3")
    measures = measures.partition("[torture.churn]")[0]
    text = f"{head}[measure.throughput]{measures}".replace("sham = true\n", "")
    study.write_text(text.replace("[state]\n", '[state]\ncarryover = "trim"\n'))
    app.run(str(study), out=tmp_path / "trimmed", report="text")
    used, trimmed = state_of(tmp_path / "used", "after"), state_of(tmp_path / "trimmed", "before")
    assert (used.start, trimmed.start) == ("purge", "trim")
    assert (trimmed.written_capacities or 9) < 1.2 < 3 < (used.written_capacities or 0)
    assert [key for key, *_ in codes(state_caveats(used, trimmed))] == [
        "how the target was emptied",
        "the amount written before the runs, in multiples of the drive's capacity,",
    ]
