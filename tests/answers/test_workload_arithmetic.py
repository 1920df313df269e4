"""What a user asks about workloads: are the places and the shares those that were asked for?"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_json


def offsets(folder: Path, *words: str) -> list[int]:
    """The offsets that a measurement of a work file visited, in the order of the log."""
    (folder / "d").mkdir()
    ask("measure", "-t", "dir:d", *words, "--log", "log.csv", cwd=folder)
    with (folder / "log.csv").open(newline="") as file:
        return [int(row["offset_bytes"]) for row in csv.DictReader(file)]


def test_a_shuffle_visits_each_record_once(tmp_path: Path) -> None:
    """Does a shuffled read visit every record of 4 MiB exactly once?

    Truth: a permutation of 1,024 offsets, that is not the order from front to back.
    """
    visited = offsets(tmp_path, "-w", "shuffled_read", "--size", "4MiB", "--bytes", "4MiB")
    expected = list(range(0, 4 * 2**20, 4096))
    assert sorted(visited) == expected
    assert visited != expected


def test_hot_places_get_their_share(tmp_path: Path) -> None:
    """Do nine in ten operations go to a tenth of the file?

    Truth: of 4,000 operations 3,600 go to the 102 or 103 hot records of 1,024, give or take four standard deviations
    of the binomial distribution, which are 76; the others are spread over the file.
    """
    visited = offsets(tmp_path, "-w", "hot_cold_read", "--size", "4MiB", "--operations", "4000")
    often = sum(count for _, count in Counter(visited).most_common(103))
    assert 3600 - 76 <= often <= 3600 + 76 + 40


def test_a_mix_has_its_share_of_reads(tmp_path: Path) -> None:
    """Are 70 % of the operations of a mix reads?

    Truth: of 5,000 operations 3,500, give or take four standard deviations of the binomial distribution, 130.
    """
    words = ("-w", "mix", "--operations", "5000", "--size", "8MiB")
    cell = ask_json("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)[0]
    assert abs(cell["ops_read"] - 3500) <= 130
    assert cell["ops_read"] + cell["ops_written"] == 5000


def test_a_rate_that_is_due_is_kept(tmp_path: Path) -> None:
    """Are 1,000 operations a second done when I ask for as many?

    Truth: the drive could do 11,746, by arithmetic, so that all are done: 3,000 in 3 s, one more or less.
    """
    words = ("-w", "random_read", "--size", "8MiB", "--rate", "1000", "--for", "3s")
    cell = ask_json("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)[0]
    assert cell["ops_read"] == pytest.approx(3000, abs=1)
    assert cell["ops_per_s"][0] == pytest.approx(1000, rel=1e-3)


STUDY = """
name = "predicted"
target = "virtual:small.toml"
cycles = 2
sham = false
[state]
start = "purged"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["writes"]
[measure.writes]
workload = "throughput.write"
record = ["64KiB", "128KiB"]
stop = { bytes = "2MiB" }
repeat = 3
[torture.fill]
workload = "throughput.write"
record = "64KiB"
amount = "50%"
"""


def test_a_plan_predicts_what_is_done(tmp_path: Path) -> None:
    """Does `run` do as many runs and write as many bytes as `plan` announced?

    Truth: by arithmetic 2 cycles of 1 + 2 x 3 runs are 14. Each cycle fills half the drive, in whole records of 64 KiB,
    and writes 6 x 2 MiB. The journal is read here line by line, as README describes it.
    """
    write_profile(tmp_path)
    (tmp_path / "predicted.toml").write_text(STUDY)
    planned = " ".join(ask("plan", "predicted.toml", cwd=tmp_path).split())
    ask("run", "predicted.toml", "--out", "out", cwd=tmp_path)
    rows = ask_json("query", "SELECT sum(bytes_written) AS written FROM series", "out", cwd=tmp_path)
    finished = [
        entry
        for entry in map(json.loads, (tmp_path / "out" / "journal.jsonl").read_text().splitlines())
        if "record" in entry
    ]
    assert "runs 14 (2 prepare, 12 measure)" in planned
    assert len(finished) == 14
    filled = 58_355_712 // 2 / 65536
    least, most = 2 * (int(filled) * 65536 + 12 * 2**20), 2 * ((int(filled) + 1) * 65536 + 12 * 2**20)
    assert least <= rows[0]["written"] <= most
    announced = float(planned.split("bytes to write ", 1)[1].split(" MiB", 1)[0])
    assert announced == pytest.approx(rows[0]["written"] / 2**20, rel=0.01)
