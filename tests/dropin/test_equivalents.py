"""A plan in the words of other tools: what is written is what those tools take, and what is not is named."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.dropin.flags import read, tool_named
from mileage.dropin.iozone import asked_of
from tests.command import mileage

STUDY = """
name = "both-ways"
target = "dir:{place}"
[state]
cache = "warm"
file = "4MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "measure"
measure = ["iozone", "blocks", "tasks"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[measure.iozone]
workload = ["iozone.write", "iozone.stride_read"]
record = "64KiB"
fidelity = true
content = "within=98,across=98,compress=98"
repeat = 1
iozone = {{ file = "4MiB", stride = 5, retests = false, flush = true }}
[measure.blocks]
workload = ["random_read", "throughput.write", "zipf_write", "mix", "stride_read"]
record = "64KiB"
depth = 4
rate = 4000
stop = {{ time = "100 ms" }}
repeat = 1
[measure.tasks]
workload = "ior.*"
record = "64KiB"
block = "256KiB"
segments = 2
threads = 2
files = "per_thread"
reorder = 1
sync = "fsync"
repeat = 1
"""


def planned(place: Path, tool: str, study: str = "study.toml") -> subprocess.CompletedProcess[str]:
    return mileage("plan", study, "--as", tool, cwd=place)


def text_for(place: Path, tool: str) -> str:
    (place / "study.toml").write_text(STUDY.format(place=place))
    done = planned(place, tool)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.splitlines() if line and not line.startswith("#")]


def test_fio_takes_what_is_written_for_it(tmp_path: Path) -> None:
    text = text_for(tmp_path, "fio")
    for name in ("pattern.stride_read 64 KiB", "iozone 64 KiB", "ior 64 KiB"):
        assert f"# not written: {name}" in text
    sections = [line for line in text.splitlines() if line.startswith("[")]
    assert len(sections) == 6
    for line in (
        "rwmixread=70",
        "random_distribution=zipf:1.2",
        "rate_iops=4000",
        "iodepth=4",
        "runtime=100ms",
    ):
        assert line in text
    if shutil.which("fio") is None:
        pytest.skip("needs fio to run what is written")
    (tmp_path / "job.fio").write_text(text)
    run = subprocess.run(
        ["fio", "job.fio", "--minimal"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr + run.stdout
    done = [line.split(";") for line in run.stdout.splitlines() if line.startswith("3;")]
    assert len(done) == 5
    assert [fields[4] for fields in done] == ["0"] * 5


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("incompressible", {"refill_buffers=1"}),
        ("zeros", {"zero_buffers=1"}),
        ("fio_scrambled", set()),
        ("fio_constant", {"scramble_buffers=0"}),
    ],
)
def test_fio_writes_the_same_kind_of_data(tmp_path: Path, content: str, options: set[str]) -> None:
    table = f'[measure.blocks]\ncontent = "{content}"'
    (tmp_path / "study.toml").write_text(STUDY.format(place=tmp_path).replace("[measure.blocks]", table))
    sections = planned(tmp_path, "fio").stdout.split("[")
    (section,) = (text for text in sections if text.startswith("throughput.write-64"))
    assert {line for line in section.split() if "buffers" in line} == options


def test_the_line_for_iozone_asks_for_the_same_tests(tmp_path: Path) -> None:
    (line,) = commands(text_for(tmp_path, "iozone"))
    assert line[0] == "iozone"
    given = read(tool_named("iozone"), line[1:])
    asked = asked_of(given)
    assert asked.tests == ("write", "stride_read")
    assert asked.sizes == ((4 << 20, 64 << 10),)
    assert (given.last("-j"), given.has("-e"), given.has("-+n")) == ("5", True, True)
    assert [given.last(flag) for flag in ("-+w", "-+y", "-+C")] == ["98"] * 3


def test_pwrite_of_a_single_stream_is_asked_for_by_name(tmp_path: Path) -> None:
    """Without -E IOzone says nothing and does nothing for -i 9."""
    study = STUDY.format(place=tmp_path).replace('"iozone.stride_read"]', '"iozone.pwrite"]')
    (tmp_path / "study.toml").write_text(study)
    done = planned(tmp_path, "iozone")
    assert done.returncode == 0, done.stderr
    (line,) = commands(done.stdout)
    assert "-E" in line
    assert asked_of(read(tool_named("iozone"), line[1:])).tests == ("write", "pwrite")


def test_the_line_for_ior_asks_for_the_same_blocks(tmp_path: Path) -> None:
    (line,) = commands(text_for(tmp_path, "ior"))
    assert line[:3] == ["mpirun", "-np", "2"]
    given = read(tool_named("ior"), line[4:])
    assert [given.last(flag) for flag in ("-b", "-t", "-s", "-Q")] == ["262144", "65536", "2", "1"]
    assert all(given.has(flag) for flag in ("-F", "-w", "-r", "-C", "-e"))


def test_what_elbencho_cannot_do_is_named(tmp_path: Path) -> None:
    text = text_for(tmp_path, "elbencho")
    (fill,) = commands(text)
    assert fill[:2] == ["elbencho", "-w"]
    assert text.count("# not written:") == 7
    assert "open loops" in text


@pytest.mark.parametrize(
    ("target", "tool", "output"),
    [
        ("virtual:plain-64gib", "fio", "only Mileage has this target"),
        ("dir:{place}", "sysbench", "expected one of fio, iozone, ior, elbencho"),
    ],
)
def test_what_cannot_be_written_at_all_is_refused(
    tmp_path: Path, target: str, tool: str, output: str
) -> None:
    text = """
name = "small"
target = "TARGET"
[state]
file = "4MiB"
[[stage]]
name = "m"
measure = ["m"]
[measure.m]
workload = "throughput.write"
record = "1MiB"
stop = { time = "1 s" }
"""
    (tmp_path / "study.toml").write_text(text.replace("TARGET", target.format(place=tmp_path)))
    done = planned(tmp_path, tool)
    assert done.returncode == 2
    assert output in done.stderr
