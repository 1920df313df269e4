"""What two people ask of the same two results at different doors, and what used to depend on the door."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from mileage import app
from mileage.app import answer
from mileage.app.importer import make_study, read_files
from mileage.judge.model_band import BandChoice, ModelBand
from tests.answers import fio_report
from tests.answers.doors import Doors, ask_doors
from tests.answers.question import ask, suppose
from tests.app.test_doors import virtual
from tests.command import mileage

DRIVES = """
name = "drives"
target = "virtual:intel-x25e-64gb,scale=1/256"
seed = 4
[[stage]]
name = "measured"
measure = ["writes"]
[factor.drive]
kind = "target"
levels = {{ {levels} }}
[measure.writes]
workload = ["iops.random_write"]
record = "4KiB"
stop = {{ operations = 6000 }}
repeat = 3
[compare]
arms = "drive"
baseline = "x25e"
candidate = "pm1635"
"""


def results(folder: Path, name: str, rates: dict[str, list[float]], **options: str) -> Path:
    """An import of one file of fio for each run; `rates` has the IOPS of each job's runs, not all of them as many."""
    files = []
    for run in range(max(map(len, rates.values()))):
        jobs = [
            fio_report.job(job, iops=values[run], rw=rw, **options)
            for job, (rw, values) in {f"{rw}-job": (rw, values) for rw, values in rates.items()}.items()
            if run < len(values)
        ]
        path = folder / f"{name}-{run}.json"
        fio_report.save(path, fio_report.report(jobs, at_s=1_700_000_000 + 100 * run))
        files.append(path)
    return make_study(read_files(files), folder / name, session="lab").path


def level(rate: float, count: int) -> list[float]:
    return [rate * math.exp(0.002 * ((7 * at) % 5 - 2) + 1e-4 * ((3 * at) % 7)) for at in range(count)]


def two(
    folder: Path, baseline: dict[str, list[float]], candidate: dict[str, list[float]], **options: str
) -> Doors:
    """Ask whether the runs of the candidate are faster, at every door."""
    sides = [results(folder, name, rates, **options) for name, rates in (("a", baseline), ("b", candidate))]
    return ask_doors(*sides, cwd=folder, rules=("slower",))


def test_tests_that_one_side_lacks_are_in_the_first_sentence(tmp_path: Path) -> None:
    """Is tonight, with one job, as fast as last night with three? Truth: nobody knows of the other two."""
    whole = {"randread": level(9000, 5), "randwrite": level(5000, 5), "read": level(400, 5)}
    found = two(tmp_path, whole, {"randread": [9010.0, 8990.0, 9004.0, 8999.0, 9013.0]})
    found.says("oth sides have one of three tests:")
    assert found.sides_of("missing-tests") == ("candidate",)
    assert (found.status, found.gate["slower"]) == (1, {"kept"})
    assert found.texts["Markdown"].count("measured in a only") == 2


def test_runs_with_a_trend_are_no_repetitions(tmp_path: Path) -> None:
    """Is the candidate slower, whose ten runs fall from one to the next? Truth: its runs repeat nothing."""
    found = two(tmp_path, {"randread": level(9000, 10)}, {"randread": [8000 * 0.93**at for at in range(10)]})
    found.says("Not conclusive because")
    found.never_says("independent runs", "slower in", "\N{BLACK DOWN-POINTING TRIANGLE} slower")
    assert found.sides_of("trend") == ("candidate",)
    assert (found.status, found.gate["slower"]) == (4, {"cannot be judged"})


def test_a_broken_rule_is_said_with_its_change(tmp_path: Path) -> None:
    """By how much is the job that fails the gate slower? Truth: half."""
    found = two(tmp_path, {"randread": level(9000, 6)}, {"randread": level(4500, 6)})
    found.says("50.0", "slower")
    assert (found.status, found.gate["slower"]) == (1, {"broken", "kept"})
    for form in ("github", "markdown", "junit", "text"):
        done = mileage("compare", "a", "b", "--fail-if", "slower", "--format", form, cwd=tmp_path)
        assert done.returncode == 1
        assert "50.0" in done.stdout.replace("\N{MINUS SIGN}", "-"), form


def test_each_test_has_its_own_number_of_runs(tmp_path: Path) -> None:
    """How many runs are behind each test? Truth: 18 against 5 of the one, 5 against 18 of the other."""
    rates = [{"randread": level(9000, n), "randwrite": level(5000, 23 - n)} for n in (18, 5)]
    found = two(tmp_path, *rates)
    counts = {(cell.units_baseline, cell.units_candidate) for cell in found.value.headline}
    assert counts == {(18, 5), (5, 18)}
    found.says("ive to 18 against five to 18 independent runs of one session, by test")


def test_two_runs_each_are_two_runs_each(tmp_path: Path) -> None:
    """Are 20 runs behind each test? Truth: behind one; the other has two on each side."""
    rates = {"randread": level(9000, 20), "randwrite": level(5000, 2)}
    two(tmp_path, rates, rates).says("wo to 20 against two to 20 independent runs of one session, by test")


def test_a_rate_that_the_load_set_is_no_rate_of_the_drive(tmp_path: Path) -> None:
    """Is B slower than A, which ran at the 5,000 operations per second that were asked of it?

    Truth: yes, and by how much nobody knows, because A may do more.
    """
    met, missed = [5000.0 - at for at in range(3)], level(4006, 3)
    found = two(tmp_path, {"randread": met}, {"randread": missed}, rate_iops="5000")
    assert found.sides_of("rate-limited") == ("baseline",)
    found.says("at 5,000 operations per second in a, which may do more than that")


