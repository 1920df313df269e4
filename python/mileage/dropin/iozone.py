"""`mileage iozone`: IOzone's command line as a study, and IOzone's own text of what was measured.

Scope: which tests are done on which files by how many children, from the flags; then the tables.
What it refuses: combinations that IOzone refuses, tests that have nothing to read, and `-w` for several files.
"""

from __future__ import annotations

import os
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mileage.dropin.dropin_study import DropinResult, do_study, print_notes, work_files
from mileage.dropin.flags import GivenFlags
from mileage.dropin.iozone_manner import manner_notes, manner_of, pattern_of
from mileage.dropin.iozone_text import CHILDREN_MAX, IozoneRequest, size_of, tests_of
from mileage.dropin.task_values import is_modelled, number, whole_number
from mileage.dropin.tool_statuses import IOZONE_MISSING, ToolRefusal
from mileage.errors import Refused, RunFailed
from mileage.execute.host_names import is_this_machine
from mileage.execute.latency_logs import check_latency_logs
from mileage.execute.workers import ranks_here
from mileage.formats.worksheet import refuse_unwritable
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun, Study
from mileage.plan.content import Content, ContentTable, IozoneDedup
from mileage.plan.iozone_suite import IOZONE as TESTS
from mileage.plan.iozone_suite import Suite
from mileage.plan.iozone_switches import PAUSE, IozoneSwitches
from mileage.plan.sizes import exact_bytes, format_bytes
from mileage.plan.study import Measure, Stage, State
from mileage.regular_file import read_text
from mileage.targets.filesystem import memory_bytes

_KB: Final = 1024
_CROSSOVER_KB: Final = 16 << 10
"""With -a: files above this have no records under `_LARGE_KB`."""
_LARGE_KB: Final = 64
_FITS: Final = 2
"""Files of which memory holds this many times the size stay in the page cache."""


def run(given: GivenFlags) -> None:
    """Do what the command line asks and print it as IOzone does. Raises Refused and RunFailed."""
    from mileage.dropin.iozone_text import PartialText, head_text, print_end, version_text
    from mileage.execute.iozone_data import Diagnosis, remove_files

    _refuse_nothing(given)
    if given.has("-v"):
        sys.stdout.write(version_text())
        return
    asked = asked_of(given)
    if not asked.tests:
        _print_nothing(given, asked)
        return
    _check_results(given)
    study = study_of(given, asked)
    makes = asked.tests[0] in ("write", "fwrite", "pwrite")
    writes = any(_writes(test) for test in asked.tests)
    door, files = work_files(given, _files_of(asked) if writes else [])
    if not makes:
        _refuse_missing(asked)
    _print_notes_before(given, asked)
    made = files if makes else []
    diagnosis = Diagnosis(_files_of(asked), made, stays=given.has("-w")) if given.has("-+d") else None

    pieces = PartialText(given, asked)
    left = len(asked.sizes) * max(len(asked.children), 1)

    def finished(run: PlannedRun, record: RunRecord) -> str:
        nonlocal left
        wrong = diagnosis.compare(run) if diagnosis is not None else ""
        left -= 1
        if left and given.has("-w"):
            # The next row makes the same files anew; only those of the last row stay.
            remove_files(made)
        return wrong or pieces.rest(run, record)

    lost = [file for file in made if file.exists()]
    door.release()
    try:
        failed = diagnosis.compare if diagnosis is not None else None
        # Figures of damaged data are not printed, so that with -+d each row waits for the comparison of its files.
        tested = pieces.tested if diagnosis is None else None
        done = do_study(
            given,
            study,
            lost=lost,
            head=head_text(given, asked),
            finished=finished,
            tested=tested,
            failed=failed,
        )
    except RunFailed:
        if diagnosis is not None:
            # Raises with the file and the position that differ, which the failure itself does not state.
            diagnosis.check()
        raise
    finally:
        if diagnosis is not None:
            diagnosis.clean_up()
        for file in made:
            file.adopt()
        door.close()
    if diagnosis is not None:
        diagnosis.check()
    print_end(given, asked, done)
    print_notes(_data_notes(done))


