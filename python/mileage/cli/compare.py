"""`mileage compare`: two stages of one study, one stage of two studies, or a published table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mileage.cli.value_types import Number, WholeNumber

if TYPE_CHECKING:
    from mileage.judge import Comparison
    from mileage.judge.gate_rules import RuleResult


@click.command("compare")
@click.argument("studies", nargs=-1, metavar="A B [C ...]")
@click.option(
    "--stage", default=None, metavar="NAME", help="Stage to compare in both studies; default: the last."
)
@click.option(
    "--workloads",
    type=(str, str),
    metavar="BASELINE CANDIDATE",
    help="Compare two workloads of one study with each other, such as write rewrite.",
)
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Judge a published table instead of A and B.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="With --table: a second table of some of its cells.",
)
@click.option(
    "--runs", type=WholeNumber(), metavar="N", help="With --table: runs behind each cell; default: 10."
)
@click.option(
    "--margin",
    type=Number(),
    metavar="PERCENT",
    help="With --table: smallest relevant difference; default: 2.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="With --table or --published: write the page, figures and tables into a new folder.",
)
@click.option(
    "--published",
    metavar="NAME",
    help="Compare one study with what its source printed: x25e-2010, sandforce-2011, qmul-2017, anandtech-2009, or a "
    "CSV file.",
)
@click.option("--history", is_flag=True, help="Judge the last study against the level of those before.")
@click.option(
    "--spread",
    multiple=True,
    metavar="FOLDER",
    help="Other sessions of the target, which show how much sessions differ; may be given several times.",
)
@click.option(
    "--fail-if",
    "rules",
    multiple=True,
    metavar="RULE",
    help='Exit with 1 if any test is "slower", "faster", "different" or "undecided", "slower > 5%", or '
    '"not shown within 5%"; "p99 slower" or "CELLS: slower" for some. May be given several times.',
)
@click.option(
    "--allow-missing", is_flag=True, help="With --fail-if: accept tests that only the baseline has."
)
@click.option(
    "--allow-unjudged",
    is_flag=True,
    help="With --fail-if: exit with 0 where a rule cannot be judged, and none is broken; otherwise with 4.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, as --format json does.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "github", "markdown", "junit")),
    default="text",
    help="Form of the output; github, markdown and junit are for pipelines.",
)
def command(
    studies: tuple[str, ...],
    stage: str | None,
    workloads: tuple[str, str] | None,
    table: Path | None,
    against: Path | None,
    runs: int | None,
    margin: float | None,
    out: Path | None,
    published: str | None,
    history: bool,
    spread: tuple[str, ...],
    rules: tuple[str, ...],
    allow_missing: bool,
    allow_unjudged: bool,
    as_json: bool,
    form: str,
) -> None:
    """Compare A with B: two study folders, or two stages written FOLDER:STAGE.

    With one folder: the comparison of its own plan, or with --workloads of two
    workloads that it measured. A folder of studies of one target is a side with
    the sessions of all of them. With three or more: a ranking. With --history: the
    last one against the level of those before it. With --table: judge a published
    table of means, or of differences, with standard deviations.

    \b
    mileage compare study-1:before study-1:after
    mileage compare study-1                   as its plan says
    mileage compare study-1 --workloads write rewrite
    mileage compare study-1 study-2 --fail-if "slower > 5%"
    mileage compare study-1 study-2 --fail-if "p99 slower > 10%" --format github
    mileage compare disk sata nvme            a ranking, with ties
    mileage compare --history nightly-* --fail-if slower
    mileage compare --table published.csv --runs 10
    mileage compare study-1 --published x25e-2010 --out published
    """
    if as_json and form not in ("text", "json"):
        raise click.UsageError(f"--json and --format {form}: one of them")
    gate = _Gate(rules, allow_missing, allow_unjudged, "json" if as_json else form)
    for option, value in (("--allow-missing", allow_missing), ("--allow-unjudged", allow_unjudged)):
        if value and not rules:
            raise click.UsageError(f"{option} belongs to --fail-if")
    if table is not None:
        if studies or stage is not None or history or spread or workloads is not None:
            raise click.UsageError("--table judges a file: remove studies, --stage, --workloads, --history")
        _table(table, against, runs, margin, out, gate)
        return
    if published is not None:
        others = (stage, workloads, history, spread, against, runs, margin)
        _published(studies, published, out, gate, alone=not any(others))
        return
    _check_options(against=against, runs=runs, margin=margin, out=out)
    if spread and (workloads is not None or history or len(studies) != 2):
        raise click.UsageError("--spread belongs to two studies of one session each")
    if workloads is not None:
        if history or len(studies) != 1:
            raise click.UsageError("--workloads compares two workloads of one study: give one folder")
        _workloads(studies[0], workloads, stage, gate)
        return
    if history or len(studies) > 2:
        (_history if history else _ranking)(studies, stage, gate)
        return
    if not studies:
        raise click.UsageError("name two studies or stages to compare, or give --table CSV")
    if len(studies) == 1 and stage is not None:
        raise click.UsageError("--stage belongs to two studies: one is compared as its plan says")
    _studies(studies, stage, spread, gate)


def _check_options(**options: object) -> None:
    """Raises UsageError for an option of a table that is given without one."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        page = "; `mileage report A B --out NEW` writes the page of two studies" if given[0] == "out" else ""
        raise click.UsageError(f"--{given[0]} belongs to --table{page}")


