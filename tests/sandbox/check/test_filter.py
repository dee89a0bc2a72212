"""The filter of ty, interpreted for every number, on both machines that we have tables for."""

from __future__ import annotations

import errno

import pytest

from halflap.sandbox.check.inside.profile import TY
from halflap.sandbox.jail.inside import seccomp
from halflap.sandbox.jail.inside.syscalls import table
from sandbox.jail.bpf import ALLOW, ARCHES, KILL, verdict

MACHINES = pytest.mark.parametrize("machine", ARCHES)

MORE = {
    "pread64", "set_tid_address", "arch_prctl", "uname", "stat", "lstat", "newfstatat", "statx", "statfs", "access",
    "faccessat", "faccessat2", "getcwd", "readlink", "readlinkat", "getdents64", "fadvise64", "execveat", "execve",
}  # fmt: skip
"""What it has beyond programs, whatever the arguments. Written out once more: to allow another is to change two places."""
THREAD, PROCESS, NEW_USER = 0x3D0F00, 0x1200011, 0x10000000

GOOD: list[tuple[str, tuple[int, ...]]] = [
    ("mmap", (0, 4096, 3, 0x22)),
    ("mmap", (0, 4096, 5, 2)),
    ("clone", (THREAD,)),
    ("prctl", (15,)),
    ("fcntl", (3, 1030, 3)),
    *(("openat", (0, 0, flags)) for flags in (0, 0o2000000, 0o200000, 0o2200000)),
]
BAD: list[tuple[str, tuple[int, ...], int]] = [
    ("mmap", (0, 4096, 7, 0x22), errno.EPERM),
    ("mmap", (0, 4096, 6, 0x22), errno.EPERM),
    ("mprotect", (0, 4096, 5), errno.EPERM),
    ("clone", (PROCESS,), errno.EPERM),
    ("clone", (PROCESS | NEW_USER,), errno.EPERM),
    ("clone", (THREAD | NEW_USER,), errno.EPERM),
    ("clone3", (), errno.ENOSYS),
    *(("prctl", (option,), errno.EPERM) for option in (1, 4, 8)),
    ("fcntl", (3, 8, 1), errno.EPERM),
    ("socketpair", (1, 1, 0), errno.EPERM),
    ("sendto", (3, 0, 1, 0, 0, 0), errno.EPERM),
    ("recvfrom", (3, 0, 1, 0), errno.EPERM),
    *(("openat", (0, 0, flags), errno.EACCES) for flags in (0o1, 0o2, 0o100, 0o1000, 0o2000, 0o2000101)),
    *((name, (), errno.EACCES) for name in ("chdir", "renameat", "unlinkat", "linkat", "mkdirat", "openat2")),
]  # fmt: skip


def of_ty(machine: str, name: str, *arguments: int) -> str | int:
    number = table(machine)[name]
    return verdict(seccomp.build(machine, TY), ARCHES[machine], number, arguments)


@MACHINES
def test_it_has_little_more_than_programs_have(machine: str) -> None:
    numbers, arch = table(machine), ARCHES[machine]
    ones = [0xFFFFFFFF_FFFFFFFF] * 6
    allowed = [
        {number for number in range(601) if verdict(rules, arch, number, ones) == ALLOW}
        for rules in (seccomp.build(machine, TY), seccomp.build(machine))
    ]
    assert allowed[0] - allowed[1] == {numbers[name] for name in MORE & set(numbers)}


@MACHINES
def test_arguments_decide(machine: str) -> None:
    known = table(machine)
    assert [one for one in GOOD if of_ty(machine, one[0], *one[1]) != ALLOW] == []
    assert [one for one in BAD if one[0] in known and of_ty(machine, one[0], *one[1]) != one[2]] == []
    assert {of_ty(machine, name) for name in seccomp.KILLING if name in known} == {KILL}
