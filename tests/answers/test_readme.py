"""What a user asks who types what README.md and its list of commands show."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.answers import fio_report
from tests.answers.question import ask, ask_json, suppose
from tests.dropin.test_iometer import ICF
from tests.execute.test_factors import KERNELS, written
from tests.targets.test_served_drive import CAN_SERVE

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = (
    (ROOT / "docs" / "reference" / "commands.md")
    .read_text(encoding="utf-8")
    .split("## Examples", 1)[1]
    .split("```", 2)[1]
)
COMMANDS = re.findall(r"^mileage .*?(?=  |$)", EXAMPLES, re.MULTILINE)
TRY_IT = README.split("## Try it", 1)[1].split("```", 4)
FIRST = re.findall(r"^\.venv/bin/mileage (.*?)  +#", TRY_IT[1], re.MULTILINE)
DEMO = TRY_IT[3]
SHORTER = {
    "check": ("--seconds", "0.02"),
    "measure": ("--size", "16MiB", "--for", "100ms"),
    "run": ("--quick",),
    "powercut": ("--cuts", "1"),
}
"""What is added to a command so that it takes a moment."""


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_demo_prints_what_readme_shows(tmp_path: Path) -> None:
    """Will I see the same figures?

    Truth: README shows them, and the drive's time is simulated, so that they are the same on every machine. `.ci/run`
    names what its `make demo` printed in MILEAGE_DEMO_LOG, so that it is not done twice.
    """
    log = os.environ.get("MILEAGE_DEMO_LOG")
    demo = Path(log).read_text(encoding="utf-8") if log else ask("run", "drive-or-host", cwd=tmp_path)
    assert DEMO.strip("\n") in demo, demo
    assert "360 runs" in " ".join(README.split())
    assert "360 runs" in " ".join(demo.split())
    answer = demo[demo.index("drive-or-host: ") :].splitlines()
    assert len(answer) <= 30
    assert max(map(len, answer)) <= 80


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_first_commands_of_readme_run(tmp_path: Path) -> None:
    """Can I type the first lines of README?

    Truth: each of them ends with status 0 in an empty directory; `make demo` is run by `.ci/run`.
    """
    assert len(FIRST) == 1
    for line in FIRST:
        ask(*shlex.split(line.replace("check .", "check . --seconds 0.02")), cwd=tmp_path)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_every_command_of_the_list_runs(tmp_path: Path) -> None:
    """Can I type what the list of commands shows?

    Truth: each of its lines, in their order, with the places below `/mnt` folders of the test and each placeholder a
    file or a study of its kind, ends with status 0; a drive is served until Ctrl-C, and only where the kernel can.
    """
    folder = tmp_path
    prepare(folder)
    for line in COMMANDS:
        words = shlex.split(re.sub(r"/mnt/(scratch|ssd|x25e)", str(folder / r"\1"), line))[1:]
        words = ["selftest", "--studies", "50"] if words == ["selftest", "--quick"] else words
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
        if words[:2] == ["drive", "serve"]:
            serve(words, folder)
            continue
        if words[0] == "powercut" and not CAN_SERVE:
            continue
        begun = words[0] == "run" and (folder / words[-1]).is_dir()
        more = () if begun else (word for word in SHORTER.get(words[0], ()) if word not in words)
        if "--for" in words and words[0] == "check":
            # Whether this machine is fit, or can say so, is not the question here.
            done = subprocess.run([sys.executable, "-m", "mileage", *words], cwd=folder, check=False)
            assert done.returncode in (0, 1, 5), words
            continue
        ask(*words, *more, cwd=folder)
    assert len(COMMANDS) > 20
    assert not [*(folder / "scratch").iterdir(), *(folder / "ssd").iterdir()]


def serve(words: list[str], folder: Path) -> None:
    """A command that lasts until Ctrl-C: it is sent SIGINT when it says so, and must end with status 0."""
    if not CAN_SERVE:
        return
    with subprocess.Popen(
        [sys.executable, "-m", "mileage", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            said = [process.stdout.readline()]
            while said[-1] not in ("", "Ctrl-C ends it\n"):
                said.append(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, said
        finally:
            process.kill()
    assert any(line.startswith("device:   /dev/loop") for line in said), said


def prepare(folder: Path) -> None:
    """Make the files and the studies that the listed commands name and none of them makes."""
    for name in ("scratch", "ssd", "junk"):
        (folder / name).mkdir()
    study = ("measure", "-t", "virtual:plain-64gib", "--operations", "100", "--repeat", "3", "--save")
    for name in ("old-study", "new-study", "disk-a", "disk-b"):
        ask(*study, name, cwd=folder)
    ask(*study, "baseline", "--append", "--sessions", "4", cwd=folder)
    kernels = written(folder, KERNELS)
    for name, kernel in (("one", "6.1"), ("two", "6.8")):
        ask("run", kernels, "--out", name, "--label", f"kernel={kernel}", cwd=folder)
    fio_report.save(folder / "result.json", fio_report.report([fio_report.job("read")]))
    (folder / "x.icf").write_text(ICF)
    (folder / "job.fio").write_text("[read]\nrw=randread\nsize=1m\n")


def test_the_example_of_a_sweep_shows_what_over_provisioning_does(tmp_path: Path) -> None:
    """Which capacity makes random writes fastest?

    Truth: the least, since the blocks that collections empty have the fewest valid pages then: more spare flash, less
    write amplification.
    """
    rows = ask_json("sweep", str(ROOT / "examples" / "over_provisioning.toml"), cwd=tmp_path)
    rates = {
        level: [row["value"] for row in rows if row["capacity"] == level and row["metric"] == "ops_per_s"]
        for level in ("op7", "op15", "op28")
    }
    suppose(all(rates.values()), str(rows[:2]))
    assert max(rates["op7"]) < min(rates["op15"])
    assert max(rates["op15"]) < min(rates["op28"])


def test_the_rates_that_readme_calls_published_are_so(tmp_path: Path) -> None:
    """Are the random reads and the first sequential writes of the simulated drive those of the real one?

    Truth: the figures of its sources, as the profile quotes them: 35,000 random reads a second at full queue, and
    sequential writes of 170 MB/s in a review to 208 MB/s measured by IOR.
    """
    name = "intel-x25e-64gb"
    quoted = (ROOT / "profiles" / "drives" / f"{name}.toml").read_text(encoding="utf-8")
    suppose("35,000 random reads" in quoted and "170 MB/s" in quoted and "208 MB/s" in quoted, quoted)
    read = ask("drive", "run", name, "--fill", "-w", "random_read", "--passes", "0.01", cwd=tmp_path)
    written = ask(
        "drive", "run", name, "-w", "sequential_write", "-r", "128KiB", "--size", "1GB", cwd=tmp_path
    )
    reads_per_s = float(re.search(r"([\d,]+) IOPS", read)[1].replace(",", ""))  # type: ignore[index]
    mb_per_s = float(re.search(r"([\d.]+) MB/s", written)[1])  # type: ignore[index]
    assert reads_per_s == pytest.approx(35_000, rel=0.02)
    assert 170 <= mb_per_s <= 208


def test_the_study_files_of_the_commands_exist() -> None:
    """Where is the file of the sweep that the list of commands shows?

    Truth: the listing of the repository: a file of that name, or a document that shows its text.
    """
    made = set(re.findall(r"mileage new ([\w-]+\.toml)", EXAMPLES))
    named = set(re.findall(r"[\w-]+\.toml", EXAMPLES)) - made
    files = {
        path.name
        for folder in ("examples", "python", "profiles", "docs")
        for path in (ROOT / folder).rglob("*.toml")
    }
    shown = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    missing = sorted(name for name in named if name not in files and f"# {name}\n" not in shown)
    assert not missing


def test_readme_claims_no_rate_that_no_source_gives() -> None:
    """Which data sheet gives the rate of the new X25-E in random writes?

    Truth: none of the profile's sources: the sheet's figures for random writes are of a drive in use, and the profile,
    read here as TOML, quotes none for a new one.
    """
    profile = tomllib.loads(
        (ROOT / "profiles" / "drives" / "intel-x25e-64gb.toml").read_text(encoding="utf-8")
    )
    sources = " ".join(
        str(figure.get("source", "")) for figure in profile.values() if isinstance(figure, dict)
    )
    suppose(not re.search(r"random writes[^;.]*\bnew\b|\bnew\b[^;.]*random writes", sources), sources)
    assert "its rates when new and when worn by random writes are those of the data sheet" not in " ".join(
        README.split()
    )
