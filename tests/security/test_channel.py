"""Forged, oversized, replayed and late messages end the program, never the gateway."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.run.report import failure_text
from halflap.sandbox.sandbox import Ending
from security.keeper import Visitor, visit

if TYPE_CHECKING:
    from security.attack import Attacker
    from security.keeper import Got, Keeper

_FORGE = """
def send(kind, body=b"", length=None):
    channel.sendall(struct.pack("!cI", kind, len(body) if length is None else length) + body)

def call(number, body):
    send(b"C", struct.pack("!Q", number) + (body if isinstance(body, bytes) else json.dumps(body).encode()))

ORDER = {"name": "echo", "arguments": {}}
END = {"outcome": "ok", "error": "", "cpu_seconds": 0.1, "memory_bytes": 1}

def done(**more):
    send(b"D", json.dumps(END | more).encode())

"""
_STAY = "\ntime.sleep(30)\n"

MISUSED = {
    "unknown-kind": "send(b'Z')",
    "kind-of-the-gateway": "send(b'V', bytes(8))",
    "zero-bytes": "channel.sendall(bytes(100))",
    "rubbish": "channel.sendall(os.urandom(100000))",
    "four-gigabytes": "send(b'C', b'', 0xffffffff)",
    "output-too-long": "send(b'O', b'', 65537)",
    "done-too-long": "send(b'D', b'', 1 << 24)",
    "print-of-nothing": "send(b'O')",
    "ready-twice": "send(b'R', b'{}')",
    "ready-with-trouble": "send(b'R', json.dumps({'trouble': 'x'}).encode())",
    "call-replayed": "call(1, ORDER); call(1, ORDER)",
    "call-from-the-past": "call(9, ORDER); call(8, ORDER)",
    "call-zero": "call(0, ORDER)",
    "call-too-short": "send(b'C', b'1234')",
    "call-without-json": "call(1, b'{\"name\":')",
    "call-of-nothing": "call(1, b'')",
    "call-of-a-list": "call(1, [])",
    "call-without-a-name": "call(1, {'arguments': {}})",
    "call-with-a-number-for-a-name": "call(1, {'name': 1, 'arguments': {}})",
    "call-with-a-list-of-arguments": "call(1, {'name': 'echo', 'arguments': []})",
    "shown-of-many-parts": "send(b'S', json.dumps({'type': 'image', 'data': '', 'mimeType': 'image/png', 'x': [[]] * 9000}).encode())",
    "deep-json": "call(1, b'[' * 500000)",
    "deep-object": "call(1, b'{\"a\":' * 100000)",
    "huge-number": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": ' + b'9' * 100000 + b'}}')",
    "not-a-number": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": NaN}}')",
    "infinity": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": -Infinity}}')",
    "infinity-by-exponent": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": 1e999}}')",
    "invalid-utf-8": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\xff\"}}')",
    "utf-16": "call(1, json.dumps(ORDER).encode('utf-16'))",
    "byte-order-mark": "call(1, json.dumps(ORDER).encode('utf-8-sig'))",
    "half-a-character": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\\\ud800\"}}')",
    "half-a-character-as-key": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"\\\\uDFFF\": 1}}')",
    "half-a-character-in-the-name": "call(1, b'{\"name\": \"\\\\udead\", \"arguments\": {}}')",
    "encoded-surrogate": "call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\xed\\xa0\\x80\"}}')",
    "cancel-too-short": "send(b'X', b'1')",
    "cancel-before-any-call": "send(b'X', bytes(8))",
    "cancel-flood": "call(1, ORDER)\nfor _ in range(100000): send(b'X', struct.pack('!Q', 1))",
    "show-of-rubbish": "send(b'S', b'rubbish')",
    "show-of-nothing": "send(b'S', b'{}')",
    "show-of-half-a-character": "send(b'S', b'{\"type\": \"image\", \"data\": \"\\\\ud800\"}')",
    "done-of-rubbish": "send(b'D', b'rubbish')",
    "done-without-words": "send(b'D', b'{}')",
    "done-with-other-words": "done(error=[[[]]])",
    "done-with-an-outcome-of-the-gateway": "done(outcome='cpu')",
    "done-with-half-a-character": "done(outcome='failed', error='\\ud800')",
    "done-with-deep-json": "send(b'D', b'{\"value\": ' + b'[' * 500000)",
    "done-with-infinity": "send(b'D', json.dumps(END | {'value': float('inf')}).encode())",
    "done-in-negative-time": "done(cpu_seconds=-1.0)",
    "done-with-endless-memory": "done(memory_bytes=10 ** 400)",
    "too-many-calls": "wait = {'name': 'wait', 'arguments': {}}\nfor number in range(1, 20000): call(number, wait)",
}  # fmt: skip


_MAKES_A_CALL = {"call-replayed", "call-from-the-past", "cancel-flood", "too-many-calls"}


def test_a_forged_message_ends_the_program_and_no_call_is_made(keeper: Keeper, forger: Attacker) -> None:
    got = keeper.run_all(
        "all-layers", {name: forger.source(_FORGE + code + _STAY) for name, code in MISUSED.items()}
    )
    assert {name: one for name, one in got.items() if one.outcome != "misused"} == {}
    assert {name for name, one in got.items() if one.calls} <= _MAKES_A_CALL
    assert keeper.run("all-layers", "print('next')").output == b"next\n"


HARMLESS = {
    "the-last-of-two-equal-keys-counts": (
        _FORGE + 'call(1, b\'{"name": "refuse", "name": "echo", "arguments": {"a": 1, "a": 2}}\'); _ = channel.recv(1)',
        [("echo", {"a": 2})],
        b"",
    ),
    "half-a-character": ("try: await call_tool('echo', a='\\ud83d')\nexcept TypeError: print('refused')", [], b"refused\n"),
    "output-that-is-no-text": (_FORGE + "send(b'O', bytes([255, 254, 0]))", [], b"\xff\xfe\x00"),
    "closed-for-reading-alone": ("channel.shutdown(socket.SHUT_RD); print('out')", [], b"out\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_an_odd_message_is_taken_for_what_it_is(name: str, forger: Attacker) -> None:
    code, calls, output = HARMLESS[name]
    got = forger.run(code)
    assert (got.calls, got.output) == (calls, output), got


def test_a_forged_end_lets_nobody_live_on(keeper: Keeper, forger: Attacker) -> None:
    codes = {
        "output": "done()\nwhile True:\n    send(b'O', b'late')",
        "a call": f"done()\ncall(1, ORDER){_STAY}",
        "a call before": f"call(1, {{'name': 'wait', 'arguments': {{}}}}); done(){_STAY}",
    }
    got = keeper.run_all("all-layers", {name: forger.source(_FORGE + code) for name, code in codes.items()})
    assert {(one.outcome, one.output) for one in got.values()} == {("ok", b"")}
    assert [len(one.calls) for one in got.values()] == [0, 0, 1]


def test_an_end_without_a_message_is_reported_by_what_ended_it(keeper: Keeper, forger: Attacker) -> None:
    half = _FORGE + "send(b'C', b'', 1000)\n"
    assert keeper.run("all-layers", forger.source(half + _STAY), seconds=0.5).outcome == "timeout"
    assert forger.run(half + "os._exit(7)").outcome == "crashed"
    closing = ["os.close(3)", "channel.shutdown(2)", "channel.shutdown(socket.SHUT_WR)"]
    got = keeper.run_all("all-layers", {code: forger.source(code + _STAY) for code in closing})
    assert {name: one for name, one in got.items() if one.outcome != "misused"} == {}


def test_a_forged_failure_is_cut_in_the_report() -> None:
    ending = Ending("failed", "e" * 200_000, "h" * 50_000)
    assert len(failure_text(ending, ExecutionConfig())) < 30_000


def test_a_flood_of_tiny_frames_leaves_the_loop_to_others(keeper: Keeper, forger: Attacker) -> None:
    code = forger.source(
        "piece = (struct.pack('!cI', b'O', 1) + b'x') * 10000\nfor _ in range(5): channel.sendall(piece)"
    )
    flooded = _Flooded()
    got = keeper.do(_with_others(keeper, code, flooded))
    assert (got.outcome, len(got.output)) == ("ok", 50_000)
    # One read brings about ten thousand of them.
    assert flooded.most_in_a_row < 1_000


def test_answers_that_are_not_read_are_kept_for_sixteen_calls_at_most(forger: Attacker) -> None:
    order = json.dumps({"name": "large", "arguments": {"size": 900_000}})
    got = forger.run(
        f"{_FORGE}for number in range(1, 17): call(number, {order})\ntime.sleep(0.3)\n"
        f"for number in range(17, 2000): call(number, {order})\ntime.sleep(30)"
    )
    # A few answers fit in the buffers on the way.
    assert (got.outcome, len(got.calls) < 25) == ("misused", True), len(got.calls)


def test_calls_beyond_sixteen_wait_in_the_program(forger: Attacker) -> None:
    code = """
