"""DiskSpd's text, by its source (ResultParser.cpp of DiskSpd 2.0.21 and 2.2): tabs or blanks, timespans, targets."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.formats.sample_reader import by_cell, of_text
from tests.formats.test_second_tier import DISKSPD

TARGET: Final = DISKSPD[DISKSPD.index("\tpath:") : DISKSPD.index("System information")]
RESULTS: Final = DISKSPD[DISKSPD.index("Results for timespan 1") :]


@pytest.mark.parametrize("tab", ["        ", "    ", "  "])
def test_blanks_are_read_as_tabs_are(tmp_path: Path, tab: str) -> None:
    expected = of_text(tmp_path, DISKSPD)
    found = of_text(tmp_path, "".join(f"    {line}\n" for line in DISKSPD.replace("\t", tab).splitlines()))
    assert (found.unread, found.began, found.machine) == ([], expected.began, expected.machine)
    assert msgspec.to_builtins(found.runs) == msgspec.to_builtins(expected.runs)
    assert found.runs[0].levels["number of outstanding I/O operations"] == "4"


def test_other_settings_are_other_cells_and_nothing_is_left_from_the_test_before(tmp_path: Path) -> None:
    other = DISKSPD.replace("block size: 8192", "block size: 65536").replace("random I/O", "sequential I/O")
    runs = of_text(tmp_path, DISKSPD + other.replace("\t\tusing software cache\n", "")).runs
    assert [run.cell for run in runs] == ["diskspd.random_mix 8 KiB", "diskspd.sequential_mix 64 KiB"]
    assert ("cache" in runs[0].levels, "cache" in runs[1].levels) == (True, False)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("software cache disabled", "cache"),
        ("hardware write cache disabled, writethrough on", "write cache"),
        ("throughput rate-limited to 100 IOPS", "rate"),
        ("max file size: 1GiB", "max file size"),
        ("write buffer size: 1048576", "write buffer size"),
    ],
)
def test_differences_between_two_tests_of_a_file_become_levels(tmp_path: Path, line: str, level: str) -> None:
    first, second = of_text(
        tmp_path, DISKSPD + DISKSPD.replace("\t\tusing software cache\n", f"\t\t{line}\n")
    ).runs
    assert first.levels.get(level) != second.levels[level]


def test_each_timespan_has_its_own_parameters(tmp_path: Path) -> None:
    second = TARGET.replace("8192", "65536")
    text = DISKSPD.replace(TARGET, f"{TARGET}\ttimespan:   2\n\t-------------\n\tduration: 10s\n{second}")
    runs = of_text(tmp_path, text + RESULTS.replace("timespan 1", "timespan 2")).runs
    assert [run.cell for run in runs] == ["diskspd.random_mix 8 KiB", "diskspd.random_mix 64 KiB"]


def test_targets_that_differ_are_all_listed(tmp_path: Path) -> None:
    second = (
        TARGET.replace("8192", "65536")
        .replace("test.dat", "other.dat")
        .replace("operations: 4", "operations: 1")
    )
    (run,) = of_text(tmp_path, DISKSPD.replace(TARGET, TARGET + second)).runs
    assert run.cell == "diskspd.random_mix", "no size is that of all"
    assert run.levels["block size"] == "8192 and 65536"
    assert run.outstanding == 2 * 4 + 2 * 1


def test_version_2_2(tmp_path: Path) -> None:
    text = DISKSPD.replace("block size: 8192", "block size: 8KiB").replace(
        "alignment: 8192", "alignment: 8KiB"
    )
    text = text.replace("I/O operations: 4", "I/O operations per thread: 4").replace(
        "\tcomputer name: HOST\n",
        "\tcomputer name: HOST\n\tcpu count:\t\t4\n\tactive power scheme:\tBalanced (3)\n",
    )
    result = of_text(tmp_path, text)
    assert result.unread == []
    run = by_cell(result)["diskspd.random_mix 8 KiB"]
    assert run.outstanding == 8


def test_mixed_patterns(tmp_path: Path) -> None:
    text = DISKSPD.replace(
        "using random I/O (alignment", "using mixed random/sequential I/O (70% random) (alignment/stride"
    )
    (run,) = of_text(tmp_path, text).runs
    assert run.levels["pattern"] == "mixed random and sequential, 70% random"
    (run,) = of_text(tmp_path, DISKSPD.replace("random I/O (al", "interlocked sequential I/O (al")).runs
    assert run.cell == "diskspd.interlocked_sequential_mix 8 KiB"


def test_a_deviation_of_iops_is_no_latency(tmp_path: Path) -> None:
    """With -D and without -L DiskSpd prints the deviation of IOPS where the mean latency stands otherwise."""
    text = DISKSPD.replace("|  AvgLat  | LatStdDev |", "| IopsStdDev |").replace(
        "|    0.800 |     0.100", "|      12.50"
    )
    (run,) = of_text(tmp_path, text[: text.index("  %-ile")]).runs
    assert (run.latency_sum_ns, run.quantiles_ns) == (None, {})
    assert dict(run.printed)["IopsStdDev"] == 12.5
