"""The child process: receives jobs as JSON lines until its parent closes the pipe or dies."""

from __future__ import annotations

import asyncio
import ctypes
import io
import json
import logging
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_MAX_LINE = 64 * 1024 * 1024


async def _serve(output: io.FileIO) -> None:
    reader = asyncio.StreamReader(limit=_MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    settings = json.loads(await reader.readline())
    try:
        from halflap.dspy.child.jobs import Jobs  # noqa: PLC0415 -- a broken installation is reported to the parent

        jobs = Jobs(settings, output)
    except Exception as error:  # noqa: BLE001 -- it can raise anything
        failure = f"DSPy cannot be used: {type(error).__name__}: {error}"
        output.write(json.dumps({"id": settings["id"], "error": failure}).encode() + b"\n")
        return
    jobs.send({"id": settings["id"], "result": {}})
    while line := await reader.readline():
        jobs.receive(json.loads(line))
    # The parent is gone.
    os._exit(0)


def main() -> None:
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
