"""Calls by which Python code makes, writes, cuts off, renames or removes what has a path, found in a syntax tree.

Scope: names of `os`, `shutil` and `tempfile`, methods of `pathlib.Path`, `open` in each of its forms, sockets bound to
a path, writers of foreign libraries, and what the compiled core opens by its path. A mode or flag that the code does
not state counts as one that writes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_OS = {
    *(
        "unlink",
        "remove",
        "rename",
        "replace",
        "renames",
        "truncate",
        "ftruncate",
        "mkdir",
        "makedirs",
        "rmdir",
    ),
    *("removedirs", "link", "symlink", "mknod", "mkfifo", "posix_fallocate", "setxattr", "removexattr"),
    *("chmod", "fchmod", "lchmod", "chown", "fchown", "lchown", "utime", "copy_file_range", "creat"),
}
_SHUTIL = {"rmtree", "move", "chown", "copy", "copy2", "copyfile", "copymode", "copystat", "copytree"}
_TEMPFILE = {
    "NamedTemporaryFile",
    "SpooledTemporaryFile",
    "TemporaryDirectory",
    "mkdtemp",
    "mkstemp",
    "mktemp",
}
#: Methods of paths; the name alone is enough, whatever has it.
_METHODS = {
    *(
        "write_text",
        "write_bytes",
        "touch",
        "unlink",
        "mkdir",
        "rmdir",
        "rename",
        "symlink_to",
        "hardlink_to",
    ),
    *("chmod", "lchmod"),
}
#: Of numpy, DuckDB, pandas, Arrow and altair.
_FOREIGN_METHODS = {
    *(
        "tofile",
        "savetxt",
        "savez",
        "savez_compressed",
        "memmap",
        "write_csv",
        "write_parquet",
        "write_table",
    ),
    *("to_csv", "to_parquet", "to_json_file", "write_feather"),
}
_FOREIGN = {
    *("np.save", "numpy.save", "duckdb.connect", "sqlite3.connect", "zipfile.ZipFile", "tarfile.open"),
    *("gzip.open", "bz2.open", "lzma.open", "shelve.open", "dbm.open", "xlsxwriter.Workbook"),
    *("logging.FileHandler", "FileHandler", "click.File"),
}
_CORE = {
    *("DriveServer", "StartBarrier", "make_start_barrier", "remove_iozone_files", "run_file", "run_iozone"),
    *("run_iozone_share", "run_metadata", "run_metadata_share", "run_share"),
}
_READ_FLAGS = {
    *("O_RDONLY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_PATH", "O_DIRECT", "O_EXCL"),
    *("O_NOATIME", "O_NOCTTY", "O_SYNC", "O_DSYNC"),
}
_MODULES = {"os": _OS, "shutil": _SHUTIL, "tempfile": _TEMPFILE, "_core": _CORE}
#: What makes a value of an attribute, and so does not call it.
_VALUES = {"str", "int", "bool", "exact_bytes", "format_bytes"}


def write_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each."""
    constants = _constants(tree)
    used = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Call) for part in _callables(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = _MODULES.get((node.module or "").removeprefix("mileage."), set())
            yield from ((node.lineno, f"import of {name.name}") for name in node.names if name.name in names)
        elif isinstance(node, ast.Attribute) and _is_writer(node, is_used=id(node) in used):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and _writes(node, constants):
            yield node.lineno, ast.unparse(node)[:100]


def _callables(call: ast.Call) -> list[ast.expr]:
    """What a call calls, or hands on to be called."""
    if isinstance(call.func, ast.Name) and call.func.id in _VALUES:
        return [call.func]
    return [call.func, *call.args, *(keyword.value for keyword in call.keywords)]


def _is_writer(node: ast.Attribute, *, is_used: bool) -> bool:
    """Whether it is a function that writes, called or handed on; methods may be fields of that name otherwise."""
    owner = ast.unparse(node.value)
    module = owner.removeprefix("mileage.")
    if module in _MODULES:
        return node.attr in _MODULES[module]
    return is_used and node.attr in _METHODS | _FOREIGN_METHODS


def _writes(call: ast.Call, constants: dict[str, ast.expr]) -> bool:
    """Whether a call whose name is not enough writes."""
    name = ast.unparse(call.func)
    if name in _FOREIGN:
        return _has_path(call, constants)
    if call.args and ast.unparse(call.args[0]) in ("os.devnull", "os.dup(1)"):
        return False
    if name == "os.open":
        return not _only_reads(_argument(call, 1, "flags"), constants)
    if name in ("open", "io.open", "os.fdopen", "codecs.open"):
        return not _is_reading_mode(_argument(call, 1, "mode"), constants)
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "open":
        return _opens_path_to_write(call, constants)
    if call.func.attr == "replace":
        # Of a path; that of texts has two arguments, that of values names them.
        return len(call.args) == 1 and not call.keywords
    if call.func.attr == "bind":
        # Addresses of a network are tuples.
        return bool(call.args) and not isinstance(call.args[0], ast.Tuple)
    return call.func.attr in ("execute", "sql") and _copies(call)


def _has_path(call: ast.Call, constants: dict[str, ast.expr]) -> bool:
    """Whether a foreign library gets a path, in place of nothing, its own memory, or a buffer of this process."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Name):
        given = constants.get(given.id, given)
    return given is not None and ast.unparse(given) not in ("':memory:'", "io.BytesIO()")


def _opens_path_to_write(call: ast.Call, constants: dict[str, ast.expr]) -> bool:
    """Whether `x.open(...)` is that of a path with a mode that writes; flags of a door's file are its own matter."""
    mode = _argument(call, 0, "mode")
    named = any(keyword.arg == "mode" for keyword in call.keywords)
    if isinstance(mode, ast.Name) and mode.id in constants:
        mode = constants[mode.id]
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        return bool(set(mode.value) & set("wax+"))
    return named


def _copies(call: ast.Call) -> bool:
    """Whether a statement of SQL writes a file."""
    texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return any(
        isinstance(text, str) and text.lstrip().upper().startswith(("COPY", "EXPORT")) for text in texts
    )


def _is_reading_mode(mode: ast.expr | None, constants: dict[str, ast.expr]) -> bool:
    if isinstance(mode, ast.Name):
        mode = constants.get(mode.id, mode)
    if mode is None:
        return True
    return (
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and not set(mode.value) & set("wax+")
    )


def _only_reads(flags: ast.expr | None, constants: dict[str, ast.expr]) -> bool:
    """Whether the flags of open(2) are known, and none of them writes."""
    match flags:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _only_reads(left, constants) and _only_reads(right, constants)
        case ast.IfExp(body=body, orelse=other):
            return _only_reads(body, constants) and _only_reads(other, constants)
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name in _READ_FLAGS
        case ast.Name(id=name) if name in constants:
            return _only_reads(constants[name], {k: v for k, v in constants.items() if k != name})
        case ast.Constant(value=0):
            return True
    return False


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Names that are given one value in the module, and by nothing else: no argument, loop or change."""
    found: dict[str, list[ast.expr]] = {}
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.Assign) and all(isinstance(one, ast.Name) for one in node.targets):
            for one in node.targets:
                found.setdefault(ast.unparse(one), []).append(node.value)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, [])
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            others.add(node.target.id)
    stored = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return {
        name: values[0]
        for name, values in found.items()
        if len(values) == 1 and stored.count(name) == 1 and name not in others
    }


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if len(call.args) > position else None
