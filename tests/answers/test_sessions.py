"""What a user asks of measurements that were made on different days of storage that did not change."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path

import pytest

from mileage import app
from mileage.app.importer import make_study, read_files
from tests.answers.question import ask, ask_json
from tests.command import mileage

DAYS = 6
BETWEEN = 0.02
WITHIN = 0.004


def table(path: Path, sessions: dict[str, list[float]], *, column: bool = False) -> Path:
    """A table of samples: one test, five runs of each session, in MB/s."""
    rows = ["cell,repetition,value,unit" + (",session" if column else "")]
    for name, values in sessions.items():
        rows += [
            f"seqread,{at},{value:.3f},MB/s" + (f",{name}" if column else "")
            for at, value in enumerate(values, 1)
        ]
    path.write_text("\n".join(rows) + "\n")
    return path


def days(seed: int, number: int = DAYS, shift: float = 0.0) -> dict[str, list[float]]:
    """Sessions whose level varies by 2 % from day to day, and by 0.4 % from run to run."""
    chance = random.Random(seed)
    found = {}
    for day in range(number):
        level = 500 * (1 + shift) * (1 + chance.gauss(0, BETWEEN))
        found[f"d{day:02}"] = [level * (1 + chance.gauss(0, WITHIN)) for _ in range(5)]
    return found


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of each of six days."""
    home = tmp_path_factory.mktemp("null")
    for name, values in days(2010).items():
        make_study(read_files([table(home / f"{name}.csv", {name: values})]), home / name)
    return home


def test_no_pair_of_days_is_called_faster_or_slower(null: Path) -> None:
    """Did the storage change from one day to the other? Truth: no, in none of 30 pairs; one day each cannot show it."""
    names = sorted(path.name for path in null.iterdir() if path.is_dir())
    for one, other in permutations(names, 2):
        found = app.compare(str(null / one), str(null / other))
        assert (found.cells[0].verdict, found.sessions) == ("undecided", (1, 1))
        assert found.has("one-session")
        back = app.compare(str(null / other), str(null / one)).cells[0]
        assert back.ratio == pytest.approx(1 / (found.cells[0].ratio or 1))


def test_the_same_is_said_as_text_as_json_and_by_the_gate(null: Path) -> None:
    done = mileage("compare", str(null / "d00"), str(null / "d02"), "--fail-if", "slower")
    text = " ".join(done.stdout.split())
    assert done.returncode == 4, done.stdout
    assert text.startswith("Not conclusive because there is one session on each side")
    assert "One session of five runs against one session of five runs" in text
    found = ask_json("compare", str(null / "d00"), str(null / "d02"), cwd=null)
    assert [caveat["code"] for caveat in found["caveats"]] == ["one-session"]
    assert found["cells"][0]["p_raw"] is None
    (result,) = ask_json("compare", "d00", "d02", "--fail-if", "slower", "--allow-unjudged", cwd=null)["gate"]
    assert result["outcome"] == "cannot be judged"


def test_other_days_show_how_much_days_differ(null: Path) -> None:
    """How sure is the difference of two days? Truth: days differ by 2 %, so two of them by 2.8 % (one deviation)."""
    spread = [option for name in ("d01", "d03", "d04", "d05") for option in ("--spread", name)]
    found = ask_json("compare", "d00", "d02", *spread, cwd=null)
    assert [caveat["code"] for caveat in found["caveats"]] == ["session-spread"]
    low, high = found["cells"][0]["ci95"]
    assert low < 1 < high
    assert high - low > 0.05
    text = ask("compare", "d00", "d02", *spread, cwd=null)
    assert "the spread between 4 sessions" in " ".join(text.split()).lower()


def test_a_folder_of_studies_is_a_side_of_several_sessions(null: Path, tmp_path: Path) -> None:
    """Was there a change between two groups of days? Truth: none."""
    import shutil

    for name, group in (("old", ("d00", "d01", "d02")), ("new", ("d03", "d04", "d05"))):
        for day in group:
            shutil.copytree(null / day, tmp_path / name / day)
    found = app.compare(str(tmp_path / "old"), str(tmp_path / "new"))
    assert (found.unit, found.sessions, found.vetoes) == ("session", (3, 3), ())
    assert found.cells[0].verdict == "undecided"
    text = " ".join(ask("compare", "old", "new", cwd=tmp_path).split())
    assert "Three sessions of five runs against three sessions of five runs" in text


