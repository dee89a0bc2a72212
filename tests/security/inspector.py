"""An examiner in a process of its own, for what an ordinary user's gateway would do: orders in, what came out."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders


async def examine(order: dict[str, Any]) -> dict[str, Any]:
    examiner = Examiner(Orders(**order["orders"]))
    answer: dict[str, Any] = {}
    try:
        question = {"code": order["code"], "stubs": "", "traced": "", "records": []}
        examined = await examiner.examine(question)
        answer["diagnostics"] = [{"rule": one.rule, "message": one.wrong} for _, one in examined.findings]
    except CheckSkipped as skipped:
        answer["skipped"] = skipped.reason
    report = (await examiner.ready()).report
    answer |= {"layers": report["layers"], "missing": report["missing"]}
    await examiner.close()
    return answer


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(asyncio.run(examine(json.loads(line)))) + "\n")
        sys.stdout.flush()


main()
