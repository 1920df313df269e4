"""The applications of a power-cut test: started on a file system, killed, and asked after a cut what they still have.

Scope: each prints a number per transaction whose durability was acknowledged. What it has after recovery is compared
with that.
What it refuses: an unknown application, with the names of those that are known, and one that is not installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.errors import Refused, RunFailed, closest
from mileage.targets.programs import find_program

_CHECK_S: Final = 120.0
_STATEMENTS: Final = 20_000
"""Transactions of one start of PostgreSQL: more than can be done before a cut."""
_POSTGRES_USER: Final = "postgres"
SQLITE_OPTIONS: Final = (
    *(
        f"{journal}-{synchronous}"
        for journal in ("delete", "wal")
        for synchronous in ("off", "normal", "full")
    ),
    *("delete-extra", "truncate-full"),
)
POSTGRES_OPTIONS: Final = ("fsync", "nofsync")
MAY_LOSE: Final = frozenset(
    {"delete-off", "delete-normal", "delete-full", "wal-off", "wal-normal", "nofsync"}
)
"""Options by which an application does not ask for every commit to be durable.

SQLite commits by removing the journal (`delete`); only `extra` syncs the folder after that. A WAL is synced at every
commit by `full` and `extra` only (sqlite.org/pragma.html, synchronous).
"""


class AppState(msgspec.Struct, frozen=True, kw_only=True):
    """What an application has after a cut."""

    found: frozenset[int]
    """Transactions that are there and whole."""
    damaged: frozenset[int] = frozenset()
    """Transactions that are there and not whole."""
    corrupt: str = ""
    """What its own check of consistency says; empty when it is consistent."""
    open: str = ""
    """Why it cannot recover; empty when it can."""


class App(ABC):
    """An application on a file system."""

    name: str

    @property
    def asks_for_durability(self) -> bool:
        """Whether it syncs every transaction that it reports."""
        return True

    def set_up(self, folder: Path) -> None:
        """Prepare a new file system."""
        return

    @abstractmethod
    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        """Start transactions, numbered from `first`; its standard output has a number per line."""

    def stop(self, folder: Path) -> None:
        """End what is left of it besides the process that was started."""
        return

    @abstractmethod
    def state(self, folder: Path) -> AppState:
        """Let it recover; what it has. Raises RunFailed."""


class CommitLoop(App):
    """The loads of `mileage.app.commit_loop`."""

    def __init__(self, kind: str, option: str = "") -> None:
        self._kind, self._option = kind, option
        self.name = f"{kind} {option}".strip()

    @property
    def asks_for_durability(self) -> bool:
        return self._option not in MAY_LOSE

    def _words(self, folder: Path, first: str) -> list[str]:
        option = [self._option] if self._option else []
        return [sys.executable, "-m", "mileage.app.commit_loop", self._kind, str(folder), first, *option]

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        return _start(self._words(folder, str(first)))

    def state(self, folder: Path) -> AppState:
        try:
            done = subprocess.run(
                self._words(folder, "check"), capture_output=True, text=True, check=False, timeout=_CHECK_S
            )
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"{self.name}: its check has not ended after {_CHECK_S:g} s") from error
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["no output"]
            return AppState(found=frozenset(), open=last[0])
        answer: dict[str, Any] = json.loads(done.stdout)
        return AppState(
            found=frozenset(answer["found"]),
            damaged=frozenset(answer["damaged"]),
            corrupt=answer["corrupt"],
            open=answer["open"],
        )


class Postgres(App):
    """PostgreSQL, with a row per transaction."""

    def __init__(self, option: str) -> None:
        self._fsync = "on" if option == "fsync" else "off"
        self._option = option
        self.name = f"postgres {option}"
        self._programs = postgres_programs()

    @property
    def asks_for_durability(self) -> bool:
        return self._option not in MAY_LOSE

    def _as_user(self, *words: str) -> list[str]:
        if os.geteuid() != 0:
            return list(words)
        return ["setpriv", f"--reuid={_POSTGRES_USER}", "--regid=postgres", "--clear-groups", *words]

    def _call(self, *words: str, allowed: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            self._as_user(*words),
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHECK_S,
            cwd="/",
            stdin=subprocess.DEVNULL,
        )
        if done.returncode not in allowed:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
            raise RunFailed(f"{self.name}: {Path(words[0]).name}: {lines[-1]}")
        return done.stdout

    def set_up(self, folder: Path) -> None:
        folder.chmod(0o755)
        place = folder / "data"
        place.mkdir(mode=0o700, exist_ok=True)
        shutil.chown(place, _POSTGRES_USER, _POSTGRES_USER)
        self._call(self._programs["initdb"], "-D", str(place), "-A", "trust", "--no-instructions")
        with (place / "postgresql.conf").open("a") as file:
            file.write(
                f"fsync = {self._fsync}\nlisten_addresses = ''\nunix_socket_directories = '{place}'\n"
                "max_wal_size = '64MB'\nmin_wal_size = '32MB'\nlogging_collector = off\n"
            )
        self._up(folder)
        self._call(*self._psql(folder), "-c", "CREATE TABLE t (number bigint PRIMARY KEY, data text)")
        self._call(self._programs["pg_ctl"], "-D", str(place), "-m", "fast", "-w", "stop")

    def _psql(self, folder: Path) -> tuple[str, ...]:
        return (self._programs["psql"], "-X", "-q", "-A", "-t", "-h", str(folder / "data"), "-d", "postgres")

    def _up(self, folder: Path) -> None:
        place = folder / "data"
        words = ("-D", str(place), "-w", "-t", "60", "-l", "/dev/null", "start")
        self._call(self._programs["pg_ctl"], *words)

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        if not (folder / "data" / "postmaster.pid").exists() or not self._answers(folder):
            self._up(folder)
        with tempfile.TemporaryFile() as script:
            for number in range(first, first + _STATEMENTS):
                row = f"INSERT INTO t VALUES ({number}, repeat('{number % 10}', 500));"
                script.write(f"{row}\n\\echo {number}\n".encode())
            script.seek(0)
            return _start(self._as_user(*self._psql(folder), "-v", "ON_ERROR_STOP=1"), stdin=script.fileno())

    def _answers(self, folder: Path) -> bool:
        try:
            self._call(*self._psql(folder), "-c", "SELECT 1")
        except RunFailed:
            return False
        return True

    def stop(self, folder: Path) -> None:
        """Kill the server: what it would write now, it cannot."""
        try:
            number = int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGQUIT)
        for _ in range(200):
            try:
                os.kill(number, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)

    def state(self, folder: Path) -> AppState:
        (folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        try:
            self._up(folder)
        except RunFailed as failure:
            return AppState(found=frozenset(), open=str(failure))
        try:
            text = self._call(
                *self._psql(folder),
                "-c",
                "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;"
                " SELECT number, data = repeat((number % 10)::text, 500) FROM t",
            )
            rows = [line.split("|") for line in text.split()]
            found = frozenset(int(number) for number, whole in rows if whole == "t")
            damaged = frozenset(int(number) for number, whole in rows if whole != "t")
        except RunFailed as failure:
            return AppState(found=frozenset(), corrupt=str(failure))
        return AppState(found=found, damaged=damaged)


class Command(App):
    """A command of the user's: `COMMAND run FOLDER FIRST` and `COMMAND check FOLDER`."""

    def __init__(self, command: str) -> None:
        self._words = command.split()
        self.name = command
        if not self._words or find_program(self._words[0]) is None:
            raise Refused(f"--app {command!r}", _unknown(command), code="unknown-name")

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        return _start([*self._words, "run", str(folder), str(first)])

    def state(self, folder: Path) -> AppState:
        done = subprocess.run(
            [*self._words, "check", str(folder)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHECK_S,
        )
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
            return AppState(found=frozenset(), corrupt=lines[-1])
        return AppState(found=frozenset(int(word) for word in done.stdout.split()))


def _start(words: Sequence[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True
    )


def postgres_programs() -> dict[str, str]:
    """Paths of PostgreSQL's programs, of the newest version that is installed. Raises Refused."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    places = [str(folder) for folder in reversed(folders)]
    path = os.pathsep.join((*places, os.environ.get("PATH", os.defpath)))
    found = {name: shutil.which(name, path=path) for name in ("initdb", "pg_ctl", "psql")}
    if absent := [name for name, place in found.items() if place is None]:
        raise Refused(
            "--app postgres",
            f"{absent[0]} is not installed; on Debian it comes with postgresql",
            code="needs-program",
        )
    return {name: place for name, place in found.items() if place is not None}


def _unknown(name: str) -> str:
    close = closest(name, ("fsync-loop", "sqlite", "postgres"))
    hint = f"; did you mean {close}?" if close else ""
    return f"is neither fsync-loop, sqlite, postgres nor a program{hint}"


def apps_of(names: Sequence[str]) -> list[App]:
    """The applications of these names, each with its options; "sqlite" alone means all of them.

    Raises Refused.
    """
    found: list[App] = []
    for name in names:
        kind, _, option = name.partition(":")
        known = {"sqlite": SQLITE_OPTIONS, "postgres": POSTGRES_OPTIONS, "fsync-loop": ("",)}.get(kind)
        if known is None:
            found.append(Command(name))
            continue
        if option and option not in known:
            raise Refused(
                f"--app {name}", expected=", ".join(f"{kind}:{one}" for one in known), code="unknown-word"
            )
        chosen = (option,) if option else known
        found += [Postgres(one) if kind == "postgres" else CommitLoop(kind, one) for one in chosen]
    return found
