"""Lines are as wide as they look."""

import random
import shlex
import subprocess
import unicodedata

import pytest

from mileage.terminal import columns_of, command_lines, cut, padded, wrapped

WORDS = ("a", "of", "longer", "日本語", "e\u0301te\u0301", "x" * 90, "宽" * 50, "👍👍")


def shown(text: str) -> int:
    """An independent count."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
        for letter in text
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_line_is_wider_and_no_word_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 40)))
    width = rng.randrange(12, 90)
    lines = wrapped(text, width, first="* ", indent="  ")
    assert max(map(shown, lines)) <= width
    assert "".join(lines).replace(" ", "").replace("*", "") == text.replace(" ", "")


def test_lines_are_as_full_as_words_allow() -> None:
    assert wrapped("aa bb cc dd", 5) == ["aa bb", "cc dd"]
    assert wrapped("aa bb cc dd", 5, indent=" ") == ["aa bb", " cc", " dd"]
    assert wrapped("", 10) == [""]
    assert wrapped("10\N{NO-BREAK SPACE}% of it", 6) == ["10 %", "of it"]


@pytest.mark.parametrize("text", ["short", "日本語日本語", "a日b本", "x" * 30])
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str) -> None:
    for width in range(1, 32):
        output = cut(text, width)
        assert shown(output) <= width
        assert output == text or output.endswith("…")
        assert shown(padded(text, width)) == width == columns_of(padded(text, width))


def test_a_broken_command_is_what_a_shell_reads_as_one() -> None:
    command = "mileage run 'my arms.toml' --target 'dir:a folder' --seed 3 --label 'kernel=6.1 x'"
    lines = command_lines(command, 40)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 40
    typed = "\n".join(lines).replace("mileage", "printf '%s\\n'", 1)
    read = subprocess.run(["sh", "-c", typed], capture_output=True, text=True, check=True).stdout.splitlines()
    assert read == shlex.split(command)[1:]
    long = command_lines(f"mileage report {'x' * 90} --verbose", 40)
    assert long == ["  mileage report \\", f"    {'x' * 90} \\", "    --verbose"]
    assert command_lines("an 'open quote", 40) == ["  an 'open quote"]


def test_a_command_in_backticks_is_not_broken() -> None:
    assert wrapped("see `mileage run FOLDER`.", 12) == ["see", "`mileage run FOLDER`."]
    assert wrapped("see `mileage run FOLDER` here", 22) == ["see", "`mileage run FOLDER`", "here"]
