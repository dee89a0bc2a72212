"""What a program may not do: read, reach or leave anything, start or signal processes, gain rights, make code.

The probes of a group run one after the other in one program. Without locks, each must get what it wants, which
shows that the probe works; behind locks, each must be refused, and the program lives on.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from security.attack import Attack, anything, not_without_locks

if TYPE_CHECKING:
    from security.attack import Attacker, Loot

FILES = [
    Attack("the-users", "def probe(): return open('/etc/passwd').read(100)"),
    Attack("a-file-of-the-host", "def probe(): return open(HOST['folder'] + '/secret').read()"),
    Attack(
        "past-python",
        "def probe():\n"
        "    at = syscall('openat', -100, b'/etc/passwd', 0)\n"
        "    buffer = ctypes.create_string_buffer(100)\n"
        "    return syscall('read', at, buffer, 100)",
    ),
    Attack("a-folder", "def probe(): return os.listdir('/')"),
    Attack("the-size-of-a-file", "def probe(): return os.stat('/etc/passwd').st_size"),
    Attack("a-link", "def probe(): return os.readlink('/proc/self/exe')"),
    Attack("the-working-folder", "def probe(): return os.getcwd()"),
    Attack("by-handle", "def probe(): return syscall('name_to_handle_at', -100, b'/etc', ctypes.create_string_buffer(200), ctypes.byref(INT()), 0)",
           anything),
]  # fmt: skip

PROCESSES = [
    Attack("own-environment", "def probe(): return open('/proc/self/environ', 'rb').read() is not None"),
    Attack("own-memory", "def probe(): return os.open('/proc/self/mem', os.O_RDWR) >= 0"),
    Attack("own-map", "def probe(): return open('/proc/self/maps').read(100)"),
    Attack("parent-status", "def probe(): return open(f'/proc/{os.getppid()}/status').read(100)"),
    Attack("parent-command", "def probe(): return open(f'/proc/{os.getppid()}/cmdline').read(100)"),
    Attack("parent-memory", "def probe(): return os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY) >= 0"),
    Attack("gateway-command", "def probe(): return open(f'/proc/{HOST[\"gateway\"]}/cmdline').read(100)"),
    Attack("list-of-processes", "def probe(): return os.listdir('/proc')"),
]

_CLOCK = """
def probe():
    now = (ctypes.c_long * 2)()
    syscall("clock_gettime", (~{pid} << 3) | 2, now)
    return now[0] + now[1] / 1e9
"""
_OPTION = """
def probe():
    value, size = (INT * 64)(), INT({size})
    syscall("getsockopt", 3, 1, {option}, value, ctypes.byref(size))
    return size.value
"""
KERNEL = [
    Attack("cpu-time-of-the-parent", _CLOCK.format(pid="os.getppid()")),
    Attack("cpu-time-of-the-first-process", _CLOCK.format(pid="1")),
    Attack(
        "waiting-on-the-clock-of-another",
        "def probe(): return syscall('clock_nanosleep', (~os.getppid() << 3) | 2, 1, (ctypes.c_long * 2)(0, 1), None) == 0",
    ),
    Attack(
        "cores-of-the-parent",
        "def probe(): return syscall('sched_getaffinity', os.getppid(), 128, ctypes.create_string_buffer(128))",
    ),
    Attack(
        "limits-of-the-parent",
        "def probe(): return syscall('prlimit64', os.getppid(), 7, None, (ctypes.c_ulong * 2)()) == 0",
    ),
    Attack("who-is-behind-the-channel", _OPTION.format(option=17, size=12)),
    Attack("groups-behind-the-channel", _OPTION.format(option=59, size=256), lambda got: got is not None),
    Attack("a-handle-of-the-gateway", _OPTION.format(option=77, size=4)),
    Attack("name-of-the-host", "def probe(): return socket.gethostname()"),
    Attack("name-of-the-kernel", "def probe(): return os.uname().release"),
    Attack("pages-in-the-cache", "def probe():\n    at = memory()\n    return syscall('mincore', at, 4096, ctypes.create_string_buffer(1)) == 0"),
]  # fmt: skip

NETWORK = [
    Attack("loopback", "def probe(): return bool(socket.create_connection(('127.0.0.1', HOST['port']), 2))"),
    Attack("internet-socket", "def probe(): return syscall('socket', 2, 1, 0) >= 0"),
    Attack("datagram-socket", "def probe(): return syscall('socket', 2, 2, 0) >= 0"),
    Attack("netlink", "def probe(): return syscall('socket', 16, 3, 0) >= 0"),
    Attack("vsock", "def probe(): return syscall('socket', 40, 1, 0) >= 0", anything),
    Attack("unix-socket", "def probe(): return syscall('socket', 1, 1, 0) >= 0"),
    Attack("name-lookup", "def probe(): return socket.getaddrinfo('localhost', 80) != []"),
    Attack(
        "connecting-a-pair",
        "def probe():\n"
        "    try:\n"
        "        syscall('connect', pair()[0], b'\\x01\\x00/nowhere', 10)\n"
        "    except OSError as error:\n"
        "        # Connected already, or nothing there: the kernel has at least looked.\n"
        "        if error.errno in (errno.EPERM, errno.EACCES): raise\n"
        "    return True",
    ),
]

_FLAGGED = """
def probe():
    both = pair()
    return syscall("sendto", both[0], b"x", 1, {flags}, None, 0)
