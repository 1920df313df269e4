"""The page: complete, closed to the network, safe against names, and the same each time."""

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser

import msgspec
import pytest

from mileage.judge import compare_stages
from mileage.model.caveat import veto
from mileage.report import StudyView, ValidityCheck, render_html
from mileage.report.sentence import note_words, verdict_sentence
from tests.report.conftest import comparison, example, samples, torture

HOSTILE = "<script>alert('a')</script>\"><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What a browser would see: tags in order, attributes, words, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.unbalanced += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def output(view: StudyView) -> str:
    return Page(render_html(view)).text


def test_the_sentence_and_every_cell_are_on_the_page(study: StudyView, page: str) -> None:
    text = Page(page).text
    for part in verdict_sentence(study.comparison, "|").split("|"):
        assert part.strip() in text
    for cell in study.comparison.cells:
        assert cell.cell in text
        assert cell.verdict in text


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    loading = re.compile(
        r"""(?:src|href|action|data|poster|srcset)\s*=\s*["']?(?!data:|#)[^"'\s>]""", re.IGNORECASE
    )
    links = re.compile(r'<a href="[\w.%]+">')
    assert loading.findall(links.sub("", page)) == []
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_the_policy_forbids_loading_and_names_the_only_script(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert len(scripts) == 1
    assert f"'sha256-{base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()}'" in policy[1]


def test_names_from_strangers_stay_text() -> None:
    cells = [msgspec.structs.replace(s, cell=f"{HOSTILE} {s.cell}") for s in samples()]
    judged = compare_stages(
        cells, baseline="before", candidate="after", relevance={}, caveats=[veto("edited", what=HOSTILE)]
    )
    view = example(
        **dict.fromkeys(("name", "question", "target", "command", "method"), HOSTILE),
        comparison=judged,
        identity={HOSTILE: HOSTILE},
        environments=[(HOSTILE, {HOSTILE: HOSTILE})],
        environment_changes=[HOSTILE],
        trust=[ValidityCheck(HOSTILE, "ok", HOSTILE)],
    )
    page = Page(render_html(view))
    assert page.count("script") == 1
    assert page.count("img") == 0
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert page.unbalanced == []


def test_control_characters_cannot_break_a_drawing() -> None:
    cells = [msgspec.structs.replace(s, cell=f"a\x00b\x1b[31m\u202e\ud800 {s.cell}") for s in samples()]
    judged = compare_stages(cells, baseline="before", candidate="after", relevance={})
    page = render_html(example(comparison=judged))
    assert "\x1b" not in page
    assert "a\\u0000b\\u001b[31m" in page
    page.encode("utf-8")


def test_every_tag_is_closed_and_headings_are_in_order(page: str) -> None:
    seen = Page(page)
    assert seen.unbalanced == []
    headings = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(headings))


def test_what_a_screen_reader_needs_is_there(page: str) -> None:
    seen = Page(page)
    ids = [a["id"] for _, a in seen.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert ("html", {"lang": "en"}) in seen.tags
    assert seen.count("title") >= 1
    for tag, attributes in seen.tags:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)
        if tag == "th":
            assert attributes.get("scope") in ("col", "row", "colgroup")