def _refuse_nothing(given: GivenFlags) -> None:
    """Refuse a call without a flag, as IOzone does. Raises Refused."""
    if not given.words:
        raise ToolRefusal(
            "iozone",
            "iozone",
            "no flag was given, with which IOzone itself does nothing",
            advice="give tests and sizes, such as -i 0 -i 1 -r 1m -s 64m, or see `mileage iozone --help`",
            code="missing",
        )


def _print_notes_before(given: GivenFlags, asked: IozoneRequest) -> None:
    print_notes(
        [*given.traps, *_unused_notes(given), *_differences(given, asked), *_memory_notes(given, asked)]
    )


def _check_results(given: GivenFlags) -> None:
    """Refuse places of worksheets and logs that have something else. Raises Refused."""
    for sheet in given.every("-b"):
        refuse_unwritable(Path(sheet))
    if given.has("-Q"):
        check_latency_logs(os.getcwd())


def _print_nothing(given: GivenFlags, asked: IozoneRequest) -> None:
    """Print what IOzone prints where it does no test. Raises Refused for reports, which would be of nothing."""
    from mileage.dropin.iozone_text import head_text, nothing_text

    if given.has("-b") or given.has("--study") or (given.has("-R") and asked.children):
        raise Refused(
            "iozone: -i",
            "IOzone does none of these tests, and so there is nothing to report",
            advice="give tests that it does, or no -b, -R and --study",
            code="no-effect",
        )
    print_notes(["no test is done, as in IOzone itself, and so nothing is measured"])
    sys.stdout.write(head_text(given, asked) + nothing_text(given, asked))


def _refuse_missing(asked: IozoneRequest) -> None:
    """Refuse files that are to be read and are not there, with the status of IOzone where it has one."""
    for path in _files_of(asked):
        if path.is_symlink():
            advice = "name that file itself"
            raise Refused(f"iozone: {path}", "a symbolic link", advice=advice, code="wrong-kind")
        if not path.is_file():
            text, advice = (
                "is not there, and the first test reads it",
                "begin with -i 0, or leave it with -i 0 -w",
            )
            status = None if asked.children else IOZONE_MISSING.get(asked.tests[0])
            if status is None:
                raise Refused(f"iozone: {path}", text, advice=advice, code="not-found")
            raise ToolRefusal(
                "iozone", f"iozone: {path}", text, advice=advice, code="not-found", status=status
            )


def _writes(test: str) -> bool:
    return test == "mix" or TESTS[test][0].endswith("write") or test == "random_write"


def _files_of(asked: IozoneRequest) -> list[Path]:
    names = asked.files or ((asked.name,) if not asked.children else ())
    numbered = [
        f"{asked.name}.{number}" for number in range(max(asked.children, default=0)) if not asked.files
    ]
    return [asked.place / name for name in (*names, *numbered)]


def _differences(given: GivenFlags, asked: IozoneRequest) -> list[str]:
    """Differences from IOzone's own figures: which, in which direction, and why."""
    flags = [flag for flag in (*_SHARES.values(), "-+d", "-V") if given.has(flag)]
    tests = [test for test in asked.tests if test == "mix" or "read" in test]
    if not flags or not tests:
        return []
    head = f"{' '.join(flags)}: {', '.join(tests)}: rates of reads are higher than IOzone's own"
    if "-+d" in flags or "-V" in flags:
        why = (
            "where the page cache answers: both make the expected data anew and compare it inside the time of "
            "each read, IOzone byte by byte"
        )
    else:
        why = (
            "two to three times where the page cache answers and less where the device is slow: IOzone makes the "
            "expected data anew and compares it inside the time of each read; here none is compared"
        )
    return [f"{head}, {why}; compare them only with others of Mileage's iozone"]


