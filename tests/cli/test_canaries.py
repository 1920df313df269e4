"""No option of any command changes what is at a path without permission.

The options come from the tables of the commands, so that a new one must be classified; strace shows which of them name
what is written; and each line meets each kind of thing at its path. `python -m tests.cli.canary_grid` prints all that
fails, and the numbers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.cli.canary_grid import Case, attempt, combinations, needs_root
from tests.cli.canary_lines import BASES, CASES, WITHOUT_CASE
from tests.cli.canary_options import Option, options
from tests.cli.canary_probe import TOKEN, UNDONE, base_line, probe
from tests.cli.canary_roles import WRITTEN, roles
from tests.cli.canary_shop import Shop

pytestmark = pytest.mark.xdist_group("devices")

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
ROLES: Final = roles()
FREE: Final = [option for option in options() if option.is_free]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with ExitStack() as undo:
        yield Shop(tmp_path_factory.mktemp("shop") / "inputs", undo)


def test_every_option_of_every_command_is_classified() -> None:
    found = {(option.group, option.spelling) for option in options()}
    assert sorted(found - ROLES.keys()) == [], "classify these in canary_roles.py"
    assert sorted(ROLES.keys() - found) == [], "no command has these"


def test_every_option_that_names_what_is_written_meets_what_is_there() -> None:
    written = {f"{group} {spelling}" for (group, spelling), role in ROLES.items() if role in WRITTEN}
    tried = {case.option for case in CASES}
    assert sorted(written - tried - WITHOUT_CASE.keys()) == [], "write a line for these in canary_lines.py"
    assert sorted(WITHOUT_CASE.keys() & tried) == []
    assert sorted(WITHOUT_CASE.keys() - written) == []


def test_every_command_has_a_line_for_its_options() -> None:
    assert sorted({option.group for option in options() if option.is_free} - BASES.keys()) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("group", sorted(BASES.keys() - UNDONE))
def test_the_line_of_a_command_is_done(shop: Shop, tmp_path: Path, group: str) -> None:
    """In a line that is refused no option could show what it does."""
    done = shop.run(base_line(shop, group, tmp_path), tmp_path / "cwd", limit_s=60)
    assert (done.status, done.hung) == (0, False), done.errors


@needs_strace
@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["path", "name"])
@pytest.mark.parametrize("option", FREE, ids=lambda option: option.name)
def test_an_option_does_with_its_value_what_its_class_says(
    shop: Shop, tmp_path: Path, option: Option, form: str
) -> None:
    # Profiles and data sheets end in .toml, charts in .svg; the others have no such rule.
    value = f"{TOKEN}.toml" if form == "name" else f"{tmp_path}/value/{TOKEN}.svg"
    (tmp_path / "value").mkdir()
    writes, reads = probe(shop, option, value, tmp_path)
    role = ROLES[option.group, option.spelling]
    assert not writes or role in WRITTEN, f"{option.name} is classified {role}, but: {writes[0]}"
    assert not reads or role != "none", f"{option.name} is classified as no path, but: {reads[0]}"


@pytest.mark.sampled(6)
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("case", "kind"), [pytest.param(*one, id=f"{one[1]}: {one[0].name}") for one in combinations()]
)
def test_what_is_there_stays_as_it_was(shop: Shop, tmp_path: Path, case: Case, kind: str) -> None:
    if needs_root(kind) and os.geteuid() != 0:
        pytest.skip("devices and names in /dev need root")
    found = attempt(shop, case, kind, tmp_path / "scene")
    assert found.changed == [], f"mileage {found.words}"
    assert found.faults == [], f"mileage {found.words}: {found.errors}"
