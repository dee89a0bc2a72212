"""Import an object from the user's own code: a module to export, or a metric."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from halflap.core.errors import UsageError

__all__ = ["load_object"]


def load_object(name: str, folder: Path | None = None) -> Any:
    """Import `module:object` as `python -m` would, from the current folder first. This runs the module."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise UsageError(
            f"{name!r} does not name an object. Write `module:object`, for example `my_programs:answerer`."
        )
    place = str(folder or Path.cwd())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"There is no module {module_name!r}, neither in {place} nor installed."
            ) from None
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"{name} cannot be imported: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})."
        ) from error
    return found
