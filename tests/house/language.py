"""The words that this repository avoids, where they still stand, and the plain words to write instead.

`python -m tests.house.language` counts them in every tracked text and lowers the allowances of `phrases.toml` to what
was found; it never raises one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.house.repository import ROOT, files, name_of

#: Word or phrase as a regular expression, and what to write instead. `_` and digits separate words, as in names.
PHRASES: Final[Mapping[str, str]] = {
    r"told": "reported, printed, recorded",
    r"tell(s|ing)?": "report, print, distinguish",
    r"beside": "next to, as well as, in addition to",
    r"so many": "N, the number of",
    r"so much": "the amount of",
    r"(go(es|ing)?|went) on": "resume, continue",
    r"(is|are|was|were) gone": "is lost, is missing, was removed",
    r"under way": "outstanding, in flight, in progress",
    r"scatter(s|ed)?": "spread, standard deviation",
    r"would be seen": "minimum detectable difference",
    r"signs? of life": "heartbeat",
    r"patience": "time-out",
    r"crews?": "workers, tasks, ranks",
    r"custody": "hand-over, ownership, watchdog",
    r"deposits?": "hand-over",
    r"(leav(e|es|ing)|left) out": "skip, omit, ignore",
    r"pass(es|ed|ing)? over": "skip, ignore",
    r"bears? with": "tolerate, retry",
    r"lamps?": "checks",
    r"faces?": "drop-in command line, interface",
    r"refuse[sd]? by name": "refused (the message always says what)",
}
FOUND: Final = re.compile(
    r"(?<![A-Za-z])(?:"
    + "|".join(f"(?:{phrase})" for phrase in PHRASES).replace(" ", r"[ \n]+")
    + r")(?![A-Za-z])",
    re.IGNORECASE,
)
SUFFIXES: Final = (".py", ".pyi", ".rs", ".md", ".toml", ".j2", ".js", ".yml")
#: Texts of other tools, and these lists themselves.
EXEMPT: Final = (
    "tests/formats/samples/",
    "tests/house/language.py",
    "tests/house/phrases.toml",
    "Cargo.lock",
)
ALLOWANCES: Final = Path(__file__).with_name("phrases.toml")


def counts() -> dict[str, int]:
    """How often the phrases stand in each tracked text that has one."""
    texts = {
        name_of(path): path.read_text(encoding="utf-8", errors="replace")
        for path in files(*SUFFIXES)
        if not name_of(path).startswith(EXEMPT)
    }
    found = {name: len(FOUND.findall(text)) for name, text in texts.items()}
    return {name: count for name, count in sorted(found.items()) if count}


def allowances() -> dict[str, int]:
    """The count that each file may have, by its path."""
    allowed: dict[str, int] = tomllib.loads(ALLOWANCES.read_text(encoding="utf-8"))
    return allowed


def written(allowed: Mapping[str, int]) -> str:
    """The text of `phrases.toml`."""
    head = (
        "# Phrases to avoid that each file still has. `python -m tests.house.language` lowers the counts.\n"
    )
    return head + "".join(f'"{name}" = {count}\n' for name, count in sorted(allowed.items()))


def main() -> None:
    """Lower the allowances to what is there; a file that was renamed keeps its count under the new name."""
    found, allowed = counts(), allowances()
    spare = sum(count for name, count in allowed.items() if not (ROOT / name).exists())
    lowered: dict[str, int] = {}
    for name, count in found.items():
        if name in allowed:
            lowered[name] = min(count, allowed[name])
        elif count <= spare:
            lowered[name] = count
            spare -= count
    ALLOWANCES.write_text(written(lowered), encoding="utf-8")
    print(f"{sum(lowered.values())} of {sum(allowed.values())} are left")
    sys.exit(int(lowered != found))


if __name__ == "__main__":
    main()
