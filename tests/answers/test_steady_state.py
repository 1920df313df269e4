"""What a user asks about drives that were not in a steady state when they were measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_json, suppose

FRESH = """
name = "fresh"
target = "virtual:small.toml"
cycles = 1
sham = false
[state]
start = "purged"
carryover = "purge"
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = "iops.random_write"
record = "4KiB"
depth = 32
span = "55MiB"
stop = { operations = 28000 }
repeat = 3
[factor.read_us]
kind = "profile"
levels = [50, 51]
[compare]
arms = "read_us"
"""


def test_a_rate_that_collapses_inside_the_runs_is_not_steady(tmp_path: Path) -> None:
    """Can I believe a comparison of random writes on drives that run out of erased blocks during each run?

    Truth: not as a statement about the drive. By construction each run writes 109 MiB at random to a purged drive of
    64 MiB flash, so that garbage collection begins within it; the premise is checked in the series.
    """
    write_profile(tmp_path)
    (tmp_path / "fresh.toml").write_text(FRESH)
    done = ask("run", "fresh.toml", "--out", "out", cwd=tmp_path)
    sql = "SELECT run, interval, ops FROM series WHERE role = 'measure' ORDER BY 1, 2"
    rows = ask_json("query", sql, "out", cwd=tmp_path)
    first = rows[0]["run"]
    ops = [row["ops"] for row in rows if row["run"] == first]
    tenth = len(ops) // 10
    collapsed = sum(ops[-2 * tenth : -tenth]) < 0.5 * sum(ops[:tenth])
    suppose(collapsed, "the rate falls to less than half within a run")
    warned = [line for line in done.splitlines() if re.match(r"\[[!✕]\]", line)]
    assert any(re.search(r"steady|level|transient|erased|free blocks", line) for line in warned), warned


def test_the_remedy_that_is_named_is_one(tmp_path: Path) -> None:
    """What must I do so that this comparison can be believed?

    Truth: write the drive as it is measured until its rounds are steady, by SNIA's rule; then what is programmed
    is erased, and runs have one level. The advice must be one that the study takes, and it must help.
    """
    write_profile(tmp_path)
    (tmp_path / "fresh.toml").write_text(FRESH)
    advice = " ".join(ask("run", "fresh.toml", "--out", "fresh", cwd=tmp_path).split())
    found = re.search(r'state\.(precondition = "[a-z-]+")', advice)
    assert found, advice
    heeded = FRESH.replace('carryover = "purge"', found[1])
    (tmp_path / "steady.toml").write_text(heeded)
    done = " ".join(ask("run", "steady.toml", "--out", "steady", "--verbose", cwd=tmp_path).split())
    assert "Not conclusive" not in done
    assert "[✓] rate within runs none of the 6 write runs became" in done
    assert "[✓] erased blocks" in done


def test_a_rate_of_a_scan_has_the_latency_that_it_has_alone(tmp_path: Path) -> None:
    """At which rate does the latency of this drive rise?

    Truth: what a rate gives on a new drive when it is measured by itself; a scan of rates of a virtual drive must give
    the same, or say that the state of the drive differs from row to row.
    """
    target = write_profile(tmp_path)
    words = ("measure", "-t", target, "-w", "random_write", "--operations", "4000", "--size", "55MiB")
    alone = ask_json(*words, "--rate", "1000", cwd=tmp_path)[0]
    scan = ("--vary", "rate=500,1000,2000,3000,4000")
    cells = ask_json(*words, *scan, cwd=tmp_path)
    (scanned,) = [cell for cell in cells if "1000/s" in cell["cell"]]
    text = ask(*words, *scan, cwd=tmp_path)
    if not re.search(r"order|state of the drive|aged|not reset", text):
        assert scanned["latency"]["all"]["p99_ns"] == pytest.approx(
            alone["latency"]["all"]["p99_ns"], rel=0.05
        )


def test_a_run_of_an_empty_drive_is_called_fresh(tmp_path: Path) -> None:
    """How fast does this drive write, when I drive it and name no state?

    Truth: 8 MiB find erased blocks on an empty drive of 55.7 MiB, and none behind them on one that was filled and then
    written over more than twice.
    """
    profile = write_profile(tmp_path).removeprefix("virtual:")
    words = ("drive", "run", profile, "-w", "random_write", "--size", "8MiB")
    assert "[!] fresh drive" in ask(*words, cwd=tmp_path)
    ask(
        "drive",
        "run",
        profile,
        "-w",
        "random_write",
        "--fill",
        "--passes",
        "2",
        "--save",
        "used",
        cwd=tmp_path,
    )
    assert "fresh" not in ask(*words, "--from", "used", cwd=tmp_path)
    assert "fresh" not in ask(*words[:4], "random_read", cwd=tmp_path)


def test_writes_to_a_filled_drive_are_not_called_fresh(tmp_path: Path) -> None:
    """Does the advice that is given together with a fresh drive lead to a used one?

    Truth: preconditioning writes the whole drive twice and then as is measured, so that no block is erased;
    what was written before is more than the capacity, by the series of the study itself.
    """
    words = ("measure", "-t", write_profile(tmp_path), "-w", "random_write", "--operations", "2000")
    assert "[!] fresh drive" in ask(*words, cwd=tmp_path)
    study = ask(*words, "--as-study", cwd=tmp_path)
    (tmp_path / "used.toml").write_text(
        study.replace("[state]\n", '[state]\nprecondition = "snia-dependent"\n')
    )
    printed = ask("run", "used.toml", "--out", "out", "--report", "text", cwd=tmp_path)
    written = ask_json(
        "query", "SELECT sum(bytes_written) AS b FROM series WHERE role = 'prepare'", "out", cwd=tmp_path
    )
    suppose(written[0]["b"] > 2 * 58_000_000, str(written))
    assert "fresh" not in printed


def test_writes_to_an_empty_drive_are_called_fresh(tmp_path: Path) -> None:
    """How many random writes a second does a drive do, when I name no state?

    Truth: 8 MiB written to an empty drive of 55.7 MiB need no garbage collection, by arithmetic, so that the rate is
    that of a new drive. Rates of new and of used drives differ severalfold, so the answer must say which one it is.
    """
    done = ask(
        "measure", "-t", write_profile(tmp_path), "-w", "random_write", "--operations", "2000", cwd=tmp_path
    )
    assert re.search(r"\b(fresh|new|empty|erased|purged|steady)\b", done), done


@pytest.mark.thorough
def test_the_study_of_drives_that_ships_concludes(tmp_path: Path) -> None:
    """Does the comparison of drives that comes with Mileage keep to what it says of steady state?

    Truth: its drives are preconditioned with random writes, so that no check of the steady state speaks against it.
    """
    output = ask("run", "drives", "--quick", "--out", "out", cwd=tmp_path)
    assert not output.startswith("Not conclusive"), output
    assert "of the programmed pages were erased again" not in " ".join(output.split())


@pytest.mark.thorough
def test_the_study_of_compressible_data_that_ships_concludes(tmp_path: Path) -> None:
    """Does the comparison of compressible data that comes with Mileage conclude?

    Truth: its drive is written twice in order before sequential writes are compared, and a warm-up fills the write
    buffer before random ones, so that no run changes its level.
    """
    assert not ask("run", "compressibility", "--quick", "--out", "out", cwd=tmp_path).startswith(
        "Not conclusive"
    )
