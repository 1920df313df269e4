"""Public scripts that run these tools and read what they print: once with the tool, once with Mileage in its place.

`python -m tests.dropin.public_scripts --scripts DIR --real DIR` runs each script unchanged, with the tool's directory
first in PATH, then with one in which each name is the drop-in command, and compares what the script made of the
output: the names of all fields, and the values of those that the command line decides. `--scripts` has a checkout of
each repository, named OWNER+NAME; `--real` has ior, mdtest, iozone and fio. Measured values are only compared in kind.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

TOOLS: Final = ("ior", "mdtest", "iozone", "fio")
_SECONDS: Final = 300

Fields = dict[str, Any]


class Script(NamedTuple):
    """A public script, and how it is run."""

    repository: str
    path: str
    fields: Callable[[Path, dict[str, str]], Fields]
    """What the script read, from its path and an environment; the working directory is empty."""
    decided: str
    """Pattern of the names of fields that the command line decides."""


def run(words: list[str], environment: dict[str, str], **options: Any) -> str:
    """Standard output of a command in the working directory. Raises SystemExit when it fails."""
    done = subprocess.run(
        words,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        **options,
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}"
        )
    return done.stdout


class _StandIn(types.ModuleType):
    """A module of which every name is an empty class: the framework around a parser that does not need it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda *_, **__: None})


@contextmanager
def absent_modules(*names: str) -> Iterator[None]:
    """Stand-ins for modules that a script imports and its parser does not use."""
    ours = {name: _StandIn(name) for name in names if name not in sys.modules}
    sys.modules.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del sys.modules[name]


def module_of(path: Path) -> Any:
    """A Python file, imported."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(value: Any, name: str = "") -> Fields:
    """Nested dictionaries and lists as one, with dotted names."""
    if isinstance(value, dict):
        pairs = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, list):
        pairs = [(str(at), one) for at, one in enumerate(value)]
    else:
        return {name: value}
    found: Fields = {}
    for key, one in pairs:
        found |= flat(one, f"{name}.{key}" if name else key)
    return found


IO500: Final = """
set -euo pipefail
io500_ini=yes io500_rules=scc io500_stonewall_timer=1 io500_clean_cache=False io500_cleanup_workdir=False
io500_run_ior_easy=True io500_run_md_easy=True io500_run_ior_hard=True io500_run_md_hard=True io500_run_find=True
io500_run_ior_easy_read=True io500_run_md_easy_stat=True io500_run_ior_hard_read=True io500_run_md_hard_stat=True
io500_run_md_hard_read=True io500_run_md_easy_delete=True io500_run_md_hard_delete=True io500_run_mdreal=False
timestamp=now io500_workdir=$PWD/files io500_result_dir=$PWD/results
mkdir -p $io500_workdir $io500_result_dir
io500_ior_cmd=$(command -v ior) io500_mdtest_cmd=$(command -v mdtest) io500_mpirun=mpirun io500_mpiargs="-np 2"
io500_ior_easy_params="-t 256k " io500_ior_easy_size=16 io500_ior_hard_writes_per_proc=50
io500_mdtest_easy_files_per_proc=200 io500_mdtest_hard_files_per_proc=200 io500_mdtest_easy_params="-u -L"
io500_ior_hard_api=POSIX io500_ior_hard_api_specific_options=
io500_mdtest_hard_api=POSIX io500_mdtest_hard_api_specific_options=
io500_find_mpi=False io500_find_cmd=FIND io500_find_cmd_args=
extra_description() { :; }
source SCRIPT
"""
"""What a user's io500.sh sets, with small sizes; the script itself is sourced at its end, as theirs does."""


