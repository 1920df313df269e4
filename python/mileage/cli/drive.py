"""`mileage drive`: look at a virtual drive and run one workload on it."""

from __future__ import annotations

import os
import shlex
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mileage.cli.json_output import print_json
from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import DRIVE_WRITES, WHOLE_MAX, Number, Size, WholeNumber

if TYPE_CHECKING:
    from mileage._core import Drive
    from mileage.plan.workload import Workload
    from mileage.targets.door import ResultPlace
    from mileage.targets.ledger import Ledger
    from mileage.targets.served_drive import ServedDrive


# Published rates of virtual drives and arrays, simulated and fitted to: `mileage drive rates`, `fit`, and others.


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
        print_json(found)
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
    from mileage.app.replications import raw_tables, simulated_tests
    from mileage.endurance.life_text import columns_of_rows
    from mileage.report.replications import raw_tests_page, test_notes, test_rows
    from mileage.targets.data_sheets import all_data_sheets

    found = simulated_tests(drives, processes=processes)
    if page is not None:
        page.write(raw_tests_page(raw_tables(), found, all_data_sheets()))
    if as_json:
        print_json(found)
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
    from mileage.app.replications import array_tests as tests
    from mileage.endurance.life_text import columns_of_rows
    from mileage.execute.live_view import Terminal
    from mileage.report.replications import CHARTS, array_tests_page, charts_svg, figure_rows
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
        print_json(found)
        return
    click.echo("\n".join(columns_of_rows(figure_rows(found.figures))) + "\n")
    click.echo("\n".join(standing_lines(found.ranks, "array", report_width())))


# `mileage drive serve` and `mileage drive control`: a virtual drive as a block device, and commands for it while it is
# served.

_LOOK_S = 0.1
_FAULTS = ("stall", "unreadable", "drop-off", "none")


@click.command("serve", short_help="Serve a drive as a real block device.")
@click.argument("profile")
@click.option("--at", type=click.Path(path_type=Path), metavar="DIR", help="Mount the file DIR/drive.")
@click.option("--nbd", type=click.Path(path_type=Path), metavar="SOCKET", help="Serve NBD at a unix socket.")
@click.option(
    "--state",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Begin with a state that --save of this command or of drive run wrote.",
)
@click.option("--save", type=ResultFile("drive-state"), metavar="FILE", help="Write the state at the end.")
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the data in this new sparse file; default: in memory.",
)
@click.option(
    "--speed",
    default="real",
    show_default=True,
    metavar="real|xN|unbounded",
    help="Speed of the drive's clock; unbounded answers at once.",
)
@click.option(
    "--wait",
    type=click.Choice(["sleep", "spin"]),
    help="Spin before each answer: more precise, and a processor is busy. Default: sleep.",
)
@click.option(
    "--sector", type=click.Choice(["512", "4096"]), help="Logical sector of the loop device. Default: 512."
)
@click.option("--loop/--no-loop", default=None, help="Attach a loop device, as root does by default.")
def serve(
    profile: str, at: Path | None, nbd: Path | None, save: ResultPlace | None, loop: bool | None, **how: Any
) -> None:
    """Serve the virtual drive PROFILE as a real block device: with data, in
    real time, in a given state, until Ctrl-C. All is undone at the end, or
    by mileage doctor --repair.

    \b
    mileage drive serve intel-x25e-64gb --at /mnt/x25e
    mileage drive serve micron-7450-pro-1920gb --nbd /tmp/drive.socket
    mileage drive control /mnt/x25e stats
    """
    from mileage.errors import RunFailed
    from mileage.targets.ledger import Ledger
    from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

    _refuse_without_effect(at, nbd, loop, how)
    options = ServedDriveOptions(
        profile=profile,
        at=at.absolute() if at else None,
        nbd=nbd.absolute() if nbd else None,
        state=how["state"],
        data=how["data"].absolute() if how["data"] else None,
        speed=how["speed"],
        spins=how["wait"] == "spin",
        sector_bytes=int(how["sector"] or 512),
    )
    drive, ledger = ServedDrive(f"drive serve {profile}", options), Ledger()
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: asked.set())
    try:
        drive.start(ledger)
        _print_places(drive, ledger, options.name, nbd, loop=loop is not False and at is not None)
        _wait_for_the_end(drive, asked)
        if drive.is_alive:
            try:
                drive.stop(ledger, save)
            finally:
                if save is not None and drive.is_saved:
                    click.echo(f"state saved in {save.path}")
        else:
            raise RunFailed(
                f"the process of the drive ended with status {drive.end_status}; whoever uses it gets EIO",
                cause="program",
            )
    finally:
        drive.kill()
        ledger.undo_all()


