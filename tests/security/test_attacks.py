"""What a program may not do: read, reach or leave anything, start or signal processes, gain rights, make code.

The probes of a group run one after the other in one program. Without locks, each must get what it wants, which
shows that the probe works; behind locks, each must be refused, and the program lives on.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from security.attack import Attacker, Loot

FILES = {
    "the users": "open('/etc/passwd').read(100)",
    "a file of the host": "open(HOST['folder'] + '/secret').read()",
    "past Python": "read_past_python()",
    "a folder": "os.listdir('/')",
    "the size of a file": "os.stat('/etc/passwd').st_size",
    "a link": "os.readlink('/proc/self/exe')",
    "the working folder": "os.getcwd()",
    "by handle": "syscall('name_to_handle_at', -100, b'/etc', buffer(200), ctypes.byref(INT()), 0)",
}
PROCESSES = {
    "own environment": "open('/proc/self/environ', 'rb').read() is not None",
    "own memory": "os.open('/proc/self/mem', os.O_RDWR) >= 0",
    "own map": "open('/proc/self/maps').read(100)",
    "parent's status": "open(f'/proc/{os.getppid()}/status').read(100)",
    "parent's command": "open(f'/proc/{os.getppid()}/cmdline').read(100)",
    "parent's memory": "os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY) >= 0",
    "gateway's command": "open(f'/proc/{HOST[\"gateway\"]}/cmdline').read(100)",
    "list of processes": "os.listdir('/proc')",
}
KERNEL = {
    "CPU time of the parent": "clock_of(os.getppid())",
    "CPU time of the first process": "clock_of(1)",
    "waiting on the clock of another": "syscall('clock_nanosleep', (~os.getppid() << 3) | 2, 1, (ctypes.c_long * 2)(0, 1), None) == 0",
    "cores of the parent": "syscall('sched_getaffinity', os.getppid(), 128, buffer(128))",
    "limits of the parent": "syscall('prlimit64', os.getppid(), 7, None, (ctypes.c_ulong * 2)()) == 0",
    "who is behind the channel": "option(17, 12)",
    "groups behind the channel": "option(59, 256)",
    "a handle of the gateway": "option(77, 4)",
    "name of the host": "socket.gethostname()",
    "name of the kernel": "os.uname().release",
    "pages in the cache": "syscall('mincore', memory(), 4096, buffer(1)) == 0",
}
NETWORK = {
    "loopback": "bool(socket.create_connection(('127.0.0.1', HOST['port']), 2))",
    "internet socket": "syscall('socket', 2, 1, 0) >= 0",
    "datagram socket": "syscall('socket', 2, 2, 0) >= 0",
    "netlink": "syscall('socket', 16, 3, 0) >= 0",
    "vsock": "syscall('socket', 40, 1, 0) >= 0",
    "unix socket": "syscall('socket', 1, 1, 0) >= 0",
    "name lookup": "socket.getaddrinfo('localhost', 80) != []",
    "connecting a pair": "looked('connect', pair()[0], b'\\x01\\x00/nowhere', 10)",
}
TO_A_HOST_SOCKET = {
    "datagram pair to a host socket": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'got out', HOST['inbox'])",
}
SOCKETS = TO_A_HOST_SOCKET | {
    "seqpacket pair": "bool(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))",
    "address on a stream": "looked('sendto', pair()[0], b'x', 1, 0, b'\\x01\\x00/nowhere', 10)",
    "passing a descriptor": "(lambda both: socket.send_fds(both[0], [b'x'], [3]))(socket.socketpair())",
    "out-of-band on a pair": "send_flagged(1)",
    "out-of-band on the channel": "channel.send(b'O', socket.MSG_OOB)",
    "reading out-of-band": "looked('recvfrom', pair()[0], buffer(1), 1, 0x41, None, None)",
    "zero-copy": "send_flagged(0x4000000)",
    "fast open": "send_flagged(0x20000000)",
    "pipe": "bool(os.pipe())",
    "option": "channel.setsockopt(1, socket.SO_SNDBUF, 1 << 20) is None",
}
WRITING = {
    "temporary folder": "open(HOST['folder'] + '/left', 'w').write('left')",
    "shared memory folder": "os.open(HOST['shared'], os.O_CREAT | os.O_RDWR) >= 0",
    "memfd": "os.memfd_create('left') >= 0",
    "secret memfd": "syscall('memfd_secret', 0) >= 0",
    "shared memory segment": "syscall('shmget', 0, 4096, 0o1600) >= 0",
    "folder": "os.mkdir(HOST['folder'] + '/new') is None",
    "name": "os.rename(HOST['folder'] + '/new', HOST['folder'] + '/old') is None",
    "link": "os.symlink('/etc/passwd', HOST['folder'] + '/link') is None",
    "rights": "os.chmod(HOST['folder'] + '/link', 0o777, follow_symlinks=True) is None",
    "removal": "os.rmdir(HOST['folder'] + '/old') is None",
    "fifo": "os.mkfifo(HOST['folder'] + '/fifo') is None",
    "inotify": "syscall('inotify_init1', 0) >= 0",
    "eventfd": "os.eventfd(0) >= 0",
    "timerfd": "syscall('timerfd_create', 1, 0) >= 0",
}
STARTING = {
    "subprocess": "subprocess.run(['/bin/true']).returncode == 0",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {}) > 0",
    "shell": "run_a_shell()",
    "fork bomb": "bomb(os.fork)",
    "clone bomb": "bomb(lambda: syscall('clone', 17, 0, 0, 0, 0))",
    "fork past Python": "bomb(lambda: syscall('fork'))",
    "vfork": "syscall('vfork')",
    "clone3": "syscall('clone3', struct.pack('=8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64) or os._exit(0)",
    "thread": "start_threads()",
}
SIGNALS = {
    "parent": "os.kill(os.getppid(), 0) is None",
    "group": "os.killpg(os.getpgid(0), 0) is None",
    "everybody": "os.kill(-1, 0) is None",
    "itself": "os.kill(os.getpid(), 0) is None",
    "thread": "syscall('tkill', os.getppid(), 0) == 0",
    "thread of a group": "syscall('tgkill', os.getppid(), os.getppid(), 0) == 0",
    "by handle": "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0) is None",
    "handle": "os.pidfd_open(os.getppid()) >= 0",
    "owner of a socket": "syscall('fcntl', pair()[0], 8, os.getppid()) == 0",
    "signal of a socket": "syscall('fcntl', pair()[0], 10, 9) == 0",
    "extended owner": "syscall('fcntl', pair()[0], 15, struct.pack('=ii', 1, os.getppid())) == 0",
    "asynchronous socket": "syscall('fcntl', pair()[0], 4, 0o20000) == 0",
    "asynchronous by ioctl": "syscall('ioctl', pair()[0], 0x5452, ctypes.byref(INT(1))) == 0",
    "owner by ioctl": "syscall('ioctl', pair()[0], 0x8901, ctypes.byref(INT(os.getppid()))) == 0",
    "lease": "syscall('fcntl', 3, 1024, 0) >= 0",
    "timer with a signal": "syscall('timer_create', 1, None, ctypes.byref(INT())) == 0",
    "signal descriptor": "syscall('signalfd4', -1, buffer(8), 8, 0) >= 0",
}
RIGHTS = {
    "open files": "resource.setrlimit(resource.RLIMIT_NOFILE, (33, 33)) is None",
    "memory": "syscall('prlimit64', 0, 9, struct.pack('=qq', -1, -1), None) == 0",
    "capabilities": "syscall('capset', struct.pack('=Ii', 0x20080522, 0), bytes(24)) == 0",
    "user": "os.setuid(os.getuid()) is None",
    "dumpable": "syscall('prctl', 4, 1, 0, 0, 0) == 0",
    "outliving the parent": "syscall('prctl', 1, 0, 0, 0, 0) == 0",
    "another filter": "syscall('seccomp', 2, 0, buffer(4)) == 0",
    "cores": "syscall('sched_setaffinity', 0, 8, struct.pack('=Q', 1)) == 0",
    "another descriptor": "os.dup(3) >= 0",
    "descriptor by fcntl": "syscall('fcntl', 3, 0, 10) >= 0",
    "descriptor of the parent": "syscall('pidfd_getfd', os.pidfd_open(os.getppid()), 0, 0) >= 0",
}
CODE = {
    "executable memory": "memory(7) > 0",
    "memory made executable": "syscall('mprotect', memory(), 4096, 5) == 0",
    "code made writable": "syscall('mprotect', ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095, 4096, 7) == 0",
    "with a key": "syscall('pkey_mprotect', memory(), 4096, 5, -1) == 0",
    "ctypes callback": "bool(ctypes.cast(ctypes.CFUNCTYPE(INT)(lambda: 0), ctypes.c_void_p).value)",
    "huge pages": "memory(3, 34 | 0x40000, 1 << 21) > 0",
    "merged pages": "syscall('madvise', memory(), 4096, 12) == 0",
    "pages sent out": "syscall('madvise', memory(), 4096, 21) == 0",
    "barrier on every core": "syscall('membarrier', 1, 0, 0) == 0",
    "lock with inheritance": "syscall('futex', ctypes.byref(INT(0)), 6, 0, None, None, 0) == 0",
    "requeue": "syscall('futex', ctypes.byref(INT(0)), 3, 1, 1, ctypes.byref(INT(0)), 0) == 0",
}
ATTACKS = {
    "read files": FILES,
    "read about processes": PROCESSES,
    "ask the kernel about others": KERNEL,
    "reach the network": NETWORK,
    "use sockets otherwise": SOCKETS,
    "write": WRITING,
    "start processes": STARTING,
    "send signals": SIGNALS,
    "gain rights": RIGHTS,
    "make code": CODE,
}
NEEDING_SUPPORT = {
    "by handle", "vsock", "zero-copy", "fast open", "secret memfd", "rights", "lease", "descriptor of the parent", "huge pages",
    "merged pages",
}  # fmt: skip
"""What these get without locks depends on how the kernel was configured."""
BREAKING = {"out-of-band on the channel", "vfork", "another filter"}
"""These cannot be tried without locks: they would break the process that tries."""
every_group = pytest.mark.parametrize("group", ATTACKS)


@every_group
def test_every_probe_of_a_locked_program_is_refused(group: str, locked: Attacker) -> None:
    prizes = locked.attack(ATTACKS[group])
    assert {name: prize for name, prize in prizes.items() if not prize.was_refused} == {}


@every_group
def test_without_locks_every_probe_gets_what_it_wants(group: str, unlocked: Attacker) -> None:
    prizes = unlocked.attack({name: code for name, code in ATTACKS[group].items() if name not in BREAKING})
    assert {
        name: prize for name, prize in prizes.items() if not prize.got and name not in NEEDING_SUPPORT
    } == {}


def test_nothing_arrives_at_a_socket_of_the_host(locked: Attacker, loot: Loot) -> None:
    def arrived() -> bytes:
        with contextlib.suppress(BlockingIOError):
            return loot.inbox.recv(100)
        return b""

    while arrived():
        pass
    locked.attack(TO_A_HOST_SOCKET)
    assert arrived() == b""


def test_a_program_becomes_another_only_without_locks(locked: Attacker, unlocked: Attacker) -> None:
    code = "os.execv('/bin/sh', ['sh', '-c', 'exit 42'])"
    got = locked.run(code)
    assert (got.outcome, got.exception) == ("failed", "PermissionError")
    assert "status 42" in unlocked.run(code).error


def test_a_locked_program_finds_no_host_name_no_environment_and_one_descriptor(locked: Attacker) -> None:
    code = """
found = []
for number in range(4096):
    try:
        syscall("fcntl", number, 1, 0)
        found.append(number)
    except OSError:
        pass
print(platform.uname()[:4], len(os.environ), found)
"""
    assert locked.run(code).output == b"('Linux', 'halflap', '', '') 0 [3]\n"
