"""`mileage sweep`: a grid of virtual drives, spread over processes or MPI ranks."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("sweep")
@click.argument("study")
@click.option("--target", "-t", metavar="T", help="virtual:NAME; default: the study's own.")
@click.option(
    "--processes",
    type=click.IntRange(1),
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
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(study: str, target: str | None, processes: int | None, out: Path | None, as_json: bool) -> None:
    """Run STUDY once for every combination of its factors, each from a
    virtual drive of its own, and print every measured value as CSV.

    \b
    mileage sweep examples/over_provisioning.toml
    mpiexec -n 8 mileage sweep STUDY --out table.csv
    """
    import csv
    import io

    import msgspec

    from mileage.app.sweep import columns_of, sweep
    from mileage.errors import Refused

    if out is not None and out.exists():
        raise Refused(f"--out {out}", "exists", advice="name a new file", code="exists")
    rows = sweep(study, target=target, processes=processes)
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