class _Gate:
    """Conditions that fail a pipeline, and the format of the output."""

    def __init__(self, rules: Sequence[str], allow_missing: bool, allow_unjudged: bool, form: str) -> None:
        """Raises UsageError for what is no rule."""
        from mileage.judge.gate_rules import parse_rule
        from mileage.report.gate_output import EXPECTED

        try:
            self.rules = [parse_rule(text) for text in rules]
        except ValueError as cause:
            raise click.UsageError(f"--fail-if {cause}: {EXPECTED}") from cause
        self.allow_missing = allow_missing
        self.allow_unjudged = allow_unjudged
        self.form = form

    def conclude(self, comparison: Comparison) -> None:
        """Print a comparison, and end as the rules say: see `end`. Raises Refused for a rule about no cell of it."""
        self.show(comparison)
        self.end(comparison)

    def show(self, comparison: Comparison) -> None:
        """Print a comparison. Raises Refused for a rule about no cell of it."""
        import msgspec

        from mileage.report.gate_output import FORMATS, compared_text
        from mileage.terminal import report_width, say

        missing, results = self._missing(comparison), self._results(comparison)
        if self.form == "json":
            values = msgspec.structs.asdict(comparison)
            _print_json({**values, "gate": results} if results else comparison)
        elif self.form == "text":
            say(compared_text(comparison, results, width=report_width()))
        else:
            click.echo(FORMATS[self.form](comparison, results, missing), nl=False)

    def end(self, comparison: Comparison) -> None:
        """End as the rules say of a printed comparison.

        Raises:
            JudgedFailure: a rule is broken, or a test of the baseline is missing.
            NoJudgement: none is broken, but one cannot be judged.
        """
        from mileage.errors import JudgedFailure, NoJudgement

        results, missing = self._results(comparison), self._missing(comparison)
        broken, unjudged = self._counts(results, "broken"), self._counts(results, "cannot be judged")
        if missing:
            names = ", ".join(missing)
            broken.append(f"missing from the candidate: {names} (--allow-missing accepts that)")
        if broken:
            raise JudgedFailure("; ".join([*broken, *unjudged]))
        if unjudged and not self.allow_unjudged:
            raise NoJudgement(f"{'; '.join(unjudged)} (--allow-unjudged accepts that)")

    def _missing(self, comparison: Comparison) -> Sequence[str]:
        return () if self.allow_missing or not self.rules else comparison.only_baseline

    def _results(self, comparison: Comparison) -> list[RuleResult]:
        from mileage.errors import Refused
        from mileage.judge.gate_rules import results_of

        try:
            return [result for rule in self.rules for result in results_of(rule, comparison)]
        except ValueError as cause:
            raise Refused("--fail-if", str(cause), code="wrong-value") from cause

    def _counts(self, results: Sequence[RuleResult], outcome: str) -> list[str]:
        """For each rule with this outcome in some tests, how many they are, and the first."""
        from mileage.report.wording import row_name

        found = []
        for rule in self.rules:
            own = [result for result in results if result.rule == rule]
            these = [result for result in own if result.outcome == outcome]
            if these:
                verb = "is broken" if outcome == "broken" else outcome
                first = f": {row_name(these[0].cell)}{' first' if len(these) > 1 else ''}"
                found.append(f'the rule "{rule.text}" {verb} in {len(these)} of {len(own)} tests{first}')
        return found


