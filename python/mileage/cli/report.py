"""`mileage report`: the page, the figures and the tables of a study folder, made again from its journal."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Write the report of a study FOLDER again and print the verdict."""
    from mileage import lab

    result = lab.load(folder)
    result.write_report()
    click.echo(result.text(width=80))
    click.echo(f"\nReport: {result.folder.report}")
