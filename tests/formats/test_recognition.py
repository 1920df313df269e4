"""A refusal of a file says what the file seems to be, quickly, and never of one that is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.formats.input_file import open_source
from mileage.formats.readers import layout_of, read_source
from tests.formats.sample_reader import SAMPLES, of, of_text
from tests.formats.test_second_tier import DISKSPD


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("; mine\n\n[global]\nbs=4k\n\n[a]\nrw=read\n", "a job file of fio; .* `mileage run \\S+` does it"),
        ("[run]\nprocs = 4\n", "IO500's result.txt; name its folder"),
        ('name = "x"\n[[stage]]\n', "a study file of Mileage; .* `mileage run \\S+` does it"),
        ("Version 1.1.0 \n'TEST SETUP ====\n", "a configuration of IOMeter"),
        ("<!DOCTYPE html>\n<html>", "a page of HTML"),
        ("<Profile>\n  <Progress>0</Progress>\n", "a profile of DiskSpd; it is a workload and no result"),
        (
            "<TimeSpan>\n<TestTimeSeconds>5.00</TestTimeSeconds>\n",
            "a part of DiskSpd's XML; import the whole",
        ),
        ("<Results>\n  <System>\n  </System>\n</Results>\n", "DiskSpd's XML without a whole <TimeSpan>"),
        ("Device            r/s     rkB/s\nsda   1 2\n", "output of iostat"),
        ("\n  hello\nworld\n", "the format of this file is not known; it begins with 'hello'"),
        ("\0\1\2", "the format of this file is not known, and it is binary"),
    ],
)
def test_what_a_file_seems_to_be(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        of_text(tmp_path, text)


def test_a_wrong_layout_names_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"without --layout it is read as mdtest$"):
        of(SAMPLES / "mdtest.out", "fio-json")
    with pytest.raises(
        Refused,
        match=r"it seems to be output of sysbench, of another test than fileio; there is no reader for it; its figures",
    ):
        of_text(tmp_path, "sysbench 1.0.20\n", "mdtest")


def test_every_sample_is_known() -> None:
    for path in SAMPLES.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert layout_of(open_source(path)) is not None, path


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_what_powershell_redirects_is_read(tmp_path: Path, encoding: str) -> None:
    """`diskspd ... > out.txt` in PowerShell writes UTF-16 with a mark."""
    path = tmp_path / "out.txt"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + DISKSPD.replace("\n", "\r\n").encode(encoding))
    assert read_source(open_source(path)).runs == of_text(tmp_path, DISKSPD).runs


@pytest.mark.parametrize(
    "text", ["[a]\n" + "\n" * 65_000, "[a]\n" + " =" * 30_000, ";" * 65_000, "\n \n" * 20_000]
)
def test_no_beginning_takes_long(tmp_path: Path, text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(Refused):
        of_text(tmp_path, text)
    assert time.perf_counter() - began < 5
