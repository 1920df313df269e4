"""Help text, documentation page and manual page of the drop-in command lines, generated from their flags."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from mileage.dropin.flags import OWN, Flag, Tool

_WIDTH = 80


def _effect(flag: Flag) -> str:
    """What a flag does, and where that is not what it does in the original."""
    note = f" Note: {flag.trap}." if flag.trap else ""
    return flag.summary + note + (f" Here: {flag.ignored}." if flag.ignored else "")


def help_text(tool: Tool) -> str:
    """Output of `--help`, ending in a newline."""
    usage = textwrap.wrap(f"Usage: mileage {tool.name} {tool.usage}", _WIDTH, subsequent_indent=" " * 4)
    lines = [*usage, "", *textwrap.wrap(tool.title, _WIDTH), ""]
    done = [flag for flag in tool.flags if not flag.instead]
    for flag in (*done, *OWN):
        lines += _item(_spelled(tool, flag), _effect(flag))
    refused = [flag for flag in tool.flags if flag.instead]
    if refused:
        lines += ["", "Not built, and refused:"]
        for flag in refused:
            lines += _item(_spelled(tool, flag), f"{flag.summary} Instead: {flag.instead}")
    for note in tool.notes:
        lines += ["", *textwrap.wrap(note, _WIDTH)]
    lines += ["", *(f"  mileage {tool.name} {example}" for example in tool.examples)]
    return "\n".join(lines).rstrip() + "\n"


def print_help(tool: Tool) -> int:
    """Print the flags of a tool; the tool's exit status of its help."""
    sys.stdout.write(help_text(tool))
    return tool.statuses.help


def version_text(name: str, followed: str) -> str:
    """Output of a tool's flag for its version."""
    from mileage import __version__

    return f"{name} (Mileage {__version__}), which follows {followed}\n"


def _spelled(tool: Tool, flag: Flag) -> str:
    spelled = ", ".join(flag.spellings)
    if not flag.value:
        return spelled
    if tool.style == "operands" and not flag.spelling.startswith("-"):
        return f"{spelled}={flag.value}"
    return f"{spelled} {flag.value}"


def _item(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH - 18)
    first = f"  {name:<15} {lines[0]}" if len(name) <= 15 else f"  {name}"
    rest = lines[1:] if len(name) <= 15 else lines
    return [first, *(" " * 18 + line for line in rest)]


def page_section(tool: Tool) -> str:
    """The part of docs/reference/drop-in-tools.md on one tool, in Markdown."""
    lines = [f"## mileage {tool.name}", "", tool.title, ""]
    for note in tool.notes:
        lines += [*textwrap.wrap(note, 118), ""]
    if tool.examples:
        lines += ["```console", *(f"mileage {tool.name} {example}" for example in tool.examples), "```", ""]
    lines += ["| flag | what it does |", "|---|---|"]
    for flag in tool.flags:
        if not flag.instead:
            effect = _effect(flag).replace(" Note:", " **Note:**").replace(" Here:", " **Here:**")
            lines.append(f"| `{_spelled(tool, flag)}` | {_cell(effect)} |")
    refused = [flag for flag in tool.flags if flag.instead]
    if refused:
        lines += ["", "Refused:", "", "| flag | in the original | instead |", "|---|---|---|"]
        lines += [f"| `{_spelled(tool, f)}` | {_cell(f.summary)} | {_cell(f.instead)} |" for f in refused]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGE_HEAD = """# Drop-in command lines of other tools

`mileage TOOL FLAGS` accepts the flags of a tool, does what the tool does, prints the tool's table on standard output,
and with `--study DIR` keeps a study folder for `mileage report` and `mileage compare`. Mileage prints its own messages
on standard error. [Public scripts](drop-in-scripts.md) that read these tables run with it unchanged.
A program in any directory is recognised by its file name: `mileage ./IOzone -a` is `mileage iozone -a`.

```console
mileage iozone --manual | man -l -
eval "$(_MILEAGE_COMPLETE=bash_source mileage)"
mileage plan STUDY --as fio
```

The first line shows a manual page. The second completes flags in bash (for other shells: `zsh_source`, `fish_source`).
The third works in the other direction: it prints a study as a job of fio, iozone, ior or elbencho, for a machine
without Mileage, and lists in comments what that tool cannot do.

Every tool accepts these flags as well:

| flag | what it does |
|---|---|
"""


def page(tools: Sequence[Tool]) -> str:
    """The whole of docs/reference/drop-in-tools.md."""
    own = "".join(
        f"| `{flag.spelling}{' ' + flag.value if flag.value else ''}` | {flag.summary} |\n" for flag in OWN
    )
    foot = (
        "\nA flag that is not listed is refused, never ignored. This page is generated from the flags: "
        "`python -m mileage.dropin.pages` prints it.\n\n"
    )
    return PAGE_HEAD + own + foot + "\n".join(page_section(tool) for tool in tools)


def manual(tool: Tool, version: str) -> str:
    """A manual page in troff, for `man`."""
    name = f"mileage-{tool.name}"
    lines = [
        f'.TH {name.upper()} 1 "" "Mileage {version}" "User commands"',
        ".SH NAME",
        f"{name} \\- {_troff(tool.title)}",
        ".SH SYNOPSIS",
        f".B mileage {tool.name}",
        _troff(tool.usage),
        ".SH OPTIONS",
    ]
    for flag in tool.all_flags:
        text = _effect(flag)
        if flag.instead:
            text = f"Not built. In the original: {flag.summary} Here: {flag.instead}"
        lines += [".TP", f".B {_troff(_spelled(tool, flag))}", _troff(text)]
    for note in tool.notes:
        lines += [".PP" if note is not tool.notes[0] else ".SH NOTES", _troff(note)]
    if tool.examples:
        lines += [
            ".SH EXAMPLES",
            ".nf",
            *(_troff(f"mileage {tool.name} {one}") for one in tool.examples),
            ".fi",
        ]
    return "\n".join(lines) + "\n"


def _troff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    from mileage.dropin.flags import tools

    sys.stdout.write(page(tools()))
