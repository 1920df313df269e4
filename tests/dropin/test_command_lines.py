"""Public command lines: enough of each tool, with their places, and a sample that runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.command import mileage
from tests.dropin.command_lines import PLACES, CommandLine, command_lines, scaled

LEAST = {"ior": 60, "mdtest": 30, "iozone": 80, "fio": 200}
RUN = [one for one in command_lines() if one.tool in ("ior", "mdtest", "fio") and "MPIIO" not in one.line]


def test_there_are_enough_lines_of_each_tool_with_their_places() -> None:
    found = Counter(one.tool for one in command_lines())
    assert all(found[tool] >= least for tool, least in LEAST.items())
    assert all(one.path and one.line for one in command_lines())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("one", RUN, ids=[f"{at}-{one.tool}" for at, one in enumerate(RUN)])
def test_a_line_ends_as_with_the_tool_or_is_refused_by_name(one: CommandLine, tmp_path: Path) -> None:
    for name in PLACES:
        (tmp_path / name).mkdir()
    done = mileage(one.tool, *scaled(one), cwd=tmp_path)
    assert "internal error" not in done.stderr
    if done.returncode == 2:
        assert "mileage: " in done.stderr
    elif one.ends == "0":
        assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("mileage-*"))
