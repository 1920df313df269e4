"""Flags of other tools as objects, and the parser of command lines made of them.

Scope: a tool is a file `tools/NAME.toml`, read when it is asked for: a table `flags`, whose keys are the spellings
and whose values are fields of `Flag`; the other keys are fields of `Tool`. `defaults` holds fields of every flag with
a value that does not give them; `others` is a text of words. `getopt` as the tools use it: `-R -b x`, `-Rb x`, `-i0`,
two-letter options after `-+`, long options with a value after a blank or `=`, and dd's `name=value`. Each flag says
what it does here.
What it refuses: a flag that the tool does not know; one that is not supported, with what it does in the original
and what to use instead; a missing or unexpected value; and the long dashes that texts make of "-".
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from mileage.dropin.tool_statuses import ToolRefusal, ToolStatuses, statuses_of
from mileage.errors import Refused, closest

Style = Literal["getopt", "operands"]

LONG_DASHES: Final = {
    "–": "an en dash",
    "—": "an em dash",
    "−": "a minus sign",
    "\u2012": "a figure dash",
    "\u2010": "a hyphen",
}

DASHES: Final = ("-", *LONG_DASHES)


@dataclass(frozen=True)
class Flag:
    """One flag of a tool; from it come the parser, the help, completion, the pages and their tests."""

    spelling: str
    """Flag as it is typed: `-s`, `-+w`, `--direct`, `bs`."""
    summary: str
    """Effect of the flag, in one line."""
    value: str = ""
    """Name of its value; empty when it takes none."""
    also: tuple[str, ...] = ()
    """Other spellings."""
    trap: str = ""
    """Actual effect of a flag whose name or common use suggests another; printed when the flag is used."""
    instead: str = ""
    """For a refused flag, the replacement to use; `summary` then describes the original.

    `summary` then says what the original does.
    """
    ignored: str = ""
    """What is done in place of what a flag does in the original, or why nothing is; printed when the flag is used."""
    example: str = ""
    """A value that can be had, for tests and pages."""
    choices: tuple[str, ...] = ()
    """Every value there is, for completion; empty when they are many."""
    other_choices: tuple[str, ...] = ()
    """Values that the tool takes and Mileage does not."""
    optional: bool = False
    """For a long option: whether its value, after `=`, is optional."""
    spaced: bool = False
    """For a long option whose value is optional: whether, without `=`, the next word is its value."""
    several: bool = False
    """Whether every word up to the next flag is a value of this flag, as with `-F f1 f2`."""
    pair: bool = False
    """For a long option: whether it takes two words, a name and its value."""

    @property
    def name(self) -> str:
        """The spelling without dashes: the key of a job file."""
        return self.spelling.lstrip("-")

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.spelling, *self.also)


STUDY: Final = Flag("--study", "Keep a study folder in DIR (added by Mileage).", "DIR", also=("--save",))
DESTROY: Final = Flag(
    "--destroy", "Allow the loss of the content of this file or device (added by Mileage).", "PATH"
)
HELP: Final = Flag("--help", "Show the flags (added by Mileage).")
MANUAL: Final = Flag("--manual", "Print the manual page, for `man -l -` (added by Mileage).")
OWN: Final = (STUDY, DESTROY, HELP, MANUAL)
"""Flags of every drop-in command, in addition to those of its tool."""


@dataclass(frozen=True)
class Tool:
    """One tool: its name as a command of Mileage, and its flags."""

    name: str
    title: str
    """Purpose of the tool, in one line."""
    flags: tuple[Flag, ...]
    usage: str
    """The command line in short, after the name."""
    operands: str = ""
    """Meaning of the words that are not flags; empty when there are none."""
    style: Style = "getopt"
    notes: tuple[str, ...] = ()
    """Notes for users next to the flags, a paragraph each."""
    examples: tuple[str, ...] = ()
    starts: bool = False
    """Whether the first word that is not a flag is a program, followed by that program's own words."""
    equals: bool = False
    """Whether a short flag and its value may be joined by "=": `-b=4k`."""
    single_dash: bool = False
    """Whether long options may begin with one dash: `-name=a`."""
    others: frozenset[str] = frozenset()
    """Spellings of further flags that the tool has: they are refused by Mileage, not by the tool."""
    by_launcher: bool = False
    """Whether the ranks of somebody else's mpirun can be its tasks."""

    @property
    def all_flags(self) -> tuple[Flag, ...]:
        return (*self.flags, *OWN)

    @property
    def statuses(self) -> ToolStatuses:
        """What the tool ends with when it does not do its work."""
        return statuses_of(self.name)

    def find(self, spelling: str) -> Flag | None:
        """The flag of that spelling."""
        return next((flag for flag in self.all_flags if spelling in flag.spellings), None)