def io500(path: Path, environment: dict[str, str]) -> Fields:
    """IO500's phases: rate and time of each, as its shell functions cut them out of both tools' listings."""
    text = IO500.replace("FIND", str(path.parent / "find" / "sfind.sh")).replace("SCRIPT", str(path))
    said = run(["bash", "-c", text], environment)
    pattern = r"^\[RESULT(?:-invalid)?\] (\w+) +phase (\d) +(\w+) +(\S+) (\w+/?\w*) : time +(\S+) seconds"
    rows = dict.fromkeys(re.findall(pattern, said, re.MULTILINE))
    found: Fields = {}
    for kind, number, name, rate, unit, seconds in rows:
        found |= {f"{name}.phase": f"{kind} {number}", f"{name}.unit": unit}
        found |= {f"{name}.rate": float(rate), f"{name}.seconds": float(seconds)}
    found["matches"] = re.findall(r"\[FIND\] (MATCHED \S+)", said)[0]
    return found


def ior_and_mdtest(path: Path, environment: dict[str, str]) -> Fields:
    """Both tables of a script that sweeps over tasks and transfers, from the CSV files that it makes."""
    Path("hosts").write_text("localhost\n")
    Path("place").mkdir()
    found: Fields = {}
    for tool, place in (("ior", "place/file"), ("mdtest", "place")):
        words = ["--machinefile", "hosts", "--ppn", "1,2", "--num-hosts", "1", "--interface", "lo"]
        words += ["--memory", "8M", "--num-files", "200", "--transfer_size", "1M,2M", "-d", place]
        run([sys.executable, str(path), "--benchmark", tool, "--output", f"{tool}.csv", *words], environment)
        with Path(f"{tool}.csv").open() as table:
            found |= flat(list(csv.DictReader(table)), tool)
    return found


IOR_LINE: Final = (
    "mpirun -np 2 ior -w -r -i 2 -t 256k -b 1m -s 2 -F -C -e -o file -D 9 -O stoneWallingWearOut=1 -v"
)
MDTEST_LINES: Final = (
    "mpirun -np 2 mdtest -n 20 -i 2 -d place -v",
    "mpirun -np 2 mdtest -F -P -n 9 -d place -u -N 1 -v",
    "mpirun -np 2 mdtest -n 20 -i 2 -P -d place",
)


def n10ioana(path: Path, environment: dict[str, str]) -> Fields:
    """Everything that the classes for IOR's and mdtest's listings find in them."""
    with absent_modules("pandas", "dateutil"):
        module = module_of(path)
    Path("place").mkdir()
    found = flat(module.IorOutput(iter(run(IOR_LINE.split(), environment).splitlines(keepends=True))), "ior")
    for number, line in enumerate(MDTEST_LINES[:2]):
        listing = iter(run(line.split(), environment).splitlines(keepends=True))
        found |= flat(module.MdtestOutput(listing), f"mdtest{number}")
    return found


DAOS: Final = (
    *("command_utils", "command_utils_base", "exception_utils", "general_utils", "duns_utils", "run_utils"),
    *("job_manager_utils", "host_utils", "dfuse_utils", "file_utils", "server_utils_params", "pydaos"),
    *("ClusterShell", "ClusterShell.NodeSet", "avocado", "avocado.utils", "avocado.utils.process"),
    *("pydaos.raw", "agent_utils", "environment_utils", "data_mover_utils"),
)
"""What DAOS' test framework has around its parsers."""


def daos_ior(path: Path, environment: dict[str, str]) -> Fields:
    """Both rows of IOR's summary, by the names that DAOS gives its columns."""
    with absent_modules(*DAOS):
        module = module_of(path)
    rows = module.IorCommand.get_ior_metrics(run(IOR_LINE.split(), environment))
    return {
        f"{name}.{column.name}": row[column]
        for name, row in zip(("write", "read"), rows, strict=True)
        for column in module.IorMetrics
    }


def daos_mdtest(path: Path, environment: dict[str, str]) -> Fields:
    """Rates and times of mdtest's tables."""
    with absent_modules(*DAOS):
        module = module_of(path)
    Path("place").mkdir()
    read = module.MdtestMetrics(run(MDTEST_LINES[2].split(), environment))
    return flat(
        {
            group: {name: vars(operation) for name, operation in vars(getattr(read, group)).items()}
            for group in ("rates", "times")
        }
    )


