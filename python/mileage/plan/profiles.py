"""Tortures that ship with Mileage: a stage names one, and gets its tables.

Scope: the two IOR runs of the study of SSD degradation of 2010 (four tasks, a file for each, written and read
back ten times over: 64 KiB blocks of 4 KiB transfers in 200,000 segments, and 1 MiB blocks of 256 KiB transfers in
14,000), and an honest one. In a file of its own a task's blocks follow each other, so its segments are one sequential
stream. In a directory each task is a process with a file of its own, a rank where there is MPI; on a device, a process
with a contiguous quarter of the work area; on a virtual drive a thread with one. Files are made for each repetition
and removed after it, as IOR does; on devices the same area is written over. Both wrote 83 % and 93 % of a 58.7 GiB file
system and nothing twice, which is mild for flash; where the work area is smaller, the same shares of it are written, in
fewer segments. `honest` fills the whole work area and overwrites it twice at random places in mixed sizes.
What it refuses: a stage whose torture is defined in the study under one of these names keeps its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from mileage.plan.study import AccessRow, OwnWorkload, Study, Torture


class Part(NamedTuple):
    """One table of a torture, with the workload that it needs in addition to the named ones."""

    table: Torture
    workload: OwnWorkload | None = None


_TASKS: Final = 4
_REPETITIONS: Final = 10


def _ior(block: int, transfer: str, segments: int, share: str) -> Torture:
    size = f"{_TASKS * block * segments} or {share}"
    return Torture(
        workload="throughput.write",
        record=transfer,
        amount=size,
        span=size,
        tasks=_TASKS,
        rounds=_REPETITIONS,
        read_back=True,
    )


_MIXED: Final = (
    AccessRow(size="4KiB", share=50, reads=0, random=100, align="4KiB"),
    AccessRow(size="16KiB", share=20, reads=0, random=100, align="4KiB"),
    AccessRow(size="64KiB", share=20, reads=0, random=100, align="4KiB"),
    AccessRow(size="256KiB", share=10, reads=0, random=100, align="4KiB"),
)

PROFILES: Final[dict[str, dict[str, Part]]] = {
    "ior-small": {"ior-small": Part(_ior(64 << 10, "4KiB", 200_000, "83%"))},
    "ior-large": {"ior-large": Part(_ior(1 << 20, "256KiB", 14_000, "93%"))},
    "honest": {
        "honest-fill": Part(Torture(workload="throughput.write", record="1MiB", amount="1x")),
        "honest-mixed": Part(
            Torture(workload="honest-mixed", record="256KiB", amount="2x", threads=_TASKS),
            OwnWorkload(access=_MIXED, title="overwrites at random places, 4 KiB to 256 KiB"),
        ),
    },
}
"""The tables of each torture, by its name and theirs."""


TITLES: Final = {
    "ior-small": "IOR of 2010: four tasks write and read back files of 13 GB, 4 KiB at a time, ten times",
    "ior-large": "IOR of 2010: four tasks write and read back files of 15 GB, 256 KiB at a time, ten times",
    "honest": "the whole work area filled, then overwritten twice at random places, 4 KiB to 256 KiB",
}
"""Description of each torture in a few words."""


def with_profiles(study: Study) -> Study:
    """The study with the tables of every torture that a stage names and the study does not define."""
    tortures, workloads, stages = dict(study.torture), dict(study.workload), []
    for stage in study.stage:
        changed = {}
        for action in ("torture", "prepare"):
            names: list[str] = []
            for name in getattr(stage, action) or ():
                parts = PROFILES.get(name, {}) if name not in study.torture else {}
                names += parts or (name,)
                tortures |= {part: made.table for part, made in parts.items()}
                workloads |= {part: made.workload for part, made in parts.items() if made.workload}
            if getattr(stage, action):
                changed[action] = tuple(names)
        stages.append(msgspec.structs.replace(stage, **changed))
    return msgspec.structs.replace(study, stage=tuple(stages), torture=tortures, workload=workloads)
