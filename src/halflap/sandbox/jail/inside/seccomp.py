"""Seccomp filters: which system calls a process can make, by number and by argument."""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

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


# The numbers of the system calls that the filters name and the locks make ----------------------------------------

_X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "readv": 19, "writev": 20, "access": 21, "select": 23,
    "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getitimer": 36, "alarm": 37,
    "setitimer": 38, "getpid": 39, "sendto": 44, "recvfrom": 45, "shutdown": 48, "socketpair": 53,
    "getsockopt": 55, "clone": 56, "execve": 59, "exit": 60, "uname": 63, "fcntl": 72, "getcwd": 79,
    "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100,
    "ptrace": 101, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "capset": 126,
    "sigaltstack": 131, "personality": 135, "statfs": 137, "modify_ldt": 154, "pivot_root": 155, "prctl": 157,
    "arch_prctl": 158, "mount": 165, "umount2": 166, "init_module": 175, "delete_module": 176, "gettid": 186,
    "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218,
    "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    "exit_group": 231, "epoll_wait": 232, "epoll_ctl": 233, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269,
    "pselect6": 270, "ppoll": 271, "unshare": 272, "set_robust_list": 273, "epoll_pwait": 281,
    "epoll_create1": 291, "perf_event_open": 298, "prlimit64": 302, "open_by_handle_at": 304, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "finit_module": 313, "getrandom": 318,
    "kexec_file_load": 320, "bpf": 321, "execveat": 322, "userfaultfd": 323, "statx": 332, "rseq": 334,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435, "faccessat2": 439,
    "epoll_pwait2": 441, "landlock_create_ruleset": 444, "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}  # fmt: skip

_AARCH64 = {
    "getcwd": 17, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22, "fcntl": 25, "ioctl": 29,
    "umount2": 39, "mount": 40, "pivot_root": 41, "statfs": 43, "faccessat": 48, "openat": 56, "close": 57,
    "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
    "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "capset": 91,
    "personality": 92, "exit": 93, "exit_group": 94, "set_tid_address": 96, "unshare": 97, "futex": 98,
    "set_robust_list": 99, "nanosleep": 101, "getitimer": 102, "setitimer": 103, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
    "ptrace": 117, "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132,
    "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "uname": 160,
    "getrlimit": 163, "getrusage": 165, "prctl": 167, "gettimeofday": 169, "getpid": 172, "getppid": 173,
    "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179,
    "socketpair": 199, "sendto": 206, "recvfrom": 207, "getsockopt": 209, "shutdown": 210, "brk": 214,
    "munmap": 215, "mremap": 216, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
    "execve": 221, "mmap": 222, "fadvise64": 223, "mprotect": 226, "madvise": 233, "perf_event_open": 241,
    "prlimit64": 261, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "finit_module": 273, "getrandom": 278, "bpf": 280, "execveat": 281, "userfaultfd": 282, "statx": 291,
    "rseq": 293, "kexec_file_load": 294, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "clone3": 435, "faccessat2": 439, "epoll_pwait2": 441, "landlock_create_ruleset": 444,
    "landlock_add_rule": 445, "landlock_restrict_self": 446,
}  # fmt: skip


def table(machine: str) -> dict[str, int]:
    """Return the system call numbers of a machine; raise `OSError` if they are not known."""
    tables = {"x86_64": _X86_64, "aarch64": _AARCH64}
    if machine not in tables:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    return tables[machine]
