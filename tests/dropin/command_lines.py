"""Public command lines of other tools, and the share of them that the drop-in commands accept and run.

`python -m tests.dropin.command_lines` runs each line of `command_lines.tsv`, scaled to a few MiB and seconds, in an
empty directory and prints for every tool the share that ends with 0 and the refusals with their reasons. With
`--real DIR`, a directory with the tools themselves, it runs these first, in a directory of their own, and counts only
the lines which the tool itself ends with 0. Columns of the file: tool, repository, path, the exit status of the tool
itself (IOR 4.1, mdtest 4.1, fio 3.33; "-" where it is not known or took longer than 25 s), line. Values of shell
variables were filled in; where only the number of a file in a public index is known, the path has it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("command_lines.tsv")
_UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS: Final = 60
PLACES: Final = ("out", "ior-easy", "ior-hard", "1")
"""Directories that lines expect."""


class CommandLine(NamedTuple):
    """One line, and where it was found."""

    tool: str
    repository: str
    path: str
    ends: str
    """Exit status of the tool itself with the scaled line, or a dash."""
    line: str


def command_lines(tool: str | None = None) -> list[CommandLine]:
    """All lines, or those of one tool."""
    rows = [line.split("\t") for line in FILE.read_text().splitlines() if line and line[0] != "#"]
    found = [CommandLine(*row) for row in rows]
    return [one for one in found if tool in (None, one.tool)]


def _bytes(text: str, alone: int = 1) -> int | None:
    found = re.fullmatch(r"([0-9]+)([kmgt]?)(?:i?b)?", text.lower())
    return None if found is None else int(found[1]) * (_UNITS[found[2]] if found[2] else alone)


_LEAST: Final = {
    "ior": {"-s": 4, "-i": 2, "-D": 1, "-d": 0, "-M": 1},
    "mdtest": {"-n": 20, "-I": 4, "-z": 2, "-b": 3, "-W": 1, "-i": 2},
    "iozone": {"-t": 3, "-l": 2, "-u": 3, "-J": 1},
}
_IOZONE_SIZES: Final = {
    "-s": 1 << 20,
    "-r": 256 << 10,
    "-g": 1 << 20,
    "-n": 512 << 10,
    "-y": 64 << 10,
    "-q": 256 << 10,
}


def scaled(one: CommandLine) -> list[str]:
    """The words of a line with sizes, counts and times that a test can afford, and paths of its own directory."""
    words = [_in_place(one.tool, word) for word in shlex.split(one.line)]
    if one.tool == "fio":
        return [_fio_word(word) for word in words]
    least = _LEAST[one.tool]
    found: list[str] = []
    for at, word in enumerate(words):
        flag, value, joined = (words[at - 1] if at else ""), word, False
        if re.fullmatch(r"-[a-zA-Z]=?[0-9][0-9a-zA-Z]*", word):
            flag, value, joined = word[:2], word[2:].removeprefix("="), True
        if one.tool == "iozone" and re.fullmatch(r"-[a-zA-Z]{2,}", flag):
            flag = f"-{flag[-1]}"
        size = _bytes(value, 1024 if one.tool == "iozone" else 1)
        if flag in least and value.isdecimal():
            value = str(min(int(value), least[flag]))
        elif one.tool == "iozone" and flag in _IOZONE_SIZES and size is not None:
            value = f"{max(min(size, _IOZONE_SIZES[flag]) >> 10, 1)}k"
        elif one.tool == "ior" and flag in ("-b", "-t") and size is not None and size > 1 << 18:
            value = str((1 << 20 if size >= 1 << 20 else 1 << 18) if flag == "-b" else 1 << 18)
            value = str(size) if size % (1 << 18) else value
        found.append(f"{flag}{value}" if joined else value)
    if one.tool == "iozone" and _is_endless(found):
        found = ["-g", "1024k", *found]
    return _divisible(found) if one.tool == "ior" else found


def _is_endless(words: Sequence[str]) -> bool:
    """Whether IOzone would use files up to its own largest, 512 MB."""
    automatic = any(re.fullmatch(r"-[a-zA-Z]*a[a-zA-Z]*", word) for word in words)
    return automatic and not any(re.match(r"-[a-zA-Z]*[gs]", word) for word in words)


def _divisible(words: list[str]) -> list[str]:
    """A large block that is no power of two becomes two transfers."""
    for at, word in enumerate(words[:-1]):
        if word == "-b" and (_bytes(words[at + 1]) or 0) > 4 << 20:
            words[at + 1] = str(1 << 20)
    return words


def _in_place(tool: str, word: str) -> str:
    """Absolute paths become names in the working directory."""
    if tool == "fio":
        return re.sub(r"^(--(?:filename|directory|filename_format|write_\w+|output))=(.*)$", _fio_place, word)
    return re.sub(r"^((?:-[a-zA-Z]=?)?)/(?:\S*/)?(\S*)$", lambda found: f"{found[1]}{found[2] or 'x'}", word)


def _fio_place(found: re.Match[str]) -> str:
    if found[1] == "--directory":
        return "--directory=."
    names = [name.rstrip("/").rpartition("/")[2] or "x" for name in found[2].split(":")]
    return f"{found[1]}={':'.join(names)}"


_FIO_LEAST: Final = {"numjobs": 3, "loops": 2, "nrfiles": 8, "iodepth": 64}


def _fio_word(word: str) -> str:
    name, _, value = word.removeprefix("--").partition("=")
    size = _bytes(value)
    if name in ("size", "filesize", "io_size", "io_limit") and (size is None or size > 1 << 20):
        return f"--{name}=1m"
    if name in ("bs", "blocksize") and size is not None and size > 256 << 10:
        return f"--{name}=256k"
    if name in ("offset", "offset_increment") and size is not None and size > 1 << 20:
        return f"--{name}=1m"
    if name in ("runtime", "timeout"):
        return f"--{name}=1"
    if name in ("ramp_time", "startdelay", "start_delay"):
        return f"--{name}=0"
    if name in _FIO_LEAST and value.isdecimal():
        return f"--{name}={min(int(value), _FIO_LEAST[name])}"
    return word


def run(program: Sequence[str], words: Sequence[str], place: Path) -> tuple[int, str]:
    """The exit status and the last line of what is said, run in a directory."""
    place.mkdir(parents=True, exist_ok=True)
    for name in PLACES:
        (place / name).mkdir(exist_ok=True)
    own = subprocess.Popen(
        [*program, *words],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with own:
        try:
            out, err = own.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            # Its children too: those of a tool that hangs would otherwise run during all later lines.
            os.killpg(own.pid, signal.SIGKILL)
            return -1, "does not end"
    said = [line for line in (out + err).splitlines() if line.strip()]
    return own.returncode, said[-1].strip()[:150] if said else ""


def main() -> None:
    """Print the shares and the refusals."""
    parser = argparse.ArgumentParser(
        description="Share of public command lines that the drop-in commands run."
    )
    parser.add_argument("--real", type=Path, help="directory with ior, mdtest, iozone and fio")
    parser.add_argument("--tool", choices=("ior", "mdtest", "iozone", "fio"))
    given = parser.parse_args()
    mileage = str(Path(sys.executable).with_name("mileage"))
    for tool in (given.tool,) if given.tool else ("ior", "mdtest", "iozone", "fio"):
        refused: Counter[str] = Counter()
        counted = accepted = 0
        with tempfile.TemporaryDirectory() as folder:
            for number, one in enumerate(command_lines(tool)):
                words = scaled(one)
                place = Path(folder, str(number))
                if given.real is not None:
                    tasks, own = (words[1], words[2:]) if words[0] == "--tasks" else ("1", words)
                    launcher = (
                        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", tasks]
                        if tasks != "1"
                        else []
                    )
                    status, _ = run([*launcher, str(given.real / tool)], own, place / "theirs")
                    if status != 0:
                        continue
                counted += 1
                status, said = run([mileage, tool], words, place / "ours")
                accepted += status == 0
                if status:
                    refused[said] += 1
                    print(f"  {tool} {shlex.join(words)}\n      {status}: {said}", flush=True)
        print(f"{tool}: {accepted} of {counted} ({100 * accepted / max(counted, 1):.0f} %)", flush=True)
        for reason, count in refused.most_common(12):
            print(f"  {count:4d}  {reason}")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "120")
    main()
