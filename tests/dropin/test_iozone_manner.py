"""`mileage iozone`: the flags by which records are moved, and what is done around them, as IOzone itself does it.

Numbers of calls, and checksums of files, are those of IOzone 3.471 (of 3.489 for -H and -k, whose writes go to wrong
offsets in 3.471), seen by strace with the same command line.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mileage.store import StudyFolder
from tests.command import mileage

SMALL = ("-s", "128k", "-r", "16k", "-f", "t", "-w")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


def printed(place: Path, *words: str) -> str:
    done = mileage("iozone", *words, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(place: Path, *words: str) -> Counter[str]:
    """Calls on the work file, by their names."""
    program = [str(Path(sys.executable).with_name("mileage")), "iozone", *words]
    watch = ["strace", "-ff", "-qq", "-y", "-s", "0", "-o", str(place / "trace")]
    done = subprocess.run([*watch, *program], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Counter[str] = Counter()
    for trace in place.glob("trace.*"):
        for line in trace.read_text(errors="replace").splitlines():
            name = re.match(rf"(\w+)\([^<]*<{re.escape(str(place / 't'))}>", line)
            found.update([name[1]] if name else [])
    return found


@pytest.mark.parametrize(
    ("words", "sha256"),
    [
        (("-V", "3"), hashlib.sha256(b"\x03" * (128 << 10)).hexdigest()),
        (("-V", "0"), hashlib.sha256(b"\x20" * (128 << 10)).hexdigest()),
        (("-+Z",), hashlib.sha256((b"\xa5" * 8 + bytes(4088)) * 32).hexdigest()),
        (("-B", "-G", "-V", "3"), hashlib.sha256(b"\x03" * (128 << 10)).hexdigest()),
        (("-k", "3", "-V", "3"), hashlib.sha256(b"\x03" * (128 << 10)).hexdigest()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_files_are_those_that_the_original_leaves(
    tmp_path: Path, words: tuple[str, ...], sha256: str
) -> None:
    printed(tmp_path, *words, *SMALL, "-i", "0", "-i", "1", "-i", "2")
    assert hashlib.sha256((tmp_path / "t").read_bytes()).hexdigest() == sha256


@needs_strace
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-E -i 0 -i 9 -i 10", {"write": 16, "pwrite64": 16, "pread64": 16, "fsync": 10}),
        ("-B -i 0 -i 1", {"mmap": 4, "write": 2, "read": 2}),
        ("-B -G -i 0", {"mmap": 2, "msync": 18, "write": 2}),
        # Every record by a call of the C library's own thread.
        ("-H 3 -i 0 -i 1", {"pwrite64": 16, "pread64": 16, "read": 2, "write": 0}),
    ],
)
def test_the_calls_are_those_of_the_original(tmp_path: Path, words: str, expected: dict[str, int]) -> None:
    found = calls(tmp_path, *words.split(), *SMALL)
    found["msync"] = sum(
        line.startswith("msync")
        for trace in tmp_path.glob("trace.*")
        for line in trace.read_text(errors="replace").splitlines()
    )
    assert {name: found[name] for name in expected} == expected


@needs_strace
def test_jitter_reads_elsewhere_before_every_hundredth_record(tmp_path: Path) -> None:
    found = calls(tmp_path, "-K", "-i", "0", "-i", "1", "-+n", "-s", "1m", "-r", "4k", "-f", "t", "-w")
    # 256 records and the one before the clock; 3 disturbances of 2 reads.
    assert found["read"] == 256 + 1 + 6


def test_a_log_has_a_line_for_each_record(tmp_path: Path) -> None:
    printed(tmp_path, "-Q", *SMALL, "-i", "0", "-i", "1")
    for name in ("wol", "rwol", "rol", "rrol"):
        head, *lines = (tmp_path / f"{name}.dat").read_text().splitlines()
        assert head == "Offset in kBytes   Latency in microseconds  Transfer size in bytes"
        assert [line.split()[::2] for line in lines[:8]] == [[str(16 * at), "16384"] for at in range(8)]
        assert lines[8] == ""
        assert lines[9].startswith("System time")
    printed(tmp_path, "-Q", "-t", "2", "-i", "0", "-s", "64k", "-r", "16k", "-F", "a", "b")
    assert len((tmp_path / "Child_1_wol.dat").read_text().splitlines()) == 1 + 4 + 2


@pytest.mark.parametrize("words", [(), ("-+J",)], ids=["without", "included"])
def test_compute_cycles_are_in_no_latency_and_in_rates_only_where_asked(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    text = printed(tmp_path, "-J", "3", *words, "-i", "0", "-i", "2", "-i", "6", *SMALL, "--study", "study")
    assert "\n\tCompute time 0.003000 seconds for reads and writes.\n" in text
    row = next(line for line in text.splitlines() if line.split()[:2] == ["128", "16"]).split()
    (entry,) = StudyFolder.open(tmp_path / "study").content().runs()
    results = entry.record.results
    assert len(results) == len(row) - 2 == 6
    for result, shown in zip(results, row[2:], strict=True):
        record = result.record
        (computed_ns,) = [thread.computed_ns for thread in record.threads]
        latencies_ns = sum(kind.sum_ns for kind in record.latency.values())
        assert 8 * 3_000_000 <= computed_ns <= record.elapsed_ns - latencies_ns
        timed_ns = record.elapsed_ns - (0 if words else computed_ns)
        assert int(shown) == int(128 / (timed_ns / 1e9)), result.name


def test_compute_cycles_of_children_are_left_out_of_their_rates_and_not_of_the_parent_s(
    tmp_path: Path,
) -> None:
    text = printed(
        tmp_path, *("-J", "3", "-t", "2", "-x", "-i", "0", "-s", "128k", "-r", "16k"), "--study", "study"
    )
    (entry,) = StudyFolder.open(tmp_path / "study").content().runs()
    for result in entry.record.results:
        children = [thread.elapsed_ns - thread.computed_ns for thread in result.record.threads]
        assert [child.ns for child in result.workers.children] == children
        assert result.workers.parent.ns >= 8 * 3_000_000
    total = re.search(r"Children see throughput for  2 initial writers \t= +([0-9.]+) ", text)
    record = entry.record.results[0].record
    rates = [128 * 1e9 / (thread.elapsed_ns - thread.computed_ns) for thread in record.threads]
    assert total is not None
    assert float(total[1]) == pytest.approx(sum(rates), abs=0.01)


@pytest.mark.parametrize("words", [("-J", "0"), ("-J", "-3"), ("-+J",)], ids=" ".join)
def test_compute_cycles_of_no_time_are_reported(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = mileage("iozone", *words, "-i", "0", *SMALL, cwd=tmp_path)
    assert done.returncode == 0
    assert f"mileage: {' '.join(words)}" in done.stderr
    assert "no effect" in done.stderr
    assert ("Compute time 0.000000 seconds" in done.stdout) == (words == ("-J", "0"))


def test_children_write_and_read_by_pwrite_and_pread_without_being_asked(tmp_path: Path) -> None:
    text = printed(tmp_path, "-t", "2", "-s", "64k", "-r", "16k", "-R", "-F", "a", "b")
    for words in ("pwrite writers", "pread readers"):
        assert f"throughput for 2 {words} \t=" in text
    assert re.search(r'^"         Pwrite " +[0-9.]+ $', text, re.MULTILINE)


def test_columns_are_those_of_the_original_with_these_flags(tmp_path: Path) -> None:
    extended = printed(tmp_path, "-E", "-R", *SMALL, "-i", "0", "-i", "9", "-i", "10")
    head = next(line for line in extended.splitlines() if "reclen" in line)
    row = extended.splitlines()[extended.splitlines().index(head) + 1]
    assert head.endswith("fwrite frewrite    fread  freread  pwrite repwrite   pread   repread")
    ends = [found.end() for found in re.finditer(r"\d+", row)]
    assert ends == [16, 24, 33, 42, 151, 160, 168, 177]
    assert '"Re-Pread report"' in extended
    (tmp_path / "t").unlink()
    mapped = printed(tmp_path, "-B", *SMALL)
    head = next(line for line in mapped.splitlines() if "reclen" in line)
    assert head == head.rstrip() + " " * 36
    row = mapped.splitlines()[mapped.splitlines().index(head) + 1]
    assert len(row.split()) == 2 + 9


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("-i 11", "no Linux build of IOzone has pwritev"),
        ("-i 9 -R", "IOzone leaves this test out without -E"),
        ("-i 8", "mix: IOzone leaves this test out without -t"),
        ("-B -i 6", "with mmap or asynchronous I/O"),
        ("-i 4 -t 2", "record_rewrite: IOzone leaves this test out with -t"),
    ],
)
def test_tests_that_the_original_does_not_do_give_a_row_without_figures(
    tmp_path: Path, words: str, note: str
) -> None:
    done = mileage("iozone", *words.split(), "-s", "64k", "-r", "4k", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])
    assert note in done.stderr
    assert "nothing is measured" in done.stderr
    if "-t" in words:
        end = "\tEach process writes a 64 kByte file in 4 kByte records\n\n\n\niozone test complete.\n"
    else:
        blanks = 83 if "-B" in words else 118
        end = f"\n              64       4{' ' * blanks}\n\niozone test complete.\n"
    assert re.search(end + r"\Z", done.stdout), done.stdout


@pytest.mark.parametrize("words", ["-i 12", "-i 99", "-i x", "-i 11 -i 12"])
def test_numbers_that_the_original_does_not_have_are_test_0(tmp_path: Path, words: str) -> None:
    done = mileage("iozone", *words.split(), "-s", "64k", "-r", "4k", cwd=tmp_path)
    assert done.returncode == 0
    assert ("Selected test not available on the version." in done.stdout) == ("x" not in words)
    assert re.search(r"\n              64       4 +[0-9]+ +[0-9]+ +\n\niozone test complete\.\n", done.stdout)
    assert "mileage: -i " in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("-B -H 2", "mmap or async, not both"),
        ("-H 2 -k 2", "can not do both"),
        ("-V 3 -+Z", "each says what is written"),
        ("-U /nowhere", "is no mount point" if os.geteuid() == 0 else "only root"),
        ("-P 70000", "processors"),
        ("-K -f virtual:plain-64gib@server-2025", "-K: a modelled host"),
        ("-i 9 -b sheet", "nothing to report"),
        ("-i 11 -t 2 -R", "nothing to report"),
    ],
)
def test_what_cannot_be_together_is_refused(tmp_path: Path, words: str, reason: str) -> None:
    done = mileage("iozone", *words.split(), "-s", "64k", "-r", "16k", cwd=tmp_path)
    assert done.returncode == 2
    assert reason in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("key", "value", "needed"),
    [("copied", "false", "depth"), ("line", "64", "purge"), ("compute_timed", "true", "compute")],
)
def test_a_key_without_effect_is_refused(tmp_path: Path, key: str, value: str, needed: str) -> None:
    (tmp_path / "s.toml").write_text(
        f"""name = "s"
target = "dir:{tmp_path}"
[[stage]]
name = "a"
measure = ["records"]
[measure.records]
workload = "iozone.read"
record = "4KiB"
fidelity = true
iozone = {{ file = "64KiB", manner = {{ {key} = {value} }} }}
"""
    )
    done = mileage("plan", "s.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert f"manner.{key}: found no {needed}" in " ".join(done.stderr.split())
