"""The text that CrystalDiskMark copies or saves, of versions 3 to 9.

Scope: each line of a result is a run. MB are 10^6 bytes, as its heading states. The rate is the best of the repetitions
that CrystalDiskMark made (x5), IOPS are derived from it, and the microseconds are the least mean latency, of another
repetition perhaps (DiskBench.cpp of CrystalDiskMark 8), so that they stand in `printed` and are no latency of this run.
0.000 MB/s is a test that was not run.
What it refuses: a text whose heading does not state what MB means, and lines without the name of a test.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import binary_size, number
from mileage.formats.result import Result, ToolRun
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import record_words

LAYOUT: Final = "crystaldiskmark"
MB: Final = 1_000_000
_VERSION: Final = re.compile(r"CrystalDiskMark (?P<version>[0-9]\S{0,20})(?P<edition>.{0,40}?) \(C\) .*")
_UNIT: Final = re.compile(r"\* MB/s = 1,000,000 bytes?/s(?:ec)?\b.*")
_SECTION: Final = re.compile(r"\[(Read|Write|Mix)\](?:\s(.{0,60}))?")
_NUMBER: Final = r"\s*[0-9]{1,15}(?:\.[0-9]{1,6})?\s*"
_RATE: Final = rf"(?P<rate>{_NUMBER})MB/s"
_REST: Final = rf"(?:\s*\[(?P<iops>{_NUMBER})IOPS\])?(?:\s*<(?P<us>{_NUMBER})us>)?\s*"
_OLD: Final = re.compile(
    r"\s*(?P<order>Sequential|Random) (?P<verb>Read|Write|Mix)(?: (?P<size>[0-9]{1,6}(?:KB|KiB|MB|MiB)))?"
    r"(?: \((?P<where>QD=\s*[0-9]{1,4}|Q=\s*[0-9]{1,4},\s*T=\s*[0-9]{1,4}|T=\s*[0-9]{1,4})\))?\s*:\s*"
    + _RATE
    + _REST
)
_NEW: Final = re.compile(
    r"\s*(?P<order>SEQ|RND)\s+(?P<size>[0-9]{1,6}(?:KiB|MiB)) \((?P<where>Q=\s*[0-9]{1,4},\s*T=\s*[0-9]{1,4})\):\s*"
    + _RATE
    + _REST
)
_FACT: Final = re.compile(r"\s*(Test|Mode|Time|Date|OS|Profile|Comment)\s*:\s*(.{0,300})")
_RULE: Final = re.compile(r"-{20,}|\s*Crystal Dew World\s*:.*|\* (?:KB|MB|GB) = .*")
_ORDERS: Final = {"SEQ": "sequential", "RND": "random", "Sequential": "sequential", "Random": "random"}
_COUNT: Final = re.compile(r"\(x([0-9]{1,2})\)")
_DRIVE: Final = re.compile(r"\s*\[(?P<drive>[A-Z]:) *(?P<used>[0-9.]{1,6} ?% ?\([^()]{1,40}\))\]\s*")
"""The drive and how full it is, in the line of the test size."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(_VERSION.fullmatch(line.strip()) for line in source.text_head.split("\n")[:500])


