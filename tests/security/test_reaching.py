"""What a program may not reach or leave behind: network, sockets of the host, files, shared memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from security.attack import Attack, anything, each

if TYPE_CHECKING:
    from security.attack import Attacker, Loot

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
    Attack("out-of-band-on-the-channel", "def probe(): return channel.send(b'O', socket.MSG_OOB)"),
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
    Attack("shared-memory-folder", "def probe(): return os.open('/dev/shm/halflap-left', os.O_CREAT | os.O_RDWR) >= 0"),
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


@each(NETWORK)
def test_a_locked_program_reaches_no_network(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each(NETWORK)
def test_without_locks_it_is_reached(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(SOCKETS)
def test_a_locked_program_makes_nothing_more_of_sockets(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each([attack for attack in SOCKETS if "channel" not in attack.name])
def test_without_locks_sockets_do_more(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(SOCKETS[:1])
def test_nothing_arrives_at_a_socket_of_the_host(attack: Attack, locked: Attacker, loot: Loot) -> None:
    with contextlib.suppress(BlockingIOError):
        while loot.inbox.recv(100):
            pass
    locked.attack(attack)
    arrived = b""
    with contextlib.suppress(BlockingIOError):
        arrived = loot.inbox.recv(100)
    assert arrived == b""


@each(WRITING)
def test_a_locked_program_writes_nowhere(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


def test_without_locks_it_writes_everywhere(unlocked: Attacker) -> None:
    # In one test, and in order: some undo what others did.
    for attack in WRITING:
        prize = unlocked.attack(attack)
        assert attack.succeeded(prize.got), (attack.name, prize)
    unlocked.run("os.unlink('/dev/shm/halflap-left')")
