"""The calls of a workflow run by task: those recorded before an interruption are answered from the store, new ones are tracked.

The identifier of each call ends with a mark that names its task and repetition. A resumed run executes the same program from the
start; calls with a recorded result return that instead of calling the tool again.
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
    SignInNeededError,
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
    SignInNeededError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
)
"""Raised before anything was sent to the server."""
_UNSENT_CODES = {error.code for error in _UNSENT}
_MARKED = re.compile(r"(\w+)#([0-9]{1,9})\.([1-9][0-9]{0,8})", re.ASCII)
_BEGUN, _FAILED = "was started and did not finish", "was started and failed"


class _Call(NamedTuple):
    """A task, and the number of its repetition."""

    task: str
    time: int


class Journal:
    """One run: the results of its tasks and the state of each call, for the report and for resuming."""

    def __init__(
        self, run: str, net: Net, recorded: Sequence[CallRecord] = (), *, keeps: bool = True
    ) -> None:
        """Start with the `recorded` calls; `keeps` is whether new ones are recorded in full."""
        self.run = run
        self.net = net
        self.recalled = 0
        """How many calls were answered from the record."""
        self.results: dict[str, Result] = {}
        """The last result of each task."""
        self.ended: list[str] = []
        """The tasks that called a tool, in the order in which they finished."""
        self._keeps = keeps
        self._tasks = list(net.tasks.values())
        self._returned: dict[_Call, tuple[Any, Result]] = {}
        """Recorded arguments and results that were not used yet."""
        self._open: dict[_Call, str] = {}
        """Calls without a usable result, and what happened to each."""
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
        """Tasks that were started and did not succeed."""
        return list(dict.fromkeys(one.task for one in self._open))

    @property
    def can_resume(self) -> bool:
        return self._keeps and bool(self._open or self.done)

    def doubtful(self) -> dict[str, str]:
        """Return the tasks that may have been done and must not be repeated, with what happened to each."""
        return {
            one.task: what
            for one, what in self._open.items()
            if not self._may_repeat(self.net.tasks[one.task])
        }

    def begin(self, again: Collection[str], repeatable: Collection[str]) -> None:
        """Start or resume. A `WorkflowError` names tasks that may have been done and must not be repeated.

        Tasks in `again` may be repeated, and those whose tool is `repeatable` unless their `idempotent` is false.
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
                f"'{one}' {what}, and may not be idempotent. Check whether it was done; "
                f"to repeat it: --again {one}."
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
        """Return the recorded result of a call, or None if it has to be made."""
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
        message = f"'{one.task}' was done before with other arguments. To repeat it: --again {one.task}."
        raise WorkflowError(
            [(self._path(one), message)], f"The run {self.run} cannot be resumed: it differs from before."
        )

    async def make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call, and record what happened to it."""
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