@dataclass
class GivenFlags:
    """A command line that was read: every flag with its value, in order, and the operands."""

    tool: Tool
    flags: list[tuple[Flag, str]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    words: tuple[str, ...] = ()
    """The command line as it was typed."""

    def has(self, spelling: str) -> bool:
        """Whether the flag was given."""
        return any(spelling in flag.spellings for flag, _ in self.flags)

    def count(self, spelling: str) -> int:
        """How often the flag was given."""
        return sum(spelling in flag.spellings for flag, _ in self.flags)

    def last(self, spelling: str) -> str | None:
        """The value that was given last; None when the flag was not given."""
        return next((value for flag, value in reversed(self.flags) if spelling in flag.spellings), None)

    def every(self, spelling: str) -> list[str]:
        """All values, in order."""
        return [value for flag, value in self.flags if spelling in flag.spellings]

    @property
    def traps(self) -> list[str]:
        """The `trap` texts of the given flags, each once."""
        warnings = (f"{flag.spelling}: {flag.trap}" for flag, _ in self.flags if flag.trap)
        return list(dict.fromkeys(warnings))

    @property
    def notes(self) -> list[str]:
        """The `trap` and `ignored` texts of the given flags, each once."""
        ignored = (f"{flag.spelling}: {flag.ignored}" for flag, _ in self.flags if flag.ignored)
        return [*self.traps, *dict.fromkeys(ignored)]


def read(tool: Tool, words: Sequence[str]) -> GivenFlags:
    """A command line by the flags of its tool. Raises Refused with the word that cannot be."""
    given = GivenFlags(tool, words=tuple(words))
    own = len(words)
    if tool.starts:
        own = program_at(tool, words)
        given.operands = list(words[own:])
    reader = _Words(tool, list(words[:own]), given)
    while reader.left:
        reader.step()
    return given


def program_at(tool: Tool, words: Sequence[str]) -> int:
    """Index of the program among the words of mpirun: everything after it belongs to the program."""
    at = 0
    while at < len(words):
        word = words[at]
        if word[:1] not in DASHES:
            return at
        flag = tool.find(word)
        if flag is None:
            at += 1 if "=" in word else 2
        else:
            at += 1 + bool(flag.value) + flag.pair
    return at


class _Words:
    """The words of one command line, taken one after the other."""

    def __init__(self, tool: Tool, left: list[str], given: GivenFlags) -> None:
        self._tool = tool
        self.left = left
        self._given = given

    def step(self) -> None:
        word = self.left.pop(0)
        if word[:1] in LONG_DASHES:
            name = LONG_DASHES[word[0]]
            raise self._fault(
                self._tool.name,
                f'{word} begins with {name} (U+{ord(word[0]):04X}), not with "-"',
                advice=f"texts print it so, the original takes it for no flag: type -{word[1:]}",
                code="long-dash",
                accepted=bool(self._tool.operands),
            )
        if word == "--":
            self._given.operands += self.left
            self.left.clear()
        elif word.startswith("--") or (len(word) > 2 and self._tool.find(word) is not None):
            self._long(word)
        elif self._tool.style == "operands" and "=" in word:
            self._operand(word)
        elif word.startswith("-+"):
            self._plus(word)
        elif len(word) > 1 and word[0] == "-":
            self._short(word)
        elif self._tool.operands:
            self._given.operands.append(word)
        else:
            raise self._fault(
                self._tool.name, f"{word} is no flag, and it takes no other words", code="unknown-flag"
            )

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        flag = self._known(name)
        if not flag.value:
            if equals:
                raise self._fault(
                    f"{self._tool.name}: {name}", "takes no value", found=word, code="value-given"
                )
            self._add(flag, "")
        elif flag.optional and (equals or not flag.spaced):
            self._add(flag, value)
        else:
            value = value if equals else self._next(flag, name)
            self._add(flag, f"{value} {self._next(flag, name)}" if flag.pair else value)

    def _operand(self, word: str) -> None:
        name, _, value = word.partition("=")
        flag = self._known(name)
        self._add(flag, value)

    def _plus(self, word: str) -> None:
        flag = self._known(word[:3], word)
        if flag.value and len(word) > 3:
            own = f"the value of {word[:3]} stands in a word of its own: {word[:3]} {word[3:]}"
            raise self._refused(word, own, code="value-joined")
        if not flag.value and len(word) > 3:
            raise self._refused(word, f"{word[:3]} takes no value and ends its word", code="value-given")
        self._add(flag, self._next(flag, word) if flag.value else "")

    def _short(self, word: str) -> None:
        for place in range(1, len(word)):
            flag = self._known(f"-{word[place]}", word)
            if flag.value:
                rest = word[place + 1 :]
                rest = rest.removeprefix("=") if self._tool.equals else rest
                self._add(flag, rest or self._next(flag, f"-{word[place]}"))
                while flag.several and self.left and self.left[0][:1] not in DASHES:
                    self._add(flag, self.left.pop(0))
                return
            self._add(flag, "")

    def _next(self, flag: Flag, name: str) -> str:
        if not self.left:
            text = f"needs a value: {name} {flag.value}"
            raise self._fault(f"{self._tool.name}: {name}", text, code="value-missing")
        return self.left.pop(0)

    def _known(self, spelling: str, word: str = "") -> Flag:
        flag = self._tool.find(spelling)
        if flag is not None:
            return flag
        if spelling in self._tool.others:
            text = f"there is no flag {spelling} here, although {self._tool.name} itself has it"
            raise Refused(self._tool.name, text, advice="omit it", code="not-built")
        known = [one for flag in self._tool.all_flags for one in flag.spellings]
        near = closest(spelling, known, 0.75) if len(spelling) > 3 else None
        hint = f"did you mean {near}?" if near else f"see `mileage {self._tool.name} --help`"
        found = f"{spelling} (in {word})" if word and word != spelling else spelling
        raise self._fault(self._tool.name, f"there is no flag {found}", advice=hint, code="unknown-flag")

    def _fault(
        self, where: str, text: str, *, code: str, found: str = "", advice: str = "", accepted: bool = False
    ) -> Refused:
        """What the tool does not accept either, unless it is `accepted` by the tool."""
        if accepted:
            return Refused(where, text, found=found, advice=advice, code=code)
        return ToolRefusal(self._tool.name, where, text, found=found, advice=advice, code=code)

    def _refused(
        self, flag: str, text: str = "", *, found: str = "", expected: str = "", code: str
    ) -> Refused:
        return Refused(f"{self._tool.name}: {flag}", text, found=found, expected=expected, code=code)

    def _add(self, flag: Flag, value: str) -> None:
        if flag.instead:
            raise self._refused(
                flag.spelling,
                f"is not supported. In the original: {flag.summary} Here: {flag.instead}",
                code="not-built",
            )
        if flag.choices and value not in flag.choices and not (flag.optional and not value):
            expected = f"one of {', '.join(flag.choices)}"
            if value in flag.other_choices:
                raise self._refused(flag.spelling, found=value, expected=expected, code="unknown-word")
            where = f"{self._tool.name}: {flag.spelling}"
            raise ToolRefusal(
                self._tool.name, where, found=value, expected=expected, code="unknown-word", fault="value"
            )
        self._given.flags.append((flag, value))


def complete(tool: Tool, begun: str) -> list[tuple[str, str]]:
    """The flags that begin so and are done, each with what it does: what a shell completes a word to."""
    end = "=" if tool.style == "operands" else ""
    found = []
    for flag in tool.all_flags:
        if flag.instead:
            continue
        for spelling in flag.spellings:
            word = spelling if spelling.startswith("-") else spelling + end
            values = [f"{word}{choice}" for choice in flag.choices if word.endswith("=")] or [word]
            found += [(value, flag.summary) for value in values if value.startswith(begun)]
    return found


TOOLS: Final = ("fio", "iozone", "ior", "mdtest", "metarates", "mpirun", "iometer", "hdparm", "dd")


@cache
def tool_named(name: str) -> Tool:
    """The tool of a drop-in command."""
    text = Path(__file__).with_name("tools").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    defaults, others = table.pop("defaults", {}), frozenset(table.pop("others", "").split())
    flags = (
        Flag(spelling, **_frozen({**(defaults if "value" in row else {}), **row}))
        for spelling, row in table.pop("flags").items()
    )
    return Tool(name=name, flags=tuple(flags), others=others, **_frozen(table))


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    """A table with tuples in place of lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def tools() -> tuple[Tool, ...]:
    """All of them."""
    return tuple(tool_named(name) for name in TOOLS)
