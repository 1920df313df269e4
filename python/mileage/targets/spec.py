"""The text that names a target, as a value.

Scope: SCHEME:NAME with the schemes dir, file, block, loop, served, virtual and null, which has no name. Printing a
TargetSpec gives back the text it was parsed from.
What it refuses: text without a scheme (a bare path could mean a directory, a file or a device, and the
difference is destructive), empty names, unknown virtual drives, and unknown modelled hosts (NAME@HOST).
It opens nothing; a path is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mileage.errors import Refused, closest
from mileage.model.target_kind import TARGET_KINDS, drive_and_host
from mileage.plan.sizes import parse_bytes
from mileage.targets.array_names import is_array_name
from mileage.targets.host_profiles import check_host
from mileage.targets.profiles import drive_names, is_profile_path, load_profile, profile_name, unknown_drive

SCHEMES: Final = tuple(TARGET_KINDS)

LOOP_FOLDER = "/var/tmp"
LOOP_MIN_BYTES = 1 << 20
*_FIRST, _LAST = (row.form for row in TARGET_KINDS.values())
_FORMS = f"{', '.join(_FIRST)} or {_LAST}"


class TargetSpec(msgspec.Struct, frozen=True):
    """Target as the user named it. `str()` gives the text back."""

    scheme: str
    """Kind of target."""
    name: str
    """The path as written, or the name of the virtual drive, or the path of a drive profile (*.toml), or the size of a
    loop device and the folder of its file."""

    def __str__(self) -> str:
        return f"{self.scheme}:{self.name}"


class LoopName(msgspec.Struct, frozen=True):
    """Parsed loop: target: SIZE, or SIZE@FOLDER."""

    size_bytes: int
    folder: str

    @classmethod
    def parse(cls, spec: TargetSpec) -> LoopName:
        """The size, and the folder where the file is made; that for large temporary files when none is given."""
        text, _, folder = spec.name.partition("@")
        try:
            size = parse_bytes(text)
        except ValueError as error:
            raise Refused(
                spec, str(error), advice="a loop device is loop:SIZE or loop:SIZE@FOLDER", code="wrong-value"
            ) from None
        if size < LOOP_MIN_BYTES or size % LOOP_MIN_BYTES:
            raise Refused(spec, expected="a multiple of 1 MiB, 1 MiB or more", code="out-of-range")
        return cls(size, folder or LOOP_FOLDER)


def parse_target(text: str, known_drives: Sequence[str] | None = None) -> TargetSpec:
    """Parse "dir:PATH", "file:PATH", "block:PATH", "virtual:NAME" or "null:".

    `known_drives` are the names that `virtual:` accepts; None means the shipped profiles.
    Raises Refused for everything else; the message says what was found and what is expected.
    """
    head, separator, name = text.partition(":")
    scheme = next((known for known in SCHEMES if known == head), None)
    if scheme is None or not separator:
        raise _no_scheme(text, head if separator else "")
    if scheme == "null":
        if name:
            raise Refused(f"target {text!r}", "null: has no name", expected=_FORMS, code="wrong-value")
        return TargetSpec(scheme=scheme, name="")
    if not name.strip():
        raise Refused(
            f"target {text!r}",
            f"has no {'name' if scheme == 'virtual' else 'path'}",
            expected=_FORMS,
            code="wrong-value",
        )
    if any(not character.isprintable() for character in name):
        raise Refused(
            f"target {text!r}", "has a character that cannot be printed", expected=_FORMS, code="wrong-value"
        )
    if scheme == "virtual":
        _check_virtual(name, known_drives)
    if scheme == "served":
        _check_served(name, known_drives)
    spec = TargetSpec(scheme=scheme, name=name)
    if scheme == "loop":
        LoopName.parse(spec)
    return spec


def _no_scheme(text: str, head: str) -> Refused:
    where = f"target {text!r}"
    if head and "/" not in head:
        close = closest(head.lower(), SCHEMES)
        hint = f"did you mean {close}:?" if close else ""
        words = f"has the unknown scheme {head!r}"
        return Refused(where, words, expected=_FORMS, advice=hint, code="unknown-word")
    forms = f"a directory is dir:{text}, a file file:{text}, a device block:{text}"
    simulated = "a simulated drive is virtual:NAME, one below the real kernel served:NAME"
    others = f"{simulated}, a loop device of a size loop:4GiB, nothing null:"
    return Refused(where, f"does not say what it is: {forms}", advice=others, code="missing")


def _check_served(name: str, known_drives: Sequence[str] | None) -> None:
    """A drive without a host: the real kernel is its host. What follows an @ is the file of its state."""
    drive, at, state = name.partition("@")
    if at and not state:
        raise Refused(f"target served:{name}", expected="served:DRIVE@STATE", code="wrong-value")
    _check_virtual(drive, known_drives)


def _check_virtual(name: str, known_drives: Sequence[str] | None) -> None:
    whole = f"virtual:{name}"
    name, host = drive_and_host(name)
    if host or whole.endswith("@"):
        check_host(host, whole)
    if is_profile_path(name):
        return
    if is_array_name(name):
        load_profile(name)
        return
    drive = profile_name(name)
    known = drive_names() if known_drives is None else known_drives
    if drive not in known:
        raise unknown_drive(drive, known)
