"""Exit status 1 is a judged failure that the user asked for, nothing else: streams, signals and names, by processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mileage.cli import listing
from mileage.errors import Refused, RunFailed
from mileage.plan.builtin import purpose_text
from mileage.report.fitness import CANNOT_SAY
from tests.cli.test_refusals import STUDY
from tests.command import mileage

COMMANDS = (
    "--help",
    "--version",
    "list drives",
    "plan degradation --quick",
    "drive show intel-x25e-64gb",
    "doctor",
    "iozone --help",
    "measure -t virtual:plain-64gib -w random_read --operations 100",
    # These leave their text in the stream's buffer until the end of the process.
    "ior -t 64k -b 128k -o file",
    "mdtest -n 3 -d .",
    "iozone -s 64k -r 4k -i 0",
)
"""Commands that succeed, in an empty directory."""


def process(
    words: str,
    cwd: Path,
    *,
    closed: tuple[int, ...] = (),
    before: Callable[[], None] | None = None,
    **streams: Any,
) -> subprocess.CompletedProcess[str]:
    """`mileage WORDS` as a process. `closed`: the descriptors that it is started without."""

    def prepare() -> None:
        for descriptor in closed:
            os.close(descriptor)
        if before is not None:
            before()

    command = [sys.executable, "-m", "mileage", *words.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, cwd=cwd, text=True, check=False, preexec_fn=prepare, **pipes)


def without_reader() -> int:
    """The end of a pipe whose other end is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_output_to_a_full_disk_is_a_failure_in_one_line(command: str, tmp_path: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = process(command, tmp_path, stdout=full)
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1] == "mileage: cannot write to standard output: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_nobody_reads_ends_quietly_as_a_closed_pipe(command: str, tmp_path: Path) -> None:
    pipe = without_reader()
    done = process(command, tmp_path, stdout=pipe)
    os.close(pipe)
    assert done.returncode == 128 + signal.SIGPIPE, done.stderr
    assert not [line for line in done.stderr.splitlines() if "Error" in line or "cannot write" in line]


def test_a_purpose_that_cannot_be_judged_has_the_status_of_its_page(tmp_path: Path) -> None:
    """A revolution of 7,200 rpm is 8.333 ms: the limit is nearer to it than a figure is exact."""
    text = purpose_text("ceph-journal")
    limit = '[purpose]\nat_most = "8.36 ms"\nsource = { title = "our own" }'
    (tmp_path / "own.toml").write_text(text.replace("[purpose]", limit))
    done = process("check virtual:sata-7k2 --for own.toml", tmp_path)
    assert done.returncode == CANNOT_SAY, done.stdout + done.stderr
    page = Path(__file__).parents[2] / "docs" / "reference" / "exit-status.md"
    assert f"| {CANNOT_SAY} | `check --for` cannot say" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "status"), [("list drives", 0), ("run no-such-study", 2), ("no-such-command", 2)]
)
@pytest.mark.parametrize("kind", ["full", "no reader", "closed"])
def test_a_lost_standard_error_changes_no_status(
    command: str, status: int, kind: str, tmp_path: Path
) -> None:
    if kind == "closed":
        assert process(command, tmp_path, closed=(2,)).returncode == status
        return
    stream = os.open("/dev/full", os.O_WRONLY) if kind == "full" else without_reader()
    done = process(command, tmp_path, stderr=stream)
    os.close(stream)
    assert done.returncode == status


def test_a_process_without_streams_opens_no_target_in_their_place(tmp_path: Path) -> None:
    done = process("dd if=/dev/zero of=zeros bs=64k count=4 --save study", tmp_path, closed=(0, 1, 2))
    assert done.returncode == 0
    assert (tmp_path / "zeros").read_bytes() == bytes(256 << 10)


LONG = "x" * 300
NAMED = (
    *("run {}", "report {}", "plan {}", "compare {0} {0}", "import {}", "export csv {}", "sweep {}"),
    *(
        "run -o {}",
        "merge {0} {0}2 --out m",
        "measure -t file:{} -w random_write --size 1MiB",
        "compare --table {}",
    ),
    *("measure -t dir:{} -w random_write", "measure -t block:{} -w random_read", "drive show {}", "query {}"),
    *(
        "iozone -s 64k -f {}",
        "dd if=/dev/zero of={} bs=1k count=1",
        "run --target virtual:{}",
        "doctor dir:{}",
    ),
)


@pytest.mark.parametrize("line", NAMED)
def test_a_name_that_is_too_long_is_wrong_usage(line: str, tmp_path: Path) -> None:
    done = mileage(*line.format(LONG).split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("mileage-one-off-")]


def test_a_long_name_is_counted_and_cut() -> None:
    done = mileage("report", LONG)
    expected = f"mileage: {'x' * 40}...: a file name of 300 bytes is too long; use one of at most 255 bytes\n"
    assert done.stderr == expected