"""
SOCKETS = [
    Attack(
        "datagram-pair-to-a-host-socket",
        "def probe():\n"
        "    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    return a.sendto(b'got out', HOST['inbox'])",
    ),
    Attack(
        "seqpacket-pair",
        "def probe(): return bool(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))",
    ),
    Attack(
        "address-on-a-stream",
        "def probe():\n"
        "    try:\n"
        "        return syscall('sendto', pair()[0], b'x', 1, 0, b'\\x01\\x00/nowhere', 10)\n"
        "    except OSError as error:\n"
        "        if error.errno == errno.EPERM: raise\n"
        "        return 'the kernel has looked'",
    ),
    Attack("passing-a-descriptor", "def probe():\n    a, b = socket.socketpair()\n    return socket.send_fds(a, [b'x'], [3])"),
    Attack("out-of-band-on-a-pair", _FLAGGED.format(flags="1")),
    Attack("out-of-band-on-the-channel", "def probe(): return channel.send(b'O', socket.MSG_OOB)", not_without_locks),
    Attack(
        "reading-out-of-band",
        "def probe():\n"
        "    try:\n"
        "        return syscall('recvfrom', pair()[0], ctypes.create_string_buffer(1), 1, 0x41, None, None)\n"
        "    except OSError as error:\n"
        "        if error.errno == errno.EPERM: raise\n"
        "        return 'the kernel has looked'",
    ),
    Attack("zero-copy", _FLAGGED.format(flags="0x4000000"), anything),
    Attack("fast-open", _FLAGGED.format(flags="0x20000000"), anything),
    Attack("pipe", "def probe(): return bool(os.pipe())"),
    Attack("option", "def probe(): return channel.setsockopt(1, socket.SO_SNDBUF, 1 << 20) is None"),
]  # fmt: skip

WRITING = [
    Attack("temporary-folder", "def probe(): return open(HOST['folder'] + '/left', 'w').write('left')"),
    Attack("shared-memory-folder", "def probe(): return os.open(HOST['shared'], os.O_CREAT | os.O_RDWR) >= 0"),
    Attack("memfd", "def probe(): return os.memfd_create('left')  >= 0"),
    Attack("secret-memfd", "def probe(): return syscall('memfd_secret', 0) >= 0", anything),
    Attack("shared-memory-segment", "def probe(): return syscall('shmget', 0, 4096, 0o1600) >= 0"),
    Attack("folder", "def probe(): return os.mkdir(HOST['folder'] + '/new') is None"),
    Attack("name", "def probe(): return os.rename(HOST['folder'] + '/new', HOST['folder'] + '/old') is None"),
    Attack("link", "def probe(): return os.symlink('/etc/passwd', HOST['folder'] + '/link') is None"),
    Attack("rights", "def probe(): return os.chmod(HOST['folder'] + '/link', 0o777, follow_symlinks=True) is None", anything),
    Attack("removal", "def probe(): return os.rmdir(HOST['folder'] + '/old') is None"),
    Attack("fifo", "def probe(): return os.mkfifo(HOST['folder'] + '/fifo') is None"),
    Attack("inotify", "def probe(): return syscall('inotify_init1', 0) >= 0"),
    Attack("eventfd", "def probe(): return os.eventfd(0) >= 0"),
    Attack("timerfd", "def probe(): return syscall('timerfd_create', 1, 0) >= 0"),
]  # fmt: skip

_BOMB = """
def probe():
    started = []
    for _ in range(20):
        pid = {fork}
        if pid == 0:
            os._exit(0)
        started.append(pid)
    for pid in started:
        os.waitpid(pid, 0)
    return len(started)
