"""Find the profiles of virtual drives and read their text.

Scope: one TOML file per drive, named as the drive, shipped in the package as `mileage/drives`; a
checkout that is not installed is read from its `drives` folder.
What it refuses: judging a profile. The drive itself parses it and names what is wrong; here only the rated
endurance is looked up, because a plan must know it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mileage.errors import Refused, closest
from mileage.model.target_facts import FigureAlternative
from mileage.model.target_kind import SCALE, capabilities_of, drive_and_host
from mileage.plan.sizes import scale_divisor
from mileage.regular_file import read_regular
from mileage.targets.array_names import (
    CONTROLLER_LIMITS,
    array_text,
    expanded,
    is_array_name,
    split_outside,
    unlimited_cache,
)

PROFILE_SUFFIX = ".toml"
CHANGE = ","
"""Parts the name of a drive from the changes of its figures, and these from each other."""
RATES = "rate"
"""The published rates of a profile; they say what a drive was held to, and change nothing that it does."""
ALTERNATIVES = "alternatives"
"""Key with other possible values of a figure; it does not change the drive."""
PROFILE_BYTES_MAX = 1 << 20


def profile_folder() -> Path | None:
    """The folder that holds the shipped profiles; None when neither package nor checkout has one."""
    packaged = Path(__file__).parents[1] / "profiles" / "drives"
    if packaged.is_dir():
        return packaged
    checkout = Path(__file__).resolve().parents[3] / "profiles" / "drives"
    return checkout if checkout.is_dir() else None


def drive_names(folder: Path | None = None) -> tuple[str, ...]:
    """The names of the shipped virtual drives, sorted; those of arrays with them."""
    place = folder or profile_folder()
    if place is None:
        return ()
    names = (
        entry.name
        for folder in (place, _array_folder(place))
        if folder.is_dir()
        for entry in folder.iterdir()
    )
    return tuple(sorted(name.removesuffix(PROFILE_SUFFIX) for name in names if name.endswith(PROFILE_SUFFIX)))


def _array_folder(drives: Path) -> Path:
    """Where the profiles of arrays are, next to those of drives."""
    return drives.parent / "arrays"


def is_profile_path(name: str) -> bool:
    """True when `name` is the path of a user's own profile rather than the name of a shipped drive."""
    return not is_array_name(name) and profile_name(name).endswith(PROFILE_SUFFIX)


def profile_name(name: str) -> str:
    """The drive or path in a name that changes figures of it: "plain-64gib" in "plain-64gib,read_us=50"."""
    return split_outside(name)[0] if is_array_name(name) else name.partition(CHANGE)[0]


def virtual_name(target: str) -> str | None:
    """The name of the drive in a target, with what is changed of its figures; None where time is not simulated."""
    return drive_and_host(target.partition(":")[2])[0] if capabilities_of(target).simulated else None


_SHEET: Final = re.compile(r"^\[medium\]", re.MULTILINE)
"""A figure that every data sheet has, and no profile."""
_PROFILE: Final = re.compile(r"^kind\s*=", re.MULTILINE)


def load_profile(name: str, folder: Path | None = None) -> str:
    """The TOML text of a shipped drive, or of the user's own profile when `name` ends in .toml.

    The name may be followed by changed figures: "plain-64gib,read_us=50".
    Raises Refused when there is no such drive, when the file is missing, unreadable or over 1 MiB, and for an array
    whose cache would answer in no time.
    """
    text = _loaded(name, 0, folder)
    figures = _figures_if_array(text)
    if figures is not None and (cache := unlimited_cache(figures)):
        raise Refused(
            f"virtual:{name}",
            f"{cache} without a limit of the controller: it would answer in no time, 10^9 operations a second",
            expected=f"one of {', '.join(CONTROLLER_LIMITS)} with it",
            advice="append ,command_us=20 for an ordinary controller",
            code="missing",
        )
    return text


