"""`mileage export`: all tables of a study for other programs, or the raw outputs of its cells."""

from __future__ import annotations

from pathlib import Path

import click

from mileage.cli.json_output import print_json


@click.command("export")
@click.argument("form", metavar="FORMAT", type=click.Choice(["csv", "parquet", "json", "markdown", "raw"]))
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

    FORMAT raw writes a file for each run of cells that are named after a tool
    (metarates.*, iozone.*, ior.*, mdtest.*, hdparm.*, dd.*, sqlio.*, iometer.*),
    in the layout of that tool: CELL.STAGE.RUN.txt, of iozone.* a worksheet too.

    \b
    mileage export csv mileage-degradation-1
    mileage export parquet study-1 --out tables
    mileage export raw x25e-2010-1
    """
    place = out or Path(f"{folder.absolute().name}-{form}")
    files, missing = (_raw if form == "raw" else _tables)(form, folder, place)
    for sentence in missing:
        click.echo(sentence, err=True)
    if as_json:
        sizes = [{"file": str(file), "bytes": file.stat().st_size} for file in files]
        print_json({"folder": str(place), "files": sizes, "missing": list(missing)})
        return
    for file in files:
        click.echo(f"{file}  {file.stat().st_size:,} bytes")


def _tables(form: str, folder: Path, place: Path) -> tuple[list[Path], list[str]]:
    """Write the tables of a study; the files, and sentences on what is missing."""
    from mileage.app.export_tables import exported_tables
    from mileage.store.export_folder import write_tables

    title, tables, missing = exported_tables(folder)
    return write_tables(form, tables, place, title=title, missing=missing), missing


def _raw(_form: str, folder: Path, place: Path) -> tuple[list[Path], list[str]]:
    """Write the raw outputs of a study; the files, and sentences on what is missing."""
    from mileage.dropin.tool_texts import raw_outputs
    from mileage.store.export_folder import write_files

    found = raw_outputs(folder)
    return write_files(found.files, found.readme, place), found.missing
