"""How long it takes to learn the shape of results, compared with reading them.

The claim: the whole shape, exact, takes at most 2.5, 2.5, 5 and 6 times as long as `orjson.loads` takes on the same bytes:
100,000 small results of 360 bytes; 500 large ones of 128 KB, with 500 records each; very heterogeneous ones, with maps
keyed by uuids; and webhook payloads of 30 kinds as the results of one tool, if that data is there. Each result answers
different arguments. As in a backfill, results wait until there are a thousand, and the garbage collector is off. For
comparison genson, which keeps neither counts nor formats, tags or evidence. Times are processor time, the best of some rounds,
without reading; `make bench` runs this with the others.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import string
import sys
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import genson
import orjson

from halflap.learn import NOTHING, Observations, infer, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 5
SMALL, LARGE, ODD = 100_000, 500, 2_000
READ, WAITING = 1 << 16, 16 << 20
SHARED = Path(os.environ.get("HALFLAP_SHARED", Path(__file__).parent.parent.parent / "shared"))
WEBHOOKS = SHARED / "data" / "webhooks.jsonl.gz"
WEBHOOK_TIMES = 20
CITIES = ["Berlin", "Lisbon", "Nairobi", "Osaka", "Quito", "Reykjavik", "Toronto"]


def small(chance: random.Random) -> dict[str, Any]:
    return {
        "id": chance.randrange(10**9),
        "order_id": str(uuid.UUID(int=chance.getrandbits(128))),
        "status": chance.choice(["open", "paid", "shipped"]),
        "total": round(chance.uniform(1, 900), 2),
        "currency": "EUR",
        "created_at": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(10)}T10:20:{chance.randrange(10, 60)}Z",
        "paid": chance.random() < 0.5,
        "note": None if chance.random() < 0.7 else "leave at the door",
        "customer": {
            "name": word(chance, 14),
            "email": f"{word(chance, 8)}@example.com",
            "city": chance.choice(CITIES),
            "street": f"{word(chance, 9)} {chance.randrange(200)}",
            "phone": f"+49 30 {chance.randrange(10**7)}",
            "since": chance.randrange(1990, 2026),
            "vip": chance.random() < 0.1,
        },
        "tags": [word(chance, 5) for _ in range(chance.randrange(4))],
    }


def large(chance: random.Random) -> dict[str, Any]:
    records = [
        {
            "id": chance.randrange(10**9),
            "sku": f"{word(chance, 4)}-{chance.randrange(10**6)}",
            "name": word(chance, 40),
            "price": round(chance.uniform(1, 900), 2),
            "stock": chance.randrange(1000),
            "active": chance.random() < 0.9,
            "updated": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(10)}",
            "size": {"width": chance.randrange(99), "height": chance.randrange(99)},
            "labels": [word(chance, 6), word(chance, 6)],
            "url": f"https://shop.example.com/item/{chance.randrange(10**6)}",
        }
        for _ in range(500)
    ]
    return {"items": records, "total": 500, "next": None}


def odd(chance: random.Random, depth: int = 4) -> Any:
    """Make anything: objects of any keys, maps by uuid, mixed arrays."""
    dice = chance.random()
    if depth == 0 or dice < 0.2:
        return chance.choice(
            [
                None,
                True,
                chance.randrange(10**6),
                chance.random(),
                word(chance, 12),
                f"2026-01-{chance.randrange(10, 29)}",
            ]
        )
    if dice < 0.45:
        return {
            str(uuid.UUID(int=chance.getrandbits(128))): odd(chance, depth - 1)
            for _ in range(chance.randrange(1, 12))
        }
    if dice < 0.7:
        return [odd(chance, depth - 1) for _ in range(chance.randrange(8))]
    return {
        f"{chance.choice(CITIES).lower()}_{word(chance, 2)}": odd(chance, depth - 1)
        for _ in range(chance.randrange(1, 8))
    }


def word(chance: random.Random, length: int) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=length))


def made(make: Callable[[random.Random], Any], count: int) -> list[bytes]:
    chance = random.Random(7)
    return [orjson.dumps(make(chance)) for _ in range(count)]


def batches(texts: list[bytes]) -> Iterator[tuple[int, list[Any]]]:
    """Yield a few values at a time, as they would be read, each with the number of its first."""
    size = max(1, READ * len(texts) // sum(map(len, texts)))
    for start in range(0, len(texts), size):
        yield start, [orjson.loads(text) for text in texts[start : start + size]]


def webhooks(times: int) -> list[bytes]:
    """Return real payloads, each this many times; none without the data."""
    if not WEBHOOKS.exists():
        return []
    with gzip.open(WEBHOOKS, "rt") as lines:
        return [orjson.dumps(json.loads(line)["payload"]) for line in lines] * times


def reading(texts: list[bytes]) -> float:
    began = time.process_time()
    for text in texts:
        orjson.loads(text)
    return time.process_time() - began


def learning(texts: list[bytes]) -> float:
    results: Observations[str] = Observations(values=False, most_bytes=WAITING)
    chance = random.Random(3)
    digests = [chance.getrandbits(64) for _ in texts]
    total = 0.0
    for start, values in batches(texts):
        began = time.process_time()
        for at, value in enumerate(values, start):
            results.add("tool", value, digests[at], None, is_error=False, size=len(texts[at]))
        total += time.process_time() - began
    began = time.process_time()
    results.learned()
    return total + time.process_time() - began


def with_genson(texts: list[bytes]) -> float:
    builder = genson.SchemaBuilder()
    total = 0.0
    for _, values in batches(texts):
        began = time.process_time()
        for value in values:
            builder.add_object(value)
        total += time.process_time() - began
    return total


def is_exact(texts: list[bytes]) -> bool:
    """Return whether halves, merged, are what one pass gives; on a part, since the whole is done in the tests."""
    values = [orjson.loads(text) for text in texts[:400]]
    digests = list(range(1, len(values) + 1))
    halves = [infer(values[part::2], digests[part::2]) for part in (0, 1)]
    return merge(*halves) == infer(values, digests) and merge(NOTHING, halves[0]) == halves[0]


def main() -> int:
    print("Learning a shape, as a ratio to orjson.loads on the same bytes (processor time)")
    print(f"  {'':<15} {'bytes each':>10} {'orjson':>9} {'halflap':>19} {'genson':>9}")
    holds = True
    gc.freeze()
    gc.disable()
    for label, make, bound, genson_part in (
        ("small", partial(made, small, SMALL), 2.5, 10),
        ("large", partial(made, large, LARGE), 2.5, 10),
        ("heterogeneous", partial(made, odd, ODD), 5, 1),
        ("webhooks", partial(webhooks, WEBHOOK_TIMES), 6, WEBHOOK_TIMES),
    ):
        texts = make()
        count = len(texts)
        if not texts:
            print(f"  {label:<15} skipped: {WEBHOOKS.name} is not there")
            continue
        # genson takes the same time for each that is alike: of those, a part is enough.
        part = texts[: count // genson_part]
        # By turns: a machine that is slow for a while is slow for both.
        times = [(reading(texts), learning(texts)) for _ in range(ROUNDS)]
        base = min(read for read, _ in times)
        ours = min(learned for _, learned in times) / base
        theirs = with_genson(part) / min(reading(part) for _ in range(ROUNDS))
        exact = is_exact(texts)
        holds = holds and exact and ours <= bound
        size = sum(map(len, texts)) // count
        print(
            f"  {label:<15} {size:>10,} {base:>7.2f} s {ours:>7.1f} x (≤ {bound:>3} x) {theirs:>7.1f} x"
            f"{'' if exact else '   NOT EXACT'}"
        )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
