"""Public names of a package that load their module when they are first used.

A command loads only the libraries that it needs because `import mileage.judge` loads none of the judge's modules. A
package writes its table of modules and names once more as imports under `TYPE_CHECKING`, for type checkers and for the
rules of direction; `tests/house/test_lazy_names.py` compares the two.

A name in a table must not be the name of a submodule of its package: Python stores a loaded submodule in the package
under its name, so the package would return the module instead of the function. The same test checks that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of `package`: it takes each name of `modules` from its module and keeps it in the package."""
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        module = homes.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
