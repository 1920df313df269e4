"""Where the profiles of modelled hosts are found, their text, and the two parts of NAME@HOST.

Scope: one TOML file per host, named as the host, shipped in the package as `mileage/profiles/hosts`; or the
user's own (NAME@PATH.toml). Behind the host may stand the state in which the drive begins (NAME@HOST,state=FILE).
What it refuses: an unknown host, a state that is no file. The host itself parses its profile and reports what is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mileage.errors import Refused, closest
from mileage.model.target_kind import SCALE, drive_and_host
from mileage.targets.profiles import (
    CHANGE,
    PROFILE_SUFFIX,
    changed,
    is_profile_path,
    load_profile,
    profile_figures,
    profile_folder,
    profile_name,
    refuse_repeated,
)

STATE: Final = "state"
"""Key, behind a host, of the file with the state in which its drive begins."""


def host_folder() -> Path | None:
    """The folder that holds the shipped hosts; None when neither package nor checkout has one."""
    drives = profile_folder()
    return None if drives is None else drives.parent / "hosts"


def host_names() -> tuple[str, ...]:
    """The names of the shipped hosts, sorted."""
    place = host_folder()
    if place is None or not place.is_dir():
        return ()
    return tuple(sorted(path.stem for path in place.glob(f"*{PROFILE_SUFFIX}")))


def check_host(host: str, where: str) -> None:
    """Refuse a host that is not known; `where` is the target in messages."""
    name = profile_name(host)
    known = host_names()
    if is_profile_path(host) or name in known:
        return
    close = closest(name, known)
    raise Refused(
        where,
        f"has the unknown host {name!r}",
        expected=f"one of {', '.join(known)}, or the path of a host profile (*.toml)",
        advice=f"did you mean @{close}?" if close else "",
        code="unknown-name",
    )


def load_hosted(name: str) -> tuple[str, str]:
    """The texts of both profiles of DRIVE@HOST: that of the drive, then that of the host.

    Behind the host may stand changes of figures of either: "intel-x25e-64gb@phenom-8gib,barrier=false,trim=honoured".
    Raises Refused when there is no such drive or host, or no such figure.
    """
    drive, rest = drive_and_host(name)
    base, *changes = rest.split(CHANGE)
    where = f"virtual:{name}"
    check_host(base, where)
    host = load_profile(base) if is_profile_path(base) else _shipped(base)
    figures = profile_figures(host)
    refuse_repeated([_key(change) for change in (*drive.split(CHANGE)[1:], *changes)], where)
    changes = [change for change in changes if _key(change) != STATE]
    of_host = [change for change in changes if _key(change) in figures]
    of_drive = [change for change in changes if change not in of_host]
    of_host += [change for change in changes if _key(change) == SCALE]
    drive_text = load_profile(drive)
    return (
        changed(drive_text, of_drive, where) if of_drive else drive_text,
        changed(host, of_host, where) if of_host else host,
    )


def start_state(name: str) -> Path | None:
    """The file of the state in which the drive of DRIVE@HOST,state=FILE begins; None for a factory-fresh drive.

    "state=" is a fresh drive.
    Raises Refused when there is no such file.
    """
    stated = [change for change in drive_and_host(name)[1].split(CHANGE)[1:] if _key(change) == STATE]
    path = stated[-1].partition("=")[2].strip() if stated else ""
    if not path:
        return None
    if not Path(path).is_file():
        raise Refused(
            f"virtual:{name}",
            f"{path} is no file",
            expected=f"{STATE}=FILE with a state that --save of drive run or drive serve wrote",
            code="not-found",
        )
    return Path(path)


def _key(change: str) -> str:
    return change.partition("=")[0].strip()


def _shipped(name: str) -> str:
    place = host_folder()
    assert place is not None
    return place.joinpath(name + PROFILE_SUFFIX).read_text(encoding="utf-8")
