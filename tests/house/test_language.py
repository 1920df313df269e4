"""Plain technical English: phrases to avoid, names of modules, style of headings (CONTRIBUTING, "Language")."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.house.language import FOUND, PHRASES, counts
from tests.house.repository import ROOT, files, name_of

#: Words that say nothing about the contents of a module.
EMPTY_WORDS: Final = re.compile(
    r"above|around|aside|beneath|besides?|done|hence|here|how|inside|kept|meant|meanwhile|nearby|now|outside|own|seen|spent"
    r"|standing|still|that|then|there|they|told|under|what|when|where|which|who|whose|why|within"
)
NOUNS: Final = re.compile(
    r"accounting|aging|backing|caching|freezing|listing|mapping|packing|preconditioning|provisioning|reading|ring|setting"
    r"|timing|uring|wording"
)
# Types; errors are named by what happened.
TYPE: Final = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|union|class) (\w+)", re.MULTILINE)
TYPE_NOUNS: Final = re.compile(
    r"Accounting|Caching|Drawing|Finding|Mapping|Opening|Packing|Rating|Reading|Ring|Setting|Spacing|Speed|Standing|Timing|Uring"
    r"|Aligned|Failed|Interrupted|Refused|Unsupported"
)
ENDINGS: Final = ("s", "es", "er", "ers", "or", "ing", "ings", "ed", "al")

HEADING: Final = re.compile(r"^(#+) (.*)$", re.MULTILINE)
FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RIDDLES: Final = re.compile(r"(What|Which|Who|Whom|Whose|Where|When|Whether|By|As|If|Beside|That|It) ")


def modules() -> list[Path]:
    return [
        path
        for path in files(".py", ".rs")
        if name_of(path).startswith(("python/", "crates/")) and not path.stem.startswith("__")
    ]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_matches_words_and_not_parts_of_words(phrase: str) -> None:
    assert re.fullmatch(r"[a-z ()|?\[\]]+", phrase), "an expression of words"
    assert FOUND.search("It was told."), "words"
    assert FOUND.search("lamps_of"), "parts of names"
    assert FOUND.search("so\nmany"), "across lines"
    assert not FOUND.search("retold tellurium surfaces")


def test_no_file_has_one_of_the_phrases() -> None:
    lines = []
    for name, count in counts().items():
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        words = sorted({" ".join(hit[0].split()).lower() for hit in FOUND.finditer(text)})
        lines.append(f"{name}: {count}: {', '.join(words)}")
    assert not lines, "say it in plain words (tests/house/language.py has them)\n" + "\n".join(lines)


def test_a_module_is_named_by_a_noun() -> None:
    empty = [name_of(path) for path in modules() if EMPTY_WORDS.fullmatch(path.stem)]
    assert not empty, f"a folder listing does not say what is in these: {empty}"
    assert not participles(), f"name these by what they hold: {sorted(participles())}"


def test_a_type_is_named_by_a_noun() -> None:
    named = {
        f"{path}: {name}"
        for path in (*files(".rs"), *files(".py"))
        for name in TYPE.findall(path.read_text(encoding="utf-8"))
        if (last := re.findall(r"[A-Z][a-z]+$", name))
        and re.search(r"(ing|ed)$", last[0])
        and not TYPE_NOUNS.fullmatch(last[0])
    }
    assert not named, "name these by what they hold:\n" + "\n".join(sorted(named))


def test_modules_of_a_folder_do_not_differ_in_an_ending_only() -> None:
    assert not pairs(), f"a reader cannot distinguish these: {sorted(pairs())}"


def participles() -> frozenset[str]:
    """Modules whose name ends in a participle."""
    return frozenset(
        name_of(path)
        for path in modules()
        if re.search(r"(ing|ed)$", last := path.stem.rpartition("_")[2]) and not NOUNS.fullmatch(last)
    )


def pairs() -> frozenset[str]:
    """Modules of one folder that differ in an ending only."""
    stems: dict[Path, set[str]] = defaultdict(set)
    for path in modules():
        stems[path.parent].add(path.stem)
    return frozenset(
        f"{name_of(folder)}/{stem}|{other}"
        for folder, names in stems.items()
        for stem in names
        for root in {stem, stem.removesuffix("e"), stem + stem[-1]}
        for other in {root + ending for ending in ENDINGS} & names - {stem}
    )


@pytest.mark.parametrize("path", [path for path in files(".md") if "samples" not in path.parts], ids=name_of)
def test_headings_are_short_phrases(path: Path) -> None:
    headings = [
        (len(marks), title)
        for marks, title in HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
    ]
    assert [level for level, _ in headings].count(1) == 1, "one title"
    assert headings[0][0] == 1, "the title comes first"
    steps = [second - first for (first, _), (second, _) in pairwise(headings)]
    assert max(steps, default=0) <= 1, "no level is skipped"
    for level, title in headings:
        assert len(title) <= 72, f"{title!r} is longer than 72 characters"
        assert not title.endswith((".", ":", ";", ",", "!", "?")), f"{title!r} ends in a mark"
        assert not RIDDLES.match(title) or level == 1, f"{title!r}: write a noun phrase or an order"
