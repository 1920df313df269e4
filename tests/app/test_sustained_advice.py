"""The sustained study that a check of a directory advises: its size, its bytes, its hours."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mileage import app
from mileage.analysis.check_result import Row
from mileage.app.check import CheckOptions, plan_of
from mileage.app.check_findings import FILE_BYTES, file_of, sustained_advice, time_s
from mileage.cli.run import command as run_command
from mileage.errors import Refused
from mileage.plan.estimate import bytes_written
from mileage.plan.sizes import format_bytes
from mileage.targets.data_sheets import load_data_sheet

GIB = 1 << 30
QVO = load_data_sheet("samsung-870-qvo-1tb")
ROWS = tuple(
    Row(name, direction, depth, (rate,) * 5, (rate,) * 5, None, None)
    for name, depth, rate in (
        *(("SEQ 1 MiB", 8, 500.0), ("SEQ 1 MiB", 1, 400.0)),
        *(("RND 4 KiB", 32, 100.0), ("RND 4 KiB", 1, 10.0)),
    )
    for direction in ("read", "write")
)


def test_the_file_fills_the_largest_cache_of_the_drive_or_fits_the_free_space() -> None:
    most = QVO.capacity_bytes.value // 4 // GIB * GIB
    assert QVO.medium.value == "qlc"
    assert file_of(10_000 * GIB, QVO)[0] == most
    assert "what fits" not in file_of(10_000 * GIB, QVO)[1]
    size, reason = file_of(100 * GIB, QVO)
    assert size == 80 * GIB
    assert "what fits" in reason
    size, reason = file_of(10_000 * GIB, None)
    assert size == FILE_BYTES
    assert "not known" in reason
    assert file_of(GIB // 2, None)[0] == 409 << 20
    assert "has no SLC cache" in file_of(10_000 * GIB, load_data_sheet("intel-x25e-64gb"))[1]


def test_the_advised_command_can_be_planned_and_has_the_bytes_and_hours_that_are_named(
    tmp_path: Path,
) -> None:
    checked = plan_of(f"dir:{tmp_path}", CheckOptions(quick=True))
    advice = sustained_advice(checked, ROWS, None)
    plan_line, run_line = advice.commands
    words = shlex.split(plan_line)
    assert words[:4] == ["mileage", "plan", "sustained", "--target"]
    assert run_line == plan_line.replace("plan", "run", 1)
    planned = app.plan("sustained", target=words[4], file=words[words.index("--file") + 1])
    assert planned.work_bytes <= checked.facts.free_bytes * 4 // 5
    assert format_bytes(bytes_written(planned.runs)) in advice.text
    assert re.search(r"takes .*(min|h|s)\b.* at the rates above", advice.text)


def test_the_hours_follow_from_the_rates_and_the_idling_lasts_as_long_as_the_torture(tmp_path: Path) -> None:
    wanted = app.plan("sustained", target=f"dir:{tmp_path}", file="64MiB")
    size, measured = 64 << 20, 120 * 20_000 * 4096
    # Eight threads: 80 MB/s of random operations from ten at depth 1; sequential at most 500 MB/s.
    expected = 6 * size / 500e6 + 2 * 3 * 3 * size / 80e6 + 2 * measured / 80e6
    assert time_s(wanted, ROWS) == pytest.approx(expected, rel=0.01)


def test_a_study_that_may_write_more_than_allowed_is_refused_before_its_folder_is_made(
    tmp_path: Path,
) -> None:
    target, out = f"dir:{tmp_path}", tmp_path / "out"
    written = bytes_written(app.plan("sustained", target=target, file="16MiB", quick=True).runs)
    with pytest.raises(Refused) as refused:
        app.run("sustained", target=target, file="16MiB", quick=True, out=out, max_write_bytes=written - 1)
    assert refused.value.refusals[0].code == "too-large"
    assert not out.exists()
    with pytest.raises(Refused) as refused:
        app.plan("sustained", file="16MiB")
    assert refused.value.refusals[0].code == "no-effect"


def test_a_study_states_what_it_writes_and_its_command_has_the_size_of_its_file(tmp_path: Path) -> None:
    options = ["degradation", "--target", f"dir:{tmp_path}", "--file", "16MiB", "--quick", "--report", "none"]
    done = CliRunner().invoke(run_command, [*options, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    planned = app.plan("degradation", target=f"dir:{tmp_path}", file="16MiB", quick=True)
    assert f"writes {format_bytes(bytes_written(planned.runs))} at most" in done.stderr
    assert "--file 16MiB" in " ".join(done.stdout.split())


def test_a_limit_of_bytes_needs_runs_that_end_by_bytes(tmp_path: Path) -> None:
    """Nobody knows before how much is written until a time is over, so a limit of it is none."""
    study, out = tmp_path / "timed.toml", tmp_path / "out"
    study.write_text(
        f'name = "timed"\ntarget = "dir:{tmp_path}"\n[state]\nfile = "16MiB"\n'
        '[[stage]]\nname = "measured"\nmeasure = ["writes"]\n'
        '[measure.writes]\nworkload = "iops.random_write"\nrecord = "4KiB"\nstop = { time = "50 ms" }\n'
    )
    with pytest.raises(Refused) as refused:
        app.run(str(study), out=out, max_write_bytes=1 << 50)
    assert refused.value.refusals[0].code == "conflict"
    assert not out.exists()
