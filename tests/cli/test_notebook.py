"""The notebook of the documentation runs, and shows what it shows here."""

from __future__ import annotations

import json

from docs.notebook_runner import run

from tests.house.repository import ROOT


def test_the_notebook_runs_and_shows_what_is_printed_in_it() -> None:
    kept = json.loads((ROOT / "docs" / "tutorial" / "notebook.ipynb").read_text(encoding="utf-8"))
    made = run(kept)
    outputs = [[cell.get("outputs") for cell in notebook["cells"]] for notebook in (kept, made)]
    assert outputs[0] == outputs[1], "run: python docs/notebook_runner.py docs/tutorial/notebook.ipynb"
    assert any("text/html" in output.get("data", {}) for cell in outputs[1] if cell for output in cell)
