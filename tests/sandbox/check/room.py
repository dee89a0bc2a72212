"""Where tests have programs examined: a loop in a thread, with an examiner on it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders
from support import children_of, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.sandbox.check.inside.answer import Answer

__all__ = ["PATIENT", "Room", "pid_of", "question", "soon"]

PATIENT = Orders(seconds=20.0, cpu_seconds=20)
"""On a busy machine an examination may take its time, where time is not what the test is about."""


def soon(true: Callable[[], object]) -> bool:
    """Return whether something becomes true."""
    return eventually(lambda: bool(true()))


class Told(NamedTuple):
    """A diagnostic of ty's."""

    rule: str
    line: int
    column: int
    message: str


def question(code: str, stubs: str = "") -> dict[str, Any]:
    """Ask about a program over no tools."""
    return {"code": code, "stubs": stubs, "traced": stubs, "records": []}


class Room:
    """An examiner that tests can use without a loop."""

    def __init__(self, orders: Orders = PATIENT) -> None:
        self._orders = orders
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.examiner = Examiner(self._orders)
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.examiner.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do something on the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def examine(self, code: str, stubs: str = "") -> Answer:
        answer: Answer = self.do(self.examiner.examine(question(code, stubs)))
        return answer

    def skipped(self, code: str, stubs: str = "") -> str:
        """Return the reason why a program is not examined; empty if it is."""
        try:
            self.examine(code, stubs)
        except CheckSkipped as skipped:
            return skipped.reason
        return ""

    def diagnostics(self, code: str, stubs: str = "") -> list[Told]:
        found = self.examine(code, stubs).findings
        return sorted(Told(one.rule, *at[:2], one.wrong) for at, one in found)

    def running(self) -> list[int]:
        """Return the processes in which ty, or what is run instead, runs."""
        found = []
        for pid in children_of(self.pid):
            with contextlib.suppress(OSError):
                if b"--output-format" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    @property
    def pid(self) -> int:
        """The process that was started for the fork server."""
        return pid_of(self.examiner)

    @property
    def place(self) -> str | None:
        """The folder that it has among the files of the machine, if any."""
        assert self.examiner.server is not None
        place: str | None = self.examiner.server.report["place"]
        return place


def pid_of(examiner: Examiner) -> int:
    assert examiner.server is not None
    assert examiner.server._process is not None
    return examiner.server._process.pid
