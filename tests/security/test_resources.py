"""Programs that want everything: each is ended by the limit that it exceeds, and the outcome says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from security.keeper import LOCKED, MEGABYTE

if TYPE_CHECKING:
    from security.attack import Attacker
    from security.keeper import Keeper

_IGNORING = """
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
"""
_SWALLOWING = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
QUICK = {
    "ten-gigabytes": ("memory", "x = 'a' * 10**10"),
    "mapped-memory": ("failed", "import mmap\nmmap.mmap(-1, 10**10)"),
    "many-small-things": ("memory", "keep = []\nwhile True: keep.append([0] * 10)"),
    "endless-text": ("memory", "text = 'x'\nwhile True: text += text"),
    "deep-recursion": ("failed", "def f(): f()\nf()"),
    "deep-recursion-in-c": ("crashed", "sys.setrecursionlimit(10**9)\nx = ()\nfor _ in range(3 * 10**5): x = (x,)\nhash(x)"),
    "recursion-in-a-comparison": ("failed", "a, b = [], []\na.append(a); b.append(b)\na == b"),
    "recursion-in-a-repr": ("crashed or memory or failed", "sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())"),
    "bad-pointer": ("crashed", "ctypes.string_at(1)"),
    "abort": ("crashed", "os.abort()"),
    "left-past-python": ("crashed", "os._exit(3)"),
    "exception-that-fails": ("failed", "class E(Exception):\n    def __str__(self): raise SystemExit(5)\nraise E"),
    "exception-without-a-name": ("failed", "class M(type):\n    __name__ = property(lambda c: 5)\nclass E(Exception, metaclass=M): pass\nraise E"),
    "stdout-that-fails": ("ok", "class S:\n    def flush(self): raise KeyboardInterrupt\nsys.stdout = S()"),
    "five-megabytes-of-print": ("output", "while True: print('x' * 10000)"),
    "print-past-python": ("output", "piece = struct.pack('!cI', b'O', 65536) + bytes(65536)\nwhile True: channel.sendall(piece)"),
    "kernel-objects-sockets": ("failed", "both = []\nwhile True: both.append(pair())"),
    "kernel-objects-epoll": ("failed", "import select\nkeep = []\nwhile True: keep.append(select.epoll())"),
}  # fmt: skip
"""Programs that end soon, each with the outcomes that it may have."""
BUSY = {
    "many-names": ("memory or cpu", "number = 0\nwhile True:\n    globals()[f'name{number}'] = [number]\n    number += 1"),
    # Whichever comes first; and CPython may lose the error on its way up.
    "deep-recursion-past-the-limit": ("memory or cpu or failed or crashed", "sys.setrecursionlimit(10**9)\ndef f(): f()\nf()"),
    "alarm": ("crashed", "signal.alarm(1)\ntime.sleep(30)"),
    "memory-without-catching": ("cpu", "keep = []\nwhile True:\n    try: keep.append(bytearray(4096))\n    except MemoryError: pass"),
    "endless-loop": ("cpu", "while True: pass"),
    "signals-ignored": ("cpu", _IGNORING),
    "every-exception-swallowed": ("cpu", _SWALLOWING),
    "catastrophic-regex": ("cpu", "import re\nre.match('(a+)+$', 'a' * 50 + 'b')"),
    "huge-number": ("cpu", "x = 7 ** (10 ** 8)"),
    "sum-of-everything": ("cpu", "sum(range(10 ** 12))"),
    "alarms": ("cpu", "signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)\nwhile True: pass"),
    "yielding": ("cpu", "while True: libc.sched_yield()"),
}  # fmt: skip
"""Programs that take seconds."""


def test_programs_that_want_too_much_are_ended_by_the_limit_that_they_exceed(
    keeper: Keeper, unlocked: Attacker
) -> None:
    tried = QUICK | {"signals-ignored": BUSY["signals-ignored"]}
    codes = {name: unlocked.source(code) for name, (_, code) in tried.items()}
    got = keeper.run_all("tight", codes, most_output=5 * MEGABYTE)
    assert {name: one for name, one in got.items() if one.outcome not in tried[name][0].split(" or ")} == {}
    # The report has no lines of ours.
    exhausted = got["many-small-things"]
    assert exhausted.exception == "MemoryError"
    assert "halflap" not in f"{exhausted.output!r} {exhausted.error}"


@pytest.mark.slow
@pytest.mark.parametrize("mode", LOCKED)
@pytest.mark.parametrize("name", sorted(QUICK | BUSY))
def test_the_limits_hold_in_every_mode(name: str, mode: str, keeper: Keeper, unlocked: Attacker) -> None:
    outcome, code = (QUICK | BUSY)[name]
    got = keeper.run(mode, unlocked.source(code), most_output=5 * MEGABYTE, seconds=60)
    # With more time, a number can be so huge that memory is what ends first.
    assert got.outcome in {*outcome.split(" or "), "memory" if outcome == "cpu" else outcome}, got


def test_the_kernel_buffers_only_so_much_for_a_program(locked: Attacker, unlocked: Attacker) -> None:
    code = """
pairs, sent = [], 0
try:
    while len(pairs) < 100: pairs.append(pair())
except OSError: pass
for one in pairs:
    try:
        while True: sent += syscall('sendto', one[0], bytes(1000), 1000, 0x40, None, 0)
    except OSError: pass
print(len(pairs), sent)
"""
    pairs, sent = map(int, locked.run(code).output.split())
    assert pairs < 20
    assert 0 < sent < 8_000_000
    assert unlocked.run(code).output.startswith(b"100 ")
