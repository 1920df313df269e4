"""A number of any size as the value of any flag: taken, or refused before anything is printed as the tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.dropin.flags import OWN, Flag, Tool, tools
from tests.command import mileage

pytestmark = pytest.mark.timeout(60)

BASES = {
    "dd": ("", "if=/dev/zero of=out bs=4k count=1"),
    "fio": ("--name=a --size=64k --filename=out", ""),
    "hdparm": ("-t", "none"),
    "iozone": ("-s 64k -i 0 -f out", ""),
    "ior": ("-b 4k -t 4k -o out", ""),
    "mdtest": ("-n 1 -d out", ""),
    "metarates": ("-C -n 1 -d out", ""),
    "mpirun": ("", "ior -b 4k -t 4k -o out"),
    "iometer": ("-t virtual:plain-64gib", "none.icf"),
}
"""What a tool is given before and after the flag."""
VALUES = {
    "20 digits": "99999999999999999999",
    "400 digits": "1" + "0" * 399,
    "5000 digits": "9" * 5000,
    "above 63 bits": str(2**63),
    "largest size": "999999999999999999p",
    "below 0": "-1",
    "nan": "nan",
    "1e400": "1e400",
}


PATHS = ("FILE", "DIR", "MOUNT", "HOSTS", "NAME", "NAMES")
"""Values that are paths: what is there is looked at, by the tool as well."""


def rows() -> list[tuple[Tool, Flag]]:
    """Each flag of each tool whose value is looked at."""
    return [
        (tool, flag)
        for tool in tools()
        for flag in tool.flags
        if flag.value and flag.value not in PATHS and not (flag.instead or flag.several or flag.pair)
    ]


def words_of(tool: Tool, flag: Flag, value: str) -> list[str]:
    """A command line with the flag."""
    if (tool.style == "operands" and not flag.spelling.startswith("-")) or flag.spelling.startswith("--"):
        own = [f"{flag.spelling}={value}"]
    else:
        own = [flag.spelling, value]
    before, after = BASES[tool.name]
    return [*before.split(), *(after.split() if tool.style == "operands" else ()), *own] + (
        [] if tool.style == "operands" else after.split()
    )


def test_every_tool_has_flags_with_values() -> None:
    assert {tool.name for tool, _ in rows()} >= BASES.keys() - {"iometer"}
    assert len(rows()) > 150
    assert not {flag.spelling for _, flag in rows()} & {flag.spelling for flag in OWN}


@pytest.mark.sampled(120)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize(
    ("tool", "flag"), rows(), ids=[f"{tool.name} {flag.spelling}" for tool, flag in rows()]
)
def test_a_number_of_any_size_is_taken_or_refused_before_the_head(
    tool: Tool, flag: Flag, value: str, tmp_path: Path
) -> None:
    done = mileage(tool.name, *words_of(tool, flag, value), cwd=tmp_path)
    refusals = {0, 2, tool.statuses.usage, tool.statuses.value, tool.statuses.missing}
    assert done.returncode in refusals, done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if done.returncode:
        # IOR and mdtest print what they do not accept on standard output.
        assert not done.stdout or done.stdout.startswith(("ERROR: ", "Unrecognized parameter"))
        assert done.stdout.count("\n") <= 1
