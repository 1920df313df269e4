"""`mileage new`: a commented study file to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command("new")
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="T",
    help="Target of the study; given twice, the two are compared; default: a virtual drive.",
)
@click.option("--like", metavar="NAME", help="Start from a built-in study (mileage list studies).")
def command(study: Path, targets: tuple[str, ...], like: str | None) -> None:
    """Write a commented study file, STUDY, that is valid as it is written.
    An existing file is never overwritten.

    \b
    mileage new my-disk.toml -t /mnt/ssd
    mileage new ext4-or-xfs.toml -t /mnt/ext4 -t /mnt/xfs
    mileage new my-drives.toml --like drives
    """
    from mileage.app.new_study import write_new_study
    from mileage.cli.target_choice import chosen_target

    write_new_study(study, like=like, targets=[chosen_target(target) for target in targets])
    path = shlex.quote(str(study))
    click.echo(f"{study} is written. What it would do: mileage plan {path}. To do it: mileage run {path}")
