"""Which system calls a locked program can make: an allow-list, by number and by argument."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import NamedTuple

__all__ = ["Filter", "build", "install", "table"]

_X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "ioctl": 16, "readv": 19, "writev": 20, "access": 21, "select": 23, "sched_yield": 24,
    "mremap": 25, "madvise": 28, "nanosleep": 35, "getitimer": 36, "alarm": 37, "setitimer": 38,
    "getpid": 39, "sendto": 44, "recvfrom": 45, "shutdown": 48, "socketpair": 53, "getsockopt": 55,
    "fcntl": 72, "truncate": 76, "getcwd": 79, "chdir": 80, "rename": 82, "mkdir": 83, "rmdir": 84,
    "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89, "chmod": 90, "chown": 92,
    "lchown": 94, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100,
    "ptrace": 101, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110,
    "sigaltstack": 131, "mknod": 133, "personality": 135, "statfs": 137, "modify_ldt": 154,
    "pivot_root": 155, "mount": 165, "umount2": 166, "init_module": 175, "delete_module": 176,
    "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "restart_syscall": 219,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit": 60, "exit_group": 231,
    "epoll_wait": 232, "epoll_ctl": 233, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "openat": 257, "mkdirat": 258, "mknodat": 259, "fchownat": 260, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267, "fchmodat": 268,
    "faccessat": 269, "pselect6": 270, "ppoll": 271, "unshare": 272, "set_robust_list": 273,
    "utimensat": 280, "epoll_pwait": 281, "epoll_create1": 291, "perf_event_open": 298, "prlimit64": 302,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "finit_module": 313, "renameat2": 316, "getrandom": 318, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323, "membarrier": 324, "statx": 332, "rseq": 334, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435, "openat2": 437, "faccessat2": 439,
    "epoll_pwait2": 441,
}  # fmt: skip

_AARCH64 = {
    "getcwd": 17, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22, "fcntl": 25, "ioctl": 29,
    "mknodat": 33, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38,
    "umount2": 39, "mount": 40, "pivot_root": 41, "statfs": 43, "truncate": 45, "faccessat": 48, "chdir": 49,
    "fchmodat": 53, "fchownat": 54, "openat": 56, "close": 57, "lseek": 62, "read": 63, "write": 64,
    "readv": 65, "writev": 66, "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80,
    "utimensat": 88, "personality": 92, "exit": 93, "exit_group": 94, "unshare": 97, "futex": 98,
    "set_robust_list": 99, "nanosleep": 101, "getitimer": 102, "setitimer": 103, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_gettime": 113, "clock_getres": 114,
    "clock_nanosleep": 115, "ptrace": 117, "sched_getaffinity": 123, "sched_yield": 124,
    "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
    "rt_sigreturn": 139, "times": 153, "getrlimit": 163, "getrusage": 165, "gettimeofday": 169,
    "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177,
    "gettid": 178, "sysinfo": 179, "socketpair": 199, "sendto": 206, "recvfrom": 207, "getsockopt": 209,
    "shutdown": 210, "brk": 214, "munmap": 215, "mremap": 216, "add_key": 217, "request_key": 218,
    "keyctl": 219, "mmap": 222, "mprotect": 226, "madvise": 233, "perf_event_open": 241, "prlimit64": 261,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "finit_module": 273, "renameat2": 276, "getrandom": 278, "bpf": 280, "userfaultfd": 282,
    "membarrier": 283, "statx": 291, "rseq": 293, "kexec_file_load": 294, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435, "openat2": 437, "faccessat2": 439,
    "epoll_pwait2": 441,
}  # fmt: skip

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

_KILLING = (
    "ptrace", "process_vm_readv", "process_vm_writev", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load",
    "init_module", "finit_module", "delete_module", "keyctl", "add_key", "request_key", "unshare", "setns",
    "mount", "umount2", "pivot_root", "open_by_handle_at", "modify_ldt", "personality",
)  # fmt: skip
"""No program makes these by accident."""

_PATHS = (
    "open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "statfs", "access",
    "faccessat", "faccessat2", "chdir", "getcwd", "rename", "renameat", "renameat2", "mkdir", "mkdirat",
    "rmdir", "link", "linkat", "unlink", "unlinkat", "symlink", "symlinkat", "readlink", "readlinkat",
    "chmod", "fchmodat", "chown", "lchown", "fchownat", "mknod", "mknodat", "truncate", "utimensat",
)  # fmt: skip
"""Refused with the error that a person would expect of a file that is not theirs."""


class _Check(NamedTuple):
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
_NEGATIVE = 0x80000000
_EVERY = 0xFFFFFFFF
_NEXT = -1

_CHECKED: tuple[tuple[str, tuple[_Check, ...], int], ...] = (
    # A datagram socket could be sent to any address, also from within a network namespace.
    (
        "socketpair",
        (_Check(0, _EVERY, _AF_UNIX), _Check(1, _EVERY ^ _SOCK_FLAGS, _SOCK_STREAM)),
        errno.EPERM,
    ),
    # Out-of-band bytes are a corner of the kernel that no program needs, and that has been a way into it.
    (
        "sendto",
        (_Check(3, _EVERY ^ (_MSG_DONTWAIT | _MSG_NOSIGNAL), 0), _Check(4, _EVERY, 0, whole=True)),
        errno.EPERM,
    ),
    ("recvfrom", (_Check(3, _EVERY ^ (_MSG_PEEK | _MSG_DONTWAIT | _MSG_WAITALL), 0),), errno.EPERM),
    *(
        ("getsockopt", (_Check(1, _EVERY, _SOL_SOCKET), _Check(2, _EVERY, option)), _NEXT)
        for option in _SOCKET_OPTIONS
    ),
    ("mmap", (_Check(2, _PROT_EXEC, 0), _Check(3, _MAP_HUGETLB, 0)), errno.EPERM),
    ("mprotect", (_Check(2, _PROT_EXEC, 0),), errno.EPERM),
    *(("madvise", (_Check(2, _EVERY, advice),), _NEXT) for advice in _ADVICE),
    *(
        ("futex", (_Check(1, _EVERY ^ _FUTEX_FLAGS, operation),), _NEXT)
        for operation in _FUTEX_WAITING_AND_WAKING
    ),
    # A negative clock is the time that another process has used.
    ("clock_gettime", (_Check(0, _NEGATIVE, 0),), errno.EINVAL),
    ("clock_getres", (_Check(0, _NEGATIVE, 0),), errno.EINVAL),
    ("clock_nanosleep", (_Check(0, _NEGATIVE, 0),), errno.EINVAL),
    # Cores and limits may be read, of oneself alone.
    ("sched_getaffinity", (_Check(0, _EVERY, 0),), errno.EPERM),
    ("prlimit64", (_Check(0, _EVERY, 0), _Check(2, _EVERY, 0, whole=True)), errno.EPERM),
    # F_SETOWN, F_SETSIG and O_ASYNC would have the kernel send signals to others.
    ("fcntl", (_Check(1, _EVERY, 1),), _NEXT),
    ("fcntl", (_Check(1, _EVERY, 2),), _NEXT),
    ("fcntl", (_Check(1, _EVERY, 3),), _NEXT),
    ("fcntl", (_Check(1, _EVERY, 4), _Check(2, _O_ASYNC, 0)), errno.EPERM),
    # Python makes a socket non-blocking by this one; all else answers as if no device were behind it.
    ("ioctl", (_Check(1, _EVERY, _FIONBIO),), errno.ENOTTY),
)
"""Allowed if all tests hold, else refused with the error; `_NEXT` leaves it to the next entry, and after the last
one to what holds for every call that is not listed."""

_LD, _JEQ, _JSET, _JGE, _AND, _RET = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


class Filter(NamedTuple):
    """A program for the kernel's packet filter: the instructions, packed."""

    code: bytes

    @property
    def length(self) -> int:
        """How many instructions it has."""
        return len(self.code) // 8