def _memory_notes(given: GivenFlags, asked: IozoneRequest) -> list[str]:
    """Tests whose columns are rates of the page cache, as their files fit into memory, and the flags that change it."""
    file_bytes = max(file for file, _ in asked.sizes) * max(asked.children, default=1)
    if is_modelled(asked.place) or _FITS * file_bytes > memory_bytes():
        return []
    # IOzone's tests of C streams (fwrite, fread) go through the page cache with -I too.
    cached = [test for test in asked.tests if not given.has("-I") or test.startswith("f")]
    flushed = any(given.has(flag) for flag in ("-e", "-o", "-+D"))
    direct = [] if given.has("-I") else ["-I (direct I/O)"]
    made = asked.tests[0] in ("write", "fwrite", "pwrite")
    writes = [test for test in cached if _writes(test) and test != "mix"]
    reads = [test for test in cached if test not in writes]
    rows = (
        (writes if not flushed else [], ["-e (time the flush too)", *direct]),
        (reads if made else [], [*direct, "a file larger than memory (-s)"]),
    )
    return [
        f"[!] {', '.join(tests)}: the rate of memory (page cache), which holds the {format_bytes(file_bytes)}; "
        f"for the device's use {' or '.join(advice)}"
        for tests, advice in rows
        if tests
    ]


def _data_notes(done: DropinResult) -> list[str]:
    """Measured compressibility of the written data, next to the nominal figure."""
    for cell in done.measurement.cells:
        if cell.bytes_written and cell.saved_percent:
            saved = ", ".join(f"{name} {percent:.0f} %" for name, percent in cell.saved_percent.items())
            equal = (
                ""
                if cell.duplicate_percent is None
                else f"; {cell.duplicate_percent:.0f} % of 4 KiB blocks equal another"
            )
            return [f"the written data can be compressed: {saved} smaller{equal}", *_duplicates(done)]
    return _duplicates(done)


def _duplicates(done: DropinResult) -> list[str]:
    """Measured shares of duplicate blocks, for each record size and number of children."""
    found = []
    for run, _ in done.runs():
        if isinstance(run.job, Suite):
            value = run.job.value
            text = duplicates_text(value.content, value.record_bytes, value.file_bytes, value.workers or 1)
            found += [] if text is None else [text]
    return list(dict.fromkeys(found))


def asked_of(given: GivenFlags) -> IozoneRequest:
    """Convert the flags to a request. Raises Refused."""
    _refuse_combinations(given)
    children = _children(given)
    check_ranks(given, children)
    tests = tests_of(given, bool(children))
    sizes, records_kb = _sizes(given, children)
    named = given.last("-f")
    path = Path(named) if named is not None else Path("iozone.DUMMY" if children else "iozone.tmp")
    if is_modelled(path):
        # The root of a modelled host stands for a file in it; with children, for all of theirs, which the host names.
        path = path / ("iozone.DUMMY" if children else "iozone.tmp")
    files = _files(given, children)
    places = {file.parent for file in files} or {path.parent}
    if len(places) > 1:
        raise Refused(
            "iozone: -+m" if given.has("-+m") else "iozone: -F",
            "the files are in several directories",
            advice="one run measures one of them",
            code="conflict",
        )
    place = next(iter(places))
    return IozoneRequest(
        tests,
        sizes,
        records_kb,
        children,
        place if str(place) else Path(),
        path.name,
        tuple(file.name for file in files),
    )


def study_of(given: GivenFlags, asked: IozoneRequest) -> Study:
    """The study that does what is asked: a table for each size of file or number of children."""
    tables: dict[str, Measure] = {}
    if asked.children:
        file, record = asked.sizes[0]
        for count in asked.children:
            own = file // count // record * record if given.has("-+k") else file
            tables[f"children-{count}"] = _table(given, asked, own, (record,), count)
    else:
        for file in dict.fromkeys(file for file, _ in asked.sizes):
            records = tuple(record for size, record in asked.sizes if size == file)
            tables[f"file-{file // _KB}kB"] = _table(given, asked, file, records, 1)
    return Study(
        name="iozone",
        question=f"How fast: {', '.join(asked.tests)}?",
        target=str(asked.place) if is_modelled(asked.place) else f"dir:{asked.place.absolute()}",
        order="listed",
        state=State(cache="warm", file=exact_bytes(max(file for file, _ in asked.sizes))),
        stage=(Stage(name="iozone", measure=tuple(tables)),),
        measure=tables,
    )


