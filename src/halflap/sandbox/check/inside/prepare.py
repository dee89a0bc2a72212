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
from halflap.sandbox.jail.inside import landlock, namespaces, privileges, seccomp

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.place import Place, Tool

__all__ = ["Confinement", "NamespaceTrouble", "prepare"]

_SWITCHED_OFF = "switched off"
_PROCESSES = 64


class NamespaceTrouble(Exception):  # noqa: N818 -- it is no failure of the check: it goes on without
    """Namespaces could be entered, but are of no use here."""


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
    privileges.be_first_to_go()
    privileges.allow_no_more()
    found.layers.append("no-new-privileges")
    _choose_filters(orders, found)
    if os.getuid() == 0:
        found.layers.append(f"uid {privileges.become_nobody(orders['user'])}")
        privileges.show()
        # Counted over all that a user runs: a bound is possible for one who runs nothing else.
        found.processes = _PROCESSES
    place = _settle(tool, orders, found)
    try:
        privileges.drop_capabilities()
    except OSError as error:
        found.missing["capabilities"] = str(error)
    if orders["lockdown"]:
        privileges.hide()
    try:
        fence = landlock.version() if orders["landlock"] else 0
    except OSError as error:
        found.missing["landlock"] = str(error)
    else:
        if fence:
            found.layers.append(f"landlock {fence}")
            found.fenced = True
        else:
            found.missing["landlock"] = _SWITCHED_OFF
    return place


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


def _settle(tool: Tool, orders: dict[str, Any], found: Confinement) -> Place:
    """Go where examinations take place: away from the machine's files, or at least into a private folder."""
    if not orders["namespaces"]:
        found.missing["namespaces"] = _SWITCHED_OFF
    else:
        try:
            namespaces.unshare()
        except OSError as error:
            found.missing["namespaces"] = str(error)
        else:
            namespaces.continue_as_first_process()
            found.layers.append("namespaces")
            try:
                return leave_for_a_place(tool)
            except OSError as error:
                # There is no way back out of them: only another process can do without.
                raise NamespaceTrouble(str(error)) from error
    # Where no namespace ends what our children leave behind, we do.
    privileges.adopt_orphans()
    return make_a_place(tool, orders["temporary"])


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
