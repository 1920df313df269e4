"""`mileage mpirun`: see `crew`, which the faces of several tasks share."""

from __future__ import annotations

from mileage.tools.crew import run_mpirun as run

__all__ = ["run"]