def _table(
    given: GivenFlags, asked: IozoneRequest, file: int, records: tuple[int, ...], count: int
) -> Measure:
    return Measure(
        workload=tuple(f"iozone.{test}" for test in asked.tests),
        record=tuple(exact_bytes(record) for record in records),
        threads=count,
        repeat=1,
        metric="iops" if given.has("-O") else None,
        fidelity=True,
        cache="direct" if given.has("-I") else "warm",
        content=_content(given),
        dsync=True if given.has("-+D") else None,
        iozone=IozoneSwitches(
            file=exact_bytes(file),
            name=asked.name if not asked.files else None,
            files=asked.files[:count],
            together=bool(asked.children),
            processes=bool(asked.children) and not given.has("-T") and not is_modelled(asked.place),
            exactly=True,
            stride=number(given, "-j", 17, 1, 1 << 31),
            retests=not given.has("-+n"),
            flush=given.has("-e"),
            close=given.has("-c"),
            osync=given.has("-o"),
            stonewall=not (given.has("-x") and asked.children),
            mix_reads=number(given, "-+p", 50, 0, 100) if given.has("-+p") and asked.children else None,
            mix_sequential=given.has("-+B") and bool(asked.children),
            pause=_pause(given) if asked.children else None,
            manner=manner_of(given, asked.place),
            keep=given.has("-w") or given.has("-+d"),
            compare=(given.has("-+d") or given.has("-V"))
            and any(test == "mix" or "read" in test for test in asked.tests),
        ),
    )


def _pause(given: GivenFlags) -> str:
    return f"{int(PAUSE.split()[0]) + number(given, '-+q', 0, 0, 86400)} s"


def _content(given: GivenFlags) -> str:
    """The data of -+w, -+y and -+C, of -+d, or IOzone's default."""
    shares = {word: number(given, flag, 0, 0, 100) for word, flag in _SHARES.items()}
    if given.has("-+d"):
        return "iozone_diagnostic"
    if (pattern := pattern_of(given)) is not None:
        return pattern
    if shares["within"]:
        return ",".join(f"{word}={share}" for word, share in shares.items())
    return "iozone_default"


_SHARES: Final = {"within": "-+w", "across": "-+y", "compress": "-+C"}


def _refuse_combinations(given: GivenFlags) -> None:
    """Refuse combinations that IOzone refuses, and flags without an effect."""
    together = given.has("-t") or given.has("-l") or given.has("-u")
    duplicates = [flag for flag in _SHARES.values() if given.has(flag)]
    pairs = (
        (
            given.has("-+d") and bool(duplicates),
            f"can not do both -+d and {' '.join(duplicates)}; give one of them",
        ),
        (
            together and _is_automatic(given),
            "-a and several -s or -r are for a single stream; with -t give one -s and one -r",
        ),
        (
            given.has("-r") and (given.has("-y") or given.has("-q")),
            "-r and -y or -q: give the records by -r, or from the smallest to the largest by -y and -q",
        ),
        (
            given.count("-s") > 1 and (given.has("-n") or given.has("-g")),
            "several -s and -n or -g: give the files by -s, or from the smallest to the largest by -n and -g",
        ),
        (
            together and (named := given.last("-f")) is not None and not is_modelled(Path(named)),
            "with -t the files are named by -F",
        ),
        (given.has("-f") and given.has("-F"), "-f and -F: give one of them"),
        (
            given.has("-+m") and given.has("-F"),
            "-+m and -F: each names the children's files; give one of them",
        ),
        (together and given.has("-N"), "-N: microseconds per operation are of a single stream"),
        (given.has("-O") and given.has("-N"), "-O and -N: give one of them"),
        (given.has("-o") and given.has("-+D"), "-o makes durable all that -+D does; give one of them"),
        (
            "-+w" not in duplicates and bool(duplicates),
            f"{' '.join(duplicates)} has no effect without -+w, in the original too",
        ),
    )
    for wrong, text in pairs:
        if wrong:
            raise Refused("iozone", text, code="conflict")


