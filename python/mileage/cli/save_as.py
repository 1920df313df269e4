"""`mileage save-as`: all tables of a study for other programs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("save-as")
@click.argument("form", metavar="FORMAT", type=click.Choice(["csv", "parquet", "json", "markdown"]))
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="The new folder; default: DIR-FORMAT here.",
)
def command(form: str, folder: Path, out: Path | None) -> None:
    """Save every table of a study folder DIR as csv, parquet, json or
    markdown: one file per table in a new folder, with a README that says
    what each column is. Also of an unfinished or damaged study.

    \b
    mileage save-as csv mileage-degradation-1
    mileage save-as parquet study-1 --out tables
    """
    from mileage.app.export_tables import saved_tables
    from mileage.store.export_folder import save_as

    title, tables, missing = saved_tables(folder)
    place = out or Path(f"{folder.absolute().name}-{form}")
    files = save_as(form, tables, place, title=title, missing=missing)
    for sentence in missing:
        click.echo(sentence, err=True)
    for file in files:
        click.echo(f"{file}  {file.stat().st_size:,} bytes")
