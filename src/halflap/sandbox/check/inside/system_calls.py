"""Which system calls ty can make: those of programs, and what it takes to read files, use threads, and be started."""

from __future__ import annotations

import errno

from halflap.sandbox.jail.inside.seccomp import EVERY, NEXT, PROGRAMS, Check, Rules

__all__ = ["TY"]

_READING = (
    "pread64", "set_tid_address", "arch_prctl", "uname",
    # Looking at paths. What is at them is Landlock's and the namespace's to say.
    "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2", "getcwd", "readlink",
    "readlinkat", "getdents64", "fadvise64",
    # By the first of these ty is started; what else could be is Landlock's to say.
    "execveat", "execve",
)  # fmt: skip
_OPENING = ("open", "openat")
_NOT_FOR_TY = ("socketpair", "sendto", "recvfrom", "getsockopt")
_PROT_WRITE, _PROT_EXEC, _MAP_HUGETLB = 2, 4, 0x40000
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND."""
_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000 | 0x80
_SET_NAME, _SET_VMA = 15, 0x53564D41
_DUPLICATE = 1030

TY = Rules(
    allowed=(*PROGRAMS.allowed, *_READING),
    paths=tuple(name for name in PROGRAMS.paths if name not in {*_OPENING, *_READING}),
    checked=(
        ("open", (Check(1, _WRITING, 0),), errno.EACCES),
        ("openat", (Check(2, _WRITING, 0),), errno.EACCES),
        # The loader maps libraries as code; nothing is ever both written and run.
        ("mmap", (Check(2, _PROT_EXEC, 0), Check(3, _MAP_HUGETLB, 0)), NEXT),
        ("mmap", (Check(2, _PROT_WRITE, 0), Check(3, _MAP_HUGETLB, 0)), errno.EPERM),
        # Threads, and no processes.
        ("clone", (Check(0, _THREAD | _NEW_NAMESPACES, _THREAD),), errno.EPERM),
        ("prctl", (Check(0, EVERY, _SET_NAME),), NEXT),
        ("prctl", (Check(0, EVERY, _SET_VMA),), errno.EPERM),
        ("fcntl", (Check(1, EVERY, _DUPLICATE),), NEXT),
        *(rule for rule in PROGRAMS.checked if rule[0] not in _NOT_FOR_TY),
    ),
)
"""It takes the first entry that fits, so what programs may do with `mmap` adds nothing."""
