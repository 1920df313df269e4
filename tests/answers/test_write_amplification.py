"""What a user asks about write amplification: bytes programmed into the flash over bytes that the host wrote."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from scipy.optimize import brentq

from tests.answers.drive_profile import FLASH_BYTES, write_profile
from tests.answers.question import ask, ask_json


def printed_amplification(text: str) -> float:
    found = re.search(r"write amplification\s+([\d.]+)", text)
    assert found, text
    return float(found[1])


def test_writes_below_the_page_size_amplify(tmp_path: Path) -> None:
    """What is the write amplification of 512-byte writes on a drive with 4 KiB pages and no buffer?

    Truth: 8 at least, by arithmetic: each write waits for a program of its own, and a program is a whole page.
    """
    write_profile(tmp_path)
    done = ask(
        "drive", "run", "small.toml", "-w", "sequential_write", "-r", "512B", "--size", "2MiB", cwd=tmp_path
    )
    assert printed_amplification(done) >= 8


def test_small_writes_on_large_pages_amplify(tmp_path: Path) -> None:
    """What is the write amplification of 4 KiB random writes on a new drive with pages of 16 KiB?

    Truth: 4 at least, by arithmetic: 16 KiB are programmed for every 4 KiB that the host wrote.
    """
    write_profile(tmp_path, page_bytes=16384, blocks_per_plane=32, capacity_bytes=3500 * 16384)
    done = ask("drive", "run", "small.toml", "--size", "4MiB", "--passes", "0.5", cwd=tmp_path)
    assert printed_amplification(done) >= 4


def test_a_measurement_names_the_amplification_in_bytes(tmp_path: Path) -> None:
    """How much more than I wrote was written to the flash in this measurement of 512-byte writes?

    Truth: eight times, by arithmetic, as above.
    """
    target = write_profile(tmp_path)
    done = ask(
        "measure", "-t", target, "-w", "sequential_write", "-r", "512B", "--operations", "2000", cwd=tmp_path
    )
    (line,) = [line for line in done.splitlines() if line.strip().startswith("flash")]
    found = re.search(r"\d+\.\d+|\d+", line)
    assert found
    assert float(found[0]) >= 8, line


def test_first_in_first_out_collection_amplifies_as_published(tmp_path: Path) -> None:
    """Does a drive that collects its oldest block first amplify random writes as the theory of it says?

    Truth: the published formula for first in, first out (Desnoyers 2012; Xiang and Kurkoski 2012). With a = flash over
    data, the share v of a block that is still valid when its turn comes solves v = exp(-a (1 - v)), and the
    amplification is 1 / (1 - v). Every plane keeps an open block and an erased one: 8 of 512 blocks hold no data.
    """
    capacity = int(FLASH_BYTES / 1.15) // 4096 * 4096
    write_profile(tmp_path, gc_victim="fifo", capacity_bytes=capacity)
    aged = ("drive", "run", "small.toml", "--fill", "--passes", "4", "--save", "aged")
    ask(*aged, cwd=tmp_path)
    done = ask_json("drive", "run", "small.toml", "--from", "aged", "--passes", "4", cwd=tmp_path)
    counters = done["counters"]
    found = counters["flash_pages_programmed"] / counters["host_pages_written"]
    ratio = FLASH_BYTES * (504 / 512) / capacity
    valid = brentq(lambda share: share - math.exp(-ratio * (1 - share)), 0.01, 0.99)
    assert found == pytest.approx(1 / (1 - valid), rel=0.05)
