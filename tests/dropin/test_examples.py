"""Every example of the page on tools runs as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mileage.dropin.flags import tools
from tests.command import mileage
from tests.dropin.test_iometer import ICF

EXAMPLES = [f"{tool.name} {example}" for tool in tools() for example in tool.examples]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_runs(line: str, tmp_path: Path) -> None:
    (tmp_path / "test.icf").write_text(ICF)
    done = mileage(*shlex.split(line), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("mileage-*")), "a study is kept only when that is asked for"


def test_every_tool_has_an_example() -> None:
    assert {tool.name for tool in tools()} == {line.split()[0] for line in EXAMPLES}
