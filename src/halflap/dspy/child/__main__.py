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
import threading

_PR_SET_PDEATHSIG = 1


async def _serve(output: io.FileIO) -> None:
    loop = asyncio.get_running_loop()
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        from halflap.dspy.child.jobs import Jobs  # noqa: PLC0415 -- a broken installation is reported to the parent

        jobs = Jobs(settings, output)
    except Exception as error:  # noqa: BLE001 -- it can raise anything
        told = f"DSPy cannot be used: {type(error).__name__}: {error}"
        output.write(json.dumps({"ready": False, "error": told}).encode() + b"\n")
        return

    def read() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(jobs.receive, line)
        # The parent is gone.
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    jobs.send({"ready": True})
    await loop.create_future()


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
