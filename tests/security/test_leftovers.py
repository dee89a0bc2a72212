"""What a program finds in its own memory: nothing of earlier programs, of the gateway, or of the host's users."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from security.keeper import Visitor, new_jail, visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from security.keeper import Keeper

SECRET = f"gateway-{secrets.token_hex(16)}"
os.environ["HALFLAP_TEST_SECRET"] = SECRET

_SEARCH = """
import ctypes, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.send.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.sbrk.restype = ctypes.c_void_p
# The words come with each byte one higher, and pages are raised likewise: so the search does not find itself.
words = [bytes.fromhex(word) for word in json.loads({words!r})]
raised = bytes((byte + 1) % 256 for byte in range(256))
found = dict.fromkeys(range(len(words)), 0)
here, there = socket.socketpair()
page, seen = bytearray(4096), set()

def look(at):
    "Read a page if there is one: the kernel says so, instead of a crash."
    size = libc.send(here.fileno(), at, 4096, 0x40)
    if size <= 0:
        return False
    there.recv_into(page, size)
    if at not in seen:
        seen.add(at)
        higher = page.translate(raised)
        for number, word in enumerate(words):
            found[number] += higher.count(word)
    return True

def search(start, gap):
    "Go up and down from an address until there is nothing for a while."
    for step in (4096, -4096):
        at, missing = start & ~4095, 0
        while missing < gap and 0 < at < 1 << 47:
            missing = 0 if look(at) else missing + 1
            at += step

environment = ctypes.c_void_p.in_dll(libc, "environ").value or 0
search(libc.sbrk(0) - 4096, 4096)
search(id(found), 40_000)
search(id(os), 40_000)
search(ctypes.cast(libc.send, ctypes.c_void_p).value, 40_000)
search(environment, 4096)
print(json.dumps([len(seen), list(found.values())]))
"""


def _program(words: list[str]) -> str:
    raised = [bytes(byte + 1 for byte in word.encode()).hex() for word in words]
    return _SEARCH.format(words=json.dumps(raised))


def _search(keeper: Keeper, words: list[str], before: str = "", mode: str = "roomy") -> list[int]:
    """Count words in the memory of the next program."""
    got = keeper.run(mode, before + _program(words))
    assert got.outcome == "ok", got
    pages, found = json.loads(got.output.splitlines()[-1])
    # An interpreter with its library; or the search did not search.
    assert pages > 5000
    counts: list[int] = found
    return counts


@pytest.mark.slow
def test_the_search_finds_what_is_there(keeper: Keeper) -> None:
    planted = secrets.token_hex(8)
    (found,) = _search(
        keeper, [planted], f"plant = {planted!r} + 'x'\nkept = bytearray(plant * 2, 'ascii')\n"
    )
    assert found >= 2


def test_nothing_of_an_earlier_program_is_in_memory(keeper: Keeper) -> None:
    text, result, printed = (secrets.token_hex(8) for _ in range(3))
    code = f"""
kept = [bytearray(b"{text}" * 1000) for _ in range(100)]
value = await call_tool("echo", text="{result}")
print("{printed}" * 100)
"""
    for _ in range(5):
        assert keeper.run("roomy", code).outcome == "ok"
    assert _search(keeper, [text, result, printed]) == [0, 0, 0]


@pytest.mark.slow
def test_nothing_of_a_program_beside_it_is_in_memory(keeper: Keeper) -> None:
    beside = secrets.token_hex(8)

    async def together() -> bytes:
        jail = keeper.jail("roomy")
        other = Visitor()
        waiting = asyncio.create_task(
            visit(jail, f"x = '{beside}' * 1000\nawait call_tool('wait', x=x)", other)
        )
        while not other.calls:
            await asyncio.sleep(0.01)
        visitor = Visitor()
        await visit(jail, _program([beside]), visitor, 60)
        waiting.cancel()
        await asyncio.wait([waiting])
        return bytes(visitor.heard)

    assert json.loads(keeper.do(together()))[1] == [0]


def test_nothing_of_the_gateway_or_of_the_hosts_users_is_in_memory(keeper: Keeper) -> None:
    users = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
    # As they stand in the file, and as the C library leaves them behind: home and shell, cut at the colons.
    cut = ["\0".join(user.split(":")[5:]) for user in users]
    words = [SECRET, "HALFLAP_TEST_SECRET", *(word for word in [*users, *cut] if len(word) > 12)]
    assert _search(keeper, words) == [0] * len(words)


@pytest.mark.slow
def test_random_numbers_of_numpy_are_each_programs_own(run: Callable[[Any], Any]) -> None:
    pytest.importorskip("numpy", reason="comes with the extra `semantic`")

    async def numbers() -> set[bytes]:
        jail = new_jail("roomy", modules=("numpy",))
        code = "import numpy\nprint(numpy.random.rand(), numpy.linalg.inv(numpy.eye(2)).shape)"
        got = [await visit(jail, code, Visitor()) for _ in range(5)]
        await jail.close()
        assert {one.outcome for one in got} == {"ok"}, got
        return {one.output for one in got}

    assert len(run(numbers())) == 5


@pytest.mark.slow
def test_the_frames_above_a_program_say_nothing_of_where_modules_lie(keeper: Keeper) -> None:
    code = """
import sys
frame, orders = sys._getframe(), None
while frame:
    orders = frame.f_locals.get("orders", orders)
    frame = frame.f_back
print("path" in orders, "modules" in orders)
"""
    assert keeper.run("roomy", code).output == b"False True\n"
