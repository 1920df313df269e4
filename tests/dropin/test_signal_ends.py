"""A table of what each drop-in command prints and ends with when a signal comes, and the tool where installed.

Each case waits until something is finished, sends the signal while the rest is in progress, and reads what was printed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dropin.test_iometer import ICF
from tests.dropin.written_files import has_blocks, has_entries

MILEAGE = str(Path(sys.executable).with_name("mileage"))
INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
SIGNALS = (INT, TERM, HUP, KILL)
DIES = {number: -number for number in SIGNALS}


def _iterations(place: Path, _text: str) -> bool:
    """Whether mdtest's third iteration has begun."""
    names = [path.name for path in (place / "md").glob("test-dir.*")] if (place / "md").is_dir() else []
    return any(int(re.findall("[0-9]+", name)[0]) >= 2 for name in names)


def _printed(pattern: str) -> Callable[[Path, str], bool]:
    return lambda _place, text: re.search(pattern, text, re.M) is not None


def _written(name: str) -> Callable[[Path, str], bool]:
    return lambda place, _text: has_blocks(place / name)


def _in_directory(name: str) -> Callable[[Path, str], bool]:
    return lambda place, _text: has_entries(place / name)


@dataclass(frozen=True)
class Case:
    """A command that is ended in the middle."""

    words: str
    ready: Callable[[Path, str], bool]
    """Whether something is finished and the rest in progress."""
    status: dict[int, int]
    has: dict[int, str]
    """What is printed at a signal, a pattern; of those that are not here, `kept`."""
    kept: str = ""
    """What was printed before the signal."""
    lacks: str = r"(?!)"
    """What is never printed."""
    is_real: bool = True
    """Whether the tool itself, if it is there, is compared."""
    results: str = ""
    """A file that has results as well as what is printed."""
    settle_s: float = 0.0
    """Time for the tool itself, which shows nothing before its end."""


IOZONE_END = r"iozone: interrupted\n\nexiting iozone\n\n\Z"
FIO_END = (
    r"fio: terminating on signal %d\n(.|\n)*issued rwts: total=0,[1-9](.|\n)*Run status group 0(.|\n)*group 1"
)
CASES = {
    "fio": Case(
        "--rw=randwrite --size=1m --time_based --runtime=60 --rate_iops=500 --name=a --name=b --stonewall",
        _written("b.0.0"),
        {INT: 128, TERM: 128, HUP: -HUP, KILL: -KILL},
        {INT: FIO_END % INT, TERM: FIO_END % TERM},
        kept=r"Starting 2 processes",
        settle_s=1.0,
    ),
    "iozone": Case(
        "-s 64k -s 1g -r 4k -i 0 -o -f file",
        _printed(r"^ +64 +4 +[0-9]+ +[0-9]+ *$"),
        {INT: 0, TERM: 0, HUP: -HUP, KILL: -KILL},
        {INT: IOZONE_END, TERM: IOZONE_END},
        kept=r"^ +64 +4 +[0-9]+ +[0-9]+ *$",
        lacks="iozone test complete",
    ),
    "ior": Case(
        "-t 4k -b 4m -i 100000 -o file",
        _printed("^write +[0-9]"),
        DIES,
        {},
        kept="^write +[0-9]",
        lacks="Max Write",
    ),
    "mdtest": Case(
        "-n 10 -i 10000 -F -d md",
        _iterations,
        DIES,
        {INT: r"File creation +[1-9]", TERM: r"File creation +[1-9]"},
        kept=r"^1 tasks, 10 files$",
        lacks="-- finished",
    ),
    "dd": Case(
        "if=/dev/zero of=file bs=4k count=1000000 oflag=dsync",
        _written("file"),
        DIES,
        {INT: r"^[1-9][0-9]*\+0 records in\n"},
    ),
    "metarates": Case(
        "-d files -n 200000 -C", _in_directory("files"), DIES, {}, kept="will be measured", is_real=False
    ),
    "mpirun": Case(
        "-np 2 metarates -d files -n 200000 -C",
        _in_directory("files"),
        {INT: 1, TERM: 1, HUP: 1, KILL: -KILL},
        {},
        kept="will be measured",
        is_real=False,
    ),
    "iometer": Case(
        "-t dir:place --seconds 1 -r results.csv test.icf",
        _printed("^ALL,All,Mix,"),
        DIES,
        {},
        kept=r"^ALL,All,Mix(,[^,\n]*){20,}$",
        lacks="^ALL,All,(?!Mix,)",
        is_real=False,
        results="results.csv",
    ),
}


def _text(place: Path, case: Case) -> str:
    """What was printed, and then the file of results."""
    files = [place / "printed", *([place / case.results] if case.results else [])]
    return "".join(file.read_text() for file in files if file.exists())


def _ended(program: list[str], case: Case, place: Path, number: int, settle_s: float) -> tuple[int, str]:
    """The exit status of a command that gets the signal once its case is ready, and all that it printed and saved."""
    (place / "place").mkdir(parents=True)
    (place / "test.icf").write_text(ICF)
    with (place / "printed").open("w") as printed:
        run = subprocess.Popen(
            [*program, *case.words.split()],
            cwd=place,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while not case.ready(place, _text(place, case)):
                assert run.poll() is None, (place / "printed").read_text()
                time.sleep(0.005)
            time.sleep(settle_s)
            assert run.poll() is None
            run.send_signal(number)
            status = run.wait()
        finally:
            # Processes of fio's jobs work on when the first one is killed, with fio itself too.
            with suppress(ProcessLookupError):
                os.killpg(run.pid, KILL)
            run.wait()
    return status, _text(place, case)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("tool", CASES)
def test_a_command_that_is_ended_prints_what_was_finished(tool: str, number: int, tmp_path: Path) -> None:
    case = CASES[tool]
    status, text = _ended([MILEAGE, tool], case, tmp_path / "own", number, case.settle_s)
    assert status == case.status[number], text
    for pattern in (case.kept, case.has.get(number, "")):
        assert re.search(pattern, text, re.M), text
    assert not re.search(case.lacks, text, re.M)
    if case.is_real and (original := shutil.which(tool)):
        real, words = _ended([original], case, tmp_path / "real", number, case.settle_s)
        assert real == status, words
        # mdtest itself prints nothing of what was finished, and IOR nothing that its output still holds.
        if tool not in ("mdtest", "ior"):
            assert re.search(case.has.get(number, ""), words, re.M), words


@pytest.mark.xdist_group("devices")
@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_hdparm_that_is_ended_prints_its_label(number: int, tmp_path: Path, loop: str) -> None:
    case = Case(f"-T {loop}", _printed("reads: "), DIES, {})
    original = shutil.which("hdparm") or shutil.which("hdparm", path="/usr/sbin:/sbin")
    for program in ([MILEAGE, "hdparm"], *([[original]] if original else [])):
        place = tmp_path / Path(program[0]).name
        status, text = _ended(program, case, place, number, 0.0)
        assert (status, text.rstrip()) == (-number, f"\n{loop}:\n Timing cached reads:")
