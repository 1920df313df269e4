"""`python -m benchmarks.scale [RUNS]`: what a large study costs in addition to its runs.

Plans a study of about RUNS runs (36,000) on a virtual drive, begins it, kills it with SIGKILL twice, lets it finish and
asks it with `mileage query`, also unfinished. Prints times, the largest memory of each process and the folder's size;
fails when a run is missing or there twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mileage.store.journal import read_journal

RUNS = 36_000
CELLS = 120
STUDY = """\
name = "scale"
question = "Does record size, depth or mix matter?"
target = "virtual:plain-64gib,blocks_per_plane=8,capacity_bytes=134217728"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["mix"]
[measure.mix]
workload = ["iops.random_read", "iops.random_write", "throughput.read", "throughput.write"]
record = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
stop = { operations = 50 }
repeat = BLOCKS
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[factor.depth]
levels = [1, 4, 32]
[factor.threads]
levels = [1, 4]
[compare]
arms = "depth"
baseline = "1"
candidate = "32"
"""
QUERY = "SELECT levels['depth'], count(*), median(value) FROM samples WHERE metric = 'ops_per_s' GROUP BY ALL"


def mileage(*arguments: str) -> subprocess.Popen[str]:
    """A command of Mileage in a process of its own."""
    command = [sys.executable, "-m", "mileage", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def watched(
    process: subprocess.Popen[str], enough: Callable[[], bool] | None = None
) -> tuple[tuple[float, float], int, str]:
    """Wait until a process ends, or kill it when there is `enough`.

    Seconds until then and of processors, its largest memory in KiB, and its output.
    """
    started, peak, cpu = time.monotonic(), 0, 0.0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(
                [peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))]
            )
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            pass
        if enough is not None and enough():
            process.kill()
        time.sleep(0.05)
    output = process.stdout.read() if process.stdout else ""
    return (time.monotonic() - started, cpu), peak, output


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Counter:
    """Counts the finished runs of a journal that grows."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self._offset = self._runs = 0

    def __call__(self) -> int:
        """How many there are now."""
        if self.journal.exists():
            with open(self.journal, "rb") as file:
                file.seek(self._offset)
                for line in file:
                    if line.endswith(b"\n"):
                        self._offset += len(line)
                        self._runs += line.startswith(b'{"kind":"run"')
        return self._runs

    def beyond(self, runs: float) -> bool:
        """Whether there are more than this number."""
        return self() > runs


def words(what: str, seconds: tuple[float, float], peak_kib: int, more: str = "") -> None:
    """Print a line of the table."""
    say(f"{what:<36}{seconds[0]:>8.1f} s{seconds[1]:>8.1f} s{peak_kib / 1024:>8.0f} MiB  {more}".rstrip())


def main() -> None:
    """Do all of it."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory(prefix="mileage-scale-") as place:
        study, out = Path(place, "scale.toml"), Path(place, "study")
        study.write_text(STUDY.replace("BLOCKS", str(max(runs // CELLS, 2))))
        say(f"{'':<36}{'time':>10}{'processor':>10}{'memory':>12}")
        words("mileage plan", *watched(mileage("plan", str(study)))[:2])
        journal = out / "journal.jsonl"

        done = Counter(journal)
        for part, share in (("run, killed", 0.35), ("resumed, killed", 0.7)):
            first = str(out) if journal.exists() else str(study)
            seconds, peak, _ = watched(
                mileage("run", first, "--out", str(out)), partial(done.beyond, share * runs)
            )
            words(part, seconds, peak, f"{done()} runs")
            seconds, peak, text = watched(mileage("query", QUERY, str(out)))
            words("query of the unfinished study", seconds, peak, f"{len(text.splitlines()) - 1} rows")
        words("resumed, finished, reported", *watched(mileage("run", str(out)))[:2])
        for _ in range(2):
            seconds, peak, text = watched(mileage("query", QUERY, str(out)))
            words("query", seconds, peak, f"{len(text.splitlines()) - 1} rows")
        words("query of studies", *watched(mileage("query", "SELECT * FROM studies", str(out)))[:2])
        numbers = [head.run for head in read_journal(journal).heads if head.kind == "run"]
        assert sorted(numbers) == list(range(max(numbers) + 1)), "a run is missing, or there twice"
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        say(
            f"{len(numbers)} runs, each once; folder {size / 1e6:.0f} MB, of which journal "
            f"{journal.stat().st_size / 1e6:.0f} MB"
        )


main()