def _loaded(name: str, depth: int, folder: Path | None = None) -> str:
    """The text of a profile that stands inside a number of arrays."""
    base = profile_name(name)
    if changes := name[len(base) :].removeprefix(CHANGE):
        return changed(_loaded(base, depth, folder), split_outside(changes), f"virtual:{name}")
    if is_array_name(base):
        return array_text(base, lambda member, inside: _loaded(member, inside, folder), depth)
    text = _text_of(base, folder)
    figures = _figures_if_array(text)
    if figures is None:
        return text
    return expanded(figures, lambda member, inside: _loaded(member, inside, folder), f"virtual:{name}", depth)


def _text_of(base: str, folder: Path | None) -> str:
    if is_profile_path(base):
        return _load_own(Path(base))
    place = folder or profile_folder()
    known = drive_names(place)
    if place is None or base not in known:
        raise unknown_drive(base, known)
    paths = (one.joinpath(base + PROFILE_SUFFIX) for one in (place, _array_folder(place)))
    return next(path for path in paths if path.is_file()).read_text(encoding="utf-8")


def _figures_if_array(text: str) -> Mapping[str, Any] | None:
    """Parse the profile of a drive array into its figures; None when the text is no array profile (or no TOML)."""
    if '"array"' not in text:
        return None
    try:
        figures = profile_figures(text)
    except Refused:
        # The core says which line is wrong.
        return None
    return figures if figures.get("kind") == "array" else None


@functools.lru_cache(maxsize=64)
def profile_figures(profile: str) -> Mapping[str, Any]:
    """The figures of a profile's text by their keys, to be read only; one study asks for them some forty times.

    Raises Refused for a text that is no TOML.
    """
    import tomllib

    try:
        return MappingProxyType(tomllib.loads(profile))
    except (ValueError, RecursionError) as cause:
        # Not TOMLDecodeError alone: a number of more than 4,300 digits is another ValueError.
        raise Refused("the drive's profile", f"not TOML: {cause}", code="not-toml") from cause


def figures_of_target(target: str) -> Mapping[str, Any]:
    """The figures of the virtual drive of a target, changed as its name says; empty for all other targets."""
    if (name := virtual_name(target)) is None:
        return {}
    try:
        return profile_figures(load_profile(name))
    except (Refused, ValueError, OSError):
        return {}


def rated_write_bytes(profile: str) -> int | None:
    """Bytes that the maker rates the drive to accept in its life; None where the profile does not say.

    `profile` is a text that the drive has accepted. A figure is a number, or a table with a `value`.
    """
    figure = profile_figures(profile).get("rated_endurance_bytes")
    value = figure.get("value") if isinstance(figure, dict) else figure
    return value if isinstance(value, int) else None


def trims(profile: str) -> bool:
    """Whether the drive acts on a discard; by default it does."""
    figure = profile_figures(profile).get("trim")
    return (figure.get("value") if isinstance(figure, dict) else figure) in (None, "honoured")


def alternatives_of(profile: str) -> tuple[FigureAlternative, ...]:
    """Other possible values of unpublished figures of a valid profile, in the profile's order."""
    return tuple(
        FigureAlternative(key, str(figure["value"]), str(one["value"]), str(one["reason"]))
        for key, figure in profile_figures(profile).items()
        if isinstance(figure, dict)
        for one in figure.get(ALTERNATIVES, ())
    )


def profile_identity(profile: str) -> str:
    """The figures that distinguish one drive profile from another, as text.

    Comments, the order of the figures, the published rates and the alternatives of figures do not count.
    """
    stated = {
        key: {part: value for part, value in figure.items() if part != ALTERNATIVES}
        if isinstance(figure, dict)
        else figure
        for key, figure in profile_figures(profile).items()
        if key != RATES
    }
    figures = json.dumps(stated, sort_keys=True, default=str)
    return f"profile {hashlib.sha256(figures.encode()).hexdigest()[:16]}"


