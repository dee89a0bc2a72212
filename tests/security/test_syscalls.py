"""System calls past Python that no program makes by accident, and the ways around a filter by numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.sandbox.jail.inside.seccomp import KILLING
from security.attack import NUMBERS

if TYPE_CHECKING:
    from security.attack import Attacker

_MEMORY = "syscall('process_vm_{}', os.getppid(), struct.pack('=QQ', id(os), 16), 1, struct.pack('=QQ', id(os), {}), 1, 0)"
DEADLY = {
    "trace the parent": "syscall('ptrace', 0x4206, os.getppid(), 0, 0)",
    "trace me": "syscall('ptrace', 0, 0, 0, 0) == 0",
    "memory of the parent": _MEMORY.format("readv", 16),
    "write to the parent": _MEMORY.format("writev", 0),
    "io_uring": "syscall('io_uring_setup', 1, buffer(120))",
    "bpf": "syscall('bpf', 0, buffer(72), 72)",
    "page faults": "syscall('userfaultfd', 1)",
    "performance": "syscall('perf_event_open', buffer(128), 0, -1, -1, 0)",
    "keys": "syscall('keyctl', 0, -4, 0)",
    "namespaces": "syscall('unshare', 0x10000000)",
    "entering a namespace": "syscall('setns', 3, 0)",
    "mount": "syscall('mount', b'none', b'/', b'tmpfs', 0, None)",
    "personality": "syscall('personality', 0xffffffff)",
    "x32": "syscall(0x40000000 | 39)",
    "minus one": "syscall(-1)",
}


def test_a_locked_program_is_killed_for_it(locked: Attacker) -> None:
    prizes = {name: locked.attack({name: code})[name] for name, code in DEADLY.items()}
    assert {name: prize for name, prize in prizes.items() if not prize.was_killed} == {}


def test_without_locks_every_such_call_is_answered(unlocked: Attacker) -> None:
    # What the kernel answers depends on its configuration; that it answers shows that the call was made.
    # What is traced may be stopped by the next signal, so these have a program of their own.
    traced = {name: code for name, code in DEADLY.items() if name.startswith("trace")}
    prizes = unlocked.attack({name: code for name, code in DEADLY.items() if name not in traced})
    for name, code in traced.items():
        prizes |= unlocked.attack({name: code})
    assert {name: prize for name, prize in prizes.items() if prize.got is None and prize.errno is None} == {}
    assert prizes["trace me"].got is not None
    assert prizes["memory of the parent"].got is not None


ALLOWED = {
    "read", "write", "readv", "writev", "shutdown", "close", "lseek", "fstat", "poll", "ppoll", "select",
    "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "munmap", "mremap",
    "brk", "set_robust_list", "rseq", "nanosleep", "gettimeofday", "time", "times", "getrandom", "getpid",
    "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "getrlimit", "sysinfo",
    "sched_yield", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "alarm",
    "getitimer", "setitimer", "exit", "exit_group",
}  # fmt: skip
"""The calls that are possible whatever their arguments. Written out once more: to allow another is to change two places."""

_EVERY_NUMBER = """
allowed = []
for number in range({first}, {last}):
    if number not in {skipped}:
        result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
        if result >= 0 or ctypes.get_errno() not in {refusals}:
            allowed.append(number)
print(allowed)
"""


_PAST_EVERY_FILTER = {335, 336}
"""For probes in programs. Newer kernels filter neither, and kill whoever calls them without being probed."""


def test_no_other_number_does_anything(locked: Attacker) -> None:
    # With arguments that no call takes: one that is let through answers with an error of its own.
    skipped = sorted({*(NUMBERS[name] for name in {*ALLOWED, *KILLING, "clone3"}), *_PAST_EVERY_FILTER})
    got = locked.run(_EVERY_NUMBER.format(first=0, last=600, skipped=skipped, refusals=(13,)))
    assert got.output.decode().strip() == "[]", got


def test_without_locks_other_numbers_do_something(unlocked: Attacker) -> None:
    # One that harms nobody: a second name for a descriptor that is not there.
    code = _EVERY_NUMBER.format(first=NUMBERS["dup"], last=NUMBERS["dup"] + 1, skipped=[], refusals=(13,))
    assert unlocked.run(code).output.decode().strip() == f"[{NUMBERS['dup']}]"


_GADGET = """
a, b = pair()
libc.qsort.restype = None
start = ctypes.cast(libc.qsort, ctypes.c_void_p).value & ~4095
for page in range(start - (60 << 12), start + (300 << 12), 4096):
    try:
        size = syscall("sendto", a, ctypes.c_void_p(page), 4096, 0x40, None, 0)
    except OSError:
        continue
    found = os.read(b, size).find(bytes([0xCD, 0x80]))
    if found >= 0:
        print("found", flush=True)
        ctypes.CFUNCTYPE(ctypes.c_long)(page + found)()
"""


def test_the_old_way_into_the_kernel_kills(locked: Attacker) -> None:
    # No new code can be made, but the two bytes may lie somewhere in the C library.
    got = locked.run(_GADGET)
    if b"found" not in got.output:
        pytest.skip("the C library of this machine has no such bytes")
    assert "system call that no program needs" in got.error or "SIGSEGV" in got.error, got


def test_without_locks_the_old_way_leads_into_the_kernel(unlocked: Attacker) -> None:
    code = """
at = memory(7)
ctypes.memmove(at, bytes.fromhex("53b814000000cd805bc3"), 10)
print(ctypes.CFUNCTYPE(INT)(at)() == os.getpid())
"""
    got = unlocked.run(code)
    if b"True" not in got.output:
        pytest.skip("this kernel has no 32-bit calls")
    assert got.outcome == "ok"


_SIGRETURN = """
libc.syscall(ctypes.c_long(NR["rt_sigreturn"]))
print("still here")
"""


def test_a_forged_return_from_a_signal_gains_nothing(locked: Attacker) -> None:
    got = locked.run(_SIGRETURN)
    assert got.outcome == "crashed"
    assert got.output == b""
