"""`mileage measure`: one measurement or one scan, without a study file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from mileage.cli.foreign_options import Command, OneNumber, one_value, whole_rate
from mileage.plan.measure_options import OPTIONS, Option

_ONE_VALUE: Final = ("workload", "record", "size", "start")
"""Options whose values have no comma."""


def _parameter(option: Option) -> click.Option:
    """An option as click has it."""
    names = [option.key, f"--{option.name}", *([f"-{option.short}"] if option.short else [])]
    if option.form == "switch":
        names[1] += f"/--no-{option.name}"
    form = option.form
    kinds: dict[str, Any] = {"whole": OneNumber(), "path": click.Path(path_type=Path)}
    kind = click.Choice(form) if isinstance(form, tuple) else kinds.get(form)
    return click.Option(
        names,
        help=option.help,
        metavar=option.unit or None,
        type=kind,
        default=False if form == "flag" else option.default,
        is_flag=form in ("flag", "switch"),
        multiple=form == "list",
        callback=whole_rate if form == "rate" else one_value if option.key in _ONE_VALUE else None,
    )


@click.command("measure", cls=Command, params=[_parameter(option) for option in OPTIONS])
def command(**given: Any) -> None:
    """Measure workload W on target T; print rate, operations, latency and
    processor time.

    No data is lost: in a directory, Mileage makes a work file and removes it;
    a file or device with content is only read, unless --destroy lists it.
    Data that is to be read is written first.

    \b
    mileage measure -t dir:/mnt/scratch -w random_read --depth 32 --for 30s
    mileage measure -t dir:/mnt/scratch --vary depth=1,2,4..64
    mileage measure -t virtual:intel-x25e-64gb -w random_write --repeat 5
    mileage measure -t block:/dev/sdb -w sequential_read --save first-look

    \b
    Workloads: sequential, random, shuffled, backward, stride[:N], fixed,
    zipf[:EXPONENT], hot_cold[:HOT/ACCESS], partly_sequential[:PERCENT], each
    with _read or _write; mix, sequential_mix, discard, trace:FILE; iometer.*,
    hdparm.*, dd.*, sqlio.*, application.*, and in a directory iozone.* and
    metadata.*: see `mileage list workloads`.
    """
    from mileage.cli.measurement import run

    run(given, sys.argv[1:])
