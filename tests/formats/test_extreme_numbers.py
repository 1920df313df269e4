"""Extreme numbers in results of other tools: refused in a sentence, or imported and always reported again."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.command import mileage
from tests.formats.sample_reader import SAMPLES

pytestmark = pytest.mark.timeout(120)

EXTREMES = (
    *(
        "1" + "0" * 400,
        "9" * 5000,
        "NaN",
        "Infinity",
        "-1",
        "-0.0",
        "1e30",
        "1" + "0" * 30,
        "1e400",
        "1e-320",
    ),
    *("1e308", "18446744073709551615", "9223372036854775807", "9223372036854775808", "9" * 17),
)
FILES = sorted(
    path.name for path in SAMPLES.iterdir() if path.is_file() and path.suffix not in (".md", ".log", ".xls")
)
TIMES = 6
"""Damaged copies of each sample, with one to eight numbers replaced."""


def damaged(text: str, draw: random.Random) -> str:
    """A text in which some numbers are extreme ones, by preference the same one."""
    found = list(re.finditer(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.])", text))
    chosen = sorted(draw.sample(found, min(draw.randint(1, 8), len(found))), key=lambda one: -one.start())
    extreme = draw.choice(EXTREMES)
    for one in chosen:
        text = text[: one.start()] + extreme + text[one.end() :]
    return text


@pytest.mark.sampled(40)
@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("name", FILES)
def test_what_was_imported_can_be_reported(name: str, number: int, tmp_path: Path) -> None:
    text = (SAMPLES / name).read_text(encoding="utf-8", errors="replace")
    (tmp_path / name).write_text(damaged(text, random.Random(f"{name} {number}")), encoding="utf-8")
    done = mileage("import", name, "--out", "study", cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    if done.returncode:
        assert done.stderr.count("\n") == 1, done.stderr
        return
    for words in (("report", "study"), ("compare", "study", "study"), ("export", "csv", "study")):
        again = mileage(*words, cwd=tmp_path)
        assert again.returncode == 0 or (words[0] == "compare" and again.returncode == 2), again.stderr
        assert "internal error" not in again.stderr


FIO = (
    '{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 0, "job options": {"rw": "randread", "bs": "4k"},'
    ' "read": {"io_bytes": 4096, "bw_bytes": %s, "iops": %s, "runtime": 1000, "total_ios": 1,'
    ' "clat_ns": {"min": 1, "max": %s, "mean": %s, "stddev": 0, "N": 1, "percentile": {"99.000000": %s}}}}]}\n'
)


@pytest.mark.parametrize("extreme", EXTREMES)
def test_extreme_figures_of_a_job_are_reported_or_refused(extreme: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(FIO % ((extreme,) * 5))
    done = mileage("import", "a.json", "--out", "study", cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    if done.returncode == 0:
        assert mileage("report", "study", cwd=tmp_path).returncode == 0
