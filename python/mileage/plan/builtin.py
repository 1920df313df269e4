"""The studies and purposes that ship with Mileage, as text.

Scope: package data, one TOML file for each. This is the one module of the package that reads a
file; it reads only package data; every other module of the package receives text.
What it refuses: names that are not shipped, with the closest one that is.
"""

from __future__ import annotations

from importlib import resources
from typing import Final

from mileage.errors import Refused, closest
from mileage.model.target_kind import capabilities_of

_SUFFIX: Final = ".toml"
_ON_FILES: Final = "on_files"
"""The folder of studies as they are on a directory: with operations on names, and IOR's own torture."""


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in studies, sorted."""
    return _names("studies")


def purpose_names() -> tuple[str, ...]:
    """Names of the purposes that ship, sorted."""
    return _names("purposes")


def _names(folder: str) -> tuple[str, ...]:
    entries = resources.files("mileage.plan").joinpath(folder).iterdir()
    return tuple(
        sorted(entry.name.removesuffix(_SUFFIX) for entry in entries if entry.name.endswith(_SUFFIX))
    )


def purpose_text(name: str) -> str:
    """The TOML text of a purpose that ships. Raises Refused for a name that is none."""
    names = purpose_names()
    if name not in names:
        close = closest(name, names)
        hint = f"did you mean {close!r}? " if close else ""
        advice = f"{hint}Known: {', '.join(names)}; or the path of a file that ends in .toml"
        raise Refused("--for", f"there is no purpose {name!r}", advice=advice, code="unknown-name")
    return resources.files("mileage.plan").joinpath("purposes", name + _SUFFIX).read_text(encoding="utf-8")


def template_text(name: str = "new_study") -> str:
    """The TOML text that `mileage new` begins with: "new_study", "new_comparison" of two targets, "new_data_sheet"."""
    return resources.files("mileage.plan").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def builtin_text(name: str, target: str | None = None) -> str:
    """TOML text of a built-in study; for a directory target the variant made for directories, where there is one.

    Raises Refused for a name that is not one.
    """
    names = builtin_names()
    if name not in names:
        close = closest(name, names)
        hint = f"did you mean {close!r}?" if close else f"known: {', '.join(names)}"
        raise Refused("", f"there is no built-in study {name!r}", advice=hint, code="unknown-name")
    folder = resources.files("mileage.plan").joinpath("studies")
    own = folder.joinpath(_ON_FILES, name + _SUFFIX)
    if target is not None and capabilities_of(target).has_files and own.is_file():
        return own.read_text(encoding="utf-8")
    return folder.joinpath(name + _SUFFIX).read_text(encoding="utf-8")
