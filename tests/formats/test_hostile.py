"""No file makes a reader fail otherwise than by a refusal of one line, or lose something in silence.

Whole samples are damaged at random: bytes changed, removed, doubled, moved; lines of others put in; cut anywhere. Each
result must be sound: figures finite and not negative, texts harmless. `python -m tests.formats.test_hostile N` tries N.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.errors import Refused
from mileage.formats.input_file import open_source
from mileage.formats.readers import LAYOUTS, read_source
from mileage.formats.result import SAMPLE_METRICS, Result
from mileage.terminal import one_line
from tests.formats import diskspd_made
from tests.formats.made_results import (
    CRYSTALDISKMARK_3,
    CRYSTALDISKMARK_6,
    CRYSTALDISKMARK_8,
    ELBENCHO_JSON,
    ELBENCHO_TEXT,
    ELBENCHO_TEXT_2020,
    PHORONIX,
    SAMPLES_CSV,
    VDBENCH_50406,
    VDBENCH_50407,
    VDBENCH_FILES,
)
from tests.formats.sample_reader import SAMPLES
from tests.formats.test_second_tier import DISKSPD, IO500, IOMETER

CORPUS: Final = {
    path.name: path.read_bytes()
    for path in sorted(SAMPLES.rglob("*"))
    if path.suffix != ".md" and path.is_file()
}
LOG: Final = b"".join(b"%d, %d, %d, 4096, 0\n" % (at // 3, 90_000 + 7 * at, at % 2) for at in range(300))
CORPUS["x_clat.1.log"] = LOG
MADE_OTHER: Final = diskspd_made.Made(path="other", random=False, threads=((7, 0),))
CORPUS |= {
    "diskspd.txt": DISKSPD.encode(),
    "diskspd.xml": diskspd_made.xml_of((diskspd_made.Made(),), (diskspd_made.Made(), MADE_OTHER)).encode(),
    "iometer.csv": IOMETER.encode(),
    "result_summary.txt": IO500.encode(),
    "samples.csv": SAMPLES_CSV.encode(),
    "crystaldiskmark-3.txt": CRYSTALDISKMARK_3.encode(),
    "crystaldiskmark-6.txt": CRYSTALDISKMARK_6.encode(),
    "crystaldiskmark-8.txt": CRYSTALDISKMARK_8.encode(),
    "elbencho.json": ELBENCHO_JSON.encode(),
    "composite.xml": PHORONIX.encode(),
    "elbencho.txt": ELBENCHO_TEXT.encode(),
    "elbencho-2020.txt": ELBENCHO_TEXT_2020.encode(),
    "vdbench-50406.txt": VDBENCH_50406.encode(),
    "vdbench-50407.txt": VDBENCH_50407.encode(),
    "vdbench-files.txt": VDBENCH_FILES.encode(),
}
WORDS: Final = (
    *(
        b"nan",
        b"-nan",
        b"inf",
        b"-1",
        b"1e400",
        b"9" * 40,
        b"\xff\xfe",
        b"\x00",
        b"\x1b[2J",
        b"\r",
        b"{",
        b"}",
        b"[",
        b'"',
    ),
    *(
        b"\n",
        b",",
        b" = ",
        b"0x",
        b"\xe2\x80\xae",
        b"%s%n",
        b"../../etc/passwd",
        b"\xed\xa0\x80",
        b"-0",
        b"1_000",
    ),
)


def damaged(draw: random.Random) -> tuple[str, bytes]:
    """A sample, damaged in one to six ways; and its name."""
    name = draw.choice(sorted(CORPUS))
    data = bytearray(CORPUS[name])
    for _ in range(draw.randrange(1, 7)):
        WAYS[draw.randrange(len(WAYS))](draw, data)
    return name, bytes(data[: 1 << 18])


def _cut(draw: random.Random, data: bytearray) -> None:
    del data[draw.randrange(len(data) + 1) :]


def _remove(draw: random.Random, data: bytearray) -> None:
    at = draw.randrange(len(data) + 1)
    del data[at : at + draw.randrange(1, 200)]


def _change(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.randrange(1, 20) if data else 0):
        data[draw.randrange(len(data))] = draw.randrange(256)


def _word(draw: random.Random, data: bytearray) -> None:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.choice(WORDS)


def _replace_number(draw: random.Random, data: bytearray) -> None:
    digits = [at for at in range(len(data)) if 48 <= data[at] <= 57]
    if digits:
        at = draw.choice(digits)
        data[at : at + 1] = draw.choice(WORDS)


def _double(draw: random.Random, data: bytearray) -> None:
    low = draw.randrange(len(data) + 1)
    part = bytes(data[low : low + draw.randrange(1, 2000)])
    at = draw.randrange(len(data) + 1)
    data[at:at] = part


def _swap_lines(draw: random.Random, data: bytearray) -> None:
    lines = bytes(data).split(b"\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    data[:] = b"\n".join(lines)


def _another(draw: random.Random, data: bytearray) -> None:
    data += draw.choice(list(CORPUS.values()))[: draw.randrange(3000)]


WAYS: Final[tuple[Callable[[random.Random, bytearray], None], ...]] = (
    *(_cut, _remove, _change, _word, _replace_number, _double, _swap_lines, _another),
)


def check(path: Path, data: bytes, layout: str | None) -> bool:
    """Read a file; whether it was read. Fails when it is refused in more than a line, or read unsoundly."""
    path.write_bytes(data)
    try:
        result = read_source(open_source(path), layout)
    except Refused as refusal:
        text = str(refusal)
        # A message holds the file's text as it stands; the terminal's guard makes it harmless.
        if not text.strip() or len(text) > 2000:
            raise AssertionError(f"a refusal of {len(text)} characters") from refusal
        return False
    _sound(result)
    return True


def _sound(result: Result) -> None:
    """Figures finite and not negative, histograms whole, texts harmless, and nothing lost in silence."""
    for run in result.runs:
        assert run.cell == one_line(run.cell)
        for name in (*SAMPLE_METRICS, "bytes_read", "bytes_written", "ops_read", "ops_written"):
            value = getattr(run, name)
            assert value is None or 0 <= value <= 1e24, (name, value)
        for found in run.latency.values():
            assert found.count == sum(count for _, count in found.buckets)
            assert found.min_ns <= found.max_ns
        for name, value in run.printed:
            assert math.isfinite(value), name
        assert all(math.isfinite(value) for value in run.quantiles_ns.values())
    for entry in result.unread:
        assert entry.line >= 0
        assert entry.text == one_line(entry.text)
        assert entry.why
    if not all(run.measured for run in result.runs):
        assert result.unread or result.lost


def attempt(seed: int, folder: Path) -> bool:
    """One damaged file, from its seed."""
    draw = random.Random(seed)
    name, data = damaged(draw)
    layout = draw.choice([*[None] * (len(LAYOUTS) // 3), *LAYOUTS])
    if layout in ("fio-logs", "fio2-logs") and not name.endswith(".log"):
        layout = None
    try:
        return check(folder / name, data, layout)
    except Exception as cause:
        raise AssertionError(f"seed {seed}: {name} as {layout}") from cause


def test_damaged_files(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    start = int(pytestconfig.getoption("hypothesis_seed")) * 10_000
    many = 400
    whole = sum(attempt(start + at, tmp_path) for at in range(many))
    assert whole > many / 10, "hardly any damaged file was read at all"


NUMBER: Final = re.compile(rb"(?<![\w.+-])\d+(?:\.\d+)?(?![\w.])")


def figures(result: Result) -> list[tuple[float | int | None, ...]]:
    """Of each run what it did, and how fast."""
    names = (*SAMPLE_METRICS, "bytes_read", "bytes_written", "ops_read", "ops_written")
    return [tuple(getattr(run, name) for name in names) for run in result.runs]


def output(result: Result) -> list[str]:
    """The notes that come with the figures."""
    said = [str(line) for line in (*result.unread, *result.lost)]
    return said + [text for run in result.runs for text in (*run.notes, run.error or "")]


@pytest.mark.parametrize("name", [name for name in CORPUS if not name.endswith(".xls")])
def test_no_number_with_a_minus_is_taken_for_a_figure(
    tmp_path: Path, pytestconfig: pytest.Config, name: str
) -> None:
    """One number of a file at a time: each figure is as before or missing, or what could not be read is reported."""
    path = tmp_path / name
    path.write_bytes(CORPUS[name])
    whole = read_source(open_source(path))
    before = figures(whole)
    places = [found.start() for found in NUMBER.finditer(CORPUS[name])]
    many = len(places) if os.environ.get("MILEAGE_TEST_PROFILE") == "thorough" else 12
    draw = random.Random(f"{pytestconfig.getoption('hypothesis_seed')} {name}")
    for at in draw.sample(places, min(many, len(places))):
        path.write_bytes(CORPUS[name][:at] + b"-" + CORPUS[name][at:])
        try:
            result = read_source(open_source(path))
        except Refused:
            continue
        if output(result) != output(whole):
            continue
        after = figures(result)
        assert len(after) == len(before), at
        for old, new in zip(before, after, strict=True):
            assert all(one in (None, other) for one, other in zip(new, old, strict=True)), (at, old, new)


FOREIGN: Final = "kernel: nvme0: I/O timeout, reset"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [name for name in CORPUS if not name.endswith(".xls")])
def test_a_line_of_somebody_else_is_named_wherever_it_stands(tmp_path: Path, name: str) -> None:
    lines = CORPUS[name].decode().split("\n")
    for at in range(1, len(lines), 1 if len(lines) < 120 else 7):
        if name == "iometer.csv" and lines[at - 1].startswith("'"):
            continue  # It would be the value of the heading before it.
        path = tmp_path / name
        path.write_text("\n".join([*lines[:at], FOREIGN, *lines[at:]]), encoding="utf-8")
        result = read_source(open_source(path))
        assert any(entry.line == at + 1 and entry.text.startswith(FOREIGN[:20]) for entry in result.unread), (
            at + 1
        )


@given(st.binary(max_size=3000), st.sampled_from([*LAYOUTS, None]))
def test_any_bytes(data: bytes, layout: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder) / ("x_lat.1.log" if layout in ("fio-logs", "fio2-logs") else "file"), data, layout)


@given(st.text(alphabet='{}[]":,\n 0123456789.-eEnaninf\t"', max_size=2000), st.sampled_from([*LAYOUTS]))
def test_any_text_of_figures_behind_a_true_beginning(text: str, layout: str) -> None:
    starts = {
        "fio-json": '{"fio version" : "fio-3.33", "jobs" : [',
        "iozone-text": "Iozone: Performance Test of File I/O\n   kB  reclen    write  rewrite\n",
        "ior-text": "IOR-4.0: MPI Coordinated Test of Parallel I/O\naccess bw(MiB/s) iter\nwrite ",
        "ior-data": '{"Command line": "", "Machine": "", "tests": [{"Results": [{"access": "write", "bwMiB": ',
        "mdtest": "mdtest-4 was launched with 2 total task(s)\nSUMMARY rate: (of 1 iterations)\nFile stat ",
        "metarates": "run parameters:\nnumber of files used = 1\nmax = ",
        "diskspd-xml": "<Results>\n<TimeSpan>\n<TestTimeSeconds>",
        "fio-logs": "1, 2, 0, 4096, 0\n",
        "fio2-logs": "1, 2, 0, 4096\n",
        "samples-csv": "cell,repetition,value,unit\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        name = "x_lat.1.log" if layout in ("fio-logs", "fio2-logs") else "file"
        check(Path(folder) / name, (starts.get(layout, "") + text).encode(), layout)


@pytest.mark.parametrize(
    "data",
    [
        b'{"fio version": 1, "jobs": [' + b'{"a":' * 20_000,
        b'{"jobs": [{"jobname": "\\ud800", "read": {"iops": 1e999, "bw_bytes": -5, "runtime": 1e-300}}]}',
        b'{"jobs": [{"jobname": 5, "read": {"clat_ns": {"bins": {"-5": 3, "1e9": 2, "x": []}}, "total_ios": true}}]}',
        b"{\n" * 100_000,
        b'{"a"\n' * 100_000,
        b"[" * 100_000,
        b'{"jobs": ' + b"9" * 100_000,
    ],
)
def test_json_that_was_made_to_hurt(tmp_path: Path, data: bytes) -> None:
    began = time.process_time()
    check(tmp_path / "file", data, "fio-json")
    check(tmp_path / "file", data, "ior-data")
    assert time.process_time() - began < 30


def main() -> None:
    """Try as many damaged files as are asked for, from a seed that is printed."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        whole = sum(attempt(seed * 10_000_000 + at, Path(name)) for at in range(many))
    sys.stdout.write(
        f"{many:,} damaged files in {time.monotonic() - began:.0f} s: {whole:,} read, the others refused\n"
    )


if __name__ == "__main__":
    main()
