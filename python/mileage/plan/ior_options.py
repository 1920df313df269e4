"""The parameters of a test of IOR 4 as values, and what follows from them for each task.

Scope: names are those of IOR's directives in lower case; sizes in bytes. Where the blocks of a task lie and whose part
it reads are written here once, for the command line and for studies (`plan.tasks`). Nothing here needs the libraries
of studies, because a small call must start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mileage._core import library_random, shuffled_offsets

_SEED_BITS: Final = 0xFFFFFFFF
"""Seeds of the C library's generator are an unsigned int."""

PACKETS: Final = ("timestamp", "incompressible", "offset", "random")
"""Kinds of data, in the order of IOR's numbers for them."""


@dataclass
class IorOptions:
    """Parameters of one test."""

    testfile: str = "testFile"
    blocksize: int = 1 << 20
    transfersize: int = 256 << 10
    segmentcount: int = 1
    repetitions: int = 1
    numtasks: int = -1
    writefile: int = 0
    readfile: int = 0
    checkwrite: int = 0
    checkread: int = 0
    fileperproc: int = 0
    uniquedir: int = 0
    multifile: int = 0
    keepfile: int = 0
    keepfilewitherror: int = 0
    useexistingtestfile: int = 0
    intratestbarriers: int = 0
    fsync: int = 0
    fsyncperwrite: int = 0
    randomoffset: int = 0
    randomseed: int = -1
    reordertasks: int = 0
    reordertasksrandom: int = 0
    reordertasksrandomseed: int = 0
    taskpernodeoffset: int = 1
    deadlineforstonewalling: int = 0
    stonewallingwearout: int = 0
    stonewallingwearoutiterations: int = 0
    stonewallingstatusfile: str = ""
    maxtimeduration: int = 0
    mintimeduration: int = 0
    intertestdelay: int = 0
    interiodelay: int = 0
    settimestampsignature: int = 0
    datapackettype: str = "timestamp"
    singlexferattempt: int = 0
    outlierthreshold: int = 0
    refnum: int = 0
    memorypernode: int = 0
    memorypertask: int = 0
    direct: int = 0
    dryrun: int = 0
    dummy: int = 0
    """The interface DUMMY: nothing is called."""
    warningaserrors: int = 0
    verbose: int = 0
    summaryformat: str = "default"
    summaryfile: str = ""
    saverankperformancedetailscsv: str = ""

    @property
    def aggregate(self) -> int:
        """Bytes of all tasks together."""
        return self.blocksize * self.segmentcount * self.numtasks

    @property
    def files(self) -> int:
        """Files of a repetition."""
        return self.numtasks if self.fileperproc else 1

    def path(self, number: int, repetition: int) -> str:
        """The file of a task in a repetition."""
        names = self.testfile.split("@")
        path = names[number % len(names) if self.fileperproc else 0]
        if self.fileperproc:
            if self.uniquedir:
                # IOR cuts after the last slash, and after the first letter of a path without one.
                cut = max(path.rfind("/"), 0) + 1
                path = f"{path[:cut]}{number}/{path[cut:]}"
            path = f"{path}.{number:08d}"
        return f"{path}.{repetition}" if self.multifile else path

    def paths(self) -> list[str]:
        """The files of all tasks and repetitions, each once."""
        return list(
            {
                self.path(number, repetition): None
                for repetition in range(self.repetitions if self.multifile else 1)
                for number in range(self.files)
            }
        )

    def reading_distance(self, task: int, repetition: int) -> int:
        """Distance to the task whose data a task reads (-C, -Z)."""
        if self.reordertasks:
            return self.taskpernodeoffset % self.numtasks
        if not self.reordertasksrandom:
            return 0
        seed = self.reordertasksrandomseed
        seed = -seed + repetition if seed < 0 else seed
        if self.reordertasksrandom == 1:
            return random_distance(seed, task, self.numtasks)
        offsets = list(range(self.numtasks))
        for at, drawn in enumerate(library_random(seed, self.numtasks)):
            other = at + drawn % (self.numtasks - at)
            offsets[at], offsets[other] = offsets[other], offsets[at]
        return offsets[task] - task

    def transfers_of(self, task: int, phase: TransferPhase) -> dict[str, Any]:
        """The transfers of a task's part, as the core reads them."""
        first, step = segment_place(self.blocksize, self.numtasks, task, shared=not self.fileperproc)
        offsets: list[int] = []
        if self.randomoffset:
            offsets = shuffled_offsets(
                phase.offset_seed & _SEED_BITS,
                task,
                self.numtasks,
                bool(self.fileperproc),
                self.blocksize,
                self.transfersize,
            )
        return {
            "write": phase.writes,
            "compare": phase.compares,
            "sync_each": bool(self.fsyncperwrite),
            "single_attempt": bool(self.singlexferattempt),
            "transfer_bytes": self.transfersize,
            "segments": self.segmentcount,
            "segment_bytes": step,
            "first_bytes": first,
            "transfers": self.blocksize // self.transfersize,
            "offsets": offsets,
            "content": {
                "kind": self.datapackettype,
                "rank": task,
                "signature": phase.signature,
                "given_signature": self.settimestampsignature & _SEED_BITS,
            },
            "done": 0,
            "most": phase.most,
            "deadline_s": float(self.deadlineforstonewalling),
            "least_s": float(self.mintimeduration),
            "rest_ns": self.interiodelay * 1000,
        }


@dataclass(frozen=True)
class TransferPhase:
    """What a phase asks of the transfers of every task."""

    writes: bool
    compares: bool
    signature: int
    offset_seed: int
    """Seed of random offsets (-z)."""
    most: int
    """Transfers of a task at most; 0 for all."""


def segment_place(block_bytes: int, tasks: int, task: int, *, shared: bool) -> tuple[int, int]:
    """Where a task's block of the first segment begins, and the distance to that of the next segment, in bytes."""
    return (task * block_bytes, block_bytes * tasks) if shared else (0, block_bytes)


def random_distance(seed: int, task: int, tasks: int) -> int:
    """Distance in tasks to the one whose part a task reads, as IOR draws it (-Z) for tasks of one node."""
    return int(library_random((seed + task) & _SEED_BITS, 1)[0] % tasks)
