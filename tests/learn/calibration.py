"""Trials of confidence: learn from a prefix of results, then compare with the next."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs

from halflap.learn import changes, confidence, digest_of, infer, schema_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

Results = list[tuple[Any, int]]
"""Values, each with the digest of the arguments that it answers."""
LONGEST = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Trial(NamedTuple):
    source: str
    observations: int
    confidence: float
    holds: bool
    """Whether the next result fits the schema, formats included, and has nothing that the shape had not."""


def airline(path: Path) -> dict[str, Results]:
    """Return the structured results of the airline's tools."""
    results: dict[str, Results] = defaultdict(list)
    for line in path.read_text().splitlines():
        call = json.loads(line)
        if not call["is_error"] and not isinstance(call["result"], str):
            results[call["tool"]].append((call["result"], digest_of(call["arguments"])))
    return {tool: found for tool, found in results.items() if len(found) > 2}


RARE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "variant": lambda _: {"type": "refund", "reason": "broken", "amount": 3},
    "key": lambda item: {**item, "note": "extra"},
    "missing": lambda item: {key: value for key, value in item.items() if key != "name"},
    "type": lambda item: {**item, "price": 9.5},
    "null": lambda item: {**item, "day": None},
    "format": lambda item: {**item, "day": "soon"},
}
"""What may be rare about an item."""


def generated(chance: random.Random) -> tuple[str, Callable[[], Any]]:
    """Make a tool, of which something is rare: how rare is part of its name."""
    rare = chance.choice([0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    what = chance.choice([*RARE, "several", "tail", "tail", "kinds", "kinds"])
    rules = list(RARE) if what == "several" else [what] if what in RARE else []

    def item() -> dict[str, Any]:
        if what == "kinds":
            kind = LETTERS[int(len(LETTERS) * chance.random() ** (1 / max(rare, 0.01)))]
            return {"type": f"kind_{kind}", f"of_{kind}": 1}
        made = {
            "id": chance.randrange(10**6),
            "name": chance.choice(["Ada", "Grace", "Alan"]),
            "day": f"2026-01-{chance.randrange(10, 29)}",
            "price": chance.randrange(100),
            "type": "order",
        }
        for rule in rules:
            made = RARE[rule](made) if chance.random() < rare else made
        if what == "tail":
            # Many keys, each rarer than the one before: there is always another that was not seen yet.
            tail = (letter for at, letter in enumerate(LETTERS) if chance.random() < rare / (at + 1))
            made |= {f"extra_{letter}": 1 for letter in tail}
        return made

    return f"{what} {rare}", lambda: {"items": [item()] * chance.randrange(1, 3), "total": 1}


def trials(count: int, tools: dict[str, Results], chance: random.Random) -> Iterator[Trial]:
    """Try prefixes of real results and of generated ones by turns; only generated ones where there are no real."""
    for number in range(count):
        if tools and number % 2:
            source = chance.choice(sorted(tools))
            results = list(tools[source])
            if chance.random() < 0.7:
                chance.shuffle(results)
        else:
            source, make = generated(chance)
            results = [(make(), chance.getrandbits(64)) for _ in range(LONGEST + 1)]
        length = chance.randint(2, min(LONGEST, len(results) - 1))
        yield trial(source, results[:length], *results[length])


def trial(source: str, prefix: Results, value: Any, digest: int) -> Trial:
    shape = infer(*zip(*prefix, strict=True))
    schema = jsonschema_rs.validator_for(schema_of(shape), validate_formats=True)
    holds = schema.is_valid(value) and not changes(shape, infer([value], [digest]))
    return Trial(source, len(prefix), confidence(shape), holds)
