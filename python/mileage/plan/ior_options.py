"""The parameters of a test of IOR 4 as values.

Scope: names are those of IOR's directives in lower case; sizes in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
