"""The applications of a power-cut test: started on a file system, killed, and asked after a cut what they still have.

Scope: each prints a number per transaction whose durability was acknowledged. What it has after recovery is compared
with that.
What it refuses: an unknown application, with the names of those that are known, and one that is not installed.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from mileage.app.power_cut_process import call, end, has_ended, start
from mileage.errors import Refused, RunFailed, closest
from mileage.targets.programs import find_program

_CHECK_S: Final = 120.0
_UP_S: Final = 60.0
_DOWN_S: Final = 10.0
_LOOK_S: Final = 0.05
_NOT_EXECUTED: Final = (126, 127)
"""Exit statuses of a shell that could not execute a program (POSIX, Shell Command Language, 2.8.2)."""
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

    found: frozenset[int] | None
    """Transactions that are there and whole; None when nobody could look."""
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
        return start(self._words(folder, str(first)), cwd=Path("/"))

    def state(self, folder: Path) -> AppState:
        done = call(self.name, self._words(folder, "check"), _CHECK_S, cwd=Path("/"))
        if done.status != 0:
            raise RunFailed(f"{self.name}: its check failed: {done.last_line}", cause="program")
        answer: dict[str, Any] = json.loads(done.output)
        return AppState(
            found=frozenset(answer["found"]) if answer["found"] is not None else None,
            damaged=frozenset(answer["damaged"]),
            corrupt=answer["corrupt"],
            open=answer["open"],
        )


class Postgres(App):
    """PostgreSQL, with a row per transaction.

    Its server is a child of this process: what a file of the file system under test says about it is not believed.
    """

    def __init__(self, option: str) -> None:
        self._fsync = "on" if option == "fsync" else "off"
        self._option = option
        self.name = f"postgres {option}"
        self._programs = postgres_programs()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def asks_for_durability(self) -> bool:
        return self._option not in MAY_LOSE

    def _as_user(self, *words: str) -> list[str]:
        if os.geteuid() != 0:
            return list(words)
        user = (f"--reuid={_POSTGRES_USER}", f"--regid={_POSTGRES_USER}", "--clear-groups")
        return ["setpriv", *user, "--pdeathsig=QUIT", *words]

    def _call(self, *words: str) -> str:
        done = call(self.name, self._as_user(*words), _CHECK_S, cwd=Path("/"))
        if done.status != 0:
            raise RunFailed(f"{self.name}: {Path(words[0]).name}: {done.last_line}", cause="program")
        return done.output

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
        self._up_or_fail(folder)
        self._call(*self._psql(folder), "-c", "CREATE TABLE t (number bigint PRIMARY KEY, data text)")
        self._down(signal.SIGINT)

    def _psql(self, folder: Path) -> tuple[str, ...]:
        return (self._programs["psql"], "-X", "-q", "-A", "-t", "-h", str(folder / "data"), "-d", "postgres")

    def _up(self, folder: Path) -> str:
        """Start the server, which recovers; why it does not, empty when it does. Raises RunFailed when it hangs."""
        self._down(signal.SIGQUIT)
        words = self._as_user(self._programs["postgres"], "-D", str(folder / "data"))
        with tempfile.TemporaryFile() as log:
            server = start(words, stdout=subprocess.DEVNULL, stderr=log, cwd=Path("/"))
            self._server = server
            end_by = time.monotonic() + _UP_S
            while time.monotonic() < end_by:
                if has_ended(server, 0):
                    self._down(how=signal.SIGQUIT)
                    return _why_it_ended(log, server.returncode)
                if self._answers(folder):
                    return ""
                time.sleep(_LOOK_S)
        self._down(signal.SIGQUIT)
        raise RunFailed(f"{self.name}: the server does not answer after {_UP_S:g} s", cause="ETIMEDOUT")

    def _up_or_fail(self, folder: Path) -> None:
        if why := self._up(folder):
            raise RunFailed(f"{self.name}: {why}", cause="program")

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        if self._server is None or has_ended(self._server, 0) or not self._answers(folder):
            self._up_or_fail(folder)
        with tempfile.TemporaryFile() as script:
            for number in range(first, first + _STATEMENTS):
                row = f"INSERT INTO t VALUES ({number}, repeat('{number % 10}', 500));"
                script.write(f"{row}\n\\echo {number}\n".encode())
            script.seek(0)
            words = self._as_user(*self._psql(folder), "-v", "ON_ERROR_STOP=1")
            return start(words, stdin=script.fileno(), cwd=Path("/"))

    def _answers(self, folder: Path) -> bool:
        try:
            self._call(*self._psql(folder), "-c", "SELECT 1")
        except RunFailed:
            return False
        return True

    def stop(self, folder: Path) -> None:
        self._down(signal.SIGQUIT)

    def _down(self, how: signal.Signals) -> None:
        """End the server; with SIGQUIT it does not write first, which it cannot without a drive."""
        server, self._server = self._server, None
        if server is None:
            return
        server.send_signal(how)
        has_ended(server, _DOWN_S)
        end(server)

    def state(self, folder: Path) -> AppState:
        (folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        if why := self._up(folder):
            return AppState(found=None, open=why)
        try:
            text = self._call(
                *self._psql(folder),
                "-c",
                "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;"
                " SELECT number, data = repeat((number % 10)::text, 500) FROM t",
            )
        except RunFailed as failure:
            return AppState(found=None, corrupt=str(failure))
        rows = [line.partition("|") for line in text.split()]
        found = frozenset(int(number) for number, _, whole in rows if whole == "t")
        damaged = frozenset(int(number) for number, _, whole in rows if whole != "t")
        return AppState(found=found, damaged=damaged)


def _why_it_ended(log: IO[bytes], status: int) -> str:
    """The last line of a server's log that says why it ended."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    grave = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    last = [*lines[-1:], *grave[-1:]]
    return last[-1].strip() if last else f"the server has ended with status {status}"


