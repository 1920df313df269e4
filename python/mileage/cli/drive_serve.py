"""`mileage drive serve` and `mileage drive control`: a virtual drive as a block device, and commands for it while it is
served.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import DRIVE_WRITES, Number, Size, WholeNumber

if TYPE_CHECKING:
    from mileage.targets.door import ResultPlace
    from mileage.targets.ledger import Ledger
    from mileage.targets.served_drive import ServedDrive

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
@click.option(
    "--save",
    type=ResultFile("drive-state"),
    metavar="FILE",
    help="Write the state at the end.",
)
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
    "--sector",
    type=click.Choice(["512", "4096"]),
    help="Logical sector of the loop device. Default: 512.",
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

    _print(ask_drive(context.obj, command, **arguments))


def _print(answer: dict[str, Any]) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2))


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

    _print(save_drive(context.obj, file))


@control.command("age", short_help="Write the drive several times over.")
@click.option(
    "--drive-writes",
    type=DRIVE_WRITES,
    required=True,
    metavar="N",
    help="Capacities.",
)
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
