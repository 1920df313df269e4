"""Ranges of the plain options of a study, as types: msgspec refuses what is outside, and the JSON schema shows them.

Scope: each range once. What needs more than one number is a rule of `study_checks`, or of the core.
A value is checked where it becomes part of a study (`conversion`).
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from mileage.plan.load_model import OPERATIONS_PER_S_MAX
from mileage.plan.rules import U32_MAX
from mileage.plan.workload import DEPTH_MAX, THREADS_MAX

WHOLE_MAX: Final = 2**63 - 1
CYCLES_MAX: Final = 1000
BLOCKS_MAX: Final = 10_000
ROUNDS_MAX: Final = 10_000
CPUS_MAX: Final = 4096

Whole = Annotated[int, Meta(ge=0, le=WHOLE_MAX)]
Count = Annotated[int, Meta(ge=1, le=WHOLE_MAX)]
Percent = Annotated[int, Meta(ge=0, le=100)]
SharePercent = Annotated[int, Meta(ge=1, le=100)]
Threads = Annotated[int, Meta(ge=1, le=THREADS_MAX)]
Depth = Annotated[int, Meta(ge=1, le=DEPTH_MAX)]
Cycles = Annotated[int, Meta(ge=1, le=CYCLES_MAX)]
Blocks = Annotated[int, Meta(ge=1, le=BLOCKS_MAX)]
Rounds = Annotated[int, Meta(ge=1, le=ROUNDS_MAX)]
Generation = Annotated[int, Meta(ge=0, le=U32_MAX)]
Burst = Annotated[int, Meta(ge=1, le=U32_MAX)]
Rate = Annotated[int, Meta(ge=1, le=OPERATIONS_PER_S_MAX)]
"""Operations per second."""
TaskDistance = Annotated[int, Meta(ge=0, le=THREADS_MAX - 1)]
Processor = Annotated[int, Meta(ge=0, le=CPUS_MAX - 1)]
Fraction = Annotated[float, Meta(gt=0, lt=1)]
"""A share as a number: 0.02 is 2 %."""