def _refuse_without_effect(at: Path | None, nbd: Path | None, loop: bool | None, how: dict[str, Any]) -> None:
    """Raise Refused for options that could do nothing."""
    from mileage.errors import Refused

    if at is None and nbd is None:
        raise Refused("drive serve", expected="--at DIR, --nbd SOCKET or both", code="missing")
    if loop and at is not None and os.geteuid() != 0:
        raise Refused("--loop", "attaches a loop device, which needs root", code="needs-root")
    for option, is_given in (
        ("--loop", loop is True),
        ("--no-loop", loop is False),
        ("--sector", how["sector"] is not None),
    ):
        if is_given and at is None:
            raise Refused(
                option, "has no effect without --at: there is no file for a loop device", code="no-effect"
            )
    if how["wait"] is not None and how["speed"] == "unbounded":
        raise Refused(
            "--wait", "has no effect with --speed unbounded, which answers at once", code="no-effect"
        )


def _print_places(drive: ServedDrive, ledger: Ledger, name: str, nbd: Path | None, *, loop: bool) -> None:
    if drive.file is not None:
        click.echo(f"file:     {drive.file}")
    if loop and os.geteuid() == 0:
        click.echo(f"device:   {drive.attach(ledger)}")
    elif drive.file is not None:
        words = f"losetup --find --show --direct-io=on --sector-size={drive.sector_bytes} {drive.file}"
        click.echo(f"device:   as root: {words}")
    if nbd is not None:
        click.echo(f"NBD:      nbd+unix:///?socket={nbd}")
    click.echo(
        f"commands: `mileage drive control {shlex.quote(str(name))} stats`; "
        "also save, age, fault, power-cut and power-on"
    )
    click.echo("Ctrl-C ends it")


def _wait_for_the_end(drive: ServedDrive, asked: threading.Event) -> None:
    """Wait for a signal, or the end of the drive's process. A drive in use is served until a second signal."""
    warned = False
    while drive.is_alive:
        if not asked.wait(_LOOK_S):
            continue
        asked.clear()
        users = drive.users()
        if not users or warned:
            return
        warned = True
        click.echo(
            f"still served, because it is in use: {users}; a second signal ends it all the same", err=True
        )


@click.group("control", short_help="Commands for a drive that is served.")
@click.argument("at", type=click.Path(path_type=Path))
@click.pass_context
def control(context: click.Context, at: Path) -> None:
    """Commands for the drive that mileage drive serve serves at the directory
    (or NBD socket) AT. Each prints one JSON object.

    \b
    mileage drive control /mnt/x25e stats
    mileage drive control /mnt/x25e power-cut --seed 7
    """
    context.obj = os.path.abspath(at)


def _ask(context: click.Context, command: str, /, **arguments: Any) -> None:
    from mileage.targets.served_drive import ask_drive

    print_json(ask_drive(context.obj, command, **arguments))


@control.command("stats", short_help="Requests, lateness, counters and gauges.")
@click.pass_context
def stats(context: click.Context) -> None:
    """Print requests by kind, how late answers were (actual minus modelled
    instant), and the drive's counters and gauges.
    """
    _ask(context, "stats")


@control.command("save", short_help="Write the state of the drive.")
@click.argument("file", type=ResultFile("drive-state"))
@click.pass_context
def save(context: click.Context, file: ResultPlace) -> None:
    """Write the state of the drive into FILE, for --state of mileage drive
    serve and --from of mileage drive run. Its data is not in it.
    """
    from mileage.targets.served_drive import save_drive

    print_json(save_drive(context.obj, file))


@control.command("age", short_help="Write the drive several times over.")
@click.option("--drive-writes", type=DRIVE_WRITES, required=True, metavar="N", help="Capacities.")
@click.option("--seed", type=WholeNumber(min=0), default=1, show_default=True, metavar="N")
@click.pass_context
def age(context: click.Context, drive_writes: float, seed: int) -> None:
    """Write the drive N times over at random, in simulated time: its state
    changes, its data does not.
    """
    _ask(context, "age", drive_writes=drive_writes, seed=seed)


