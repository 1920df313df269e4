"""Command lines that once changed what is at a path without permission: each is refused with 2 in one sentence.

strace shows no call on the name that could change something there. What does not fit is in `test_room.py`, the
combinations of every option and every thing are in `test_canaries.py`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.cli import canary_things as things
from tests.cli.canary_probe import changing_calls
from tests.cli.canary_shop import STRACE, Shop, unmount_below
from tests.cli.canary_things import DEVICES, TYPOS, Maker

pytestmark = [
    pytest.mark.xdist_group("devices"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]

IOR: Final = "ior -b 64k -t 4k"
FIO: Final = "fio --name=a --size=64k"
FIO_FILE: Final = f"{FIO} --filename={{p}}"
RESULTS: Final = (
    "drive run {drive} --passes 0.00001 --save {p}",
    "drive serve {drive} --nbd {w} --save {p}",
    "drive control {served} save {p}",
    f"{FIO} --rw=write --filename={{w}} --output={{p}}",
    f"{FIO} --rw=write --filename={{w}} --write_iolog={{p}}",
    f"{IOR} -w -o {{w}} -O summaryFile={{p}}",
)
LINES: Final = {
    "content": (
        *(f"{IOR} {words} -o {{p}}" for words in ("-r", "-w", "-W", "-w -E", "-r -E", "--tasks 2 -r")),
        *(f"mpirun -np 2 {IOR} {words} -o {{p}}" for words in ("-r", "-w", "-w -E")),
        *(f"{FIO_FILE} --rw={word}" for word in ("write", "randwrite", "rw")),
        f"{FIO_FILE} --rw=write --ioengine=mmap",
        f"{FIO_FILE} --rw=read --size=1m",
        f"{FIO_FILE} --rw=read --unlink=1",
        f"{FIO_FILE} --rw=read --ioengine=filedelete",
        f"{FIO} --rw=write --filename_format={{p}}",
        *RESULTS,
    ),
    "symlink": (f"{FIO_FILE} --rw=write", f"{IOR} -r -o {{p}}", f"mpirun -np 2 {IOR} -w -o {{p}}", *RESULTS),
    "backing": (f"{FIO_FILE} --rw=write", f"{FIO_FILE} --rw=read --size=8m", f"{IOR} -w -E -k -o {{p}}"),
    "mounted": (
        *(f"{IOR} {words} -o {{p}}" for words in ("-w -E -k", "-w -E -k --destroy {p}", "-r")),
        *(f"{FIO_FILE} {words}" for words in ("--rw=write", "--rw=write --destroy={p}")),
        *RESULTS,
    ),
    "free": (f"{IOR} -r -o {{p}}", f"{FIO_FILE} --rw=read --ioengine=filedelete", *RESULTS),
    "typo": (f"{FIO_FILE} --rw=write", f"{IOR} -w -k -o {{p}}", RESULTS[0]),
}
NAMED: Final = {"testFile": ("content", IOR), "wol.dat": ("symlink", "iozone -s 64k -r 4k -i 0 -Q -f {w}")}
"""Names that the tools choose themselves, with what is there."""
CASES: Final = [
    *((kind, "canary", line) for kind, lines in LINES.items() for line in lines),
    *((kind, name, line) for name, (kind, line) in NAMED.items()),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with ExitStack() as undo:
        yield Shop(tmp_path_factory.mktemp("shop") / "inputs", undo)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("kind", "name", "line"), CASES, ids=[f"{kind}: {line}" for kind, _, line in CASES])
def test_it_is_refused_and_no_call_could_change_what_is_there(
    shop: Shop, tmp_path: Path, kind: str, name: str, line: str
) -> None:
    if kind in (*DEVICES, *TYPOS, "backing") and os.geteuid() != 0:
        pytest.skip("devices and names in /dev need root")
    with ExitStack() as undo:
        undo.callback(things.remove_typos)
        undo.callback(unmount_below, tmp_path)
        cwd, trace = tmp_path / "cwd", tmp_path / "trace"
        cwd.mkdir()
        there = things.typo(kind) if kind in TYPOS else Maker(tmp_path, undo).put(kind, cwd / name)
        before = there.snapshot()
        words = shop.fill(line, {"p": str(there.at), "w": str(tmp_path / "w")}).split()
        done = shop.run(words, cwd, (*STRACE, "-o", str(trace)))
        assert things.differences(before, there.snapshot()) == []
    assert (done.status, done.output, done.errors.count("\n")) == (2, "", 1), done.errors
    assert changing_calls(trace, there.at.name) == []
