"""`python -m mileage.cli.manual_pages DIR`: manual pages and shell completions, from the commands, for a wheel.

Scope: a page for each command and for each of its own commands, with the text of `--help` as it stands; for bash, zsh
and fish the script that asks the command itself. `make wheel` adds them to the wheel, from which they are
installed below the prefix of the environment.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from mileage.cli import COMMANDS, root

COMPLETIONS: Final = {
    "bash": "bash-completion/completions/mileage",
    "zsh": "zsh/site-functions/_mileage",
    "fish": "fish/vendor_completions.d/mileage.fish",
}
"""Where each shell looks below `share`."""
_WIDTH: Final = 80


def files() -> dict[str, str]:
    """The text of each file by its path below `share`."""
    found = {
        f"man/man1/{name.replace(' ', '-')}.1": page(name, title) for name, title in commands(root, "mileage")
    }
    for shell, path in COMPLETIONS.items():
        script = get_completion_class(shell)
        assert script is not None
        found[path] = script(root, {}, "mileage", "_MILEAGE_COMPLETE").source().strip() + "\n"
    return found


def commands(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Every command as it is typed, with one line about it."""
    known = COMMANDS.get(name.partition(" ")[2])
    yield name, (known[1] if known else command.get_short_help_str(limit=100)).rstrip(".")
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for inner in command.list_commands(context):
            if (found := command.get_command(context, inner)) is not None:
                yield from commands(found, f"{name} {inner}")


def page(name: str, title: str) -> str:
    """A page in the macros of man(7): the help of a command, line by line."""
    dashed = name.replace(" ", "-")
    usage, _, rest = help_of(name).partition("\n\n")
    synopsis = " ".join(usage.removeprefix("Usage: ").split())
    return "\n".join(
        [
            f'.TH {dashed.upper()} 1 "" "" "Mileage"',
            ".SH NAME",
            f"{escaped(dashed)} \\- {escaped(title)}",
            ".SH SYNOPSIS",
            escaped(synopsis),
            ".SH DESCRIPTION",
            ".nf",
            *map(escaped, rest.strip("\n").split("\n")),
            ".fi",
            *([] if name == "mileage" else [".SH SEE ALSO", "mileage(1)"]),
            "",
        ]
    )


def help_of(name: str) -> str:
    """What `NAME --help` prints at 80 columns."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        root.main(
            [*name.split()[1:], "--help"], standalone_mode=False, terminal_width=_WIDTH, prog_name="mileage"
        )
    return output.getvalue()


def escaped(line: str) -> str:
    """A line that roff takes as it is: backslashes, hyphens of options, and dots and quotes at its beginning."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line


def main(folder: Path) -> None:
    """Write all files below a folder; pages of commands that are no more are removed."""
    wanted = {folder / path: text for path, text in files().items()}
    for old in folder.rglob("*"):
        if old.is_file() and old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
