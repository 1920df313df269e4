"""IO500's summary: result_summary.txt of its result folder, and the folder.

Scope: each [RESULT] is a run, in GiB/s (2^30 bytes) or kIOPS, with its time. The shell script of 2017 to 2020
writes GB/s for the same, as it divides IOR's MiB/s by 1,024. The scores are kept as facts, as they are means of these
and no measurement of their own. The listing that IOR or mdtest printed in a phase, in the folder of the summary, has
the settings of that phase.
What it refuses: a file without one such line.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.errors import Refused
from mileage.formats import ior_text, mdtest
from mileage.formats.input_file import Source, open_source
from mileage.formats.number_parser import number
from mileage.formats.result import Result, ToolRun
from mileage.model.cell_key import CellKey

LAYOUT: Final = "io500"
SUMMARY: Final = "result_summary.txt"
_RESULT: Final = re.compile(
    r"\s*\[(?P<kind>RESULT|\s{6})(?P<flag>[^\]]*)\]\s+(?:(?:BW|IOPS)\s+phase\s+[0-9]+\s+)?(?P<name>[A-Za-z0-9_-]+)\s+"
    r"(?P<figure>\S+)\s+(?P<unit>G(?:i)?B/s|kIOPS|kiops)\s*:\s*time\s+(?P<seconds>\S+)\s+seconds\s*(?P<rest>.*)"
)
_SCORE: Final = re.compile(r"\s*\[(SCOREX?)[^\]]*\]\s*:?\s*(.*\S)\s*")
_TALK: Final = re.compile(
    r"\s*\[(?:Summary|Leaving|Starting|Exec|Results|Skipping|Creating|FIND)\]|One or more test phases invalid|"
    r"Running the IO500 Benchmark|\s*The result files are stored in the directory"
)
"""Lines of the shell script and the program that surround the results."""
_SETTINGS: Final = ("tasks", "nodes", "api", "xfersize", "blocksize", "segments", "items", "options")


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(_RESULT.fullmatch(line.rstrip("\r")) for line in source.text_head.split("\n")[:500])


def read(source: Source) -> Result:
    """Read all runs of a summary. Raises Refused when it holds none."""
    result = Result(tool="io500", version=None, layout=LAYOUT, runs=[])
    seen: set[tuple[str | None, ...]] = set()
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        if found := _RESULT.fullmatch(line):
            # The script prints all results again at its end. Equal figure and time mean such a repetition, because no
            # phase takes exactly the same time twice.
            row = found.group("name", "figure", "seconds")
            if row not in seen:
                _row(result, at, found, line)
            seen.add(row)
        elif found := _SCORE.fullmatch(line):
            result.facts[found[1].lower()] = found[2]
        elif version := re.match(r"\s*IO500 version (\S+)", line):
            result.version = version[1]
        elif line.strip() and not _TALK.match(line):
            result.skip(at, line, "no line of IO500's summary")
    result.refuse_empty(
        source.path, "no line '[RESULT] NAME FIGURE GiB/s or kIOPS : time ...' was understood"
    )
    if source.path.name == SUMMARY:
        for run in result.runs:
            _settings(source, run, result)
    return result


def _row(result: Result, at: int, found: re.Match[str], line: str) -> None:
    figure, seconds = number(found["figure"]), number(found["seconds"])
    if found["kind"].isspace() and not figure:
        # Phases such as the timestamp measure nothing, so a line without a figure is not a failure there.
        return
    if not figure:
        result.skip(at, line, "no figure: the phase failed or was not done")
        return
    rate = found["unit"].endswith("B/s")
    run = ToolRun(
        cell=f"io500.{_plain(found['name'])}",
        key=CellKey(f"io500.{found['name']}", work=_plain(found["name"])),
        kind="throughput" if rate else "iops",
        line=at,
        rate_bytes_per_s=figure * (1 << 30) if rate else None,
        ops_per_s=None if rate else figure * 1000,
        elapsed_s=seconds or None,
        printed=[(found["unit"], figure)],
    )
    if found["flag"].strip() or found["rest"].strip():
        said = " ".join(found.group("flag", "rest")).strip(" -")
        words = f"IO500 says of {found['name']}: {said}"
        run.notes.append(words)
        run.invalid = words if "invalid" in said.lower() else None
    result.runs.append(run)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _settings(source: Source, run: ToolRun, result: Result) -> None:
    """The facts in the listing of a phase: `ior-easy-write.txt` next to the summary, or `ior_easy_write.txt`."""
    stem = run.key.work
    path = next((p for p in sorted(source.path.parent.glob("*.txt")) if _plain(p.stem) == stem), None)
    if path is None:
        return
    try:
        listing = open_source(path)
        reader = next((reader for reader in (ior_text, mdtest) if reader.knows(listing)), None)
        listed = reader.read(listing) if reader is not None else None
    except Refused as cause:
        result.lost.append(f"the settings of {run.cell}: {cause}")
        return
    if listed is not None and listed.runs:
        run.levels |= {
            name: listed.runs[0].levels[name] for name in _SETTINGS if name in listed.runs[0].levels
        }
        result.facts[path.name] = listed.command or ""
