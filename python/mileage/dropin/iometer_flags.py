"""The words of `mileage iometer`: IOMeter itself is a program with windows, of which the file is what scripts give."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

IOMETER: Final = Tool(
    name="iometer",
    title="An IOMeter configuration: its access specifications, one after the other, on a target.",
    flags=(
        Flag(
            "-t",
            "Target: dir:PATH, file:PATH, block:PATH or virtual:NAME.",
            "T",
            also=("--target",),
            example="null:",
        ),
        Flag(
            "-r", "Write the results to this file instead of to the terminal.", "FILE", example="results.csv"
        ),
        Flag("--seconds", "Duration of each run, instead of the one in the file.", "N", example="1"),
        Flag("-c", "The configuration, as with IOMeter's /c.", "FILE", example="test.icf"),
        Flag("-m", "Shows the meter.", "N", instead="omit it: progress is shown on a terminal."),
        Flag(
            "-p",
            "Port of the manager.",
            "PORT",
            instead="omit it: there is no other program.",
        ),
    ),
    usage="-t TARGET [-r FILE] FILE.icf",
    operands="the configuration",
    notes=(
        "Targets in the file are those of another machine, so -t gives the target here. Workers with the same "
        "settings are threads; a file whose workers differ is refused. Drive letters, networks and cycling through "
        "numbers of workers, targets and outstanding I/Os are not supported. On a file system a work file is used, "
        "like IOMeter's iobw.tst.",
    ),
    examples=("-t virtual:plain-64gib test.icf",),
)