def changed(profile: str, changes: Sequence[str], where: str) -> str:
    """The text of a profile with figures changed or added, each written KEY=VALUE, or removed: KEY=.

    A figure that the profile does not state is added, as a drive has every policy, by default if not by its profile.
    Comments, and the published rates that the drive was held to, are not kept. `where` is the target in messages.
    Raises Refused for a key that no profile has, and for a value of another kind than the one before; whether the drive
    can have the value is for the drive to judge.
    """
    refuse_repeated([change.partition("=")[0].strip() for change in changes], where)
    figures = dict(profile_figures(profile))
    for change in changes:
        key, equals, text = (part.strip() for part in change.partition("="))
        if key == SCALE:
            figures = scaled_figures(figures, text, where)
            continue
        if key not in figures and key not in _known_figures():
            raise Refused(where, _unknown_figure(key), code="unknown-key")
        if not equals:
            raise Refused(
                where,
                found=f"{key!r}",
                expected=f"{key}=VALUE, or {key}= to remove the figure",
                code="wrong-value",
            )
        figure = figures.get(key)
        if not text:
            figures.pop(key, None)
        elif figure is None:
            figures[key] = _chosen(_value(text), "not stated by the profile")
        elif isinstance(figure, dict) and "value" in figure:
            value = _like(figure["value"], text, f"{where}: {key}")
            figures[key] = _chosen(value, f"changed from {figure['value']}")
        else:
            figures[key] = _like(figure, text, f"{where}: {key}")
    figures.pop(RATES, None)
    from mileage.plan.toml_literals import toml_value

    return "".join(f"{name} = {toml_value(value)}\n" for name, value in figures.items())


def refuse_repeated(keys: Sequence[str], where: str) -> None:
    """Refuse a figure that a name changes twice: of two values one would have no effect. Raises Refused."""
    if twice := next((key for at, key in enumerate(keys) if key in keys[:at]), None):
        raise Refused(where, f"{twice} is given twice", expected="each figure once", code="repeated")


def _known_figures() -> Sequence[str]:
    """The keys that a drive profile may have. The compiled module is imported late: other commands start faster."""
    from mileage._core import drive_figure_names

    return drive_figure_names()


def _unknown_figure(key: str) -> str:
    close = closest(key, _known_figures())
    hint = f"did you mean {close!r}?" if close else "docs/reference/drive-profiles.md lists them all"
    return f"no drive has a figure {key!r} to change (KEY=VALUE); {hint}"


def _chosen(value: Any, source: str) -> dict[str, Any]:
    return {"value": value, "source": f"chosen in the name of the target; {source}", "confidence": "defined"}