def test_a_table_says_its_sessions(tmp_path: Path) -> None:
    """Did an update that cost 12 % make it slower? Truth: yes; eight days before and eight after it show that."""
    for name, shift in (("before", 0.0), ("after", -0.12)):
        path = table(tmp_path / f"{name}.csv", days(len(name), 8, shift), column=True)
        ask("import", path.name, "--out", name, cwd=tmp_path)
    # The sessions of both tables have the same names, which the user gave: so they are the same days.
    table(tmp_path / "after.csv", {f"u{name}": runs for name, runs in days(5, 8, -0.12).items()}, column=True)
    ask("import", "after.csv", "--out", "update", cwd=tmp_path)
    found = ask_json("compare", "before", "update", cwd=tmp_path)
    assert (found["unit"], found["sessions"]) == ("session", [8, 8])
    assert found["cells"][0]["verdict"] == "slower"
    assert (found["cells"][0]["n_baseline"], found["cells"][0]["units_baseline"]) == (40, 8)


def test_ten_calls_of_a_tool_on_one_day_are_one_session(tmp_path: Path) -> None:
    """Are ten runs of fio in a loop ten days? Truth: no: their dates are minutes apart. Eight weeks apart they are."""
    from tests.answers import fio_report

    for name, gap_s in (("loop", 60), ("weekly", 7 * 86400)):
        chance = random.Random(7)
        files = []
        for run in range(10):
            iops = 10_000 * (1 + chance.gauss(0, 0.01))
            document = fio_report.report(
                [fio_report.job("read", iops=iops, clat_ns=0.95e9 / iops)], at_s=1_700_000_000 + gap_s * run
            )
            files.append(fio_report.save(tmp_path / f"{name}-{run}.json", document))
        ask("import", *files, "--out", name, cwd=tmp_path)
    found = app.compare(str(tmp_path / "loop"), str(tmp_path / "weekly"))
    assert found.sessions == (1, 10)
    assert found.unit == "session"


def test_a_history_is_the_baseline_of_a_gate(tmp_path: Path) -> None:
    """Is today's build slower than it used to be? Truth: a copy of a usual day is not; one of 12 % less is."""
    for name, values in days(4, 14).items():
        make_study(read_files([table(tmp_path / f"{name}.csv", {name: values})]), tmp_path / "kept" / name)
    for name, shift in (("usual", 0.0), ("worse", -0.12)):
        (values,) = days(99, 1, shift).values()
        make_study(read_files([table(tmp_path / f"{name}.csv", {name: values})]), tmp_path / name)
    ways = {
        name: mileage("compare", "--history", "kept", name, "--fail-if", "slower", cwd=tmp_path)
        for name in ("usual", "worse")
    }
    assert [ways[name].returncode for name in ("usual", "worse")] == [0, 1], ways
    text = " ".join(ways["worse"].stdout.split())
    assert "One session of five runs against 14 sessions of five runs" in text
    assert "that find a loss in a later one" in text


def test_a_slow_decay_is_not_absorbed(tmp_path: Path) -> None:
    """Is a build slower that lies on a decay of 0.4 % a day? Truth: yes, but each night looks like the one before."""
    chance = random.Random(3)
    for day in range(25):
        level = 500 * (1 - 0.004 * day) * (1 + chance.gauss(0, 0.005))
        runs = [level * (1 + chance.gauss(0, 0.002)) for _ in range(3)]
        make_study(read_files([table(tmp_path / f"{day}.csv", {"d": runs})]), tmp_path / f"n{day:02}")
    done = mileage(
        "compare",
        "--history",
        *(str(tmp_path / f"n{day:02}") for day in range(25)),
        "--fail-if",
        "slower",
        "--json",
    )
    found = json.loads(done.stdout)
    assert done.returncode == 1, done.stdout[-500:]
    assert "history-drifts" in [caveat["code"] for caveat in found["caveats"]]
    (level,) = found["history"]["levels"]
    assert level["first"] == 0
    assert level["end"] < 12


@pytest.mark.parametrize(("gap_s", "overlaps"), [(5, True), (60, False)])
def test_runs_of_one_time_are_no_repetitions(gap_s: int, overlaps: bool, tmp_path: Path) -> None:
    """Are runs of 30 s repetitions that began five seconds after one another? Truth: no; a minute apart they are."""
    from tests.answers import fio_report

    for name in ("a", "b"):
        chance = random.Random(name)
        files = []
        for run in range(3):
            iops = 10_000 * (1 + chance.gauss(0, 0.01))
            job = fio_report.job("read", iops=iops, clat_ns=0.95e9 / iops, runtime_ms=30_000)
            document = fio_report.report([job], at_s=1_700_000_000 + gap_s * run)
            files.append(fio_report.save(tmp_path / f"{name}-{run}.json", document))
        ask("import", *files, "--out", name, "--session", "lab", cwd=tmp_path)
    found = app.compare(str(tmp_path / "a"), str(tmp_path / "b"))
    assert found.has("overlapping-runs") == overlaps
