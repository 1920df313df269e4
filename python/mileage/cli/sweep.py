"""`mileage sweep`: a grid of virtual drives, spread over processes or MPI ranks."""

from __future__ import annotations

from pathlib import Path

import click

from mileage.cli.value_types import WholeNumber


@click.command("sweep")
@click.argument("study")
@click.option("--target", "-t", metavar="T", help="virtual:NAME; default: the study's own.")
@click.option(
    "--processes",
    type=WholeNumber(1),
    metavar="N",
    help="Number of processes; default: one per processor.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the CSV to FILE.",
)
@click.option(
    "--counter",
    "counters",
    multiple=True,
    metavar="NAME",
    help="A counter of the drive as a column (repeatable).",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw metrics and write amplification (FILE.svg or FILE.png).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    study: str,
    target: str | None,
    processes: int | None,
    out: Path | None,
    counters: tuple[str, ...],
    chart: Path | None,
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

    for option, path in (("--out", out), ("--chart", chart)):
        if path is not None and path.exists():
            raise Refused(f"{option} {path}", "exists", advice="name a new file", code="exists")
    if chart is not None and chart.suffix not in (".svg", ".png"):
        raise Refused(f"--chart {chart}", advice="name a file that ends in .svg or .png", code="wrong-value")
    rows = sweep(study, target=target, processes=processes, counters=counters)
    if chart is not None:
        from mileage.report.sweep_chart import sweep_picture

        factors = [name for name in columns_of(rows) if name not in (*COLUMNS, *counters)]
        picture = sweep_picture(rows, factors, f"Sweep of {Path(study).stem}")
        if picture is not None:
            chart.write_bytes(picture[0].encode() if chart.suffix == ".svg" else picture[1])
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
        out.write_text(text, encoding="utf-8")
