"""The programs whose commits are timed: etcd's check by three programs, pg_test_fsync, SQLite and PostgreSQL.

Scope: each runs once on a new file of a directory and returns its figures in microseconds or in operations per second.
What it refuses: a program that is missing or fails, by its name (`Failed`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final, NamedTuple

from mileage import _core

RECORD_BYTES: Final = 2300
SIZE_BYTES: Final = 22 << 20
"""Of etcd's check: https://etcd.io/docs/v3.5/op-guide/hardware/, and the check of its disk by fio."""
WAL_BLOCK: Final = "8KiB"
"""The block of PostgreSQL's log, and of pg_test_fsync."""
PLACE_BYTES: Final = 16 << 20
"""pg_test_fsync's file: a segment of the log."""
MILEAGE: Final = str(Path(sys.executable).with_name("mileage"))


class Failed(Exception):
    """A program that is missing, or did not do what it was asked to."""


class Commits(NamedTuple):
    """Times of commits of one run."""

    commits: int
    p50_us: float
    p99_us: float

    def __str__(self) -> str:
        """Both quantiles and the count."""
        return f"p50 {self.p50_us:9,.0f} us   p99 {self.p99_us:9,.0f} us   {self.commits:7,} commits"


def output(command: list[str], cwd: Path | None = None, statuses: tuple[int, ...] = (0,)) -> str:
    """What a program prints that ends with one of the statuses. Raises Failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed") from None
    if done.returncode not in statuses:
        raise Failed(f"{' '.join(command[:3])}: status {done.returncode}: {done.stderr[-400:].strip()}")
    return done.stdout


def _by_fio(program: list[str], place: Path, size_bytes: int) -> Commits:
    path = place / "fio"
    path.unlink(missing_ok=True)
    line = f"--rw=write --ioengine=sync --fdatasync=1 --size={size_bytes} --bs={RECORD_BYTES}"
    words = [*program, "--name=etcd", f"--filename={path}", *line.split(), "--output-format=json"]
    text = output(words)
    found = json.loads(text[text.index("{") :])["jobs"][0]["sync"]["lat_ns"]
    path.unlink()
    p50, p99 = (found["percentile"][key] / 1000 for key in ("50.000000", "99.000000"))
    return Commits(found["N"], p50, p99)


def etcd_by_fio(place: Path, size_bytes: int) -> Commits:
    """Etcd's line by fio."""
    return _by_fio(["fio"], place, size_bytes)


def etcd_by_dropin(place: Path, size_bytes: int) -> Commits:
    """Etcd's line by `mileage fio`."""
    return _by_fio([MILEAGE, "fio"], place, size_bytes)


def etcd_by_measure(place: Path, size_bytes: int) -> Commits:
    """The same workload by `mileage measure`."""
    count = size_bytes // RECORD_BYTES
    with allocated(place / "measure", size_bytes) as path:
        words = ("-w", "sequential_write", "-r", str(RECORD_BYTES), "--operations", str(count))
        found = measured(path, *words, "--sync", "fdatasync", "--sync-every", "1", "--no-direct")
    sync = found["latency"]["sync"]
    return Commits(sync["count"], sync["p50_ns"] / 1000, sync["p99_ns"] / 1000)


def etcd_by_check(place: Path, size_bytes: int) -> Commits:
    """The same load by `mileage check --for etcd`: geometric means over its five runs, of 2,000 commits each."""
    with tempfile.TemporaryDirectory() as name:
        words = ["check", str(place), "--for", "etcd", "--json", "--save", f"{name}/study"]
        # It may not be fit, or not known to be: that is no failure here.
        fit = json.loads(output([MILEAGE, *words], statuses=(0, 1, 5)))["fitness"]
        lines = map(json.loads, Path(name, "study", "journal.jsonl").read_text(encoding="utf-8").splitlines())
        records = [line["record"]["latency"] for line in lines if line.get("record")]
        # The run that lays out the file has no syncs.
        found = [json.dumps(latency["sync"]) for latency in records if latency.get("sync")]
    p50_us = [(_core.latency_quantile_ns(one, 0.5) or 0) / 1000 for one in found]
    return Commits(2000 * len(found), geometric_mean(p50_us), fit["value"] / 1000)


ETCD: Final = {
    "fio": etcd_by_fio,
    "mileage fio": etcd_by_dropin,
    "mileage measure": etcd_by_measure,
    "mileage check": etcd_by_check,
}
"""The first one is what the others are compared with."""


