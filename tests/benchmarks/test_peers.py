"""The comparison with other programs: its arithmetic, and that every row of it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers.programs import Programs, Unusable, called, fio, t_io_uring
from benchmarks.peers.rows import Arm, Row, Sizes, cached_calls
from benchmarks.peers.table import (
    US,
    Bar,
    ComparedRow,
    Outcome,
    ProgramRun,
    Readings,
    best,
    judge,
    lines,
    ratio,
)
from benchmarks.peers.turns import compared, together
from tests.house.repository import ROOT

EXAMPLES = [ROOT / "target" / profile / "examples" for profile in ("release", "debug")]


def cpu(*values: float) -> list[ProgramRun]:
    return [ProgramRun(1e9 / value, value) for value in values]


def held(bar: Bar, readings: Readings) -> Outcome:
    outcome = judge(bar, readings)
    assert outcome is not None
    return outcome


def test_a_ratio_is_taken_round_by_round() -> None:
    found = ratio({US: cpu(100, 300, 200), "other": cpu(100, 100, 400)}, "other", "cpu")
    assert found is not None
    assert (found.median, found.least, found.most) == (1.0, 0.5, 3.0)
    assert str(found) == "1.000 [0.500, 3.000]"


def test_a_program_without_processor_time_has_no_such_ratio() -> None:
    readings = {US: cpu(100), "silent": [ProgramRun(5.0)]}
    assert ratio(readings, "silent", "cpu") is None
    assert ratio(readings, "silent", "rate") is not None
    assert judge(Bar("cpu", 1.0, ("silent",)), readings) is None


def test_a_bar_is_held_against_the_best_of_those_it_names() -> None:
    readings = {US: cpu(105), "slow": cpu(200), "quick": cpu(100)}
    assert best(readings, ("slow", "quick", "absent"), "cpu") == "quick"
    assert best(readings, ("slow", "quick"), "rate") == "quick"
    missed, kept = (held(Bar("cpu", limit, ("slow", "quick")), readings) for limit in (1.04, 1.06))
    assert (missed.against, missed.holds, kept.holds) == ("quick", False, True)
    assert not held(Bar("rate", 0.97, ("quick",)), readings).holds


def test_noise_is_granted_only_while_one_round_keeps_to_the_bar() -> None:
    bar = Bar("cpu", 1.0, ("other",), noise=True)
    once = held(bar, {US: cpu(110, 99, 120), "other": cpu(100, 100, 100)})
    never = held(bar, {US: cpu(110, 101, 120), "other": cpu(100, 100, 100)})
    assert (once.holds, never.holds) == (True, False)


def test_the_table_says_what_is_missed_and_what_could_not_be_held() -> None:
    readings = {US: cpu(50, 60, 70), "bare loop": cpu(10, 10, 10)}
    bars = (Bar("cpu", 40.0, absolute=True), Bar("cpu", 8.0, ("bare loop",)), Bar("cpu", 1.0, ("fio",)))
    text = "\n".join(lines(ComparedRow("a row", bars, readings, {})))
    assert "cpu <= 40 ns: 60.000 [50.000, 70.000] MISSED" in text
    assert "cpu <= 8 of bare loop: 6.000 [5.000, 7.000] holds" in text
    assert "cpu <= 1: nothing here to hold it against" in text


def test_no_bar_is_judged_while_other_programs_run() -> None:
    row = ComparedRow("a row", (Bar("cpu", 0.5, ("other",)),), {US: cpu(100), "other": cpu(100)}, {})
    assert "MISSED" in "\n".join(lines(row, 0.9))
    text = "\n".join(lines(row, 1.1))
    assert "1.000 [1.000, 1.000] [!] not judged: the load average was 1.1" in text
    assert "MISSED" not in text
    assert "holds" not in text


def test_the_total_of_t_io_uring_is_what_the_kernel_counted(tmp_path: Path) -> None:
    """A stand-in that reads 3 MiB past the page cache and prints another rate."""
    file, program = tmp_path / "file", tmp_path / "stand-in"
    file.write_bytes(bytes(3 << 20))
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
    program.write_text(
        f"#!/bin/sh\necho IOPS=1, BW=0\necho IOPS=2.00K, BW=7\ndd if={file} of=/dev/null bs=1M iflag=direct 2>&1\n"
    )
    program.chmod(0o755)
    try:
        found = t_io_uring(str(program), file, 2, direct=True)
    except Unusable as error:
        pytest.skip(f"this file system has no direct I/O or counts no blocks: {error}")
    # Parts of the programs themselves may be read from the device too.
    assert 768 <= found.rate_per_s * 2 < 1536
    assert t_io_uring(str(program), file, 2, direct=False).rate_per_s == 2000


def test_ratios_of_processor_time_are_held_at_once_and_everything_else_in_turn() -> None:
    bars = (Bar("cpu", 1.0, ("other",)), Bar("rate", 0.97, ("other",)), Bar("cpu", 100.0, absolute=True))
    in_turn, at_once = {US: cpu(100), "other": cpu(110)}, {US: cpu(200), "other": cpu(190)}
    row = ComparedRow("a row", bars, in_turn, at_once)
    assert [outcome.holds for bar in bars if (outcome := row.outcome(bar))] == [False, True, True]
    assert [
        outcome.holds for bar in bars if (outcome := ComparedRow("", bars, at_once, {}).outcome(bar))
    ] == [
        False,
        False,
        False,
    ]
    text = "\n".join(lines(row))
    assert "cpu 0.909 [0.909, 0.909]" in text
    assert "all at once" in text
    assert "bar cpu <= 1 of other: 1.053 [1.053, 1.053] MISSED" in text
    assert text.count("rate") == 2, "of what ran in turn, and of the bar"


def test_at_once_is_on_one_processor_and_left_again() -> None:
    before = os.sched_getaffinity(0)
    words = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    seen = together({name: lambda: ProgramRun(float(called(words)[0])) for name in "ab"})
    assert seen == {"a": ProgramRun(1.0), "b": ProgramRun(1.0)}
    assert os.sched_getaffinity(0) == before
    with pytest.raises(Unusable, match="ended with status 3"):
        together({"a": lambda: ProgramRun(called([sys.executable, "-c", "raise SystemExit(3)"])[1])})
    assert os.sched_getaffinity(0) == before


def test_processor_time_is_the_programs_own_while_another_runs() -> None:
    burn = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    programs = {"burns": burn, "waits": "import time; time.sleep(1)"}
    arms = {
        name: lambda code=code: ProgramRun(1.0, called([sys.executable, "-S", "-c", code])[1])
        for name, code in programs.items()
    }
    used = together(arms)
    assert used["burns"].cpu_ns is not None
    assert used["burns"].cpu_ns >= 0.4e9
    assert used["waits"].cpu_ns is not None
    assert used["waits"].cpu_ns < 0.4e9


def test_at_once_are_those_that_a_bar_names_as_long_as_gives_each_its_seconds() -> None:
    lengths: list[tuple[str, float]] = []

    def arm(name: str) -> Arm:
        return lambda seconds: lengths.append((name, seconds)) or ProgramRun(1.0, 1.0)

    arms = {name: arm(name) for name in (US, "named", "neighbour")}
    row = Row("a row", arms, (Bar("cpu", 1.0, ("named", "absent")),), lambda: None, processor_bound=True)
    sizes = Sizes(seconds=0.5, rounds=2, cached_mib=1, direct_mib=1, files=1)
    found = compared(row, sizes, lambda text: None)
    assert {name: len(ones) for name, ones in found.in_turn.items()} == {US: 2, "named": 2, "neighbour": 2}
    assert {name: len(ones) for name, ones in found.at_once.items()} == {US: 2, "named": 2}
    assert sorted(lengths) == sorted(
        [*((name, 0.5) for name in arms for _ in range(2)), *((name, 1.0) for name in (US, "named") * 2)]
    )


def test_fio_is_given_a_part_of_a_second(tmp_path: Path) -> None:
    # Of a plain 0.25 fio makes no time at all, and does the whole file once.
    program = tmp_path / "fio"
    program.write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/arguments; exit 1\n')
    program.chmod(0o755)
    programs = Programs(tmp_path, tmp_path, tmp_path, {"fio": str(program)})
    sizes = Sizes(seconds=1, rounds=1, cached_mib=1, direct_mib=1, files=1)
    with pytest.raises(Unusable):
        cached_calls(programs, sizes, tmp_path / "file", "ext4").arms["fio"](0.25)
    assert "--runtime=250ms --time_based" in (tmp_path / "arguments").read_text()


def test_what_fio_prints_around_its_json_is_ignored(tmp_path: Path) -> None:
    side = {"total_ios": 500, "runtime": 1000}
    job = {"error": 0, "read": side, "write": side, "usr_cpu": 20.0, "sys_cpu": 30.0}
    program = tmp_path / "fio"
    program.write_text(f"#!/bin/sh\necho 'fio: a warning'\necho '{json.dumps({'jobs': [job]})}'\n")
    program.chmod(0o755)
    assert fio(str(program), []) == ProgramRun(1000.0, 500_000.0)
    program.write_text("#!/bin/sh\necho 'no such engine' >&2\nexit 1\n")
    with pytest.raises(Unusable, match="fio ended with status 1: no such engine"):
        fio(str(program), [])


def test_every_row_runs(tmp_path: Path) -> None:
    # All of them: `make test` compiles them while it is running.
    needed = ("one_run", "one_job", "bare_loop")
    built = next((folder for folder in EXAMPLES if all((folder / one).exists() for one in needed)), None)
    if built is None:
        pytest.skip("the engine's examples are not built: cargo build -p mileage-engine --examples")
    words = [
        "--smoke",
        "--engine",
        str(built),
        "--folder",
        str(tmp_path),
        "--json",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "out.json").read_text())
    assert len(kept) in (10, 14), "ten rows on files, and four of metadata where file systems can be made"
    assert all({US, "bare loop"} <= set(row["in_turn"]) for row in kept)
    assert [row["row"] for row in kept if row["at_once"]] == [
        row["row"]
        for row in kept
        if row["row"].startswith(("cached", "metadata")) or row["row"].endswith("read, depth 32")
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"], "nothing is left behind"
