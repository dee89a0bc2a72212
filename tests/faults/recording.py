"""A gateway that makes one call within a run, for tests in which it comes to harm: `recording.py CONFIG HOW`."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
import time

from halflap import CallContext, Gateway
from halflap.store import RunRecord

RUN = "0198" + "a" * 24


async def main(config: str, how: str) -> None:
    async with Gateway.open(config) as gateway:
        await gateway.refresh()
        gateway.parts.recorder.add(
            RunRecord(RUN, "local", "program", None, "await mcp__s__t()", "hash", time.time())
        )
        await gateway.parts.recorder.flush()
        if how == "full":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        for _ in range(3):
            result = await gateway.call_tool("mcp__s__t", {"text": "important"}, CallContext(run=RUN))
            sys.stdout.write(f"answered {not result.is_error}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    asyncio.run(main(sys.argv[1], sys.argv[2]))
