"""Runs attacks in the jail and the check for another process, as a gateway of an ordinary user would."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Any

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders
from security.keeper import Keeper


async def examine(order: dict[str, Any]) -> dict[str, Any]:
    examiner = Examiner(Orders(**order["orders"]))
    answer: dict[str, Any] = {}
    try:
        question = {"code": order["code"], "stubs": "", "traced": "", "records": []}
        examined = await examiner.examine(question)
        answer["diagnostics"] = [{"rule": one.rule, "message": one.wrong} for _, one in examined.findings]
    except CheckSkipped as skipped:
        answer["skipped"] = skipped.reason
    answer["missing"] = (await examiner.ready()).report["missing"]
    await examiner.close()
    return answer


def main() -> None:
    keeper = Keeper()
    for line in sys.stdin:
        order = json.loads(line)
        if "orders" in order:
            answer = asyncio.run(examine(order))
        elif "code" in order:
            got = asdict(keeper.run(order["mode"], order["code"]))
            answer = got | {"output": got["output"].decode("utf-8", "replace")}
        else:
            readiness = keeper.readiness(order["mode"])
            answer = {"layers": list(readiness.layers), "trouble": readiness.trouble}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    keeper.close()


main()
