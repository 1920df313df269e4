"""The tortures that ship with Mileage, and rounds that read back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage.plan import TargetFacts, parse_study, to_toml
from mileage.plan.estimate import remaining_s, run_times_s
from mileage.plan.plan_text import stage_words
from mileage.plan.planned_runs import occupied_bytes
from mileage.plan.resolver import resolve
from mileage.plan.sizes import area_bytes

STUDY = """
name = "torn"
target = "virtual:plain"
sham = true
[[stage]]
name = "before"
measure = ["m"]
[[stage]]
name = "torture"
torture = ["TORTURE"]
[[stage]]
name = "after"
measure = "before"
[measure.m]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 100 }
"""
IOR = {"ior-small": (4096, 52_428_800_000), "ior-large": (256 << 10, 58_720_256_000)}
"""Transfer size, and bytes that the two runs of 2010 reported as their aggregate."""


@pytest.mark.parametrize("name", IOR)
def test_an_ior_run_writes_and_reads_its_files_ten_times(drive: TargetFacts, name: str) -> None:
    record, written = IOR[name]
    large = msgspec.structs.replace(drive, capacity_bytes=64_000_000_000, free_bytes=64_000_000_000)
    plan = resolve(parse_study(STUDY.replace("TORTURE", name), "torn"), large)
    torture = [run for run in plan.runs if run.role == "torture"]
    assert [run.cell for run in torture] == [name, f"{name} read back"] * 10
    for run in torture:
        assert run.workload is not None
        assert (run.workload.record_bytes, run.workload.threads) == (record, 4)
        # Whole records: on a drive that the work area does not divide evenly, a record less.
        assert run.workload.stop.bytes == pytest.approx(written, abs=4 * record)
        assert run.workload.read_percent == (100 if run.cell.endswith("back") else 0)
    idle = [run for run in plan.runs if run.role == "idle"]
    assert [run.mirrors for run in idle] == [run.index for run in torture]
    assert len({run.key for run in plan.runs}) == len(plan.runs)


def test_on_a_small_target_the_same_share_is_written(drive: TargetFacts) -> None:
    small = msgspec.structs.replace(drive, capacity_bytes=1 << 30, free_bytes=1 << 30)
    plan = resolve(parse_study(STUDY.replace("TORTURE", "ior-small"), "torn"), small)
    writing = next(run.workload for run in plan.runs if run.cell == "ior-small")
    assert writing is not None
    assert writing.span_bytes == pytest.approx(0.83 * plan.work_bytes, rel=0.01)


def test_tasks_are_processes_with_a_file_each_in_a_directory(directory: Callable[..., TargetFacts]) -> None:
    text = STUDY.replace("TORTURE", "ior-large").replace("virtual:plain", "dir:/scratch")
    plan = resolve(parse_study(text, "torn"), directory())
    torture = [run for run in plan.runs if run.role == "torture"]
    assert len(torture) == 20
    for run in torture:
        assert run.workload is not None
        assert run.reach is not None
        assert (run.reach.processes, run.workload.threads, run.workload.files) == (4, 4, "per_thread")
        assert run.workload.stop.bytes == 4 * run.workload.span_bytes
        assert run.workload.span_bytes % (256 << 10) == 0
        assert run.workload.stop.bytes == pytest.approx(0.93 * plan.work_bytes, abs=4 * (256 << 10))
        reads = run.workload.read_percent == 100
        assert (run.reach.makes_files, run.reach.removes_files) == (not reads, reads)
    assert plan.files == 0, "files are made by the runs"
    span = torture[0].workload.span_bytes  # type: ignore[union-attr]
    assert occupied_bytes(plan.work_bytes, plan.runs) == plan.work_bytes + 4 * span, (
        "and count when it is seen whether all fits"
    )
    output = stage_words(plan, plan.study.stage[1])
    assert "4 tasks, each a process with a file of its own, new in each round" in output


def test_files_of_tasks_stay_where_others_have_files_of_their_own(
    directory: Callable[..., TargetFacts],
) -> None:
    text = STUDY.replace("TORTURE", "ior-large").replace("virtual:plain", "dir:/scratch")
    text += '[torture.mine]\nworkload = "throughput.write"\nrecord = "4KiB"\namount = "10%"\nspan = "10%"\n'
    text += 'files = "per_thread"\n'
    text = text.replace('torture = ["ior-large"]', 'torture = ["ior-large", "mine"]')
    assert '"mine"' in text
    plan = resolve(parse_study(text, "torn"), directory())
    torture = [run for run in plan.runs if run.role == "torture"]
    assert not [run for run in torture if run.reach and (run.reach.makes_files or run.reach.removes_files)]
    assert plan.files == 4
    assert "new in each round" not in stage_words(plan, plan.study.stage[1])


def test_tasks_are_threads_on_a_simulated_drive_and_the_plan_says_so(drive: TargetFacts) -> None:
    plan = resolve(parse_study(STUDY.replace("TORTURE", "ior-small"), "torn"), drive)
    (reach,) = {run.reach for run in plan.runs if run.role == "torture"}
    assert reach is None
    assert plan.files == 0
    output = stage_words(plan, plan.study.stage[1])
    assert "4 tasks, each a thread (a simulated drive has no processes)" in output


@pytest.mark.parametrize("other", ["threads = 2", "processes = 2", 'files = "per_thread"'])
def test_tasks_together_with_what_they_replace_are_refused(refusal: Callable[..., str], other: str) -> None:
    table = '[torture.t]\nworkload = "throughput.write"\nrecord = "4KiB"\namount = "1x"\ntasks = 4\n'
    line = refusal(lambda: parse_study(STUDY.replace("TORTURE", "t") + table + other, "torn"))
    assert f"torture.t.{other.partition(' ')[0]}: is given together with tasks" in line


def test_the_honest_torture_fills_and_overwrites_in_mixed_sizes(drive: TargetFacts) -> None:
    study = parse_study(STUDY.replace("TORTURE", "honest"), "torn")
    plan = resolve(study, drive)
    fill, mixed = (run.workload for run in plan.runs if run.role == "torture")
    assert fill is not None
    assert mixed is not None
    assert fill.stop.bytes == mixed.span_bytes == plan.work_bytes
    assert mixed.stop.bytes == 2 * plan.work_bytes
    assert mixed.does.write == 100
    assert parse_study(to_toml(study), "torn") == study


def test_the_lesser_of_two_sizes() -> None:
    assert area_bytes("8KiB or 50%", work_bytes=1 << 20, multiple_bytes=4096) == 8192
    assert area_bytes("8KiB or 50%", work_bytes=8192, multiple_bytes=4096) == 4096
    with pytest.raises(ValueError, match="maybe"):
        area_bytes("8KiB or maybe", work_bytes=8192, multiple_bytes=4096)


@pytest.mark.parametrize(
    ("found", "changed", "line"),
    [
        ("rounds = 5", "rounds = 4", "rounds: found 4: until = 'pts-steady' needs 5 or more"),
        ("pts-steady", "tired", "until: found 'tired', expected 'pts-steady' or 'steady'"),
        ('"iops.random_write"', '"pattern.mix"', "read_back: pattern.mix does not only write; remove it"),
    ],
)
def test_rounds_that_make_no_sense_are_refused(
    refusal: Callable[..., str], found: str, changed: str, line: str
) -> None:
    table = '[torture.t]\nworkload = "iops.random_write"\nrecord = "4KiB"\namount = "1x"\nread_back = true\n'
    table += 'rounds = 5\nuntil = "pts-steady"\n'
    text = STUDY.replace("TORTURE", "t") + table.replace(found, changed)
    assert refusal(lambda: parse_study(text, "torn")).endswith(f"torture.t.{line}")


def test_what_is_left_takes_as_long_as_its_like_took(drive: TargetFacts) -> None:
    plan = resolve(parse_study(STUDY.replace("TORTURE", "honest"), "torn"), drive)
    assumed = run_times_s(plan.runs, virtual=True)
    stages = list(dict.fromkeys((run.part, run.cycle, run.arm, run.stage) for run in plan.runs))
    kept_s, report_s = drive.capacity_bytes / 100e9, 4.0 + len(plan.runs) / 2000
    assert remaining_s(plan, {}) == pytest.approx(sum(assumed) + len(stages) * kept_s + report_s)
    done = {run.index: 3 * assumed[run.index] for run in plan.runs if run.stage == "before"}
    left = {"measure": 0.0, "torture": 0.0, "idle": 0.0}
    for run in plan.runs:
        if run.index not in done:
            left[run.role] += assumed[run.index]
    closed = {stage: 5.0 for stage in stages if stage[3] == "before"}
    others_s = (len(stages) - len(closed)) * 5.0
    assert remaining_s(plan, done, closed) == pytest.approx(
        3 * left["measure"] + left["torture"] + others_s + report_s
    )
    everything = {run.index: 1.0 for run in plan.runs}
    assert remaining_s(plan, everything, dict.fromkeys(stages, 1.0)) == pytest.approx(report_s)
