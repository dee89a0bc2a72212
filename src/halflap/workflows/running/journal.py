"""What a run has done, task by task: whoever goes on with it after a crash does not do it again."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

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
from halflap.workflows.form import read_net, write_net
from halflap.workflows.running.occurrence import Items, Occurrence
from halflap.workflows.running.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from halflap.workflows.net import Net, Task

__all__ = ["Journal"]

_UNSENT = (
    InvalidArgumentsError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
)
"""What is raised before a server has heard anything of a call."""
_MARKED = re.compile(r"(\w+)#([0-9]{1,9})\.([1-9][0-9]{0,8})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?", re.ASCII)
_QUIET_SECONDS = 30.0
"""If a program that is played again asks for nothing for so long, it will not ask for what it did before."""


@dataclass(frozen=True, slots=True)
class _Returned:
    arguments: str
    result: Result


class Journal:
    """One run: the workflow, what it was given, the tasks that were begun, and what those returned that ended.

    The program of a workflow calls the tools of its tasks by names with a mark, which say whose call it is. What returned
    before is handed out in the order in which it did, and nothing new is done until all of that is.
    """

    def __init__(self, run: str, net: Net, arguments: Mapping[str, Any], pages: Pages | None) -> None:
        self.run = run
        self.net = net
        self.arguments = arguments
        self.recalled = 0
        """How many calls were not made, since what they return is known."""
        self.results: dict[str, Result | list[Result]] = {}
        """What each task returned last, in this run or before."""
        self.ended: list[str] = []
        """The tasks that called a tool, in the order in which they were done."""
        self.changed: list[str] = []
        """Those that were done again because their arguments are others than before."""
        self.fails_again = False
        """Whether a call failed in a way in which it will fail again: its arguments do not fit, and come from what is known."""
        self._pages = pages
        self._tasks = list(net.tasks.values())
        self._repeatable: frozenset[str] = frozenset()
        self._again: frozenset[str] = frozenset()
        self._returned: dict[Occurrence, _Returned] = {}
        """What is known and was not handed out yet, in the order in which it ended."""
        self._open: dict[Occurrence, bool] = {}
        """What was begun and did not end well; whether it failed, as far as one knows."""
        self._done: set[str] = set()
        self._begun: Counter[str] = Counter()
        """How often each tool was called, by what is written down."""
        self._admitted: Counter[str] = Counter()
        """How many calls were on the record and not here when somebody said that they may be made again."""
        self._parts: dict[tuple[str, int], Items] = {}
        """Of tasks that are done for each of many, what there is so far."""
        self._is_resumed = False
        self._asked: set[Occurrence] = set()
        self._turn = asyncio.Condition()
        self._writing = asyncio.Lock()
        self._parted: WorkflowError | None = None
        """Why what the program asks for now is not what it asked for before."""

    @classmethod
    def begin(
        cls,
        folder: Path | None,
        run: str,
        net: Net,
        arguments: Mapping[str, Any],
        repeatable: Collection[str] = (),
    ) -> Journal:
        """Begin a new run, and its file, if one is to be kept; `repeatable` are tools that can be called twice."""
        pages = None if folder is None else Pages.begin(folder, run)
        journal = cls(run, net, arguments, pages)
        journal._repeatable = frozenset(repeatable)
        if pages is not None:
            pages.write({"workflow": write_net(net), "arguments": dict(arguments)})
        return journal

    @classmethod
    def resume(cls, folder: Path, run: str) -> Journal:
        """Read a run that is to be gone on with, by its identifier or the beginning of it."""
        pages = Pages.open(folder, run)
        try:
            said = pages.read()
            try:
                head = said[0]
                if not isinstance(head["arguments"], dict):
                    raise TypeError("the arguments are no object")  # noqa: TRY301 -- told with the others
                journal = cls(pages.run, read_net(head["workflow"]), head["arguments"], pages)
                journal._is_resumed = True
                for one in said[1:]:
                    journal._take(one)
            except (ValueError, LookupError, TypeError, AttributeError, WorkflowError) as error:
                raise pages.damaged(f"it is not what is written there ({error})") from None
        except BaseException:
            pages.close(forget=False)
            raise
        return journal

    def _take(self, said: Mapping[str, Any]) -> None:
        kind = next(iter(said), "")
        if kind == "resumed":
            # Whoever said that these may be done again knew of what was open then.
            again = said["again"]
            self._open = {one: failed for one, failed in self._open.items() if one.task not in again}
            self._admitted = Counter({tool: int(count) for tool, count in said.get("lacking", {}).items()})
            return
        found = Occurrence(*said[kind])
        task = self.net.tasks[found.task]
        wrong = task.tool != said["tool"] or any(type(one) is not int for one in said[kind][1:])
        if wrong or found.time < 1 or not found.fits(task):
            raise ValueError(f"{task.id!r} has no such call")
        if kind == "began":
            self._open[found] = False
            self._begun[said["tool"]] += 1
            self._returned.pop(found, None)
        elif kind == "ended":
            del self._open[found]
            self._returned[found] = _Returned(said["arguments"], Result.from_wire(said["result"]))
            self._done.add(task.id)
        elif kind == "failed":
            self._open[found] = True
        elif kind == "unsent":
            del self._open[found]
        else:
            raise ValueError(f"nothing is called {kind!r}")

    def go_on(
        self, again: Collection[str], repeatable: Collection[str], recorded: Mapping[str, int] | None = None
    ) -> None:
        """Go on, or raise a `WorkflowError` with the tasks that were begun and did not end, and may not be done twice.

        Those of `again` may, and so may those whose tool is `repeatable`, unless the workflow says otherwise. `recorded` says how
        often each tool was called by what others wrote down: if that is more often than is written here, something is missing.
        """
        self._again, self._repeatable = frozenset(again), frozenset(repeatable)
        problems = [
            ("--again", f"There is no task {one!r}.")
            for one in again
            if one not in self.net.tasks or self.net.tasks[one].tool is None
        ]
        places = {task.id: at for at, task in enumerate(self._tasks)}
        for one, what in self.doubtful(again).items():
            only = ", and only that is" if self.net.tasks[one].each is not None else ""
            message = (
                f"'{one}' {what}, and may not be done twice: nothing says that it is idempotent. "
                f"Look whether it was done; if it can be done again{only}, --again {one}."
            )
            problems.append((f"tasks[{places[one]}].idempotent", message))
        lacking = Counter(recorded or {}) - self._begun
        problems += self._missing(lacking - self._admitted)
        if problems:
            raise WorkflowError(problems, f"The run {self.run} cannot be gone on with.")
        if self._pages is not None:
            more = {"lacking": dict(lacking)} if lacking else {}
            self._pages.write({"resumed": time.time(), "again": sorted(again), **more})
        self._open = {one: failed for one, failed in self._open.items() if one.task not in self._again}

    def _missing(self, lacking: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Tell of the tasks that may have been done, though nothing is written of that."""
        for at, task in enumerate(self._tasks):
            count = lacking.get(task.tool or "", 0)
            if count and task.id not in self._again and not self._is_repeatable(task):
                calls = "a call" if count == 1 else f"{count} calls"
                message = (
                    f"The record has {calls} of {task.tool} that the run's file has not: lines are missing from it. So '{task.id}' may "
                    f"have been done, and may not be done twice. Look at `halflap runs show {self.run}`; if it can be done again, "
                    f"--again {task.id}."
                )
                yield f"tasks[{at}].tool", message

    def doubtful(self, again: Collection[str] = ()) -> dict[str, str]:
        """Give the tasks that were begun and did not end well, and may not be done twice; and what became of each.

        That one of them may be done `again` holds for what was begun before that was said, and not since.
        """
        parts = self.partial
        return {
            one.task: parts[one.task].in_words
            if one.item is not None
            else f"was begun and {'failed' if failed else 'did not end'}"
            for one, failed in self._open.items()
            if one.task not in again and not self._is_repeatable(self.net.tasks[one.task])
        }

    def _is_repeatable(self, task: Task) -> bool:
        return task.tool in self._repeatable if task.idempotent is None else task.idempotent

    @property
    def done(self) -> frozenset[str]:
        """The tasks of which it is known what they returned."""
        return frozenset(self._done)

    @property
    def under_way(self) -> list[str]:
        """The tasks that were begun and did not end well."""
        return list(dict.fromkeys(one.task for one in self._open))

    @property
    def partial(self) -> Mapping[str, Items]:
        """The tasks that were begun for each of many, and are not done for all; what became of each item."""
        found = {
            key: replace(part, returned=dict(part.returned), failed=[], unended=[])
            for key, part in self._parts.items()
        }
        for one, known in self._returned.items():
            if one.item is not None and one.items is not None:
                found.setdefault(one[:2], Items(one.items)).returned[one.item] = known.result
        for one, failed in self._open.items():
            if one.item is not None and one.items is not None:
                part = found.setdefault(one[:2], Items(one.items))
                (part.failed if failed else part.unended).append(one.item)
        return {task: part for (task, _), part in sorted(found.items()) if len(part.returned) < part.of}

    @property
    def can_go_on(self) -> bool:
        """Whether there is something to go on with: it is written down, and there was a call."""
        return self._pages is not None and bool(self._is_resumed or self._open or self._done)

    # What the program asks for -----------------------------------------------------------------------

    def tool(self, name: str) -> str | None:
        """Give the tool that a marked name stands for; None if it is not that of a task."""
        found = self._occurrence(name)
        return None if found is None else self.net.tasks[found.task].tool

    def _occurrence(self, name: str) -> Occurrence | None:
        found = _MARKED.fullmatch(name)
        at = int(found[2]) if found is not None else len(self._tasks)
        if found is None or at >= len(self._tasks) or self._tasks[at].tool != found[1]:
            return None
        item, items = (None if text is None else int(text) for text in found.group(4, 5))
        one = Occurrence(self._tasks[at].id, int(found[3]), item, items)
        return one if one.fits(self._tasks[at]) else None

    async def recall(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Give what the call returned before; None if it is to be made now."""
        one = self._known(name)
        if one in self._asked:
            raise WorkflowError([("", f"{one} was asked for twice.")], "The program is not the workflow's.")
        self._asked.add(one)
        known = await self._handed_out(one)
        if known is None:
            return None
        if known.arguments == _digest(arguments):
            self.recalled += 1
            self._note_end(one, known.result)
            return known.result
        if one.task not in self._again and not self._is_repeatable(self.net.tasks[one.task]):
            # At once, with no wait between: those that have their turn now have to see it.
            self._parted = self._parting(
                f"{one} was done before with other arguments than it has now. If it can be done again, --again {one.task}.",
                one,
            )
            raise self._parted
        self.changed.append(one.task)
        return None

    async def make(
        self, name: str, arguments: Mapping[str, Any], call: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Make a call; it is written down before and after."""
        one, given = self._known(name), _digest(arguments)
        await self._note("began", one, arguments=given)
        self._open[one] = False
        try:
            result = await call()
        except _UNSENT as error:
            self.fails_again |= isinstance(error, InvalidArgumentsError)
            await self._note("unsent", one)
            del self._open[one]
            raise
        except HalflapError:
            await self._note("failed", one)
            self._open[one] = True
            raise
        if result.is_error:
            await self._note("failed", one)
            self._open[one] = True
            return result
        await self._note("ended", one, arguments=given, result=result.to_wire())
        del self._open[one]
        self._note_end(one, result)
        return result

    def _known(self, name: str) -> Occurrence:
        one = self._occurrence(name)
        assert one is not None
        return one

    def _note_end(self, one: Occurrence, result: Result) -> None:
        self._done.add(one.task)
        if one.item is None:
            self.results[one.task] = result
        else:
            assert one.items is not None
            part = self._parts.setdefault((one.task, one.time), Items(one.items)).returned
            part[one.item] = result
            if len(part) != one.items:
                return
            self.results[one.task] = [part[at] for at in sorted(part)]
        self.ended.append(one.task)

    async def _handed_out(self, one: Occurrence) -> _Returned | None:
        """Give what is known of it, when all is handed out that returned before; and if nothing is, when all is."""
        async with self._turn:
            # Whoever waits sees that it goes on.
            self._turn.notify_all()
            while self._parted is None and self._returned and next(iter(self._returned)) != one:
                try:
                    async with asyncio.timeout(_QUIET_SECONDS):
                        await self._turn.wait()
                except TimeoutError:
                    first = next(iter(self._returned))
                    self._parted = self._parting(f"{first} was done before, and is not asked for now.", first)
            self._turn.notify_all()
            if self._parted is not None:
                raise self._parted
            return self._returned.pop(one, None)

    def _parting(self, why: str, one: Occurrence) -> WorkflowError:
        at = [task.id for task in self._tasks].index(one.task)
        what = f"The run {self.run} goes another way than before. Nothing new was done."
        return WorkflowError([(f"tasks[{at}]", why)], what)

    async def _note(self, kind: str, one: Occurrence, **more: Any) -> None:
        if self._pages is None:
            return
        said = {kind: one.written, "tool": self.net.tasks[one.task].tool, **more}
        async with self._writing:
            await asyncio.to_thread(self._pages.write, said)

    def close(self, *, is_over: bool) -> None:
        """End; of a run that is over, or in which nothing was done, the file is deleted."""
        if self._pages is not None:
            self._pages.close(forget=is_over or not self.can_go_on)


def _digest(arguments: Mapping[str, Any]) -> str:
    """Give what arguments have in common if they are the same."""
    return sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