def table(machine: str) -> dict[str, int] | None:
    """Give the numbers of the system calls of a machine, if we know them."""
    return {"x86_64": _X86_64, "aarch64": _AARCH64}.get(machine)


def build(machine: str | None = None) -> Filter:
    """Write the filter for a machine."""
    machine = machine or platform.machine()
    numbers = table(machine)
    if numbers is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    code = [_op(_LD, _ARCH), _op(_JEQ, _AUDIT[machine], 1, 0), _op(_RET, _KILL), _op(_LD, _NR)]
    if machine == "x86_64":
        # The same calls under other numbers, past every comparison below.
        code += [_op(_JGE, _X32, 0, 1), _op(_RET, _KILL)]
    for names, verdict in (
        (_ALLOWED, _ALLOW),
        (_KILLING, _KILL),
        (_PATHS, _ERRNO | errno.EACCES),
        # The C library then tries the older call, which the last line refuses.
        (("clone3",), _ERRNO | errno.ENOSYS),
    ):
        for name in names:
            if name in numbers:
                code += [_op(_JEQ, numbers[name], 0, 1), _op(_RET, verdict)]
    for name, checks, otherwise in _CHECKED:
        body = _checked(checks, otherwise)
        code += [_op(_JEQ, numbers[name], 0, len(body)), *body]
    code.append(_op(_RET, _ERRNO | errno.EPERM))
    return Filter(b"".join(code))


def _checked(checks: tuple[_Check, ...], otherwise: int) -> list[bytes]:
    """Allow if all tests hold; else refuse, or go on behind this block with the number loaded again."""
    tests: list[tuple[int, int, int]] = []
    for check in checks:
        low = _ARGUMENTS + 8 * check.argument
        tests.append((low, check.mask, check.wanted))
        if check.whole:
            tests.append((low + 4, _EVERY, 0))
    last = _op(_LD, _NR) if otherwise == _NEXT else _op(_RET, _ERRNO | otherwise)
    code: list[bytes] = [_op(_RET, _ALLOW), last]
    for offset, mask, wanted in reversed(tests):
        # A test that fails jumps to the last line.
        code = [_op(_LD, offset), _op(_AND, mask), _op(_JEQ, wanted, 0, len(code) - 1), *code]
    return code


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(wanted: Filter) -> None:
    """Put the filter on this process, for ever. `no_new_privs` must be set."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(wanted.length, wanted.code)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
