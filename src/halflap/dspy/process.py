"""The child process in which DSPy runs: how it is started, spoken to over pipes, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]

__all__ = ["DspyProcess", "ProcessEndedError", "environment"]

_MAX_LINE = 64 * 1024 * 1024
_CANCEL_SECONDS = 2.0
"""How long the child may take to confirm that it cancelled a job; after that it counts as hung."""
_MACHINE = frozenset({
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER",
    "ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "REQUEST_METHOD",
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SSLKEYLOGFILE",
})  # fmt: skip
"""All variables that the child inherits, with those that start with LC_, PYTHON or XDG_.

Model clients know hundreds of names for keys, accounts and addresses; none of them has to be listed here.
"""


class ProcessEndedError(Exception):
    """The child process ended, or had to be ended, while a job was running."""


@dataclass(slots=True)
class _Job:
    call: Call
    progress: Callable[[Mapping[str, Any]], None]
    done: asyncio.Future[dict[str, Any]]
    calls: set[asyncio.Task[None]] = field(default_factory=set)


def environment(api_base: str | None) -> dict[str, str]:
    """Return the child's environment: facts about this machine, nothing about language models."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _MACHINE or name.upper().startswith(("LC_", "PYTHON", "XDG_"))
    }
    host = urlsplit(api_base or "").hostname or ""
    if _is_loopback(host) and getproxies():
        # A proxy would receive the key of a model on this machine.
        others = kept.pop("no_proxy", kept.get("NO_PROXY", ""))
        kept["NO_PROXY"] = f"{others},{host}".strip(",")
    # LiteLLM: do not fetch the price list, do not read a `.env` file.
    own = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "TQDM_DISABLE": "1"}
    return {**kept, **own}


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class DspyProcess:
    """Runs any number of jobs at once in one child process; a child that ends or hangs fails all of them."""

    def __init__(self, process: asyncio.subprocess.Process, show: Callable[[str], None]) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._jobs: dict[int, _Job] = {}
        self._ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._reason = ""
        self._tasks = {
            asyncio.create_task(self._read(), name="DSPy process"),
            asyncio.create_task(self._show(show), name="output of the DSPy process"),
        }

    @classmethod
    async def start(
        cls, settings: Mapping[str, Any], env: Mapping[str, str], show: Callable[[str], None]
    ) -> DspyProcess:
        """Start a child, which imports DSPy; `show` receives each line that it prints."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "halflap.dspy.child",
            env=env, limit=_MAX_LINE, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        child = cls(process, show)
        try:
            # The key travels through the pipe: environments and command lines can be read by others.
            await child.send(settings)
            ready = await child._ready
        except BaseException:
            await child.close()
            raise
        if "error" in ready:
            await child.close()
            raise ProcessEndedError(ready["error"])
        return child

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self._reason

    async def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def run(
        self,
        message: Mapping[str, Any],
        call: Call,
        progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Run a job to its end and return the child's answer; cancelling ends only this job, if the child obeys."""
        number = next(self._ids)
        job = _Job(call, progress, asyncio.get_running_loop().create_future())
        self._jobs[number] = job
        try:
            if not self.is_running:
                raise ProcessEndedError(self._reason or _ending(self._process.returncode))
            await self.send({**message, "id": number})
            return await asyncio.shield(job.done)
        except asyncio.CancelledError:
            task = asyncio.create_task(self._cancel(number, job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            raise
        finally:
            for one in job.calls:
                one.cancel()
            if job.done.done():
                self._jobs.pop(number, None)

    async def _cancel(self, number: int, job: _Job) -> None:
        await self.send({"do": "cancel", "id": number})
        await asyncio.wait([job.done], timeout=_CANCEL_SECONDS)
        self._jobs.pop(number, None)
        if not job.done.done():
            self._kill("it stopped responding while another DSPy program was cancelled")
        elif not job.done.cancelled():
            job.done.exception()  # retrieved, since no one else waits for it

    async def close(self) -> None:
        """End the child and everything that it runs."""
        self._kill("it was closed")
        with contextlib.suppress(ProcessLookupError):
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _kill(self, reason: str) -> None:
        self._reason = self._reason or reason
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._receive(json.loads(line))
        except (ValueError, KeyError, TypeError):
            self._kill("it sent something unreadable")
        finally:
            code = await self._process.wait()
            error = ProcessEndedError(self._reason or _ending(code))
            for future in [self._ready, *(job.done for job in self._jobs.values())]:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # there may be no one left to retrieve it

    def _receive(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            if not self._ready.done():
                self._ready.set_result(message)
            return
        job = self._jobs.get(message["id"])
        if job is None or job.done.done():
            return
        if "call" in message:
            task = asyncio.create_task(self._answer(job, message))
            job.calls.add(task)
            task.add_done_callback(job.calls.discard)
        elif "progress" in message:
            job.progress(message["progress"])
        else:
            job.done.set_result(message)

    async def _answer(self, job: _Job, message: Mapping[str, Any]) -> None:
        text = await job.call(message["tool"], message["arguments"])
        await self.send({"do": "answer", "call": message["call"], "text": text})

    async def _show(self, show: Callable[[str], None]) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError):
            while line := await self._process.stderr.readline():
                show(line.decode(errors="replace").rstrip("\n"))


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it exited with status {code}"
