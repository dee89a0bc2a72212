"""The fork server: a process without secrets that has everything loaded, and forks locked processes."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import platform
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from halflap.sandbox.jail.inside import child, landlock, namespaces, privileges, seccomp
from halflap.sandbox.jail.inside.preload import preload

__all__ = ["main"]

_LONGEST_MESSAGE = 65_536


def main(descriptor: int) -> NoReturn:
    """Prepare, then fork a process for each descriptor that arrives, until the gateway is gone."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=descriptor)
    _close_others(descriptor)
    orders = json.loads(control.recv(_LONGEST_MESSAGE))
    try:
        locks, layers, missing = _prepare(orders)
    except OSError as error:
        _send(control, {"trouble": str(error)})
        os._exit(1)
    _send(control, {"ready": True, "layers": layers, "missing": missing, "modules": orders["failed"]})
    _serve(control, locks)
    os._exit(0)


def _prepare(orders: dict[str, Any]) -> tuple[child.Locks, list[str], dict[str, str]]:
    """Load everything, then give up rights step by step; return the layers in force and why others are missing."""
    privileges.forget_the_host(orders["machine"])
    sys.path.extend(orders.pop("path"))
    orders["failed"] = preload(orders["modules"])
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.argv = ["program.py"]
    child.prepare()
    filtered = seccomp.build(platform.machine())
    privileges.be_first_to_go()
    base = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    layers, missing = ["seccomp", "no-new-privileges", "rlimits"], {}
    privileges.allow_no_more()
    if os.getuid() == 0:
        layers.append(f"uid {privileges.become_nobody(orders['user'])}")
        privileges.show()
    if orders["namespaces"]:
        try:
            namespaces.unshare()
        except OSError as error:
            missing["namespaces"] = str(error)
        else:
            namespaces.continue_as_first_process()
            namespaces.leave_the_files()
            layers.append("namespaces")
    else:
        missing["namespaces"] = "switched off"
    privileges.drop_capabilities()
    if orders["lockdown"]:
        privileges.hide()
    try:
        fence = landlock.version() if orders["landlock"] else 0
    except OSError as error:
        fence, missing["landlock"] = 0, str(error)
    else:
        if fence:
            layers.append(f"landlock {fence}")
        else:
            missing["landlock"] = "switched off"
    locks = child.Locks(
        filter=filtered,
        memory_bytes=base + orders["memory_bytes"],
        cpu_seconds=orders["cpu_seconds"],
        largest_frame=orders["largest_frame"],
        landlock=bool(fence),
        lockdown=orders["lockdown"],
    )
    gc.collect()
    # What is loaded now never becomes garbage, so the processes share its pages.
    gc.freeze()
    return locks, layers, missing


def _close_others(kept: int) -> None:
    """Close every inherited descriptor but the control socket."""
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, kept)
    os.closerange(kept + 1, most)


def _serve(control: socket.socket, locks: child.Locks) -> None:
    """Fork what is requested, and report how each process ended."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == control.fileno():
                number, channel = _request(control)
                if channel is None:
                    for pid, _ in children.values():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                    return
                try:
                    pid = os.fork()
                except OSError:
                    # The machine has no process left for this one; the others continue.
                    os.close(channel)
                    _send(control, {"ended": number, "code": None, "cpu_seconds": None, "memory_bytes": None})
                    continue
                if pid == 0:
                    child.main(channel, locks)
                os.close(channel)
                watch = os.pidfd_open(pid)
                poll.register(watch, select.POLLIN)
                children[watch] = (pid, number)
                _send(control, {"child": number, "pid": pid}, [watch])
            else:
                pid, number = children.pop(descriptor)
                poll.unregister(descriptor)
                os.close(descriptor)
                _, status, used = os.wait4(pid, 0)
                _send(
                    control,
                    {
                        "ended": number,
                        "code": os.waitstatus_to_exitcode(status),
                        "cpu_seconds": used.ru_utime + used.ru_stime,
                        "memory_bytes": used.ru_maxrss * 1024,
                    },
                )


def _request(control: socket.socket) -> tuple[int, int | None]:
    """Read a request: a number, and the process's end of its channel; None when the gateway is gone."""
    try:
        body, descriptors, _, _ = socket.recv_fds(control, 64, 1)
    except OSError:
        return 0, None
    return (int(body), descriptors[0]) if body and descriptors else (0, None)


def _send(control: socket.socket, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    try:
        socket.send_fds(control, [json.dumps(message).encode()], descriptors or [])
    except OSError:
        # The gateway is gone.
        os._exit(0)
