"""An examiner on an event loop in a thread, for tests that are not asynchronous."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders
from loop_thread import LoopThread

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


class Room(LoopThread):
    """An examiner that tests can use without a loop."""

    def __init__(self, orders: Orders = PATIENT) -> None:
        super().__init__()
        self._orders = orders

    def __enter__(self) -> Self:
        self.examiner = Examiner(self._orders)
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.examiner.close())
        self.stop()

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
