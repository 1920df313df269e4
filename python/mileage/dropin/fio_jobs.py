"""fio's jobs as values: job files and command lines, sections, variables of the environment.

Scope: options of a job after those of [global] or before the first --name. Numbers are read as fio reads them: sizes
with k, m, g of 1024, times with units.
What it refuses: an option that `fio_flags` does not list, by its name; a value that cannot be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mileage.dropin.fio_flags import FIO
from mileage.dropin.flags import GivenFlags, read
from mileage.errors import Refused

_SIZES: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_TIMES_NS: Final = {"us": 1_000, "usec": 1_000, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9}
_TIMES_NS_LONG: Final = {"m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_GLOBAL_ONLY: Final = (
    *(
        "--output",
        "--output-format",
        "--minimal",
        "--terse-version",
        "--eta",
        "--eta-newline",
    ),
    *(
        "--section",
        "--parse-only",
        "--bandwidth-log",
        "--version",
        "--study",
        "--destroy",
        "--help",
        "--manual",
    ),
)
"""Options of the command, not of a job."""


@dataclass
class FioJob:
    """One section: its options by the first spelling of each, without dashes."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    """Its own options as they were written, for the JSON."""

    def refuse(self, key: str, text: str = "", *, expected: str = "", code: str = "wrong-value") -> Refused:
        """A refusal of one option."""
        return Refused(
            f"fio: [{self.name}] {key}={self.options.get(key, '')}", text, expected=expected, code=code
        )

    def text(self, key: str, alone: str = "") -> str:
        """A value as it was written."""
        return self.options.get(key, alone)

    def is_on(self, key: str, alone: bool = False) -> bool:
        """Whether an option is on; one without a value is."""
        if key not in self.options:
            return alone
        value = self.options[key] or "1"
        if value not in ("0", "1"):
            raise self.refuse(key, expected="0 or 1")
        return value == "1"

    def number(self, key: str, alone: int) -> int:
        """A whole number."""
        value = self.options.get(key)
        if value is None:
            return alone
        found = size_of(value, 1024)
        if found is None:
            raise self.refuse(key, expected="a whole number")
        return found

    def size(self, key: str) -> int | None:
        """Bytes; None where the option is not given."""
        value = self.options.get(key)
        if value is None:
            return None
        found = size_of(value, 1000 if self.text("kb_base") == "1000" else 1024)
        if found is None:
            raise self.refuse(key, expected="a size such as 4k or 1g")
        return found

    def time_ns(self, key: str, unit: str = "s") -> int | None:
        """A time; a bare number counts `unit`."""
        value = self.options.get(key)
        if value is None:
            return None
        found = re.fullmatch(r"([0-9]{1,15})\s*([a-z]*)", value.lower())
        units = {**_TIMES_NS, **_TIMES_NS_LONG}
        if found is None or (found[2] and found[2] not in units):
            raise self.refuse(key, expected="a time such as 30, 30s, 5m or 100ms")
        return int(found[1]) * units[found[2] or unit]


def size_of(text: str, base: int) -> int | None:
    """A number with a unit as fio reads it; None where it is none."""
    found = re.fullmatch(r"([0-9]{1,18})([kmgtp]?)(i?)b?", text.strip().lower())
    if found is None:
        return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,15}", text.strip()) else None
    # With kb_base=1024, fio takes k and ki both as 1024.
    return int(found[1]) * int(base ** _SIZES[found[2]])


def jobs_of(given: GivenFlags) -> list[FioJob]:
    """The jobs of a command line and of its files, in order. Raises Refused."""
    found: list[FioJob] = []
    shared: dict[str, str] = {}
    current: FioJob | None = None
    for flag, value in given.flags:
        if flag.spelling in _GLOBAL_ONLY:
            continue
        key = flag.spelling.removeprefix("--")
        if key == "name":
            if current is not None and not current.name and not found:
                shared = current.options
            current = FioJob(value, dict(shared), {"name": value})
            if value == "global":
                current.options, current.name = shared, ""
                continue
            found.append(current)
            continue
        if current is None or not current.name:
            shared[key] = value or "1"
        else:
            current.options[key] = value or "1"
            current.given[key] = value or "1"
    for name in given.operands:
        found += _of_file(Path(name), shared)
    wanted = given.every("--section")
    found = [job for job in found if not wanted or job.name in wanted]
    if not found:
        raise Refused("fio", "no jobs are defined", expected="a job file, or --name=JOB", code="empty")
    return found


def _of_file(path: Path, before: dict[str, str]) -> list[FioJob]:
    """The sections of a job file. Raises Refused."""
    try:
        text = path.read_text(errors="replace") if str(path) != "-" else Path("/dev/stdin").read_text()
    except OSError as error:
        raise Refused(f"fio: {path}", f"{error.strerror}", code="not-found") from error
    shared = dict(before)
    found: list[FioJob] = []
    current: FioJob | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"\s[;#]", line.strip(), maxsplit=1)[0].strip()
        if not words or words[0] in "#;":
            continue
        if section := re.fullmatch(r"\[(.+)\]", words):
            current = FioJob(section[1], dict(shared), {"name": section[1]})
            if section[1] == "global":
                current.options = shared
            else:
                found.append(current)
            continue
        if words.startswith("include "):
            raise Refused(f"fio: {path}, line {number}: include", "is not built", code="not-built")
        if current is None:
            raise Refused(
                f"fio: {path}, line {number}", f"{words} stands before the first section", code="malformed"
            )
        key, _, value = (part.strip() for part in _expanded(words).partition("="))
        for flag, read_value in _options([f"--{key.lower()}" + (f"={value}" if value else "")]):
            current.options[flag] = read_value or "1"
            current.given[flag] = read_value or "1"
    return found


def _options(words: Iterable[str]) -> list[tuple[str, str]]:
    """Options by their first spelling. Raises Refused for one that is not honoured."""
    given = read(FIO, list(words))
    return [(flag.spelling.removeprefix("--"), value) for flag, value in given.flags]


def _expanded(text: str) -> str:
    """Variables of the environment put in: ${NAME}, and fio's own $ncpus, $pagesize and $mb_memory."""
    own = {
        "$ncpus": str(os.cpu_count() or 1),
        "$pagesize": str(os.sysconf("SC_PAGE_SIZE")),
        "$mb_memory": str(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20),
    }
    text = re.sub(r"\$\{(\w+)\}", lambda found: os.environ.get(found[1], ""), text)
    for name, value in own.items():
        text = text.replace(name, value)
    return text
