"""The calls of a workflow run by task: those recorded before an interruption are answered from the store, new ones are tracked.

Every call is recorded under an identifier that ends with its mark, which states its task and how many times the task was done. A resumed
run plays the same program again, and what returned is handed out instead of being called again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.calls import MARK
from halflap.core.errors import (
    HalflapError,
    InvalidArgumentsError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
    WorkflowError,
)
from halflap.core.values import Result
from halflap.store import SENT

if TYPE_CHECKING:
    from halflap.store import CallRecord
    from halflap.workflows.model.net import Net, Task

_UNSENT = (
    InvalidArgumentsError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
)
"""Raised before the server was asked anything."""
_UNSENT_CODES = {error.code for error in _UNSENT}
_MARKED = re.compile(r"(\w+)#([0-9]{1,9})\.([1-9][0-9]{0,8})", re.ASCII)
_BEGUN, _FAILED = "was begun and did not end", "was begun and failed"


class _Call(NamedTuple):
    """A task, and which time it is done."""

    task: str
    time: int


class Journal:
    """One run: the results of its tasks and the state of each call, for the report and for resuming."""

    def __init__(
        self, run: str, net: Net, recorded: Sequence[CallRecord] = (), *, keeps: bool = True
    ) -> None:
        """Begin with the calls recorded so far; `keeps` is whether new ones are recorded in full."""
        self.run = run
        self.net = net
        self.recalled = 0
        """How many calls were answered from the record."""
        self.results: dict[str, Result] = {}
        """What each task returned last."""
        self.ended: list[str] = []
        """The tasks that called a tool, in the order they ended."""
        self._keeps = keeps
        self._tasks = list(net.tasks.values())
        self._returned: dict[_Call, tuple[Any, Result]] = {}
        """Arguments and results on record that were not handed out yet."""
        self._open: dict[_Call, str] = {}
        """Calls without a usable result, and what became of each."""
        self._may_repeat: Callable[[Task], bool] = lambda task: bool(task.idempotent)
        for record in sorted(recorded, key=lambda one: one.started_at):
            call = self._call(f"x#{record.id.partition('#')[2]}")
            if call is not None:
                self._read(call, record)

    def _read(self, call: _Call, record: CallRecord) -> None:
        self._open.pop(call, None)
        self._returned.pop(call, None)
        is_whole = record.result and record.arguments and not record.result_cut and MARK not in record.result
        if record.outcome == "ok" and is_whole:
            result = Result.from_wire(json.loads(record.result or ""))
            self._returned[call] = (json.loads(record.arguments or ""), result)
        elif record.outcome == "ok":
            self._open[call] = "ended, but its result is not recorded in full"
        elif record.outcome in {SENT, "cancelled"}:
            self._open[call] = _BEGUN
        elif record.outcome not in _UNSENT_CODES:
            self._open[call] = _FAILED

    def _call(self, name: str) -> _Call | None:
        found = _MARKED.fullmatch(name)
        if found is None or int(found[2]) >= len(self._tasks):
            return None
        task = self._tasks[int(found[2])]
        return _Call(task.id, int(found[3])) if task.tool and found[1] in {"x", task.tool} else None

    # State --------------------------------------------------------------------------------------------

    @property
    def done(self) -> frozenset[str]:
        """Tasks with a known result."""
        return frozenset({one.task for one in self._returned} | self.results.keys())

    @property
    def under_way(self) -> list[str]:
        """Tasks that were begun and did not end well."""
        return list(dict.fromkeys(one.task for one in self._open))

    @property
    def can_resume(self) -> bool:
        return self._keeps and bool(self._open or self.done)

    def doubtful(self) -> dict[str, str]:
        """Return the tasks that may have been done, must not be done twice, and what became of each."""
        return {
            one.task: what
            for one, what in self._open.items()
            if not self._may_repeat(self.net.tasks[one.task])
        }

    def begin(self, again: Collection[str], repeatable: Collection[str]) -> None:
        """Begin or resume. A `WorkflowError` names tasks that may have been done and must not be done twice.

        Those of `again` may be, and so may those whose tool is `repeatable`, unless the workflow says otherwise.
        """

        def may_repeat(task: Task) -> bool:
            known = task.tool in repeatable if task.idempotent is None else task.idempotent
            return known or task.id in again

        self._may_repeat = may_repeat
        called = [task.id if task.tool else None for task in self._tasks]
        problems = [
            ("--again", f"There is no task {one!r} with a tool.") for one in again if one not in called
        ]
        for one, what in self.doubtful().items():
            message = (
                f"'{one}' {what}, and nothing says that it may be done twice. Check whether it was done; "
                f"if it may be done again: --again {one}."
            )
            problems.append((f"tasks[{called.index(one)}].idempotent", message))
        if problems:
            raise WorkflowError(problems, f"The run {self.run} cannot be resumed.")
        self._open = {one: what for one, what in self._open.items() if one.task not in again}

    # Calls of the program -----------------------------------------------------------------------------

    def tool(self, name: str) -> str | None:
        """Return the tool behind a marked name; None if it belongs to no task."""
        found = self._call(name)
        return None if found is None else self.net.tasks[found.task].tool

    def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Return what the call returned before, or None if it has to be made."""
        one = self._call(name)
        assert one is not None
        if one not in self._returned:
            return None
        before, result = self._returned.pop(one)
        if before == json.loads(json.dumps(arguments)):
            self.recalled += 1
            self._end(one, result)
            return result
        if self._may_repeat(self.net.tasks[one.task]):
            return None
        message = f"'{one.task}' was done before with other arguments. To do it again: --again {one.task}."
        raise WorkflowError(
            [(self._path(one), message)], f"The run {self.run} takes another course than before."
        )

    async def make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call, and note what became of it."""
        one = self._call(name)
        assert one is not None
        self._open[one] = _BEGUN
        try:
            result = await call()
        except _UNSENT:
            del self._open[one]
            raise
        except HalflapError:
            self._open[one] = _FAILED
            raise
        if result.is_error:
            self._open[one] = _FAILED
        else:
            del self._open[one]
            self._end(one, result)
        return result

    def _end(self, one: _Call, result: Result) -> None:
        self.results[one.task] = result
        self.ended.append(one.task)

    def _path(self, one: _Call) -> str:
        return f"tasks[{list(self.net.tasks).index(one.task)}]"
