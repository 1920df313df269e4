"""What a user asks whose pipeline keeps a history: is tonight slower, and which nights are the baseline?"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.answers.question import ask, ask_json

DRIVE = ("-w", "random_write", "--operations", "500", "--repeat", "3")


def nights(path: Path, names: list[str], level: float, seed: int) -> Path:
    """A table with a session of three runs for each night: 1 % between nights, 0.3 % between runs."""
    chance = random.Random(seed)
    rows = ["cell,repetition,value,unit,session"]
    for name in names:
        night = level * (1 + chance.gauss(0, 0.01))
        rows += [f"seqread,{run},{night * (1 + chance.gauss(0, 0.003)):.3f},MB/s,{name}" for run in (1, 2, 3)]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(("changed", "status"), [("", 0), (",program_us=900", 1)])
def test_a_history_that_measure_keeps_is_the_baseline_of_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, status: int
) -> None:
    """Is tonight slower? Truth: a drive that programs its flash more slowly is, and the same drive is not."""
    monkeypatch.setenv("MILEAGE_REPORT", "none")
    for _ in range(4):
        ask("measure", "-t", "virtual:plain-64gib", *DRIVE, "--save", "kept", "--append", cwd=tmp_path)
    ask("measure", "-t", f"virtual:plain-64gib{changed}", *DRIVE, "--save", "tonight", cwd=tmp_path)
    ask("compare", "--history", "kept", "tonight", "--fail-if", "slower", cwd=tmp_path, status=status)


def test_one_table_of_ten_nights_is_a_history(tmp_path: Path) -> None:
    """Is tonight slower than the nights in my spreadsheet? Truth: by 12 %, where nights differ by 1 %."""
    nights(tmp_path / "past.csv", [f"n{night:02}" for night in range(10)], 500, 1)
    nights(tmp_path / "tonight.csv", ["tonight"], 440, 2)
    for name in ("past", "tonight"):
        ask("import", f"{name}.csv", "--out", name, cwd=tmp_path)
    found = ask_json("compare", "--history", "past", "tonight", cwd=tmp_path)
    assert found["sessions"] == [10, 1]
    assert found["cells"][0]["verdict"] == "slower"


def test_two_nights_are_no_history(tmp_path: Path) -> None:
    """Is tonight slower than two nights? Truth: two nights do not show how much nights differ."""
    nights(tmp_path / "past.csv", ["n00", "n01"], 500, 1)
    nights(tmp_path / "tonight.csv", ["tonight"], 440, 2)
    for name in ("past", "tonight"):
        ask("import", f"{name}.csv", "--out", name, cwd=tmp_path)
    ask("compare", "--history", "past", "tonight", "--fail-if", "slower", cwd=tmp_path, status=2)


def test_a_new_baseline_begins_where_the_user_says(tmp_path: Path) -> None:
    """Is tonight slower than the level that I accepted? Truth: no; it is slower than the nights before the change."""
    old, new = [f"n{night:02}" for night in range(6)], ["n06", "n07", "n08"]
    for seed, name in enumerate([*old, *new, "tonight"]):
        nights(tmp_path / f"{name}.csv", [name], 500 if name in old else 440, seed)
        ask("import", f"{name}.csv", "--out", name, cwd=tmp_path)
    ask("compare", "--history", *old, "tonight", "--fail-if", "slower", cwd=tmp_path, status=1)
    ask("compare", "--history", *new, "tonight", "--fail-if", "slower", cwd=tmp_path)


def test_only_studies_of_the_same_target_show_its_spread(tmp_path: Path) -> None:
    """How sure is the difference of two days? Truth: other days of this disk show it, those of another folder do not"""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()

    def measure(target: str, day: str, home: str) -> None:
        how = ("-w", "sequential_read", "--size", "1MiB", "--operations", "20", "--repeat", "2")
        save = ("--save", f"{home}/{day}", "--session", day)
        ask("measure", "-t", f"dir:{tmp_path / target}", *how, *save, cwd=tmp_path)

    def codes() -> set[str]:
        found = ask_json("compare", "kept/d0", "new/today", cwd=tmp_path)
        return {caveat["code"] for caveat in found["caveats"]} & {"one-session", "session-spread"}

    for home in ("kept", "new"):
        (tmp_path / home).mkdir()
    for day in ("d0", "d1", "d2"):
        measure("one", day, "kept")
    measure("one", "today", "new")
    assert codes() == {"session-spread"}
    (tmp_path / "kept" / "d2" / "plan.json").write_text("damaged")
    assert codes() == {"one-session"}, "a study that nobody can read takes nothing from the comparison"
    shutil.rmtree(tmp_path / "kept" / "d2")
    measure("other", "d3", "kept")
    assert codes() == {"one-session"}