def test_where_both_ran_at_the_asked_rate_the_latency_is_judged(tmp_path: Path) -> None:
    """Is B as fast as A at a fixed rate? Truth: both did what was asked of them; the question is how late they were."""
    met = {"randread": [5000.0 - at for at in range(4)]}
    found = two(tmp_path, met, met, rate_iops="5000")
    assert {cell.metric for cell in found.value.headline} == {"latency_p99_ns"}
    found.says("ran at a fixed rate on both sides, so its latency is judged and not its rate")


def test_a_zero_is_named_with_the_share_of_runs_that_completed(tmp_path: Path) -> None:
    """What is the ratio where one run of five did nothing? Truth: there is none."""
    for name, last in (("a", 103), ("b", 0)):
        values = (100, 101, 102, 99, last)
        rows = "\n".join(f"read,{at},{value},MB/s" for at, value in enumerate(values, 1))
        (tmp_path / f"{name}.csv").write_text(f"cell,repetition,value,unit\n{rows}\n")
        ask("import", f"{name}.csv", "--out", name, "--session", "lab", cwd=tmp_path)
    found = ask_doors(tmp_path / "a", tmp_path / "b", cwd=tmp_path, rules=("slower", "undecided"))
    (cell,) = found.value.cells
    assert (cell.ratio, [caveat.code for caveat in cell.caveats]) == (None, ["no-logarithm"])
    found.says("9 of 10 runs have a value above 0")
    assert found.gate == {"slower": {"cannot be judged"}, "undecided": {"broken"}}


def test_a_bandwidth_that_the_load_set_is_no_rate_of_the_drive(tmp_path: Path) -> None:
    """Is B slower than A, whose four jobs had to move 10 MiB/s each? Truth: A did what was asked, and may do more."""
    met, missed = [10240.0 - at for at in range(3)], level(8000, 3)
    found = two(tmp_path, {"randread": met}, {"randread": missed}, rate="10m", numjobs="4")
    assert found.sides_of("rate-limited") == ("baseline",)
    found.says("at 10,240 operations per second in a")


def test_a_limit_of_each_job_is_not_that_of_all(tmp_path: Path) -> None:
    """Did four jobs of 5,000 operations per second each meet their limit with 9,000 together? Truth: no."""
    rates = [{"randread": level(rate, 3)} for rate in (9000, 8000)]
    found = two(tmp_path, *rates, rate_iops="5000", numjobs="4")
    assert not found.value.has("rate-limited")
    found.never_says("may do more", "fixed rate")


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two flash drives, and a disk as a third level, of which each has a level of its own."""
    place = tmp_path_factory.mktemp("drives")
    names = {"x25e": "intel-x25e-64gb,scale=1/256", "pm1635": "samsung-pm1635-400gb,scale=1/128"}
    names["hdd"] = "sata-7k2"
    levels = ", ".join(f'{name} = "virtual:{drive}"' for name, drive in names.items())
    (place / "drives.toml").write_text(DRIVES.format(levels=levels))
    return app.run(str(place / "drives.toml"), out=place / "out").folder.path


def test_a_third_level_has_no_part_in_the_comparison_of_two(drives: Path, tmp_path: Path) -> None:
    """Is the one flash drive faster than the other? The disk that the study measured as well has no part in it."""
    premise = [one.tests for one in app.load(drives).caveats() if one.code == "level-change"]
    suppose(any("hdd" in str(tests) for tests in premise), f"the disk changes its level: {premise}")
    found = ask_doors(drives, cwd=tmp_path)
    assert {veto.tests for veto in found.value.vetoes if "hdd" in str(veto.tests)} == set()
    found.says("rive pm1635 (flash) writes 4 KiB blocks at random at", "and drive x25e (SLC) at")


def test_only_the_side_that_is_a_model_is_called_one(tmp_path: Path) -> None:
    """Is the directory as fast as the model? The one side is simulated; what else was measured has no part in it."""
    (tmp_path / "place").mkdir()
    levels = 'model = "virtual:intel-x25e-64gb,scale=1/256", '
    levels += f'real = "dir:{tmp_path}/place", other = "virtual:samsung-pm1635-400gb,scale=1/128"'
    text = DRIVES.format(levels=levels).replace('"x25e"', '"model"').replace('"pm1635"', '"real"')
    text = text.replace("[[stage]]", '[state]\nfile = "8MiB"\n[[stage]]', 1).replace("6000", "300")
    (tmp_path / "mixed.toml").write_text(text)
    study = app.run(str(tmp_path / "mixed.toml"), out=tmp_path / "out").folder.path
    found = ask_doors(study, cwd=tmp_path)
    assert found.sides_of("simulated") == ("baseline",)
    found.says("rive model is a simulation, and no interval covers how well it is modelled")


def test_variants_of_the_drive_are_the_same_at_each_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how much do variants of the drive move the result? The same range at each door, inverted for the inverse."""
    study = virtual(tmp_path, "s", random.Random(3), cycles=2)
    (cell,) = app.load(study).comparison().headline
    choice = BandChoice("gc_pace", "paced", "at-once", "not published", {cell.cell: {cell.metric: 0.25}})
    monkeypatch.setattr(answer, "model_band", lambda *_: ModelBand((choice,), 1))
    own, asked = (
        ask_doors(*sides, cwd=tmp_path) for sides in ((study,), (f"{study}:before", f"{study}:after"))
    )
    assert own.value == asked.value
    inverse = ask_doors(f"{study}:after", f"{study}:before", cwd=tmp_path)
    for found, ratio in ((own, 0.25), (asked, 0.25), (inverse, 4.0)):
        assert found.value.band is not None
        assert found.value.band.choices[0].ratio(cell.cell, cell.metric) == pytest.approx(ratio)
        found.says("(1 variant tried)")
