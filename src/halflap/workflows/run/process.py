"""Analysis jobs, each in a process of its own with limits on time and memory, and a limit on how many one client may have at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halflap.core.errors import WorkflowBusyError, WorkflowError, WorkflowFailedError, WorkflowTimeoutError

logger = logging.getLogger(__name__)

MAX_PER_CLIENT = 4
"""Jobs of one client that run at the same time; a further one is refused."""
_MEMORY_MB = 2_048
_SPARE_SECONDS = 5
_MAX_LOGGED = 4_000
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from halflap.workflows.run.process import main; main()"


class Jobs:
    """Runs jobs for clients."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[str, int] = defaultdict(int)

    async def run(self, job: str, arguments: Mapping[str, Any], client: str = "") -> dict[str, Any]:
        """Run a job. Raises `WorkflowError` for invalid arguments, and other errors if it is refused, too slow or fails."""
        if self._running[client] >= MAX_PER_CLIENT:
            raise WorkflowBusyError(
                f"{MAX_PER_CLIENT} analyses are running for you already. Wait for one to end."
            )
        self._running[client] += 1
        try:
            asked = {"job": job, "arguments": arguments, "seconds": self._seconds}
            data = (await asyncio.to_thread(json.dumps, asked)).encode()
            async with asyncio.timeout(self._seconds) as clock:
                output, code = await _worked(data)
        except TimeoutError:
            if not clock.expired():
                raise
            raise WorkflowTimeoutError(
                f"The analysis was stopped after {self._seconds:g} s, the limit in `workflows.timeout_seconds`. Ask about a part, or "
                "raise the limit. Block-structured workflows are analysed much faster than others."
            ) from None
        finally:
            self._running[client] -= 1
        return await asyncio.to_thread(_answer, output, code)


async def _worked(data: bytes) -> tuple[bytes, int]:
    # In its own session: Ctrl-C in a terminal is for us, and we end it then.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _BOOT, str(Path(__file__).parents[3]),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = await process.communicate(data)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        text = errors.decode(errors="replace")[-_MAX_LOGGED:]
        logger.error("a workflow process ended with %s: %s", process.returncode, text)
    return output, process.returncode or 0


def _answer(output: bytes, code: int) -> dict[str, Any]:
    try:
        found = json.loads(output)
    except ValueError:
        raise _failed(f"its process ended with {code}. Halflap's log has its output.") from None
    if "problems" in found:
        raise WorkflowError([(path, message) for path, message in found["problems"]], found["what"])
    if "failed" in found:
        raise _failed(found["failed"])
    answer: dict[str, Any] = found["answer"]
    return answer


def _failed(reason: str) -> WorkflowFailedError:
    return WorkflowFailedError(f"The workflow could not be analysed: {reason}")


# In the process ---------------------------------------------------------------------------------------


def main() -> None:
    """Read a job from stdin, and write its answer to stdout."""
    # Whatever a library prints is not the answer.
    out, sys.stdout = sys.stdout, sys.stderr
    job = json.load(sys.stdin)
    _limit(job["seconds"])
    json.dump(_done(job["job"], job["arguments"]), out)
    out.flush()


def _done(job: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from halflap.workflows.run.jobs import JOBS  # noqa: PLC0415 -- within the limits

    try:
        return {"answer": JOBS[job](arguments)}
    except WorkflowError as error:
        return {"problems": [list(one) for one in error.problems], "what": error.what}
    except MemoryError:
        return {"failed": f"it needs more than {_MEMORY_MB:,} MB of memory."}
    except RecursionError:
        return {"failed": "it is nested too deeply."}


def _limit(seconds: float) -> None:
    """Let the system end the process if nobody else does."""
    try:
        import resource  # noqa: PLC0415 -- not on every system
    except ImportError:
        return
    limits = (
        (resource.RLIMIT_CPU, math.ceil(seconds) + _SPARE_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_MB * 1_048_576),
    )
    for kind, most in limits:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
