"""An examiner on an event loop in a thread, for tests that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["PATIENT", "Room", "pid_of", "question"]

PATIENT = Orders(seconds=20.0, cpu_seconds=20)
"""On a busy machine an examination may take its time, where time is not what the test is about."""


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

    def skipped(self, code: str, stubs: str = "") -> str:
        """Return the reason why a program is not examined; empty if it is."""
        try:
            self.diagnostics(code, stubs)
        except CheckSkipped as skipped:
            return skipped.reason
        return ""

    def diagnostics(self, code: str, stubs: str = "") -> list[Told]:
        found = self.do(self.examiner.examine(question(code, stubs))).findings
        return sorted(Told(one.rule, at.line, at.column, one.wrong) for at, one in found)

    def works(self) -> bool:
        return [one.rule for one in self.diagnostics("x: int = 'a'")] == ["invalid-assignment"]

    @property
    def report(self) -> dict[str, Any]:
        """What the fork server reported when it started."""
        report: dict[str, Any] = self.do(self.examiner.ready()).report
        return report


def pid_of(examiner: Examiner) -> int:
    """Return the process that was started for the fork server."""
    assert examiner.server is not None
    assert examiner.server._process is not None
    return examiner.server._process.pid
