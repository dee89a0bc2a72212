"""What a program may not do to processes: start them, signal them, gain rights, make code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from security.attack import Attack, anything, each

if TYPE_CHECKING:
    from security.attack import Attacker

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
    Attack("vfork", "def probe(): return syscall('vfork') and None", anything, on="x86_64"),
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
    Attack("another-filter", "def probe(): return syscall('seccomp', 2, 0, ctypes.create_string_buffer(4)) == 0"),
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


@each(STARTING)
def test_a_locked_program_starts_nothing(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each([attack for attack in STARTING if attack.name != "vfork"])
def test_without_locks_it_is_started(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


def test_a_locked_program_does_not_become_another(locked: Attacker) -> None:
    got = locked.run("os.execv('/bin/sh', ['sh', '-c', 'exit 42'])")
    assert (got.outcome, got.failure_type) == ("failed", "PermissionError")


def test_without_locks_it_becomes_another(unlocked: Attacker) -> None:
    assert "status 42" in unlocked.run("os.execv('/bin/sh', ['sh', '-c', 'exit 42'])").detail


@each(SIGNALS)
def test_a_locked_program_signals_nobody(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each(SIGNALS)
def test_without_locks_the_signal_is_sent(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(RIGHTS)
def test_a_locked_program_gains_no_right(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each([attack for attack in RIGHTS if attack.name != "another-filter"])
def test_without_locks_the_right_is_there(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize


@each(CODE)
def test_a_locked_program_does_nothing_odd_to_memory(attack: Attack, locked: Attacker) -> None:
    prize = locked.attack(attack)
    assert prize.got is None, prize
    assert prize.refused, prize


@each(CODE)
def test_without_locks_memory_can_be_treated_so(attack: Attack, unlocked: Attacker) -> None:
    prize = unlocked.attack(attack)
    assert attack.succeeded(prize.got), prize