def _workloads(study: str, workloads: tuple[str, str], stage: str | None, gate: _Gate) -> None:
    from mileage.app.multi_study import compare_workloads

    gate.conclude(compare_workloads(study, workloads, stage=stage))


def _history(studies: tuple[str, ...], stage: str | None, gate: _Gate) -> None:
    from mileage import app

    gate.conclude(app.history(studies, stage=stage, warn=_warn))


def _ranking(studies: tuple[str, ...], stage: str | None, gate: _Gate) -> None:
    from mileage import app
    from mileage.report.multi_study import ranking_text

    if gate.rules:
        raise click.UsageError("--fail-if needs two studies or a table: a ranking has no slower")
    if gate.form not in ("text", "json"):
        raise click.UsageError(
            f"--format {gate.form} needs two studies: a ranking is printed as text or json"
        )
    as_json = gate.form == "json"
    ranks = app.rank(studies, stage=stage, warn=_warn)
    if as_json:
        _print_json(ranks)
    else:
        click.echo(ranking_text(ranks), nl=False)


def _warn(text: str) -> None:
    click.echo(text, err=True)


def _studies(studies: tuple[str, ...], stage: str | None, spread: tuple[str, ...], gate: _Gate) -> None:
    from mileage import app

    gate.conclude(
        app.load(studies[0]).comparison()
        if len(studies) == 1
        else app.compare(*studies, stage=stage, spread=spread, warn=_warn)
    )


def _published(studies: tuple[str, ...], name: str, out: Path | None, gate: _Gate, *, alone: bool) -> None:
    """Compare a study with the printed results of its source."""
    from mileage.app.published_results import compare_published
    from mileage.report.published_results import published_results_text
    from mileage.terminal import report_width

    if len(studies) != 1:
        raise click.UsageError("--published compares one study: give its folder")
    if not alone:
        raise click.UsageError(
            "--published: remove --stage, --workloads, --history, --against, --runs and --margin"
        )
    if gate.rules or gate.form not in ("text", "json"):
        raise click.UsageError("--published is printed as text or json, and has no --fail-if")
    found = compare_published(studies[0], name)
    if out is not None:
        from mileage.app.comparison_report import new_folder
        from mileage.app.report_level import rewritten_level
        from mileage.report.published_results_page import write_published_results

        with new_folder(out) as folder:
            write_published_results(found, folder, drawn=rewritten_level(None) == "full")
    if gate.form == "json":
        _print_json(found)
        return
    click.echo(published_results_text(found, report_width()), nl=False)
    if out is not None:
        click.echo(f"\nReport: {out / 'report.html'}")


def _table(
    table: Path,
    against: Path | None,
    runs: int | None,
    margin: float | None,
    out: Path | None,
    gate: _Gate,
) -> None:
    from mileage.app.published_means_report import judged_table, printed_view

    count = 10 if runs is None else runs
    cells, found = judged_table(table, against, count, margin)
    page = None
    if out is not None:
        from mileage.app.comparison_report import write_pair

        margins = [] if margin is None else ["--margin", f"{margin:g}"]
        seconds = [] if against is None else ["--against", str(against)]
        options = ["--runs", str(count), *margins, *seconds, "--out", str(out)]
        page = write_pair(printed_view(table, cells, found, options), out)
    gate.show(found)
    if page is not None:
        click.echo(f"\nReport: {page}", err=gate.form != "text")
    gate.end(found)


def _print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
