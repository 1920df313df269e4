"""IO500's summary: result_summary.txt of its result folder.

What it models: each [RESULT] is a run, in GiB/s (2^30 bytes) or kIOPS, with its time; the scores are kept as facts, as
they are means of these and no measurement of their own.
What it refuses: a file without one such line.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.errors import Refused
from mileage.formats.json_documents import shown
from mileage.formats.numbers import number
from mileage.formats.result import Result, ToolRun, Unread
from mileage.formats.source import Source

LAYOUT: Final = "io500"
_RESULT: Final = re.compile(
    r"\s*\[RESULT(?P<flag>[^\]]*)\]\s+(?P<name>[a-z0-9-]+)\s+(?P<figure>\S+)\s+(?P<unit>GiB/s|kIOPS)\s*:\s*"
    r"time\s+(?P<seconds>\S+)\s+seconds\s*(?P<rest>.*)"
)
_SCORE: Final = re.compile(r"\s*\[SCORE[^\]]*\]\s*:?\s*(.*\S)\s*")


def knows(source: Source) -> bool:
    """Whether a file begins as this layout does."""
    return any(_RESULT.fullmatch(line.rstrip("\r")) for line in source.text_head.split("\n")[:500])


def read(source: Source) -> Result:
    """All runs of a summary. Raises Refused when it holds none."""
    result = Result(tool="io500", version=None, layout=LAYOUT, runs=[])
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        if found := _RESULT.fullmatch(line):
            _row(result, at, found, line)
        elif found := _SCORE.fullmatch(line):
            result.facts["score"] = found[1]
        elif version := re.match(r"\s*IO500 version (\S+)", line):
            result.version = version[1]
        elif line.strip():
            result.unread.append(Unread(at, shown(line), "no line of IO500's summary"))
    if not result.runs:
        raise Refused(
            f"{source.path}: no line '[RESULT] NAME FIGURE GiB/s or kIOPS : time ...' was understood"
        )
    return result


def _row(result: Result, at: int, found: re.Match[str], line: str) -> None:
    figure, seconds = number(found["figure"]), number(found["seconds"])
    if figure is None:
        result.unread.append(Unread(at, shown(line), "a figure that is no number"))
        return
    rate = found["unit"] == "GiB/s"
    run = ToolRun(
        cell=f"io500.{found['name'].replace('-', '_')}",
        kind="throughput" if rate else "iops",
        line=at,
        rate_bytes_per_s=figure * (1 << 30) if rate else None,
        ops_per_s=None if rate else figure * 1000,
        elapsed_s=seconds or None,
        printed=[(found["unit"], figure)],
    )
    if found["flag"].strip() or found["rest"].strip():
        run.notes.append(f"IO500 says of {found['name']}: {(found['flag'] + ' ' + found['rest']).strip()}")
    result.runs.append(run)
