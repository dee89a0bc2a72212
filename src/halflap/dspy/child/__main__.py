"""The child process: receives jobs as JSON lines, runs them at the same time, sends results and tool calls back."""

from __future__ import annotations

import asyncio
import ctypes
import io
import itertools
import json
import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.dspy.child.modules import Program

_PR_SET_PDEATHSIG = 1


class Child:
    """All jobs of this process."""

    def __init__(self, settings: dict[str, Any], output: io.FileIO) -> None:
        from halflap.config import LmConfig  # noqa: PLC0415 -- imports are reported by `main`
        from halflap.dspy.child.answers import Answers  # noqa: PLC0415
        from halflap.dspy.child.model import make_model  # noqa: PLC0415

        self.lm = LmConfig.model_validate(settings["lm"])
        self.answers = None if settings["cache"] is None else Answers(settings["cache"])
        self.loop = asyncio.get_running_loop()
        self.model = make_model(self.lm, self.answers, self.loop, has_address=settings["configured_base"] is not None)
        self._output = output
        self._lock = threading.Lock()
        self._programs: dict[str, Program | dict[str, Any]] = {}
        self._jobs: dict[int, asyncio.Task[None]] = {}
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
                if message["id"] in self._jobs:
                    self._jobs[message["id"]].cancel()
            case work:
                job = self._run if work == "run" else self._optimize
                task = self.loop.create_task(self._finish(message["id"], job(message)))
                self._jobs[message["id"]] = task
                task.add_done_callback(lambda _: self._jobs.pop(message["id"], None))

    def send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._output.write(json.dumps(message).encode() + b"\n")

    async def call(self, job: int, tool: str, arguments: dict[str, Any]) -> str:
        """Have the parent call a tool for a job, and wait for the text that describes the result."""
        number = next(self._numbers)
        future: asyncio.Future[str] = self.loop.create_future()
        self._calls[number] = future
        try:
            self.send({"id": job, "call": number, "tool": tool, "arguments": arguments})
        except (TypeError, ValueError):
            return "Error: the arguments are not JSON."
        return await future

    async def _finish(self, number: int, work: Any) -> None:
        from halflap.core.errors import UsageError  # noqa: PLC0415
        from halflap.dspy.child.answers import CacheError  # noqa: PLC0415
        from halflap.dspy.child.failures import explain  # noqa: PLC0415

        try:
            answer = {"result": await work}
        except asyncio.CancelledError:
            answer = {"error": {"kind": "failed", "message": "it was cancelled."}}
        except CacheError as error:
            answer = {"error": {"kind": "cache", "message": str(error)}}
        except UsageError as error:
            answer = {"error": {"kind": "usage", "message": str(error)}}
        except Exception as error:  # noqa: BLE001 -- everything is reported to the parent
            answer = {"error": {"kind": "failed", "message": explain(error, self.lm)}}
        self.send({"id": number, **answer})

    async def _run(self, message: dict[str, Any]) -> dict[str, Any]:
        from halflap.dspy.child.model import Job  # noqa: PLC0415
        from halflap.dspy.child.modules import Program  # noqa: PLC0415

        if self.answers is not None:
            await asyncio.to_thread(self.answers.check)
        found = self._programs[message["program"]]
        if isinstance(found, dict):
            self._programs[message["program"]] = found = Program.build(found)
        job = Job(message["id"], self.call, time.monotonic() + message["seconds"])
        try:
            began = time.perf_counter()
            prediction = await found.run(message["inputs"], self.model, self.lm.adapter, job)
            milliseconds = (time.perf_counter() - began) * 1000
            outputs = found.outputs(prediction)
        except Exception as error:
            if self.answers is not None and not job.is_unanswered(error):
                # A useless answer would fail in the same way forever.
                await asyncio.to_thread(self.answers.forget, job.keys)
            raise
        return {"outputs": outputs, "milliseconds": round(milliseconds, 3), "cache_hit": job.cache_hit}

    async def _optimize(self, message: dict[str, Any]) -> dict[str, Any]:
        from halflap.dspy.child.optimizers import optimize  # noqa: PLC0415

        if self.answers is not None:
            await asyncio.to_thread(self.answers.check)
        return await optimize(self, message)


async def _serve(output: io.FileIO) -> None:
    loop = asyncio.get_running_loop()
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        child = Child(settings, output)
    except Exception as error:  # noqa: BLE001 -- a broken installation can raise anything
        told = f"DSPy cannot be used: {type(error).__name__}: {error}"
        output.write(json.dumps({"ready": False, "error": told}).encode() + b"\n")
        return

    def read() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(child.receive, line)
        # The parent is gone.
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    child.send({"ready": True})
    await loop.create_future()


def main() -> None:
    """Serve until the parent closes the pipe or dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Only messages go to the pipe: what DSPy or a metric prints, and what they start, goes to stderr.
    output = io.FileIO(os.dup(1), "w")
    os.dup2(2, 1)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 -- os.devnull is no path
        sys.stdout = nowhere
        logging.basicConfig(level=logging.WARNING, format="%(message)s")
        asyncio.run(_serve(output))


if __name__ == "__main__":
    main()
