"""Seccomp filters: which system calls a process can make, by number and by argument."""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

from halflap.sandbox.jail.inside.syscalls import table

__all__ = ["EVERY", "KILLING", "PROGRAMS", "Check", "Rules", "build"]

_ALLOWED = (
    # The channel, and the pairs of sockets by which an event loop wakes itself.
    "read", "write", "readv", "writev", "shutdown", "close", "lseek", "fstat", "poll", "ppoll", "select", "pselect6",
    "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    # Memory, less what would make it executable or shared (see `_CHECKED`).
    "munmap", "mremap", "brk", "set_robust_list", "rseq",
    # Time, chance, and what a process may know of itself.
    "nanosleep", "gettimeofday", "time", "times",
    "getrandom", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage",
    "getrlimit", "sysinfo", "sched_yield",
    # Its own handling of signals; none can be sent.
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "alarm", "getitimer", "setitimer",
    "exit", "exit_group",
)  # fmt: skip

KILLING = (
    "ptrace", "process_vm_readv", "process_vm_writev", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load",
    "init_module", "finit_module", "delete_module", "keyctl", "add_key", "request_key", "unshare", "setns",
    "mount", "umount2", "pivot_root", "open_by_handle_at", "modify_ldt", "personality",
)  # fmt: skip
"""No program makes these by accident, so they kill."""


class Check(NamedTuple):
    """One test of an argument: (value & mask) == wanted, on 32 bits; `whole` also wants the upper half zero."""

    argument: int
    mask: int
    wanted: int
    whole: bool = False


_AF_UNIX, _SOCK_STREAM, _SOCK_FLAGS = 1, 1, 0o2004000
_PROT_EXEC, _MAP_HUGETLB, _O_ASYNC, _FIONBIO = 4, 0x40000, 0o20000, 0x5421
_MSG_PEEK, _MSG_DONTWAIT, _MSG_WAITALL, _MSG_NOSIGNAL = 2, 0x40, 0x100, 0x4000
_SOL_SOCKET, _SOCKET_OPTIONS = 1, (3, 4, 38, 39)
"""Type, error, protocol and family: what a socket says of itself, and not of who is at its other end."""
_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)
"""How memory will be used, and that it is not needed; nothing that merges pages with others' or sends them out."""
_FUTEX_FLAGS, _FUTEX_WAITING_AND_WAKING = 0x180, (0, 1, 9, 10)
_F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL = 1, 2, 3, 4
_NEGATIVE = 0x80000000
EVERY = 0xFFFFFFFF

_CHECKED: tuple[tuple[str, tuple[Check, ...]], ...] = (
    # A datagram socket could be sent to any address, also from within a network namespace.
    ("socketpair", (Check(0, EVERY, _AF_UNIX), Check(1, EVERY ^ _SOCK_FLAGS, _SOCK_STREAM))),
    # Out-of-band bytes are a corner of the kernel that no program needs, and that has been a way into it.
    ("sendto", (Check(3, EVERY ^ (_MSG_DONTWAIT | _MSG_NOSIGNAL), 0), Check(4, EVERY, 0, whole=True))),
    ("recvfrom", (Check(3, EVERY ^ (_MSG_PEEK | _MSG_DONTWAIT | _MSG_WAITALL), 0),)),
    *(("getsockopt", (Check(1, EVERY, _SOL_SOCKET), Check(2, EVERY, option))) for option in _SOCKET_OPTIONS),
    ("mmap", (Check(2, _PROT_EXEC, 0), Check(3, _MAP_HUGETLB, 0))),
    ("mprotect", (Check(2, _PROT_EXEC, 0),)),
    *(("madvise", (Check(2, EVERY, advice),)) for advice in _ADVICE),
    *(("futex", (Check(1, EVERY ^ _FUTEX_FLAGS, operation),)) for operation in _FUTEX_WAITING_AND_WAKING),
    # A negative clock is the time that another process has used.
    *((name, (Check(0, _NEGATIVE, 0),)) for name in ("clock_gettime", "clock_getres", "clock_nanosleep")),
    # Cores and limits may be read, of oneself alone.
    ("sched_getaffinity", (Check(0, EVERY, 0),)),
    ("prlimit64", (Check(0, EVERY, 0), Check(2, EVERY, 0, whole=True))),
    # F_SETOWN, F_SETSIG and O_ASYNC would have the kernel send signals to others.
    *(("fcntl", (Check(1, EVERY, command),)) for command in (_F_GETFD, _F_SETFD, _F_GETFL)),
    ("fcntl", (Check(1, EVERY, _F_SETFL), Check(2, _O_ASYNC, 0))),
    # Python makes a socket non-blocking by this one.
    ("ioctl", (Check(1, EVERY, _FIONBIO),)),
)

_LD, _JEQ, _JGE, _AND, _RET = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


class Rules(NamedTuple):
    """Which calls are possible; all others are refused, with the usual error for a file without access."""

    allowed: tuple[str, ...]
    checked: tuple[tuple[str, tuple[Check, ...]], ...]
    """Allowed if all tests of one of the call's entries hold."""


PROGRAMS = Rules(_ALLOWED, _CHECKED)
"""What a locked program can do: compute, and use its channel."""


def build(machine: str, rules: Rules = PROGRAMS) -> bytes:
    """Return the filter for a machine: instructions for the kernel's packet filter, packed."""
    numbers = table(machine)
    code = [_op(_LD, _ARCH), _op(_JEQ, _AUDIT[machine], 1, 0), _op(_RET, _KILL), _op(_LD, _NR)]
    if machine == "x86_64":
        # The same calls under other numbers, past every comparison below.
        code += [_op(_JGE, _X32, 0, 1), _op(_RET, _KILL)]
    # Without clone3, the C library tries the older call.
    for names, verdict in (
        (rules.allowed, _ALLOW), (KILLING, _KILL), (("clone3",), _ERRNO | errno.ENOSYS),
    ):  # fmt: skip
        for name in names:
            if name in numbers:
                code += [_op(_JEQ, numbers[name], 0, 1), _op(_RET, verdict)]
    for name, checks in rules.checked:
        if name in numbers:
            body = _checked(checks)
            code += [_op(_JEQ, numbers[name], 0, len(body)), *body]
    code.append(_op(_RET, _ERRNO | errno.EACCES))
    return b"".join(code)


def _checked(checks: tuple[Check, ...]) -> list[bytes]:
    """Allow if all tests hold, otherwise continue after this block with the number loaded again."""
    code: list[bytes] = [_op(_RET, _ALLOW), _op(_LD, _NR)]
    for check in reversed(checks):
        low = _ARGUMENTS + 8 * check.argument
        upper = [(low + 4, EVERY, 0)] if check.whole else []
        for offset, mask, wanted in (*upper, (low, check.mask, check.wanted)):
            # A test that fails jumps to the last line.
            code = [_op(_LD, offset), _op(_AND, mask), _op(_JEQ, wanted, 0, len(code) - 1), *code]
    return code


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
