"""Every command as an ordinary user: it works, or is refused with what it would need.

The table below is the one of docs/reference/privileges.md; a command without a row fails the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mileage.cli import COMMANDS

pytestmark = pytest.mark.xdist_group("devices")

NOBODY = 65534
PAGE = Path(__file__).parents[2] / "docs/reference/privileges.md"

#: Arguments, exit status, and words of the output or of the refusal.
ROWS: list[tuple[str, int, str]] = [
    ("--version", 0, "mileage"),
    ("list workloads", 0, "random_read"),
    ("list studies", 0, "degradation"),
    ("list drives", 0, "intel-x25e-64gb"),
    ("plan degradation --quick", 0, "privileged steps  none"),
    ("plan study.toml", 2, "needs root to attach a loop device"),
    ("plan limited.toml", 2, "needs root to limit memory"),
    ("plan dropped.toml", 2, "needs root to drop the whole machine's page cache"),
    ("run plain.toml --out done", 0, "Report:"),
    ("run study.toml --out refused", 2, "needs root to attach a loop device"),
    ("report done", 0, ""),
    ("compare done:first done:second", 0, ""),
    ("merge --help", 0, "Join study folders"),
    ("sweep --help", 0, "Run STUDY once"),
    ("query --help", 0, "SQL"),
    ("export csv done", 0, "runs.csv"),
    ("check . --seconds 0.02 --quick", 0, "Not tested"),
    ("check block:{disk} --seconds 0.02", 2, "cannot be opened for reading: Permission denied"),
    ("new own.toml", 0, "own.toml is written"),
    ("measure -t null: --operations 1000", 0, "operations"),
    ("measure -t dir:. --size 4MiB --for 100ms", 0, "rate"),
    ("measure -t dir:. --size 4MiB --for 100ms --cold", 0, "rate"),
    ("measure -t dir:. -w metadata.create --operations 10", 0, "operations"),
    ("measure -t virtual:intel-x25e-64gb --operations 1000", 0, "rate"),
    ("measure -t block:{disk}", 2, "cannot be opened for reading: Permission denied"),
    ("measure -t loop:16MiB@. --size 4MiB --for 100ms", 2, "needs root to attach a loop device"),
    ("measure -t dir:/root", 2, "no permission"),
    ("iozone -s 1m -r 64k -i 0 -i 1 -f scratch", 0, "iozone test complete"),
    ("hdparm -t {disk}", 2, "cannot be opened for reading: Permission denied"),
    ("dd if=/dev/zero of=big bs=1M count=4", 0, "4+0 records out"),
    ("ior -w -b 1m -t 64k -o ior.dat", 0, "Summary of all tests"),
    ("mdtest -n 10 -d .", 0, "File creation"),
    ("metarates -d . -n 100 -C", 0, "creates per second"),
    ("mpirun -np 2 ./metarates -d . -n 100 -C", 0, "creates per second"),
    ("iometer test.icf", 2, "-t: missing"),
    ("fio --name=a --rw=write --size=1m", 0, "WRITE: bw="),
    ("import --layouts", 0, "fio"),
    ("drive show intel-x25e-64gb", 0, ""),
    ("powercut", 2, "needs root"),
    ("endurance case worker-node", 0, "75 TB/year"),
    ("selftest --help", 0, "coverage"),
    ("doctor", 0, "clock source"),
    ("doctor dir:.", 0, "passes every guard"),
    ("doctor --repair", 0, "nothing is left"),
]

PLAIN = """
name = "plain"
target = "dir:."
[state]
cache = "{cache}"
file = "4MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "first"
measure = ["read"]
[[stage]]
name = "second"
measure = "first"
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "file"
[measure.read]
workload = "throughput.read"
record = "1MiB"
stop = {{ bytes = "file" }}
repeat = 2
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder of an ordinary user's, with studies in it."""
    if os.geteuid() != 0:
        pytest.skip("becoming an ordinary user needs root")
    with tempfile.TemporaryDirectory(prefix="mileage-nobody-", dir="/var/tmp") as name:
        folder = Path(name)
        plain = PLAIN.format(cache="warm")
        (folder / "plain.toml").write_text(plain)
        (folder / "limited.toml").write_text(PLAIN.format(cache="limited:128MiB"))
        (folder / "dropped.toml").write_text(PLAIN.format(cache="dropped"))
        on_loop = plain.replace('"dir:."', '"loop:32MiB@."').replace(
            "[state]", '[state]\nfilesystem = "ext4"'
        )
        (folder / "study.toml").write_text(on_loop)
        (folder / "test.icf").write_text("Version 1.1.0\n")
        os.chown(folder, NOBODY, NOBODY)
        yield folder


def disk() -> str:
    """The first that has a size, loop devices last: another test's may be detached at any moment."""
    return next(
        f"/dev/{path.name}"
        for path in sorted(Path("/sys/block").iterdir(), key=lambda path: ("loop" in path.name, path.name))
        if Path("/dev", path.name).exists() and int((path / "size").read_text()) > 0
    )


@cache
def interpreter() -> str:
    """A Python that an ordinary user may start: this one, or the system's of the same version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, f"/usr/bin/python{version}"):
        try:
            subprocess.run(
                [found, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=[], check=True, timeout=60
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return found
    pytest.skip(f"no Python {version} here that an ordinary user may start")


def as_nobody(home: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG", "MILEAGE"))}
    environment["MILEAGE_REPORT"] = "text"
    return subprocess.run(
        [interpreter(), "-m", "mileage", *arguments.format(disk=disk()).split()],
        cwd=home,
        env={
            **environment,
            "HOME": str(home),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("arguments", "status", "words"), ROWS, ids=[row[0] for row in ROWS])
def test_a_command_works_or_says_what_it_needs(home: Path, arguments: str, status: int, words: str) -> None:
    if "done" in arguments and not arguments.startswith("run") and not (home / "done").exists():
        as_nobody(home, "run plain.toml --out done")  # The row that makes it was not drawn.
    done = as_nobody(home, arguments)
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert words in " ".join(said.split()) or words in said
    assert "Traceback" not in said
    if status == 2:
        assert len(done.stderr.strip().splitlines()) == 1, said


def test_every_command_has_a_row() -> None:
    assert {row[0].split()[0] for row in ROWS} >= set(COMMANDS)


def test_the_page_shows_every_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for arguments, status, words in ROWS:
        shown = arguments.replace("{disk}", "/dev/sdb")
        row = next((line for line in page.splitlines() if line.startswith(f"| `mileage {shown}`")), None)
        assert row is not None, f"docs/reference/privileges.md has no row for: mileage {shown}"
        assert ("works" in row) == (status == 0), row
        assert status == 0 or words in row, row