class Command(App):
    """A command of the user's: `COMMAND run FOLDER FIRST` and `COMMAND check FOLDER`."""

    def __init__(self, command: str) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise Refused(f"--app {command!r}", f"is no command line: {error}", code="wrong-value") from error
        place = find_program(words[0]) if words else None
        if place is None:
            raise Refused(f"--app {command!r}", _unknown(command), code="unknown-name")
        self._words = [os.path.abspath(place), *words[1:]]
        self.name = command

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        return start([*self._words, "run", str(folder), str(first)])

    def state(self, folder: Path) -> AppState:
        done = call(self.name, [*self._words, "check", str(folder)], _CHECK_S)
        if done.status in _NOT_EXECUTED:
            raise RunFailed(f"{self.name}: its check was not executed: {done.last_line}", cause="program")
        if done.status != 0:
            return AppState(found=None, corrupt=done.last_line)
        numbers = done.output.split()
        if other := [word for word in numbers if not re.fullmatch(r"[0-9]{1,18}", word)]:
            raise RunFailed(
                f"{self.name}: its check printed {other[0]!r}; expected a number per transaction",
                cause="program",
            )
        return AppState(found=frozenset(int(word) for word in numbers))


def postgres_programs() -> dict[str, str]:
    """Paths of PostgreSQL's programs, of the newest version that is installed. Raises Refused."""
    folders = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if _version(path)]
    places = [str(folder) for folder in sorted(folders, key=_version, reverse=True)]
    path = os.pathsep.join((*places, os.environ.get("PATH", os.defpath)))
    found = {name: shutil.which(name, path=path) for name in ("initdb", "postgres", "psql")}
    if absent := [name for name, place in found.items() if place is None]:
        raise Refused(
            "--app postgres",
            f"{absent[0]} is not installed; on Debian it comes with postgresql",
            code="needs-program",
        )
    try:
        pwd.getpwnam(_POSTGRES_USER)
    except KeyError as error:
        raise Refused("--app postgres", f"there is no user {_POSTGRES_USER}", code="not-found") from error
    return {name: place for name, place in found.items() if place is not None}


def _version(programs: Path) -> tuple[int, ...]:
    """The version in the path of PostgreSQL's programs; empty without one."""
    return tuple(int(part) for part in programs.parent.name.split(".") if part.isdigit())


def _unknown(name: str) -> str:
    close = closest(name, ("fsync-loop", "sqlite", "postgres"))
    hint = f"; did you mean {close}?" if close else ""
    return f"is neither fsync-loop, sqlite, postgres nor a program that can be executed{hint}"


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