"""
STARTING = [
    Attack("subprocess", "def probe():\n    import subprocess\n    return subprocess.run(['/bin/true']).returncode == 0"),
    Attack("spawn", "def probe(): return os.posix_spawn('/bin/true', ['true'], {}) > 0"),
    Attack("shell", "def probe():\n    if os.system('exit 3') >> 8 != 3: raise PermissionError\n    return True"),
    Attack("fork-bomb", _BOMB.format(fork="os.fork()"), lambda got: got == 20),
    Attack("clone-bomb", _BOMB.format(fork="syscall('clone', 17, 0, 0, 0, 0)"), lambda got: got == 20),
    Attack("fork-past-python", _BOMB.format(fork="syscall('fork')"), lambda got: got == 20, on="x86_64"),
    Attack("vfork", "def probe(): return syscall('vfork') and None", not_without_locks, on="x86_64"),
    Attack("clone3", "def probe():\n    pid = syscall('clone3', struct.pack('=8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)\n    return pid if pid else os._exit(0)"),
    Attack("thread", "def probe():\n    import threading\n    threads = [threading.Thread(target=int) for _ in range(20)]\n    [thread.start() for thread in threads]\n    return len(threads)"),
]  # fmt: skip

SIGNALS = [
    Attack("parent", "def probe(): return os.kill(os.getppid(), 0) is None"),
    Attack("group", "def probe(): return os.killpg(os.getpgid(0), 0) is None"),
    Attack("everybody", "def probe(): return os.kill(-1, 0) is None"),
    Attack("itself", "def probe(): return os.kill(os.getpid(), 0) is None"),
    Attack("thread", "def probe(): return syscall('tkill', os.getppid(), 0) == 0"),
    Attack("thread-of-group", "def probe(): return syscall('tgkill', os.getppid(), os.getppid(), 0) == 0"),
    Attack("by-handle", "def probe(): return signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0) is None"),
    Attack("handle", "def probe(): return os.pidfd_open(os.getppid()) >= 0"),
    Attack("owner-of-a-socket", "def probe(): return syscall('fcntl', pair()[0], 8, os.getppid()) == 0"),
    Attack("signal-of-a-socket", "def probe(): return syscall('fcntl', pair()[0], 10, 9) == 0"),
    Attack("extended-owner", "def probe(): return syscall('fcntl', pair()[0], 15, struct.pack('=ii', 1, os.getppid())) == 0"),
    Attack("asynchronous-socket", "def probe(): return syscall('fcntl', pair()[0], 4, 0o20000) == 0"),
    Attack("asynchronous-by-ioctl", "def probe(): return syscall('ioctl', pair()[0], 0x5452, ctypes.byref(INT(1))) == 0"),
    Attack("owner-by-ioctl", "def probe(): return syscall('ioctl', pair()[0], 0x8901, ctypes.byref(INT(os.getppid()))) == 0"),
    Attack("lease", "def probe(): return syscall('fcntl', 3, 1024, 0) >= 0", anything),
    Attack("timer-with-a-signal", "def probe(): return syscall('timer_create', 1, None, ctypes.byref(INT())) == 0"),
    Attack("signal-descriptor", "def probe(): return syscall('signalfd4', -1, ctypes.create_string_buffer(8), 8, 0) >= 0"),
]  # fmt: skip

RIGHTS = [
    Attack("open-files", "def probe():\n    import resource\n    return resource.setrlimit(resource.RLIMIT_NOFILE, (33, 33)) is None"),
    Attack("memory", "def probe(): return syscall('prlimit64', 0, 9, struct.pack('=qq', -1, -1), None) == 0"),
    Attack("capabilities", "def probe(): return syscall('capset', struct.pack('=Ii', 0x20080522, 0), bytes(24)) == 0"),
    Attack("user", "def probe(): return os.setuid(os.getuid()) is None"),
    Attack("dumpable", "def probe(): return syscall('prctl', 4, 1, 0, 0, 0) == 0"),
    Attack("outliving-the-parent", "def probe(): return syscall('prctl', 1, 0, 0, 0, 0) == 0"),
    Attack("another-filter", "def probe(): return syscall('seccomp', 2, 0, ctypes.create_string_buffer(4)) == 0", not_without_locks),
    Attack("cores", "def probe(): return syscall('sched_setaffinity', 0, 8, struct.pack('=Q', 1)) == 0"),
    Attack("another-descriptor", "def probe(): return os.dup(3) >= 0"),
    Attack("descriptor-by-fcntl", "def probe(): return syscall('fcntl', 3, 0, 10) >= 0"),
    Attack("descriptor-of-the-parent", "def probe(): return syscall('pidfd_getfd', os.pidfd_open(os.getppid()), 0, 0) >= 0", anything),
]  # fmt: skip

CODE = [
    Attack("executable-memory", "def probe(): return memory(7) > 0"),
    Attack("memory-made-executable", "def probe():\n    at = memory()\n    return syscall('mprotect', at, 4096, 5) == 0"),
    Attack("code-made-writable", "def probe():\n    at = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095\n    return syscall('mprotect', at, 4096, 7) == 0"),
    Attack("with-a-key", "def probe():\n    at = memory()\n    return syscall('pkey_mprotect', at, 4096, 5, -1) == 0"),
    Attack("ctypes-callback", "def probe():\n    compare = ctypes.CFUNCTYPE(INT, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: 0)\n    return bool(ctypes.cast(compare, ctypes.c_void_p).value)"),
    Attack("huge-pages", "def probe(): return memory(3, 34 | 0x40000, 1 << 21) > 0", anything),
    Attack("merged-pages", "def probe():\n    at = memory()\n    return syscall('madvise', at, 4096, 12) == 0", anything),
    Attack("pages-sent-out", "def probe():\n    at = memory()\n    return syscall('madvise', at, 4096, 21) == 0"),
    Attack("barrier-on-every-core", "def probe(): return syscall('membarrier', 1, 0, 0) == 0"),
    Attack("lock-with-inheritance", "def probe(): return syscall('futex', ctypes.byref(INT(0)), 6, 0, None, None, 0) == 0"),
    Attack("requeue", "def probe(): return syscall('futex', ctypes.byref(INT(0)), 3, 1, 1, ctypes.byref(INT(0)), 0) == 0"),
]  # fmt: skip

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
every_group = pytest.mark.parametrize("group", ATTACKS)


@every_group
def test_every_probe_of_a_locked_program_is_refused(group: str, locked: Attacker) -> None:
    prizes = locked.attack_all(ATTACKS[group])
    assert {name: prize for name, prize in prizes.items() if not prize.was_refused} == {}


@every_group
def test_without_locks_every_probe_gets_what_it_wants(group: str, unlocked: Attacker) -> None:
    tried = {
        attack.name: attack
        for attack in ATTACKS[group]
        if attack.applies and attack.succeeded is not not_without_locks
    }
    prizes = unlocked.attack_all(tried.values())
    assert {
        name: prizes[name] for name, attack in tried.items() if not attack.succeeded(prizes[name].got)
    } == {}


def test_nothing_arrives_at_a_socket_of_the_host(locked: Attacker, loot: Loot) -> None:
    def arrived() -> bytes:
        with contextlib.suppress(BlockingIOError):
            return loot.inbox.recv(100)
        return b""

    while arrived():
        pass
    locked.attack(SOCKETS[0])
    assert arrived() == b""


def test_a_locked_program_does_not_become_another(locked: Attacker) -> None:
    got = locked.run("os.execv('/bin/sh', ['sh', '-c', 'exit 42'])")
    assert (got.outcome, got.exception) == ("failed", "PermissionError")


def test_without_locks_it_becomes_another(unlocked: Attacker) -> None:
    assert "status 42" in unlocked.run("os.execv('/bin/sh', ['sh', '-c', 'exit 42'])").error


_DESCRIPTORS = """
def probe():
    found = []
    for number in range(4096):
        try:
            syscall("fcntl", number, 1, 0)
            found.append(number)
        except OSError:
            pass
    return found
"""


def test_a_locked_program_finds_no_host_name_no_environment_and_one_descriptor(locked: Attacker) -> None:
    prizes = locked.attack_all(
        [
            Attack("host", "import platform\ndef probe(): return platform.uname()[:4]"),
            Attack("environment", "def probe(): return len(os.environ)"),
            Attack("descriptors", _DESCRIPTORS),
        ]
    )
    assert {name: prize.got for name, prize in prizes.items()} == {
        "host": ["Linux", "halflap", "", ""],
        "environment": 0,
        "descriptors": [3],
    }
