"""`mileage export`: all tables of a study for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from mileage.cli.json_output import print_json


@click.command("export")
@click.argument("form", metavar="FORMAT", type=click.Choice(["csv", "parquet", "json", "markdown"]))
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="The new folder; default: DIR-FORMAT here.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the names and sizes of the files as JSON.")
def command(form: str, folder: Path, out: Path | None, as_json: bool) -> None:
    """Write every table of a study folder DIR as csv, parquet, json or
    markdown: one file per table in a new folder, with a README that explains
    each column. Unfinished and damaged studies can be exported too.

    \b
    mileage export csv mileage-degradation-1
    mileage export parquet study-1 --out tables
    """
    from mileage.app.export_tables import exported_tables
    from mileage.store.export_folder import write_tables

    title, tables, missing = exported_tables(folder)
    place = out or Path(f"{folder.absolute().name}-{form}")
    files = write_tables(form, tables, place, title=title, missing=missing)
    for sentence in missing:
        click.echo(sentence, err=True)
    if as_json:
        sizes = [{"file": str(file), "bytes": file.stat().st_size} for file in files]
        print_json({"folder": str(place), "files": sizes, "missing": list(missing)})
        return
    for file in files:
        click.echo(f"{file}  {file.stat().st_size:,} bytes")
