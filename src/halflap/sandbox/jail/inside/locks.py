"""Gives up rights for good: identity and capabilities, namespaces, Landlock, resource limits.

`confine` does that for a fork server, and `Confinement.lock` goes further for each of its children. `seccomp` builds their filter.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halflap.sandbox.jail.inside.seccomp import table

EXECUTE, WRITE, READ, LIST, MAKE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 8
"""Landlock's rights over files: run, write, read; over folders: list, make plain files in."""

_NOBODY = 65_534
_SWITCHED_OFF = "switched off"
_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _SET_CHILD_SUBREAPER = 1, 4, 24, 36
_SET_SECCOMP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 22, 38, 47
_SECCOMP_MODE_FILTER = 2
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Mounts, host name, inter-process communication, users, processes, network."""
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT = 1, 2, 4, 8, 32
_RECURSIVE, _PRIVATE, _DETACH = 1 << 14, 1 << 18, 2
_STACK_BYTES = 16 * 1024 * 1024
_FORBIDDEN = (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE)
_LANDLOCK_BENEATH = _LANDLOCK_VERSION = 1
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of Landlock's file rights since each version."""
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = _SOCKETS_AND_SIGNALS = 0b11


@dataclass
class Confinement:
    """The layers that hold in a fork server and its children, and why others do not."""

    layers: list[str] = field(default_factory=lambda: ["seccomp", "no-new-privileges", "rlimits"])
    missing: dict[str, str] = field(default_factory=dict)
    has_locks: bool = True
    """False only in tests that show what an attack would do without locks."""

    @property
    def report(self) -> dict[str, Any]:
        return {"layers": self.layers, "missing": self.missing}

    def lock(
        self, limits: Mapping[int, tuple[int, int]], filtered: bytes, usable: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Lock a child. Raises if a layer fails that was reported, so nothing runs without it.

        `limits` are soft and hard resource limits, `filtered` is a seccomp filter, and `usable` has the descriptors that
        Landlock leaves usable, each with its rights.
        """
        if not self.has_locks:
            return
        _prctl(_SET_NO_NEW_PRIVS, 1)
        for which, values in limits.items():
            resource.setrlimit(which, values)
        if "landlock" not in self.missing:
            _restrict(usable)
        _drop_capabilities()
        _prctl(_SET_DUMPABLE, 0)
        _prctl(_SET_PDEATHSIG, signal.SIGKILL)
        program = _Filter(len(filtered) // 8, filtered)
        _check(_libc.prctl(_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def confine(orders: Mapping[str, Any], enter: Callable[[], None] | None = None) -> Confinement:
    """Drop the rights that no child needs; Linux only, with a single thread.

    `enter` goes to the place where children work, once the namespaces are new (default: an empty root).
    The orders are `user` (the id to become as root), `namespaces`, `landlock`, and `lockdown`, which is false only in tests.
    """
    confinement = Confinement(has_locks=orders["lockdown"])
    with contextlib.suppress(OSError):
        # When memory runs out, a child is killed before the gateway.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    _prctl(_SET_NO_NEW_PRIVS, 1)
    if os.getuid() == 0:
        confinement.layers.append(f"uid {_become_nobody(orders['user'])}")
        # Own our entries in /proc again, which a change of user takes away.
        _prctl(_SET_DUMPABLE, 1)
    enter = enter or leave_files
    problem = _namespaces_problem(enter) if orders["namespaces"] else _SWITCHED_OFF
    if problem is None:
        _unshare()
        _continue_as_first_process()
        enter()
        confinement.layers.append("namespaces")
    else:
        confinement.missing["namespaces"] = problem
        # Where no namespace ends what children leave behind, the server does.
        _prctl(_SET_CHILD_SUBREAPER, 1)
    _drop_capabilities()
    if confinement.has_locks:
        # Other processes of the same user cannot read our memory, and there is no core dump.
        _prctl(_SET_DUMPABLE, 0)
    if not orders["landlock"]:
        confinement.missing["landlock"] = _SWITCHED_OFF
        return confinement
    try:
        confinement.layers.append(f"landlock {_landlock_version()}")
    except OSError as error:
        confinement.missing["landlock"] = str(error)
    return confinement


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def limits(
    memory_bytes: int, cpu_seconds: int, open_files: int, processes: int | None
) -> dict[int, tuple[int, int]]:
    """Return the resource limits of a child, soft and hard; its memory counts on top of what this process has now.

    Processes are those of its user, so a user who runs anything else cannot be limited.
    """
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    wanted = {
        resource.RLIMIT_AS: pages * os.sysconf("SC_PAGE_SIZE") + memory_bytes,
        # A program can ignore the signal at the soft limit, but not the one at the hard limit.
        resource.RLIMIT_CPU: cpu_seconds + 1,
        resource.RLIMIT_STACK: _STACK_BYTES,
        resource.RLIMIT_NOFILE: open_files,
        **dict.fromkeys(_FORBIDDEN, 0),
    }
    if processes is not None:
        wanted[resource.RLIMIT_NPROC] = processes
    found = {}
    for which, value in wanted.items():
        _, hard = resource.getrlimit(which)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found[which] = (min(cpu_seconds, most) if which == resource.RLIMIT_CPU else most, most)
    return found


# Identity ----------------------------------------------------------------------------------------------------


def _become_nobody(wanted: int) -> int:
    """As root, become a user without files and processes; return its id."""
    for number in (wanted, _NOBODY):
        try:
            os.setgroups([])
            os.setresgid(number, number, number)
            os.setresuid(number, number, number)
        except OSError as error:
            # A container may map fewer users than there are numbers.
            if error.errno != errno.EINVAL:
                raise
        else:
            return number
    raise OSError(errno.EPERM, "there is no unprivileged user to become")


def _drop_capabilities() -> None:
    """Drop every capability, also those that could be regained."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            _prctl(_CAPBSET_DROP, capability)
        except OSError:
            # The first that the kernel does not know, or that was not ours to drop in the first place.
            break
    with contextlib.suppress(OSError):
        _prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _syscall("capset", header, nothing)


# Namespaces --------------------------------------------------------------------------------------------------


def _namespaces_problem(enter: Callable[[], None]) -> str | None:
    """Try namespaces in a child, because there is no way back out of them; return what fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _unshare()
            enter()
        except OSError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        problem = file.read().decode()
    os.waitpid(child, 0)
    return problem or None


def _unshare() -> None:
    """Enter new namespaces; the next child is the first process in them."""
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_NAMESPACES), "unshare")
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny", encoding="ascii")
    (own / "uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    (own / "gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def _continue_as_first_process() -> None:
    """Fork: the child, the first process of its namespace, continues; the parent waits for it and ends with it.

    When the first process of a namespace ends, the kernel ends all others in it.
    """
    first = os.fork()
    if first == 0:
        _prctl(_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    while True:
        _, status = os.waitpid(first, 0)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def leave_files(furnish: Callable[[], None] | None = None, room: bytes = b"size=4k,nr_inodes=1") -> None:
    """Make an empty folder in memory the root of the file system, and detach the rest.

    `furnish` can put files there while the old root is still visible; only then can anything be executed.
    """
    _check(_libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None), "make mounts private")
    place = b"/tmp" if Path("/tmp").is_dir() else b"/proc"  # noqa: S108 -- covered in our own namespace alone
    flags = _NOSUID | _NODEV | (_NOEXEC if furnish is None else 0)
    _check(_libc.mount(b"none", place, b"tmpfs", ctypes.c_ulong(flags), room), "mount")
    os.chdir(place)
    if furnish is not None:
        furnish()
    _syscall("pivot_root", b".", b".")
    _check(_libc.umount2(b".", _DETACH), "unmount")
    os.chdir("/")
    again = ctypes.c_ulong(flags | _REMOUNT | _READ_ONLY)
    _check(_libc.mount(b"none", b"/", None, again, None), "make read-only")
    _libc.sethostname(b"halflap", 7)


# Landlock ----------------------------------------------------------------------------------------------------


def _landlock_version() -> int:
    return _syscall("landlock_create_ruleset", None, 0, _LANDLOCK_VERSION)


def _restrict(exceptions: Sequence[tuple[int, int]]) -> None:
    """Drop every right over files, network and signals that Landlock knows, but for the exceptions."""
    version = _landlock_version()
    files = max(count for since, count in _FILE_RIGHTS.items() if since <= version)
    parts = [(1 << files) - 1]
    if version >= _NETWORK_SINCE:
        parts.append(_BIND_AND_CONNECT)
    if version >= _SCOPES_SINCE:
        parts.append(_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    rules = _syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for descriptor, rights in exceptions:
            rule = struct.pack("=Qi", rights, descriptor)
            _syscall("landlock_add_rule", rules, _LANDLOCK_BENEATH, rule, 0)
        _syscall("landlock_restrict_self", rules, 0, 0)
    finally:
        os.close(rules)


# The C library -----------------------------------------------------------------------------------------------


# Loaded once, because every child uses it: loading creates a class, whose memory the child would have to copy.
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *padded), "prctl")


def _syscall(name: str, *arguments: bytes | int | None) -> int:
    number = table(platform.machine())[name]
    plain = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *plain), name)