@control.command("fault", short_help="Inject a fault.")
@click.argument("name", type=click.Choice(_FAULTS))
@click.option(
    "--seconds",
    type=Number(min=0, max=3600),
    help="Length of a stall by the host's clock, at every --speed; default 1.",
)
@click.option(
    "--offset", type=Size(), metavar="SIZE", help="First byte that is unreadable, of a sector; default 0."
)
@click.option("--length", type=Size(), metavar="SIZE", help="Bytes that are unreadable; default 4KiB.")
@click.pass_context
def fault(
    context: click.Context, name: str, seconds: float | None, offset: int | None, length: int | None
) -> None:
    """Inject a fault: the drive answers nothing for a while (stall), cannot
    read a range until it is written (unreadable), is missing until power-on
    (drop-off); none ends the first two.
    """
    from mileage.errors import Refused

    given = {"seconds": seconds, "offset": offset, "length": length}
    arguments = {key: value for key, value in given.items() if value is not None}
    allowed = {"stall": {"seconds"}, "unreadable": {"offset", "length"}}.get(name, set())
    if useless := sorted(arguments.keys() - allowed):
        raise Refused(f"--{useless[0]}", f"has no effect on the fault {name}", code="no-effect")
    _ask(context, "fault", name=name, **arguments)


@control.command("power-cut", short_help="Cut the power.")
@click.option("--seed", type=WholeNumber(min=0), default=0, show_default=True, metavar="N")
@click.pass_context
def power_cut(context: click.Context, seed: int) -> None:
    """Cut the power: outstanding requests fail, what the drive's profile
    loses is lost, and every request fails until power-on. N draws what
    chance decides.
    """
    _ask(context, "power-cut", seed=seed)


@control.command("power-on", short_help="Switch the drive on again.")
@click.pass_context
def power_on(context: click.Context) -> None:
    """Switch the drive on again, after power-cut or the fault drop-off."""
    _ask(context, "power-on")


_PATTERNS = ("random_write", "sequential_write", "random_read", "sequential_read")
_Command = TypeVar("_Command", bound=Callable[..., Any])
_FRESH = """[!] fresh drive: it was empty when the run began, so writes rarely waited for garbage
    collection; --fill writes the whole drive first, --from FILE starts from a used one
"""
_STATE_MAX = 1 << 34
"""Bytes of the largest state that is read."""
_LOSS_YEARS = 5.0
_LOSS_ARRAYS = 100_000
"""Arrays that are simulated for the probability of data loss."""
_FILLING = {"record": "128KiB", "passes": 1.0, "discards": 0, "size": None, "power_cut": None}


@click.group("drive")
def command() -> None:
    """Virtual drives: their data sheets, one workload on one of them,
    and one
    of them as a real block device.
    """


def _share(option: str, text: str) -> Callable[[_Command], _Command]:
    """An option that is a share in percent, 0 unless given."""
    return click.option(
        option, type=WholeNumber(0, 100), default=0, show_default=True, metavar="PERCENT", help=text
    )


@command.command("show", short_help="Data sheet of a drive, each figure with its source.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--toml", "as_toml", is_flag=True, help="The profile itself, to begin one of your own with.")
def show(name: str, as_json: bool, as_toml: bool) -> None:
    """Print the data sheet of the drive NAME (or of a profile, PATH.toml):
    every figure with its source, how far to trust it and what it may be
    instead, and which published rates the simulated drive reaches; of an
    array that states how often members fail, the probability of data loss.

    \b
    mileage drive show intel-x25e-64gb
    mileage drive show micron-7450-pro-1920gb --toml > my-drive.toml
    """
    import msgspec

    from mileage._core import array_data_loss, drive_alternatives, drive_figures, drive_rates, drive_title
    from mileage.errors import Refused
    from mileage.report.datasheet import alternative_lines, data_loss_lines, data_sheet, rate_lines
    from mileage.targets.profiles import load_profile

    if as_json and as_toml:
        raise Refused(
            "--json and --toml", "two forms of one output", advice="give one of them", code="conflict"
        )
    profile = load_profile(name)
    if as_toml:
        click.echo(profile, nl=False)
        return
    figures, rates = drive_figures(profile), msgspec.json.decode(drive_rates(profile))
    alternatives = drive_alternatives(profile)
    loss = array_data_loss(profile, _LOSS_YEARS, _LOSS_ARRAYS, 1)
    if as_json:
        keys = ("name", "value", "source", "confidence")
        rows = [dict(zip(keys, figure, strict=True)) for figure in figures]
        names = ("name", "value", "alternative", "reason")
        others = [dict(zip(names, row, strict=True)) for row in alternatives]
        parts = ("repair_hours", "mean_hours_to_loss", "exact", "simulated", "low", "high")
        found = {"data_loss": {"years": _LOSS_YEARS, **dict(zip(parts, loss, strict=True))}} if loss else {}
        print_json({"figures": rows, "alternatives": others, "rates": rates, **found})
        return
    click.echo(data_sheet(drive_title(profile), figures), nl=False)
    if alternatives:
        click.echo("\n" + "\n".join(alternative_lines(alternatives)))
    if rates:
        click.echo("\n" + "\n".join(rate_lines(rates)))
    if loss:
        click.echo("\n" + "\n".join(data_loss_lines(_LOSS_YEARS, loss)))


