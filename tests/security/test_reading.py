"""What a program may not read: files, the environment, other processes, the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from security.attack import Attack, Prize, anything, each

if TYPE_CHECKING:
    from security.attack import Attacker

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


def _stopped(prize: Prize) -> bool:
    return prize.got is None and (prize.refused is not None or prize.was_killed)


@each(FILES)
def test_a_locked_program_reads_no_file(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert _stopped(prize), prize


@each(FILES)
def test_without_locks_the_same_file_is_read(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(PROCESSES)
def test_a_locked_program_reads_nothing_of_a_process(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert _stopped(prize), prize


@each(PROCESSES)
def test_without_locks_the_same_is_read_of_a_process(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(KERNEL)
def test_a_locked_program_is_told_nothing_of_others_by_the_kernel(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert _stopped(prize), prize


@each(KERNEL)
def test_without_locks_the_kernel_tells_it(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


def test_python_knows_no_name_of_the_host(locked: Attacker) -> None:
    prize = locked.attack(Attack("node", "import platform\ndef probe(): return platform.uname()[:4]"))
    assert prize.got == ["Linux", "halflap", "", ""]


def test_the_environment_is_empty(locked: Attacker) -> None:
    prize = locked.attack(Attack("environ", "def probe(): return len(os.environ)"))
    assert prize.got == 0


def test_no_descriptor_but_the_channel_is_open(locked: Attacker) -> None:
    code = """
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
    assert locked.attack(Attack("descriptors", code)).got == [3]
