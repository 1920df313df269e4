"""Factors of a whole study: settings, what they change, the order of their runs, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import msgspec
import pytest

from mileage.plan import Plan, TargetFacts, parse_study, places_of, to_toml
from mileage.plan.plan_text import describe
from mileage.plan.resolver import resolve

TWO_DRIVES = """\
name = "two"
target = "virtual:plain"
seed = 7
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = ["iops.random_read", "iops.random_write"]
record = "4KiB"
stop = { operations = 100 }
repeat = 4
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[factor.drive]
levels = { plain = "virtual:plain", other = "virtual:other" }
[factor.depth]
levels = [1, 32]
[compare]
arms = "drive"
"""


@pytest.fixture
def planned(drive: TargetFacts) -> Callable[..., Plan]:
    """The plan of the study above with some text replaced."""

    def plan(*changes: tuple[str, str]) -> Plan:
        text = TWO_DRIVES
        for found, changed in changes:
            assert found in text
            text = text.replace(found, changed, 1)
        study = parse_study(text, "two.toml")
        others = {
            target: msgspec.structs.replace(drive, name=target) for target in list(places_of(study))[1:]
        }
        return resolve(study, drive, others=others)

    return plan


def test_every_combination_is_a_setting_and_every_cell_has_each(planned: Callable[..., Plan]) -> None:
    plan = planned()
    assert [dict(setting.levels) for setting in plan.settings] == [
        {"drive": drive, "depth": depth} for drive in ("plain", "other") for depth in ("1", "32")
    ]
    assert len(plan.cells) == 2 * 4
    assert len({cell.label for cell in plan.cells}) == 8
    depths = {(plan.settings[c.setting].levels["depth"], c.workload.depth) for c in plan.cells if c.workload}
    assert depths == {("1", 1), ("32", 32)}


def test_a_block_holds_every_cell_once_and_settings_of_a_cell_are_neighbours(
    planned: Callable[..., Plan],
) -> None:
    plan = planned()
    stems = {cell.label: cell.stem for cell in plan.cells}
    measured = [run for run in plan.runs if run.role == "measure"]
    orders = set()
    for _, group in groupby(measured, key=lambda run: run.block):
        runs = list(group)
        assert sorted(run.cell for run in runs) == sorted(stems)
        assert [len(list(same)) for _, same in groupby(runs, key=lambda run: stems[run.cell])] == [4, 4]
        for _, same in groupby(runs, key=lambda run: stems[run.cell]):
            assert len({run.seed for run in same}) == 1
        orders.add(tuple(run.cell for run in runs))
    assert len(orders) == 4


def test_blocked_order_does_one_arm_after_the_other(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", 'seed = 7\norder = "blocked"'))
    measured = [run.setting for run in plan.runs if run.role == "measure"]
    assert [setting for setting, _ in groupby(measured)] == [0, 1, 2, 3]


def test_listed_order_does_the_cells_as_they_are_listed(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", 'seed = 7\norder = "listed"'))
    measured = [run for run in plan.runs if run.role == "measure"]
    assert len({run.block for run in measured}) > 1
    for _, runs in groupby(measured, key=lambda run: run.block):
        assert [run.cell for run in runs] == [cell.label for cell in plan.cells]


def test_exclusions_leave_combinations_out(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", 'seed = 7\nexclude = [{ drive = "other", depth = 32 }]'))
    assert len(plan.settings) == 3
    assert {"drive": "other", "depth": "32"} not in [setting.levels for setting in plan.settings]


def test_each_target_is_prepared_and_has_its_own_instance(planned: Callable[..., Plan]) -> None:
    plan = planned()
    assert [setting.instance for setting in plan.settings] == [0, 0, 1, 1]
    prepared = [plan.settings[run.setting].target for run in plan.runs if run.role == "prepare"]
    assert prepared == ["virtual:plain", "virtual:other"]


def test_the_baseline_is_measured_again_under_another_name(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", "seed = 7\naa = true"))
    assert [s.levels["drive"] for s in plan.settings] == [
        d for d in ("plain", "plain again", "other") for _ in "12"
    ]
    assert [s.instance for s in plan.settings] == [0, 0, 1, 1, 2, 2]
    assert {s.target for s in plan.settings[:4]} == {"virtual:plain"}


def test_labels_make_parts_that_follow_each_other(planned: Callable[..., Plan]) -> None:
    plan = planned(("[compare]", '[factor.kernel]\nkind = "label"\nlevels = ["6.1", "6.8"]\n[compare]'))
    assert plan.parts == ("kernel=6.1", "kernel=6.8")
    assert [part for part, _ in groupby(plan.runs, key=lambda run: run.part)] == list(plan.parts)


def test_a_purge_between_blocks_prepares_again(planned: Callable[..., Plan]) -> None:
    plan = planned(("[[stage]]", '[state]\ncarryover = "purge"\n[[stage]]'))
    steps = [run.role for run in plan.runs if run.stage == "measured" and run.block == 2]
    assert steps[:4] == ["reset", "reset", "prepare", "prepare"]
    assert set(steps[4:]) == {"measure"}
    assert not any(run.role == "reset" for run in plan.runs if run.block == 1)


def test_a_purge_of_each_run_prepares_its_own_target_again(planned: Callable[..., Plan]) -> None:
    plan = planned(("[[stage]]", '[state]\ncarryover = "purge-each"\n[[stage]]'))
    runs = [run for run in plan.runs if run.stage == "measured"]
    assert len({run.key for run in plan.runs}) == len(plan.runs)
    measured = [at for at, run in enumerate(runs) if run.role == "measure"]
    first_on = {plan.setting_of(runs[at]).instance: at for at in reversed(measured)}
    for at in measured:
        instance = plan.setting_of(runs[at]).instance
        before = [(run.role, plan.setting_of(run).instance) for run in runs[max(at - 2, 0) : at]]
        wanted = [] if at == first_on[instance] else [("reset", instance), ("prepare", instance)]
        assert before == wanted or (not wanted and before[-1:] != [("prepare", instance)])


def test_a_profile_factor_changes_one_figure_of_the_drive(planned: Callable[..., Plan]) -> None:
    changed = (
        '[factor.drive]\nlevels = { plain = "virtual:plain", other = "virtual:other" }',
        '[factor.drive]\nkind = "profile"\nkey = "read_us"\nlevels = [25, 50.5]',
    )
    assert [s.target for s in planned(changed).settings[::2]] == [
        "virtual:plain,read_us=25",
        "virtual:plain,read_us=50.5",
    ]


def test_records_as_levels_are_compared_with_each_other(planned: Callable[..., Plan]) -> None:
    plan = planned(
        ("[factor.depth]\nlevels = [1, 32]", '[factor.record]\nlevels = ["4KiB", "8KiB"]'),
        ('record = "4KiB"\n', ""),
    )
    assert {cell.stem for cell in plan.cells} == {"iops.random_read", "iops.random_write"}
    labels = {cell.label for cell in plan.cells if cell.stem == "iops.random_read"}
    assert labels == {
        f"iops.random_read, drive {drive}, record {record}"
        for drive in ("plain", "other")
        for record in ("4KiB", "8KiB")
    }


def test_what_is_excluded_of_the_baseline_is_excluded_of_its_twin(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", 'seed = 7\naa = true\nexclude = [{ drive = "plain", depth = 32 }]'))
    assert [s.levels["drive"] for s in plan.settings if s.levels["depth"] == "32"] == ["other"]


def test_the_resolved_study_resolves_to_the_same_plan(planned: Callable[..., Plan]) -> None:
    plan = planned(("seed = 7", 'seed = 7\naa = true\nexclude = [{ drive = "other", depth = 32 }]'))
    again = resolve(parse_study(to_toml(plan.study), "again.toml"), plan.facts, others=plan.others)
    assert again.hash == plan.hash


@pytest.mark.parametrize(
    ("found", "changed", "line"),
    [
        (
            "[factor.depth]",
            "[factor.deep]",
            "factor.deep.kind: missing; 'deep' does not say what its levels change",
        ),
        ("levels = [1, 32]", "levels = [1]", "factor.depth.levels: found 1, expected two levels or more"),
        ("levels = [1, 32]", "levels = [1, 1]", "factor.depth.levels: a level is in the list twice"),
        (
            "levels = [1, 32]",
            "levels = [1, 0]",
            "factor.depth.levels: level '0': found 0, expected a whole number from 1 to 4096",
        ),
        (
            "levels = [1, 32]",
            'levels = [1, "x"]',
            "factor.depth.levels: level 'x': found",
        ),
        ("repeat = 4", "repeat = 4\ndepth = 2", "measure.iops.depth: is given together with factor.depth"),
        ("seed = 7", 'seed = 7\norder = "alphabetical"', "order: found 'alphabetical'"),
        (
            "seed = 7",
            "seed = 7\nexclude = [{ depth = 2 }]",
            "exclude[0].depth: '2' is not a level of factor.depth",
        ),
        ("seed = 7", "seed = 7\nexclude = [{}]", "exclude[0]: is empty"),
        (
            "seed = 7",
            "seed = 7\nexclude = [{ depth = 1 }, { depth = 32 }]",
            "exclude: excludes every combination",
        ),
        (
            'arms = "drive"',
            'arms = "drives"',
            "compare.arms: there is no arm to compare 'drives'; did you mean 'drive'?",
        ),
        (
            'arms = "drive"',
            'arms = "drive"\nbaseline = "x"',
            "compare.baseline: there is no level of factor.drive 'x'",
        ),
        ("[factor.depth]", '[factor.stage]\nkind = "workload"\nkey = "depth"', "factor.stage: compare.arms"),
        (
            "[factor.depth]\nlevels = [1, 32]",
            '[factor.k]\nkind = "label"\nlevels = ["a, b", "c"]',
            "factor.k.levels: a level of a label has no",
        ),
        ('arms = "drive"', 'arms = "stage"', None),
        (
            "[compare]\narms",
            '[state]\ncarryover = "remount"\n[compare]\narms',
            "state.carryover: 'remount' needs a file",
        ),
        ("[compare]\narms", '[state]\ncarryover = "wipe"\n[compare]\narms', "state.carryover: found 'wipe'"),
    ],
)
def test_broken_factors_are_refused(
    refusal: Callable[..., str], found: str, changed: str, line: str | None
) -> None:
    text = TWO_DRIVES.replace(found, changed, 1)
    assert text != TWO_DRIVES
    if line is None:
        parse_study(text, "two.toml")
    else:
        assert refusal(lambda: parse_study(text, "two.toml")).startswith(f"two.toml: {line}")


def test_a_plan_says_its_factors_its_order_and_what_it_can_see(planned: Callable[..., Plan]) -> None:
    text = " ".join(describe(planned()).split())
    assert "factor drive plain, other (each its own target)" in text
    assert "settings 4 combinations of levels" in text
    # Four pairs: t(0.975; 3) + t(0.8; 3) is 3.1824 + 0.9785, times the square root of 2 / 4.
    assert "4 paired blocks give 80 % power to detect a difference of 2.9 standard deviations" in text
    blocked = " ".join(describe(planned(("seed = 7", 'seed = 7\norder = "blocked"'))).split())
    assert "WARNING: one arm is measured after the other" in blocked
    # Two groups of four: t(0.975; 6) + t(0.8; 6) is 2.4469 + 0.9057.
    assert "4 runs of each arm give 80 % power to detect a difference of 2.4 standard deviations" in blocked
    labels = planned(("[compare]", '[factor.kernel]\nkind = "label"\nlevels = ["6.1", "6.8"]\n[compare]'))
    assert "`mileage run STUDY --label kernel=6.1`; `mileage run STUDY --label kernel=6.8`" in " ".join(
        describe(labels).split()
    )