def test_no_verdict_rests_on_colour_alone(page: str) -> None:
    text = Page(page).text
    for words in ("▼ slower", "= same", "? undecided", "≈ real but irrelevant"):
        assert words in text


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_whatever_is_read_contrasts_with_every_ground(page: str, dark: bool) -> None:
    style = page[page.index("<style>") : page.index("</style>")]
    variables = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[dark]
    inks = dict(re.findall(r"--(ink|muted|ok|warn|bad|faster|slower|undecided|link): (#\w{6})", variables))
    grounds = dict(re.findall(r"--(ground|wash|red|amber): (#\w{6})", variables))
    messages = set(re.findall(r'<text[^>]*fill="(#\w{6})"', page))
    night = dict(re.findall(r'svg \[fill="(#\w{6})"\] \{ fill: (#\w{6})', style))
    if dark:
        messages = {night[letter] for letter in messages}
    assert len(inks) == 9
    assert len(grounds) == 4
    assert messages
    for ink, ground in itertools.product({*inks.values(), *messages}, grounds.values()):
        bright, dim = sorted((luminance(ink), luminance(ground)), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, (ink, ground)


def test_two_renderings_are_identical(study: StudyView, page: str) -> None:
    assert render_html(study) == page


def test_one_cycle_is_called_descriptive() -> None:
    text = output(example(comparison=comparison(cycles=1, sham=False), torture=torture(cycles=1)))
    assert "Descriptive only" in text
    assert "One cycle." in text


def test_a_study_without_torture_says_so() -> None:
    assert "recorded no torture" in output(example(torture=[]))


def test_a_torture_without_counters_says_that_amplification_is_not_counted() -> None:
    assert "this target does not count it" in output(example(torture=torture(amplification=False)))


@pytest.mark.parametrize("length", [1, 3])
def test_short_and_unequal_torture_traces_are_drawn(length: int) -> None:
    whole = torture(cycles=1)[0]
    cut = msgspec.structs.replace(
        whole,
        end_s=whole.end_s[:length],
        moved_bytes=whole.moved_bytes[:length],
        rate_bytes_per_s=whole.rate_bytes_per_s[:length],
        counters={name: values[:length] for name, values in whole.counters.items()},
    )
    assert "recorded no torture" not in output(example(torture=[whole, cut]))


def test_vetoes_come_before_the_verdict() -> None:
    text = output(example(comparison=comparison(vetoes=("the drive was throttled", "the sham moved"))))
    verdict = text.index("Not conclusive because the drive was throttled and the sham moved")
    assert verdict < text.index("steady state")
    assert "29 % slower" in text


def test_a_study_without_cells_says_so() -> None:
    nothing = compare_stages([], baseline="before", candidate="after", relevance={})
    text = output(example(comparison=nothing, torture=[], trust=[], environments=[], identity={}))
    assert "there is nothing to compare" in text
    assert "No environment was recorded" in text


def test_a_cell_measured_on_one_side_only_is_shown_undecided() -> None:
    lost = [s for s in samples() if s.stage == "before" or s.cell != "throughput.read 1 MiB"]
    judged = compare_stages(lost, baseline="before", candidate="after", relevance={})
    cell = next(c for c in judged.cells if c.cell == "throughput.read 1 MiB")
    assert cell.ratio is None
    text = output(example(comparison=judged))
    assert "no interval" in text
    assert note_words(cell, judged) in text


def test_many_cells_are_cut_on_the_first_screen_and_complete_below() -> None:
    many = [
        msgspec.structs.replace(s, run=i * 100_000 + s.run, cell=f"{s.cell}, part {i}")
        for i in range(6)
        for s in samples(blocks=2)
    ]
    judged = compare_stages(many, baseline="before", candidate="after", relevance={})
    page = render_html(example(comparison=judged))
    assert "The 11 tests of 36 that changed most" in Page(page).text
    whole = page[page.index("forest-all-cells-description") :]
    assert all(cell.cell in whole for cell in judged.headline)


def test_both_units_of_a_rate_are_in_the_table(page: str) -> None:
    text = Page(page).text
    assert "211\N{NO-BREAK SPACE}MiB/s" in page
    assert "221\N{NO-BREAK SPACE}MB/s" in page
    assert "IOPS" in text


def test_the_page_answers_in_the_order_of_the_questions(page: str) -> None:
    text = Page(page).text
    order = (
        "29 % slower",
        "Write amplification:",
        "limits ! look:",
        "5 checks passed",
        "Copy the",
        "Contents:",
    )
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    folded = page[page.index("checks passed</summary>") : page.index("</details>")]
    assert folded.count("<li") == sum(check.state == "ok" for check in example().trust)


def test_figures_of_few_cells_are_not_repeated(page: str) -> None:
    assert "Largest changes of each test" not in page
    assert "Changes by size and setting" not in page


def test_volatile_facts_are_no_part_of_the_environment() -> None:
    moments = [(stage, {"kernel": "6.1", "now.loadavg": f"{at}.5"}) for at, stage in enumerate(("a", "b"))]
    assert "loadavg" not in render_html(example(environments=moments), drawn=False)


def test_changed_facts_are_marked_and_lead_the_environment(page: str) -> None:
    facts = page[page.index('<table class="facts">') :]
    assert facts.index("file system") < facts.index("kernel")
    assert facts.count('class="differs"') == 1


def test_the_command_that_repeats_it_is_there_with_its_button(study: StudyView, page: str) -> None:
    assert f'<code id="command" tabindex="0">{study.command}</code>' in page
    assert 'id="copy"' in page


def test_capacity_adds_drive_writes_to_the_torture() -> None:
    assert "how many times the drive" in output(example())
    assert "how many times the drive" not in output(example(capacity_bytes=None))
