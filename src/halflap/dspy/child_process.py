"""The child process in which DSPy runs, seen from the parent; the two exchange lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.environment import machine_environment

if TYPE_CHECKING:
    CallTool = Callable[[str, Mapping[str, Any]], Awaitable[str]]

_MAX_LINE = 64 * 1024 * 1024
_CANCEL_SECONDS = 10.0
"""How long the child may take to confirm a cancellation; after that it counts as hung."""


class ProcessEndedError(Exception):
    """The child process ended, or had to be ended, while a job was running."""


@dataclass(slots=True)
class _Job:
    call_tool: CallTool | None
    progress: Callable[[Mapping[str, Any]], None] | None
    answer: asyncio.Future[dict[str, Any]]
    calls: set[asyncio.Task[None]] = field(default_factory=set)


class ChildProcess:
    """Runs jobs concurrently; if the process ends or hangs, all of them fail."""

    def __init__(
        self, process: asyncio.subprocess.Process, redact: Callable[[str], str], show: Callable[[str], None]
    ) -> None:
        self._process = process
        assert process.stdin is not None
        self._stdin = process.stdin
        self._redact = redact
        self._numbers = itertools.count()
        self._jobs: dict[int, _Job] = {}
        self._reason = ""
        self._tasks = {asyncio.create_task(self._read()), asyncio.create_task(self._show(show))}

    @classmethod
    async def start(
        cls, settings: Mapping[str, Any], redact: Callable[[str], str], show: Callable[[str], None]
    ) -> ChildProcess:
        """Start a child, which imports DSPy; `show` receives each line that it prints. Everything is redacted."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "halflap.dspy.child",
            env=_environment(), limit=_MAX_LINE, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        child = cls(process, redact, show)
        try:
            # The key travels through the pipe: environments and command lines can be read by others.
            answer = await child.run(settings)
        except BaseException:
            await child.close()
            raise
        if "error" in answer:
            await child.close()
            raise ProcessEndedError(answer["error"])
        return child

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self._reason

    async def run(
        self,
        message: Mapping[str, Any],
        call_tool: CallTool | None = None,
        progress: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Run a job and return the child's answer; cancelling ends only this job, if the child obeys."""
        number = next(self._numbers)
        job = self._jobs[number] = _Job(call_tool, progress, asyncio.get_running_loop().create_future())
        try:
            if not self.is_running:
                raise self._ended()
            await self._send({**message, "id": number})
            return await asyncio.shield(job.answer)
        except asyncio.CancelledError:
            task = asyncio.create_task(self._cancel(number, job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            raise
        finally:
            for call in job.calls:
                call.cancel()
            if job.answer.done():
                self._jobs.pop(number, None)

    async def close(self) -> None:
        """End the child and everything that it runs."""
        self._kill("it was closed")
        with contextlib.suppress(ProcessLookupError):
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._stdin.close()

    async def _send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            self._stdin.write(json.dumps(message).encode() + b"\n")
            await self._stdin.drain()

    async def _cancel(self, number: int, job: _Job) -> None:
        await self._send({"do": "cancel", "id": number})
        await asyncio.wait([job.answer], timeout=_CANCEL_SECONDS)
        self._jobs.pop(number, None)
        if not job.answer.done():
            self._kill("it stopped responding while another DSPy program was cancelled")

    def _kill(self, reason: str) -> None:
        self._reason = self._reason or reason
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _ended(self) -> ProcessEndedError:
        code = self._process.returncode
        if code is not None and code < 0:
            return ProcessEndedError(self._reason or f"it was ended by {signal.Signals(-code).name}")
        return ProcessEndedError(self._reason or f"it exited with status {code}")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._receive(json.loads(self._redact(line.decode())))
        except (ValueError, KeyError, TypeError):
            self._kill("it sent something unreadable")
        finally:
            await self._process.wait()
            for job in self._jobs.values():
                if not job.answer.done():
                    job.answer.set_exception(self._ended())
                    job.answer.exception()  # its caller may be gone

    def _receive(self, message: dict[str, Any]) -> None:
        job = self._jobs.get(message["id"])
        if job is None or job.answer.done():
            return
        if "call" in message:
            task = asyncio.create_task(self._call(job, message))
            job.calls.add(task)
            task.add_done_callback(job.calls.discard)
        elif "progress" in message:
            assert job.progress is not None
            job.progress(message["progress"])
        else:
            job.answer.set_result(message)

    async def _call(self, job: _Job, message: Mapping[str, Any]) -> None:
        assert job.call_tool is not None
        text = await job.call_tool(message["tool"], message["arguments"])
        await self._send({"do": "answer", "call": message["call"], "text": text})

    async def _show(self, show: Callable[[str], None]) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError):
            while line := await self._process.stderr.readline():
                show(self._redact(line.decode(errors="replace").rstrip("\n")))


def _environment() -> dict[str, str]:
    kept = machine_environment("PYTHON")
    # A proxy would receive the key of a model on this machine.
    unproxied = kept.pop("no_proxy", kept.get("NO_PROXY", ""))
    # LiteLLM: do not fetch the price list, do not read a `.env` file.
    return {
        **kept,
        "NO_PROXY": f"{unproxied},localhost,127.0.0.1,::1".strip(","),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "TQDM_DISABLE": "1",
    }
