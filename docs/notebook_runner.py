"""Run the cells of a notebook one after the other and keep what they show: `python docs/notebook_runner.py FILE...`.

It does what a notebook does with plain Python: the last expression of a cell is shown as text and, where it has a form
for notebooks, as HTML. It runs in a temporary folder. Refuses what only IPython has, such as `%` and `!` lines.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells made anew. Raises what a cell raises."""
    names: dict[str, Any] = {}
    cells = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(notebook["cells"], start=1):
            if cell["cell_type"] == "code":
                shown = _outputs("".join(cell["source"]), names, number)
                cells.append(cell | {"execution_count": number, "outputs": shown})
            else:
                cells.append(cell)
    return notebook | {"cells": cells}


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append(
            {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(paths: Sequence[str]) -> None:
    """Write the notebooks again with their outputs."""
    for path in map(Path, paths):
        made = run(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
