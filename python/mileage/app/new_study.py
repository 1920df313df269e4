"""A study file or data sheet to begin with: a template that ships with Mileage, or a built-in study, under a new name.

Scope: a file that `mileage run` takes as it is written.
What it refuses: to write over anything, a name that no study may have, and a target that is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from mileage.errors import Refused
from mileage.model.target_kind import capabilities_of
from mileage.plan.builtin import builtin_text, template_text
from mileage.plan.data_sheet_reader import parse_data_sheet
from mileage.plan.study_reader import parse_study
from mileage.plan.toml_literals import toml_value
from mileage.targets.bare_path import with_scheme
from mileage.targets.door import refuse_taken, write_result
from mileage.targets.filesystem import look_at
from mileage.targets.spec import parse_target

_TARGET = "virtual:intel-x25e-64gb"
_FILE_BYTES = 1 << 30
"""Size of the work file in the templates."""


def write_new_study(path: Path, *, like: str | None = None, targets: Sequence[str] = ()) -> str:
    """Write a study file to `path`, with the stem of its name as the name of the study; the text that was written.

    `like`: a built-in study in place of the template. `targets`: what it measures; default: a virtual drive. Two are
    compared with each other.

    Raises:
        Refused: the file exists, the study would not be valid, or there are more than two targets, or two of one study.
        RunFailed: it cannot be written.
    """
    name = path.name.removesuffix(".toml")
    if re.fullmatch("[A-Za-z0-9._-]+", name) is None:
        raise Refused(
            path,
            "a study's name has letters, digits, '.', '-' and '_' only, such as my-disk.toml",
            code="wrong-value",
        )
    found = [str(parse_target(with_scheme(target))) for target in targets]
    if len(found) > 2 or (like is not None and len(found) == 2):
        raise Refused(
            "" if like is None else f"--like {like}",
            f"{len(found)} targets" if like is None else "measures one target",
            expected="one, or without --like two to compare",
            code="conflict",
        )
    if len(found) == 2:
        text = _fitting(_with_key(_comparison(found[0], found[1]), "name", name), found)
    else:
        target = found[0] if found else None
        text = _with_key(template_text() if like is None else builtin_text(like, target), "name", name)
        if target is not None or like is None:
            text = _with_key(text, "target", target or _TARGET)
        if like is None:
            text = _fitting(text, found)
    parse_study(text, str(path))
    _write_new("study file", path, text)
    return text


def write_new_data_sheet(path: Path) -> None:
    """Write a commented data sheet to `path`, which must end in .toml; its stem is the name of the drive.

    Raises:
        Refused: the file exists, or its name is none that a data sheet may have.
        RunFailed: it cannot be written.
    """
    if re.fullmatch(r"[a-z0-9._-]+\.toml", path.name) is None:
        raise Refused(
            path,
            found=repr(path.name),
            expected="lower-case letters, digits, '.', '-' and '_', ending in .toml, such as my-drive.toml",
            code="wrong-value",
        )
    text = _with_key(template_text("new_data_sheet"), "name", path.name.removesuffix(".toml"))
    parse_data_sheet(text, str(path))
    _write_new("data sheet", path, text)


def _write_new(what: str, path: Path, text: str) -> None:
    refuse_taken(what, path, "it")
    write_result(what, path, what.replace(" ", "-"), text)


def _comparison(one: str, other: str) -> str:
    """The study that compares two targets, whose levels are named by the ends of their paths where these differ."""
    names = [
        re.sub(r"[^A-Za-z0-9_-]", "-", PurePath(target.partition(":")[2]).name) for target in (one, other)
    ]
    if names[0] == names[1] or not all(names):
        names = ["a", "b"]
    levels = ", ".join(
        f"{name} = {toml_value(target)}" for name, target in zip(names, (one, other), strict=True)
    )
    text = template_text("new_comparison").replace("LEVELS", levels)
    return text.replace('"BASELINE"', f'"{names[0]}"').replace('"CANDIDATE"', f'"{names[1]}"')


def _fitting(text: str, targets: Sequence[str]) -> str:
    """A template's text with a work file of at most a quarter of what is free in each directory."""
    places = [Path(parse_target(target).name) for target in targets if capabilities_of(target).is_real]
    room = min((look_at(place).free_bytes for place in places if place.is_dir()), default=4 * _FILE_BYTES)
    if room // 4 >= _FILE_BYTES:
        return text
    return _with_key(text, "file", f"{max(room // 4 >> 20, 1)}MiB")


def _with_key(text: str, key: str, value: str) -> str:
    """A study's text with another value of a key of its first table."""
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return re.sub(rf'(?m)^{key} = "[^"]*"', lambda _: f"{key} = {quoted}", text, count=1)
