"""The jobs of the child process, which run concurrently."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.config import LmConfig
from halflap.core.errors import UsageError
from halflap.dspy.child.answers import Answers, CacheError
from halflap.dspy.child.failures import explain
from halflap.dspy.child.model import Job, Model
from halflap.dspy.child.modules import Program
from halflap.dspy.child.optimizers import optimize

if TYPE_CHECKING:
    import io


class Jobs:
    """Receives messages, and sends back results, tool calls and progress."""

    def __init__(self, settings: Mapping[str, Any], output: io.FileIO) -> None:
        self._loop = asyncio.get_running_loop()
        self._lm = LmConfig.model_validate(settings["lm"])
        self._answers = None if settings["cache"] is None else Answers(settings["cache"])
        self._model = Model(self._lm, self._answers, self._loop)
        self._output = output
        self._lock = threading.Lock()
        self._built: dict[str, tuple[str, Program]] = {}
        """The latest version of each program, with its key."""
        self._running: dict[int, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[str]] = {}

    def receive(self, message: dict[str, Any]) -> None:
        match message["do"]:
            case "answer":
                future = self._calls.pop(message["call"], None)
                if future is not None and not future.done():
                    future.set_result(message["text"])
            case "cancel":
                if message["id"] in self._running:
                    self._running[message["id"]].cancel()
            case _:
                task = self._loop.create_task(self._work(message))
                self._running[message["id"]] = task
                task.add_done_callback(lambda _: self._running.pop(message["id"], None))

    def send(self, message: Mapping[str, Any]) -> None:
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

    async def _work(self, message: dict[str, Any]) -> None:
        try:
            if self._answers is not None:
                self._answers.open()
            result = await (self._run(message) if message["do"] == "run" else self._optimize(message))
        except asyncio.CancelledError:
            kind, text = "failed", "it was cancelled."
        except CacheError as error:
            kind, text = "cache", str(error)
        except UsageError as error:
            kind, text = "usage", str(error)
        except Exception as error:  # noqa: BLE001 -- everything is reported to the parent
            kind, text = "failed", explain(error, self._lm)
        else:
            self.send({"id": message["id"], "result": result})
            return
        self.send({"id": message["id"], "kind": kind, "error": text})

    async def _run(self, message: dict[str, Any]) -> dict[str, Any]:
        name = message["spec"]["name"]
        key, program = self._built.get(name, ("", None))
        if program is None or key != message["key"]:
            program = Program.build(message)
            self._built[name] = message["key"], program
        job = Job(message["id"], self._call, time.monotonic() + message["seconds"])
        began = time.perf_counter()
        prediction = await program.run(message["inputs"], self._model, job)
        milliseconds = (time.perf_counter() - began) * 1000
        outputs = program.outputs(prediction)
        if self._answers is not None:
            # Not before: an unusable answer would fail in the same way each time.
            self._answers.keep(job.new)
        return {"outputs": outputs, "milliseconds": milliseconds, "cache_hit": job.cache_hit}

    async def _optimize(self, message: dict[str, Any]) -> dict[str, Any]:
        def report(progress: dict[str, Any]) -> None:
            self.send({"id": message["id"], "progress": progress})

        job = Job(message["id"], self._call, is_optimizing=True)
        return await optimize(message, self._model, job, report)
