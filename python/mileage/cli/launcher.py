"""Detect from the environment whether an MPI launcher started this process.

Scope: what mpiexec, mpirun and srun leave in the environment. Nothing is imported and nothing is asked.
What it refuses: commands that several ranks do not do together. Slurm's own variables are ignored, since a batch
script has them too; with PMI or PMIx, srun sets one of those below.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mileage.errors import Refused

_SIZES: Final = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_RANKS: Final = (*("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MPI_WORLD_RANK", "MV2_COMM_WORLD_RANK"),)


def launched(environment: Mapping[str, str]) -> str | None:
    """The variable by which an MPI run of several ranks is known; None where there is none, or one rank alone."""
    for name in _SIZES:
        if name in environment:
            return name if environment[name] != "1" else None
    return next((name for name in _RANKS if name in environment), None)


def is_first(environment: Mapping[str, str]) -> bool:
    """Whether this process is rank 0, as far as the environment shows."""
    return next((environment[name] for name in _RANKS if name in environment), "0") == "0"


_TOGETHER: Final = ("run", "measure", "sweep", "metarates", "iozone")
"""Commands that the ranks of an MPI run do together."""
_ALONE: Final = ("ior", "mdtest")
"""Commands that start their tasks themselves, and say so under a launcher."""


_PR_SET_PDEATHSIG: Final = 1
"""Of `linux/prctl.h`."""


def end_with_launcher() -> None:
    """Have the kernel send SIGTERM when the launcher dies, and end here where it is dead already.

    A rank that is still in MPI_Init when its launcher is killed would wait there for a minute.
    """
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == 1:
        os.kill(os.getpid(), signal.SIGTERM)


def by_ranks(variable: str, arguments: Sequence[str], command: Callable[[], int]) -> int:
    """Do a command as one rank of several; its exit status. Raises Refused, on the first rank alone."""
    end_with_launcher()
    name = next((word for word in arguments if not word.startswith("-")), None)
    helps = name is None or any(word in ("-h", "--help") for word in arguments)
    try:
        if name in _TOGETHER and not helps:
            from mileage.execute.mpi.bootstrap import run_as_rank

            return run_as_rank(variable, command)
        if not is_first(os.environ):
            return 0
        if helps or name in _ALONE:
            return command()
        raise Refused(
            name,
            f"is not done by several ranks ({variable} is set)",
            advice=f"start it without the launcher. Under it: {', '.join(_TOGETHER)}",
            code="unsupported",
        )
    except Refused:
        if is_first(os.environ):
            raise
        return 2
