"""What a user asks who compares two measurements of one drive that were made with different options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_both, ask_json, suppose


def compare_measurements(folder: Path, one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Measure the same new drive with two sets of options, save both, and compare them."""
    target = write_profile(folder)
    for name, options in (("one", one), ("other", other)):
        words = ("measure", "-t", target, *options, "--operations", "400", "--repeat", "3", "--save", name)
        ask(*words, cwd=folder)
    return " ".join(ask("compare", "one", "other", cwd=folder).split())


def test_a_comparison_names_another_depth(tmp_path: Path) -> None:
    """Is the drive three times as fast as last week?

    Truth: no: it is the same simulated drive, measured at depth 4 instead of 1. A comparison over different depths must
    name them with the verdict, as the documentation promises for imported files, or refuse.
    """
    compared = compare_measurements(
        tmp_path, ("-w", "random_read", "-d", "1"), ("-w", "random_read", "-d", "4")
    )
    suppose("times as fast" in compared, compared)
    assert "depth" in compared


def test_a_comparison_names_another_share_of_reads(tmp_path: Path) -> None:
    """Does the drive do this mix faster than last week?

    Truth: it is not the same mix: half of the operations are reads in one and nine tenths in the other, and a read
    takes 85 us and a write 235 us on this drive, by arithmetic.
    """
    compared = compare_measurements(tmp_path, ("-w", "mix", "--reads", "50"), ("-w", "mix", "--reads", "90"))
    suppose("faster" in compared, compared)
    assert re.search(r"\breads\b|50 %|90 %", compared.replace("random_read", ""))


def test_writes_are_not_called_reads(tmp_path: Path) -> None:
    """What did `measure -w random_read --reads 0` measure?

    Truth: writes only, by the meaning of the option and by the counts; a row that calls them reads is compared with
    reads later.
    """
    words = (
        "measure",
        "-t",
        write_profile(tmp_path),
        "-w",
        "random_read",
        "--reads",
        "0",
        "--operations",
        "400",
    )
    cell = ask_json(*words, cwd=tmp_path)[0]
    suppose((cell["ops_read"], cell["ops_written"]) == (0, 400), str(cell))
    assert cell["cell"] == "pattern.random 4 KiB, 0 % reads"


def test_a_comparison_of_equal_measurements_is_not_weakened(tmp_path: Path) -> None:
    """Is the drive as fast as last week, when only the length of the measurement was another?

    Truth: it is the same simulated drive and the same load; how long it was looked at is no difference of setting.
    """
    target = write_profile(tmp_path)
    for name, count in (("one", "400"), ("other", "500")):
        words = (
            "measure",
            "-t",
            target,
            "-w",
            "random_read",
            "--operations",
            count,
            "--repeat",
            "3",
            "--save",
            name,
        )
        ask(*words, cwd=tmp_path)
    assert "Not conclusive" not in ask("compare", "one", "other", cwd=tmp_path)


def test_a_ranking_names_another_depth(tmp_path: Path) -> None:
    """Which of three measurements is the fastest?

    Truth: it is one drive at three depths, which the names of the studies do not show.
    """
    target = write_profile(tmp_path)
    for name, depth in (("a", "1"), ("b", "2"), ("c", "4")):
        words = ("measure", "-t", target, "-w", "random_read", "-d", depth, "--repeat", "3", "--save", name)
        ask(*words, "--operations", "400", cwd=tmp_path)
    said = " ".join(ask_both("compare", "a", "b", "c", cwd=tmp_path)[1].split())
    assert "depth is 1 in a and 2 in b" in said
    assert "depth is 1 in a and 4 in c" in said


def test_a_rate_beyond_the_drive_is_called_saturated(tmp_path: Path) -> None:
    """Does this drive keep 50,000 random reads a second, one at a time?

    Truth: no: a read takes 85.13 us, so that 11,746/s are the most, by arithmetic; the queue grows as long as it lasts.
    """
    words = ("-w", "random_read", "--size", "8MiB", "--rate", "50000", "--for", "1s")
    printed = ask("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)
    assert "11,746 /s" in printed
    assert "saturated" in printed


def test_pauses_add_to_the_time_of_each_operation(tmp_path: Path) -> None:
    """How many reads a second are left with a pause of 1 ms after each?

    Truth: one in 1,085.13 us, by arithmetic, so 921.5/s; the last pause may be outside the time of 1,000 reads. The
    latency of a read does not contain the pause.
    """
    words = ("-w", "random_read", "--size", "8MiB", "--operations", "1000", "--think", "1ms")
    cell = ask_json("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)[0]
    assert cell["ops_per_s"][0] == pytest.approx(1e6 / 1085.13, rel=2e-3)
    assert cell["latency"]["all"]["mean_ns"] == pytest.approx(85_133, rel=1e-3)
