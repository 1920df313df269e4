"""What a user asks of fio's logs over time, whose rates are chosen here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.answers.question import ask, ask_both, ask_json

KIB = 1024


def write_logs(folder: Path, prefix: str, kib_per_s: Sequence[int], window_ms: int) -> list[str]:
    """The bandwidth and IOPS logs of one job with `log_avg_msec`, as fio 3.33 writes them: block size and offset 0."""
    names = []
    for kind, divisor in (("bw", 1), ("iops", 4)):
        lines = [
            f"{window_ms * (at + 1)}, {rate // divisor}, 0, 0, 0, 0" for at, rate in enumerate(kib_per_s)
        ]
        names.append(f"{prefix}_{kind}.1.log")
        (folder / names[-1]).write_text("\n".join(lines) + "\n")
    return names


def test_a_constant_rate_is_constant_over_time(tmp_path: Path) -> None:
    """Did my drive stop between its bursts?

    Truth: no: each window of 250 ms has 40,000 KiB/s, by construction. No whole interval of a constant rate has less
    than another.
    """
    ask("import", *write_logs(tmp_path, "even", [40_000] * 80, 250), "--out", "out", cwd=tmp_path)
    rows = ask_json(
        "query", "SELECT bytes_read, interval_ns FROM series ORDER BY interval", "out", cwd=tmp_path
    )
    rates = [row["bytes_read"] / row["interval_ns"] * 1e9 for row in rows[:-1]]
    assert rates == pytest.approx([40_000 * KIB] * len(rates), rel=0.01)


def test_the_mean_rate_of_windows_is_their_mean(tmp_path: Path) -> None:
    """What is the mean throughput of a job that I logged in windows of a second?

    Truth: the mean of the windows, by arithmetic: (60 x 400,000 + 60 x 40,000) / 120 = 220,000 KiB/s.
    """
    names = write_logs(tmp_path, "drop", [400_000] * 60 + [40_000] * 60, 1000)
    ask("import", *names, "--out", "out", cwd=tmp_path)
    sql = "SELECT sum(bytes_read) / (sum(interval_ns) / 1e9) AS rate FROM series"
    (row,) = ask_json("query", sql, "out", cwd=tmp_path)
    assert row["rate"] == pytest.approx(220_000 * KIB, rel=0.02)


def test_a_drop_within_a_log_is_no_steady_state(tmp_path: Path) -> None:
    """Was my drive steady when its rate fell to a tenth in the middle of the run?

    Truth: no, by construction.
    """
    names = write_logs(tmp_path, "drop", [400_000] * 60 + [40_000] * 60, 1000)
    printed = ask("import", *names, "--out", "out", cwd=tmp_path)
    assert re.search(r"^\[[!✕]\] steady state", printed, re.MULTILINE), printed


def test_a_rate_that_alternates_is_no_steady_state(tmp_path: Path) -> None:
    """Was my drive steady when every other second was ten times slower?

    Truth: no, by construction: 400,000 and 40,000 KiB/s take turns for two minutes.
    """
    names = write_logs(tmp_path, "saw", [400_000, 40_000] * 60, 1000)
    printed = ask("import", *names, "--out", "out", cwd=tmp_path)
    assert not re.search(r"^\[✓\] steady state", printed, re.MULTILINE), printed


def test_a_slow_start_is_seen(tmp_path: Path) -> None:
    """Was my drive steady from the first second?

    Truth: no, by construction: 40,000 KiB/s for twelve seconds, 400,000 for the 108 that follow.
    """
    names = write_logs(tmp_path, "start", [40_000] * 12 + [400_000] * 108, 1000)
    printed = ask("import", *names, "--out", "out", cwd=tmp_path)
    assert not re.search(r"^\[✓\] steady state", printed, re.MULTILINE), printed


@pytest.mark.parametrize(
    ("kib_per_s", "words"),
    [
        ([400_000] * 60 + [40_000] * 60, "after 60 s of 119 s the rate falls by 90%"),
        ([40_000] * 5 + [400_000] * 115, "the first 5 s are 90% slower"),
        ([400_000, 40_000] * 60, "the rate alternates about every 2 s"),
        ([400_000 - 2_000 * at for at in range(120)], "the rate goes down by 59%"),
    ],
    ids=["fall", "slow-start", "alternation", "ramp"],
)
@pytest.mark.parametrize("kinds", [("bw", "iops"), ("iops",)], ids=["bytes", "operations"])
def test_a_change_of_rate_is_reported_with_its_figures(
    tmp_path: Path, kib_per_s: list[int], words: str, kinds: tuple[str, ...]
) -> None:
    """What did my drive do in these two minutes?

    Truth: what the log says, by construction; 400,000 less 2,000 for each second is 59 % less after 118 s. It is the
    same where only the log of operations is there.
    """
    names = [
        name for name in write_logs(tmp_path, "run", kib_per_s, 1000) if name.split("_")[1][:2] in str(kinds)
    ]
    printed = " ".join(ask("import", *names, "--out", "out", cwd=tmp_path).split())
    assert words in printed, printed
    assert "[✓] steady state" not in printed


def test_a_fall_within_the_runs_speaks_against_a_verdict(tmp_path: Path) -> None:
    """Are these two drives as fast as each other?

    Truth: nobody knows from the means: in each run the rate falls to a tenth, at 60 s of 120 in one drive and at 54 s
    in the other, by construction.
    """
    for study, high in (("one", 60), ("other", 54)):
        names = []
        for run in range(4):
            folder = tmp_path / study / str(run)
            folder.mkdir(parents=True)
            rates = [400_000 + 1000 * run] * high + [40_000] * (120 - high)
            names += [f"{study}/{run}/{name}" for name in write_logs(folder, "run", rates, 1000)]
        ask("import", *names, "--out", f"{study}-study", cwd=tmp_path)
    compared = " ".join(ask("compare", "one-study", "other-study", cwd=tmp_path).split())
    assert "changes its rate level in 4 of 4 runs: after 60 s of 119 s the rate falls by 90%" in compared
    assert "not conclusive" in compared.lower(), compared


def test_mean_latencies_alone_are_shown(tmp_path: Path) -> None:
    """What was the mean latency, of which I have the log in windows?

    Truth: the mean of 100 us in each of 60 windows is 100 us.
    """
    lines = [f"{1000 * at}, 100000, 0, 0, 0, 0" for at in range(1, 61)]
    (tmp_path / "x_clat.1.log").write_text("\n".join(lines) + "\n")
    assert "100 µs" in ask("import", "x_clat.1.log", cwd=tmp_path)


def test_latencies_of_fio_2_are_no_nanoseconds(tmp_path: Path) -> None:
    """What was the longest latency, in a log of fio 2?

    Truth: 5 ms: fio 2 writes microseconds, and four columns. Nothing in the file distinguishes it from fio 3.1, so
    that the answer may only come after the user has said so.
    """
    lines = [f"{at}, {100 + at % 40}, 0, 4096" for at in range(1, 400)] + ["400, 5000, 0, 4096"]
    (tmp_path / "x_clat.1.log").write_text("\n".join(lines) + "\n")
    _, errors = ask_both("import", "x_clat.1.log", cwd=tmp_path, status=2)
    assert "microseconds" in errors
    assert "--layout fio2-logs" in errors
    ask("import", "x_clat.1.log", "--layout", "fio2-logs", "--out", "out", cwd=tmp_path)
    (row,) = ask_json("query", "SELECT max(latency_max_ns) AS longest FROM series", "out", cwd=tmp_path)
    assert row["longest"] == 5_000_000
