"""Published rates of virtual drives and arrays, simulated and fitted to: `mileage drive rates`, `fit`, and others."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import WholeNumber

if TYPE_CHECKING:
    from mileage.targets.door import ResultPlace


@click.command("rates", short_help="Published rates against simulation.")
@click.argument("drives", nargs=-1, metavar="[DRIVE]...")
@click.option("--held-out", is_flag=True, help="Only the rates that were held out of every fit.")
@click.option("--page", type=ResultFile("rates-page"), metavar="FILE", help="Write Markdown, too.")
@click.option("--processes", type=WholeNumber(1), metavar="N", help="Processes; default: one per processor.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def rates(
    drives: tuple[str, ...], held_out: bool, page: ResultPlace | None, processes: int | None, as_json: bool
) -> None:
    """Simulate the rates that were published of virtual drives, each at its
    own conditions, and print quoted, simulated and ratio with the score.
    Without a DRIVE: all drives that ship with Mileage, some minutes.

    \b
    mileage drive rates intel-600p-512gb
    mileage drive rates --page rates.md
    """
    from mileage.app.published_rates import published_rates, simulated_rates
    from mileage.errors import Refused
    from mileage.report.published_rates import RateRow, rates_page, rates_text
    from mileage.targets.profiles import drive_names
    from mileage.terminal import report_width

    names = list(drives or drive_names())
    if not any(published_rates(name) for name in names):
        raise Refused(
            ", ".join(names),
            "there is no published rate to compare with",
            expected="a drive with a [[rate]]; one with changed figures (KEY=VALUE) is another drive and has none",
            advice="to try a figure, change it in a copy of the profile: "
            f"mileage drive show {shlex.quote(names[0].partition(',')[0])} --toml",
            code="missing",
        )
    found = simulated_rates(names, processes=processes)
    rows = [RateRow(one.drive, one.rate, one.simulated) for one in found if one.rate.held_out or not held_out]
    if page is not None:
        page.write(rates_page(rows))
    if as_json:
        import msgspec

        from mileage.cli.json_output import print_json

        print_json(
            [
                {
                    "drive": row.drive,
                    **msgspec.to_builtins(row.rate),
                    "simulated": row.simulated,
                    "ratio": row.rate.ratio(row.simulated),
                }
                for row in rows
            ]
        )
        return
    click.echo(rates_text(rows, report_width()), nl=False)


@click.command("fit", short_help="Fit unknown figures to published rates.")
@click.argument("profile", metavar="PROFILE")
@click.option("--write", is_flag=True, help="Write figures and simulated rates into PROFILE, a path.")
@click.option("--log", type=ResultFile("fit-log"), metavar="FILE", help="Write the log of the fit.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def fit(profile: str, write: bool, log: ResultPlace | None, as_json: bool) -> None:
    """Fit the free figures of a drive profile: each rate with `fits = "FIGURE"`
    gives that figure the value with which the simulated drive reaches the
    published rate. Prints what was free, what it was fitted to and what came
    out; rates that are held out are simulated afterwards.

    \b
    mileage drive fit my-drive.toml
    mileage drive fit my-drive.toml --write --log my-drive.log
    """
    from mileage.app.drive_fit import fit_profile, log_lines, write_fit
    from mileage.errors import Refused
    from mileage.regular_file import read_regular
    from mileage.targets.door import check_result
    from mileage.targets.profiles import PROFILE_BYTES_MAX, is_profile_path, load_profile

    if write and (not is_profile_path(profile) or "," in profile):
        raise Refused(
            "--write",
            found=profile,
            expected="the path of a profile, ending in .toml, without changes behind it",
            code="wrong-value",
        )
    loaded = load_profile(profile)
    if write:
        check_result("--write", profile, "profile", read_regular(Path(profile), PROFILE_BYTES_MAX))
    found = fit_profile(profile, loaded, lambda text: click.echo(f"simulating {text}", err=True))
    text = "\n".join(log_lines(found)) + "\n"
    if write:
        write_fit(Path(profile), found)
    if log is not None:
        log.write(text)
    if as_json:
        import msgspec

        from mileage.cli.json_output import print_json

        print_json(msgspec.to_builtins(found))
        return
    click.echo(text, nl=False)


@click.command("raw-tests", short_help="Published hdparm and dd tests against simulation.")
@click.argument("drives", nargs=-1, metavar="[DRIVE]...")
@click.option(
    "--page",
    type=ResultFile("raw-tests-page"),
    metavar="FILE",
    help="Write Markdown, with specifications and memories.",
)
@click.option("--processes", type=WholeNumber(1), metavar="N", help="Processes; default: one per processor.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def raw_tests(
    drives: tuple[str, ...], page: ResultPlace | None, processes: int | None, as_json: bool
) -> None:
    """Print raw tests of eight drives (hdparm, dd; D. Traynor, 2017) next to
    what the simulated drives do on the modelled host hpe-dl60-2gib: the
    built-in study qmul-2017, a minute for all drives.
    """
    from mileage.app.raw_tests import raw_tables, simulated_tests
    from mileage.endurance.life_text import columns_of_rows
    from mileage.report.raw_tests import raw_tests_page, test_notes, test_rows
    from mileage.targets.data_sheets import all_data_sheets

    found = simulated_tests(drives, processes=processes)
    if page is not None:
        page.write(raw_tests_page(raw_tables(), found, all_data_sheets()))
    if as_json:
        import msgspec

        from mileage.cli.json_output import print_json

        print_json(msgspec.to_builtins(found))
        return
    click.echo("\n".join([*columns_of_rows(test_rows(found)), "", *test_notes(found)]))


@click.command("array-tests", short_help="The array test of 2009 against simulation.")
@click.argument("study", required=False, metavar="[STUDY]")
@click.option(
    "--page",
    type=ResultFile("array-tests-page"),
    metavar="FILE",
    help="Write Markdown, and two charts next to it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def array_tests(study: str | None, page: ResultPlace | None, as_json: bool) -> None:
    """Print the array test of 2009 (IOMeter on X25-E, SAS and SATA members;
    J. De Gelas, AnandTech): published, simulated, ratio, and the ranks of
    the arrays. STUDY: the folder of a study anandtech-2009; without one the
    study is run, some minutes.
    """
    from mileage.app.array_tests import array_tests as tests
    from mileage.endurance.life_text import columns_of_rows
    from mileage.execute.live_view import Terminal
    from mileage.report.array_tests import CHARTS, array_tests_page, charts_svg, figure_rows
    from mileage.report.standings import standing_lines
    from mileage.terminal import report_width

    charts: dict[str, ResultPlace] = {}
    if page is not None:
        path = page.path
        charts = {
            name: page._replace(path=path.with_name(f"{path.stem}-{name}.svg"), kind="array-tests-chart")
            for name in CHARTS
        }
        for chart in charts.values():
            chart.check()
    with Terminal() as progress:
        found = tests(study, progress=progress)
    if page is not None:
        for name, svg in charts_svg(found.mb_per_s).items():
            charts[name].write(svg)
        names = {name: chart.path.name for name, chart in charts.items()}
        page.write(array_tests_page(found.figures, found.ranks, names))
    if as_json:
        import msgspec

        from mileage.cli.json_output import print_json

        print_json(msgspec.to_builtins(found))
        return
    click.echo("\n".join(columns_of_rows(figure_rows(found.figures))) + "\n")
    click.echo("\n".join(standing_lines(found.ranks, "array", report_width())))
