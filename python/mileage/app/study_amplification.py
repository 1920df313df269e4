"""The write amplification of a study: what its drives programmed over what the host wrote.

Scope: all finished runs that counted both, pooled.
What it refuses: a study without such counters.
"""

from __future__ import annotations

from pathlib import Path

from mileage.errors import Refused
from mileage.model.write_amplification import FLASH, HOST
from mileage.store import StudyFolder


def study_amplification(folder: Path) -> float:
    """Bytes programmed over bytes written, of all runs of a study folder together.

    Raises Refused for a folder that is no study, and for one whose runs did not count both.
    """
    runs = StudyFolder.open(folder).content(around_damage=True).runs()
    counted = [run.record.counters for run in runs if FLASH in run.record.counters]
    host = sum(counters.get(HOST, 0) for counters in counted)
    if not host:
        raise Refused(
            folder,
            "its runs did not count what the drive programmed, so that it has no write amplification",
            expected="a study of writes on a virtual drive, or --wa",
            code="unsupported",
        )
    return sum(counters[FLASH] for counters in counted) / host
