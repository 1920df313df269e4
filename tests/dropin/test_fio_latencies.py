"""Latencies of `mileage fio`: of submission, of completion and whole, in each format, and where fio has none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage

RING = ("--ioengine=io_uring", "--iodepth=4")
KINDS = ("slat", "clat", "lat")


def said(place: Path, *words: str) -> str:
    done = mileage("fio", "--name=a", "--size=256k", "--rw=randrw", *words, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def jobs(place: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(said(place, *words, "--output-format=json+"))["jobs"]
    return found


@pytest.mark.parametrize(
    "words",
    [
        RING,
        (*RING, "--direct=1", "--bs=512"),
        ("--ioengine=libaio",),
        ("--ioengine=posixaio", "--numjobs=2", "--group_reporting"),
        ("--ioengine=null", "--iodepth=2"),
    ],
)
def test_submission_and_completion_add_up_to_the_whole(tmp_path: Path, words: tuple[str, ...]) -> None:
    (job,) = jobs(tmp_path, *words)
    for direction in ("read", "write"):
        found = job[direction]
        slat, clat, lat = (found[f"{kind}_ns"] for kind in KINDS)
        assert slat["N"] == clat["N"] == lat["N"] == found["total_ios"] > 0
        assert slat["mean"] + clat["mean"] == pytest.approx(lat["mean"], rel=1e-12)
        assert slat["max"] <= lat["max"]
        assert clat["max"] <= lat["max"]
        assert "percentile" in clat
        assert "percentile" not in slat
        assert sum(clat["bins"].values()) == clat["N"]


@pytest.mark.parametrize("words", [("--ioengine=psync",), ("--ioengine=mmap",), ("--ioengine=null",)])
def test_engines_of_one_call_have_no_submission(tmp_path: Path, words: tuple[str, ...]) -> None:
    (job,) = jobs(tmp_path, *words)
    for direction in ("read", "write"):
        found = job[direction]
        assert found["slat_ns"] == {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
        assert found["clat_ns"]["N"] == found["total_ios"] > 0
        assert found["clat_ns"]["mean"] == found["lat_ns"]["mean"]
    assert "slat" not in said(tmp_path, *words)


@pytest.mark.parametrize(
    ("words", "kinds", "percentiles"),
    [
        # Lines of fio 3.33.
        ((), ("slat", "clat", "lat"), ("clat",)),
        (("--disable_slat=1",), ("clat", "lat"), ("clat",)),
        (("--disable_clat=1",), ("slat", "lat"), ()),
        (("--disable_lat=1", "--lat_percentiles=1"), ("slat", "clat"), ("clat",)),
        (("--gtod_reduce=1",), (), ()),
        (("--slat_percentiles=1",), ("slat", "clat", "lat"), ("slat", "clat")),
        (("--slat_percentiles=1", "--clat_percentiles=0"), ("slat", "clat", "lat"), ("slat",)),
    ],
)
def test_what_is_off_is_not_printed(
    tmp_path: Path, words: tuple[str, ...], kinds: tuple[str, ...], percentiles: tuple[str, ...]
) -> None:
    text = said(tmp_path, *RING, "--rw=randread", *words)
    assert tuple(re.findall(r"^ +([sc]?lat) \([a-z]+\): min=", text, re.MULTILINE)) == kinds
    assert tuple(re.findall(r"^ +([sc]?lat) percentiles ", text, re.MULTILINE)) == percentiles
    # fio groups operations by their completion.
    assert bool(re.search(r"^  lat \([a-z]+\) +: ", text, re.MULTILINE)) == ("clat" in kinds)


@pytest.mark.parametrize(
    ("words", "shown"), [((), True), (("--disable_clat=1",), False), (("--disable_lat=1",), True)]
)
def test_syncs_have_latencies_where_completions_have(
    tmp_path: Path, words: tuple[str, ...], shown: bool
) -> None:
    """fio 3.33 counts the syncs in any case."""
    line = ("--fsync=2", "--rw=write", "--ioengine=psync", *words)
    (job,) = jobs(tmp_path, *line)
    assert job["sync"]["total_ios"] == 31
    assert job["sync"]["lat_ns"]["N"] == (31 if shown else 0)
    assert ("fsync/fdatasync/sync_file_range:" in said(tmp_path, *line)) == shown


def test_the_terse_line_has_all_three(tmp_path: Path) -> None:
    fields = said(tmp_path, *RING, "--rw=randread", "--output-format=terse").strip().split(";")
    slat, clat = (float(fields[at]) for at in (11, 15))
    lat = float(fields[39])
    assert slat > 0
    assert slat + clat == pytest.approx(lat, abs=2e-6)
    off = (
        said(tmp_path, *RING, "--rw=randread", "--output-format=terse", "--gtod_reduce=1").strip().split(";")
    )
    assert off[9:17] == off[37:41] * 2 == ["0", "0", "0.000000", "0.000000"] * 2
    assert set(off[17:37]) == {"0%=0"}
    both = (
        said(tmp_path, *RING, "--rw=randread", "--output-format=terse", "--lat_percentiles=1")
        .strip()
        .split(";")
    )
    assert int(both[33].partition("=")[2]) == int(both[38])
    assert both[33].startswith("99.990000%=")


def test_logs_have_whole_latencies(tmp_path: Path) -> None:
    done = mileage("fio", "--name=a", "--size=256k", "--rw=read", *RING, "--write_lat_log=l", cwd=tmp_path)
    # Wrappers such as those of plotting tools take any text on stderr for a failure.
    assert done.stderr == ""
    assert (tmp_path / "l_slat.1.log").read_text() == ""
    assert (tmp_path / "l_clat.1.log").read_text() == (tmp_path / "l_lat.1.log").read_text() != ""
