"""The filter of ty, interpreted for every number, on both machines that we have tables for."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from halflap.sandbox.check.inside import system_calls as calls
from halflap.sandbox.jail.inside import seccomp
from halflap.sandbox.jail.inside.syscalls import table
from sandbox.jail.bpf import ALLOW, ARCHES, KILL, verdict

PLAIN = {
    "read", "write", "readv", "writev", "pread64", "close", "lseek", "fstat", "poll", "ppoll", "munmap", "mremap",
    "brk", "set_robust_list", "rseq", "set_tid_address", "arch_prctl", "nanosleep", "gettimeofday", "time", "times",
    "getrandom", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "getrlimit",
    "sysinfo", "sched_yield", "uname", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
    "restart_syscall", "exit", "exit_group", "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat",
    "faccessat2", "getcwd", "readlink", "readlinkat", "getdents64", "fadvise64", "execveat", "execve",
    "shutdown", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "alarm", "getitimer", "setitimer",
}  # fmt: skip
"""Allowed whatever the arguments. Written out once more: to allow another is to change two places."""

THREAD, PROCESS, NEW_USER = 0x3D0F00, 0x1200011, 0x10000000

GOOD: list[tuple[str, tuple[int, ...]]] = [
    ("mmap", (0, 4096, 3, 0x22)),
    ("mmap", (0, 4096, 5, 2)),
    ("mprotect", (0, 4096, 1)),
    ("clone", (THREAD,)),
    ("prctl", (15,)),
    ("prlimit64", (0, 3, 0, 0x1000)),
    ("futex", (0, 0x80)),
    ("fcntl", (3, 1030, 3)),
]
BAD: list[tuple[str, tuple[int, ...], int]] = [
    ("mmap", (0, 4096, 7, 0x22), errno.EPERM),
    ("mmap", (0, 4096, 6, 0x22), errno.EPERM),
    ("mprotect", (0, 4096, 5), errno.EPERM),
    ("clone", (PROCESS | NEW_USER,), errno.EPERM),
    ("clone", (THREAD | NEW_USER,), errno.EPERM),
    ("clone", (0x20000,), errno.EPERM),
    ("clone3", (), errno.ENOSYS),
    ("clone", (PROCESS,), errno.EPERM),
    ("prctl", (1,), errno.EPERM),
    ("prctl", (8,), errno.EPERM),
    ("prctl", (4,), errno.EPERM),
    ("prlimit64", (0, 1, 0x1000, 0), errno.EPERM),
    ("prlimit64", (1, 3, 0, 0x1000), errno.EPERM),
    ("fcntl", (3, 8, 1), errno.EPERM),
    ("ioctl", (0, 0x5412), errno.ENOTTY),
    ("socketpair", (1, 1, 0), errno.EPERM),
    ("sendto", (3, 0, 1, 0, 0, 0), errno.EPERM),
    ("recvfrom", (3, 0, 1, 0), errno.EPERM),
    ("chdir", (), errno.EACCES),
    *((name, (), errno.EACCES) for name in ("renameat", "unlinkat", "symlinkat", "linkat", "mkdirat", "fchmodat", "openat2")),
]  # fmt: skip


class Filtered:
    """What becomes of calls on one machine."""

    def __init__(self, machine: str) -> None:
        self.numbers = table(machine)
        self._arch = ARCHES[machine]
        self._ty = seccomp.build(machine, calls.TY)

    def ty(self, name: str, *arguments: int) -> str | int:
        return verdict(self._ty, self._arch, self.numbers[name], arguments)

    def of_number(self, number: int) -> str | int:
        return verdict(self._ty, self._arch, number, ())


@pytest.fixture(params=ARCHES)
def filtered(request: Any) -> Filtered:
    return Filtered(request.param)


def test_every_number_that_is_not_listed_is_refused(filtered: Filtered) -> None:
    listed = set(filtered.numbers.values())
    assert {filtered.of_number(number) for number in range(601) if number not in listed} == {errno.EPERM}


def test_nothing_but_what_is_meant_to_be_is_allowed_outright(filtered: Filtered) -> None:
    ones = [0xFFFFFFFF_FFFFFFFF] * 6
    known = set(filtered.numbers)
    assert {name for name in known if filtered.ty(name, *ones) == ALLOW} == PLAIN & known


def test_calls_that_nobody_makes_by_accident_kill(filtered: Filtered) -> None:
    known = [name for name in seccomp.KILLING if name in filtered.numbers]
    assert [name for name in known if filtered.ty(name) != KILL] == []


def test_good_arguments_are_let_through(filtered: Filtered) -> None:
    assert [one for one in GOOD if filtered.ty(one[0], *one[1]) != ALLOW] == []


def test_bad_arguments_are_refused(filtered: Filtered) -> None:
    assert [one for one in BAD if filtered.ty(one[0], *one[1]) != one[2]] == []


def test_ty_opens_files_and_folders_to_read_and_nothing_to_write(filtered: Filtered) -> None:
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o2000, 0o2000101, 0o20200002):
        assert filtered.ty("openat", 0, 0, flags) == errno.EACCES
        assert "open" not in filtered.numbers or filtered.ty("open", 0, flags) == errno.EACCES
    for flags in (0, 0o2000000, 0o200000, 0o2200000):
        assert filtered.ty("openat", 0, 0, flags) == ALLOW
