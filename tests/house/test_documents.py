"""What the documents promise exists, and what exists is in the documents."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.house.repository import ROOT, crates, files, name_of

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
COMMAND = re.compile(r"^(?:\$ )?mileage ([a-z-]+)", re.MULTILINE)
FENCE = re.compile(r"^```.*?$(.*?)^```$", re.MULTILINE | re.DOTALL)
TICKED = re.compile(r"`((?:tests|crates|python|docs)/[^` :*]*|clippy\.toml|Makefile|pyproject\.toml)`")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def help_commands() -> frozenset[str]:
    text = subprocess.run(
        [sys.executable, "-m", "mileage", "--help"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    listing = text.split("Commands:", 1)[1]
    return frozenset(re.findall(r"^  ([a-z-]+)  ", listing, re.MULTILINE))


def test_the_list_of_commands_shows_every_command_and_no_other() -> None:
    examples = read("docs/reference/commands.md").split("## Examples", 1)[1].split("\n## ", 1)[0]
    shown = set(COMMAND.findall("\n".join(FENCE.findall(examples))))
    assert shown == set(help_commands())


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_readme_names_the_two_commands(target: str) -> None:
    assert f"make {target}" in read("README.md")
    assert re.search(rf"^{target}:.*## ", read("Makefile"), re.MULTILINE)


@pytest.mark.parametrize(("name", "lines"), [("README.md", 110), ("ARCHITECTURE.md", 150)])
def test_a_paper_of_the_house_is_read_in_a_sitting(name: str, lines: int) -> None:
    assert len(read(name).splitlines()) <= lines


def test_a_version_takes_120_lines_of_the_changelog() -> None:
    versions = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert max(len(text.splitlines()) for text in versions) <= 120


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "pictures").iterdir()), ids=lambda path: path.name
)
def test_every_picture_is_on_a_page(picture: Path) -> None:
    assert any(picture.name in path.read_text(encoding="utf-8") for path in files(".md"))


def test_the_architecture_names_every_crate_and_every_room() -> None:
    text = read("ARCHITECTURE.md")
    rooms = {path.parent.name for path in files(".py") if path.parent.parent == ROOT / "python" / "mileage"}
    missing = [
        name for name in (*crates(), *sorted(rooms)) if f"`{name}" not in text and f"{name}/" not in text
    ]
    assert not missing, f"ARCHITECTURE.md does not say what these are for: {missing}"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"])
def test_every_file_that_a_document_names_exists(name: str) -> None:
    for mentioned in TICKED.findall(read(name)):
        assert (ROOT / mentioned).exists(), f"{name} names {mentioned}, which does not exist"


@pytest.mark.parametrize("path", files(".md"), ids=name_of)
def test_no_link_is_dead(path: Path) -> None:
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), f"{name_of(path)}: {link} leads nowhere"


def test_the_changelog_starts_with_this_version() -> None:
    version = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    first = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert first is not None
    assert first[1] == version


def test_decisions_are_numbered_without_gaps_and_dated() -> None:
    found = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [path.name[:4] for path in found] == [f"{number:04}" for number in range(1, len(found) + 1)]
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^Date: \d{4}-\d\d-\d\d$", text, re.MULTILINE), path.name
