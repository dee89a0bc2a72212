"""The filter of system calls, interpreted for every number, on both machines that we have tables for."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any

import pytest

from halflap.sandbox.jail.inside import seccomp
from halflap.sandbox.jail.inside.syscalls import table
from sandbox.jail.bpf import ALLOW, ARCHES, KILL, verdict

MACHINES = pytest.mark.parametrize("machine", ARCHES)

PLAIN = {
    "read", "write", "readv", "writev", "shutdown", "close", "lseek", "fstat", "poll", "ppoll", "select",
    "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "munmap", "mremap",
    "brk", "set_robust_list", "rseq", "nanosleep", "gettimeofday", "time", "times", "getrandom", "getpid",
    "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "getrlimit", "sysinfo",
    "sched_yield", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "alarm",
    "getitimer", "setitimer", "exit", "exit_group",
}  # fmt: skip
"""Allowed whatever the arguments. Written out once more: to allow another is to change two places."""

CHECKED = {
    "socketpair", "sendto", "recvfrom", "getsockopt", "mmap", "mprotect", "madvise", "futex", "clock_gettime",
    "clock_getres", "clock_nanosleep", "sched_getaffinity", "prlimit64", "fcntl", "ioctl",
}  # fmt: skip

DEADLY = {
    "ptrace", "process_vm_readv", "process_vm_writev", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "keyctl", "add_key", "request_key", "unshare", "setns", "mount", "umount2", "pivot_root",
    "open_by_handle_at", "modify_ldt", "personality",
}  # fmt: skip

GOOD: list[tuple[str, tuple[int, ...]]] = [
    ("socketpair", (1, 1, 0)),
    ("socketpair", (1, 1 | 0o2004000, 0)),
    ("sendto", (3, 0, 1, 0, 0, 0)),
    ("sendto", (3, 0, 1, 0x4040, 0, 0)),
    ("recvfrom", (3, 0, 1, 0x142, 0, 0)),
    *(("getsockopt", (3, 1, option)) for option in (3, 4, 38, 39)),
    ("mmap", (0, 4096, 3, 0x22)),
    ("mprotect", (0, 4096, 3)),
    *(("madvise", (0, 4096, advice)) for advice in (0, 1, 2, 3, 4, 8, 14, 15)),
    *(("futex", (0, operation | flags)) for operation in (0, 1, 9, 10) for flags in (0, 0x80, 0x100, 0x180)),
    *(
        (call, (clock,))
        for call in ("clock_gettime", "clock_getres", "clock_nanosleep")
        for clock in range(8)
    ),
    ("sched_getaffinity", (0, 128)),
    ("prlimit64", (0, 7, 0, 0x1000)),
    *(("fcntl", (3, command)) for command in (1, 2, 3)),
    ("fcntl", (3, 4, 0o4000)),
    ("ioctl", (3, 0x5421)),
]

BAD: list[tuple[str, tuple[int, ...], int]] = [
    *(("socketpair", (1, kind, 0), errno.EPERM) for kind in (2, 3, 5, 2 | 0o2000000, 0x101)),
    *(("socketpair", (family, 1, 0), errno.EPERM) for family in (0, 2, 10, 16, 40, 0x101)),
    ("sendto", (3, 0, 1, 0, 0x1000, 10), errno.EPERM),
    ("sendto", (3, 0, 1, 0, 1 << 32, 10), errno.EPERM),
    *(("sendto", (3, 0, 1, flag, 0, 0), errno.EPERM) for flag in (1, 0x8000, 0x4000000, 0x20000000)),
    *(("recvfrom", (3, 0, 1, flag, 0, 0), errno.EPERM) for flag in (1, 0x41, 0x2000, 0x40000000)),
    *(("getsockopt", (3, 1, option), errno.EPERM) for option in (17, 26, 31, 59, 77)),
    ("getsockopt", (3, 0, 4), errno.EPERM),
    *(("mmap", (0, 4096, protection, 0x22), errno.EPERM) for protection in (4, 5, 7)),
    ("mmap", (0, 1 << 21, 3, 0x40022), errno.EPERM),
    *(("mprotect", (0, 4096, protection), errno.EPERM) for protection in (4, 5, 7, 0x1000004)),
    *(("madvise", (0, 4096, advice), errno.EPERM) for advice in (9, 12, 20, 21, 100, 101)),
    *(("futex", (0, operation), errno.EPERM) for operation in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 0x86)),
    *((call, (-3 & 0xFFFFFFFF,), errno.EINVAL) for call in ("clock_gettime", "clock_getres", "clock_nanosleep")),
    ("clock_gettime", ((~1 << 3) | 2,), errno.EINVAL),
    ("sched_getaffinity", (1, 128), errno.EPERM),
    ("prlimit64", (1, 7, 0, 0x1000), errno.EPERM),
    ("prlimit64", (0, 7, 0x1000, 0), errno.EPERM),
    ("prlimit64", (0, 7, 1 << 32, 0), errno.EPERM),
    *(("fcntl", (3, command), errno.EPERM) for command in (0, 5, 6, 7, 8, 9, 10, 15, 1024, 1030, 1031, 1033)),
    ("fcntl", (3, 4, 0o20000), errno.EPERM),
    *(("ioctl", (3, command), errno.ENOTTY) for command in (0x5452, 0x8901, 0x5412, 0x541B)),
]  # fmt: skip


class Filtered:
    """What becomes of calls on one machine."""

    def __init__(self, machine: str) -> None:
        self._arch = ARCHES[machine]
        self._code = seccomp.build(machine)
        self.numbers = table(machine)

    def number(self, number: int, *arguments: int) -> str | int:
        return verdict(self._code, self._arch, number, arguments)

    def call(self, name: str, *arguments: int) -> str | int:
        return self.number(self.numbers[name], *arguments)


@pytest.fixture(params=ARCHES)
def filtered(request: Any) -> Filtered:
    return Filtered(request.param)


def test_every_number_that_is_not_listed_is_refused(filtered: Filtered) -> None:
    listed = set(filtered.numbers.values())
    assert {filtered.number(number) for number in range(601) if number not in listed} == {errno.EPERM}


def test_nothing_but_what_is_meant_to_be_is_allowed_outright(filtered: Filtered) -> None:
    ones = [0xFFFFFFFF_FFFFFFFF] * 6
    allowed = {name for name in filtered.numbers if filtered.call(name, *ones) == ALLOW}
    assert allowed == PLAIN & set(filtered.numbers)


def test_nothing_but_what_is_meant_to_be_is_looked_at_more_closely(filtered: Filtered) -> None:
    tried = [(name, [value] * 6) for name in filtered.numbers for value in (0, 1, 2, 3, 4, 8, 9, 10, 0x5421)]
    allowed = {name for name, given in [*tried, *GOOD] if filtered.call(name, *given) == ALLOW}
    assert allowed == CHECKED | PLAIN & set(filtered.numbers)


def test_calls_that_no_program_makes_by_accident_kill(filtered: Filtered) -> None:
    verdicts = {name: filtered.call(name) for name in DEADLY if name in filtered.numbers}
    assert {name: found for name, found in verdicts.items() if found != KILL} == {}


def test_good_arguments_are_let_through(filtered: Filtered) -> None:
    assert [(name, *given) for name, given in GOOD if filtered.call(name, *given) != ALLOW] == []


def test_bad_arguments_are_refused(filtered: Filtered) -> None:
    assert [(name, *given) for name, given, error in BAD if filtered.call(name, *given) != error] == []


def test_paths_are_refused_as_if_they_were_somebody_elses(filtered: Filtered) -> None:
    assert filtered.call("openat") == filtered.call("newfstatat") == filtered.call("statx") == errno.EACCES


def test_the_c_library_is_told_that_there_is_no_clone3(filtered: Filtered) -> None:
    assert filtered.call("clone3") == errno.ENOSYS


@MACHINES
def test_another_architecture_kills(machine: str) -> None:
    code = seccomp.build(machine)
    for arch in (0x40000003, 0x40000028, 0, *(set(ARCHES.values()) - {ARCHES[machine]})):
        assert verdict(code, arch, 39) == KILL


def test_the_other_numbers_of_the_same_architecture_kill() -> None:
    code = seccomp.build("x86_64")
    for number in (0x40000000, 0x40000001, 0x40000000 | 39, 0x7FFFFFFF, -1):
        assert verdict(code, ARCHES["x86_64"], number) == KILL


def test_a_machine_that_we_do_not_know_gets_no_filter() -> None:
    with pytest.raises(OSError, match="riscv64"):
        seccomp.build("riscv64")


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
