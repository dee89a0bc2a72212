"""An examiner in a process of its own, for what an ordinary user's gateway would do: orders in, what came out."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from halflap.sandbox.check.examiner import CheckSkipped, Examiner, Orders


async def examine(order: dict[str, Any]) -> dict[str, Any]:
    examiner = Examiner(Orders(**order["orders"]))
    answer: dict[str, Any] = {}
    try:
        examined = await examiner.examine(order["code"], "")
        answer["diagnostics"] = [{"rule": rule, "message": said} for rule, _, said in examined.diagnostics]
    except CheckSkipped as skipped:
        answer["skipped"] = skipped.reason
    answer |= {"layers": list(examiner.layers), "missing": dict(examiner.missing)}
    await examiner.close()
    return answer


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(asyncio.run(examine(json.loads(line)))) + "\n")
        sys.stdout.flush()


main()
