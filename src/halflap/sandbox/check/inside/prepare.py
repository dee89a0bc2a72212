"""What the check's server does before the first examination: step by step into confinement."""

from __future__ import annotations

import gc
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside import calls, child
from halflap.sandbox.check.inside.locks import IS_LINUX, Locks, limit_the_server
from halflap.sandbox.check.inside.place import find_tool, leave_for_a_place, make_a_place
from halflap.sandbox.jail.inside import locks, seccomp

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.place import Place, Tool

__all__ = ["Confinement", "prepare"]

_SWITCHED_OFF = "switched off"
_PROCESSES = 64


@dataclass
class Confinement:
    """The layers that hold here, and why others do not."""

    layers: list[str] = field(default_factory=lambda: ["rlimits"])
    missing: dict[str, str] = field(default_factory=dict)
    filters: tuple[seccomp.Filter | None, seccomp.Filter | None] = (None, None)
    fenced: bool = False
    processes: int | None = None


def prepare(orders: dict[str, Any]) -> tuple[child.Plan, Place, Confinement]:
    """Confine this process as far as its children have to be, and say how they go on, and where."""
    # First, while there is a library to import from.
    child.get_ready()
    tool = find_tool(orders["executable"], tuple(orders["also"]))
    memory = _address_space() + orders["memory_bytes"]
    found = Confinement()
    if IS_LINUX:
        place = _confine(tool, orders, found)
    else:
        found.missing = dict.fromkeys(
            ("seccomp", "no-new-privileges", "landlock", "namespaces"), "needs Linux"
        )
        if os.getuid() == 0:
            found.missing["another user"] = "needs Linux"
        place = make_a_place(tool, orders["temporary"])
    limit_the_server()
    examination, ty = found.filters
    plan = child.Plan(
        executable=tool.descriptor if os.execve in os.supports_fd else tool.path,
        arguments=(*(orders["command"] or ["ty"]), *place.arguments),
        environment=place.environment,
        seconds=orders["seconds"],
        locks=Locks(
            lockdown=orders["lockdown"],
            memory_bytes=memory,
            cpu_seconds=orders["cpu_seconds"],
            file_bytes=orders["file_bytes"],
            processes=found.processes,
            examination=examination,
            ty=ty,
            fenced=found.fenced,
            readable=tuple(place.readable),
        ),
    )
    gc.collect()
    # What is there now never becomes garbage; so the children share its pages.
    gc.freeze()
    return plan, place, found


def _confine(tool: Tool, orders: dict[str, Any], found: Confinement) -> Place:
    _choose_filters(orders, found)
    entered: list[Place] = []
    if os.getuid() == 0:
        # Counted over all that a user runs: a bound is possible for one who runs nothing else.
        found.processes = _PROCESSES
    confined = locks.confine(orders, lambda: entered.append(leave_for_a_place(tool)))
    found.layers += [layer for layer in confined.layers if layer not in found.layers]
    found.missing |= confined.missing
    found.fenced = confined.has_landlock
    return entered[0] if entered else make_a_place(tool, orders["temporary"])


def _choose_filters(orders: dict[str, Any], found: Confinement) -> None:
    if not orders["seccomp"]:
        found.missing["seccomp"] = _SWITCHED_OFF
        return
    machine = platform.machine()
    try:
        found.filters = (seccomp.build(machine, calls.EXAMINATION), seccomp.build(machine, calls.TY))
    except OSError as error:
        found.missing["seccomp"] = str(error)
    else:
        found.layers.append("seccomp")


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
