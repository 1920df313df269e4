"""A plan that Mileage made is consistent; one whose parts do not fit is named, by the first that does not."""

from typing import Any

import msgspec
import pytest

from mileage.app.study import plan
from mileage.plan import Plan, builtin_names
from mileage.plan.consistency import inconsistency
from mileage.plan.planned_runs import hash_is_right


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_studies_are_consistent(name: str) -> None:
    try:
        resolved = plan(name, quick=True)
    except OSError:
        pytest.skip("its target is not here")
    assert inconsistency(resolved) is None


def edited(found: Plan, *path: str | int, value: object) -> Plan:
    parts: Any = msgspec.to_builtins(found)
    place = parts
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return msgspec.convert(msgspec.json.decode(msgspec.json.encode(parts)), Plan)


def test_what_does_not_fit_is_named() -> None:
    whole = plan("degradation", quick=True)
    measured = next(run.index for run in whole.runs if run.role == "measure")
    for path, value, output in (
        (("runs", 3, "index"), 4, "run 4 is in place 3"),
        (("runs", 3, "setting"), 9, "another setting"),
        (("runs", 3, "stage"), "x", "run 3 is of stage 'x'"),
        (("runs", measured, "cell"), "x", "measures 'x', which is no cell"),
        (("runs", 0, "mirrors"), 5, "mirrors run 5"),
        (("runs", measured, "role"), "torture", "which is no table"),
        (("cells", 1, "table"), "x", "is of [measure.x], which is no table"),
        (("cells", 1, "label"), whole.cells[0].label, "two cells have one label"),
        (("cells", 1, "label"), "x", "has the key of"),
        (("cells", 0, "key", "factors"), {"x": "y"}, "has the key of"),
        (("study", "compare", "baseline"), "x", "'x' is compared"),
        (("settings", 0, "levels"), {"x": "y"}, "a setting has levels of x"),
        (("study", "stage", 0, "prepare"), ["x"], "stage prepare names 'x'"),
        (("study", "stage", 1, "measure"), ["x"], "which is no table"),
    ):
        problem = inconsistency(edited(whole, *path, value=value))  # type: ignore[arg-type]
        assert problem is not None, path
        assert output in problem


def test_a_plan_with_a_part_of_another_type_has_a_wrong_hash() -> None:
    assert not hash_is_right(
        b'{"study": {}, "facts": {}, "work_bytes": 0, "runs": [], "areas": "x", "hash": "x"}'
    )
    assert not hash_is_right(b'{"areas": {}}')
