"""The comparison with other programs: its arithmetic, and that every row of it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers.programs import Unusable, fio
from benchmarks.peers.table import US, Bar, Outcome, Reading, Readings, best, judge, lines, ratio
from tests.house.repository import ROOT

EXAMPLES = [ROOT / "target" / profile / "examples" for profile in ("release", "debug")]


def cpu(*values: float) -> list[Reading]:
    return [Reading(1e9 / value, value) for value in values]


def held(bar: Bar, readings: Readings) -> Outcome:
    outcome = judge(bar, readings)
    assert outcome is not None
    return outcome


def test_a_ratio_is_taken_round_by_round() -> None:
    found = ratio({US: cpu(100, 300, 200), "other": cpu(100, 100, 400)}, "other", "cpu")
    assert found is not None
    assert (found.median, found.least, found.most) == (1.0, 0.5, 3.0)
    assert str(found) == "1.000 [0.500, 3.000]"


def test_a_program_that_tells_no_processor_time_has_no_such_ratio() -> None:
    readings = {US: cpu(100), "silent": [Reading(5.0)]}
    assert ratio(readings, "silent", "cpu") is None
    assert ratio(readings, "silent", "rate") is not None
    assert judge(Bar("cpu", 1.0, ("silent",)), readings) is None


def test_a_bar_is_held_against_the_best_of_those_it_names() -> None:
    readings = {US: cpu(105), "slow": cpu(200), "quick": cpu(100)}
    assert best(readings, ("slow", "quick", "absent"), "cpu") == "quick"
    assert best(readings, ("slow", "quick"), "rate") == "quick"
    missed, kept = (held(Bar("cpu", limit, ("slow", "quick")), readings) for limit in (1.04, 1.06))
    assert (missed.against, missed.holds, kept.holds) == ("quick", False, True)
    assert not held(Bar("rate", 0.97, ("quick",)), readings).holds


def test_noise_is_granted_only_while_one_round_keeps_to_the_bar() -> None:
    bar = Bar("cpu", 1.0, ("other",), noise=True)
    once = held(bar, {US: cpu(110, 99, 120), "other": cpu(100, 100, 100)})
    never = held(bar, {US: cpu(110, 101, 120), "other": cpu(100, 100, 100)})
    assert (once.holds, never.holds) == (True, False)


def test_the_table_says_what_is_missed_and_what_could_not_be_held() -> None:
    readings = {US: cpu(50, 60, 70), "bare loop": cpu(10, 10, 10)}
    bars = (Bar("cpu", 40.0, absolute=True), Bar("cpu", 8.0, ("bare loop",)), Bar("cpu", 1.0, ("fio",)))
    text = "\n".join(lines("a row", readings, bars))
    assert "cpu <= 40 ns: 60.000 [50.000, 70.000] MISSED" in text
    assert "cpu <= 8 of bare loop: 6.000 [5.000, 7.000] holds" in text
    assert "cpu <= 1: nothing here to hold it against" in text


def test_what_fio_prints_around_its_json_is_passed_over(tmp_path: Path) -> None:
    side = {"total_ios": 500, "runtime": 1000}
    job = {"error": 0, "read": side, "write": side, "usr_cpu": 20.0, "sys_cpu": 30.0}
    program = tmp_path / "fio"
    program.write_text(f"#!/bin/sh\necho 'fio: a warning'\necho '{json.dumps({'jobs': [job]})}'\n")
    program.chmod(0o755)
    assert fio(str(program), []) == Reading(1000.0, 500_000.0)
    program.write_text("#!/bin/sh\necho 'no such engine' >&2\nexit 1\n")
    with pytest.raises(Unusable, match="fio ended with status 1: no such engine"):
        fio(str(program), [])


def test_every_row_runs(tmp_path: Path) -> None:
    built = next((folder for folder in EXAMPLES if (folder / "bare_loop").exists()), None)
    if built is None:
        pytest.skip("the engine's examples are not built: cargo build -p mileage-engine --examples")
    words = [
        "--smoke",
        "--engine",
        str(built),
        "--folder",
        str(tmp_path),
        "--json",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "out.json").read_text())
    assert len(kept) in (10, 14), "ten rows on files, and four of metadata where file systems can be made"
    assert all({US, "bare loop"} <= set(row["readings"]) for row in kept)
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"], "nothing is left behind"
