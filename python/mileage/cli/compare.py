"""`mileage compare`: two stages of one study, one stage of two studies, or a published table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mileage.judge import CellVerdict


@click.command("compare")
@click.argument("studies", nargs=-1, metavar="A B [C ...]")
@click.option(
    "--stage", default=None, metavar="NAME", help="Stage that two studies are compared at; default: the last."
)
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Judge a published table instead of A and B.",
)
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="CSV", help="A second print of some of its cells."
)
@click.option("--runs", type=int, metavar="N", help="Runs behind each of the table's cells; default: 10.")
@click.option(
    "--margin", type=float, metavar="PERCENT", help="Difference that counts as none, in percent; default: 2."
)
@click.option("--history", is_flag=True, help="The studies are of one target over time: where did it change?")
@click.option(
    "--fail-if",
    metavar="RULE",
    help='Exit with 1 if any cell is "slower", "faster" or "different", or so by more: "slower > 5%".',
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(
    studies: tuple[str, ...],
    stage: str | None,
    table: Path | None,
    against: Path | None,
    runs: int | None,
    margin: float | None,
    history: bool,
    fail_if: str | None,
    as_json: bool,
) -> None:
    """Compare A with B: two study folders, or two stages written FOLDER:STAGE;
    one folder alone is compared as its plan says;
    rank three or more; find where a history of studies of one target changed;
    or judge a published table again: of differences and standard deviations,
    or of both arms' means and standard deviations.

    \b
    mileage compare study-1:before study-1:after
    mileage compare study-1                   what its own plan compares
    mileage compare study-1 study-2 --fail-if "slower > 5%"
    mileage compare disk sata nvme            a ranking, with ties
    mileage compare --history nightly-*       in the order given
    mileage compare --table published.csv --runs 10
    """
    if table is not None:
        if studies or stage is not None or history:
            raise click.UsageError("--table judges a file: leave out studies, --stage and --history")
        _table(table, against, runs, margin, fail_if, as_json)
        return
    options = (("against", against), ("runs", runs), ("margin", margin))
    given = [name for name, value in options if value is not None]
    if given:
        raise click.UsageError(f"--{given[0]} belongs to --table")
    if history or len(studies) > 2:
        if fail_if is not None:
            raise click.UsageError("--fail-if needs two studies or a table: a ranking has no slower")
        _many(studies, stage, history, as_json)
        return
    if not studies:
        raise click.UsageError("name two studies or stages to compare, or give --table CSV")
    if len(studies) == 1 and stage is not None:
        raise click.UsageError("--stage belongs to two studies: one is compared as its plan says")
    _studies(studies, stage, fail_if, as_json)


def _many(studies: tuple[str, ...], stage: str | None, history: bool, as_json: bool) -> None:
    from mileage import lab
    from mileage.report.many import history_text, ranking_text

    if history:
        changes = lab.history(studies, stage=stage)
        if as_json:
            _print_json(changes)
        else:
            click.echo(history_text(changes, studies), nl=False)
        return
    ranks = lab.rank(studies, stage=stage)
    if as_json:
        _print_json(ranks)
    else:
        click.echo(ranking_text(ranks), nl=False)


def _studies(studies: tuple[str, ...], stage: str | None, fail_if: str | None, as_json: bool) -> None:
    from mileage import lab
    from mileage.judge import verdict_sentence
    from mileage.report import comparison_table

    rule = None if fail_if is None else _rule(fail_if)
    comparison = (
        lab.load(studies[0]).comparison() if len(studies) == 1 else lab.compare(*studies, stage=stage)
    )
    if as_json:
        _print_json(comparison)
    else:
        _say(verdict_sentence(comparison))
        click.echo(comparison_table(comparison, width=80))
    _gate(rule, [(_name(cell), cell.verdict, _change(cell)) for cell in comparison.cells])


def _name(cell: CellVerdict) -> str:
    return cell.cell if cell.metric.startswith(("rate", "ops")) else f"{cell.cell}, {cell.metric}"


def _change(cell: CellVerdict) -> float:
    """By how much the candidate differs from the baseline, as a share of it; 0 where that is not known."""
    return 0.0 if cell.ratio is None else abs(cell.ratio - 1)


def _table(
    table: Path,
    against: Path | None,
    runs: int | None,
    margin: float | None,
    fail_if: str | None,
    as_json: bool,
) -> None:
    from mileage.errors import Refused
    from mileage.formats.published import prints_arms, read_published
    from mileage.judge.published import PublishedCell, reanalyse
    from mileage.report.published import published_text

    rule = None if fail_if is None else _rule(fail_if)
    if prints_arms(table):
        if against is not None:
            raise Refused(f"--against is for tables of differences; {table} prints both arms")
        _printed(table, 10 if runs is None else runs, margin, rule, as_json)
        return
    if rule is not None and rule[1]:
        raise Refused(
            f'--fail-if "{fail_if}": a published table is judged by its --margin; expected {rule[0]}'
        )
    columns, cells = read_published(table)
    other: tuple[str, ...] = columns
    second: tuple[PublishedCell, ...] = ()
    if against is not None:
        other, second = read_published(against)
    if other != columns:
        raise Refused(f"{against} names its cells by {', '.join(other)}; {table} by {', '.join(columns)}")
    try:
        found = reanalyse(
            cells,
            columns=columns,
            runs=10 if runs is None else runs,
            margin_percent=2.0 if margin is None else margin,
            against=second,
        )
    except ValueError as cause:
        raise Refused(f"{table}: {cause}") from cause
    if as_json:
        _print_json(found)
    else:
        click.echo(published_text(found), nl=False)
    names = (" ".join(cell.keys) for cell in found.cells)
    verdicts = (cell.verdict for cell in found.assumptions[0].cells)
    _gate(rule, [(name, verdict, 0.0) for name, verdict in zip(names, verdicts, strict=True)])


def _printed(
    table: Path, runs: int, margin: float | None, rule: tuple[str, float] | None, as_json: bool
) -> None:
    from mileage.errors import Refused
    from mileage.formats.published import read_arms
    from mileage.judge import verdict_sentence
    from mileage.judge.printed import compare_printed
    from mileage.report import comparison_table

    cells = read_arms(table, runs)
    try:
        found = compare_printed(cells, relevance=None if margin is None else margin / 100)
    except ValueError as cause:
        raise Refused(f"{table}: {cause}") from cause
    if as_json:
        _print_json(found)
    else:
        _say(verdict_sentence(found))
        click.echo(comparison_table(found, width=80))
    _gate(rule, [(_name(cell), cell.verdict, _change(cell)) for cell in found.cells])


def _say(sentence: str) -> None:
    import textwrap

    click.echo(textwrap.fill(sentence, 80, break_on_hyphens=False) + "\n")


def _print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _rule(text: str) -> tuple[str, float]:
    """The verdict of a rule, and the share that its change must exceed: "slower > 5%" is slower by more than 0.05.

    Raises UsageError.
    """
    import re

    found = re.fullmatch(
        r"\s*(slower|faster|different)\s*(?:>\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%\s*)?", text
    )
    if found is None:
        raise click.UsageError(
            f'--fail-if {text!r}: expected "slower", "faster" or "different", or for example "slower > 5%"'
        )
    return found[1], float(found[2] or 0) / 100


def _gate(rule: tuple[str, float] | None, cells: list[tuple[str, str, float]]) -> None:
    """Exit with 1 when a cell has the verdict that the user asked to be told of, by more than was asked."""
    from mileage.errors import JudgedFailure

    if rule is None:
        return
    word, more_than = rule
    wanted = {"faster", "slower"} if word == "different" else {word}
    found = [
        name for name, verdict, change in cells if verdict in wanted and (not more_than or change > more_than)
    ]
    if found:
        by = f" by more than {100 * more_than:.6g} %" if more_than else ""
        raise JudgedFailure(f"{len(found)} of {len(cells)} cells are {word}{by}: {found[0]} first")
