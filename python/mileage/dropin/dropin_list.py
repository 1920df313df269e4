"""The drop-in commands: the module of each tool, loaded on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from mileage.dropin.flags import Tool

TOOLS: Final = {
    "fio": "mileage.dropin.fio_flags",
    "iozone": "mileage.dropin.iozone_flags",
    "ior": "mileage.dropin.task_flags",
    "mdtest": "mileage.dropin.task_flags",
    "metarates": "mileage.dropin.task_flags",
    "mpirun": "mileage.dropin.task_flags",
    "iometer": "mileage.dropin.iometer_flags",
    "hdparm": "mileage.dropin.hdparm_flags",
    "dd": "mileage.dropin.dd_flags",
}
"""Each drop-in command and the module that holds its tool, under the same name in capitals."""


def tool_named(name: str) -> Tool:
    """The tool of a drop-in command."""
    tool: Tool = getattr(import_module(TOOLS[name]), name.upper())
    return tool


def tools() -> tuple[Tool, ...]:
    """All of them."""
    return tuple(tool_named(name) for name in TOOLS)
