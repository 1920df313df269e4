"""Do the tables of an imported study hold what the tool printed? Real files, each checked by a reader of a few lines.

The files are in tests/formats/samples, with the tools and command lines that made them. The readers here know nothing
of Mileage: they cut the tool's own lines into words.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.answers.question import ask, ask_json

SAMPLES = Path(__file__).parents[1] / "formats" / "samples"
Rates = dict[str, list[float]]
"""Bytes or operations per second by a word that is in the cell's name."""


def fio(text: str) -> Rates:
    """Of each job by its `rw` all operations, of sequential ones all bytes, over its processes' longest runtime."""
    jobs = defaultdict(list)
    for job in json.loads(text[text.index("{") :])["jobs"]:
        jobs[job["job options"]["rw"]] += [job["read"], job["write"]]
    return {
        name: [1000 * sum(part[unit] for part in parts) / max(part["runtime"] for part in parts)]
        for name, parts in jobs.items()
        for unit in ["total_ios" if name.startswith("rand") else "io_bytes"]
    }


def iozone(text: str) -> Rates:
    """Thirteen figures in kB of 1,024 bytes behind size and record, in IOzone's own order."""
    names = "write rewrite read reread random_read random_write backward_read record_rewrite stride_read "
    found = defaultdict(list)
    for row in re.findall(r"^ +4096 +64 +([0-9 ]+)$", text, re.MULTILINE):
        for name, figure in zip((names + "fwrite frewrite fread freread").split(), row.split(), strict=True):
            found[f"iozone.{name} "].append(1024 * float(figure))
    return found


def ior(text: str) -> Rates:
    """The second word of each line of a repetition, in MiB."""
    found = defaultdict(list)
    for access, rate in re.findall(
        r"^(write|read) +([0-9.]+) +.* [0-9]+ *$", text.partition("Summary of all")[0], re.MULTILINE
    ):
        found[f"ior.{access} "].append(float(rate) * 2**20)
    return found


def mdtest(text: str) -> Rates:
    """The means of the table of rates, or the lines of single iterations where there are some; 0 is "not done"."""
    found = defaultdict(list)
    table = text.partition("SUMMARY rate")[2].partition("SUMMARY time")[0]
    rows = re.findall(r"V-1:.*?([DFT]\w+ \w+) *: +[0-9.]+ sec, +([0-9.]+) ops/sec", text)
    for name, rate in rows or re.findall(
        r"^ +([DFT]\w+ \w+) +[0-9.]+ +[0-9.]+ +([0-9.]+) ", table, re.MULTILINE
    ):
        found[f"mdtest.{name.lower().replace(' ', '_')}"] += [float(rate)] if float(rate) else []
    return {name: rates for name, rates in found.items() if rates}


def io500(text: str) -> Rates:
    """The second word behind [RESULT], in GiB/s or thousands a second; also of the phase that is not scored."""
    rows = re.findall(r"^\[(?:RESULT| {6})\] +([\w-]+) +([0-9.]+) (GiB/s|kIOPS)", text, re.MULTILINE)
    scale = {"GiB/s": 2**30, "kIOPS": 1000}
    return {
        f"io500.{name.replace('-', '_')} ": [float(rate) * scale[unit]]
        for name, rate, unit in rows
        if float(rate)
    }


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("fio-3.33-jobs.json", fio),
        ("fio-3.42-jobs.json", fio),
        ("iozone-calls.out", iozone),
        ("ior-summary.out", ior),
        ("ior-in-io500.out", ior),
        ("io500/ior-easy-write.txt", ior),
        ("io500/ior-rnd4K-easy-read.txt", ior),
        ("io500/mdtest-easy-write.txt", mdtest),
        ("io500/result_summary.txt", io500),
        ("mdtest-rate-time.out", mdtest),
        ("mdtest-verbose.out", mdtest),
    ],
)
def test_what_the_tool_printed_is_in_the_tables(
    tmp_path: Path, name: str, read: Callable[[str], Rates]
) -> None:
    """Are all rates of my file in the table, each under its test, and no other?"""
    expected = read((SAMPLES / name).read_text())
    ask("import", str(SAMPLES / name), "--out", "out", "--strict", cwd=tmp_path)
    sql = "SELECT cell, value FROM samples WHERE metric IN ('rate_bytes_per_s', 'ops_per_s') ORDER BY run"
    found = defaultdict(list)
    for row in ask_json("query", sql, "out", cwd=tmp_path):
        (key,) = [key for key in expected if key in f"{row['cell']} "]
        found[key].append(row["value"])
    assert found.keys() == expected.keys()
    for key, rates in expected.items():
        assert found[key] == pytest.approx(rates, rel=1e-6), key


def test_the_io500_folder_has_the_settings_of_its_phases(tmp_path: Path) -> None:
    """With how many tasks and which transfers was my IO500 result made?

    Truth: two ranks and 256 KiB, in the listing of IOR in the folder.
    """
    ask("import", str(SAMPLES / "io500"), "--out", "out", cwd=tmp_path)
    sql = "SELECT levels FROM samples WHERE cell = 'io500.ior_easy_write'"
    (row,) = ask_json("query", sql, "out", cwd=tmp_path)
    assert {"tasks": "2", "xfersize": "262144 bytes"}.items() <= dict(row["levels"]).items()