def _unused_notes(given: GivenFlags) -> list[str]:
    """Flags and words that do nothing in such a command line, in the original neither."""
    together = given.has("-t") or given.has("-l") or given.has("-u")
    of_grids = ("-n", "-g", "-y", "-q", "-z", "-+x")
    of_children = ("-F", "-x", "-C", "-+p", "-+B", "-+k", "-+q", "-T")
    notes = [
        f"{flag} has no effect {'with' if together else 'without'} -t"
        for flag in (of_grids if together else of_children)
        if given.has(flag)
    ]
    if not together and not _is_automatic(given):
        notes += [
            f"{flag} has no effect without -a or several -s or -r" for flag in of_grids if given.has(flag)
        ]
    return [
        *notes,
        *manner_notes(given),
        *client_notes(given, together=together),
        *(
            f"-r {text}: IOzone takes 4 kB where there is no number"
            for text in given.every("-r")
            if not text[:1].isdecimal()
        ),
        *(f"{word} is ignored, as IOzone ignores words that are no flags" for word in given.operands),
    ]


def _children(given: GivenFlags) -> tuple[int, ...]:
    counts = [whole_number(given, "-t", text, 1, CHILDREN_MAX) for text in given.every("-t")]
    if given.has("-l") or given.has("-u"):
        low = number(given, "-l", 1, 1, CHILDREN_MAX)
        high = number(given, "-u", max(low, 1), 1, CHILDREN_MAX)
        if low > high:
            raise Refused(f"iozone: -l {low}", f"is more than -u {high}", code="out-of-range")
        counts += range(low, high + 1)
    return tuple(dict.fromkeys(counts))


def _files(given: GivenFlags, children: tuple[int, ...]) -> tuple[Path, ...]:
    if given.has("-+m"):
        return client_files(given, children)
    names = tuple(Path(name) for name in given.every("-F")) if children else ()
    if names and len(names) < max(children, default=0):
        raise Refused(
            "iozone: -F",
            found=f"{len(names)} files for {max(children)} children",
            advice="name one for each",
            code="mismatch",
        )
    return names


def _is_automatic(given: GivenFlags) -> bool:
    """Whether there are rows of several sizes: -a, or several -s or -r, which IOzone takes for -a as well."""
    return given.has("-a") or given.count("-s") > 1 or given.count("-r") > 1


