"""The load of a power-cut test: `python -m mileage.app.commit_loop KIND FOLDER FIRST [OPTION]`.

Scope: transactions without end, one after the other, numbered from FIRST. Each prints its number once the
application has its acknowledgement that it is durable. KIND is fsync-loop (a record is appended and synced) or sqlite
(a row is inserted and committed; OPTION is JOURNAL-SYNCHRONOUS, such as wal-normal). With FIRST "check" what is there
is examined instead, after what the application does itself to recover: one line of JSON.
It ends with the first error, as an application does whose drive loses power.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any, Final

RECORD_BYTES: Final = 4096


def record(number: int) -> bytes:
    """The record of a transaction: no two are equal, and each can be made again from its number."""
    head = f"{number:020d}".encode()
    return head + hashlib.shake_128(head).digest(RECORD_BYTES - len(head))


def _print(number: int) -> None:
    os.write(1, f"{number}\n".encode())


def append_records(folder: Path, first: int) -> None:
    """Append and sync record after record."""
    descriptor = os.open(folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    if first == 0:
        os.fsync(descriptor)
        parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(parent)
        os.close(parent)
    number = first
    while True:
        os.pwrite(descriptor, record(number), number * RECORD_BYTES)
        os.fsync(descriptor)
        _print(number)
        number += 1


def check_records(folder: Path) -> dict[str, Any]:
    """The transactions whose record is whole, and those before the end of the file whose record is not.

    "found" is null when the file cannot be read.
    """
    path = folder / "log"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        return {"found": None, "damaged": [], "corrupt": f"log: {error.strerror}", "open": ""}
    count = len(data) // RECORD_BYTES
    whole = [n for n in range(count) if data[n * RECORD_BYTES : (n + 1) * RECORD_BYTES] == record(n)]
    damaged = sorted(set(range(count)) - set(whole))
    return {"found": whole, "damaged": damaged, "corrupt": "", "open": ""}


def _connect(folder: Path, option: str) -> sqlite3.Connection:
    journal, _, synchronous = option.partition("-")
    connection = sqlite3.connect(folder / "database", isolation_level=None, timeout=0)
    connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    return connection


def insert_rows(folder: Path, first: int, option: str) -> None:
    """Insert row after row, each in a transaction of its own."""
    connection = _connect(folder, option)
    connection.execute("CREATE TABLE IF NOT EXISTS t (number INTEGER PRIMARY KEY, data BLOB)")
    number = first
    while True:
        connection.execute("INSERT INTO t VALUES (?, ?)", (number, record(number)[:1000]))
        _print(number)
        number += 1


def check_rows(folder: Path, option: str) -> dict[str, Any]:
    """The rows that are there and whole, after SQLite's own recovery and its integrity check.

    "found" is null when they cannot be read.
    """
    result: dict[str, Any] = {"found": None, "damaged": [], "corrupt": "", "open": ""}
    try:
        connection = _connect(folder, option)
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 't'").fetchone()
    except sqlite3.Error as error:
        return {**result, "open": str(error)}
    try:
        check = connection.execute("PRAGMA integrity_check").fetchone()[0]
        result["corrupt"] = "" if check == "ok" else str(check)
        rows = connection.execute("SELECT number, data FROM t").fetchall() if tables[0] else []
        result["found"] = [number for number, data in rows if data == record(number)[:1000]]
        result["damaged"] = sorted({number for number, _ in rows} - set(result["found"]))
        connection.close()
    except sqlite3.Error as error:
        result["corrupt"] = str(error)
    return result


def main() -> None:
    """Load, or check."""
    kind, folder, first, *rest = sys.argv[1:]
    place, option = Path(folder), rest[0] if rest else ""
    if first == "check":
        answer = check_records(place) if kind == "fsync-loop" else check_rows(place, option)
        sys.stdout.write(json.dumps(answer) + "\n")
        return
    try:
        if kind == "fsync-loop":
            append_records(place, int(first))
        else:
            insert_rows(place, int(first), option)
    except (OSError, sqlite3.Error) as error:
        sys.exit(f"{kind}: {error}")


if __name__ == "__main__":
    main()
