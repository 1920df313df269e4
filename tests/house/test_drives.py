"""Drive profiles: no figure without where it comes from and how sure that is."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mileage.targets.profiles import drive_names
from tests.house.repository import ROOT, files

FOLDERS = ("drives", "arrays")
PROFILES = tuple(
    path for path in files(".toml") for folder in FOLDERS if path.is_relative_to(ROOT / "profiles" / folder)
)
FACTS = {"name", "title", "kind", "rate", "member"}
CONFIDENCE = {"defined", "source", "inferred", "fitted", "memory", "seed", "assumed"}


def figures(path: Path) -> dict[str, Any]:
    profile = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: value for key, value in profile.items() if key not in FACTS}


def test_there_are_profiles() -> None:
    assert PROFILES


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_figure_has_source_and_confidence(path: Path) -> None:
    for name, figure in figures(path).items():
        assert isinstance(figure, dict), f"{path.name}: {name} is a bare value"
        assert "value" in figure, f"{path.name}: {name} has no value"
        assert str(figure.get("source", "")).strip(), f"{path.name}: {name} has no source"
        assert figure.get("confidence") in CONFIDENCE, f"{path.name}: {name}: one of {sorted(CONFIDENCE)}"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_is_named_as_its_file(path: Path) -> None:
    profile = tomllib.loads(path.read_text(encoding="utf-8"))
    assert profile["name"] == path.stem
    assert profile["title"]


def test_every_profile_is_installed_with_the_package() -> None:
    packed = resources.files("mileage").joinpath("profiles")
    found = {entry.name for folder in FOLDERS for entry in packed.joinpath(folder).iterdir()}
    assert found == {path.name for path in PROFILES}
    assert set(drive_names()) == {path.stem for path in PROFILES}
