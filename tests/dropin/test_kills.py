"""Command lines of other tools, killed at random instants: the next command leaves nothing of theirs.

What is the user's stays, byte for byte. Each case is one kill; `make thorough` does all, `make test` a seeded sample.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mileage.targets.door.marks import LEDGER_VARIABLE

KILLS = 100
COMMANDS = (
    "ior --tasks 2 -F -b 4m -t 64k -i 20 -o mine",
    "ior -b 8m -t 16k -i 20 -o mine -e",
    "mpirun -np 3 ior -b 1m -t 16k -i 40 -o mine",
    "mdtest --tasks 2 -n 400 -i 10 -d tree -u",
    "mpirun -np 2 mdtest -n 300 -z 1 -b 2 -i 10 -d tree -w 100",
    "fio --name=a --rw=randwrite --size=8m --time_based --runtime=3 --unlink=1 --filename=mine --numjobs=2",
    "fio --name=a --rw=randrw --size=2m --bs=4k --fsync=1 --loops=50 --unlink=1 --nrfiles=3",
    "metarates -n 6000 -C -S -U -d tree",
)
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CASES = [(COMMANDS[number % len(COMMANDS)], number) for number in range(KILLS)]


def tree(place: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
    }


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("command", "number"), CASES, ids=[f"{c.split()[0]}-{n}" for c, n in CASES])
def test_the_next_command_leaves_nothing_of_a_killed_one(tmp_path: Path, command: str, number: int) -> None:
    draw = random.Random(f"{os.environ['MILEAGE_TEST_SEED']} {number}")
    place = tmp_path / "place"
    (place / "letters").mkdir(parents=True)
    for name in ("mine.txt", "file.mdtest.0.0", "letters/testFile", "testFile.00000000"):
        (place / name).write_bytes(draw.randbytes(draw.randrange(1, 9000)))
    before = tree(place)
    environment = {**os.environ, "TMPDIR": str(tmp_path), LEDGER_VARIABLE: str(tmp_path / "ledger")}
    words = [sys.executable, "-m", "mileage", *command.split()]
    quiet = {"cwd": place, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, start_new_session=True, **quiet)  # type: ignore[call-overload]
    time.sleep(draw.uniform(0.1, 1.5))
    process.send_signal(draw.choice(SIGNALS))
    process.wait(timeout=60)
    await_end_of_group(process.pid)
    next_words = [sys.executable, "-m", "mileage", *next_command(command).split()]
    done = subprocess.run(next_words, check=False, timeout=120, **quiet)  # type: ignore[call-overload]
    assert done.returncode == 0
    assert tree(place) == before
    assert not list((tmp_path / "ledger").rglob("*.open.json"))


def next_command(command: str) -> str:
    """A short command: any for what a killed one lists, the same for a study, whose directory has what it left."""
    return "metarates -n 10 -C -d tree" if command.startswith("metarates") else "ior -w -b 4k -t 4k -o other"


def await_end_of_group(group: int) -> None:
    """Ranks end with their first process, but not at once."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
