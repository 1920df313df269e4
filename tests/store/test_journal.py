"""The journal loses nothing but a torn last line, wherever the cut falls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mileage.errors import Refused
from mileage.model.journal_entries import End, Entry, MergedFolder, Rank, RankList, StudyHead
from mileage.store import FORMAT, Journal, journal, read_journal
from mileage.store.journal_line_check import LineCheck
from tests import entries

HEAD = StudyHead(
    format=FORMAT, plan="ab", mileage="1", command='näh\n"quoted"', started="2030-01-01T00:00:00Z"
)
ENTRIES: list[Entry] = [
    HEAD,
    RankList(ranks=[Rank(0, "here", 1)], at="2030-01-01T00:00:00Z"),
    MergedFolder(folder="a", head=HEAD),
]


def write(path: Path) -> bytes:
    journal = Journal(path)
    for entry in ENTRIES:
        journal.append(entry)
    journal.close()
    return path.read_bytes()


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    write(tmp_path / "journal.jsonl")
    content = read_journal(tmp_path / "journal.jsonl")
    assert list(content.entries) == ENTRIES
    assert content.torn_bytes == 0


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_name_of_a_new_journal_is_forced_to_the_disk_before_its_first_line(tmp_path: Path) -> None:
    script = "import json, sys; from pathlib import Path; from mileage.store import Journal\n"
    script += "from tests.entries import entry_of\n"
    script += "for line in sys.argv[2:]: Journal(Path(sys.argv[1])).append(entry_of(json.loads(line)))"
    entries = [msgspec.json.encode(entry).decode() for entry in ENTRIES[:2]]
    trace, journal = tmp_path / "trace", tmp_path / "study" / "journal.jsonl"
    journal.parent.mkdir()
    watch = ["strace", "-y", "-e", "trace=openat,fsync,write", "-o", str(trace)]
    paths = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        [*watch, sys.executable, "-c", script, str(journal), *entries],
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    lines = [line for line in trace.read_text().split("\n") if str(journal.parent) in line]
    calls = [
        f"{line.partition('(')[0]} {'journal' if str(journal) in line else 'folder'}"
        for line in lines
        if "O_RDONLY" not in line
    ]
    written = ["write journal", "fsync journal"]
    assert calls == ["openat journal", "fsync folder", *written, "openat journal", *written]


def test_an_entry_is_on_the_disk_before_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loss of power right after an append would leave is what the file held at the last fsync of it."""
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    genuine, kept = os.fsync, b""

    def fsync(descriptor: int) -> None:
        nonlocal kept
        genuine(descriptor)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            kept = path.read_bytes()

    monkeypatch.setattr("mileage.store.journal.os.fsync", fsync)
    for number, entry in enumerate(ENTRIES, start=1):
        journal.append(entry)
        assert kept == path.read_bytes()
        assert kept.count(b"\n") == number
    journal.extend(ENTRIES[1:])
    assert kept == path.read_bytes()
    journal.close()


def test_a_cut_at_every_byte_of_the_last_two_lines_loses_only_torn_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    data = write(path)
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
    for cut in range(starts[1], len(data) + 1):
        path.write_bytes(data[:cut])
        whole = sum(start <= cut for start in starts) - 1
        content = read_journal(path)
        assert list(content.entries) == ENTRIES[:whole], f"cut at byte {cut}"
        assert content.torn_bytes == cut - starts[whole]
        journal = Journal(path)
        assert journal.torn_bytes == content.torn_bytes
        journal.append(End(finished=""))
        journal.close()
        again = read_journal(path)
        assert list(again.entries) == [*ENTRIES[:whole], End(finished="")], f"cut at byte {cut}"
        assert not again.problems, "the chain continues after what was cut off"


def test_damage_before_the_last_line_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = write(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    with pytest.raises(Refused, match="line 2 of the journal is damaged"):
        read_journal(path)


WHEN = "2030-01-01T00:00:00Z"
PLACE = {"cycle": 1, "arm": "torture", "stage": "before"}
TIMED = {
    "study": {"format": FORMAT, "plan": "ab", "mileage": "1", "command": "", "started": WHEN},
    "run": {**msgspec.to_builtins(entries.run()), "started": WHEN, "finished": WHEN},
    "stage": {**PLACE, "at": WHEN},
    "session": {"session": "", "finished": WHEN},
    "end": {"finished": WHEN},
    "ranks": {"ranks": [], "at": WHEN},
}


@pytest.mark.parametrize("time", ["=1+1", "", "2030-01-01T00:00:00", "2030", "\0", "9" * 5000])
@pytest.mark.parametrize("kind", TIMED)
def test_a_line_with_a_time_that_is_none_is_skipped(kind: str, time: str) -> None:
    """A time without its zone cannot be subtracted from the others."""
    whole = {"kind": kind, **TIMED[kind]}
    assert LineCheck(None).problem(msgspec.json.encode(whole), kind, 2)[1] is None
    for name in (name for name, value in whole.items() if value == WHEN):
        if kind == "end" and not time:
            continue  # Early versions of `merge` wrote it so.
        _, why = LineCheck(None).problem(msgspec.json.encode({**whole, name: time}), kind, 2)
        assert why is not None, name
        assert why.startswith("is damaged ("), (name, why)
        assert len(why) < 200, (name, why)


def test_a_line_without_an_end_is_refused_and_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_LINE_BYTES_MAX", 1000)
    path = tmp_path / "journal.jsonl"
    before = write(path) + b"\0" * 3000
    path.write_bytes(before)
    with pytest.raises(Refused, match="line 4 has more than 1,000 bytes"):
        Journal(path)
    assert path.read_bytes() == before


def test_another_format_is_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(
        b'{"kind":"study","format":99,"plan":"ab","mileage":"9","command":"","started":"2030-01-01T00:00:00Z"}\n'
    )
    with pytest.raises(Refused, match="format 99; expected 2"):
        read_journal(path)


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "none").entries) == []
