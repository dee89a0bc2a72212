"""The calls of a workflow run by task: those recorded before an interruption are answered from the store, new ones are tracked.

Every call is recorded under an identifier that ends with its mark, which states its task and how many times the task was done. A resumed
run plays the same program again: what returned is handed out, and nothing new is called until all of that was asked for.
"""

from __future__ import annotations

import asyncio
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
from halflap.store import SENT, TOOL_ERROR

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
_QUIET_SECONDS = 30.0
"""A replayed program that asks for nothing for so long will not ask for what it did before."""


class _Occurrence(NamedTuple):
    """A task, and which time it is done."""

    task: str
    time: int


class Journal:
    """One run. Task results and the state of each call, for the report and for resuming."""

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
        self.changed: list[str] = []
        """Tasks done again because their arguments differ from before."""
        self.fails_again = False
        """Whether a call failed in a way that a resumed run would repeat: its arguments are invalid."""
        self._keeps = keeps
        self._tasks = list(net.tasks.values())
        self._returned: dict[_Occurrence, tuple[Any, Result]] = {}
        """Arguments and results on record that were not handed out yet."""
        self._open: dict[_Occurrence, str] = {}
        """Calls without a usable result, and what became of each."""
        self._again: frozenset[str] = frozenset()
        self._repeatable: frozenset[str] = frozenset()
        self._turn = asyncio.Condition()
        self._diverged: WorkflowError | None = None
        for record in sorted(recorded, key=lambda one: one.started_at):
            self._read(record)

    def _read(self, record: CallRecord) -> None:
        mark = record.id.partition("#")[2]
        one = self._occurrence(f"x#{mark}")
        if one is None:
            return
        self._open.pop(one, None)
        self._returned.pop(one, None)
        usable = record.result is not None and not record.result_cut and MARK not in record.result
        if record.outcome == "ok" and usable and record.arguments is not None:
            result = Result.from_wire(json.loads(record.result or ""))
            self._returned[one] = (json.loads(record.arguments), result)
        elif record.outcome == "ok":
            self._open[one] = "ended, but its result is not recorded in full"
        elif record.outcome == TOOL_ERROR or record.outcome not in {SENT, "cancelled", *_UNSENT_CODES}:
            self._open[one] = "was begun and failed"
        elif record.outcome not in _UNSENT_CODES:
            self._open[one] = "was begun and did not end"

    def _occurrence(self, name: str) -> _Occurrence | None:
        found = _MARKED.fullmatch(name)
        if found is None or int(found[2]) >= len(self._tasks):
            return None
        task = self._tasks[int(found[2])]
        if task.tool is None or found[1] not in {"x", task.tool}:
            return None
        return _Occurrence(task.id, int(found[3]))

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

    def doubtful(self, again: Collection[str] = ()) -> dict[str, str]:
        """Return the tasks that may have been done, must not be done twice, and what became of each."""
        return {
            one.task: what
            for one, what in self._open.items()
            if one.task not in again and not self._is_repeatable(self.net.tasks[one.task])
        }

    def _is_repeatable(self, task: Task) -> bool:
        return task.tool in self._repeatable if task.idempotent is None else task.idempotent

    def begin(self, again: Collection[str], repeatable: Collection[str]) -> None:
        """Begin or resume. A `WorkflowError` names tasks that may have been done and must not be done twice.

        Those of `again` may be, and so may those whose tool is `repeatable`, unless the workflow says otherwise.
        """
        self._again, self._repeatable = frozenset(again), frozenset(repeatable)
        problems = [
            ("--again", f"There is no task {one!r} with a tool.")
            for one in again
            if one not in self.net.tasks or self.net.tasks[one].tool is None
        ]
        places = {task.id: at for at, task in enumerate(self._tasks)}
        for one, what in self.doubtful(again).items():
            message = (
                f"'{one}' {what}, and nothing says that it may be done twice. Check whether it was done; "
                f"if it may be done again: --again {one}."
            )
            problems.append((f"tasks[{places[one]}].idempotent", message))
        if problems:
            raise WorkflowError(problems, f"The run {self.run} cannot be resumed.")
        self._open = {one: what for one, what in self._open.items() if one.task not in self._again}

    # Calls of the program -----------------------------------------------------------------------------

    def tool(self, name: str) -> str | None:
        """Return the tool behind a marked name; None if it belongs to no task."""
        found = self._occurrence(name)
        return None if found is None else self.net.tasks[found.task].tool

    async def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Return what the call returned before, or None if it has to be made."""
        one = self._occurrence(name)
        assert one is not None
        async with self._turn:
            self._turn.notify_all()
            known = self._returned.pop(one, None)
            while known is None and self._returned and self._diverged is None:
                try:
                    async with asyncio.timeout(_QUIET_SECONDS):
                        await self._turn.wait()
                except TimeoutError:
                    first = next(iter(self._returned))
                    self._diverge(first, "was done before, and is not asked for now.")
            self._turn.notify_all()
            if self._diverged is not None:
                raise self._diverged
        if known is None:
            return None
        if known[0] == json.loads(json.dumps(arguments)):
            self.recalled += 1
            self._note_end(one, known[1])
            return known[1]
        if one.task not in self._again and not self._is_repeatable(self.net.tasks[one.task]):
            self._diverge(
                one, f"was done before with other arguments. If it may be done again: --again {one.task}."
            )
            assert self._diverged is not None
            raise self._diverged
        self.changed.append(one.task)
        return None

    async def make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call, and note what became of it."""
        one = self._occurrence(name)
        assert one is not None
        self._open[one] = "was begun and did not end"
        try:
            result = await call()
        except _UNSENT as error:
            self.fails_again |= isinstance(error, InvalidArgumentsError)
            del self._open[one]
            raise
        except HalflapError:
            self._open[one] = "was begun and failed"
            raise
        if result.is_error:
            self._open[one] = "was begun and failed"
        else:
            del self._open[one]
            self._note_end(one, result)
        return result

    def _note_end(self, one: _Occurrence, result: Result) -> None:
        self.results[one.task] = result
        self.ended.append(one.task)

    def _diverge(self, one: _Occurrence, why: str) -> None:
        at = [task.id for task in self._tasks].index(one.task)
        what = f"The run {self.run} takes another course than before. Nothing new was called."
        self._diverged = WorkflowError([(f"tasks[{at}]", f"'{one.task}' {why}")], what)
