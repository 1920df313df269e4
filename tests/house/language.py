"""The words that this repository avoids, and the plain words to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tests.house.repository import files, name_of

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
    r"(?<![A-Za-z])(?<!\.)(?:"
    + "|".join(f"(?:{phrase})" for phrase in PHRASES).replace(" ", r"[ \n]+")
    + r")(?![A-Za-z])",
    re.IGNORECASE,
)
SUFFIXES: Final = (".py", ".pyi", ".rs", ".md", ".toml", ".j2", ".js", ".yml")
#: Texts of other tools, and the lists themselves.
EXEMPT: Final = (
    "tests/formats/samples/",
    "tests/house/language.py",
    "tests/house/test_language.py",
    "Cargo.lock",
)


def counts() -> dict[str, int]:
    """How often the phrases stand in each tracked text that has one."""
    texts = {
        name_of(path): path.read_text(encoding="utf-8", errors="replace")
        for path in files(*SUFFIXES)
        if not name_of(path).startswith(EXEMPT)
    }
    found = {name: len(FOUND.findall(text)) for name, text in texts.items()}
    return {name: count for name, count in sorted(found.items()) if count}
