"""Programs over tools: where they run, and what they may do."""

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
    # Importing `choose` has put the module of that name here.
    globals()[name] = found
    return found
