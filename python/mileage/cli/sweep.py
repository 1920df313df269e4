"""`mileage sweep`: a grid of virtual drives, spread over processes or MPI ranks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import WholeNumber

if TYPE_CHECKING:
    from mileage.targets.door import ResultPlace


@click.command("sweep")
@click.argument("study")
@click.option("--target", "-t", metavar="T", help="virtual:NAME; default: the study's own.")
@click.option(
    "--processes", type=WholeNumber(1), metavar="N", help="Number of processes; default: one per processor."
)
@click.option("--out", "-o", type=ResultFile("sweep-table"), metavar="FILE", help="Write the CSV to FILE.")
@click.option(
    "--counter",
    "counters",
    multiple=True,
    metavar="NAME",
    help="A counter of the drive as a column (repeatable).",
)
@click.option(
    "--chart",
    type=ResultFile("sweep-chart"),
    metavar="FILE",
    help="Draw metrics and write amplification (FILE.svg or FILE.png).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    study: str,
    target: str | None,
    processes: int | None,
    out: ResultPlace | None,
    counters: tuple[str, ...],
    chart: ResultPlace | None,
    as_json: bool,
) -> None:
    """Run STUDY once for every combination of its factors, each from a
    virtual drive of its own, and print every measured value as CSV, with
    the write amplification of its run.

    \b
    mileage sweep examples/over_provisioning.toml
    mileage sweep STUDY --counter gc_pages_moved --chart grid.png
    mpiexec -n 8 mileage sweep STUDY --out table.csv
    """
    import csv
    import io

    import msgspec

    from mileage.app.sweep import COLUMNS, columns_of, sweep
    from mileage.errors import Refused

    if chart is not None and chart.path.suffix not in (".svg", ".png"):
        raise Refused(
            f"--chart {chart.path}", advice="name a file that ends in .svg or .png", code="wrong-value"
        )
    rows = sweep(study, target=target, processes=processes, counters=counters)
    if chart is not None:
        from mileage.report.sweep_chart import sweep_picture

        factors = [name for name in columns_of(rows) if name not in (*COLUMNS, *counters)]
        picture = sweep_picture(rows, factors, f"Sweep of {Path(study).stem}")
        if picture is not None:
            chart.write(picture[0] if chart.path.suffix == ".svg" else picture[1])
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"
    else:
        sheet = io.StringIO()
        writer = csv.DictWriter(sheet, columns_of(rows), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        text = sheet.getvalue()
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write(text)