def read(source: Source) -> Result:
    """Read all runs of a text. Raises Refused when it holds none, or does not state its unit."""
    result = Result(tool="crystaldiskmark", version=None, layout=LAYOUT, runs=[])
    call, section, mix, has_unit, begun = 0, "", "", False, 0
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r ")
        if found := _VERSION.fullmatch(line.strip()):
            _settle(result, begun)
            result.version = result.version or found["version"]
            call, section, mix, has_unit, begun = at, "", "", False, len(result.runs)
        elif _UNIT.fullmatch(line):
            has_unit = True
        elif found := _SECTION.fullmatch(line):
            section, mix = found[1], (found[2] or "").strip()
        elif found := _OLD.fullmatch(line) or _NEW.fullmatch(line):
            if not has_unit:
                raise Refused(
                    f"{source.path}, line {at}",
                    "a rate in MB/s, and no heading states what MB means",
                    expected="the line '* MB/s = 1,000,000 bytes/s' of CrystalDiskMark",
                    code="ambiguous",
                )
            _row(result, at, call, section, found)
            if mix and result.runs and result.runs[-1].line == at:
                result.runs[-1].levels["mix"] = mix
        elif found := _FACT.fullmatch(line):
            _fact(result, begun, found[1], found[2].strip())
        elif line.strip() and not _RULE.fullmatch(line):
            result.skip(at, line, "no line of CrystalDiskMark that can stand here")
            if not line.startswith(" "):
                # It may begin a section, such as [Write] in another language.
                section, mix = "", ""
    _settle(result, begun)
    if not result.runs:
        first = f"line {result.unread[0].line} has {result.unread[0].text!r}" if result.unread else ""
        why = "each test has 0.000 MB/s: none was run" if result.facts else first
        raise Refused(
            source.path, "no result of CrystalDiskMark was understood", advice=why, code="not-understood"
        )
    return result


def _row(result: Result, at: int, call: int, section: str, found: re.Match[str]) -> None:
    groups = found.groupdict()
    verb = groups.get("verb") or section
    rate, iops, mean_us = (number(groups[name]) if groups[name] else None for name in ("rate", "iops", "us"))
    if rate is None or not verb:
        result.skip(at, found[0], "no figure, or below neither [Read] nor [Write]")
        return
    # CrystalDiskMark 3 writes 512KB and 4KB for powers of 1024; a size without i in later versions is not printed.
    size = binary_size(found["size"]) if found["size"] else None
    places: dict[str, str] = dict(re.findall(r"(QD|Q|T)=\s*([0-9]+)", groups["where"] or ""))
    depth, threads = int(places.get("QD") or places.get("Q") or 1), int(places.get("T") or 1)
    test = f"{_ORDERS[found['order']]}_{verb.lower()}"
    if rate == 0:
        result.facts[f"line {at}"] = f"{test}: not run (0.000 MB/s)"
        return
    words = [f"crystaldiskmark.{test}" + (f" {record_words(size)}" if size else "")]
    words += [f"depth {depth}"] if depth > 1 else []
    words += [f"{threads} threads"] if threads > 1 else []
    printed = [
        (name, value)
        for name, value in (("MB/s", rate), ("IOPS", iops), ("us", mean_us))
        if value is not None
    ]
    result.runs.append(
        ToolRun(
            cell=", ".join(words),
            key=CellKey(f"crystaldiskmark.{test}"),
            kind="throughput" if test.startswith("sequential") else "iops",
            line=at,
            call=call,
            rate_bytes_per_s=rate * MB,
            ops_per_s=iops,
            outstanding=depth * threads if places else None,
            printed=printed,
        )
    )


def _fact(result: Result, begun: int, name: str, text: str) -> None:
    """Settings of all runs of a text: its size and number of repetitions, its mode and its date.

    How full the drive is differs from text to text, so that it is no setting.
    """
    if name == "OS":
        result.machine.setdefault("os", text)
    elif name == "Date":
        result.began = result.began or text
    elif text:
        own = result.runs[begun:]
        if name == "Test" and own and (found := _DRIVE.search(text)):
            text = f"{text[: found.start()]} {text[found.end() :]}".strip()
            result.facts[f"used, test of line {own[0].line}"] = f"{found['drive']} {found['used']}"
            for run in own:
                run.levels["drive"] = found["drive"]
        for run in own:
            run.levels[{"Test": "test size"}.get(name, name.lower())] = text


def _settle(result: Result, begun: int) -> None:
    """Note for the runs of a text what a figure of CrystalDiskMark is."""
    own = result.runs[begun:]
    if not own:
        return
    count = _COUNT.search(own[0].levels.get("test size", ""))
    times = f"{count[1]} repetitions" if count else "its repetitions"
    own[0].notes.append(f"each figure is the best of {times} that CrystalDiskMark made, not their mean")