import asyncio
waiting = [asyncio.ensure_future(call_tool("wait", text="x" * 100_000)) for _ in range({})]
await asyncio.sleep(0.3)
for task in waiting[:10]: task.cancel()
"""
    got = forger.run(code.format(16) + "print(await call_tool('echo', a=1))")
    assert got.output == b"{'echo': {'a': 1}}\n"
    got = forger.run(code.format(50))
    assert (got.outcome, len(got.calls) <= 26) == ("ok", True)


def test_a_result_that_is_too_large_or_too_deep_is_refused_to_the_program(forger: Attacker) -> None:
    assert "at most 1,048,576 are possible" in forger.run("await call_tool('large', size=2_000_000)").error
    assert "nested too deeply" in forger.run("await call_tool('deep', depth=10_000)").error


def test_a_mistake_of_the_host_is_raised_in_the_gateway(forger: Attacker) -> None:
    with pytest.raises(LookupError, match="a mistake of the host"):
        forger.run("await call_tool('broken')")


class _Flooded(Visitor):
    """A host that counts the frames between two turns of others."""

    in_a_row = most_in_a_row = 0

    def write(self, data: bytes) -> bool:
        self.in_a_row += 1
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        return super().write(data)


async def _with_others(keeper: Keeper, code: str, visitor: _Flooded) -> Got:
    """Run a program while something else always wants a turn."""
    jail = keeper.jail("all-layers")
    await jail.ready()
    running: asyncio.Task[Got] = asyncio.create_task(visit(jail, code, visitor))
    while not running.done():
        visitor.in_a_row = 0
        await asyncio.sleep(0)
    return running.result()


@pytest.fixture
def forger(keeper: Keeper, unlocked: Attacker) -> Attacker:
    """An attacker behind all locks, which make no difference to the channel."""
    return type(unlocked)(lambda code: keeper.run("all-layers", code), unlocked.loot)
