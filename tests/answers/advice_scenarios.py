"""What makes each command print its advice: the small things that it needs, and the command line.

Scope: one row for each way to advice, with the places of the source (`advice.Site`) that print there. Every name has a
space in it where it can, so that a command that is not quoted for a shell does not run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from mileage.plan import builtin_text
from mileage.plan.builtin import purpose_text
from tests.answers.question import ask
from tests.dropin.test_iometer import ICF
from tests.execute.test_factors import KERNELS, written
from tests.formats.made_results import SAMPLES_CSV

DRIVE: Final = ("-t", "virtual:plain-64gib", "-w", "random_read", "--operations", "100", "--repeat", "3")
NEW_DRIVE: Final = ("-t", "virtual:plain-64gib", "-w", "random_write", "--operations", "100", "--repeat", "3")
NOTHING: Final[Mapping[str, str]] = {}


class Scenario(NamedTuple):
    """A command line that prints advice, in a folder that `make` has filled."""

    line: str
    prints: tuple[str, ...]
    """The places of the source, "MODULE: TEMPLATE"."""
    make: Callable[[Path], object] = Path.exists
    status: int = 2
    placeholders: Mapping[str, str] = NOTHING
    """What the words in capitals stand for here."""
    before: Callable[[Path], object] = Path.exists
    """What the user does between the advice and the advised command, where the text says so."""
    pages: str = ""
    """Pages that were written, whose advice counts as well."""
    tier: str = ""
    env: Mapping[str, str] = NOTHING


def study(name: str) -> Callable[[Path], object]:
    return lambda place: ask("measure", *DRIVE, "--save", name, cwd=place)


def several(*steps: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda place: [step(place) for step in steps]


def text(name: str, content: str) -> Callable[[Path], object]:
    return lambda place: (place / name).write_text(content)


def imported(place: Path) -> None:
    (place / "of fio.csv").write_text(SAMPLES_CSV)
    ask("import", "of fio.csv", "--out", "im ported", cwd=place)


def many_tests(place: Path) -> None:
    rows = [f"test {cell},{run},{100 + cell + run / 10},MB/s" for cell in range(70) for run in range(3)]
    (place / "many.csv").write_text("\n".join(["cell,repetition,value,unit", *rows]))
    for name in ("many 1", "many 2"):
        ask("import", "many.csv", "--out", name, cwd=place)


def as_used_drive(place: Path) -> None:
    (found,) = [ask("measure", *NEW_DRIVE, "--as-study", cwd=place)]
    (place / "used.toml").write_text(found.replace("[state]\n", '[state]\nprecondition = "snia-dependent"\n'))


def near_its_limit(place: Path) -> None:
    """A purpose that five runs cannot judge, and the advised number of runs can."""
    limit = '[purpose]\nat_most = "323 us"\nsource = { title = "our own" }'
    (place / "own purpose.toml").write_text(purpose_text("swap").replace("[purpose]", limit))


def no_plan(place: Path) -> None:
    study("a study")(place)
    plan = place / "a study" / "plan.json"
    plan.write_text(plan.read_text()[:40])


def program(place: Path) -> None:
    """A study whose program fails until the file `ready` is there."""
    (place / "a program.toml").write_text(
        'name = "program"\ntarget = "dir:here"\ncycles = 1\n[[stage]]\nname = "only"\nmeasure = ["build"]\n'
        '[workload.compile]\ncommand = ["test", "-e", "ready"]\n[measure.build]\nworkload = "compile"\n'
    )
    (place / "here").mkdir()


def kernels(place: Path) -> None:
    written(place, KERNELS)
    (place / "arms.toml").rename(place / "my arms.toml")


def no_factor(place: Path) -> None:
    kernels(place)
    text("plain.toml", (place / "my arms.toml").read_text().partition("[factor")[0])(place)


def trace(place: Path) -> None:
    (place / "trace.csv").write_text("kind,offset_bytes,length_bytes\n" + "read,0,4096\n" * 50)


def built_in(name: str, place: Path) -> None:
    ask("run", name, "--out", "STUDY", cwd=place)


def kernels_apart(place: Path) -> None:
    kernels(place)
    for name, kernel in (("A", "6.1"), ("B", "6.8")):
        ask("run", "my arms.toml", "--out", name, "--label", f"kernel={kernel}", cwd=place)


_OF_A_STUDY: Final = ("plan FILE", "run FILE", "plan --schema", "list workloads", "list drives")
MEASURED: Final = {"TARGET": "virtual:plain-64gib --operations 100"}
SCENARIOS: Final = (
    Scenario(
        "check virtual:intel-x25e-64gb --for zfs-intent-log",
        ("app/fitness.py: mileage measure {} --power-cut",),
        status=0,
    ),
    Scenario(
        "check virtual:samsung-960-pro-512gb --for 'own purpose.toml'",
        ("app/fitness.py: mileage check {}",),
        near_its_limit,
        status=5,
    ),
    Scenario(
        "drive run intel-x25e-64gb -w random_read --fill --passes 0.001",
        ("cli/drive.py: mileage drive show {}",),
        status=0,
    ),
    Scenario(
        "measure -t virtual:intel-x25e-64gb -w random_read --operations 1000",
        ("analysis/assumptions.py: mileage drive show {}",),
        status=0,
    ),
    Scenario(
        f"measure {shlex.join(NEW_DRIVE)}",
        ("analysis/cautions.py: mileage run used.toml",),
        status=0,
        before=as_used_drive,
        tier="slow",
    ),
    Scenario(
        "run no-study", ("app/study.py: mileage list studies", "app/study.py: mileage new my-study.toml")
    ),
    Scenario("run 'im ported'", ("app/study.py: mileage report {}",), imported),
    Scenario(
        "run 'a program.toml' --allow-commands --out 'the out'",
        ("app/study.py: mileage run {}{}{}",),
        program,
        status=3,
        before=text("here/ready", ""),
    ),
    Scenario(
        "run 'my arms.toml' --label kernel=6.1 --out 'the out'",
        (
            "app/study.py: mileage run {}{}{}",
            "report/templates/report.html.j2: mileage report --report full FOLDER",
        ),
        kernels,
        status=0,
        placeholders={"FOLDER": "'the out'"},
        pages="the out/report.html",
    ),
    Scenario(
        "plan 'my arms.toml'",
        ("plan/plan_text.py: mileage run STUDY{}",),
        kernels,
        status=0,
        placeholders={"STUDY": "'my arms.toml'"},
    ),
    Scenario("sweep plain.toml", ("app/sweep.py: mileage run {}",), no_factor),
    Scenario(
        "compare one two --out page",
        ("cli/compare.py: mileage report A B --out NEW",),
        several(study("one"), study("two")),
        placeholders={"A": "one", "B": "two", "NEW": "page"},
    ),
    Scenario(
        "measure --save 'my study' " + shlex.join(DRIVE), ("cli/measurement.py: mileage report {}",), status=0
    ),
    Scenario(
        "measure --append --save 'my history' " + shlex.join(DRIVE),
        ("cli/measurement.py: mileage compare --history {} NEW",),
        several(
            lambda place: ask(
                "measure", "--sessions", "3", "--append", "--save", "my history", *DRIVE, cwd=place
            ),
            study("new"),
        ),
        status=0,
        placeholders={"NEW": "new"},
    ),
    Scenario(
        "list workloads --show x",
        (
            "cli/listing.py: mileage list studies --show NAME",
            "cli/listing.py: mileage list purposes --show NAME",
            "cli/listing.py: mileage list datasheets --show NAME",
        ),
        placeholders={
            "datasheets --show NAME": "datasheets --show intel-600p-512gb",
            "purposes --show NAME": "purposes --show etcd",
            "NAME": "degradation",
        },
    ),
    Scenario("new datasheet", ("cli/new.py: mileage new datasheet my-drive.toml",)),
    Scenario("new my sheet-2.toml", ("cli/new.py: mileage new datasheet {}",)),
    Scenario("measure --nonsense", ("cli/exit_status.py: {} --help",)),
    Scenario("drive rates plain-64gib,program_us=900", ("cli/drive.py: mileage drive show {} --toml",)),
    Scenario(
        "report one 'a two' three",
        ("cli/report.py: mileage compare {}",),
        several(study("one"), study("a two"), study("three")),
    ),
    Scenario(
        "run 'my arms.toml' --label kernel=6.1 --out 'the out' --report none",
        ("cli/run.py: mileage report {}",),
        kernels,
        status=0,
    ),
    Scenario(
        "fio --study x",
        ("dropin/fio.py: mileage run JOB.fio",),
        placeholders={"JOB.fio": "job.fio"},
        make=text("job.fio", "[read]\nrw=randread\nsize=1m\ndirectory=.\n"),
    ),
    *(
        Scenario(
            f"fio --{flag}=1 --name=a",
            (f"dropin/tools/fio.toml: mileage measure -t TARGET {rest}",),
            trace,
            placeholders={**MEASURED, "DIR": "kept", "FILE": "trace.csv"},
        )
        for flag, rest in (
            ("write_hist_log", "--save DIR"),
            ("read_iolog", "-w trace:FILE"),
            ("latency_target", "--latency-target p99=1ms"),
        )
    ),
    Scenario("hdparm --nonsense x", ("dropin/flags.py: mileage {} --help",), status=22),
    Scenario("iozone", ("dropin/iozone.py: mileage iozone --help",), status=255),
    *(
        Scenario(
            f"iozone {flag}",
            tuple(f"dropin/tools/iozone.toml: mileage {rest}" for rest in more),
            several(trace, study("one"), study("two"), text("job.toml", "")),
            placeholders={
                "TARGET": ". --size 4MiB --operations 100" if "mmap" in more[0] else MEASURED["TARGET"],
                "N": "2",
                "TIME": "1ms",
                "FILE": "trace.csv",
                "DIR": "one",
            },
        )
        for flag, more in (
            ("-X x", ["measure -t TARGET -w trace:FILE"]),
            ("-+V 1", ["measure -t TARGET --threads N"]),
            ("-+L", ["measure -t TARGET --threads N"]),
            ("-+X", ["measure -t null:"]),
            ("-+b 1,1", ["measure -t TARGET --burst N --think TIME"]),
            ("-+O 5", ["measure -t TARGET --rate N"]),
            ("-+z", ["report DIR"]),
            ("-Z", ["measure -t TARGET --api mmap --no-direct"]),
        )
    ),
    Scenario(
        "hdparm -t 'a file'",
        ("dropin/hdparm.py: mileage measure -t {} -w hdparm.buffered",),
        lambda place: (place / "a file").write_bytes(bytes(4 << 20)),
    ),
    Scenario(
        "endurance case worker-node",
        ("endurance/life_text.py: mileage endurance choose --case {}",),
        status=0,
    ),
    Scenario(
        "endurance choose --case worker-node",
        ("endurance/choice_text.py: mileage check DIR",),
        status=0,
        placeholders={"DIR": ". --seconds 0.02"},
    ),
    Scenario(
        "iometer round.icf -t virtual:plain-64gib",
        ("formats/icf.py: mileage measure -t TARGET --vary depth=1,2,4",),
        text(
            "round.icf", ICF.replace("'Run Time", "'Test Type,description\n\tCYCLE_OUTSTANDING_IO\n'Run Time")
        ),
        placeholders=MEASURED,
    ),
    Scenario(
        "import nothing.txt",
        ("formats/readers.py: mileage import --layouts",),
        text("nothing.txt", "nothing\n"),
    ),
    Scenario(
        "import job.fio",
        ("formats/marks.toml: mileage run FILE",),
        text("job.fio", "[read]\nrw=randread\nsize=1m\ndirectory=.\n"),
        placeholders={"FILE": "job.fio"},
    ),
    Scenario(
        "import x.icf",
        ("formats/marks.toml: mileage iometer FILE -t TARGET",),
        text("x.icf", ICF),
        placeholders={"FILE": "x.icf", "TARGET": "virtual:plain-64gib"},
    ),
    Scenario(
        "import a/journal.jsonl",
        ("formats/marks.toml: mileage report FOLDER",),
        study("a"),
        placeholders={"FOLDER": "a"},
    ),
    Scenario(
        "measure -t virtual:plain-64gib -w no_such",
        ("plan/families.py: mileage list workloads",),
    ),
    Scenario(
        "compare 'many 1' 'many 2'",
        ("report/text.py: mileage compare FOLDER --json",),
        many_tests,
        status=0,
        placeholders={"FOLDER": "'many 1' 'many 2'"},
    ),
    Scenario(
        "report folder",
        ("store/study_folder.py: mileage compare A B",),
        several(
            study("one"),
            lambda place: ask(
                "measure", "--sessions", "3", "--append", "--save", "folder", *DRIVE, cwd=place
            ),
        ),
        placeholders={"A": "one", "B": "folder"},
    ),
    Scenario("report 'a study'", ("store/study_folder.py: mileage export csv {}",), no_plan),
    Scenario("report 'of fio.csv'", ("store/study_folder.py: mileage import {}",), imported),
    Scenario(
        "endurance life -d 'no such.toml' --writes '1 GB/day'",
        ("targets/data_sheets.py: mileage list datasheets",),
    ),
    Scenario(
        "endurance life -d './drive.toml' --writes '1 GB/day'",
        ("targets/data_sheets.py: mileage new datasheet NEW.toml",),
        kernels,
        placeholders={"NEW.toml": "new-sheet.toml"},
    ),
    Scenario(
        "measure -t virtual:samsung-sm863-120gb",
        (
            "targets/profiles.py: mileage list datasheets --show {}",
            "targets/profiles.py: mileage list drives",
        ),
    ),
    Scenario(
        "list studies --show compressibility",
        ("plan/studies/compressibility.toml: mileage run compressibility.toml --target dir:PATH",),
        text("compressibility.toml", builtin_text("compressibility")),
        status=0,
        placeholders={"PATH": "."},
        tier="thorough",
    ),
    Scenario(
        "iozone -+c host",
        (
            "dropin/tools/iozone.toml: mileage run STUDY",
            "dropin/tools/iozone.toml: mileage merge A B --out DIR",
        ),
        kernels_apart,
        placeholders={"STUDY": "'my arms.toml' --label kernel=6.1", "A": "A", "B": "B", "DIR": "both"},
    ),
    Scenario(
        "metarates -d . -r 2",
        ("dropin/tools/metarates.toml: mileage import OUTPUT...",),
        lambda place: [
            text(f"{name}.out", ask("metarates", "-d", ".", "-n", "100", "-C", cwd=place))(place)
            for name in "ab"
        ],
        placeholders={"OUTPUT...": "a.out b.out"},
    ),
    Scenario(
        "mdtest -n 10 -d 'a folder'",
        ("dropin/task_values.py: mileage mpirun -np {} {} {}",),
        lambda place: (place / "a folder").mkdir(),
        env={"OMPI_COMM_WORLD_SIZE": "2"},
    ),
    Scenario(
        "new my-study.toml -t virtual:plain-64gib",
        (
            "cli/new.py: mileage plan {}",
            "cli/new.py: mileage run {}",
            *(f"plan/new_study.toml: mileage {rest}" for rest in _OF_A_STUDY),
            "plan/new_study.toml: mileage new FILE -t /mnt/old -t /mnt/new",
        ),
        lambda place: [(place / name).mkdir() for name in ("old", "new")],
        status=0,
        placeholders={
            "new FILE": "new two.toml",
            "FILE": "my-study.toml",
            "/mnt/old": "old",
            "/mnt/new": "new",
        },
        pages="*.toml",
        tier="thorough",
    ),
    Scenario(
        "new two.toml -t virtual:plain-64gib -t virtual:intel-x25e-64gb",
        tuple(f"plan/new_comparison.toml: mileage {rest}" for rest in _OF_A_STUDY if "drives" not in rest),
        status=0,
        placeholders={"FILE": "two.toml"},
        pages="*.toml",
        tier="thorough",
    ),
    Scenario(
        "new datasheet my-sheet.toml",
        (
            "cli/new.py: mileage list datasheets --show {}",
            "plan/new_data_sheet.toml: mileage list datasheets --show THIS-FILE",
        ),
        status=0,
        placeholders={"THIS-FILE": "my-sheet.toml"},
        pages="*.toml",
    ),
    *(
        Scenario(
            f"list studies --show {name}",
            (f"plan/studies/{name}.toml: mileage compare STUDY --published {name}",),
            partial(built_in, name),
            status=0,
            placeholders={"STUDY": "STUDY"},
            tier="thorough",
        )
        for name in ("qmul-2017", "sandforce-2011")
    ),
    Scenario(
        "run x25e-2010.toml --out STUDY",
        (
            "plan/studies/x25e-2010.toml: mileage compare STUDY --published x25e-2010",
            "report/published_results.py: mileage compare STUDY --published {}",
            "report/templates/report.html.j2: mileage compare STUDY --published {{ view.published.source.name }}",
        ),
        text("x25e-2010.toml", builtin_text("x25e-2010")),
        status=0,
        placeholders={"STUDY": "STUDY", "FOLDER": "STUDY"},
        pages="**/*.[ht][to]ml",
        tier="thorough",
    ),
    Scenario(
        "compare 'a study' --published sandforce-2011",
        ("app/published_results.py: mileage run {}",),
        study("a study"),
        tier="thorough",
    ),
    Scenario(
        "import 'of fio.csv' --out new",
        ("report/templates/imported.html.j2: mileage compare FOLDER OTHER",),
        imported,
        status=0,
        placeholders={"FOLDER": "new", "OTHER": "'im ported'"},
        pages="new/report.html",
    ),
    Scenario(
        "report 'a study'",
        (
            "report/templates/measured.html.j2: mileage compare FOLDER OTHER",
            "report/templates/measured.html.j2: mileage report --report full FOLDER",
        ),
        several(study("a study"), study("other")),
        status=0,
        placeholders={"FOLDER": "'a study'", "OTHER": "other"},
        pages="a study/report.html",
    ),
)
