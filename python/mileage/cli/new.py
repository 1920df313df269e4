"""`mileage new`: a commented study file, or data sheet, to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command("new")
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY")
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="")
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="T",
    help="Target of the study; given twice, the two are compared; default: a virtual drive.",
)
@click.option("--like", metavar="NAME", help="Start from a built-in study (mileage list studies).")
def command(study: Path, file: Path | None, targets: tuple[str, ...], like: str | None) -> None:
    """Write a commented study file, STUDY, that is valid as it is written; or,
    with `datasheet FILE`, a commented data sheet of a drive that you own.
    An existing file is never overwritten.

    \b
    mileage new my-disk.toml -t /mnt/ssd
    mileage new ext4-or-xfs.toml -t /mnt/ext4 -t /mnt/xfs
    mileage new my-drives.toml --like drives
    mileage new datasheet my-drive.toml
    """
    if file is not None or str(study) == "datasheet":
        _write_data_sheet(study, file, targets, like)
        return
    from mileage.app.new_study import write_new_study
    from mileage.cli.target_choice import chosen_target

    write_new_study(study, like=like, targets=[chosen_target(target) for target in targets])
    path = shlex.quote(str(study))
    click.echo(f"{study} is written. To see its plan: `mileage plan {path}`. To run it: `mileage run {path}`")


def _write_data_sheet(word: Path, file: Path | None, targets: tuple[str, ...], like: str | None) -> None:
    from mileage.app.new_study import write_new_data_sheet

    if str(word) != "datasheet":
        raise click.UsageError(
            f"found {word} {file}; expected STUDY, or: mileage new datasheet {shlex.quote(str(file))}"
        )
    if file is None:
        raise click.UsageError("the file is missing: mileage new datasheet my-drive.toml")
    if targets or like is not None:
        raise click.UsageError(f"{'--target' if targets else '--like'} is for studies, not for data sheets")
    write_new_data_sheet(file)
    path = shlex.quote(str(file))
    click.echo(
        f"{file} is written: fill in what the maker states. "
        f"To check and print it: mileage list datasheets --show {path}"
    )
