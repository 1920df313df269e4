"""mdtest's tables of rates and times, its lines of single iterations, and the options that make two settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.formats.mdtest import options_of
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text


def table(text: str, heading: str) -> dict[str, list[float]]:
    """The rows of a table of mdtest by their names: an independent reader, which knows nothing of Mileage's."""
    rows = re.split(r"\n\n|-- finished", text.partition(heading)[2])[0].splitlines()[3:]
    cut = [re.split(r"\s{2,}:?\s*|\s+:\s+", row.strip()) for row in rows if row.strip()]
    return {f"mdtest.{row[0].lower().replace(' ', '_')}": [float(word) for word in row[1:]] for row in cut}


def iterations(text: str) -> Iterator[tuple[str, float, float]]:
    """Name, seconds and rate of the lines of single iterations: an independent reader."""
    for line in text.splitlines():
        if line.endswith("ops/sec"):
            name, _, figures = line.removeprefix("V-1:").replace("main", "").strip(" :").partition(":")
            seconds, _, rate, _ = figures.split()
            yield f"mdtest.{name.strip().lower().replace(' ', '_')}", float(seconds), float(rate)


def test_the_table_of_times_has_times() -> None:
    text = (SAMPLES / "mdtest-rate-time.out").read_text()
    result = of(SAMPLES / "mdtest-rate-time.out")
    found = by_cell(result)
    assert {cell: run.ops_per_s for cell, run in found.items()} == {
        cell: figures[2] for cell, figures in table(text, "SUMMARY rate").items()
    }
    assert {cell: run.elapsed_s or 0 for cell, run in found.items()} == {
        cell: figures[2] for cell, figures in table(text, "SUMMARY time").items()
    }
    assert found["mdtest.file_creation"].levels == {
        "tasks": "2",
        "nodes": "1",
        "items": "4000",
        "options": "-F -N 1 -W 1 -u",
    }


def test_what_4_1_calls_milliseconds_are_the_seconds_of_the_phase() -> None:
    run = by_cell(of(SAMPLES / "mdtest-rate-time.out"))["mdtest.file_creation"]
    assert run.ops_per_s is not None
    assert run.elapsed_s is not None
    both_tasks = 2 * 67
    assert run.ops_per_s * run.elapsed_s == pytest.approx(both_tasks, rel=1e-3)


def test_single_iterations_are_used_where_the_table_mixes_tasks_and_iterations() -> None:
    text = (SAMPLES / "mdtest-verbose.out").read_text()
    result = of(SAMPLES / "mdtest-verbose.out")
    found = sorted((run.cell, run.elapsed_s or 0, run.ops_per_s) for run in result.runs)
    assert found == sorted(iterations(text))
    mean = sum(rate for cell, _, rate in found if cell == "mdtest.file_creation" and rate) / 3
    printed = table(text, "SUMMARY rate")["mdtest.file_creation"][2]
    assert mean == pytest.approx(224.12, abs=0.01)
    assert printed == 255.916, "what mdtest 1.9.3 of IOR 3.2.1 made of it"


def test_a_table_that_mixes_is_said_to(tmp_path: Path) -> None:
    text = "\n".join(
        line for line in (SAMPLES / "mdtest-verbose.out").read_text().splitlines() if "V-1" not in line
    )
    runs = of_text(tmp_path, text).runs
    assert {run.cell: run.ops_per_s for run in runs}["mdtest.file_creation"] == 255.916
    assert all(
        ("too high where tasks differ" in " ".join(run.notes)) is run.cell.startswith("mdtest.file")
        for run in runs
    )


def test_the_columns_of_ranks_are_ignored() -> None:
    text = (SAMPLES / "mdtest-ranks.out").read_text()
    runs = of(SAMPLES / "mdtest-ranks.out").runs
    expected = {cell: sorted(row[3:5]) for cell, row in table(text, "SUMMARY rate").items()}
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.cell, []).append(run.ops_per_s or 0)
    assert {cell: sorted(values) for cell, values in found.items()} == expected


def test_times_alone_are_no_rates(tmp_path: Path) -> None:
    text = (SAMPLES / "mdtest-rate-time.out").read_text()
    begin, end = text.index("SUMMARY rate"), text.index("SUMMARY time")
    for run in of_text(tmp_path, text[:begin] + text[end:]).runs:
        assert (run.kind, run.ops_per_s) == ("time", None)
        assert "no rates" in run.notes[0]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./mdtest '-n' '100' '-i' '3' '-d' 'd/m' '-v'", "none"),
        ("mdtest -n100 -F -C -u", "-C -F -u"),
        ("mdtest -FCu -n 100", "-C -F -u"),
        ("mdtest -z 2 -b 3 -I 10 -d /x/-y", "-I 10 -b 3 -z 2"),
        ("mdtest -n=100 -w=3901 --posix.odirect --random-seed=7 -R17", "--posix.odirect -R -w 3901"),
        ("mdtest '-W' '300' '-x' 'out/stonewall' '-P' '-a' 'POSIX'", "-W 300 -a POSIX"),
        ("mdtest -F '-u", "-F"),
    ],
)
def test_options_that_matter(command: str, expected: str) -> None:
    assert options_of(command) == expected


def test_each_number_of_tasks_has_its_own_table(tmp_path: Path) -> None:
    text = (SAMPLES / "mdtest-one.out").read_text()
    begin, end = text.index("1 tasks,"), text.index("-- finished")
    again = text[begin:end].replace("1 tasks, 100 files", "2 tasks, 200 files").replace("15179", "20000")
    runs = of_text(tmp_path, text[:end] + again + text[end:]).runs
    assert [(run.levels["tasks"], run.ops_per_s) for run in runs if "file_creation" in run.cell] == [
        ("1", 15179.155),
        ("2", 20000.155),
    ]
