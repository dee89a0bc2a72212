"""Forged, oversized, replayed and late messages end the program, never the gateway."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import pytest

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
"""
_STAY = "\ntime.sleep(30)\n"

MISUSED = {
    "unknown-kind": ("send(b'Z')", "unknown kind"),
    "kind-of-the-gateway": ("send(b'V', bytes(8))", "unknown kind"),
    "zero-bytes": ("channel.sendall(bytes(100))", "unknown kind"),
    "rubbish": ("channel.sendall(os.urandom(100000))", ""),
    "four-gigabytes": ("send(b'C', b'', 0xffffffff)", "4,294,967,295 bytes"),
    "output-too-long": ("send(b'O', b'', 65537)", "65,537 bytes"),
    "done-too-long": ("send(b'D', b'', 1 << 20)", "1,048,576 bytes"),
    "print-of-nothing": ("send(b'O')", "nothing"),
    "ready-twice": ("send(b'R', b'{}')", "second word of readiness"),
    "ready-with-trouble": ("send(b'R', json.dumps({'trouble': 'x'}).encode())", "second word of readiness"),
    "call-replayed": ("call(1, ORDER); call(1, ORDER)", "call 1 again"),
    "call-from-the-past": ("call(9, ORDER); call(8, ORDER)", "call 8 again"),
    "call-zero": ("call(0, ORDER)", "call 0 again"),
    "call-too-short": ("send(b'C', b'1234')", "too short"),
    "call-without-json": ("call(1, b'{\"name\":')", "not JSON"),
    "call-of-nothing": ("call(1, b'')", "not JSON"),
    "call-of-a-list": ("call(1, [])", "not an object"),
    "call-without-a-name": ("call(1, {'arguments': {}})", "without a name"),
    "call-with-a-number-for-a-name": ("call(1, {'name': 1, 'arguments': {}})", "without a name"),
    "call-with-a-list-of-arguments": ("call(1, {'name': 'echo', 'arguments': []})", "without a name"),
    "deep-json": ("call(1, b'[' * 500000)", "not JSON"),
    "deep-object": ("call(1, b'{\"a\":' * 100000)", "not JSON"),
    "huge-number": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": ' + b'9' * 100000 + b'}}')", "not JSON"),
    "not-a-number": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": NaN}}')", "not JSON"),
    "infinity": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": -Infinity}}')", "not JSON"),
    "infinity-by-exponent": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": 1e999}}')", "not JSON"),
    "invalid-utf-8": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\xff\"}}')", "not JSON"),
    "utf-16": ("call(1, json.dumps(ORDER).encode('utf-16'))", "not JSON"),
    "byte-order-mark": ("call(1, json.dumps(ORDER).encode('utf-8-sig'))", "not JSON"),
    "half-a-character": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\\\ud800\"}}')", "half a character"),
    "half-a-character-as-key": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"\\\\uDFFF\": 1}}')", "half a character"),
    "half-a-character-in-the-name": ("call(1, b'{\"name\": \"\\\\udead\", \"arguments\": {}}')", "half a character"),
    "encoded-surrogate": ("call(1, b'{\"name\": \"echo\", \"arguments\": {\"a\": \"\\xed\\xa0\\x80\"}}')", "not JSON"),
    "cancel-too-short": ("send(b'X', b'1')", "too short"),
    "cancel-before-any-call": ("send(b'X', bytes(8))", "more calls given up"),
    "cancel-flood": ("call(1, ORDER)\nfor _ in range(100000): send(b'X', struct.pack('!Q', 1))", "more calls given up"),
    "show-of-rubbish": ("send(b'S', b'rubbish')", "not JSON"),
    "show-of-nothing": ("send(b'S', b'{}')", "something to show"),
    "show-of-half-a-character": ("send(b'S', b'{\"type\": \"image\", \"data\": \"\\\\ud800\"}')", "half a character"),
    "done-of-rubbish": ("send(b'D', b'rubbish')", "not JSON"),
    "done-without-words": ("send(b'D', json.dumps({'type': [[[]]], 'message': 1}).encode())", "not told in words"),
    "too-many-calls": ("wait = {'name': 'wait', 'arguments': {}}\nfor number in range(1, 20000): call(number, wait)", "calls without waiting"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSED)
def test_a_forged_message_ends_the_program(name: str, keeper: Keeper, forger: Attacker) -> None:
    code, told = MISUSED[name]
    got = forger.run(_FORGE + code + _STAY)
    assert (got.outcome, told in got.detail) == ("misused", True), got
    assert keeper.run("all-layers", "print('next')").output == b"next\n"


@pytest.mark.parametrize("name", ["half-a-character", "not-a-number", "utf-16", "invalid-utf-8"])
def test_a_forged_call_is_not_made(name: str, forger: Attacker) -> None:
    assert forger.run(_FORGE + MISUSED[name][0] + _STAY).calls == []


def test_an_honest_call_with_half_a_character_is_told_in_python(forger: Attacker) -> None:
    got = forger.run("await call_tool('echo', a='\\ud83d')")
    assert (got.outcome, got.failure_type, got.calls) == ("failed", "TypeError", [])


def test_of_two_keys_alike_everybody_sees_the_last(forger: Attacker) -> None:
    order = '{"name": "refuse", "name": "echo", "arguments": {"a": 1, "a": 2}}'
    got = forger.run(_FORGE + f"call(1, {order.encode()!r}); channel.recv(1)")
    assert got.calls == [("echo", {"a": 2})]


def test_half_a_character_in_a_failure_can_be_shown(forger: Attacker) -> None:
    got = forger.run("raise ValueError('\\ud800')")
    assert "ValueError: \\ud800" in got.failure.encode().decode()


