"""Have jobs about workflows done by processes of their own, so that nobody waits for them who has not asked, and each ends in time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowBusyError, WorkflowError, WorkflowFailedError, WorkflowTimeoutError
from halflap.workflows.turns import Turns, small

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping

__all__ = ["Workers"]

logger = logging.getLogger(__name__)

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from halflap.workflows.worker import main; main()"
_MOST_LOGGED = 4_000
_PATIENCE = 2
"""How many times as long as a job may take it may wait to be begun."""


class Workers:
    """A process for each job, no more at a time than there are processors, and one more for what is small; further jobs wait their turn."""

    def __init__(self, seconds: float, places: int | None = None) -> None:
        self._seconds = seconds
        self._turns = Turns(places or os.cpu_count() or 1)

    async def do(self, job: str, arguments: Mapping[str, Any], who: str = "") -> dict[str, Any]:
        """Have a job done. Raises `WorkflowError` if it was asked for wrongly, and says if it was not begun, took too long or could not be done.

        Its time is counted from when it is begun. It waits for that twice as long at most, so that whoever stands behind
        others that take all their time is still begun.
        """
        asked = {"job": job, "arguments": arguments, "seconds": self._seconds}
        data = (await asyncio.to_thread(json.dumps, asked)).encode()
        try:
            async with asyncio.timeout(_PATIENCE * self._seconds):
                place = await self._turns.take(who, small=small(arguments))
        except TimeoutError:
            raise WorkflowBusyError(_PATIENCE * self._seconds) from None
        try:
            async with asyncio.timeout(self._seconds) as clock:
                told, code = await _worked(data)
        except TimeoutError:
            if not clock.expired():
                raise
            raise WorkflowTimeoutError(self._seconds, await asyncio.to_thread(_loose, arguments)) from None
        finally:
            self._turns.give(place)
        return await asyncio.to_thread(_read, told, code)


def _loose(arguments: Mapping[str, Any]) -> str | None:
    """Give the argument that is a workflow which is not made of blocks, if there is one."""
    from halflap.workflows.jobs import not_made_of_blocks  # noqa: PLC0415 -- much is loaded with it, and rarely needed

    return not_made_of_blocks(arguments)


async def _worked(data: bytes) -> tuple[bytes, int]:
    # Its own session: a Ctrl-C in the terminal is for whoever asked, who then ends it.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _BOOT, str(Path(__file__).parents[2]),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        told, errors = await process.communicate(data)
    finally:
        await _end(process)
    if process.returncode:
        text = errors.decode(errors="replace")[-_MOST_LOGGED:]
        logger.error("a process at a workflow ended with %s: %s", process.returncode, text)
    return told, process.returncode or 0


async def _end(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _read(told: bytes, code: int) -> dict[str, Any]:
    try:
        found = json.loads(told)
    except ValueError:
        raise WorkflowFailedError(
            f"the process that was at it ended with {code}. Halflap's log has what it said."
        ) from None
    if "problems" in found:
        raise WorkflowError([(path, message) for path, message in found["problems"]], found["what"])
    if "failed" in found:
        raise WorkflowFailedError(found["failed"])
    answer: dict[str, Any] = found["answer"]
    return answer
