"""`mileage measure`: one measurement or scan on every kind of target, its figures, its refusals."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import command

WORKERS = (("--threads", "3"), ("--processes", "3"))
DRIVE = ("-t", "virtual:plain-64gib", "--size", "64MiB")


def mileage(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return command.mileage(*args, cwd=cwd)


def measured(*args: str) -> str:
    result = mileage("measure", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def is_narrow(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines())


def cells(*args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(measured(*args, "--json"))
    return found


def test_one_measurement_says_every_figure() -> None:
    text = measured(*DRIVE, "--for", "100ms")
    for word in (
        "random_read on virtual:plain-64gib",
        "records of 4 KiB",
        "MiB/s",
        "MB/s",
        "/s",
        "p50",
        "p99.9",
        "max",
    ):
        assert word in text
    assert is_narrow(text)


def test_the_same_seed_gives_the_same_figures() -> None:
    first, again = (measured(*DRIVE, "--for", "50ms", "-w", "mix", "--seed", "5") for _ in range(2))
    assert first == again
    assert measured(*DRIVE, "--for", "50ms", "-w", "mix", "--seed", "6") != first


def test_a_scan_has_a_row_for_each_level_in_order() -> None:
    found = cells(*DRIVE, "--operations", "2000", "--vary", "depth=1,2,4..16")
    assert [cell["cell"].rpartition(" ")[2] for cell in found] == ["1", "2", "4", "8", "16"]
    rates = [cell["ops_per_s"][0] for cell in found]
    assert rates == sorted(rates)
    text = measured(*DRIVE, "--operations", "2000", "--vary", "depth=1,2,4..16")
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("depth"))
    assert [line.split()[0] for line in lines[head + 2 : head + 7]] == ["1", "2", "4", "8", "16"]
    assert is_narrow(text)


def test_repetitions_have_an_interval() -> None:
    text = measured(*DRIVE, "--operations", "500", "--vary", "depth=2,4", "--repeat", "3")
    assert "±" in text
    assert is_narrow(text)
    (cell,) = cells(*DRIVE, "--operations", "500", "--repeat", "3", "--depth", "4")
    assert cell["runs"] == 3
    assert len(cell["ops_per_s"]) == 3
    assert cell["latency"]["read"]["count"] == 1500


def test_a_directory_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    text = measured("-t", f"dir:{tmp_path}", "--size", "8MiB", "--operations", "200", "-w", "random_write")
    assert "sync" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt"]


def test_a_file_with_content_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(1 << 20))
    before = hashlib.sha256(path.read_bytes()).digest()
    (cell,) = cells("-t", f"file:{path}", "--operations", "100")
    assert cell["ops_read"] == 100
    assert hashlib.sha256(path.read_bytes()).digest() == before
    result = mileage("measure", "-t", f"file:{path}", "--operations", "100", "-w", "random_write")
    assert result.returncode == 2
    assert f"--destroy {path}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_a_file_that_was_given_up_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))
    inode = path.stat().st_ino
    measured("-t", f"file:{path}", "--bytes", "1MiB", "-w", "sequential_write", "--destroy", str(path))
    assert path.stat().st_size == 1 << 20
    assert path.stat().st_ino == inode
    assert path.read_bytes() != bytes(1 << 20)


def test_a_new_file_is_made_and_removed(tmp_path: Path) -> None:
    (cell,) = cells("-t", f"file:{tmp_path / 'new'}", "--size", "4MiB", "--operations", "50")
    assert cell["ops_read"] == 50
    assert list(tmp_path.iterdir()) == []


def test_a_saved_study_is_reported_and_compared(tmp_path: Path) -> None:
    scan = (*DRIVE, "--operations", "300", "--vary", "depth=1,4", "--repeat", "3")
    for name in ("a", "b"):
        measured(*scan, "--save", str(tmp_path / name))
    (table,) = re.findall(r"<table>.*?</table>", (tmp_path / "a" / "report.html").read_text(), re.S)
    assert table.count("<tr>") == 3
    assert (tmp_path / "a" / "tables" / "measured.csv").read_text().count("\n") == 3
    report = mileage("report", str(tmp_path / "a"))
    assert report.returncode == 0, report.stderr
    assert "depth   MiB/s" in report.stdout
    compared = mileage("compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert compared.returncode == 0, compared.stderr
    assert "same" in compared.stdout
    again = mileage("measure", *scan, "--save", str(tmp_path / "a"))
    assert again.returncode == 2
    assert "not an empty folder" in again.stderr


def test_the_study_file_does_the_same(tmp_path: Path) -> None:
    scan = (*DRIVE, "--operations", "300", "--vary", "depth=1,4")
    text = measured(*scan, "--as-study")
    assert tomllib.loads(text)["measure"]["measure"]["depth"] == [1, 4]
    (tmp_path / "study.toml").write_text(text)
    ran = mileage("run", "study.toml", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    measured(*scan, "--save", str(tmp_path / "saved"))
    plans = [json.loads((tmp_path / name / "plan.json").read_text())["hash"] for name in ("out", "saved")]
    assert plans[0] == plans[1]


REFUSED = [
    (("-w", "random_raed"), "'random_raed' is not a workload; did you mean random_read?"),
    (("-w", "stride:x"), "expected a name, or stride:RECORDS"),
    (("--record", "4K"), "'4K' is not a size"),
    (("--record", "3KiB"), "does not divide"),
    (("--for", "soon"), "'soon' is not a time"),
    (("--vary", "depht=1,2"), "there is no key 'depht'"),
    (("--vary", "depth"), "For example --vary depth=1,2,4..64"),
    (("--vary", "depth=1,3..8"), "neither a factor nor a difference leads from 3 to 8"),
    (("--vary", "depth=1,2", "--vary", "depth=4"), "depth is varied twice"),
    (("--depth", "0"), "depth"),
    (("--reads", "101"), "reads"),
    (("--poisson",), "--poisson: has no effect without rate"),
    (("--burst", "4"), "burst: has no effect without think"),
    (("--api", "pread"), "work on a virtual drive makes no system calls"),
    (("--pin", "x"), "expected processor numbers"),
    (("--pin", "0-9999999"), "expected processor numbers"),
    (("--pin", "node4095"), "node4095"),
    (("--pin", "nodeX"), "expected the number of a NUMA node"),
    (("--cold", "--direct"), "--cold and --direct"),
    (("--destroy", "/dev/null"), "destroys nothing"),
    (("--repeat", "0"), "repeat"),
    (("--size", "0"), "--size: found"),
    (("--content", "ones"), "'ones' is not a content"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=str)
def test_what_cannot_be_done_is_refused_in_one_line(options: tuple[str, ...], words: str) -> None:
    result = mileage("measure", *DRIVE, "--for", "10ms", *options)
    assert result.returncode == 2, result.stdout + result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert words in result.stderr


def test_a_target_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    for target, words in (
        ("block:/dev/no-such", "no such device"),
        (f"dir:{tmp_path}/none", "does not exist"),
        (f"file:{tmp_path}", "a directory"),
        ("null:x", "has no name"),
    ):
        result = mileage("measure", "-t", target)
        assert result.returncode == 2, result.stderr
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def test_a_refusal_names_a_target_without_a_path_as_it_was_given() -> None:
    result = mileage("measure", "-t", "null:", "--direct")
    expected = (
        "not possible on target 'null:': the null target makes no call and moves no byte, so this has no effect; "
        "leave it out"
    )
    assert (result.returncode, result.stderr.strip()) == (2, f"mileage: --direct: {expected}")
    result = mileage("measure", "-t", "null:", "--cold")
    assert (result.returncode, result.stderr.strip()) == (2, f"mileage: --cold: {expected}")
    assert "random_read on null: uniform" in measured("-t", "null:", "--for", "10ms")


def test_an_open_loop_shows_response_and_service_time() -> None:
    text = measured(*DRIVE, "--for", "200ms", "--rate", "2000", "--poisson", "--depth", "8")
    assert "service" in text
    assert "response" in text
    (cell,) = cells(*DRIVE, "--for", "200ms", "--rate", "2000", "--depth", "8")
    assert cell["ops_per_s"][0] == pytest.approx(2000, rel=0.05)
    assert cell["latency"]["response"]["count"] == cell["ops_read"]


def test_the_highest_rate_that_keeps_a_latency_is_searched() -> None:
    given = (*DRIVE, "--operations", "3000", "--depth", "32", "--poisson", "--latency-target", "p99=100us")
    text = measured(*given)
    assert is_narrow(text)
    probes = [line.split() for line in text.splitlines() if line.endswith((" yes", " no"))]
    assert {probe[-1] for probe in probes} == {"yes", "no"}
    found = json.loads(measured(*given, "--json"))
    best = found["search"]["best"]["rate"]
    assert f"up to {best:,} operations per second" in text
    assert found["cells"][0]["ops_per_s"][0] == pytest.approx(best, rel=0.1)
    assert all(probe["kept"] is False for probe in found["search"]["probes"] if probe["rate"] > best)


def test_the_run_at_the_rate_that_was_found_is_logged(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}", "--size", "4MiB", "--operations", "200")
    measured(*there, "--latency-target", "p99=10s", "--log", str(tmp_path / "log.csv"))
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 201
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_a_latency_that_no_rate_keeps_is_said() -> None:
    text = measured(*DRIVE, "--operations", "500", "--latency-target", "p99=1us")
    assert "No rate keeps p99=1us" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--latency-target", "p98=1ms"), "expected one of p50"),
        (("--latency-target", "p99"), "expected one of p50"),
        (("--latency-target", "p99=1ms", "--vary", "depth=1,2"), "remove --vary"),
        (("--latency-target", "p99=1ms", "--rate", "5"), "remove --rate"),
        (("--latency-target", "p99=1ms", "--cap", "5"), "remove --rate and --cap"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(options: tuple[str, ...], words: str) -> None:
    result = mileage("measure", *DRIVE, "--operations", "50", *options)
    assert result.returncode == 2, result.stdout + result.stderr
    assert words in result.stderr


def test_what_was_written_is_measured_and_what_is_read_compared(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}", "--size", "16MiB")
    (cell,) = cells(*there, "-w", "sequential_write", "--content", "compressible=50", "--bytes", "16MiB")
    assert cell["saved_percent"]["zlib"] == pytest.approx(50, abs=3)
    (cell,) = cells(*there, "--operations", "500", "--verify", "all")
    assert cell["ops_compared"] == 500
    foreign = tmp_path / "foreign"
    foreign.write_bytes(os.urandom(1 << 20))
    result = mileage("measure", "-t", f"file:{foreign}", "--operations", "50", "--verify", "all")
    assert result.returncode == 3, result.stderr
    assert "is foreign" in result.stderr


def test_each_thread_may_have_its_own_file(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}", "--size", "4MiB", "--threads", "2", "--files", "per_thread")
    (cell,) = cells(*there, "--operations", "100", "--verify", "all")
    assert cell["ops_compared"] == 100
    for more in ((), ("--processes", "2")):
        (cell,) = cells(*there, "-w", "mix", "--operations", "6000", "--verify", "all", *more)
        assert cell["ops_compared"] == cell["ops_read"] > 0
    assert list(tmp_path.iterdir()) == []
    result = mileage("measure", "-t", f"file:{tmp_path}/x", "--files", "per_thread", "--operations", "10")
    assert result.returncode == 2
    assert "needs a directory" in result.stderr


def test_threads_may_be_in_processes_of_their_own(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}", "--size", "4MiB", "-w", "mix")
    threads, processes = (cells(*there, "--operations", "900", *more)[0] for more in WORKERS)
    for field in ("bytes_read", "bytes_written", "ops_read", "ops_written"):
        assert processes[field] == threads[field]
    text = measured(*there, "--operations", "900", "--vary", "processes=1,3", "--json")
    assert [cell["cell"].rpartition(" ")[2] for cell in json.loads(text)] == ["1", "3"]
    assert "3 threads; in 3 processes" in measured(*there, "--operations", "900", "--processes", "3")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--processes", "0"), "--processes: found 0, expected a whole number from 1"),
        (("--processes", "4", "--threads", "2"), "--processes: found 4, expected at most the 2 threads"),
        (
            ("--vary", "processes=1,2", "--threads", "1"),
            "found 2, expected at most the 1 thread that they share",
        ),
        (("--processes", "2", "--log", "ops.csv"), "--log: is written by one process"),
        (("--processes", "2", "--verify", "all", "-w", "mix"), "--verify: has no use with 2 processes"),
        (("--processes", "2", "-w", "iozone.read"), "--processes: has no effect on IOzone's tests"),
        (("--processes", "2", "-w", "metadata.stat"), "--processes: has no effect on metadata operations"),
    ],
)
def test_processes_that_make_no_sense_are_refused(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = mileage("measure", "-t", f"dir:{tmp_path}", *options)
    assert result.returncode == 2, result.stdout + result.stderr
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_iozone_does_otherwise_is_noted(tmp_path: Path) -> None:
    stride = ("-t", f"dir:{tmp_path}", "-w", "iozone.stride_read", "--record", "64KiB", "--size", "4MiB")
    assert "note:" not in measured(*stride)
    text = measured(*stride, "--fidelity")
    assert "of 64 records IOzone reads 62 and some of them again" in " ".join(text.split())
    assert is_narrow(text)


def test_iozones_tests_and_metadata_leave_nothing_behind(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}")
    found = cells(*there, "--size", "4MiB", "--vary", "workload=iozone.write,iozone.reread", "--repeat", "2")
    assert [cell["cell"] for cell in found] == ["iozone.write 1 MiB", "iozone.reread 1 MiB"]
    assert [cell["ops_written"] for cell in found] == [8, 0]
    assert [cell["ops_read"] for cell in found] == [0, 8]
    found = cells(*there, "--operations", "200", "--vary", "workload=metadata.create,metadata.unlink")
    assert [cell["ops_metadata"] for cell in found] == [200, 200]
    assert found[0]["latency"]["metadata"]["count"] == 200
    assert list(tmp_path.iterdir()) == []
    text = measured(*there, "-w", "metadata.stat", "--operations", "200", "--save", str(tmp_path / "kept"))
    assert "200 files" in text
    assert mileage("report", str(tmp_path / "kept")).returncode == 0
    assert "metadata.stat" in (tmp_path / "kept" / "report.html").read_text()


def test_every_operation_is_logged_and_replayed(tmp_path: Path) -> None:
    there = ("--target", f"dir:{tmp_path}", "--size", "1MiB", "--operations", "300")
    log = tmp_path / "log.csv"
    measured(*there, "--workload", "random_write", "--log", str(log))
    rows = log.read_text(encoding="utf-8").splitlines()
    writes = [row for row in rows if ",write," in row]
    assert rows[0] == "start_ns,due_ns,end_ns,thread,kind,offset_bytes,length_bytes"
    assert len(writes) == 300
    output = measured(*there[:2], "--size", "1MiB", "--workload", f"trace:{log}")
    assert "300 in" in output


def test_several_logs_are_numbered_and_nothing_else_is_written_over(tmp_path: Path) -> None:
    there = ("--target", f"dir:{tmp_path}", "--size", "1MiB", "--operations", "50", "--repeat", "2")
    log = tmp_path / "log.csv"
    measured(*there, "--log", str(log))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log-1.csv", "log-2.csv"]
    measured(*there, "--log", str(log))
    (tmp_path / "log-2.csv").write_text("mine")
    before = (tmp_path / "log-1.csv").read_bytes()
    assert mileage("measure", *there, "--log", str(log)).returncode == 2
    assert (tmp_path / "log-1.csv").read_bytes() == before
    assert (tmp_path / "log-2.csv").read_text() == "mine"


def test_a_real_device_says_what_it_did(tmp_path: Path) -> None:
    there = ("-t", f"dir:{tmp_path}", "--size", "1MiB", "--operations", "300", "-w", "random_write")
    text = measured(*there)
    found = cells(*there)[0]
    if not found["device"]:
        pytest.skip(f"{tmp_path} lies on no block device that counts")
    row = next(line for line in text.splitlines() if line.startswith("  device"))
    assert re.fullmatch(
        r"  device +(?:[\d,]+ reads? [\d.,]+ MiB, )?[\d,]+ writes? [\d.,]+ MiB, \d+ % busy", row
    )
    assert found["device"]["write_bytes"] >= found["bytes_written"]
    assert is_narrow(text)


def test_a_rate_that_a_drive_cannot_keep_is_said_and_one_that_it_keeps_is_not() -> None:
    asked = ("-t", "virtual:intel-x25e-64gb", "-w", "random_write", "--for", "1s")
    kept = measured(*asked, "--rate", "10000")
    assert "saturated" not in kept
    # A write of 44.5 us at depth 1: 22,456 of them a second and no more.
    lost = " ".join(measured(*asked, "--rate", "40000").split())
    assert "note: at 40,000 operations/s it is saturated (55." in lost
    both = " ".join(measured(*asked, "--vary", "rate=10000,40000").split())
    assert "note: it keeps up with 10,000 operations/s and is saturated at 40,000 (55." in both