def bench_fio(path: Path, environment: dict[str, str]) -> Fields:
    """The files of a grid of runs, and in each of them the values that its own reader takes for charts."""
    Path("place").mkdir()
    Path("place/file").write_bytes(bytes(16 << 20))
    words = ["--target", "place", "--type", "directory", "--size", "16M", "-m", "randread", "randwrite"]
    words += [
        "--iodepth",
        "1",
        "8",
        "--numjobs",
        "1",
        "2",
        "--runtime",
        "1",
        "--output",
        "out",
        "--destructive",
    ]
    run(
        [sys.executable, "-m", "bench_fio", *words, "--quiet"],
        environment | {"PYTHONPATH": str(path.parents[1])},
    )
    found: Fields = {}
    for file in sorted(Path("out").rglob("*.json")):
        job = json.loads(file.read_text())["jobs"][0]
        way = "read" if "randread" in file.name else "write"
        values = {"iops": job[way]["iops"], "bw": job[way]["bw"], "lat": job[way]["lat_ns"]["mean"]}
        values |= {"clat": job[way]["clat_ns"]["percentile"], "cpu": job["usr_cpu"] + job["sys_cpu"]}
        found |= flat(values, file.name) | {
            f"{file.name}.option.{key}": one for key, one in job["job options"].items()
        }
    return found | {"files": sorted(re.sub(r"\d+", "N", file.name) for file in Path("out").rglob("*.log"))}


def fio_parser(path: Path, environment: dict[str, str]) -> Fields:
    """The rows of a script that cuts fio's normal output by columns."""
    Path("p").mkdir()
    common = ["--size=8m", "--filename=file"]
    run(["fio", "--name=a", "--rw=randrw", "--bs=4k", "--output=p/one", *common], environment)
    words = ["--name=b", "--rw=read", "--bs=64k", "--numjobs=2", "--group_reporting", "--output=p/two"]
    run(["fio", *words, *common], environment)
    said = run([sys.executable, str(path), "-d", "p"], environment)
    rows = [line.split(",") for line in said.splitlines()]
    return {f"{words[0]}.{at}": word for words in rows for at, word in enumerate(words)}


def clat2csv(path: Path, environment: dict[str, str]) -> Fields:
    """Headings and widths of the tables that fio's own tool makes of json+."""
    words = ["--output=j", "--output-format=json+", "--time_based", "--runtime=1", "--size=4m"]
    run(["fio", *words, "--name=one", "--rw=randrw", "--name=two", "--rw=read"], environment)
    run(["python3", str(path), "j", "t.csv"], environment)
    found: Fields = {}
    for table in sorted(Path().glob("t_job*.csv")):
        rows = [line.split(",") for line in table.read_text().splitlines()]
        found |= {
            f"{table.name}.heading": rows[0],
            f"{table.name}.widths": sorted({len(row) for row in rows}),
        }
    return found


def iozone_report(path: Path, environment: dict[str, str]) -> Fields:
    """The surfaces that IOzone's own tools cut out of a grid: file and record sizes, and their number."""
    Path("listing").write_text(run(["iozone", "-a", "-g", "1m", "-n", "256k"], environment))
    found: Fields = {}
    tests = "write rewrite read reread randread randwrite bkwdread recrewrite strideread fwrite frewrite fread freread"
    for test in tests.split():
        run(["sh", str(path), "listing", test], environment | {"PATH": f"{Path.cwd()}:{environment['PATH']}"})
        text = (Path(test) / "iozone_gen_out.gnuplot").read_text()
        rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        found[f"gengnuplot.{test}"] = [row[:2] for row in rows]
        found[f"gengnuplot.{test}.rates"] = all(int(row[2]) > 0 for row in rows)
    subprocess.run(
        ["perl", str(path.with_name("report.pl")), "listing"],
        env=environment,
        capture_output=True,
        check=False,
    )
    for file in sorted(Path("report_listing").glob("*.dat")):
        found[f"report.{file.name}"] = [line.split()[:2] for line in file.read_text().splitlines()]
    return found


