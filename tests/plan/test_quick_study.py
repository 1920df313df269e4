"""The small version of a study keeps its question and is done in about a minute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mileage import app
from mileage.plan import Study, TargetFacts, builtin_text, parse_study
from mileage.plan.estimate import estimate
from mileage.plan.resolver import resolve

Facts = Callable[..., TargetFacts]


@pytest.fixture
def degradation() -> Study:
    return parse_study(builtin_text("degradation"), "degradation")


def test_on_a_directory_it_takes_about_a_minute_however_slow_the_disk(
    degradation: Study, directory: Facts
) -> None:
    plan = resolve(degradation, directory(), quick=True, target="dir:/scratch")
    assert (plan.study.cycles, plan.study.sham, plan.work_bytes) == (1, False, 256 << 20)
    assert len([run for run in plan.runs if run.role == "measure"]) == 60
    limits_ns = [run.workload.stop.time_ns for run in plan.runs if run.workload and run.role != "prepare"]
    uncut = [run.cell for run in plan.runs if run.workload and run.workload.stop.time_ns is None]
    assert uncut == ["fill-large", "fill-large"]
    assert sum(limit or 0 for limit in limits_ns) == 50 * 10**9
    assert estimate(plan).time_s < 60


def test_torture_is_at_least_three_times_the_work_file(degradation: Study, directory: Facts) -> None:
    plan = resolve(degradation, directory(), quick=True)
    written = sum(run.workload.stop.bytes or 0 for run in plan.runs if run.workload and run.role == "torture")
    assert written >= 3 * plan.work_bytes


def test_a_quick_plan_is_a_study_that_resolves_to_itself(
    degradation: Study, directory: Facts, drive: TargetFacts
) -> None:
    for facts in (directory(), drive):
        plan = resolve(degradation, facts, quick=True)
        assert resolve(parse_study(plan.to_toml(), "plan.toml"), facts) == plan


def test_on_a_drive_only_repetition_and_amounts_shrink(degradation: Study, drive: TargetFacts) -> None:
    plan = resolve(degradation, drive, quick=True)
    assert all(run.workload.stop.time_ns is None for run in plan.runs if run.workload)
    assert plan.work_bytes == resolve(degradation, drive).work_bytes
    assert estimate(plan).time_s < 60


def test_it_takes_at_most_a_quarter_of_what_is_free(degradation: Study, directory: Facts) -> None:
    plan = resolve(degradation, directory(free_bytes=100 << 20), quick=True)
    assert plan.work_bytes == 25 << 20
    assert plan.study.state.file == "25MiB"


def test_a_directory_without_room_is_still_refused(
    degradation: Study, directory: Facts, refusal: Callable[..., str]
) -> None:
    facts = directory(free_bytes=100_000)
    assert refusal(lambda: resolve(degradation, facts, quick=True, target="dir:/full")) == (
        "degradation: state.file: the work file needs 1 MiB and 97.7 KiB are free on dir:/full; free some "
        "space, give a smaller state.file, or use --quick"
    )


def test_what_is_small_already_stays(small_text: str, directory: Facts) -> None:
    text = small_text.replace('idle = "10 s"', 'idle = "10 ms"').replace("cycles = 2", "cycles = 1")
    study = parse_study(text.replace("sham = true", "sham = false"), "s")
    plan = resolve(study, directory(), quick=True)
    assert plan.work_bytes == 64 << 20
    assert plan.study.stage == study.stage
    assert plan.study.measure["throughput"].stop.bytes == "8MiB"
    assert plan.study.measure["throughput"].stop.time == "500 ms"


def test_pauses_spans_and_limits_shrink(small_text: str, directory: Facts) -> None:
    text = small_text.replace('file = "64MiB"', 'file = "8GiB"').replace('"8MiB"', '"2GiB"')
    text = text.replace("repeat = 3", 'repeat = 30\nspan = "4GiB"').replace(
        "= 1000 }", '= 90000, time = "1 ms" }'
    )
    plan = resolve(parse_study(text, "s"), directory(), quick=True)
    throughput, iops = plan.study.measure["throughput"], plan.study.measure["iops"]
    assert (throughput.span, throughput.stop.bytes, throughput.repeat) == ("file", "64MiB", 5)
    assert (iops.stop.operations, iops.stop.time, iops.repeat) == (2000, "1 ms", 2)
    assert plan.study.stage_named("rest").idle == "1 s"


@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 16), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_large_tortures_keep_their_proportions(
    small_text: str,
    drive: TargetFacts,
    directory: Facts,
    large: int,
    small: int,
    threads: int,
    on_drive: bool,
) -> None:
    text = small_text.replace('torture = ["fill", "churn"]', 'torture = ["wide", "churn"]')
    text = text.replace('"2.2x"', f'"{small + 0.5}x"').replace(
        "threads = 4\namount", f"threads = {threads}\namount"
    )
    text += f'[torture.wide]\nworkload = "throughput.write"\nrecord = "64KiB"\namount = "{large}x"\n'
    plan = resolve(parse_study(text, "s"), drive if on_drive else directory(), quick=True)
    done = {
        run.cell: run.workload.stop.bytes or 0 for run in plan.runs if run.workload and run.role == "torture"
    }
    total = sum(done.values())
    wanted = large + small + 0.5
    assert total <= 4 * plan.work_bytes
    assert total > min(wanted, 4) * plan.work_bytes - (1 << 20)
    assert done["wide"] / total == pytest.approx(large / wanted, abs=0.02)


DRIVES = """
name = "sizes"
target = "virtual:plain-64gib"
[[stage]]
name = "worn"
torture = ["churn"]
[[stage]]
name = "measured"
measure = ["iops"]
[torture.churn]
workload = "throughput.write"
record = "1MiB"
amount = "{amount}"
[measure.iops]
workload = "iops.random_write"
record = "4KiB"
span = "32GiB"
stop = {{ bytes = "10%" }}
[factor.drive]
kind = "target"
levels = {levels}
[compare]
arms = "drive"
"""
SMALL, LARGE = 'small = "virtual:plain-64gib,capacity_bytes=17179869184"', 'large = "virtual:plain-64gib"'


@pytest.mark.parametrize(
    "levels", [f"{{ {SMALL}, {LARGE} }}", f"{{ {LARGE}, {SMALL} }}"], ids=["small", "large"]
)
@pytest.mark.parametrize(
    ("amount", "written"), [("6x", (64 << 30, 4 * 59_756_064_768)), ("100GiB", (64 << 30, 100 << 30))]
)
def test_each_of_several_drives_is_cut_by_its_own_size(
    tmp_path: Path, levels: str, amount: str, written: tuple[int, int]
) -> None:
    (tmp_path / "sizes.toml").write_text(DRIVES.format(levels=levels, amount=amount))
    plan = app.plan(str(tmp_path / "sizes.toml"), quick=True)
    spans: dict[str, int] = {}
    limits: dict[str, int | None] = {}
    amounts: dict[str, int | None] = {}
    for run in plan.runs:
        drive = plan.settings[run.setting].levels["drive"]
        assert run.workload is not None
        if run.role == "measure":
            spans[drive], limits[drive] = run.workload.span_bytes, run.workload.stop.bytes
        else:
            amounts[drive] = run.workload.stop.bytes
    assert spans == {"small": 16 << 30, "large": 32 << 30}
    assert limits == {"small": 64 << 20, "large": 64 << 20}
    for drive, whole in zip(("small", "large"), written, strict=True):
        assert amounts[drive] == pytest.approx(whole, abs=1 << 23)
    assert resolve(parse_study(plan.to_toml(), "plan.toml"), plan.facts, others=plan.others) == plan


def test_a_quick_study_of_a_source_is_not_compared_with_it() -> None:
    """Its file fits the page cache of the modelled host, where the source's did not."""
    whole, quick = (app.plan("drive-or-host", quick=quick) for quick in (False, True))
    assert (whole.study.published, quick.study.published) == ("x25e-2010", None)
    assert quick.study.apart == whole.study.apart