@contextmanager
def allocated(path: Path, size_bytes: int) -> Iterator[Path]:
    """A new file whose space is reserved and not written, as fio makes it, for as long as it is used."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    try:
        yield path
    finally:
        path.unlink()


def measured(path: Path, *words: str) -> dict[str, Any]:
    """The one cell of `mileage measure` on a file. Raises Failed."""
    order = [MILEAGE, "measure", "-t", f"file:{path}", "--destroy", str(path), *words, "--json"]
    (cell,) = json.loads(output(order))
    return dict(cell)


_METHODS: Final = {
    "open_datasync": ("--dsync", "--direct"),
    "fdatasync": ("--sync", "fdatasync", "--sync-every", "1", "--no-direct"),
    "fsync": ("--sync", "fsync", "--sync-every", "1", "--no-direct"),
}
"""Methods of pg_test_fsync, each with the options of `mileage measure`; its open_datasync is direct."""


def wal_by_pg(place: Path, seconds: int) -> dict[str, float]:
    """Microseconds of a commit by pg_test_fsync's table of one 8 KiB write, by method. Raises Failed."""
    program = _postgres("pg_test_fsync")
    command = [program, "-s", str(seconds), "-f", str(place / "pg_test_fsync")]
    found: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            # Only the first of its tables is wanted.
            if "two 8kB" in line:
                running.terminate()
                break
            if row := re.match(r"\s+(\w+)\s+[0-9.]+ ops/sec\s+([0-9]+) usecs/op", line):
                found[row[1]] = float(row[2])
    (place / "pg_test_fsync").unlink(missing_ok=True)
    if not _METHODS.keys() <= found.keys():
        raise Failed(f"{program} printed no {', '.join(_METHODS.keys() - found.keys())}")
    return {method: found[method] for method in _METHODS}


def wal_by_measure(place: Path, seconds: int) -> dict[str, float]:
    """The same by `mileage measure`: one block of a written file, in place. Raises Failed."""
    path = place / "wal"
    path.write_bytes(b"\x55" * PLACE_BYTES)
    os.sync()
    found = {}
    for method, words in _METHODS.items():
        every = ("-w", "fixed_write", "-r", WAL_BLOCK, "--for", f"{seconds}s")
        found[method] = 1e6 / measured(path, *every, *words)["ops_per_s"][0]
    path.unlink()
    return found


def by_sqlite(place: Path, mode: str, count: int) -> Commits:
    """Commits of SQLite, one small row each, with synchronous=FULL; `mode` is its journal's."""
    path = place / "sqlite.db"
    store = sqlite3.connect(path, isolation_level=None)
    store.execute(f"pragma journal_mode={mode}")
    store.execute("pragma synchronous=full")
    store.execute("create table rows (number integer primary key, words text)")
    times_us = []
    for _ in range(count):
        began_ns = time.perf_counter_ns()
        store.execute("insert into rows (words) values ('a row of a hundred bytes or so')")
        times_us.append((time.perf_counter_ns() - began_ns) / 1000)
    store.close()
    for name in place.glob("sqlite.db*"):
        name.unlink()
    return commits_of(times_us)


def by_postgres(place: Path, seconds: int) -> Commits:
    """Commits of PostgreSQL with one client and synchronous commit: one row each, by pgbench. Raises Failed."""
    folder = place / "postgres"
    folder.mkdir()
    shutil.chown(folder, "postgres", "postgres")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    data = folder / "data"
    wait = ["-D", str(data), "-w", "-l", str(folder / "log")]
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c synchronous_commit=on"
    output([*user, _postgres("initdb"), "-D", str(data), "-A", "trust", "-N"], folder)
    output([*user, _postgres("pg_ctl"), *wait, "-o", settings, "start"], folder)
    try:
        bench = [*user, _postgres("pgbench"), "-h", str(folder)]
        output([*bench, "-i", "-q", "postgres"], folder)
        script = folder / "script.sql"
        script.write_text("insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 1);\n")
        output([*bench, "-n", "-c", "1", "-T", str(seconds), "-f", str(script), "-l", "postgres"], folder)
    finally:
        output([*user, _postgres("pg_ctl"), *wait, "-m", "immediate", "stop"], folder)
    logs = folder.glob("pgbench_log.*")
    times_us = [float(line.split()[2]) for log in logs for line in log.read_text().splitlines()]
    shutil.rmtree(folder)
    return commits_of(times_us)


def commits_of(times_us: list[float]) -> Commits:
    """Nearest-rank quantiles of single times."""
    ordered = sorted(times_us)
    if not ordered:
        raise Failed("no commit was made")
    p50, p99 = (ordered[max(-(-len(ordered) * share // 100) - 1, 0)] for share in (50, 99))
    return Commits(len(ordered), p50, p99)


def _postgres(name: str) -> str:
    """A program of PostgreSQL. Raises Failed."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    if not found:
        raise Failed(f"{name} of PostgreSQL is not installed")
    return str(found[-1])