SCRIPTS: Final = {
    "io500_fixed.sh": Script("VI4IO/io-500-dev", "utilities/io500_fixed.sh", io500, r"phase$|unit$|matches"),
    "run_ior_mdtest.py": Script(
        "sudhirupreti/IOR_MDTest_FIO_Scripts",
        "run_ior_mdtest.py",
        ior_and_mdtest,
        r"ppn|node_count|size|units|files|operation",
    ),
    "n10ioana": Script(
        "glennklockwood/n10ioana",
        "src/n10ioana/parse.py",
        n10ioana,
        r"header\.(?!start|end)|access|iter|kib|xfers|#|api|blksiz|fpp|operation|ref|reord|reps|seed|seg|tpn|xsize|\.op$",
    ),
    "ior_utils.py": Script(
        "daos-stack/daos", "src/tests/ftest/util/ior_utils.py", daos_ior, r"\.(?!M[AIE]|STD|STONE)[A-Z]"
    ),
    "mdtest_utils.py": Script("daos-stack/daos", "src/tests/ftest/util/mdtest_utils.py", daos_mdtest, r"^$"),
    "bench_fio": Script("louwrentius/fio-plot", "bench_fio/__main__.py", bench_fio, r"option|files"),
    "fio-parser.py": Script("mchad1/fio-parser", "fio-parser.py", fio_parser, r"^fio_file|0$"),
    "fio_jsonplus_clat2csv": Script("axboe/fio", "tools/fio_jsonplus_clat2csv", clat2csv, r"heading"),
    "gengnuplot.sh, report.pl": Script("luchachen/iozone", "gengnuplot.sh", iozone_report, r""),
}


def commands(folder: Path, real: Path | None) -> Path:
    """A directory with the names of all tools and of mpirun: the tools, or the drop-in commands."""
    folder.mkdir()
    mileage = Path(sys.executable).with_name("mileage")
    names = {name: f'exec "{real / name if real else mileage}" {"" if real else name} "$@"' for name in TOOLS}
    launch = f"{shutil.which('mpirun')} --allow-run-as-root --oversubscribe" if real else f"{mileage} mpirun"
    for name, line in (names | {"mpirun": f'exec {launch} "$@"'}).items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    return folder


def kind(value: Any) -> str:
    """A number, a text, or nothing."""
    try:
        float(value)
    except (TypeError, ValueError):
        return type(value).__name__
    return "number"


def differences(script: Script, theirs: Fields, ours: Fields) -> list[str]:
    """Fields that only one has, that differ in kind, or in value where the command line decides it."""
    found = [f"{name}: missing" for name in theirs if name not in ours]
    found += [f"{name}: not in the tool's" for name in ours if name not in theirs]
    for name in theirs.keys() & ours.keys():
        one, two = theirs[name], ours[name]
        if kind(one) != kind(two) or (re.search(script.decided, name) and one != two):
            found.append(f"{name}: {one!r}, {two!r}")
    return sorted(found)


def main() -> None:
    """Print a row for each script; ends with 1 when a field differs."""
    parser = argparse.ArgumentParser(
        description="Public scripts with the tools and with the drop-in commands."
    )
    parser.add_argument(
        "--scripts", type=Path, required=True, help="directory with a checkout for each repository"
    )
    parser.add_argument("--real", type=Path, required=True, help="directory with ior, mdtest, iozone and fio")
    parser.add_argument("--only", default="", help="scripts whose name has this text")
    given = parser.parse_args()
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            commands(Path(folder, "real"), given.real.resolve()),
            commands(Path(folder, "mileage"), None),
        ]
        for number, (name, script) in enumerate(SCRIPTS.items()):
            if given.only not in name:
                continue
            path = given.scripts.resolve() / script.repository.replace("/", "+") / script.path
            read = []
            for side in sides:
                place = Path(folder, f"{number}-{side.name}")
                place.mkdir()
                os.chdir(place)
                environment = {**os.environ, "PATH": f"{side}:{os.environ['PATH']}"}
                environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
                read.append(script.fields(path, environment))
            found = differences(script, *read)
            differing += bool(found)
            decided = sum(bool(re.search(script.decided, field)) for field in read[0])
            result = "; ".join(found) or f"all {len(read[0])} fields alike, {decided} of them equal in value"
            print(f"{script.repository}: {name}: {result}", flush=True)
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
