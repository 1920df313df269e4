"""An option that says where a result is written: its place is checked when the command is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from mileage.targets.door import ResultPlace


class ResultFile(click.ParamType["ResultPlace"]):
    """The type of such an option. `kind`: of the result, one word; it takes the place of one of its kind only."""

    name = "file"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ResultPlace:
        """The place of the result. Raises Refused."""
        from mileage.targets.door import ResultPlace

        if isinstance(value, ResultPlace):
            return value
        place = ResultPlace(max(param.opts, key=len) if param else "", Path(value), self.kind)
        place.check()
        return place

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, completed by the shell."""
        return [CompletionItem(incomplete, type="file")]
