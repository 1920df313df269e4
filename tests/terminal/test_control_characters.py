"""Nothing of a stranger's text steers a terminal, and nothing of it is lost."""

import json
import random
import unicodedata

import pytest

from mileage.terminal import ascii_of, harmless, one_line

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\",
    "C1": "\x9b2J",
    "clear": "\x1b[2J\x1b[H",
    "return": "slower\rfaster",
    "backspace": "bad\b\b\bgood",
    "bidi": "file\u202egnp.exe",
    "isolate": "\u2067abc\u2069",
    "separator": "one\u2028two",
    "invisible": "a\u200bb\ufeffc\U000e0041d",
    "surrogate": "name\udcff",
    "del": "x\x7fy",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_steers_is_shown_instead(text: str) -> None:
    output = harmless(text)
    assert all(
        letter in "\t\n" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for letter in output
    )
    assert output != text


def test_every_control_and_direction_sign_of_unicode_is_shown() -> None:
    allowed = set("\t\n\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}")
    steering = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")
    ]
    steering += [chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in BIDI]
    kept = {letter for letter in steering if harmless(letter) == letter}
    assert kept <= allowed, sorted(map(hex, map(ord, kept - allowed)))


STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_ordinary_text_of_any_language_passes_as_it_is() -> None:
    for text in ("naïve", "日本語 16 MiB", "العربية", "▲ faster – 95 %", "a\tb\nc", "e\u0301", "👩\u200d🔬"):
        assert harmless(text) == text


def test_a_json_document_keeps_its_meaning() -> None:
    seed = 5
    rng = random.Random(seed)
    for _ in range(200):
        word = "".join(
            chr(rng.choice((rng.randrange(0x250), rng.randrange(0x2000, 0x2100), 0xE0041))) for _ in range(9)
        )
        document = json.dumps({word: [word, 1.5]}, ensure_ascii=False)
        assert json.loads(harmless(document)) == json.loads(document), f"seed {seed}"


def test_a_name_cannot_begin_a_line() -> None:
    assert one_line("a\nmileage: all is well\r\nb\tc") == r"a\nmileage: all is well\nb c"


def test_ascii_says_the_same() -> None:
    assert ascii_of("▼ slower −6.3\N{NO-BREAK SPACE}% (±0.4), 12 µs…") == "v slower -6.3 % (+-0.4), 12 us~"
    assert ascii_of("Größe 日") == "Gr\\xf6\\xdfe \\u65e5"
