"""What a run has done, call by call, in a file: whoever goes on with it after a crash does not do it again."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections import defaultdict, deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.errors import (
    FileError,
    InvalidArgumentsError,
    RunNotFoundError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
    UsageError,
    WorkflowError,
)
from halflap.values import Result
from halflap.workflows.form import read_net, write_net

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from pathlib import Path

    from halflap.workflows.net import Net

__all__ = ["Journal", "forget_old"]

_SUFFIX = ".jsonl"
_SHORTEST = 4
_UNSENT = (
    InvalidArgumentsError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
    UpstreamUnavailableError,
)
"""What is raised before a server has heard anything of a call."""


class Journal:
    """One run: the workflow, what it was given, the calls that were begun, and what those returned that ended."""

    def __init__(self, run: str, file: Path, descriptor: int) -> None:
        self.run = run
        self.recalled = 0
        """How many calls were not made, since what they return is known."""
        self._file = file
        self._descriptor = descriptor
        self._returned: dict[str, deque[Result]] = defaultdict(deque)
        self._open: dict[str, list[str]] = defaultdict(list)
        """Of each call that was begun and did not end well, the tool, as often as that was."""
        self._writing = asyncio.Lock()
        self.net: Net
        self.arguments: Mapping[str, Any]

    @classmethod
    def begin(cls, folder: Path, run: str, net: Net, arguments: Mapping[str, Any]) -> Journal:
        """Begin the file of a new run; only its owner can read it."""
        file = folder / f"{run}{_SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise FileError(
                f"{file} cannot be written: {error.strerror}. A run is written down there, to go on with after a crash."
            ) from None
        journal = cls(run, file, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        journal.net, journal.arguments = net, arguments
        journal._write({"workflow": write_net(net), "arguments": dict(arguments)})
        return journal

    @classmethod
    def resume(cls, folder: Path, run: str, again: Collection[str]) -> Journal:
        """Go on with a run, by its identifier or the beginning of it.

        A `WorkflowError` names the tasks that were begun and did not end, and may not be done twice; those of `again` may.
        """
        found = sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []
        near = [one for one in found if len(run) >= _SHORTEST and one.stem.startswith(run)]
        if len(near) > 1 and run not in {one.stem for one in near}:
            raise UsageError(f"{run!r} is the beginning of several runs. Write more of it.")
        if not near:
            raise RunNotFoundError(run)
        descriptor = os.open(near[0], os.O_RDWR | os.O_APPEND)
        journal = cls(near[0].stem, near[0], descriptor)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"The run {journal.run} is under way. Wait for its end.") from None
            journal._read()
            journal._may_go_on(again)
            journal._write({"resumed": time.time()})
        except BaseException:
            os.close(descriptor)
            raise
        journal._open.clear()
        return journal

    def _read(self) -> None:
        with os.fdopen(os.dup(self._descriptor), "rb") as stream:
            stream.seek(0)
            lines = stream.read().split(b"\n")
        # What comes after the last line break was being written when it crashed.
        torn = len(lines.pop())
        if torn:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - torn)
        try:
            head = json.loads(lines[0])
            self.net, self.arguments = read_net(head["workflow"]), head["arguments"]
            for line in lines[1:]:
                self._take(json.loads(line))
        except (ValueError, LookupError, TypeError, WorkflowError) as error:
            raise FileError(f"{self._file} is damaged: {error}. Run the workflow from the start.") from None

    def _take(self, said: Mapping[str, Any]) -> None:
        if "began" in said:
            self._open[said["began"]].append(said["tool"])
        elif "ended" in said:
            self._returned[said["ended"]].append(Result.from_wire(said["result"]))
            if self._open[said["ended"]]:
                self._open[said["ended"]].pop()
        elif "unsent" in said:
            if self._open[said["unsent"]]:
                self._open[said["unsent"]].pop()
        elif "resumed" in said:
            # What was open then was begun anew.
            self._open.clear()

    def _may_go_on(self, again: Collection[str]) -> None:
        unknown = [one for one in again if one not in self.net.tasks]
        problems = [("--again", f"There is no task {one!r}.") for one in unknown]
        tools = {tool for open_ in self._open.values() for tool in open_}
        for at, task in enumerate(self.net.tasks.values()):
            if task.tool in tools and task.idempotent is not True and task.id not in again:
                message = (
                    f"'{task.id}' was begun and did not end, and may not be done twice: nothing says that it is idempotent. "
                    f"Look whether it was done; if it can be done again, --again {task.id}."
                )
                problems.append((f"tasks[{at}].idempotent", message))
        if problems:
            raise WorkflowError(problems, f"The run {self.run} cannot be gone on with.")

    async def through(
        self, name: str, arguments: Mapping[str, Any], call: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Give what the call returned before, or make it; it is written down before and after."""
        key = _key(name, arguments)
        if self._returned[key]:
            self.recalled += 1
            return self._returned[key].popleft()
        await self._note({"began": key, "tool": name})
        try:
            result = await call()
        except _UNSENT:
            await self._note({"unsent": key})
            raise
        if not result.is_error:
            await self._note({"ended": key, "result": result.to_wire()})
        return result

    async def _note(self, said: Mapping[str, Any]) -> None:
        async with self._writing:
            try:
                await asyncio.to_thread(self._write, said)
            except OSError as error:
                raise FileError(f"{self._file} cannot be written: {error.strerror}.") from None

    def _write(self, said: Mapping[str, Any]) -> None:
        data = json.dumps(said).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)

    def close(self, *, forget: bool) -> None:
        """End; a run that is over is forgotten."""
        if forget:
            self._file.unlink(missing_ok=True)
        os.close(self._descriptor)


def forget_old(folder: Path, days: float) -> None:
    """Take out the files of runs that nobody has gone on with for so long."""
    for file in folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ():
        if time.time() - file.stat().st_mtime > days * 86_400:
            file.unlink(missing_ok=True)


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    """Give what two calls have in common if they are the same."""
    return sha256(json.dumps([name, arguments], sort_keys=True).encode()).hexdigest()