def _value(text: str) -> Any:
    """A value as TOML has it, or the text as it is."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def _like(before: Any, text: str, where: str) -> Any:
    """A value of the same kind as the one before."""
    value = _value(text)
    numbers = (int, float)
    same = isinstance(value, numbers) if isinstance(before, numbers) else type(value) is type(before)
    same = same and (not isinstance(value, float) or math.isfinite(value))
    if not same or isinstance(before, bool) != isinstance(value, bool):
        raise Refused(where, found=f"{text!r}", expected=f"a value like {before!r}", code="wrong-value")
    return value


def _load_own(path: Path) -> str:
    try:
        if not path.is_file():
            raise Refused(
                f"virtual:{path}",
                "no such profile file",
                expected="the path of a TOML drive profile, or one of `mileage list drives`",
                code="not-found",
            )
        text = read_regular(path, PROFILE_BYTES_MAX, f"virtual:{path}").decode()
    except OSError as error:
        raise Refused(f"virtual:{path}", f"cannot be read: {error.strerror}", code="unreadable") from error
    except UnicodeDecodeError:
        raise Refused(
            f"virtual:{path}", "not UTF-8 text", expected="a TOML drive profile", code="malformed"
        ) from None
    if _SHEET.search(text) and not _PROFILE.search(text):
        raise _is_data_sheet(f"virtual:{path}", str(path))
    if key := _endless_figure(text):
        raise Refused(f"virtual:{path}: {key}", expected="a finite number", code="out-of-range")
    return text


def _endless_figure(text: str) -> str | None:
    """The key of a figure that is infinite or no number; None without one, or where the text is no TOML."""
    try:
        stack: list[tuple[str, Any]] = [*profile_figures(text).items()]
    except Refused:
        return None
    while stack:
        key, value = stack.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return key
        if isinstance(value, dict):
            stack += [(f"{key}.{name}", member) for name, member in value.items()]
        elif isinstance(value, list):
            stack += [(key, member) for member in value]
    return None


def _is_data_sheet(where: str, name: str) -> Refused:
    """The refusal of a data sheet in place of a virtual drive; `name` is what commands call it."""
    return Refused(
        where,
        "a data sheet, which has no figures to simulate",
        expected="a virtual drive, one of `mileage list drives`",
        advice=f"to print it: mileage list datasheets --show {shlex.quote(name)}",
        code="wrong-value",
    )


def unknown_drive(name: str, known: Sequence[str]) -> Refused:
    """The refusal of an unknown drive: what is known, and what was probably meant."""
    place = profile_folder()
    if place is not None and (place.with_name("datasheets") / f"{name}{PROFILE_SUFFIX}").is_file():
        return _is_data_sheet(f"virtual:{name}", name)
    close = closest(name, known)
    hint = f"did you mean virtual:{close}? " if close else ""
    listing = ", ".join(known) if known else "none are installed"
    return Refused(
        f"virtual:{name}",
        "no virtual drive has this name",
        advice=f"{hint}known drives: {listing}",
        code="unknown-name",
    )


# The profile of a drive or a host of a part of the size: `scale=1/16` in the name of a target.
# Scope: what makes a drive or a memory large: blocks, capacity, caches in flash, rated life; memory, page cache and
# journal of a host. Buffers, pages, blocks and times stay, so ratios of sizes do not change and rates of a steady state
# do not either.
# What it refuses: a profile with nothing to divide (arrays, disks), and a scale that is not 1/N.

_SIZES: Final = {
    "blocks_per_plane": ("blocks_per_plane", "capacity_bytes", "slc_cache_bytes", "rated_endurance_bytes"),
    "memory_bytes": ("memory_bytes", "cache_bytes", "journal_bytes"),
}
"""What is divided in a profile that has the key: in that of a flash drive, and in that of a host."""
_LEAST_BYTES: Final = {"journal_bytes": 4 << 20}
"""What a size is at least, where that is more than 1 MiB."""
_MIB: Final = 1 << 20


def scaled_figures(figures: Mapping[str, Any], scale: str, where: str) -> dict[str, Any]:
    """The figures of a profile with its sizes divided; sizes in bytes become whole MiB. `where` is that of messages.

    Raises Refused.
    """
    try:
        divisor = scale_divisor(scale)
    except ValueError as error:
        raise Refused(where, str(error), code="wrong-value") from None
    keys = next((sizes for key, sizes in _SIZES.items() if key in figures), None)
    if keys is None:
        raise Refused(
            where,
            "has no flash whose blocks could be divided",
            expected="a flash drive or a host with scale=1/N",
            code="unsupported",
        )
    scaled = dict(figures)
    for key in keys:
        figure = scaled.get(key)
        value = figure.get("value") if isinstance(figure, dict) else figure
        if not isinstance(value, int):
            continue
        smaller = value // divisor
        if key.endswith("_bytes"):
            smaller = max(smaller // _MIB * _MIB, _LEAST_BYTES.get(key, _MIB))
        source = f"1/{divisor} of {value}: scale of the target"
        scaled[key] = {"value": smaller, "source": source, "confidence": "defined"}
    return scaled
