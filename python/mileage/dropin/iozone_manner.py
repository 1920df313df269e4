"""Flags of IOzone that say how records are moved, or what is done around them, as keys of a study.

Scope: `-B -D -G -H -k -J -K -p -P -Q -U -+J`, and the byte of `-V` and `-+Z`.
What it refuses: what IOzone refuses together, and a processor that is not there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_values import is_modelled
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.plan.iozone_manner import MannerKeys
from mileage.targets.kernel_text import unescape

MAPPING: Final = ("-B", "-D")
ASYNCHRONOUS: Final = ("-H", "-k")
_FLUSHES: Final[dict[str, Literal["none", "begin", "wait"]]] = {"-B": "none", "-D": "begin", "-G": "wait"}
_OLD_BYTE: Final = 0xA5
_PATTERN_BYTE: Final = 0x20
"""Byte of IOzone's data, which `-V 0` means."""
_DEPTH_MAX: Final = 65_535
_COMPUTE_MS_MAX: Final = 86_400_000


def is_without_streams(given: GivenFlags) -> bool:
    """Whether the file is mapped or used by asynchronous I/O: IOzone then leaves the tests of C streams out."""
    return any(given.has(flag) for flag in (*MAPPING, *ASYNCHRONOUS))


def manner_of(given: GivenFlags, place: Path) -> MannerKeys:
    """The manner that the flags ask for. `place`: the files' directory; a modelled host's has none. Raises Refused."""
    modelled = is_modelled(place)
    _refuse_combinations(given)
    asked = [
        flag for flag in (*MAPPING, *ASYNCHRONOUS, "-J", "-K", "-p", "-P", "-Q", "-U") if given.has(flag)
    ]
    if asked and modelled:
        raise Refused(
            f"iozone: {asked[0]}", "a modelled host", expected="a file of this machine", code="not-built"
        )
    mapped: Literal["none", "begin", "wait"] | None = None
    if any(given.has(flag) for flag in MAPPING):
        # A last -B means no msync again, as in IOzone, whose flags undo each other in order.
        last = next(flag.spelling for flag, _ in reversed(given.flags) if flag.spelling in ("-B", "-D", "-G"))
        mapped = _FLUSHES[last]
    depth = given.last("-H") or given.last("-k")
    return MannerKeys(
        mapped=mapped,
        depth=None if depth is None else min(_whole(depth), _DEPTH_MAX),
        copied=None if depth is None else not given.has("-k"),
        jitter=given.has("-K"),
        purge=f"{_cache_kb(given)} KiB" if given.has("-p") else None,
        line=_whole(given.last("-L") or "32") or 32 if given.has("-p") else None,
        logs=str(Path.cwd()) if given.has("-Q") else None,
        first_cpu=_first_cpu(given),
        compute=f"{compute_ms(given)} ms" if compute_ms(given) else None,
        remount=remount_of(given, place),
        compute_timed=bool(compute_ms(given)) and given.has("-+J"),
    )


def compute_ms(given: GivenFlags) -> int:
    """Milliseconds of -J, 0 for none. Raises Refused."""
    text = given.last("-J") or "0"
    if (found := _whole(text)) > _COMPUTE_MS_MAX:
        raise Refused(f"iozone: -J {text}", expected="a day or less, in milliseconds", code="out-of-range")
    return found


def pattern_of(given: GivenFlags) -> str | None:
    """Content of -V and -+Z as a study names it; None without them."""
    if (text := given.last("-V")) is not None:
        return f"pattern={(_whole(text) & 0xFF) or _PATTERN_BYTE}"
    return f"page={_OLD_BYTE}" if given.has("-+Z") else None


def verify_splash(text: str) -> str:
    """IOzone's line of -V: the byte four times, in hexadecimal digits without leading zeros."""
    byte = (_whole(text) & 0xFF) or _PATTERN_BYTE
    return f"Verify Mode. Pattern {byte * 0x01010101:x}\n\tPerformance measurements are invalid in this mode."


def manner_notes(given: GivenFlags) -> list[str]:
    """What these flags do otherwise than IOzone itself, or do not do."""
    notes = []
    if any(given.has(flag) for flag in ASYNCHRONOUS):
        notes.append(
            "-H, -k: writes go to the records' own offsets, as in IOzone 3.489; those of 3.471 go to wrong ones"
        )
    if given.has("-J") and not compute_ms(given):
        notes.append(f"-J {given.last('-J')}: IOzone computes for no time, and so it has no effect")
    if compute_ms(given) and not given.has("-+J") and given.has("--study"):
        notes.append(
            "-J: printed rates leave the compute cycles out, those of the study's report include them"
        )
    if given.has("-+J") and not compute_ms(given):
        notes.append("-+J has no effect without -J of 1 ms or more")
    if given.has("-G") and not any(given.has(flag) for flag in MAPPING):
        notes.append("-G has no effect without -B, in the original too")
    return notes


