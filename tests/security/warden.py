"""A keeper in a process of its own, for what an ordinary user's gateway would do: attacks in, what they got out."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from security.keeper import Keeper


def main() -> None:
    keeper = Keeper()
    for line in sys.stdin:
        order = json.loads(line)
        if "code" in order:
            got = asdict(keeper.run(order["mode"], order["code"]))
            answer = got | {"output": got["output"].decode("utf-8", "replace")}
        else:
            readiness = keeper.readiness(order["mode"])
            answer = {"layers": list(readiness.layers), "trouble": readiness.trouble}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    keeper.close()


main()
