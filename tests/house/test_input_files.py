"""A file that a user names is read by `mileage.regular_file`, which waits for no FIFO and reads nothing endless."""

from __future__ import annotations

import ast

from tests.house.repository import PACKAGE, modules, tree

#: Modules that read files otherwise, and which files: none of them is one that a user gives as input.
OTHERWISE = {
    "regular_file.py": "is the reader",
    **dict.fromkeys(
        ("analysis/check_class.py", "app/replications.py", "endurance/cases.py"),
        "data of the package",
    ),
    **dict.fromkeys(
        ("dropin/flags.py", "formats/readers.py", "plan/builtin.py", "report/glossary.py", "report/html.py"),
        "data of the package",
    ),
    **dict.fromkeys(("targets/host_profiles.py", "targets/profiles.py"), "profiles of the package"),
    **dict.fromkeys(
        ("dropin/hdparm.py", "execute/mpi/messages.py", "store/machine_hardware.py", "store/environment.py"),
        "text of the kernel",
    ),
    **dict.fromkeys(
        ("targets/privileged_steps.py", "targets/queue_settings.py", "dropin/iozone_manner.py"),
        "text of the kernel and of the system",
    ),
    **dict.fromkeys(
        (
            "dropin/dd.py",
            "execute/iozone_data.py",
            "execute/fio_jobs/layout.py",
            "execute/fio_jobs/process.py",
        ),
        "the work files themselves, and own logs of them",
    ),
    **dict.fromkeys(
        ("targets/door/marks.py", "targets/door/results.py"), "marks, and streams that are written"
    ),
    "app/commit_loop.py": "the log of the loop itself",
    "store/merge.py": "the folder that is being made",
}


def reads(call: ast.Call) -> bool:
    """Whether a call opens a file by its path for reading only."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ("read_text", "read_bytes")
    if not (isinstance(call.func, ast.Name) and call.func.id == "open"):
        return False
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return not modes or (isinstance(modes[0], ast.Constant) and str(modes[0].value).startswith("r"))


def test_input_files_are_read_by_one_reader() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and reads(node)
    }
    assert sorted(found) == sorted(OTHERWISE)
