"""What two people ask of the same two results at different doors, and what used to depend on the door."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from mileage import app
from mileage.app import answer
from mileage.app.importer import make_study, read_files
from mileage.judge import Comparison
from mileage.judge.model_band import BandChoice, ModelBand
from mileage.report.sentence import design_words, verdict_sentence
from tests.answers import fio_report
from tests.answers.question import ask, ask_json, suppose
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


def codes(found: Comparison) -> set[str]:
    return {caveat.code for caveat in found.caveats}


def test_tests_that_one_side_lacks_are_in_the_first_sentence_and_in_each_table(tmp_path: Path) -> None:
    """Is tonight, with one job, as fast as last night with three? Truth: nobody knows of the other two."""
    whole = {"randread": level(9000, 5), "randwrite": level(5000, 5), "read": level(400, 5)}
    before = results(tmp_path, "before", whole)
    after = results(tmp_path, "after", {"randread": level(9000, 5)})
    found = app.compare(str(before), str(after))
    assert "Both sides have one of three tests:" in verdict_sentence(found)
    table = ask("compare", str(before), str(after), "--format", "markdown", cwd=tmp_path)
    assert sum(line.startswith("|") and "in before" in line for line in table.splitlines()) == 2
    assert ("missing-tests", ("candidate",)) in [(one.code, one.sides) for one in found.caveats]


def test_a_gate_does_not_contradict_the_text(tmp_path: Path) -> None:
    """Is the candidate slower, whose ten runs fall from one to the next? Truth: its runs repeat nothing."""
    steady = results(tmp_path, "steady", {"randread": level(9000, 10)})
    falling = results(tmp_path, "falling", {"randread": [8000 * 0.93**at for at in range(10)]})
    text = ask("compare", str(steady), str(falling), cwd=tmp_path)
    assert text.startswith("Not conclusive because")
    gate = mileage("compare", str(steady), str(falling), "--fail-if", "slower", "--json")
    assert gate.returncode == 4, gate.stderr
    outcomes = {(one["outcome"], *one["cell"]["why_not"]) for one in json.loads(gate.stdout)["gate"]}
    assert outcomes == {("cannot be judged", "trend")}
    let = mileage("compare", str(steady), str(falling), "--fail-if", "slower", "--allow-unjudged")
    assert let.returncode == 0


def test_a_broken_rule_is_said_with_its_change(tmp_path: Path) -> None:
    """By how much is the job that fails the gate slower? Truth: half."""
    fast = results(tmp_path, "fast", {"randread": level(9000, 6)})
    slow = results(tmp_path, "slow", {"randread": level(4500, 6)})
    for form in ("github", "markdown", "junit", "text"):
        done = mileage("compare", str(fast), str(slow), "--fail-if", "slower", "--format", form)
        assert done.returncode == 1
        assert "50.0" in done.stdout.replace("\N{MINUS SIGN}", "-"), form


def test_each_test_has_its_own_number_of_runs(tmp_path: Path) -> None:
    """How many runs are behind each test? Truth: 18 against 5 of the one, 5 against 18 of the other."""
    first = results(tmp_path, "first", {"randread": level(9000, 18), "randwrite": level(5000, 5)})
    second = results(tmp_path, "second", {"randread": level(9000, 5), "randwrite": level(5000, 18)})
    found = app.compare(str(first), str(second))
    counts = {(cell.units_baseline, cell.units_candidate) for cell in found.headline}
    assert counts == {(18, 5), (5, 18)}
    assert design_words(found) == "five to 18 against five to 18 independent runs of one session, by test"


def test_two_runs_each_are_two_runs_each(tmp_path: Path) -> None:
    first = results(tmp_path, "first", {"randread": level(9000, 20), "randwrite": level(5000, 2)})
    second = results(tmp_path, "second", {"randread": level(9000, 20), "randwrite": level(5000, 2)})
    found = app.compare(str(first), str(second))
    assert design_words(found) == "two to 20 against two to 20 independent runs of one session, by test"


def test_a_rate_that_the_load_set_is_no_rate_of_the_drive(tmp_path: Path) -> None:
    """Is B slower than A, which ran at the 5,000 operations per second that were asked of it?

    Truth: yes, and by how much nobody knows, because A may do more.
    """
    met = results(tmp_path, "met", {"randread": [5000.0 - at for at in range(3)]}, rate_iops="5000")
    missed = results(tmp_path, "missed", {"randread": level(4006, 3)}, rate_iops="5000")
    found = app.compare(str(met), str(missed))
    (caveat,) = (one for one in found.caveats if one.code == "rate-limited")
    assert (caveat.sides, caveat.figures["limit_per_s"]) == (("baseline",), 5000.0)
    assert "may do more than that" in " ".join(ask("compare", str(met), str(missed), cwd=tmp_path).split())


def test_where_both_ran_at_the_asked_rate_the_latency_is_judged(tmp_path: Path) -> None:
    """Is B as fast as A at a fixed rate? Truth: both did what was asked of them; the question is how late they were."""
    sides = [
        str(results(tmp_path, name, {"randread": [5000.0 - at for at in range(4)]}, rate_iops="5000"))
        for name in "ab"
    ]
    found = app.compare(*sides)
    assert {cell.metric for cell in found.headline} == {"latency_p99_ns"}


def test_a_zero_is_named_with_the_share_of_runs_that_completed(tmp_path: Path) -> None:
    """What is the ratio where one run of five did nothing? Truth: there is none."""
    for name, last in (("a", 103), ("b", 0)):
        values = (100, 101, 102, 99, last)
        rows = "\n".join(f"read,{at},{value},MB/s" for at, value in enumerate(values, 1))
        (tmp_path / f"{name}.csv").write_text(f"cell,repetition,value,unit\n{rows}\n")
        ask("import", f"{name}.csv", "--out", name, "--session", "lab", cwd=tmp_path)
    (cell,) = ask_json("compare", "a", "b", cwd=tmp_path)["cells"]
    (caveat,) = cell["caveats"]
    assert (cell["ratio"], caveat["code"]) == (None, "no-logarithm")
    assert (caveat["figures"]["completed"], caveat["figures"]["runs"]) == (9, 10)


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two flash drives, and a disk as a third level, of which each has a level of its own."""
    place = tmp_path_factory.mktemp("drives")
    names = {"x25e": "intel-x25e-64gb,scale=1/256", "pm1635": "samsung-pm1635-400gb,scale=1/128"}
    names["hdd"] = "sata-7k2"
    levels = ", ".join(f'{name} = "virtual:{drive}"' for name, drive in names.items())
    (place / "drives.toml").write_text(DRIVES.format(levels=levels))
    return app.run(str(place / "drives.toml"), out=place / "out").folder.path


