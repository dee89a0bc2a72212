"""The jobs of the child process: run at the same time, each with its own tool calls."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from dspy.utils.exceptions import LMError

from halflap.config import LmConfig
from halflap.core.errors import UsageError
from halflap.dspy.child.answers import Answers, CacheError
from halflap.dspy.child.failures import explain
from halflap.dspy.child.model import Job, make_model
from halflap.dspy.child.modules import Program
from halflap.dspy.child.optimizers import optimize

if TYPE_CHECKING:
    import io
    from collections.abc import Coroutine

__all__ = ["Jobs"]


class Jobs:
    """Receives messages, and sends back results, tool calls and progress."""

    def __init__(self, settings: dict[str, Any], output: io.FileIO) -> None:
        self._loop = asyncio.get_running_loop()
        self._lm = LmConfig.model_validate(settings["lm"])
        self._answers = None if settings["cache"] is None else Answers(settings["cache"])
        has_address = settings["configured_base"] is not None
        self._model = make_model(self._lm, self._answers, self._loop, has_address=has_address)
        self._output = output
        self._lock = threading.Lock()
        self._programs: dict[str, Program | dict[str, Any]] = {}
        """As they were sent, until they are first run."""
        self._running: dict[int, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[str]] = {}

    def receive(self, line: bytes) -> None:
        message = json.loads(line)
        match message["do"]:
            case "load":
                self._programs[message["program"]] = message
            case "unload":
                self._programs.pop(message["program"], None)
            case "answer":
                future = self._calls.pop(message["call"], None)
                if future is not None and not future.done():
                    future.set_result(message["text"])
            case "cancel":
                if message["id"] in self._running:
                    self._running[message["id"]].cancel()
            case work:
                job = self._run(message) if work == "run" else self._optimize(message)
                task = self._loop.create_task(self._finish(message["id"], job))
                self._running[message["id"]] = task
                task.add_done_callback(lambda _: self._running.pop(message["id"], None))

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; also from a thread."""
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            while line:
                line = line[self._output.write(line) :]

    async def _call(self, job: int, tool: str, arguments: dict[str, Any]) -> str:
        """Let the parent call a tool, and return the text that describes the result."""
        number = next(self._numbers)
        future: asyncio.Future[str] = self._loop.create_future()
        self._calls[number] = future
        try:
            self.send({"id": job, "call": number, "tool": tool, "arguments": arguments})
        except (TypeError, ValueError):
            return "Error: the arguments are not JSON."
        return await future

    async def _finish(self, number: int, work: Coroutine[Any, Any, dict[str, Any]]) -> None:
        try:
            if self._answers is not None:
                self._answers.check()
            answer: dict[str, Any] = {"result": await work}
        except asyncio.CancelledError:
            answer = {"error": {"kind": "failed", "message": "it was cancelled."}}
        except CacheError as error:
            answer = {"error": {"kind": "cache", "message": str(error)}}
        except UsageError as error:
            answer = {"error": {"kind": "usage", "message": str(error)}}
        except Exception as error:  # noqa: BLE001 -- everything is reported to the parent
            answer = {"error": {"kind": "failed", "message": explain(error, self._lm)}}
        finally:
            work.close()
        self.send({"id": number, **answer})

    async def _run(self, message: dict[str, Any]) -> dict[str, Any]:
        found = self._programs[message["program"]]
        if isinstance(found, dict):
            self._programs[message["program"]] = found = Program.build(found)
        job = Job(message["id"], self._call, time.monotonic() + message["seconds"])
        try:
            began = time.perf_counter()
            prediction = await found.run(message["inputs"], self._model, self._lm.adapter, job)
            milliseconds = (time.perf_counter() - began) * 1000
            outputs = found.outputs(prediction)
        except Exception as error:
            if self._answers is not None and not isinstance(error, LMError):
                # A useless answer would fail in the same way forever.
                self._answers.forget(job.keys)
            raise
        return {"outputs": outputs, "milliseconds": round(milliseconds, 3), "cache_hit": job.cache_hit}

    async def _optimize(self, message: dict[str, Any]) -> dict[str, Any]:
        def report(progress: dict[str, Any]) -> None:
            self.send({"id": message["id"], "progress": progress})

        job = Job(message["id"], self._call, is_optimizing=True)
        return await optimize(message, self._model, self._lm.adapter, job, report)
