"""Which system calls an examination can make, and which ty can: allow-lists, like that of programs but with files."""

from __future__ import annotations

import errno

from halflap.sandbox.jail.inside.seccomp import EVERY, NEXT, PROGRAMS, Check, Rules

__all__ = ["EXAMINATION", "TY"]

_COMMON = (
    "read", "write", "readv", "writev", "pread64", "close", "lseek", "fstat", "poll", "ppoll",
    "munmap", "mremap", "brk", "set_robust_list", "rseq", "set_tid_address", "arch_prctl",
    "nanosleep", "gettimeofday", "time", "times",
    "getrandom", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getrusage",
    "getrlimit", "sysinfo", "sched_yield", "uname",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "exit", "exit_group",
    # Looking at paths. What is at them is Landlock's and the namespace's to say.
    "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2", "getcwd", "readlink",
    "readlinkat", "getdents64", "fadvise64",
    # By the first of these ty is started; what else could be is Landlock's to say.
    "execveat", "execve",
)  # fmt: skip

_CHANGES = (
    "creat", "openat2", "rename", "renameat", "renameat2", "mkdirat", "rmdir", "link", "linkat", "unlink",
    "unlinkat", "symlink", "symlinkat", "chmod", "fchmodat", "chown", "lchown", "fchownat", "mknod", "mknodat",
    "truncate", "utimensat",
)  # fmt: skip

_PROT_WRITE, _PROT_EXEC, _MAP_HUGETLB = 2, 4, 0x40000
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND."""
_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000 | 0x80
_SET_PDEATHSIG, _SET_NAME, _SET_SECCOMP, _SET_VMA = 1, 15, 22, 0x53564D41
_DUPLICATE = 1030

_FROM_PROGRAMS = {
    "madvise", "futex", "clock_gettime", "clock_getres", "clock_nanosleep", "sched_getaffinity", "ioctl", "mprotect",
}  # fmt: skip

_CHECKED = (
    *(rule for rule in PROGRAMS.checked if rule[0] in _FROM_PROGRAMS),
    # The loader maps libraries as code; nothing is ever both written and run.
    ("mmap", (Check(2, _PROT_EXEC, 0), Check(3, _MAP_HUGETLB, 0)), NEXT),
    ("mmap", (Check(2, _PROT_WRITE, 0), Check(3, _MAP_HUGETLB, 0)), errno.EPERM),
    ("fcntl", (Check(1, EVERY, _DUPLICATE),), NEXT),
    *(rule for rule in PROGRAMS.checked if rule[0] == "fcntl"),
)

TY = Rules(
    allowed=_COMMON,
    paths=(*_CHANGES, "mkdir", "chdir"),
    checked=(
        *_CHECKED,
        ("open", (Check(1, _WRITING, 0),), errno.EACCES),
        ("openat", (Check(2, _WRITING, 0),), errno.EACCES),
        # Threads, and no processes.
        ("clone", (Check(0, _THREAD | _NEW_NAMESPACES, _THREAD),), errno.EPERM),
        ("prctl", (Check(0, EVERY, _SET_NAME),), NEXT),
        ("prctl", (Check(0, EVERY, _SET_VMA),), errno.EPERM),
        *(rule for rule in PROGRAMS.checked if rule[0] == "prlimit64"),
    ),
)
"""ty reads its folder and its libraries, computes, and prints."""

EXAMINATION = Rules(
    allowed=(
        *_COMMON, "open", "openat", "pipe", "pipe2", "dup2", "dup3", "wait4", "close_range", "setitimer",
        # Into one of the folders that it writes to, each for one run of ty.
        "chdir",
        # By these ty is confined further. None gives anything.
        "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    ),
    paths=(*_CHANGES, "mkdir"),
    checked=(
        *_CHECKED,
        ("clone", (Check(0, _NEW_NAMESPACES, 0),), errno.EPERM),
        *(("prctl", (Check(0, EVERY, option),), NEXT) for option in (_SET_PDEATHSIG, _SET_NAME, _SET_SECCOMP, _SET_VMA)),
        ("prlimit64", (Check(0, EVERY, 0),), errno.EPERM),
        # Its channel, without an address.
        *(rule for rule in PROGRAMS.checked if rule[0] in {"sendto", "recvfrom"}),
    ),
)  # fmt: skip
"""An examination reads its question, writes two files, starts ty, and answers."""
