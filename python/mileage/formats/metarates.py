"""metarates' rates of create, stat and utime.

Scope: the total rate, which metarates takes as the slowest rank's rate times the ranks; maximum, minimum and
average of the ranks stand in `printed`. Units are spelt "creates per second" or "ccps" and so on, as versions differ.
What it refuses: a file without one such line.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.number_parser import number
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "metarates"
_UNITS: Final = {
    **dict.fromkeys(("ccps", "creates per second", "create/closes per second", "creates/s"), "create"),
    **dict.fromkeys(("sps", "stats per second", "stats/s"), "stat"),
    **dict.fromkeys(("ups", "utimes per second", "utimes/s"), "utime"),
}
_WORDS: Final = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_RATE: Final = re.compile(
    rf"(max|min|avg|average|total)(?: rate)?\s*[=:]?\s+([-+0-9.eE]+|nan|inf)\s+({_WORDS})\b"
)
_NODE: Final = re.compile(r"^node ([0-9]+) ")
_PARAMETER: Final = re.compile(r"^([a-z][a-z ]+?) = (.*)$")
_KNOWN: Final = re.compile(
    r"run parameters:|unique subdirectories|a common directory|test files will|file \w+ rates will|fsync will|"
    r"Creating Unique|Preparing |Getting filelist|Starting |Removing |Finished|Ending |[0-9 ]+$|"
    r"processes overridden|joining "
)


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head
    return "run parameters:" in head and "number of files used" in head


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds no rate."""
    result = Result(tool="metarates", version=None, layout=LAYOUT, runs=[])
    settings: dict[str, str] = {}
    for at, line in enumerate(source.lines(), 1):
        text = line.strip()
        if text.startswith("run parameters:"):
            settings = {}
        found = [(name, number(figure), _UNITS[unit]) for name, figure, unit in _RATE.findall(text)]
        if found:
            _rates(result, at, text, found, settings)
        elif parameter := _PARAMETER.match(text):
            settings[parameter[1].strip()] = parameter[2].strip()
        elif text.startswith(("unique subdirectories", "a common directory")):
            settings["directories"] = "per process" if text.startswith("unique") else "common"
        elif "fsync will" in text:
            settings["fsync"] = "no" if "not be" in text else "yes"
        elif re.match(r"(?:real|user|sys)\s+[0-9]+m[0-9.]+s$", text):
            result.facts[text.split()[0]] = text.split()[1]
        elif text and not _KNOWN.match(text):
            result.skip(at, line, "no line of metarates' output")
    result.refuse_empty(source.path, "no rate of metarates was understood")
    return result


def _rates(
    result: Result, at: int, text: str, found: list[tuple[str, float | None, str]], settings: dict[str, str]
) -> None:
    """The run of one line of rates."""
    rates = {name.replace("average", "avg"): value for name, value, _ in found if value is not None}
    if "total" not in rates:
        result.skip(at, text, "rates without a total that is a number")
        return
    files = settings.get("total number of files used in tests", "")
    each = settings.get("number of files used per process in tests", "")
    levels = dict(settings)
    if files.isdecimal() and each.isdecimal() and int(each[:18]):
        levels["processes"] = str(int(files[:18]) // int(each[:18]))
    node = _NODE.match(text)
    group = f", from rank {node[1]}" if node and node[1] != "0" else ""
    result.runs.append(
        ToolRun(
            cell=f"metarates.{found[0][2]}{group}",
            kind="iops",
            line=at,
            levels=levels,
            ops_per_s=rates["total"],
            printed=[(f"{name} rate", value) for name, value in rates.items()],
        )
    )
