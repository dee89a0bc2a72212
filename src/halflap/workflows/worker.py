"""The process that is at one job about workflows: it reads it from its input, and writes the answer to its output."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from typing import Any

from halflap.core.errors import WorkflowError

__all__ = ["MEMORY_MB", "main"]

MEMORY_MB = 2_048
"""How much memory it may have."""
_SPARE_SECONDS = 5
_DEEP = 10_000
"""How deep calls may go: blocks are within each other as deep as somebody writes them."""


def main() -> None:
    """Do the job."""
    # What is printed by a library is no answer.
    out, sys.stdout = sys.stdout, sys.stderr
    job = json.load(sys.stdin)
    _limit(job["seconds"])
    sys.setrecursionlimit(_DEEP)
    json.dump(_answer(job["job"], job["arguments"]), out)
    out.flush()


def _answer(job: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from halflap.workflows.jobs import do  # noqa: PLC0415 -- within its limits

    try:
        return {"answer": do(job, arguments)}
    except WorkflowError as error:
        return {"problems": [list(one) for one in error.problems], "what": error.what}
    except MemoryError:
        return {"failed": f"it needs more than {MEMORY_MB:,} MB of memory."}
    except RecursionError:
        return {"failed": "its blocks are nested too deep."}


def _limit(seconds: float) -> None:
    """Have the system end it, should nobody else: whoever asked may be gone."""
    try:
        import resource  # noqa: PLC0415 -- not everywhere
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_CPU, math.ceil(seconds) + _SPARE_SECONDS),
        (resource.RLIMIT_AS, MEMORY_MB * 1_048_576),
    ):
        # A system that does not know it does without.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
