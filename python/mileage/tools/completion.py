"""Completion of a face's words in a shell, from the flags of its tool."""

from __future__ import annotations

from mileage.tools.flags import Tool


def complete(tool: Tool, begun: str) -> list[tuple[str, str]]:
    """The flags that begin so and are done, each with what it does."""
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