def _refuse_combinations(given: GivenFlags) -> None:
    mapping = any(given.has(flag) for flag in MAPPING)
    contents = [flag for flag in ("-V", "-+Z", "-+d", "-+w") if given.has(flag)]
    pairs = (
        (
            mapping and any(given.has(flag) for flag in ASYNCHRONOUS),
            "-B with -H or -k: IOzone does mmap or async, not both",
        ),
        (given.has("-H") and given.has("-k"), "can not do both -H and -k, as IOzone says"),
        (len(contents) > 1, f"{' and '.join(contents)}: each says what is written; give one of them"),
    )
    for wrong, text in pairs:
        if wrong:
            raise Refused("iozone", text, code="conflict")


def _whole(text: str) -> int:
    """A number as the C library's `atoi` reads it: its leading digits, 0 without any; a sign counts as 0."""
    digits = ""
    for character in text.strip():
        if not (character.isascii() and character.isdecimal()):
            break
        digits += character
    return min(int(digits.lstrip("0")[:12] or "0"), 1 << 31)


def _cache_kb(given: GivenFlags) -> int:
    return _whole(given.last("-S") or "1024") or 1024


def _first_cpu(given: GivenFlags) -> int | None:
    text = given.last("-P")
    if text is None:
        return None
    allowed = os.sched_getaffinity(0)
    first = _whole(text)
    if allowed != set(range(os.cpu_count() or 1)) or first not in allowed:
        raise Refused(
            f"iozone: -P {text}",
            found=f"processors {', '.join(map(str, sorted(allowed)))}",
            expected="the first of this machine's, all of which this process may use",
            code="out-of-range",
        )
    return first


# `-U` of IOzone: a mount point that is unmounted and mounted again before each test.
# Scope: what must be true before that is begun.
# What it refuses: children, as IOzone does, with its statuses; an ordinary user; a path that is no mount point, or
# has no line in /etc/fstab, by which alone `mount` knows what to mount there; a file that is elsewhere; a working
# directory that is there and would keep it in use.

_FSTAB: Final = Path("/etc/fstab")
_AFTER_CHILDREN: Final = 16
"""IOzone's status where -U comes after a flag of children; where that comes after -U, it is the flag's."""
_OF_CHILDREN: Final = {"-t": 15, "-l": 5, "-u": 7}


def remount_of(given: GivenFlags, place: Path) -> str | None:
    """The mount point of -U for files in `place`, without links; None without the flag. Raises Refused."""
    named = given.last("-U")
    if named is None:
        return None
    _refuse_children(given)
    mount_point = os.path.realpath(named)
    if os.geteuid() != 0:
        raise _refused(named, "only root can unmount it and mount it again", "needs-permission")
    if not os.path.ismount(mount_point):
        raise _refused(named, "is no mount point", "not-found")
    if mount_point not in _listed():
        raise _refused(
            named, f"has no line in {_FSTAB}, so that `mount {named}` cannot mount it", "not-found"
        )
    if not Path(os.path.realpath(place)).is_relative_to(mount_point):
        raise _refused(named, f"the file is in {place.absolute()}, which is not below it", "conflict")
    if Path(os.path.realpath(Path.cwd())).is_relative_to(mount_point):
        raise _refused(named, "the working directory is below it, so that it cannot be unmounted", "in-use")
    return mount_point


def _refuse_children(given: GivenFlags) -> None:
    spellings = [flag.spelling for flag, _ in given.flags]
    first = next((word for word in spellings if word in ("-U", *_OF_CHILDREN)), "-U")
    later = next((word for word in spellings if word in (_OF_CHILDREN if first == "-U" else ("-U",))), None)
    if later is not None:
        raise ToolRefusal(
            "iozone",
            "iozone: -U",
            "can not run throughput tests with unmount & remounts, as IOzone says",
            code="conflict",
            status=_OF_CHILDREN.get(later, _AFTER_CHILDREN),
        )


def _refused(named: str, text: str, code: str) -> Refused:
    return Refused(f"iozone: -U {named}", text, code=code)


def _listed() -> set[str]:
    """The mount points in the table of file systems."""
    try:
        lines = _FSTAB.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    fields = (line.split() for line in lines if not line.lstrip().startswith("#"))
    return {os.path.realpath(unescape(found[1])) for found in fields if len(found) > 1}