def test_a_forged_end_lets_nobody_live_on(keeper: Keeper, forger: Attacker) -> None:
    got = forger.run(_FORGE + "send(b'D', b'null')\nwhile True:\n    send(b'O', b'late')")
    assert (got.outcome, got.output) == ("ok", b"")
    assert keeper.run("all-layers", "print('next')").output == b"next\n"


def test_a_call_after_the_end_is_not_made(forger: Attacker) -> None:
    got = forger.run(_FORGE + "send(b'D', b'null'); call(1, ORDER)" + _STAY)
    assert (got.outcome, got.calls) == ("ok", [])


def test_a_call_that_waits_ends_with_the_program(forger: Attacker) -> None:
    got = forger.run(_FORGE + "call(1, {'name': 'wait', 'arguments': {}}); send(b'D', b'null')" + _STAY)
    assert got.outcome == "ok"


def test_output_that_is_no_text_is_handed_on_as_bytes(forger: Attacker) -> None:
    got = forger.run(_FORGE + "send(b'O', bytes([255, 254, 0]))")
    assert got.output == b"\xff\xfe\x00"


def test_half_a_frame_and_silence_ends_by_the_clock(keeper: Keeper, forger: Attacker) -> None:
    code = forger.source(_FORGE + "send(b'C', b'', 1000)" + _STAY)
    assert keeper.run("all-layers", code, seconds=0.5).outcome == "timeout"


def test_half_a_frame_and_an_end_is_a_crash(forger: Attacker) -> None:
    assert forger.run(_FORGE + "send(b'C', b'', 1000); os._exit(7)").outcome == "crashed"


@pytest.mark.parametrize(
    "code",
    [
        "os.close(3)",
        pytest.param("channel.shutdown(2)", marks=pytest.mark.slow),
        pytest.param("channel.shutdown(socket.SHUT_WR)", marks=pytest.mark.slow),
    ],
    ids=lambda code: code,
)
def test_a_closed_channel_ends_the_program(code: str, forger: Attacker) -> None:
    got = forger.run(code + _STAY)
    assert (got.outcome, "channel was closed" in got.detail) == ("misused", True), got


def test_who_shuts_its_ears_alone_can_still_print(forger: Attacker) -> None:
    assert forger.run("channel.shutdown(socket.SHUT_RD); print('out')").output == b"out\n"


def test_a_million_tiny_frames_leave_the_loop_to_others(keeper: Keeper, forger: Attacker) -> None:
    code = forger.source(
        "piece = (struct.pack('!cI', b'O', 1) + b'x') * 10000\nfor _ in range(100): channel.sendall(piece)"
    )
    worst = keeper.do(_longest_wait_beside(keeper, code, Visitor(2 << 20)))
    # In time of the processor; all of them at once would take a second.
    assert worst < 0.2


def test_what_is_not_read_is_not_kept(forger: Attacker) -> None:
    order = {"name": "large", "arguments": {"size": 900_000}}
    code = _FORGE + f"for number in range(1, 2000): call(number, {json.dumps(order)})\ntime.sleep(0.5)"
    got = forger.run(code)
    # Those of sixteen calls at a time, and what fits in the buffers on the way.
    assert (got.outcome, len(got.calls) < 25) == ("ok", True), len(got.calls)


def test_calls_that_wait_hold_only_so_much(forger: Attacker) -> None:
    code = """
import asyncio
waiting = [asyncio.ensure_future(call_tool("wait", text="x" * 1_000_000)) for _ in range(50)]
await asyncio.wait(waiting, timeout=1)
print(len([task for task in waiting if task.done()]))
"""
    got = forger.run(code)
    assert got.output == b"0\n"
    assert len(got.calls) == 2


def test_calls_sent_past_the_door_hold_no_more_than_twice_that(forger: Attacker) -> None:
    code = """
for number in range(1, 51):
    call(number, {"name": "wait", "arguments": {"text": "x" * 1_000_000}})
received = b""
while received.count(b"await some of them") < 46:
    received += channel.recv(65536)
print("46 refused")
time.sleep(0.2)
print(received.count(b"await some of them"))
"""
    got = forger.run(_FORGE + code)
    assert got.output.startswith(b"46 refused\n46\n")
    assert len(got.calls) == 4


def test_a_result_that_is_too_large_is_refused_to_the_program(forger: Attacker) -> None:
    got = forger.run("await call_tool('large', size=2_000_000)")
    assert "at most 1,048,576 are possible" in got.failure


def test_a_result_that_is_too_deep_is_refused_to_the_program(forger: Attacker) -> None:
    got = forger.run("await call_tool('deep', depth=10_000)")
    assert "nested too deeply" in got.failure


def test_a_mistake_of_the_host_is_not_kept_from_the_gateway(forger: Attacker) -> None:
    with pytest.raises(LookupError, match="a mistake of the host"):
        forger.run("await call_tool('broken')")


async def _longest_wait_beside(keeper: Keeper, code: str, visitor: Visitor) -> float:
    """Run a program, and say how long the loop computed without a pause meanwhile."""

    jail = keeper.jail("all-layers")
    await jail.ready()
    running: asyncio.Task[Got] = asyncio.create_task(visit(jail, code, visitor))
    worst = 0.0
    while not running.done():
        before = time.thread_time()
        await asyncio.sleep(0.001)
        worst = max(worst, time.thread_time() - before)
    assert running.result().outcome == "ok"
    return worst


@pytest.fixture
def forger(keeper: Keeper, unlocked: Attacker) -> Attacker:
    """An attacker behind all locks: on the channel they make no difference."""
    return type(unlocked)(lambda code: keeper.run("all-layers", code), unlocked.loot)
