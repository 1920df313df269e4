"""The exit status of a command, and the one place where an error that nobody expected ends.

Scope: 0 done; 1 a judged failure that the user asked for (`JudgedFailure`, nothing else); 2 wrong usage or
refused; 3 the run or Mileage itself failed, which includes an output that could not be written; 4 a gate that could not
judge (`NoJudgement`); 5 a check for a purpose that cannot say (`report.fitness.CANNOT_SAY`); 130 interrupted before
a run began (128 + SIGINT); 141 nobody reads the output any more (128 + SIGPIPE).
What it refuses: a traceback, unless MILEAGE_DEBUG asks for one: an uncaught exception would make Python return 1.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from mileage.terminal.streams import OutputFailed

FAILED: Final = 3
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
READER_LEFT: Final = 141
DEBUG: Final = "MILEAGE_DEBUG"
_SHORTAGES: Final = {
    "ENOMEM": "not enough memory; end other programs, or raise the limit (ulimit -v)",
    "EMFILE": "raise the limit of open files (ulimit -n)",
    "ENFILE": "end other programs, or raise the limit of open files of this machine (fs.file-max)",
    "EAGAIN": "no more processes or threads can begin; end some, or raise the limit (ulimit -u)",
}
"""What there can be too little of, by the error of the system."""
_ERRNO: Final = re.compile(r"\((E[A-Z]+)\)")
_CODE: Final = re.compile(r"\b(?:Os \{ code: |os error )([0-9]+)")
_KINDS: Final = {
    "is not a valid integer range": "is not a whole number; give one number",
    "is not a valid integer": "is not a whole number; give one number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}
"""Ends of click's messages on a value of another kind, and what they mean."""


def status_of(command: Callable[[], int]) -> int:
    """The exit status of a command; what it raises is printed in a line. Its output is written when this returns."""
    try:
        status = _status_of(command)
        # Flush now: at exit the interpreter would write the buffers, and a failure there would give Python's own
        # status.
        sys.stdout.flush()
    except OutputFailed as failure:
        if failure.reader_left:
            return READER_LEFT
        complain(str(failure))
        return FAILED
    return status


def complain(message: str) -> None:
    """Print what was wrong; a further line is indented, so that no name with a line feed can begin one of its own."""
    click.echo("mileage: " + message.replace("\n", "\n  "), err=True)


def _status_of(command: Callable[[], int]) -> int:
    from mileage.errors import MileageError, Refused

    try:
        return command()
    except MileageError as error:
        if short := shortage_of(error):
            complain(f"{error}; {short}" if short not in str(error) else str(error))
            return FAILED
        if isinstance(error, Refused):
            from mileage.cli.json_output import print_refusal

            print_refusal(error)
        complain(str(error))
        return error.exit_status
    except click.ClickException as error:
        complain(_words(error))
        return WRONG_USAGE
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        return INTERRUPTED
    except (SystemExit, OutputFailed):
        raise
    except BaseException as error:
        # BaseException, because a panic of the compiled core is not an Exception.
        return _last_resort(error)


def _words(error: click.ClickException) -> str:
    """What is wrong with a command line; of an argument that no command takes, the usage as well."""
    if isinstance(error, click.NoSuchOption):
        return unknown_option(error)
    words = error.format_message()
    if (
        isinstance(error, click.BadParameter)
        and words.startswith("Invalid value for")
        and error.param is not None
    ):
        is_option = isinstance(error.param, click.Option)
        name = max(error.param.opts, key=len) if is_option else error.param.human_readable_name
        message = error.message.removesuffix(".")
        for end, meant in _KINDS.items():
            message = message.replace(end, meant)
        return f"{name}: {message}"
    if isinstance(error, click.UsageError) and error.ctx is not None and words.startswith("Got unexpected"):
        usage = " ".join(error.ctx.get_usage().split())
        return f"{words.removeprefix('Got ')}; {usage.replace('Usage', 'usage', 1)} (--help explains it)"
    return words


def _last_resort(error: BaseException) -> int:
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        complain(_too_long(error))
        return WRONG_USAGE
    short = shortage_of(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        complain(f"{where}{error.strerror}{f'; {short}' if short else ''}")
        return FAILED
    if short:
        complain(short)
        return FAILED
    what = type(error).__name__ + (f": {error}" if str(error) else "")
    complain(
        f"internal error: {what} ({_place(error)}). This is a fault of Mileage; "
        f"{DEBUG}=1 prints the traceback for a report"
    )
    return FAILED


def shortage_of(error: BaseException) -> str:
    """What this machine or a limit has too little of, in words; empty where an error has another cause.

    The errors that led to it count as well: whoever refuses a file that cannot be opened does not look at the reason.
    """
    from mileage.errors import MileageError

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):
            return _SHORTAGES["ENOMEM"]
        if isinstance(seen, RuntimeError) and "start new thread" in str(seen):
            return _SHORTAGES["EAGAIN"]
        # The compiled core gives the reason in words, and a thread that cannot begin is a panic there.
        number = seen.errno if isinstance(seen, OSError) else None
        names = _ERRNO.findall(str(seen)) if number is None else [errno.errorcode.get(number, "")]
        names += [getattr(seen, "cause", "")]
        names += [errno.errorcode.get(int(code), "") for code in _CODE.findall(str(seen))]
        for name in names:
            # A refusal because of a lock that somebody holds follows EAGAIN as well.
            is_lock = name == "EAGAIN" and seen is not error and isinstance(error, MileageError)
            if name in _SHORTAGES and not is_lock:
                return _SHORTAGES[name]
        seen = seen.__cause__ or seen.__context__
    return ""


