"""`mileage list`: what this version has."""

from __future__ import annotations

import click


@click.command("list")
@click.argument("what", type=click.Choice(["studies", "workloads", "drives"]))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(what: str, as_json: bool) -> None:
    """List the built-in studies, workloads or drives."""
    from mileage import lab

    rows = lab.listing(what)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['title']}")
