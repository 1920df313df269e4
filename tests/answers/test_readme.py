"""What a user asks who types what README.md shows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.answers.question import suppose

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="spare.toml is nowhere in the repository or its documents"
)
def test_the_study_files_of_the_commands_exist() -> None:
    """Where is the file of the sweep that README shows?

    Truth: the listing of the repository: a file of that name, or a document that shows its text.
    """
    block = README.split("## Commands", 1)[1].split("```", 2)[1]
    named = set(re.findall(r"[\w-]+\.toml", block))
    files = {
        path.name
        for folder in ("examples", "python", "drives", "docs")
        for path in (ROOT / folder).rglob("*.toml")
    }
    shown = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    missing = sorted(name for name in named if name not in files and f"# {name}\n" not in shown)
    assert not missing


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason='says that the rates "when new and when worn by random writes are those of the data sheet"',
)
def test_readme_claims_no_rate_that_no_source_gives() -> None:
    """Which data sheet gives the rate of the new X25-E in random writes?

    Truth: none of the profile's sources: the sheet's figures for random writes are of a drive in use, and the profile,
    read here as TOML, quotes none for a new one.
    """
    profile = tomllib.loads((ROOT / "drives" / "intel-x25e-64gb.toml").read_text(encoding="utf-8"))
    sources = " ".join(
        str(figure.get("source", "")) for figure in profile.values() if isinstance(figure, dict)
    )
    suppose(not re.search(r"random writes[^;.]*\bnew\b|\bnew\b[^;.]*random writes", sources), sources)
    assert "its rates when new and when worn by random writes are those of the data sheet" not in " ".join(
        README.split()
    )
