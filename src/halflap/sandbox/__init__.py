"""Programs over tools: checked, run in a sandbox, and reported.

Read `programs` first, then `run/run`, the object that owns one run. `sandbox` defines what any sandbox offers; `jail` and
`monty` are the two there are, `check` finds mistakes before a run. Calls themselves are made by `halflap.calls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.sandbox.check.finding import Checked, Finding
    from halflap.sandbox.programs import Programs
    from halflap.sandbox.run.report import Execution

__all__ = ["Checked", "Execution", "Finding", "Programs"]

_HOMES = {
    "Checked": "check.finding",
    "Execution": "run.report",
    "Finding": "check.finding",
    "Programs": "programs",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: the fork server loads this package, and must not load the gateway with it."""
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415 -- see above

    found = getattr(import_module(f"halflap.sandbox.{_HOMES[name]}"), name)
    # A submodule of the same name may have been put here by its import.
    globals()[name] = found
    return found
