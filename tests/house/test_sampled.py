"""A grid of cases is drawn from: the same cases for the same seed, others for another, all of them when asked to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import durations
from tests.conftest import DRAWN_SHARE, is_drawn

GRID = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", range(20))
def test_grid(n): pass

def test_other(): pass
"""
MODULE = """
import pytest

pytestmark = pytest.mark.sampled(2)

@pytest.fixture(params=range(9))
def n(request): return request.param

def test_one(n): pass

def test_two(n): pass
"""
ROOT = Path(__file__).parents[2]


def collected(place: Path, text: str, seed: int, *options: str) -> set[str]:
    file = place / "test_it.py"
    file.write_text(text)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--collect-only", "-n0", "-p", "tests.conftest"),
            *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(place), *options, str(file)),
        ],
        cwd=ROOT,
        env=os.environ | {"MILEAGE_TEST_SEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split("::")[1] for line in done.stdout.splitlines() if "::" in line}


def test_as_many_cases_as_the_mark_says_and_all_when_thorough(tmp_path: Path) -> None:
    drawn = collected(tmp_path, GRID, 1)
    assert len(drawn) == 3 + 1
    assert "test_other" in drawn
    assert collected(tmp_path, GRID, 1) == drawn
    assert any(collected(tmp_path, GRID, seed) != drawn for seed in (2, 3))
    assert len(collected(tmp_path, GRID, 1, "--tier", "thorough")) == 21


def test_a_marked_module_draws_parameters_not_tests(tmp_path: Path) -> None:
    drawn = collected(tmp_path, MODULE, 1)
    cases = {name.partition("[")[2] for name in drawn}
    assert len(cases) == 2
    assert drawn == {f"{test}[{case}" for test in ("test_one", "test_two") for case in cases}


def test_cases_of_long_tests_alone_are_drawn_and_each_seed_has_its_own() -> None:
    kept = durations.kept()
    long, short = max(kept, key=lambda name: kept[name]), "tests/house/test_sampled.py::test_that_is_fast"
    cases = [f"{long}[{case}]" for case in range(200)]
    drawn = {seed: [case for case in cases if is_drawn(case, seed)] for seed in ("1", "2")}
    assert all(DRAWN_SHARE / 2 < len(found) / len(cases) < 2 * DRAWN_SHARE for found in drawn.values())
    assert drawn["1"] != drawn["2"]
    assert all(is_drawn(f"{short}[{case}]", "1") for case in range(200))