class Panic(BaseException):
    """As pyo3 raises a panic of the compiled core."""


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (TypeError("no such sum"), "internal error: TypeError: no such sum ("),
        (OSError(28, "No space left on device", "a/file"), "a/file: No space left on device\n"),
        (AssertionError(), "internal error: AssertionError ("),
        (MemoryError(), "not enough memory; "),
        (RuntimeError("can't start new thread"), "no more processes or threads can begin; "),
        (Panic("failed to spawn thread: Os { code: 11, kind: WouldBlock }"), "no more processes or threads "),
        (OSError(24, "Too many open files"), "Too many open files; raise the limit of open files"),
        (RecursionError("too deep"), "internal error: RecursionError: too deep ("),
        (Panic("index out of bounds"), "internal error: Panic: index out of bounds ("),
    ],
)
def test_an_error_that_nobody_expected_is_one_line(
    error: BaseException, summary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_options: Any) -> None:
        raise error

    monkeypatch.setattr(listing.command, "callback", fail)
    done = mileage("list", "drives")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"mileage: {summary}")
    assert done.stderr.count("\n") == 1
    asked = mileage("list", "drives", env={"MILEAGE_DEBUG": "1"})
    assert asked.returncode == 3
    assert asked.stderr.startswith("Traceback (most recent call last)")
    assert asked.stderr.endswith(done.stderr)


INTERRUPTED_BY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
chosen = sys.argv.pop(1)
class InterruptingStream:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == chosen:
            os.kill(os.getpid(), signal.SIGINT)
from mileage.__main__ import main
sys.meta_path.insert(0, InterruptingStream)
main()
"""


@pytest.mark.parametrize(
    "module", ["click", "mileage.cli", "mileage.cli.launcher", "mileage.cli.listing", "mileage.app"]
)
def test_an_early_interrupt_ends_quietly_with_its_signal(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_BY, module, "list", "drives"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    # A shell reports 128 + SIGINT for both.
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert done.stdout == ""
    assert done.stderr.strip() in ("", "mileage: interrupted")


@pytest.mark.parametrize(("tool", "status", "wrong"), [("dd", 1, ["ibs=1k"]), ("iozone", 3, ["-m"])])
def test_a_tool_that_fails_ends_with_its_own_status(
    tool: str, status: int, wrong: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_given: Any) -> None:
        raise RunFailed("the device was removed", cause="EIO")

    monkeypatch.setattr(f"mileage.dropin.{tool}.run", fail)
    assert mileage(tool, cwd=tmp_path).returncode == status
    assert mileage(tool, *wrong, cwd=tmp_path).returncode == 2


def test_an_argument_too_many_is_refused_with_the_usage() -> None:
    result = mileage("selftest", "intel-x25e-64gb")
    assert result.returncode == 2
    assert "unexpected extra argument (intel-x25e-64gb); usage: " in result.stderr
    assert "selftest [OPTIONS]" in result.stderr


def refusal_after(error: BaseException, text: str = "cannot be read") -> Refused:
    refused = Refused("a/file", text, code="unreadable")
    refused.__cause__ = error
    return refused


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (refusal_after(OSError(24, "Too many open files")), 3),
        (refusal_after(OSError(12, "Cannot allocate memory")), 3),
        (refusal_after(MemoryError()), 3),
        (refusal_after(OSError(2, "No such file or directory")), 2),
        # A lock that another process holds.
        (refusal_after(BlockingIOError(11, "Resource temporarily unavailable")), 2),
        (Refused("audit", "cannot read /proc/thread-self/io (EMFILE)"), 3),
        (Refused("drive serve", "Resource temporarily unavailable (os error 11)"), 3),
        (RunFailed("no process", cause="EAGAIN"), 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["list", "dd"])
def test_too_little_of_the_machine_is_3(
    command: str, error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_words: Any, **_options: Any) -> None:
        raise error

    if command == "list":
        monkeypatch.setattr(listing.command, "callback", fail)
        done = mileage("list", "drives")
    else:
        monkeypatch.setattr("mileage.dropin.dd.run", fail)
        done = mileage("dd")
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("files", [5, 6, 8, 10])
@pytest.mark.parametrize(
    "line",
    [
        "measure -t dir:. -w random_write --size 4MiB --operations 10",
        "run {study} -o out",
        "fio --name=a --size=64k --numjobs=2 --ioengine=null",
        "iozone -s 64k -i 0 -t 2",
        "drive run plain-64gib -w random_read --size 1MiB",
        "list drives",
    ],
)
def test_too_few_descriptors_are_3_and_a_sentence(line: str, files: int, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    command = [sys.executable, "-m", "mileage", *line.format(study="study.toml").split()]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert done.returncode == 0 or "limit" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        f"measure -t virtual:{drive} -w random_read --operations 16"
        for drive in ("plain-64gib", "intel-x25e-64gb")
    ],
)
def test_a_drive_whose_tables_find_no_memory_ends_with_3_in_one_sentence(words: str, tmp_path: Path) -> None:
    """The compiled core ends the process, as Python's own memory may be used up as well."""
    limit = 200 << 20
    done = process(words, tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1), done.stderr
