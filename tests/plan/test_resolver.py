"""A study becomes runs: which, in which order, with which seeds; and what is refused before it starts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mileage.plan import Plan, PlannedRun, Study, TargetFacts, parse_study
from mileage.plan.resolver import places_of, resolve

Facts = Callable[..., TargetFacts]


def measured(plan: Plan) -> list[PlannedRun]:
    return [run for run in plan.runs if run.role == "measure"]


def study_like(text: str, **changes: str) -> Study:
    """The small study with texts replaced."""
    for found, changed in changes.items():
        text = text.replace(found, changed)
    return parse_study(text, "small.toml")


def test_the_runs_come_in_canonical_order(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    assert [run.index for run in plan.runs] == list(range(len(plan.runs)))
    assert len({run.key for run in plan.runs}) == len(plan.runs)
    arms = [arm for arm, _ in groupby((run.cycle, run.arm) for run in plan.runs)]
    assert arms == [(1, "torture"), (1, "sham"), (2, "torture"), (2, "sham")]
    first = [run for run in plan.runs if (run.cycle, run.arm) == (1, "torture")]
    stages = [(stage, role) for (stage, role), _ in groupby((run.stage, run.role) for run in first)]
    assert stages == [
        ("prepare", "prepare"),
        ("before", "measure"),
        ("torture", "torture"),
        ("rest", "idle"),
        ("after", "measure"),
    ]
    assert first[1].key.startswith("cycle 1/torture/before/block 1/")


def test_cells_are_all_combinations_and_say_what_is_recorded(small: Study, drive: TargetFacts) -> None:
    cells = resolve(small, drive).cells
    assert [(cell.label, cell.kind, cell.metrics, cell.blocks) for cell in cells] == [
        ("throughput.write 128 KiB", "throughput", ("throughput",), 3),
        ("throughput.write 1 MiB", "throughput", ("throughput",), 3),
        ("throughput.read 128 KiB", "throughput", ("throughput",), 3),
        ("throughput.read 1 MiB", "throughput", ("throughput",), 3),
        ("iops.random_read 4 KiB", "iops", ("iops", "p99"), 2),
    ]


def test_a_cell_is_the_workload_that_the_study_describes(small: Study, drive: TargetFacts) -> None:
    write, *_, read = (cell.workload for cell in resolve(small, drive).cells)
    assert (write.pattern, write.read_percent, write.record_bytes) == ("sequential", 0, 128 << 10)
    assert (write.stop.bytes, write.stop.operations, write.stop.time_ns) == (8 << 20, None, None)
    assert (write.sync, write.sync_timed, write.content) == ("fdatasync", True, "incompressible")
    assert (read.pattern, read.read_percent, read.threads, read.depth) == ("random", 100, 4, 1)
    assert (read.sync, read.sync_timed) == ("none", False)
    assert read.stop.operations == 1000


def test_a_drive_is_used_whole_in_whole_records(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    assert plan.work_bytes == 64_000_000_000 // (1 << 20) * (1 << 20)
    assert {run.workload.span_bytes for run in plan.runs if run.workload} == {plan.work_bytes}


def test_a_work_file_has_the_size_that_is_asked_for(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory(), target="dir:/scratch")
    assert plan.work_bytes == 64 << 20
    assert plan.target == "dir:/scratch"


def test_a_work_file_may_follow_the_memory(small_text: str, directory: Facts) -> None:
    study = study_like(small_text, **{'file = "64MiB"': 'file = "1.5x memory"'})
    facts = directory(memory_bytes=(1 << 30) + 12_345)
    plan = resolve(study, facts, target="dir:/scratch")
    assert plan.work_bytes == 1536 << 20
    assert plan.study.state.file == "1536MiB"
    assert resolve(plan.study, directory(memory_bytes=1)).hash == plan.hash


def test_families_are_spelled_out_in_the_resolved_study(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    assert plan.study.measure["throughput"].workload == ("throughput.write", "throughput.read")
    assert resolve(plan.study, drive) == plan


def test_amounts_are_multiples_of_the_work_area(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory())
    amounts = {
        run.cell: run.workload.stop.bytes for run in plan.runs if run.workload and run.role == "torture"
    }
    assert amounts == {"fill": 64 << 20, "churn": (64 << 20) * 22 // 10 // 4096 * 4096}


def test_the_sham_idles_for_as_long_as_its_own_cycles_torture_took(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    mirrors = [run for run in plan.runs if run.mirrors is not None]
    assert [(run.cycle, run.arm, run.stage, run.cell) for run in mirrors] == [
        (cycle, "sham", "torture", cell) for cycle in (1, 2) for cell in ("fill", "churn")
    ]
    for run in mirrors:
        assert run.mirrors is not None
        torture = plan.runs[run.mirrors]
        assert torture.index < run.index
        assert (torture.role, torture.cycle, torture.stage, torture.cell) == (
            "torture",
            run.cycle,
            run.stage,
            run.cell,
        )
        assert (run.role, run.workload, run.idle_ns, run.seed) == ("idle", None, None, 0)


def test_an_idle_stage_is_idle_in_both_arms(small: Study, drive: TargetFacts) -> None:
    rests = [run for run in resolve(small, drive).runs if run.stage == "rest"]
    assert [(run.arm, run.idle_ns, run.mirrors) for run in rests] == [
        ("torture", 10**10, None),
        ("sham", 10**10, None),
    ] * 2


def test_both_arms_are_prepared_alike(small: Study, drive: TargetFacts) -> None:
    prepared = [run for run in resolve(small, drive).runs if run.role == "prepare"]
    assert [run.arm for run in prepared] == ["torture", "sham", "torture", "sham"]
    seeds = [run.seed for run in prepared]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]


@given(seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pairs_share_seeds_and_order_and_blocks_do_not(small: Study, drive: TargetFacts, seed: int) -> None:
    plan = resolve(small, drive, seed=seed)
    blocks: dict[tuple[int, int], dict[tuple[str, str], list[tuple[str, int]]]] = {}
    for run in measured(plan):
        assert run.workload is not None
        assert run.workload.seed == run.seed
        place = blocks.setdefault((run.cycle, run.block), {}).setdefault((run.arm, run.stage), [])
        place.append((run.cell, run.seed))
    for (_, block), places in blocks.items():
        assert set(places) == {(arm, stage) for arm in ("torture", "sham") for stage in ("before", "after")}
        first, *others = places.values()
        assert all(other == first for other in others)
        labels = [cell.label for cell in plan.cells if cell.blocks >= block]
        assert sorted(cell for cell, _ in first) == sorted(labels)
    seeds = [seed for places in blocks.values() for _, seed in next(iter(places.values()))]
    assert len(set(seeds)) == len(seeds)


def test_blocks_are_done_one_after_the_other(small: Study, drive: TargetFacts) -> None:
    before = [
        run.block
        for run in measured(resolve(small, drive))
        if (run.cycle, run.arm, run.stage) == (1, "torture", "before")
    ]
    assert before == [1] * 5 + [2] * 5 + [3] * 4


def test_the_order_changes_with_the_seed(small: Study, drive: TargetFacts) -> None:
    orders = {tuple(run.cell for run in measured(resolve(small, drive, seed=seed))) for seed in range(5)}
    assert len(orders) == 5
    assert resolve(small, drive, seed=3) == resolve(small, drive, seed=3)


def test_several_levels_appear_in_the_labels(small_text: str, drive: TargetFacts) -> None:
    study = study_like(
        small_text,
        **{'record = "4KiB"\nthreads = 4\nstop': 'record = "4KiB"\nthreads = [1, 8]\ndepth = [1, 4]\nstop'},
    )
    labels = [cell.label for cell in resolve(study, drive).cells if cell.kind == "iops"]
    assert labels == [
        "iops.random_read 4 KiB, 1 thread, depth 1",
        "iops.random_read 4 KiB, 1 thread, depth 4",
        "iops.random_read 4 KiB, 8 threads, depth 1",
        "iops.random_read 4 KiB, 8 threads, depth 4",
    ]


def test_equal_labels_of_two_tables_stay_distinct(small_text: str, drive: TargetFacts) -> None:
    text = small_text.replace('["throughput", "iops"]', '["throughput", "iops", "few"]')
    text += '[measure.few]\nworkload = "iops.random_read"\nrecord = 4096\nstop = { operations = 10 }\n'
    labels = [cell.label for cell in resolve(parse_study(text, "s"), drive).cells]
    assert labels[-2:] == ["iops.random_read 4 KiB (iops)", "iops.random_read 4 KiB (few)"]


def test_sizes_without_a_binary_unit_stay_exact_in_labels(small_text: str, directory: Facts) -> None:
    changes = {'["128KiB", "1MiB"]': '["512 B", "1.5KiB"]', '"8MiB"': '"4x"', '"64MiB"': '"3MiB"'}
    labels = [cell.label for cell in resolve(study_like(small_text, **changes), directory()).cells]
    assert labels[:2] == ["throughput.write 512 B", "throughput.write 1536 B"]


def test_records_without_a_common_multiple_in_the_area_are_refused(
    small_text: str, drive: TargetFacts, refusal: Callable[..., str]
) -> None:
    changes = {'["128KiB", "1MiB"]': '["4096000 B", "4100096 B"]', '"8MiB"': '"4x"'}
    study = study_like(small_text, **changes)
    assert refusal(lambda: resolve(study, drive)) == (
        "small: record: the least size that all records divide, 122 GiB, is larger than the work area of 59.6 GiB"
    )


def test_metrics_may_be_chosen(small_text: str, drive: TargetFacts) -> None:
    study = study_like(small_text, **{"repeat = 3": 'repeat = 3\nmetric = ["p99", "throughput"]'})
    assert resolve(study, drive).cells[0].metrics == ("throughput", "p99")


@pytest.mark.parametrize(("metric", "kind"), [("iops", "iops"), ("throughput", "throughput")])
def test_rates_are_judged_as_the_rate_that_is_asked_for(
    metric: str, kind: str, small_text: str, drive: TargetFacts
) -> None:
    study = study_like(small_text, **{"repeat = 3": f'repeat = 3\nmetric = "{metric}"'})
    assert {cell.kind for cell in resolve(study, drive).cells} >= {kind}
    assert all(cell.kind == kind for cell in resolve(study, drive).cells if cell.metrics == (metric,))


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        ("seed = 7", "seed = 8"),
        ("cycles = 2", "cycles = 3"),
        ("sham = true", "sham = false"),
        ('"Is it slower?"', '"Is it faster?"'),
        ('name = "small"', 'name = "smaller"'),
        ('"8MiB"', '"16MiB"'),
        ('"128KiB", "1MiB"', '"128KiB", "2MiB"'),
        ("threads = 4", "threads = 5"),
        ("threads = 4", "threads = 4\ndepth = 2"),
        ("repeat = 3", "repeat = 4"),
        ("repeat = 3", 'repeat = 3\nsync = "none"'),
        ("repeat = 3", 'repeat = 3\ncontent = "zeros"'),
        ("repeat = 3", 'repeat = 3\nspan = "50%"'),
        ("repeat = 3", 'repeat = 3\nmetric = "iops"'),
        ('amount = "2.2x"', 'amount = "2.3x"'),
        ('amount = "2.2x"', 'amount = "2.2x"\ntime = "1 h"'),
        ('idle = "10 s"', 'idle = "11 s"'),
        ("p99 = 0.10", "p99 = 0.11"),
        ('baseline = "before"', 'candidate = "after"'),
        ('"virtual:plain"', '"virtual:other"'),
        ('file = "64MiB"', 'file = "65MiB"'),
        ("iops.random_read", "iops.shuffled_read"),
    ],
)
def test_the_hash_changes_with_everything(
    small_text: str, drive: TargetFacts, found: str, changed: str
) -> None:
    study = parse_study(small_text, "s")
    other = parse_study(small_text.replace(found, changed), "s")
    assert resolve(study, drive).hash != resolve(other, drive).hash


def test_the_hash_names_the_plan_and_not_the_moment(
    small: Study, drive: TargetFacts, directory: Facts
) -> None:
    plan = resolve(small, directory())
    assert plan.hash == resolve(small, directory(free_bytes=1 << 30, memory_bytes=0)).hash
    assert plan.hash != resolve(small, directory(name="/other")).hash
    assert plan.hash != resolve(small, directory(capacity_bytes=101 << 30)).hash
    assert plan.hash != resolve(small, directory(), seed=8).hash
    assert len(plan.hash) == 64
    assert plan.hash.startswith(plan.hash_short)
    assert len(plan.hash_short) == 16


def test_a_plan_survives_json(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    assert msgspec.json.decode(plan.to_json(), type=Plan) == plan


def test_one_stage_may_measure_alone(small_text: str, drive: TargetFacts) -> None:
    text = small_text.replace('[[stage]]\nname = "after"\nmeasure = "before"\n', "").replace(
        'baseline = "before"\n', ""
    )
    plan = resolve(parse_study(text, "s"), drive)
    assert {run.stage for run in measured(plan)} == {"before"}


@pytest.mark.parametrize(
    ("found", "changed", "line"),
    [
        (
            'file = "64MiB"',
            'file = "100000000 B"',
            "small: measure.throughput.record[0]: 128 KiB does not divide the work file of 100000000 "
            "B; "
            "choose a record and a state.file that divide evenly",
        ),
        (
            'file = "64MiB"',
            'file = "512KiB"',
            "small: measure.throughput.record[1]: 1 MiB does not divide the work file of 512 KiB; "
            "choose a record and a state.file that divide evenly",
        ),
        (
            'file = "64MiB"',
            'file = "0.00001x memory"',
            "small: record: the least size that all records divide, 1 MiB, is larger than the work area of 85899 B",
        ),
        (
            'file = "64MiB"',
            'file = "30GiB"',
            "small: state.file: the work file needs 30 GiB and 20 GiB are free on dir:/scratch; free "
            "some space, "
            "give a smaller state.file, or use --quick",
        ),
        (
            "repeat = 3",
            'repeat = 3\nspan = "1000000 B"',
            "small: measure.throughput.span: found 1000000 B, which the record of 128 KiB does not divide; "
            "choose sizes that divide evenly",
        ),
        (
            "repeat = 3",
            'repeat = 3\nspan = "1GiB"',
            "small: measure.throughput.span: found 1 GiB, more than the work area of 64 MiB",
        ),
        (
            '"8MiB"',
            '"8MB"',
            "small: measure.throughput.stop.bytes: found 8000000 B, which the record of 128 KiB does "
            "not divide; "
            "choose sizes that divide evenly",
        ),
        (
            "repeat = 3",
            "repeat = 3\nthreads = 16",
            "small: measure.throughput.stop.bytes: found 8388608: expected 16777216 or more "
            "(a record for each thread at least)",
        ),
        (
            "operations = 1000",
            "operations = 3",
            "small: measure.iops.stop.operations: found 3: expected 4 or more (one for each thread at least)",
        ),
        (
            "repeat = 3",
            'repeat = 3\nthreads = 3\nspan = "2MiB"',
            "small: measure.throughput.span: found 2: expected 3 to 1099511627776 (in records, one for each "
            "thread at least)",
        ),
        (
            'amount = "2.2x"',
            'amount = "8KiB"',
            "small: torture.churn.amount: found 8192: expected 16384 or more (a record for each thread at least)",
        ),
        (
            'amount = "2.2x"',
            "amount = 4097",
            "small: torture.churn.amount: found 4097 B, which the record of 4 KiB does not divide; "
            "choose sizes that divide evenly",
        ),
        (
            '"throughput.*"',
            '["throughput.*", "throughput.read"]',
            "small: measure.throughput.workload: a workload is named twice among throughput.*, "
            "throughput.read",
        ),
        (
            "cycles = 2",
            "cycles = 999",
            None,
        ),
        (
            "repeat = 3",
            "repeat = 10000",
            "small: 320032 runs; expected at most 100000; use fewer cells, blocks or cycles",
        ),
    ],
    ids=lambda text: str(text)[:40],
)
def test_what_does_not_fit_a_directory(
    small_text: str, directory: Facts, refusal: Callable[..., str], found: str, changed: str, line: str | None
) -> None:
    study = parse_study(small_text.replace(found, changed, 1), "small.toml")
    if line is None:
        assert resolve(study, directory()).runs
    else:
        assert refusal(lambda: resolve(study, directory(), target="dir:/scratch")) == line


def test_a_record_below_the_logical_block_is_refused(
    small_text: str, drive: TargetFacts, refusal: Callable[..., str]
) -> None:
    study = study_like(small_text, **{'record = "4KiB"': 'record = "512B"'})
    block = "512 B is not a multiple of the logical block of virtual:plain, 4 KiB"
    found = refusal(lambda: resolve(study, drive))
    assert f"measure.iops.record: {block}" in found
    assert f"torture.churn.record: {block}" in found


def test_a_cache_that_cannot_be_bypassed_is_refused(
    small: Study, directory: Facts, refusal: Callable[..., str]
) -> None:
    facts = directory(direct_supported=False)
    assert refusal(lambda: resolve(small, facts, target="dir:/dev/shm")) == (
        'small: state.cache: "direct" cannot be honoured: the file system of dir:/dev/shm does not '
        "bypass the page "
        'cache; choose a target on another file system, or cache = "warm"'
    )


def test_wear_beyond_a_tenth_of_the_rating_is_refused_unless_accepted(
    small: Study, directory: Facts, refusal: Callable[..., str]
) -> None:
    worn = directory(rated_write_bytes=6 << 30)
    line = refusal(lambda: resolve(small, worn, target="dir:/scratch"))
    assert line == (
        "small: 1.02 GiB to write are 17.1% of the rated endurance of dir:/scratch; expected at most 10%; "
        "make the study smaller, or accept the wear with allow_wear = true"
    )
    accepted = resolve(small, worn, allow_wear=True)
    assert accepted.study.allow_wear
    assert accepted.refusals == ()
    assert resolve(accepted.study, worn) == accepted
    assert resolve(small, directory(rated_write_bytes=1 << 40)).refusals == ()


def test_a_virtual_drive_may_be_worn_out(small: Study, drive: TargetFacts) -> None:
    rated = msgspec.structs.replace(drive, rated_write_bytes=1)
    assert resolve(small, rated).refusals == ()


def test_refusals_can_be_read_instead_of_raised(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory(free_bytes=0, direct_supported=False, rated_write_bytes=1), refuse=False)
    assert len(plan.refusals) == 3
    assert all("\n" not in refusal for refusal in plan.refusals)


def test_another_target_is_checked_like_the_studys_own(
    small_text: str, directory: Facts, drive: TargetFacts, refusal: Callable[..., str]
) -> None:
    study = parse_study(small_text, "s")
    assert "control characters" in refusal(lambda: resolve(study, directory(), target="dir:/a\nb"))
    assert refusal(lambda: resolve(study, drive, seed=-1)).startswith("small: seed: found -1")


HOLES = """\
name = "holes"
target = "dir:/scratch"
[state]
file = "64MiB"
[[stage]]
name = "only"
measure = ["it"]
[measure.it]
workload = "WORKLOAD"
record = "4KiB"
stop = { time = "1 s" }
"""


@pytest.mark.parametrize(
    ("workload", "holes"), [("random_read", True), ("mix", True), ("random_write", False)]
)
def test_a_work_file_is_written_before_it_is_read(
    directory: Facts, refusal: Callable[..., str], workload: str, holes: bool
) -> None:
    found = parse_study(HOLES.replace("WORKLOAD", workload), "holes.toml")
    if holes:
        output = refusal(lambda: resolve(found, directory()))
        assert "reads the work file in stage only before anything wrote it" in output
        assert 'prepare = ["fill"]' in output
    else:
        assert resolve(found, directory()).refusals == ()


def test_what_a_stage_before_has_written_may_be_read_in_every_cycle(
    directory: Facts, refusal: Callable[..., str]
) -> None:
    fill = '[[stage]]\nname = "fill"\nprepare = ["fill"]\n'
    table = '[torture.fill]\nworkload = "throughput.write"\nrecord = "1MiB"\namount = "64MiB"\n'
    text = HOLES.replace("WORKLOAD", "random_read").replace('target = "', 'cycles = 2\ntarget = "')
    before = text.replace("[[stage]]", fill + "[[stage]]")
    assert resolve(parse_study(before + table, "holes.toml"), directory()).refusals == ()
    after = text.replace("[measure.it]", fill + "[measure.it]")
    assert "before anything wrote it" in refusal(
        lambda: resolve(parse_study(after + table, "holes.toml"), directory())
    )


@pytest.mark.parametrize(
    ("kind", "state", "refused"),
    [
        ("block", "", True),
        ("loop", "", True),
        ("block", 'purge = "nvme-format"', True),
        ("block", 'purge = "ata-erase"', False),
        ("block", 'start = "kept"', False),
        ("served", "", False),
    ],
)
def test_an_emptied_device_is_written_before_it_is_read(
    directory: Facts, refusal: Callable[..., str], kind: str, state: str, refused: bool
) -> None:
    target = {"block": "block:/dev/sdz", "loop": "loop:64MiB", "served": "served:plain-64gib"}[kind]
    text = HOLES.replace("WORKLOAD", "random_read").replace("dir:/scratch", target)
    study = parse_study(text.replace('file = "64MiB"', state), "holes.toml")
    facts = directory(kind=kind, capacity_bytes=64 << 20, free_bytes=64 << 20)
    if refused:
        output = refusal(lambda: resolve(study, facts))
        assert f"reads {target} in stage only before anything wrote it" in output
    else:
        assert resolve(study, facts).refusals == ()


@pytest.mark.parametrize("levels", ["small = 1048576, large = 4194304", "large = 4194304, small = 1048576"])
def test_each_drive_has_an_area_of_its_own_in_any_order(
    small_text: str, drive: TargetFacts, levels: str
) -> None:
    """The smallest for all would hide what a factor of the capacity does."""
    text = small_text.replace("sham = true", "sham = false")
    text += f'[factor.spare]\nkind = "profile"\nkey = "capacity_bytes"\nlevels = {{ {levels} }}\n'
    study = parse_study(text, "small.toml")
    sizes = {"small": 32 << 20, "large": 64 << 20}
    places = places_of(study)
    facts = {
        place: msgspec.structs.replace(drive, capacity_bytes=sizes[setting.levels["spare"]])
        for place, setting in places.items()
    }
    first, *_ = facts
    plan = resolve(study, facts[first], others={place: facts[place] for place in facts if place != first})
    assert {setting.levels["spare"]: plan.area_bytes(setting) for setting in plan.settings} == sizes
