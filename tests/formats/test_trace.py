"""Traces are read from CSV, from our own log and from fio's iolog, and refused with the line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.errors import Refused
from mileage.formats.trace import operations_json, read_trace, trace_file
from mileage.plan.pattern import TraceOp

FIO = shutil.which("fio")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "trace"
    path.write_text(text)
    return path


def test_a_csv_by_the_names_of_its_columns(tmp_path: Path) -> None:
    text = "op, size ,at_us,who,offset\nR,4096,12.5,x,0\nwrite,8192,10,y,4096\nflush,0,11,z,0\ntrim,512,13,z,512\n"
    assert read_trace(written(tmp_path, text)) == (
        TraceOp(0, "write", 4096, 8192),
        TraceOp(1000, "sync", 0, 0),
        TraceOp(2500, "read", 0, 4096),
        TraceOp(3000, "discard", 512, 512),
    )


def test_without_a_time_all_are_at_once_and_in_order(tmp_path: Path) -> None:
    found = read_trace(written(tmp_path, "kind,offset_bytes,length_bytes\nread,512,512\nread,0,512\n"))
    assert [(op.at_ns, op.offset_bytes) for op in found] == [(0, 512), (0, 0)]


def test_an_iolog_of_version_2_waits(tmp_path: Path) -> None:
    lines = ("add", "open", "read 0 4096", "wait 150 0", "write 4096 512", "datasync 0 0", "close")
    text = "\n".join(["fio version 2 iolog", *(f"/d {line}" for line in lines)])
    assert read_trace(written(tmp_path, text)) == (
        TraceOp(0, "read", 0, 4096),
        TraceOp(150_000, "write", 4096, 512),
        TraceOp(150_000, "sync", 0, 0),
    )


@pytest.mark.skipif(FIO is None, reason="fio is not installed")
def test_what_fio_logs_of_itself(tmp_path: Path) -> None:
    log = tmp_path / "iolog"
    subprocess.run(
        [
            *(str(FIO), "--name=x", f"--filename={tmp_path}/data", "--size=64k", "--rw=randrw", "--bs=4k"),
            *(f"--write_iolog={log}", "--rate_iops=200,200", "--number_ios=16", "--rwmixread=50"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    found = read_trace(log)
    assert len(found) == 16
    assert {op.length_bytes for op in found} == {4096}
    assert {op.kind for op in found} == {"read", "write"}
    assert sorted(op.offset_bytes for op in found) == [4096 * number for number in range(16)]
    assert 10_000_000 < found[-1].at_ns < 10 * 10**9


def test_what_a_plan_must_know(tmp_path: Path) -> None:
    text = "kind,offset,length,at_ms\nread,8192,4096,0\nwrite,0,12288,5\nsync,0,0,6\ndiscard,65536,8192,7\n"
    path = written(tmp_path, text)
    facts = trace_file(path, read_trace(path))
    assert (facts.operations, facts.reads, facts.writes, facts.syncs, facts.discards) == (4, 1, 1, 1, 1)
    assert facts.bytes == 4096 + 12288
    assert facts.largest_bytes == 12288
    assert facts.end_bytes == 65536 + 8192
    assert facts.unit_bytes == 4096
    assert facts.duration_ns == 7_000_000
    again = written(tmp_path, text.replace("at_ms", "at_ms").replace("read", "r"))
    assert trace_file(again, read_trace(again)).sha256 == facts.sha256


@given(
    st.lists(
        st.builds(
            TraceOp,
            at_ns=st.integers(0, 10**12),
            kind=st.sampled_from(["read", "write", "discard"]),
            offset_bytes=st.integers(0, 10**6).map(lambda sector: sector * 512),
            length_bytes=st.integers(1, 2048).map(lambda sectors: sectors * 512),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_a_written_trace_reads_back(
    tmp_path_factory: pytest.TempPathFactory, given_ops: list[TraceOp]
) -> None:
    ops = sorted(given_ops, key=lambda op: op.at_ns)
    rows = [f"{op.at_ns},{op.kind},{op.offset_bytes},{op.length_bytes}" for op in ops]
    path = tmp_path_factory.mktemp("trace") / "t.csv"
    path.write_text("\n".join(["start_ns,kind,offset_bytes,length_bytes", *rows]))
    first = ops[0].at_ns
    expected = tuple(TraceOp(op.at_ns - first, op.kind, op.offset_bytes, op.length_bytes) for op in ops)
    assert read_trace(path) == expected
    assert operations_json(expected).startswith(b'[{"at_ns":0,')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column kind among none"),
        ("kind,offset\nread,0\n", "no column length_bytes among kind, offset"),
        ("kind,offset,length\n", "no operation in it"),
        ("kind,offset,length\nread,0\n", "line 2: 2 fields; expected 3"),
        ("kind,offset,length\nread,0,0\n", "line 2: a read of 0 bytes"),
        ("kind,offset,length\nread,-512,512\n", "line 2: '-512' is not a whole number"),
        ("kind,offset,length\npeek,0,512\n", "line 2: 'peek' is not an operation"),
        ("kind,offset,length,at_s\nread,0,512,soon\n", "line 2: 'soon' is not a time"),
        ("kind,offset,length,at_s,at_ms\nread,0,512,1,2\n", "columns at_ms and at_s both say when"),
        ("fio version 2 iolog\n/d add\n/e add\n", "line 3: a second file, /e"),
        ("fio version 2 iolog\n/d read 0\n", "line 2: '/d read 0' is not a line of a fio iolog"),
        ("fio version 3 iolog\n/d read 0 512\n", "is not a"),
    ],
)
def test_what_is_not_a_trace_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_trace(written(tmp_path, text))
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        read_trace(tmp_path / "none")
