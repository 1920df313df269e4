"""Lines of fio with sizes and offsets that are no whole sectors, by fio itself and by Mileage, each under strace.

Compared are the exit status, names and lengths of the files, and the number and bytes of reads, writes and syncs. Of
blocks that are drawn from several sizes the bytes are compared: the draws differ. A file of fio's that is there for
verify, and two bytes more in a header of fio's own, have no counterpart.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.command import mileage
from tests.dropin.side_by_side import Outcome, outcome

needs_tools = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("strace")), reason="needs fio and strace"
)
MILEAGE = str(Path(sys.executable).with_name("mileage"))
LINES = (
    "--rw=write --bs=2300 --size=1m --ioengine=sync --fdatasync=1",
    "--rw=write --bs=2300 --size=100000 --ioengine=psync --fdatasync=3",
    "--rw=write --bs=2300 --size=98900 --ioengine=psync --fdatasync=1",
    "--rw=write --bs=1000 --size=10000 --ioengine=psync --number_ios=4 --fdatasync=2",
    "--rw=write --bs=2300 --size=100000 --ioengine=psync --loops=2",
    "--rw=write --bs=1 --size=100 --ioengine=psync",
    "--rw=write --bs=1000 --size=100000 --ioengine=psync --offset=777",
    "--rw=randwrite --bs=1000 --size=100000 --ioengine=psync --offset=777",
    "--rw=read --bs=1000 --size=100000 --ioengine=psync --offset=777",
    "--rw=read --bs=65537 --size=1m --ioengine=psync",
    "--rw=randread --bs=2300 --size=64k --ioengine=psync --io_size=200k",
    "--rw=randwrite --bs=4097 --size=1m --ioengine=sync",
    "--rw=write --bs=65537 --size=10m --ioengine=psync --io_size=1m",
    "--rw=write --bs=2300 --filesize=50000 --size=20000 --ioengine=psync",
    "--rw=write:1000 --bs=2300 --size=100000 --ioengine=psync",
    "--rw=write --bs=511 --size=10000 --ioengine=mmap",
    "--rw=randwrite --bs=4097 --size=1m --ioengine=mmap --offset=13",
)
SEVERAL = (
    "--rw=write --bssplit=1000/50:2300/50 --size=100000 --ioengine=psync",
    "--rw=randwrite --bssplit=1000/50:2300/50 --size=100000 --ioengine=psync --offset=777",
    "--rw=write --bsrange=100-5000 --size=100000 --ioengine=psync",
    "--rw=randread --bsrange=100-5000 --size=100000 --ioengine=psync",
)


def both(line: str, place: Path) -> tuple[Outcome, Outcome]:
    words = ["--name=a", "--filename=data", *line.split()]
    return outcome(["fio"], words, place / "fio"), outcome([MILEAGE, "fio"], words, place / "mileage")


@needs_tools
@pytest.mark.parametrize("line", LINES)
def test_status_files_and_calls_are_those_of_fio(tmp_path: Path, line: str) -> None:
    theirs, ours = both(line, tmp_path)
    assert (ours.status, ours.files, ours.calls) == (theirs.status, theirs.files, theirs.calls)
    assert theirs.status == 0


@needs_tools
@pytest.mark.parametrize("line", SEVERAL)
def test_blocks_of_several_sizes_have_the_bytes_of_fio(tmp_path: Path, line: str) -> None:
    theirs, ours = both(line, tmp_path)
    assert (ours.status, ours.files) == (theirs.status, theirs.files)
    for kind in ("bytes read", "bytes written", "syncs"):
        assert ours.calls[kind] == theirs.calls[kind], kind


@needs_tools
def test_sizes_that_need_not_be_aligned_are_those_that_are_named(tmp_path: Path) -> None:
    size = 3300 * 20
    line = f"--rw=write --bssplit=1000/50:2300/50 --bs_unaligned=1 --size={size} --ioengine=psync"
    theirs, ours = both(line, tmp_path)
    assert theirs.status == ours.status == 0
    # The last block is as short as the rest, here; fio draws until one fits.
    assert size - 1000 < theirs.calls["bytes written"] <= size
    assert size - 1000 < ours.calls["bytes written"] <= size


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("bs=2300", ("--bs=2300",)),
        ("bssplit=512/50:1000/50", ("--bssplit=512/50:1000/50", "--bs_unaligned=1")),
        ("offset=777", ("--bs=4k", "--offset=777")),
    ],
)
def test_direct_access_is_refused_by_the_option(tmp_path: Path, option: str, words: tuple[str, ...]) -> None:
    line = ("--name=a", "--filename=data", "--size=1m", "--rw=write", "--direct=1", *words)
    done = mileage("fio", *line, cwd=tmp_path)
    assert done.returncode == 2
    assert option in done.stderr
    assert "logical block" in " ".join(done.stderr.split())
    assert not (tmp_path / "data").exists()
