"""Arrays by their name: `raid5(4*sas-15k,chunk=64KiB)` or a profile of `kind = "array"`, expanded into one text.

Scope: LEVEL(MEMBER, ..., KEY=VALUE, ...). A member is a drive, an array, or (NAME,KEY=VALUE,...) with
changes of its figures, with N* before it for N of them. `spare=N` adds N hot spares like the last member,
`spare=MEMBER` another one. Keys are figures of arrays; `chunk`, `cache`, `read_cache` and `stripe_cache` may be written
without `_bytes`, and sizes with a unit. In a profile, `[[member]]` has `count`, `drive` (a name as above) and `spare`.
What it refuses: names that are none of these, more than 8 arrays inside each other. Whether such an array can be is
for the core to judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mileage.errors import Refused
from mileage.plan.sizes import parse_bytes

LEVELS: Final = ("jbod", "raid0", "raid1", "raid10", "raid5", "raid6")
DEPTH_MAX: Final = 8
CONTROLLER_LIMITS: Final = ("host_mb_per_s", "command_us", "commands_per_s_max")
"""Figures that give the answers of a cache a time."""
_HEAD: Final = re.compile(r"(jbod|raid\d+)\(")
_COUNT: Final = re.compile(r"(\d{1,3})\*(.+)", re.DOTALL)
_SIZES: Final = ("chunk", "cache", "read_cache", "stripe_cache")
_NOT_TAKEN: Final = ("rate", "alternatives")
Load = Callable[[str, int], str]
"""Gives the text of a profile by its name, inside a number of arrays."""


def is_array_name(name: str) -> bool:
    """True for LEVEL(...), whatever stands in the parentheses."""
    return _HEAD.match(name) is not None


def split_outside(text: str) -> list[str]:
    """The parts of a text between commas outside parentheses. Raises Refused for parentheses without a match."""
    parts: list[str] = []
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
        if sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    if depth:
        raise Refused(
            f"virtual:{text}", "parentheses without a match", expected="LEVEL(MEMBER,...)", code="malformed"
        )
    return [*parts, text[start:]]


def array_text(name: str, load: Load, depth: int) -> str:
    """The profile of an array that LEVEL(...) describes. Raises Refused."""
    where = f"virtual:{name}"
    level, _, rest = name.partition("(")
    if level not in LEVELS or not rest.endswith(")"):
        raise Refused(
            where,
            f"{level!r} is no level of an array"
            if level not in LEVELS
            else "text behind the last parenthesis",
            expected=f"LEVEL(MEMBER,...,KEY=VALUE,...) with one of {', '.join(LEVELS)}",
            code="unknown-word",
        )
    members: list[dict[str, Any]] = []
    figures: dict[str, Any] = {"level": _chosen(level)}
    for item in (part.strip() for part in split_outside(rest[:-1])):
        key, equals, value = item.partition("=")
        if equals and "(" not in key:
            if key.strip() == "spare":
                members += _spares(value.strip(), members, where)
            else:
                setting = _setting(key.strip(), value.strip(), where)
                if setting.keys() & figures.keys():
                    raise Refused(
                        where, f"{key.strip()} is given twice", expected="each figure once", code="repeated"
                    )
                figures |= setting
        elif item:
            members.append(_member(item, where))
    if not any(not member.get("spare") for member in members):
        raise Refused(where, "an array without members", expected="LEVEL(MEMBER,...)", code="missing")
    listed = ", ".join(f"{member['count']} x {member['drive']}" for member in members)
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    head = {"name": plain, "title": f"{level} of {listed}", "kind": "array"}
    return expanded({**head, "member": members, **figures}, load, where, depth)


def expanded(profile: Mapping[str, Any], load: Load, where: str, depth: int) -> str:
    """The text of an array's profile in which every member is a whole profile. Raises Refused."""
    import tomllib

    from mileage.plan.toml_literals import toml_value

    if depth >= DEPTH_MAX:
        raise Refused(where, "arrays inside arrays", expected=f"at most {DEPTH_MAX}", code="out-of-range")
    members = []
    for member in _tables(profile, where):
        if not isinstance(drive := member.get("drive"), str):
            members.append(member)
            continue
        try:
            figures = tomllib.loads(load(drive, depth + 1))
        except (ValueError, RecursionError) as cause:
            raise Refused(where, f"{drive} is not TOML: {cause}", code="not-toml") from cause
        taken = {key: _without_alternatives(value) for key, value in figures.items() if key not in _NOT_TAKEN}
        kept = {key: value for key, value in member.items() if key != "drive"}
        members.append({**kept, "profile": taken})
    figures = {**profile, "member": members}
    if "trim" not in figures and (words := _trim(profile, members)):
        figures["trim"] = {"value": words[0], "source": words[1], "confidence": "inferred"}
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in figures.items())


