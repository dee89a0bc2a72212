"""Analysis jobs: one process each, with limits on time and memory, and on the concurrent jobs of a client.

The process reads its job as a line of JSON and writes its answer as one. Before that it may ask a language model through the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from halflap.core.errors import (
    HalflapError,
    WorkflowError,
)

Reflect = Callable[[str, float], Awaitable[str]]
"""Asks a language model a question, with a deadline on the event loop's clock."""
INSTRUCTIONS = "You improve workflows. Choose the change that most likely leads to the best workflow after further changes."
"""The instructions that precede each question to the model."""

MAX_PER_CLIENT = 4
"""Concurrent jobs per client; a further one is refused."""
_MEMORY_MB = 2_048
_SPARE_SECONDS = 5
_MAX_ANSWER = 256 * 1_048_576
_QUESTION = b'{"question"'
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from halflap.workflows.run.process import main; main()"


class Jobs:
    """Runs jobs for clients."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[str, int] = defaultdict(int)

    async def run(
        self, job: str, arguments: Mapping[str, Any], client: str = "", reflect: Reflect | None = None
    ) -> dict[str, Any]:
        """Run a job. Raises `WorkflowError` for invalid arguments, and other errors if it is refused, too slow or fails."""
        if self._running[client] >= MAX_PER_CLIENT:
            raise HalflapError(
                f"{MAX_PER_CLIENT} analyses are running for you already. Wait for one to end.",
                code="workflow-busy",
            )
        self._running[client] += 1
        asked = {"job": job, "arguments": arguments, "seconds": self._seconds, "reflects": bool(reflect)}
        try:
            async with asyncio.timeout(self._seconds) as clock:
                # The model may use half of the time.
                until = asyncio.get_running_loop().time() + self._seconds / 2
                output, code = await _worked(await asyncio.to_thread(_line, asked), reflect, until)
        except TimeoutError:
            if not clock.expired():
                raise
            raise HalflapError(
                f"The analysis was stopped after {self._seconds:g} s, the limit in `workflows.timeout_seconds`. Ask about a part, or "
                "raise the limit. Block-structured workflows are analysed much faster than others.",
                code="workflow-timeout",
            ) from None
        finally:
            self._running[client] -= 1
        return await asyncio.to_thread(_answer, output, code)


async def _worked(data: bytes, reflect: Reflect | None, until: float) -> tuple[bytes, int | None]:
    """Return the last line that the process wrote, and its exit code. Its stderr is ours."""
    # In a separate session, so that Ctrl-C in a terminal reaches only us; we end the process then.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _BOOT, str(Path(__file__).parents[3]),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True, limit=_MAX_ANSWER,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    output = b""
    try:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(data)
            while (output := await process.stdout.readline()).startswith(_QUESTION) and reflect is not None:
                try:
                    reply = {"reply": await reflect(json.loads(output)["question"], until)}
                except HalflapError as error:
                    reply = {"problem": str(error)}
                process.stdin.write(_line(reply))
        await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return output, process.returncode


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _answer(output: bytes, code: int | None) -> dict[str, Any]:
    try:
        found = json.loads(output)
    except ValueError:
        found = {"failed": f"its process ended with {code}. Halflap's log has its output."}
    if "problems" in found:
        raise WorkflowError([(path, message) for path, message in found["problems"]], found["what"])
    if "failed" in found:
        raise HalflapError(f"The workflow could not be analysed: {found['failed']}", code="workflow-failed")
    answer: dict[str, Any] = found["answer"]
    return answer


# In the process ---------------------------------------------------------------------------------------


def main() -> None:
    """Read a job from stdin, and write its answer to stdout."""
    # Keep what libraries print out of the answer.
    out, sys.stdout = sys.stdout, sys.stderr

    def reflect(question: str) -> dict[str, str]:
        out.write(json.dumps({"question": question}) + "\n")
        out.flush()
        return dict(json.loads(sys.stdin.readline()))

    job = json.loads(sys.stdin.readline())
    _limit(job["seconds"])
    out.write(json.dumps(_done(job["job"], job["arguments"], reflect if job["reflects"] else None)) + "\n")
    out.flush()


def _done(
    job: str, arguments: dict[str, Any], reflect: Callable[[str], dict[str, str]] | None
) -> dict[str, Any]:
    from halflap.workflows.run.jobs import JOBS  # noqa: PLC0415 -- within the limits

    try:
        return {"answer": JOBS[job](arguments, reflect)}
    except WorkflowError as error:
        return {"problems": [list(one) for one in error.problems], "what": error.what}
    except MemoryError:
        return {"failed": f"it needs more than {_MEMORY_MB:,} MB of memory."}
    except RecursionError:
        return {"failed": "it is nested too deeply."}


def _limit(seconds: float) -> None:
    """Limit CPU time and memory, in case the parent cannot end the process."""
    try:
        import resource  # noqa: PLC0415 -- not on every system
    except ImportError:
        return
    limits = {
        resource.RLIMIT_CPU: math.ceil(seconds) + _SPARE_SECONDS,
        resource.RLIMIT_AS: _MEMORY_MB * 1_048_576,
    }
    for kind, most in limits.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