def test_a_third_level_has_no_part_in_the_comparison_of_two(drives: Path) -> None:
    """Is the one flash drive faster than the other? The disk that the study measured as well has no part in it."""
    study = app.load(drives)
    premise = [one.tests for one in study.caveats() if one.code == "level-change"]
    suppose(any("hdd" in str(tests) for tests in premise), f"the disk changes its level: {premise}")
    found = study.comparison()
    assert {veto.tests for veto in found.vetoes if "hdd" in str(veto.tests)} == set()


def test_a_bandwidth_that_the_load_set_is_no_rate_of_the_drive(tmp_path: Path) -> None:
    """Is B slower than A, whose four jobs had to move 10 MiB/s each? Truth: A did what was asked, and may do more."""
    met = results(tmp_path, "met", {"randread": [10240.0 - at for at in range(3)]}, rate="10m", numjobs="4")
    missed = results(tmp_path, "missed", {"randread": level(8000, 3)}, rate="10m", numjobs="4")
    found = app.compare(str(met), str(missed))
    (caveat,) = (one for one in found.caveats if one.code == "rate-limited")
    assert (caveat.sides, caveat.figures["limit_per_s"]) == (("baseline",), pytest.approx(10240, rel=0.001))


def test_a_limit_of_each_job_is_not_that_of_all(tmp_path: Path) -> None:
    """Did four jobs of 5,000 operations per second each meet their limit with 9,000 together? Truth: no."""
    sides = [
        str(results(tmp_path, name, {"randread": level(rate, 3)}, rate_iops="5000", numjobs="4"))
        for name, rate in (("a", 9000), ("b", 8000))
    ]
    assert not app.compare(*sides).has("rate-limited")


def test_only_the_side_that_is_a_model_is_called_one(tmp_path: Path) -> None:
    """Is the directory as fast as the model? The one side is simulated; what else was measured has no part in it."""
    (tmp_path / "place").mkdir()
    levels = 'model = "virtual:intel-x25e-64gb,scale=1/256", '
    levels += f'real = "dir:{tmp_path}/place", other = "virtual:samsung-pm1635-400gb,scale=1/128"'
    text = DRIVES.format(levels=levels).replace('"x25e"', '"model"').replace('"pm1635"', '"real"')
    text = text.replace("[[stage]]", '[state]\nfile = "8MiB"\n[[stage]]', 1).replace("6000", "300")
    (tmp_path / "mixed.toml").write_text(text)
    found = app.run(str(tmp_path / "mixed.toml"), out=tmp_path / "out").comparison()
    assert [one.sides for one in found.caveats if one.code == "simulated"] == [("baseline",)]


def test_variants_of_the_drive_are_the_same_at_both_doors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how much do variants of the drive move the result? The same range at both doors, inverted for the inverse."""
    study = virtual(tmp_path, "s", random.Random(3), cycles=2)
    (cell,) = app.load(study).comparison().headline
    choice = BandChoice("gc_pace", "paced", "at-once", "not published", {cell.cell: {cell.metric: 0.25}})
    monkeypatch.setattr(answer, "model_band", lambda *_: ModelBand((choice,), 1))
    own, asked = app.load(study).comparison(), app.compare(f"{study}:before", f"{study}:after")
    assert own == asked
    inverse = app.compare(f"{study}:after", f"{study}:before")
    for found, ratio in ((own, 0.25), (inverse, 4.0)):
        assert found.band is not None
        assert found.band.choices[0].ratio(cell.cell, cell.metric) == pytest.approx(ratio)
    assert "variant" in verdict_sentence(own)
    assert "variant" in verdict_sentence(inverse)