def unlimited_cache(profile: Mapping[str, Any]) -> str:
    """The cache of a controller that nothing limits, by its key; empty where there is none."""
    if any(_value_of(profile.get(key)) for key in CONTROLLER_LIMITS):
        return ""
    return next((key for key in ("cache_bytes", "read_cache_bytes") if _value_of(profile.get(key))), "")


def _tables(profile: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    members = profile.get("member")
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise Refused(
            where, "an array without members", expected="[[member]] with drive and count", code="missing"
        )
    yield from members


def _trim(profile: Mapping[str, Any], members: list[dict[str, Any]]) -> tuple[str, str] | None:
    """What becomes of a discard where the profile does not say, if the members decide it."""
    if _value_of(profile.get("level")) in ("raid5", "raid6"):
        return "ignored", "a discard would leave wrong parity"
    words = [_value_of(member.get("profile", {}).get("trim")) for member in members]
    return ("refused", "a member does not honour it") if set(words) - {None, "honoured"} else None


def _value_of(figure: Any) -> Any:
    return figure.get("value") if isinstance(figure, dict) else figure


def _without_alternatives(figure: Any) -> Any:
    if isinstance(figure, dict):
        return {key: value for key, value in figure.items() if key != "alternatives"}
    return figure


def _member(item: str, where: str) -> dict[str, Any]:
    """N*NAME, NAME, or one of both with (NAME,KEY=VALUE,...)."""
    found = _COUNT.fullmatch(item)
    count, name = (int(found[1]), found[2].strip()) if found else (1, item)
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    if not name or not count:
        raise Refused(
            where, f"{item!r} is no member", expected="NAME, N*NAME or N*(NAME,KEY=VALUE)", code="wrong-value"
        )
    return {"count": count, "drive": name}


def _spares(value: str, members: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    if not value.isdigit():
        return [{**_member(value, where), "spare": True}]
    if not members:
        raise Refused(
            where, f"spare={value} before a member", expected="spare=N behind the members", code="missing"
        )
    return [{"count": int(value), "drive": members[-1]["drive"], "spare": True}] if int(value) else []


def _setting(key: str, text: str, where: str) -> dict[str, Any]:
    """A figure of the array; sizes may have a unit."""
    from mileage._core import drive_figure_names

    name = f"{key}_bytes" if key in _SIZES else key
    if name not in drive_figure_names():
        raise Refused(
            where,
            f"no array has a figure {key!r}",
            expected="a member, or a figure of docs/reference/drive-profiles.md",
            code="unknown-key",
        )
    if not name.endswith("_bytes"):
        return {name: _chosen(_plain(text))}
    try:
        return {name: _chosen(parse_bytes(text))}
    except ValueError as error:
        raise Refused(f"{where}: {key}", str(error), code="wrong-value") from None


def _chosen(value: Any) -> dict[str, Any]:
    return {"value": value, "source": "chosen in the name of the target", "confidence": "defined"}


def _plain(text: str) -> Any:
    """A number, or the text as it is."""
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text
