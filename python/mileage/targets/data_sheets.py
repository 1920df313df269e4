"""Find data sheets: those that ship with Mileage, and the user's own files.

Scope: one TOML file per drive, named as the drive, shipped as `mileage/profiles/datasheets`. A sheet is found
by its name, by its path (ending in .toml), by the model that a drive reports, or by the virtual drive that models it.
What it refuses: names that are not known; sheets that `plan.data_sheet_reader` refuses, with the line of each fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mileage.errors import Refused, closest
from mileage.model.data_sheet import DataSheet
from mileage.plan.data_sheet_reader import parse_data_sheet
from mileage.plan.faults import BrokenStudy
from mileage.regular_file import read_regular
from mileage.targets.profiles import PROFILE_BYTES_MAX, PROFILE_SUFFIX, profile_folder


def data_sheet_folder() -> Path | None:
    """The folder of the shipped data sheets; None where the package has none."""
    drives = profile_folder()
    place = None if drives is None else drives.with_name("datasheets")
    return place if place is not None and place.is_dir() else None


def data_sheet_names() -> tuple[str, ...]:
    """The names of the shipped data sheets, sorted."""
    place = data_sheet_folder()
    return () if place is None else tuple(sorted(path.stem for path in place.glob(f"*{PROFILE_SUFFIX}")))


def load_data_sheet(name: str) -> DataSheet:
    """The shipped data sheet of a name, or that of a file when `name` ends in .toml.

    Raises Refused when there is none, or when it is not a valid data sheet.
    """
    place = data_sheet_folder()
    if name.endswith(PROFILE_SUFFIX):
        return _read(Path(name))
    known = data_sheet_names()
    if place is None or name not in known:
        close = closest(name, known)
        hint = f"did you mean {close!r}? " if close else ""
        advice = f"{hint}Known: {', '.join(known)}; or the path of a file that ends in .toml"
        raise Refused("data sheet", f"there is no data sheet {name!r}", advice=advice, code="unknown-name")
    return _read(place / f"{name}{PROFILE_SUFFIX}")


def all_data_sheets(own: Sequence[str] = ()) -> list[DataSheet]:
    """The shipped data sheets, with the user's own files at the end."""
    return [load_data_sheet(name) for name in (*data_sheet_names(), *own)]


def data_sheet_of(*, model: str = "", virtual: str = "") -> DataSheet | None:
    """The shipped data sheet of a drive that reports `model`, or of the virtual drive of a name; None without one."""
    if not model and not virtual:
        return None
    for sheet in all_data_sheets():
        if virtual and sheet.drive == virtual:
            return sheet
        if model and any(re.fullmatch(pattern, model.strip()) for pattern in sheet.models):
            return sheet
    return None


def _read(path: Path) -> DataSheet:
    try:
        if not path.is_file():
            raise Refused(
                path,
                "no such data sheet file",
                expected="the path of a TOML data sheet, or one of `mileage list datasheets`",
                code="not-found",
            )
        text = read_regular(path, PROFILE_BYTES_MAX, str(path)).decode()
    except OSError as error:
        raise Refused(path, f"cannot be read: {error.strerror}", code="unreadable") from error
    except UnicodeDecodeError:
        raise Refused(path, "not UTF-8 text", expected="a TOML data sheet", code="malformed") from None
    if re.search(r"^kind\s*=", text, re.MULTILINE):
        raise Refused(
            path,
            "the profile of a virtual drive",
            expected="a data sheet, which has no `kind`: `mileage new datasheet NEW.toml` writes one",
            code="wrong-value",
        )
    try:
        return parse_data_sheet(text, str(path))
    except BrokenStudy as broken:
        raise broken.located(text, str(path)) from None
