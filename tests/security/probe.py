"""What a hostile ty would try. Run in place of ty, it reports what it got as diagnostics, with a few standard modules only."""

# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH123, PTH208, PTH211, T201

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Attempt = Callable[[], object]

HOST = json.loads(sys.argv[1])
NR = HOST["numbers"]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(name: str, *arguments: Any) -> int:
    plain = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = libc.syscall(ctypes.c_long(NR[name]), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def fork() -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def connect() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as caller:
        caller.connect(("127.0.0.1", HOST["port"]))
        return "connected"


def send_to_inbox() -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        return sender.sendto(b"stolen", HOST["inbox"])


def send_by_udp() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        return sender.sendto(b"stolen", ("127.0.0.1", HOST["port"]))


def write(path: str) -> int:
    with open(path, "w", encoding="utf-8") as file:
        return file.write("left")


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(20)


def write_into_shared_memory() -> None:
    try:
        write("/dev/shm/halflap-left")
    finally:
        os.unlink("/dev/shm/halflap-left")


def share_memory() -> None:
    number = libc.shmget(0, 4096, 0o1600)
    if number < 0:
        refused()
    libc.shmctl(number, 0, None)


def run_a_shell() -> None:
    os.execv("/bin/sh", ["sh", "-c", "exit 77"])


READING: dict[str, Attempt] = {
    "read a file that all may read": lambda: read(HOST["folder"] + "/secret"),
    "read who the users are": lambda: read("/etc/passwd"),
    "list a folder that all may list": lambda: os.listdir(HOST["folder"]),
    "list the root": lambda: [name for name in os.listdir("/") if name in {"etc", "usr", "proc"}],
    "read the gateway's command line": lambda: read(f"/proc/{HOST['gateway']}/cmdline"),
    "read its own command line": lambda: read("/proc/self/cmdline"),
}
"""Files that every user may read: only Landlock or namespaces protect them."""

REACHING: dict[str, Attempt] = {
    "read a file of the gateway's user": lambda: read(HOST["folder"] + "/private"),
    "write into its folder": lambda: write("left"),
    "write over the stubs": lambda: write("__builtins__.pyi"),
    "make a second name": lambda: os.link("__builtins__.pyi", "second"),
    "rename the stubs": lambda: os.rename("__builtins__.pyi", "__builtins__.pyi"),
    "remove the stubs": lambda: os.unlink("__builtins__.pyi"),
    "make a folder": lambda: os.mkdir("folder"),
    "make a link": lambda: os.symlink("/", "link"),
    "make a pipe": lambda: os.mkfifo("pipe"),
    "change who may read": lambda: os.chmod(".", 0o777),
    "write where all may write": lambda: write(HOST["folder"] + "/left-" + os.urandom(8).hex()),
    "write into shared memory": write_into_shared_memory,
    "connect": connect,
    "send to a socket of the host": send_to_inbox,
    "send by UDP": send_by_udp,
    "make a pair of sockets": lambda: len(socket.socketpair()),
    "fork": fork,
    "see the gateway": lambda: os.kill(HOST["gateway"], 0),
    "see its parent": lambda: os.kill(os.getppid(), 0),
    "see its own group": lambda: os.killpg(os.getpgrp(), 0),
    "signal itself": lambda: os.kill(os.getpid(), signal.SIGCONT),
    "watch its parent": lambda: os.pidfd_open(os.getppid()),
    "leave its group": lambda: os.setpgid(0, 0),
    "make a session": os.setsid,
    "change its parent's limits": lambda: syscall("prlimit64", os.getppid(), 7, 0, 0),
    "see its parent's limits": lambda: syscall(
        "prlimit64", os.getppid(), 7, None, ctypes.create_string_buffer(16)
    ),
    "lower its own priority": lambda: os.nice(1),
    "map memory to be written and run": lambda: mmap.mmap(-1, 4096, prot=7) is not None,
    "make a file in memory": lambda: os.memfd_create("left"),
    "share memory": share_memory,
    "forget that it dies with its parent": lambda: libc.prctl(1, 0, 0, 0, 0) == 0 or refused(),
    "become another": lambda: os.setuid(0),
}


def refused() -> Any:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


DEADLY: dict[str, Attempt] = {
    "trace": lambda: syscall("ptrace", 0, 0, 0, 0),
    "read another's memory": lambda: syscall("process_vm_readv", os.getppid(), 0, 0, 0, 0, 0),
    "set up io_uring": lambda: syscall("io_uring_setup", 1, ctypes.create_string_buffer(120)),
    "load a program into the kernel": lambda: syscall("bpf", 0, 0, 0),
    "make namespaces": lambda: syscall("unshare", 0x10000000),
    "mount": lambda: syscall("mount", 0, 0, 0, 0, 0),
    "use the kernel's keys": lambda: syscall("keyctl", 0, 0, 0, 0, 0),
}


ATTACKS: dict[str, dict[str, Attempt]] = {
    "everything": READING | REACHING,
    "shell": {"run a shell": run_a_shell},
    **{name: {name: attempt} for name, attempt in DEADLY.items()},
}


def facts() -> dict[str, Any]:
    def is_open(descriptor: int) -> bool:
        try:
            os.fstat(descriptor)
        except OSError:
            return False
        return True

    return {
        "user": os.getuid(),
        "group": os.getgid(),
        "environment": sorted(os.environ),
        "open": [number for number in range(1000) if is_open(number)],
        "files": sorted(os.listdir(".")),
    }


def main() -> None:
    begin = {"line": 0, "character": 0}
    told: list[dict[str, Any]] = []

    def tell(name: str, said: str) -> None:
        told.append({"code": name, "message": said, "range": {"start": begin, "end": begin}})

    tell("facts", json.dumps(facts()))
    for name, attempt in ATTACKS[HOST["attacks"]].items():
        try:
            got = attempt()
        except OSError as error:
            tell(name, f"refused: {errno.errorcode.get(error.errno or 0, error)}")
        else:
            tell(name, "refused: nothing there" if got in ("", []) else f"got: {got}")
    result = {"capabilities": {"positionEncoding": "utf-32"}, "items": told}
    while header := sys.stdin.buffer.readline():
        request = json.loads(sys.stdin.buffer.read(int(header.split()[1]) + len(b"\r\n")))
        if "id" in request:
            body = json.dumps({"id": request["id"], "result": result})
            print(f"Content-Length: {len(body)}\r\n\r\n{body}", end="", flush=True)


main()
