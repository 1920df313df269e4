"""`mileage mpirun`: see `task_tools`, which the drop-in commands of several tasks share."""

from __future__ import annotations

from mileage.dropin.task_tools import run_mpirun as run

__all__ = ["run"]
