"""A gateway to be killed: prints `running` once its endless program does."""

from __future__ import annotations

import asyncio
import sys

from halflap.sandbox.sandbox import Program
from security.keeper import Visitor, new_jail


class _Herald(Visitor):
    def write(self, data: bytes) -> bool:
        sys.stdout.write("running\n")
        sys.stdout.flush()
        return super().write(data)


async def main(mode: str) -> None:
    await new_jail(mode).run(Program("print('here')\nwhile True: pass"), _Herald())


asyncio.run(main(sys.argv[1]))