@command.command("run", short_help="Run one workload on a drive.")
@click.argument("name")
@click.option(
    "--workload",
    "-w",
    type=click.Choice(_PATTERNS),
    default="random_write",
    show_default=True,
    help="Kind of operations.",
)
@click.option(
    "--record", "-r", default="4KiB", show_default=True, metavar="SIZE", help="Size of an operation."
)
@click.option(
    "--depth",
    "-d",
    type=WholeNumber(1, 4096),
    default=32,
    show_default=True,
    metavar="N",
    help="Queue depth.",
)
@click.option("--size", metavar="SIZE", help="Part of the drive that is accessed; default: all.")
@click.option(
    "--passes",
    type=Number(min=0, max=1e6),
    default=1.0,
    show_default=True,
    metavar="X",
    help="Length of the run: bytes moved, in multiples of --size.",
)
@_share("--discards", "Share of the operations that discard (TRIM) instead.")
@_share("--compressible", "Share of the content that compression saves.")
@_share("--duplicates", "Share of the 4 KiB blocks whose content recurs.")
@click.option("--fill", is_flag=True, help="First write the whole drive once, in order.")
@click.option("--idle", metavar="SECONDS", type=Number(min=0, max=1e9), help="Idle time before the run.")
@click.option(
    "--power-cut",
    type=Number(min=0, max=1e9, min_open=True),
    metavar="SECONDS",
    help="End the run this long after its start, and cut the power.",
)
@click.option(
    "--seed",
    type=WholeNumber(),
    default=1,
    show_default=True,
    metavar="N",
    help="Seed of all random choices.",
)
@click.option(
    "--from",
    "state",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Start from a state that --save wrote.",
)
@click.option(
    "--save",
    type=ResultFile("drive-state"),
    metavar="FILE",
    help="Write the state of the drive after the run.",
)
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a page with the course of the run into DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole record of the run as JSON.")
def run(
    name: str,
    as_json: bool,
    state: Path | None,
    save: ResultPlace | None,
    report: Path | None,
    **options: Any,
) -> None:
    """Run one workload on the virtual drive NAME and draw rate, latency
    and counters. Exit status 3 if the drive ended the run.

    mileage measure -t virtual:NAME has more options, such as --for and
    --threads.
    """
    import msgspec

    from mileage._core import Drive, drive_figures, drive_rates
    from mileage.errors import Refused, RunFailed
    from mileage.model.run_record import RunRecord
    from mileage.regular_file import read_state
    from mileage.report.datasheet import missed_rates, power_cut_line, run_drawing
    from mileage.targets.profiles import load_profile

    profile = load_profile(name)
    try:
        drive = Drive.restore(profile, read_state(state)) if state else Drive(profile)
        if options["power_cut"]:
            # Refuse options that do not apply to this drive before the run, which may take minutes.
            Drive(profile).power_cut()
        start_ns, text = _simulate(drive, name, options)
        record = RunRecord.from_json(text)
        cut = _power_cut(drive, start_ns, options["power_cut"])
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error
    if save:
        save.write(drive.save())
    if as_json:
        print_json({**msgspec.json.decode(text), "gauges": dict(drive.gauges()), "life": drive.life, **cut})
    else:
        figures = {name: value for name, value, *_ in drive_figures(profile)}
        page_bytes = figures.get("mapping_bytes", figures.get("page_bytes"))
        pages = drive.capacity_bytes // int(page_bytes) if page_bytes else None
        for missed in missed_rates(msgspec.json.decode(drive_rates(profile)), {options["workload"]}):
            click.echo(f"{missed.sentence()} (`mileage drive show {shlex.quote(name)}` says why)")
        if pages and not (state or options["fill"]) and options["workload"].endswith("_write"):
            click.echo(_FRESH)
        click.echo(run_drawing(record, drive.gauges(), drive.life, pages), nl=False)
        if cut:
            click.echo("\n" + power_cut_line(cut["power_cut"]))
    if report is not None:
        _write_page(report, name, options["workload"], record, drive.gauges())
    if record.error is not None:
        raise RunFailed(f"{name}: {record.error.message}")


