"""Identify a file that no reader accepts, and advise what to do.

Scope: marks in the beginning of a file, by which a person would see whose it is: the tool's name, a heading,
the form of a line. Each has an advice: the option by which the tool prints what can be read, or the command for it.
What it refuses: guesses. A file without a mark is shown by its first line.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.json_documents import shown

_NO_READER: Final = (
    "there is no reader for it; its figures can be imported as a CSV file with the columns cell, repetition, "
    "value and unit"
)
_MARKS: Final = tuple(
    (re.compile(pattern, re.MULTILINE), what, advice)
    for pattern, what, advice in (
        (
            r"^fio: |: you need to specify size=|^fio-[0-9.]+\nStarting ",
            "an error message of fio, or a run that did not come to its end",
            "correct what it says, run it again with --output-format=json, and import that",
        ),
        (
            r"\A(?:[ \t]*(?:[#;].*)?\n)*\[[^\]\n]+\][ \t]*\n(?:.*\n)*?[ \t]*(?:rw|readwrite|ioengine|iodepth)[ \t]*=",
            "a job file of fio",
            "it is a workload and no result: `mileage run FILE` does it",
        ),
        (
            r"<TimeSpan>\s*<TestTimeSeconds>",
            "a part of DiskSpd's XML",
            "import the whole of it, from <Results> on",
        ),
        (
            r"<Profile>\s*<(?:Progress|ResultFormat|Verbose|TimeSpans)>",
            "a profile of DiskSpd",
            "it is a workload and no result: import the output of diskspd -XFILE",
        ),
        (
            r'^[ \t]*\{?[ \t]*"(?:ISO DATE|operation)"\s*:.*',
            "elbencho's JSON",
            "run elbencho with --csvfile FILE, and import that",
        ),
        (
            r"^[ \t]*tod[ \t]+(?:timestamp[ \t]+)?Run[ \t]+Interval[ \t]|^\* 'flatfile\.html'",
            "flatfile.html of vdbench",
            "import totals.html or summary.html of the same folder",
        ),
        (
            r"^\[(?:Read|Write)\][ \t\r]*\n[ \t]+(?:SEQ|RND)[ \t]",
            "a part of a text of CrystalDiskMark",
            "import the whole of it, from its first line on",
        ),
        (r"AS SSD Benchmark", "a result of AS SSD Benchmark", _NO_READER),
        (r"ATTO Disk Benchmark", "a result of ATTO Disk Benchmark", _NO_READER),
        (
            r"^sysbench [0-9]|^Running the test with following options:",
            "output of sysbench, of another test than fileio",
            _NO_READER,
        ),
        (r"^Filebench Version|: IO Summary: ", "output of filebench", _NO_READER),
        (r"^dbench version|^ Operation +Count +AvgLat +MaxLat", "output of dbench", _NO_READER),
        (r" ioping statistics ---", "output of ioping", _NO_READER),
        (
            r"^Device[: ]+.*(?:r/s|tps|kB_read/s)",
            "output of iostat",
            "it counts what a device did, not what a test measured",
        ),
        (
            r"^smartctl [0-9]|^SMART/Health Information",
            "a health report of a drive",
            "it holds no measurement",
        ),
        (
            r"^[ \t]*[0-9]+,[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9.]+\s+[0-9]+\s+[A-Z]\s",
            "a trace of blkparse",
            "it holds no result",
        ),
        (
            r"'TEST SETUP ==",
            "a configuration of IOMeter",
            "it is a workload and no result: `mileage iometer FILE -t TARGET` does it",
        ),
        (
            r"^\[run\]\s*\nprocs\s*=",
            "IO500's result.txt",
            "name its folder, or result_summary.txt in it",
        ),
        (
            r"\Aaccess,rank,|\Arank,items,rate-",
            "what each rank of IOR or mdtest did (saveRankPerformanceDetails)",
            "import the listing that the tool printed",
        ),
        (
            r"^(?:Synopsis|Usage:?) \S*(?:ior|mdtest)\b",
            "the help text of IOR or mdtest",
            "the call was refused by the tool",
        ),
        (
            r'^[ \t]*(?:name|question|target)\s*=\s*"|^\[\[?stage\]?\]',
            "a study file of Mileage",
            "it is a plan and no result: `mileage run FILE` does it",
        ),
        (
            r'^\{"kind":\s*"study"',
            "the journal of a study folder",
            "name the folder: `mileage report FOLDER`",
        ),
        (r"\A\s*<(?:!DOCTYPE html|html)", "a page of HTML", "import the file that the tool wrote"),
        (r"\A\s*<\?xml", "XML of a tool that is not known", _NO_READER),
    )
)


def seems(source: Source) -> str:
    """Identify a file and give advice: "it seems to be fio's normal text; run fio with ..."."""
    head = source.text_head
    if b"\0" in source.head and not source.wide:
        return "the format of this file is not known, and it is binary; import the text that the tool printed"
    for mark, what, advice in _MARKS:
        if mark.search(head):
            # Insert the file's own name, so that the command can be copied as it is.
            file, folder = (shlex.quote(str(path)) for path in (source.path, source.path.parent))
            return f"it seems to be {what}; {advice.replace('FILE', file).replace('FOLDER', folder)}"
    first = next((line for line in head.split("\n") if line.strip()), "")
    return f"the format of this file is not known; it begins with {shown(first)!r}"
