"""fio's logs over time as fio 2 writes them: those of fio 3, with latencies in microseconds.

Scope: what `fio_logs` does. The files do not say which fio wrote them: the layout is named by the user.
What it refuses: what `fio_logs` does.
"""

from __future__ import annotations

from typing import Final

from mileage.formats import fio_logs
from mileage.formats.input_file import Source
from mileage.formats.result import Result

LAYOUT: Final = "fio2-logs"
UNIT_NS: Final = 1000


def knows(source: Source) -> bool:
    """Never: nothing in a file distinguishes it from one of fio 3."""
    return False


def read(source: Source) -> Result:
    """The run of one log alone. Raises Refused when no line is understood."""
    return fio_logs.read_group([source], UNIT_NS)