def _too_long(error: OSError) -> str:
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    longest = max(path.split("/"), key=lambda name: len(os.fsencode(name)))
    size = len(os.fsencode(longest))
    if size <= 255:
        return f"a path of {len(os.fsencode(path))} bytes is too long; use a shorter path than 4096 bytes"
    return f"{longest[:40]}...: a file name of {size} bytes is too long; use one of at most 255 bytes"


def _place(error: BaseException) -> str:
    """The module and line in which the error was raised, of Mileage where it is in the traceback."""
    trace, found = error.__traceback__, ""
    package = str(Path(__file__).resolve().parents[1])
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(package):
            found = f"mileage{file[len(package) :]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found or "outside Mileage's own modules"


# Advice on an option that a command does not have: the option or argument of that command with its meaning.
# Scope: an option that is typed with one letter too many; an argument of the same name; another tool's word; an option
# for the same purpose. Otherwise the options of the command, where they fit into a line.
# What it refuses: to suggest an option that is only spelled alike and means something else.

_PURPOSES: Final = {
    "the length of a run": ("for", "seconds", "operations", "bytes", "passes"),
    "the number of outstanding I/Os": ("depth", "threads"),
    "the place of the result": ("out", "save"),
    "the layout of the files": ("format", "layout"),
    "the form of the output": ("format", "json"),
}
"""Options for one purpose, without their dashes."""
_LISTED_MAX: Final = 16
"""Options that fit into the line of a refusal."""
_STUDY: Final = "study"
"""Name of the argument of commands that take a study file."""


def unknown_option(error: click.NoSuchOption) -> str:
    """Say which option does not exist, and what to give instead."""
    advice = f"no such option: {error.option_name}"
    if error.ctx is None:
        return advice
    near = difflib.get_close_matches(error.option_name, error.possibilities or (), cutoff=0.84)
    parts = [f"did you mean {near[0]}?"] if near else _advice(error.option_name.lstrip("-"), error.ctx)
    return "; ".join([advice, *parts])


def _advice(word: str, context: click.Context) -> list[str]:
    """What has the meaning of an option here, and which command has the option itself."""
    path, command = context.command_path, context.command
    for argument in command.params:
        if isinstance(argument, click.Argument) and argument.make_metavar(context).lower() == word:
            return [_as_argument(argument, context)]
    own = {name.lstrip("-") for option in command.params for name in option.opts if name.startswith("--")}
    return [
        *(_same_purpose(word, own, command) or [_listing(own, path)]),
        *_elsewhere(word, path, takes_study=any(option.name == _STUDY for option in command.params)),
    ]


def _as_argument(argument: click.Argument, context: click.Context) -> str:
    usage = " ".join(context.command.collect_usage_pieces(context)[1:])
    choices = argument.type.choices if isinstance(argument.type, click.Choice) else ()
    values = f", with {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
    return f"{argument.make_metavar(context)} is an argument: `{context.command_path} {usage}`{values}"


def _same_purpose(word: str, own: set[str], command: click.Command) -> list[str]:
    """The option of a command for the purpose of another tool's word, or of another command's option."""
    from mileage.cli.foreign_options import name_here

    here = re.findall(r"--([a-z-]+)", name_here(word) or "")
    for known in ({word}, set(here)):
        if found := [name for name in here if name in own and name in known]:
            return [f"here it is --{found[0]}"]
        for purpose, words in _PURPOSES.items():
            if known & set(words) and (found := [name for name in words if name in own]):
                names = " or ".join(f"--{name}" for name in found)
                return [f"{purpose} is set by {names} here{_meaning(found, command)}"]
    return []


def _meaning(names: list[str], command: click.Command) -> str:
    """What the only one of `names` sets, by its help; nothing of several."""
    of = [
        option
        for option in command.params
        if isinstance(option, click.Option) and f"--{names[0]}" in option.opts
    ]
    return f" ({(of[0].help or '').rstrip('.')})" if len(names) == 1 and of and of[0].help else ""


def _listing(own: set[str], path: str) -> str:
    if not 0 < len(own) <= _LISTED_MAX:
        return f"`{path} --help` lists the options"
    return f"{path.partition(' ')[2]} has {', '.join(f'--{name}' for name in sorted(own))}"


def _elsewhere(word: str, path: str, *, takes_study: bool) -> list[str]:
    """Where an option of `mileage measure` is set for other commands."""
    from mileage.plan.measure_options import OPTIONS

    if path.endswith(" measure") or word not in {option.name for option in OPTIONS if option.sets}:
        return []
    return ["a study sets it in its file"] if takes_study else [f"measure has --{word}"]
