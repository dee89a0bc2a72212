"""The filters of system calls, interpreted for every number, on both machines that we have tables for."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from halflap.sandbox.check.inside.profile import TY
from halflap.sandbox.jail.inside.seccomp import KILLING, PROGRAMS, Rules, build
from halflap.sandbox.jail.inside.syscalls import table
from sandbox.jail.bpf import ALLOW, ARCHES, KILL, verdict

PLAIN = {
    "read", "write", "readv", "writev", "shutdown", "close", "lseek", "fstat", "poll", "ppoll", "select",
    "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "munmap", "mremap",
    "brk", "set_robust_list", "rseq", "nanosleep", "gettimeofday", "time", "times", "getrandom", "getpid",
    "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "getrlimit", "sysinfo",
    "sched_yield", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "alarm",
    "getitimer", "setitimer", "exit", "exit_group",
}  # fmt: skip
"""Allowed to programs whatever the arguments. Written out once more: to allow another is to change two places."""

TY_ONLY = {
    "pread64", "set_tid_address", "arch_prctl", "uname", "stat", "lstat", "newfstatat", "statx", "statfs", "access",
    "faccessat", "faccessat2", "getcwd", "readlink", "readlinkat", "getdents64", "fadvise64", "execveat", "execve",
}  # fmt: skip

THREAD, PROCESS, NEW_USER = 0x3D0F00, 0x1200011, 0x10000000
CLOCKS = ("clock_gettime", "clock_getres", "clock_nanosleep")
Calls = list[tuple[str, tuple[int, ...]]]

BOTH_GOOD: Calls = [
    ("mmap", (0, 4096, 3, 0x22)),
    ("mprotect", (0, 4096, 3)),
    *(("madvise", (0, 4096, advice)) for advice in (0, 1, 2, 3, 4, 8, 14, 15)),
    *(("futex", (0, operation | flags)) for operation in (0, 1, 9, 10) for flags in (0, 0x80, 0x100, 0x180)),
    *((call, (clock,)) for call in CLOCKS for clock in range(8)),
    ("sched_getaffinity", (0, 128)),
    ("prlimit64", (0, 7, 0, 0x1000)),
    *(("fcntl", (3, command)) for command in (1, 2, 3)),
    ("fcntl", (3, 4, 0o4000)),
    ("ioctl", (3, 0x5421)),
]
BOTH_BAD: Calls = [
    *(("mmap", (0, 4096, protection, 0x22)) for protection in (6, 7)),
    ("mmap", (0, 1 << 21, 3, 0x40022)),
    *(("mprotect", (0, 4096, protection)) for protection in (4, 5, 7, 0x1000004)),
    *(("madvise", (0, 4096, advice)) for advice in (9, 12, 20, 21, 100, 101)),
    *(("futex", (0, operation)) for operation in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 0x86)),
    *((call, (-3 & 0xFFFFFFFF,)) for call in CLOCKS),
    ("clock_gettime", ((~1 << 3) | 2,)),
    ("sched_getaffinity", (1, 128)),
    *(("prlimit64", given) for given in ((1, 7, 0, 0x1000), (0, 7, 0x1000, 0), (0, 7, 1 << 32, 0))),
    *(("fcntl", (3, command)) for command in (0, 5, 6, 7, 8, 9, 10, 15, 1024, 1031, 1033)),
    ("fcntl", (3, 4, 0o20000)),
    *(("ioctl", (3, command)) for command in (0x5452, 0x8901, 0x5412, 0x541B)),
]
SOCKETS_GOOD: Calls = [
    *(("socketpair", (1, kind, 0)) for kind in (1, 1 | 0o2004000)),
    *(("sendto", (3, 0, 1, flags, 0, 0)) for flags in (0, 0x4040)),
    ("recvfrom", (3, 0, 1, 0x142, 0, 0)),
    *(("getsockopt", (3, 1, option)) for option in (3, 4, 38, 39)),
]
SOCKETS_BAD: Calls = [
    *(("socketpair", (1, kind, 0)) for kind in (2, 3, 5, 2 | 0o2000000, 0x101)),
    *(("socketpair", (family, 1, 0)) for family in (0, 2, 10, 16, 40, 0x101)),
    *(("sendto", (3, 0, 1, 0, address, 10)) for address in (0x1000, 1 << 32)),
    *(("sendto", (3, 0, 1, flag, 0, 0)) for flag in (1, 0x8000, 0x4000000, 0x20000000)),
    *(("recvfrom", (3, 0, 1, flag, 0, 0)) for flag in (1, 0x41, 0x2000, 0x40000000)),
    *(("getsockopt", (3, 1, option)) for option in (17, 26, 31, 59, 77)),
    ("getsockopt", (3, 0, 4)),
]
READING: Calls = [
    *(("openat", (0, 0, flags)) for flags in (0, 0o2000000, 0o200000, 0o2200000)),
    ("mmap", (0, 4096, 5, 2)),
    ("clone", (THREAD,)),
    ("prctl", (15,)),
    ("fcntl", (3, 1030, 3)),
]
WRITING: Calls = [
    *(("openat", (0, 0, flags)) for flags in (0o1, 0o2, 0o100, 0o1000, 0o2000, 0o2000101)),
    *(("clone", (flags,)) for flags in (PROCESS, PROCESS | NEW_USER, THREAD | NEW_USER)),
    *(("prctl", (option,)) for option in (1, 4, 8)),
]
CASES = pytest.mark.parametrize(
    ("rules", "plain", "good", "bad"),
    [
        (PROGRAMS, PLAIN, [*BOTH_GOOD, *SOCKETS_GOOD], [*BOTH_BAD, *SOCKETS_BAD, *READING, *WRITING]),
        (TY, PLAIN | TY_ONLY, [*BOTH_GOOD, *READING], [*BOTH_BAD, *SOCKETS_GOOD, *SOCKETS_BAD, *WRITING]),
    ],
    ids=["programs", "ty"],
)
MACHINES = pytest.mark.parametrize("machine", ARCHES)


@MACHINES
@CASES
def test_only_what_is_listed_is_possible(
    machine: str, rules: Rules, plain: set[str], good: Calls, bad: Calls
) -> None:
    numbers, code = table(machine), build(machine, rules)

    def answer(number: int, given: tuple[int, ...] = ()) -> str | int:
        return verdict(code, ARCHES[machine], number, given)

    ones = (0xFFFFFFFF_FFFFFFFF,) * 6
    assert {
        name for name, number in numbers.items() if answer(number, ones) == ALLOW
    } == plain & numbers.keys()
    assert {answer(number) for number in range(601) if number not in numbers.values()} == {errno.EACCES}
    assert {answer(numbers[name]) for name in KILLING if name in numbers} == {KILL}
    assert [one for one in good if answer(numbers[one[0]], one[1]) != ALLOW] == []
    assert [one for one in bad if answer(numbers[one[0]], one[1]) != errno.EACCES] == []
    # The C library then tries the older call.
    assert answer(numbers["clone3"]) == errno.ENOSYS


@MACHINES
def test_another_architecture_kills(machine: str) -> None:
    code = build(machine)
    for arch in (0x40000003, 0x40000028, 0, *(set(ARCHES.values()) - {ARCHES[machine]})):
        assert verdict(code, arch, 39) == KILL


def test_the_other_numbers_of_the_same_architecture_kill() -> None:
    code = build("x86_64")
    for number in (0x40000000, 0x40000001, 0x40000000 | 39, 0x7FFFFFFF, -1):
        assert verdict(code, ARCHES["x86_64"], number) == KILL


def test_a_machine_that_we_do_not_know_gets_no_filter() -> None:
    with pytest.raises(OSError, match="riscv64"):
        build("riscv64")


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"needs the kernel's header {header}")
    pattern = r"^#define __NR(?:3264)?_(\w+)\s+(\d+)"
    real = {name: int(number) for name, number in re.findall(pattern, path.read_text(), re.MULTILINE)}
    ours = table(machine)
    wrong = {name: (number, real[name]) for name, number in ours.items() if real.get(name, number) != number}
    assert wrong == {}
