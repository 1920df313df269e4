"""`mileage compare`: two stages of one study, or one stage of two studies."""

from __future__ import annotations

import click


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.option(
    "--stage", default=None, metavar="NAME", help="Stage that two studies are compared at; default: the last."
)
@click.option(
    "--fail-if", type=click.Choice(["slower", "faster", "different"]), help="Exit with 1 if any cell is so."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(a: str, b: str, stage: str | None, fail_if: str | None, as_json: bool) -> None:
    """Compare A with B: two study folders, or two stages written FOLDER:STAGE.

    \b
    mileage compare study-1:before study-1:after
    mileage compare study-1 study-2 --fail-if slower
    """
    from mileage import lab
    from mileage.errors import JudgedFailure
    from mileage.judge import verdict_sentence
    from mileage.report import comparison_table

    comparison = lab.compare(a, b, stage=stage)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2))
    else:
        click.echo(verdict_sentence(comparison) + "\n")
        click.echo(comparison_table(comparison, width=80))
    if fail_if:
        wanted = {"faster", "slower"} if fail_if == "different" else {fail_if}
        found = [cell for cell in comparison.cells if cell.verdict in wanted]
        if found:
            raise JudgedFailure(
                f"{len(found)} of {len(comparison.cells)} cells are {fail_if}: {found[0].cell} first"
            )