def _sizes(
    given: GivenFlags, children: tuple[int, ...]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """File and record of each row in bytes, and the columns of the reports in kB. Raises Refused."""
    return _all_sizes(given) if _is_automatic(given) else _one_size(given, children)


def _one_size(
    given: GivenFlags, children: tuple[int, ...]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    record = size_of("-r", given.last("-r") or "4")
    file = size_of("-s", given.last("-s") or "512")
    if given.has("-+k") and children:
        file = max(file, record * max(children))
    if record > file:
        raise Refused(
            "iozone",
            f"the record of {record // _KB} kB is larger than the file of {file // _KB} kB",
            advice="IOzone moves nothing then, prints 0 and ends with 0: give a larger -s",
            code="out-of-range",
        )
    if file % record:
        print_notes(
            [
                f"-s: {file // _KB} kB is no multiple of the record; {file // record * record // _KB} kB are used"
            ]
        )
    columns = (record // _KB,) if given.has("-r") else tuple(4 << power for power in range(13))
    return ((file // record * record, record),), columns


def _all_sizes(given: GivenFlags) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Every file with every record that is not larger.

    The sizes are those of several -s and -r, else all from the least to the most, each twice the one before unless
    -+x says otherwise.
    """
    factor = number(given, "-+x", 2, 2, 1 << 20)
    files, records = _listed(given, "-s"), _listed(given, "-r")
    if len(files) < 2:
        least, most = (
            size_of(flag, given.last(flag) or given.last("-s") or alone)
            for flag, alone in (("-n", "64"), ("-g", "512m"))
        )
        if least > most:
            raise Refused(
                "iozone",
                f"the smallest file of {least // _KB} kB is larger than the largest, {most // _KB} kB",
                code="out-of-range",
            )
        files = _steps(least, most, factor)
    if not records:
        small, large = (
            size_of(flag, given.last(flag) or alone) for flag, alone in (("-y", "4"), ("-q", "16m"))
        )
        if small > large:
            raise Refused(
                "iozone",
                f"the smallest record of {small // _KB} kB is larger than the largest, {large // _KB} kB",
                code="out-of-range",
            )
        records = _steps(small, large, factor)
    if records[0] > files[0]:
        raise Refused(
            "iozone",
            f"the record of {records[0] // _KB} kB is larger than the file of {files[0] // _KB} kB",
            code="out-of-range",
        )
    whole = not given.has("-a") or any(given.has(flag) for flag in ("-r", "-s", "-y", "-q", "-z"))
    rows = [
        (file, record)
        for file in files
        for record in records
        if record <= file
        if whole or file <= _CROSSOVER_KB * _KB or record >= _LARGE_KB * _KB
    ]
    for file, record in rows:
        if file % record:
            raise Refused(
                "iozone",
                f"the file of {file // _KB} kB is no multiple of the record of {record // _KB} kB",
                advice="give files that hold whole records",
                code="does-not-divide",
            )
    return tuple(rows), tuple(record // _KB for record in records)


def _listed(given: GivenFlags, flag: str) -> list[int]:
    """Sizes given with a flag such as -r, in bytes, without repeats. Raises Refused for one that IOzone ignores."""
    sizes = [size_of(flag, text) for text in given.every(flag)]
    for before, after in pairwise(sizes):
        if after < before:
            raise Refused(
                f"iozone: {flag} {after // _KB}k after {flag} {before // _KB}k",
                f"IOzone ignores a {flag} that is smaller than the {flag} before it",
                advice="give the sizes from small to large",
                code="no-effect",
            )
    return list(dict.fromkeys(sizes))


def _steps(first: int, last: int, factor: int) -> list[int]:
    found = []
    while first <= last:
        found.append(first)
        first *= factor
    return found


# Children on clients (`-+m`): the file that lists them, and the files that they use.
# Scope: each line has a host, a directory, IOzone's program there and possibly a file's name; a line that begins with #
# is none. Child N is on the Nth client and uses `iozone.DUMMY.N` in its directory, as IOzone has it. Under an MPI
# launcher rank N is child N, on whichever host it was started; without one every client is this machine. Nothing is
# started by `rsh`.
# What it refuses: what IOzone refuses, with its statuses; a client on another host than its child's; under a launcher
# what is of one process, such as a single stream.

_UNREADABLE: Final = 176
_EMPTY: Final = 178
_MALFORMED: Final = 203
_TOO_FEW: Final = 202
_FIELDS: Final = (3, 4)


class _Client(NamedTuple):
    host: str
    directory: str
    name: str | None

    def file(self, number: int) -> Path:
        return Path(self.directory, self.name or f"iozone.DUMMY.{number}")


def client_files(given: GivenFlags, children: tuple[int, ...]) -> tuple[Path, ...]:
    """The files of the clients, in order; none without children. Raises Refused."""
    listed = _clients(given.last("-+m") or "")
    if not children:
        return ()
    if max(children) > len(listed):
        raise _refusal("more children than the file has clients", _TOO_FEW)
    _refuse_elsewhere([client.host for client in listed[: max(children)]])
    return tuple(client.file(number) for number, client in enumerate(listed))


def client_notes(given: GivenFlags, *, together: bool) -> list[str]:
    """What `-+m` and `-+h` do otherwise than in IOzone itself, or do not do."""
    if not given.has("-+m"):
        return ["-+h has no effect without -+m"] if given.has("-+h") else []
    if not together:
        return ["-+m has no effect without -t"]
    if ranks_here() is not None:
        return ["-+m: the ranks of this MPI run are the children; nothing is started by rsh"]
    return [
        "-+m: every client is this machine; children are started here, without rsh and a program of theirs"
    ]


def check_ranks(given: GivenFlags, children: tuple[int, ...]) -> None:
    """Under an MPI launcher refuse what its ranks do not do: all but children that are processes, a rank for each."""
    ranks = ranks_here()
    if ranks is None:
        return
    named = given.last("-f")
    modelled = named is not None and is_modelled(Path(named))
    if not children or modelled or given.has("-T"):
        what = "-T: threads are" if children else "a single stream is"
        what = f"-f {named}: a modelled host is" if modelled else what
        raise Refused(
            f"iozone: {what} the work of one process",
            found=f"{ranks.size} ranks",
            advice="start it without the launcher, or give children that are processes (-t without -T)",
            code="unsupported",
        )
    ranks.workers(max(children))
    if ranks.size > max(children):
        print_notes(
            [
                f"{ranks.size - max(children)} of {ranks.size} ranks have nothing to do: {max(children)} are children"
            ]
        )


def _refuse_elsewhere(hosts: list[str]) -> None:
    """Refuse the first client that is not the host of its child. Raises Refused."""
    ranks = ranks_here()
    if ranks is not None:
        number = ranks.first_elsewhere(hosts)
    else:
        number = next((child for child, host in enumerate(hosts) if not is_this_machine(host)), None)
    if number is None:
        return
    if ranks is not None:
        found = f"{hosts[number]}, and rank {number} is on {ranks.identities[number].host}"
    else:
        found = f"{hosts[number]}, another machine than this one"
    command = shlex.join(
        [
            "mpiexec",
            "-n",
            str(len(hosts)),
            "--host",
            ",".join(hosts),
            "--map-by",
            "seq",
            "mileage",
            *sys.argv[1:],
        ]
    )
    raise Refused(
        f"iozone: -+m: client {number + 1}",
        found=found,
        advice=f"start a rank for each client, in the order of the lines; with Open MPI: {command}",
        code="mismatch",
    )


def _clients(path: str) -> list[_Client]:
    try:
        lines = read_text(Path(path), f"iozone: -+m {path}").splitlines()
    except OSError as error:
        raise _refusal(f"cannot open {path}: {error.strerror}", _UNREADABLE) from error
    found = []
    for line in lines:
        if line.startswith("#"):
            continue
        words = line.split()[: max(_FIELDS)]
        if len(words) not in _FIELDS:
            raise _refusal(f"line {line!r}: not a host, a directory and a program", _MALFORMED)
        found.append(_Client(words[0], words[1], words[3] if len(words) == max(_FIELDS) else None))
    if not found:
        raise _refusal(f"no client in {path}", _EMPTY)
    return found


def _refusal(text: str, status: int) -> ToolRefusal:
    return ToolRefusal("iozone", "iozone: -+m", text, code="wrong-value", status=status)


# Duplicate blocks of what `mileage iozone` writes with `-+w`, `-+y` and `-+C`, next to the nominal shares.
# Scope: shares of 4 KiB blocks that equal another one, in a file, in a second child's, in those of all children.


class FileDuplicates(msgspec.Struct, frozen=True):
    """Shares of blocks in percent, as the core counts them."""

    bytes: int
    within_percent: float
    across_two_percent: float
    children: int
    across_all_percent: float


def duplicates_of(
    content: Content | None, record_bytes: int, file_bytes: int, children: int
) -> FileDuplicates | None:
    """The duplicates in files of this content; None for contents that are not IOzone's."""
    from mileage import _core

    if content is None:
        return None
    text = _core.iozone_duplicates(
        msgspec.json.encode(content).decode(), record_bytes, file_bytes, max(children, 1)
    )
    return None if text is None else msgspec.json.decode(text, type=FileDuplicates)


def duplicates_text(content: Content | None, record_bytes: int, file_bytes: int, children: int) -> str | None:
    """One line with the nominal shares and the measured ones; None without -+w."""
    shares = content.iozone_dedup if isinstance(content, ContentTable) else None
    if not isinstance(shares, IozoneDedup):
        return None
    found = duplicates_of(content, record_bytes, file_bytes, children)
    if found is None:
        return None
    several = (
        f", {found.across_all_percent:.1f} % of the blocks of {found.children} children equal an earlier one"
        if found.children > 1
        else ""
    )
    return (
        f"duplicates: nominal -+w {shares.within_percent} -+y {shares.across_percent} -+C {shares.compress_percent} %; "
        f"of 4 KiB blocks in files of {format_bytes(found.bytes)}, {found.within_percent:.1f} % equal an earlier one "
        f"of the same file, {found.across_two_percent:.1f} % of a second child's equal one of the first's{several}"
    )
