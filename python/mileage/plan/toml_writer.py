"""From a study back to TOML.

Scope: the subset of TOML that a study needs: a table per section, inline tables inside them. Reading
the text gives an equal study.
None is omitted.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mileage.plan.io_options import HOW_KEYS
from mileage.plan.study import Study
from mileage.plan.toml_literals import toml_key, toml_value

_TABLES_OF_TABLES: Final = ("factor", "workload", "measure", "torture")


def to_toml(study: Study) -> str:
    """The text of a study file, every value given, ending in a newline."""
    fields = _without_none(msgspec.to_builtins(study))
    plain = {key: value for key, value in fields.items() if not isinstance(value, dict) and key != "stage"}
    sections = [_section("", plain)]
    if fields["notes"]:
        sections.append(_section("[notes]", fields["notes"]))
    sections.append(_section("[state]", fields["state"]))
    sections += [_section("[[stage]]", stage) for stage in fields["stage"]]
    for group in _TABLES_OF_TABLES:
        for name, table in fields[group].items():
            sections.append(_section(f"[{group}.{toml_key(name)}]", _readable(table)))
    sections.append(_section("[compare]", fields["compare"]))
    if study.apart is not None:
        sections.append(_section("[apart]", fields["apart"]))
    return "\n".join(sections)


def plan_to_toml(study: Study, plan_hash: str, identity: str, runs: int) -> str:
    """The text of plan.toml: the resolved study, after comments with hash, target and number of runs."""
    head = [
        "# The resolved study. Resolving it again for the same target gives the same plan.",
        f"# plan {plan_hash}",
        f"# target {_one_line(identity)}",
        f"# {runs} runs",
    ]
    return "\n".join(head) + "\n\n" + to_toml(study)


def _one_line(text: str) -> str:
    """A text that cannot end the comment it is put into."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _section(head: str, table: dict[str, Any]) -> str:
    lines = [head] if head else []
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _readable(table: dict[str, Any]) -> dict[str, Any]:
    """The keys in the order in which people think of them: what, then how; without empty tables."""
    first = {key: value for key, value in table.items() if key not in HOW_KEYS and value != {}}
    return {**first, **{key: value for key, value in table.items() if key in HOW_KEYS}}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(member) for key, member in value.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(member) for member in value]
    return value
