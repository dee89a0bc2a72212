"""Hostile logs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill.logs import KEY, found_in, lines, trace
from halflap.backfill import learner, logfile

if TYPE_CHECKING:
    from pathlib import Path

GOOD = lines(trace(1))


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b'{"tool": "a", "result": ',
        b"[" * 100_000,
        b'{"tool": "a", "result": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"tool": "a", "result": ' + b"9" * 5_000 + b"}",
        b"42",
        b'{"tool": 7, "result": 1}',
        b'{"tool": "a", "result": 1, "is_error": "no"}',
        b'{"tool": "a", "result": {"b": NaN}}',
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_skipped(line: bytes) -> None:
    found = found_in(GOOD + line + b"\n" + GOOD)
    assert found.counts.observations == 2
    assert [bad.line for bad in found.counts.bad] == [2]


@pytest.mark.parametrize(
    "line",
    [
        b'{"tool": "get_order", "arguments": {}, "result": {"a": 1, "a": "x"}}',
        b'{"tool": "get_order", "arguments": {}, "result": 123456789012345678901234567890}',
        b'{"tool": "get_order", "arguments": [1], "result": {"\\ud800": 1}}',
        b'\xef\xbb\xbf{"tool": "get_order", "result": 1}',
        b'{"tool": "get_order", "result": 1, "at": 1e999}',
        b'\t {"tool": "get_order", "result": 1} \r',
    ],
)
def test_odd_lines_are_read(line: bytes) -> None:
    found = found_in(line + b"\n" + GOOD)
    assert (found.counts.bad_count, found.knowledge.shapes[KEY].observations) == (0, 2)


def test_a_line_that_is_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "MAX_LINE", 1_000)
    monkeypatch.setattr(learner, "MAX_LINE", 1_000)
    data = GOOD + lines(trace(1, "x" * 1_500)) + GOOD
    found = found_in(data)
    assert (found.counts.observations, found.counts.bytes) == (2, len(data))
    assert found.counts.bad[0].line == 2


def test_the_number_of_tools_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "_MAX_TOOLS", 10)
    found = found_in(lines(*(trace(1, tool=f"mcp__a__{number}") for number in range(11))))
    assert (found.counts.observations, found.counts.bad_count) == (10, 1)


def test_waiting_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "_MAX_PENDING", 3)
    ask = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}}
    answers = [{"jsonrpc": "2.0", "id": number, "result": {"content": []}} for number in range(10)]
    found = found_in(lines(*({**ask, "id": number} for number in range(10)), *answers))
    assert (found.counts.observations, found.counts.unpaired) == (3, 14)


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([GOOD, b"[", b"{", b'"', b"]\n", b"}\n"]))))
def test_no_bytes_crash_it(parts: list[bytes]) -> None:
    data = b"".join(parts)
    found = found_in(data)
    assert found.counts.bytes <= len(data)


@pytest.mark.slow
def test_memory_is_flat(tmp_path: Path) -> None:
    """A hundred megabytes in one line, and a hundred in many, in an address space of far less."""
    file = tmp_path / "log"
    with file.open("wb") as out:
        out.write(b'{"tool": "a", "result": "')
        for _ in range(100):
            out.write(b"x" * (1 << 20))
        out.write(b'"}\n')
        for _ in range(100_000):
            out.write(lines(trace(1, "y" * 1_000)))
    code = (
        # Not from getrusage, which includes the process before exec.
        "import re, sys; from halflap.backfill import Rules; from halflap.backfill.workers import Part, learn_parts;"
        "found = learn_parts([Part(sys.argv[1], 0, 10**9, 10**8)], Rules(server='s'))[0][0];"
        "peak = re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1];"
        "print(found.observations, found.bad_count, peak)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    observations, bad, kilobytes = map(int, done.stdout.split())
    assert (observations, bad) == (100_000, 1)
    assert kilobytes < 200_000
