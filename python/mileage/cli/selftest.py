"""`mileage selftest`: what the judgement does when the truth is known."""

from __future__ import annotations

import click

from mileage.cli.json_output import print_json
from mileage.cli.value_types import WholeNumber

_NAME_WIDTH = 42


@click.command("selftest")
@click.option("--quick", is_flag=True, help="200 studies instead of 1,000.")
@click.option("--studies", type=WholeNumber(), metavar="N", help="Number of studies, at least 50.")
@click.option(
    "--seed",
    type=WholeNumber(),
    default=2010,
    show_default=True,
    metavar="N",
    help="Seed of all random choices.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(quick: bool, studies: int | None, seed: int, as_json: bool) -> None:
    """Judge simulated studies whose truth is known, and print the share of false
    alarms, the coverage of the intervals and the share of changes of level
    that are found, each with its exact binomial interval. Exit status 1 if a
    promise is broken.
    """
    from mileage.app.selftest import STUDIES, STUDIES_QUICK, Share, selftest
    from mileage.errors import JudgedFailure

    if quick and studies is not None:
        raise click.UsageError("--quick is --studies 200: give one of them")

    def on_share(share: Share) -> None:
        low, high = share.interval
        promised = f"{share.low:.0%} to {share.high:.0%}"
        verdict = "" if share.kept else "  BROKEN"
        if len(share.name) > _NAME_WIDTH:
            click.echo(share.name)
        name = share.name if len(share.name) <= _NAME_WIDTH else ""
        click.echo(f"{name:<42}{share.share:>7.1%}  {low:>6.1%} to {high:>6.1%} {promised:>13}{verdict}")

    count = studies if studies is not None else STUDIES_QUICK if quick else STUDIES
    if not as_json:
        click.echo(f"{count} studies and as many series of each kind, seed {seed}\n")
        click.echo(f"{'':<42}{'share':>7}  {'95 % interval':>16} {'promised':>13}")
    found = selftest(studies=count, seed=seed, on_share=None if as_json else on_share)
    if as_json:
        import msgspec

        rows = [
            {
                **msgspec.structs.asdict(share),
                "share": share.share,
                "interval": share.interval,
                "kept": share.kept,
            }
            for share in found.shares
        ]
        print_json({"seed": found.seed, "studies": found.studies, "shares": rows})
    else:
        click.echo(
            f"\n{len(found.shares)} rows; BROKEN is printed beyond the chance that all of them together leave (5 %)."
        )
    if not found.kept:
        broken = next(share for share in found.shares if not share.kept)
        raise JudgedFailure(
            f"{broken.name}: {broken.share:.1%}, promised {broken.low:.0%} to {broken.high:.0%}"
        )
