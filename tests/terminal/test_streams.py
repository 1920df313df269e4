"""The seam behind the command line: on a real terminal nothing of a stranger's text arrives as a command."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.plan import builtin_text

SHOUT = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e\x9b\rall is well"


def on_terminal(arguments: list[str], cwd: Path, **environment: str) -> tuple[str, int]:
    """What a terminal receives from `mileage`, and its exit status. The terminal is a pty of the kernel."""
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "mileage", *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=cwd,
        env=env,
    )
    os.close(child)
    received = b""
    while select.select([parent], [], [], 120)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        received += part
    os.close(parent)
    return received.decode("utf-8").replace("\r\n", "\n"), process.wait()


COMMANDS = {
    "run": ["run", SHOUT],
    "plan": ["plan", SHOUT],
    "report": ["report", SHOUT],
    "list": ["list", "studies", SHOUT],
    "compare": ["compare", SHOUT, "b"],
    "command": [SHOUT],
    "target": ["measure", "--target", f"dir:{SHOUT}"],
    "workload": ["measure", "--target", "null:", "--workload", SHOUT],
    "label": ["run", "--label", SHOUT],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_hostile_argument_is_printed_without_effect(arguments: list[str], tmp_path: Path) -> None:
    output, status = on_terminal(arguments, tmp_path)
    assert status == 2
    assert not set(output) & set("\x1b\x07\x9b\u202e\r")
    assert "all is well" in output or "not" in output


def test_a_line_feed_in_a_name_begins_no_line_of_its_own(tmp_path: Path) -> None:
    output, _ = on_terminal(["report", "x\nmileage: the drive is fine"], tmp_path)
    assert not [line for line in output.splitlines()[1:] if line.startswith("mileage")]


def test_a_hostile_study_is_planned_without_its_power(tmp_path: Path) -> None:
    text = builtin_text("degradation")
    escaped = SHOUT.encode("unicode_escape").decode().replace("\\x", "\\u00")
    line = next(line for line in text.splitlines() if line.startswith("question"))
    (tmp_path / "s.toml").write_text(text.replace(line, f'question = "{escaped}"'), encoding="utf-8")
    output, status = on_terminal(["plan", "s.toml"], tmp_path)
    assert not set(output) & set("\x1b\x07\x9b\u202e\r")
    assert status in (0, 2)


@pytest.mark.parametrize(
    "setting", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_a_terminal_without_utf_8_gets_what_it_can_show(setting: dict[str, str], tmp_path: Path) -> None:
    code = "from mileage.terminal import guard_streams; guard_streams(); import click; click.echo('▼ 5 % ± 1 日本')"
    env = {**os.environ, **setting}
    output = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout
    assert output.startswith(b"v 5 % ")
    assert b"\\u65e5" in output


def test_json_in_a_file_still_says_what_it_said(tmp_path: Path) -> None:
    code = (
        "from mileage.terminal import guard_streams; guard_streams(); import json; "
        "print(json.dumps('a\\x7f\\u202eb', ensure_ascii=False))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert output == '"a\\u007f\\u202eb"\n'
