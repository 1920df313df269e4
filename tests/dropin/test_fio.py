"""`mileage fio`: jobs from files and command lines, what they move, fio's three outputs, exit statuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage

MIB = 1 << 20


def fio(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return mileage("fio", *words, cwd=place)


def document(place: Path, *words: str) -> list[dict[str, Any]]:
    done = fio(place, *words, "--output-format=json")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def test_a_job_moves_what_it_is_asked_to(tmp_path: Path) -> None:
    (job,) = document(tmp_path, "--name=a", "--rw=write", "--bs=64k", "--size=1m")
    assert (job["write"]["io_bytes"], job["write"]["total_ios"], job["read"]["total_ios"]) == (MIB, 16, 0)
    assert (tmp_path / "a.0.0").stat().st_size == MIB
    (job,) = document(tmp_path, "--name=b", "--rw=randread", "--bs=4k", "--size=1m", "--loops=2")
    assert (job["read"]["io_bytes"], job["read"]["total_ios"]) == (2 * MIB, 512)


def changing_bytes(place: Path, *words: str) -> set[int]:
    """Places within a sector at which the blocks of a written file differ from the first one."""
    assert (
        fio(place, "--name=a", "--filename=f", "--rw=write", "--bs=4k", "--size=256k", *words).returncode == 0
    )
    data = (place / "f").read_bytes()
    blocks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    return {at % 512 for block in blocks for at in range(4096) if block[at] != blocks[0][at]}


def test_a_write_changes_as_much_of_its_buffer_as_fio_does(tmp_path: Path) -> None:
    scrambled = changing_bytes(tmp_path)
    assert scrambled
    assert scrambled <= set(range(8)) | set(range(48, 64))
    data = (tmp_path / "f").read_bytes()
    assert len({data[start : start + 4096] for start in range(0, len(data), 4096)}) == 64
    assert all(data[at : at + 8] == at.to_bytes(8, "little") for at in range(0, len(data), 512))
    assert changing_bytes(tmp_path, "--scramble_buffers=0") == set()
    assert (tmp_path / "f").read_bytes()[:4096] != bytes(4096)
    assert len(changing_bytes(tmp_path, "--refill_buffers=1")) == 512
    assert changing_bytes(tmp_path, "--zero_buffers=1") == set()
    assert (tmp_path / "f").read_bytes() == bytes(256 * 1024)


def test_a_mix_and_sizes_that_differ(tmp_path: Path) -> None:
    (job,) = document(tmp_path, "--name=a", "--rw=randrw", "--rwmixread=75", "--bs=4k,8k", "--size=4m")
    read, write = job["read"], job["write"]
    assert read["io_bytes"] == 4096 * read["total_ios"]
    assert write["io_bytes"] == 8192 * write["total_ios"]
    assert 0.6 < read["total_ios"] / (read["total_ios"] + write["total_ios"]) < 0.9


def test_copies_of_a_job_work_side_by_side_at_their_own_offsets(tmp_path: Path) -> None:
    words = (
        "--name=a",
        "--filename=f",
        "--rw=write",
        "--size=256k",
        "--offset_increment=256k",
        "--numjobs=4",
    )
    jobs = document(tmp_path, *words)
    assert [job["write"]["io_bytes"] for job in jobs] == [256 << 10] * 4
    assert (tmp_path / "f").stat().st_size == MIB
    (job,) = document(tmp_path, *words, "--group_reporting")
    assert job["write"]["io_bytes"] == MIB


def test_a_job_file_with_sections_variables_and_stonewall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIZE", "512k")
    (tmp_path / "two.fio").write_text(
        "; comment\n[global]\nbs=4k\nsize=${SIZE}\n[one]\nrw=write ; more\n"
        "[two]\nstonewall\nrw=read\nfilename=one.0.0\n"
    )
    one, two = document(tmp_path, "two.fio")
    assert (one["jobname"], one["groupid"], one["write"]["io_bytes"]) == ("one", 0, 512 << 10)
    assert (two["jobname"], two["groupid"], two["read"]["io_bytes"]) == ("two", 1, 512 << 10)
    assert two["job options"]["rw"] == "read"


@pytest.mark.parametrize(("last", "stays"), [("", True), ("unlink=1\n", False)])
def test_a_file_stays_that_a_later_job_makes_again_and_keeps(tmp_path: Path, last: str, stays: bool) -> None:
    jobs = f"[global]\nfilename=f\nsize=64k\nrw=write\n[a]\nunlink=1\n[b]\nstonewall\n{last}"
    (tmp_path / "two.fio").write_text(jobs)
    assert len(document(tmp_path, "two.fio")) == 2
    assert (tmp_path / "f").exists() == stays


def test_limits_of_time_and_rate_are_kept(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randread", "--size=1m", "--time_based", "--runtime=1", "--rate_iops=200")
    (job,) = document(tmp_path, *words)
    assert 0 < job["read"]["total_ios"] <= 220
    (job,) = document(tmp_path, "--name=b", "--rw=read", "--size=64k", "--thinktime=20ms", "--bs=16k")
    assert job["read"]["runtime"] >= 50


def test_damage_is_found_by_verify(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randwrite", "--size=1m", "--verify=crc32c")
    (job,) = document(tmp_path, *words)
    assert (job["write"]["io_bytes"], job["read"]["io_bytes"]) == (MIB, MIB)
    with open(tmp_path / "a.0.0", "r+b") as file:
        file.seek(123_456)
        file.write(b"\x00\x01\x02")
    damaged = fio(tmp_path, *words, "--verify_only=1")
    assert damaged.returncode == 1
    assert "differ" in damaged.stderr


def test_the_normal_output_has_the_lines_of_the_original(tmp_path: Path) -> None:
    done = fio(tmp_path, "--name=a", "--rw=rw", "--size=1m", "--numjobs=2")
    lines = done.stdout.splitlines()
    size = "4096B-4096B"
    assert lines[0] == f"a: (g=0): rw=rw, bs=(R) {size}, (W) {size}, (T) {size}, ioengine=psync, iodepth=1"
    assert lines[1:4] == ["...", "fio-3.33", "Starting 2 processes"]
    for begin in (
        "  read: IOPS=",
        "  write: IOPS=",
        "     issued rwts: total=",
        "   READ: bw=",
        "  WRITE: bw=",
    ):
        assert any(line.startswith(begin) for line in lines), begin
    assert sum(line.startswith("a: (groupid=0, jobs=1): err= 0: pid=") for line in lines) == 2


@pytest.mark.parametrize(
    ("words", "mode", "sizes"),
    [
        ("--rw=randwrite --bs=256k", "randwrite", "256KiB-256KiB"),
        ("--rw=readwrite", "rw", "4096B-4096B"),
        ("--rw=randrw --bssplit=512/10:64k/90", "randrw", "512B-64.0KiB"),
        ("--rw=write --bs=10240", "write", "10.0KiB-10.0KiB"),
        ("--rw=write --bs=1m", "write", "1024KiB-1024KiB"),
    ],
)
def test_the_head_of_a_job_has_the_words_of_the_original(
    tmp_path: Path, words: str, mode: str, sizes: str
) -> None:
    """Texts of fio 3.33."""
    head = fio(tmp_path, "--name=a", "--size=1m", *words.split()).stdout.splitlines()[0]
    assert head.startswith(f"a: (g=0): rw={mode}, bs=(R) {sizes}, (W) {sizes}, ")


def test_the_terse_output_has_the_fields_of_the_original(tmp_path: Path) -> None:
    done = fio(tmp_path, "--name=a", "--rw=write", "--bs=4k", "--size=1m", "--minimal")
    fields = done.stdout.strip().split(";")
    # Version 3 of fio has 121 fields for all jobs, and 9 for each disk, which are omitted here.
    assert (fields[0], fields[2], len(fields)) == ("3", "a", 121)
    assert fields[46] == "1024"


@pytest.mark.parametrize(("version", "count", "written"), [(2, 161, 45), (4, 162, 46), (5, 180, 52)])
def test_other_terse_versions_have_the_fields_of_the_original(
    tmp_path: Path, version: int, count: int, written: int
) -> None:
    """Numbers of the fields are those of fio 3.33's own line, less the 9 of its disk from version 3 on."""
    words = ("--name=a", "--rw=write", "--bs=4k", "--size=1m", "--minimal", f"--terse-version={version}")
    fields = fio(tmp_path, *words).stdout.strip().split(";")
    assert (fields[0], len(fields), fields[written]) == (str(version), count, "1024")
    assert fields[1 if version == 2 else 2] == "a"


