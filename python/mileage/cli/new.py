"""`mileage new`: a commented study file to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command("new")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--target", "-t", metavar="T", help="Target of the study; default: a virtual drive.")
@click.option("--like", metavar="NAME", help="Start from a built-in study (mileage list studies).")
def command(study: Path, target: str | None, like: str | None) -> None:
    """Write a commented study file, STUDY, that is valid as it is written.
    An existing file is never overwritten.

    \b
    mileage new my-disk.toml -t /mnt/ssd
    mileage new my-drives.toml --like drives
    """
    from mileage.app.new_study import write_new_study
    from mileage.cli.target_choice import optional_target

    write_new_study(study, like=like, target=optional_target(target))
    path = shlex.quote(str(study))
    click.echo(f"{study} is written. What it would do: mileage plan {path}. To do it: mileage run {path}")