def _simulate(drive: Drive, name: str, options: dict[str, Any]) -> tuple[int, str]:
    """Fill the drive, idle, and run the workload, with a view of the bytes; when the run began, and its record."""
    from mileage.execute.live_view import CountedProgress

    main = _workload(drive.capacity_bytes, options["workload"], options)
    fill = _workload(drive.capacity_bytes, "sequential_write", {**options, **_FILLING})
    works = [("filling", fill)] if options["fill"] else []
    works.append((f"{options['workload'].replace('_', ' ')}s", main))
    with CountedProgress("", sum(work.stop.bytes or 0 for _, work in works), unit="bytes") as view:
        start_ns, text = 0, ""
        for number, (what, work) in enumerate(works, start=1):
            if number == len(works) and options["idle"]:
                drive.idle(int(options["idle"] * 1e9))
            view.step(f"simulating {name}: {what}")
            start_ns = drive.now_ns
            text = drive.run(work.to_json(), view.advance_to())
    return start_ns, text


def _write_page(out: Path, name: str, workload: str, record: Any, gauges: Any) -> None:
    """The page of a run, with the command line that made it."""
    import shlex
    import sys

    from mileage.app.drive_run import write_run_page

    command = shlex.join(["mileage", *sys.argv[1:]])
    page = write_run_page(out, name, workload.replace("_", " "), record, gauges, command)
    click.echo(f"page: {page}", err=True)


def _power_cut(drive: Any, start_ns: int, after_s: float | None) -> dict[str, Any]:
    """Cut the power so long after the start, or when all that was issued by then is answered; what that lost."""
    if after_s is None:
        return {}
    at_ns = max(drive.now_ns, start_ns + int(after_s * 1e9))
    lost = [
        {"write": write, "offset_bytes": offset_bytes, "length_bytes": length_bytes}
        for write, offset_bytes, length_bytes in drive.power_cut(at_ns)
    ]
    return {"power_cut": {"after_ns": at_ns - start_ns, "lost": lost}}


def _workload(capacity_bytes: int, pattern: str, options: dict[str, Any]) -> Workload:
    """The workload; its span is cut to whole records."""
    from mileage._core import parse_bytes
    from mileage.errors import Refused
    from mileage.plan.content import ContentTable, MixedContent
    from mileage.plan.workload import Stop, Workload

    record_bytes = parse_bytes(options["record"])
    if not record_bytes:
        raise Refused("--record", found=options["record"], expected="a byte or more", code="out-of-range")
    wanted_bytes = parse_bytes(options["size"]) if options["size"] else capacity_bytes
    span_bytes = wanted_bytes // record_bytes * record_bytes
    if not span_bytes:
        expected = f"one record of {options['record']} or more"
        raise Refused("--size", found=options["size"], expected=expected, code="out-of-range")
    order, _, direction = pattern.partition("_")
    stop_bytes = max(int(span_bytes * options["passes"]) // record_bytes, 1) * record_bytes
    if stop_bytes > WHOLE_MAX:
        where, found = "--passes", f"{stop_bytes:,} bytes in all"
        raise Refused(where, found=found, expected=f"at most {WHOLE_MAX:,}", code="out-of-range")
    cut_s = options["power_cut"]
    return Workload(
        pattern="random" if order == "random" else "sequential",
        read_percent=100 if direction == "read" else 0,
        discard_percent=options["discards"],
        record_bytes=record_bytes,
        span_start_bytes=0,
        span_bytes=span_bytes,
        depth=options["depth"],
        threads=1,
        stop=Stop(bytes=stop_bytes, time_ns=max(int(cut_s * 1e9), 1) if cut_s else None),
        seed=options["seed"],
        content=ContentTable(mixed=MixedContent(options["compressible"], options["duplicates"])),
    )


command.add_command(rates)
command.add_command(fit)
command.add_command(raw_tests)
command.add_command(array_tests)
command.add_command(serve)
command.add_command(control)