def test_scripts_learn_what_is_there(tmp_path: Path) -> None:
    assert fio(tmp_path, "--parse-only", "--terse-version=4").returncode == 0
    assert fio(tmp_path, "--parse-only", "--terse-version=9").returncode == 1
    known, refused = fio(tmp_path, "--cmdhelp=bs"), fio(tmp_path, "--cmdhelp=zonemode")
    assert (known.returncode, "blocksize" in known.stdout) == (0, True)
    assert (refused.returncode, refused.stdout) == (0, "No such command: zonemode\n")


def test_switches_without_a_value_and_jobs_that_may_not_write(tmp_path: Path) -> None:
    """Exit statuses are those of fio 3.33."""
    job = ("--name=a", "--filename=f", "--bs=4k")
    assert fio(tmp_path, *job, "--rw=read").returncode == 1, "no size"
    assert fio(tmp_path, "--parse-only=1", *job, "--size=4k").returncode == 1
    refused = fio(tmp_path, *job, "--rw=randrw", "--size=4k", "--readonly")
    assert (refused.returncode, "--readonly" in refused.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
    (read,) = document(tmp_path, *job, "--rw=read", "--size=4k", "--readonly")
    assert read["read"]["total_ios"] == 1


@pytest.mark.parametrize(("words", "syncs"), [("--end_fsync=1", 0), ("--fsync=5 --size=32k", 1), ("", 0)])
def test_syncs_are_counted_as_fio_counts_them(tmp_path: Path, words: str, syncs: int) -> None:
    (job,) = document(tmp_path, "--name=a", "--rw=write", "--bs=4k", "--size=64k", *words.split())
    assert (job["sync"]["total_ios"] > 0) == (syncs > 0)


def test_several_files_and_ranges_of_sizes(tmp_path: Path) -> None:
    (job,) = document(tmp_path, "--name=a", "--rw=write", "--size=1m", "--nrfiles=4")
    assert job["write"]["io_bytes"] == MIB
    assert {path.stat().st_size for path in tmp_path.glob("a.0.*")} == {MIB // 4}
    (job,) = document(tmp_path, "--name=b", "--rw=randwrite", "--size=1m", "--bssplit=4k/50:16k/50")
    assert 4096 < job["write"]["io_bytes"] / job["write"]["total_ios"] < 16384


def test_exit_statuses_and_refusals(tmp_path: Path) -> None:
    assert fio(tmp_path).returncode == 1
    assert fio(tmp_path, "none.fio").returncode == 1
    unknown = fio(tmp_path, "--name=a", "--zonemode=zbd")
    assert (unknown.returncode, "zonemode" in unknown.stderr) == (2, True)
    assert fio(tmp_path, "--version").stdout == "fio-3.33\n"
    assert fio(tmp_path, "--name=a", "--rw=read", "--size=1m", "--directory=missing").returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("pattern", "byte"),
    # Bytes that fio 3.33 writes.
    [("0xaa", 0xAA), ("0xa", 0x0A), ("0xabab", 0xAB), ("7", 7), ("0x0", 0), ('"zzz"', ord("z"))],
)
def test_a_pattern_of_one_byte_is_written(tmp_path: Path, pattern: str, byte: int) -> None:
    words = ("--name=a", "--rw=write", "--size=10k", "--bs=2560", f"--buffer_pattern={pattern}")
    document(tmp_path, *words)
    assert (tmp_path / "a.0.0").read_bytes() == bytes([byte]) * 10240


def test_a_device_is_written_only_with_permission(tmp_path: Path, loop: str) -> None:
    refused = fio(tmp_path, "--name=a", "--rw=write", f"--filename={loop}", "--size=4k")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"--destroy {loop}" in refused.stderr
    assert Path(loop).read_bytes()[:4096] == b"1" * 4096
    allowed = ("--destroy", loop)
    done = fio(tmp_path, "--name=a", "--rw=write", f"--filename={loop}", "--size=4k", *allowed)
    assert done.returncode == 0, done.stderr
    assert Path(loop).read_bytes()[:4096] != b"1" * 4096


def test_logs_have_the_columns_of_the_original(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=1m", "--numjobs=2", "--write_bw_log=x", "--write_lat_log=x")
    document(tmp_path, *words)
    assert {path.name for path in tmp_path.glob("*.log")} == {
        f"x_{kind}.{number}.log" for kind in ("bw", "lat", "slat", "clat") for number in (1, 2)
    }
    rows = [line.split(", ") for line in (tmp_path / "x_bw.1.log").read_text().splitlines()]
    assert rows
    assert all(row[2:] == ["1", "4096", "0"] for row in rows)
    assert [path.name for path in tmp_path.glob("*.log") if not path.stat().st_size] == [
        "x_slat.1.log",
        "x_slat.2.log",
    ]
    # A mean has no size, as in fio.
    document(tmp_path, *words, "--log_avg_msec=20")
    rows = [line.split(", ") for line in (tmp_path / "x_bw.1.log").read_text().splitlines()]
    assert {tuple(row[2:]) for row in rows} == {("1", "0", "0")}


def test_a_log_that_is_empty_is_announced(tmp_path: Path) -> None:
    words = ("--name=a", "--size=64k", "--write_lat_log=x")
    mixed, queued = fio(tmp_path, *words, "--rw=rw"), fio(tmp_path, *words, "--rw=write", "--ioengine=libaio")
    assert "write_lat_log: empty for a job that reads and writes" in mixed.stderr
    # Wrappers such as those of plotting tools take any text on stderr for a failure.
    assert queued.stderr == fio(tmp_path, *words, "--rw=write").stderr == ""


def test_an_option_that_does_less_than_in_fio_says_so_and_one_without_an_effect_is_refused(
    tmp_path: Path,
) -> None:
    job = ["--name=a", "--rw=randwrite", "--size=64k", f"--filename={tmp_path / 'f'}"]
    done = mileage("fio", *job, "--verify=crc32c", "--verify_backlog=4", "--gtod_reduce=0")
    assert done.returncode == 0
    assert "fio: verify_backlog: what was written is compared when all is" in done.stderr
    assert "gtod_reduce" not in done.stderr, "an option that is off"
    for option in ("--steadystate=iops:10%", "--rate_min=1m"):
        refused = mileage("fio", *job, option)
        assert refused.returncode == 2
        assert option.partition("=")[0].lstrip("-") in refused.stderr
