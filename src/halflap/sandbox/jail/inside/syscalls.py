"""The numbers of the system calls that the filters name and the locks make, by machine."""

from __future__ import annotations

import errno

__all__ = ["table"]

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
