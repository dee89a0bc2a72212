"""Deterministic logs of tool calls with varied, real-looking results.

Each of 80 tools gets a random record type like those of web APIs: nested objects that share sub-records (a user, a
repository), lists of records, nullable keys, identifiers, URLs, dates, texts, and maps keyed by identifier. Records of one
type have up to three sets of keys, as in webhook payloads of a large service, where a place has 1.2 sets on average.
Results differ in size from 200 bytes to 100 KB. A third of them are JSON text in MCP content blocks, as most servers
return them; a few are plain text or errors.
"""

# ruff: noqa: SIM905

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[[random.Random], Any]

TOOLS, RECORDS = 80, 16
_POOL = 500
"""Different values of one field."""
_REPEATED = 5
_NOUNS = (
    "account actor branch build check comment commit contact customer deployment event file group invoice issue item "
    "job label license member message milestone order owner package page parent payment plan product project pull "
    "release repository review run sender session step subject team ticket token user version workflow"
).split()
_ASPECTS = (
    "id name url type state count size title body email date at by ref sha key path total login rate".split()
)
_WORDS = (
    "the a of to and in for is on that by this with you it not or be are from at as your all have new more an was we "
    "will can us about if page my has search free but our one other do no information time they site"
).split()


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=int(chance.expovariate(1 / 12)) + 1))


def _url(chance: random.Random) -> str:
    parts = "/".join(chance.choices(_NOUNS, k=3))
    return f"https://api.example.com/{parts}/{chance.randrange(10**7)}"


def _date(chance: random.Random) -> str:
    return (
        f"20{chance.randrange(18, 26)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
        f"T{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}Z"
    )


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


_LEAVES: tuple[tuple[Make, int], ...] = (
    (_url, 9),
    (_date, 4),
    (_text, 4),
    (lambda chance: chance.randrange(10**9), 5),
    (lambda chance: chance.randrange(200), 4),
    (lambda chance: chance.random() < 0.5, 5),
    (lambda chance: round(chance.uniform(0, 2_000), 2), 2),
    (lambda chance: f"{chance.getrandbits(160):040x}", 2),
    (_uuid, 1),
    (lambda chance: f"{chance.choice(_NOUNS)}-{chance.randrange(5_000)}", 3),
    (lambda chance: f"{chance.choice(_NOUNS)}{chance.randrange(90)}@example.com", 1),
)


def _leaf(chance: random.Random) -> Make:
    """Return a function that picks one of some values: making a new one each time would take ten times as long."""
    if chance.random() < 0.12:
        pool: list[Any] = chance.sample(_NOUNS, chance.randrange(2, 7))
    else:
        [make] = chance.choices([leaf for leaf, _ in _LEAVES], [weight for _, weight in _LEAVES])
        pool = [make(chance) for _ in range(_POOL)]
    return lambda inner: pool[int(inner.random() * len(pool))]


def _record(chance: random.Random, parts: list[Make], keys: int) -> Make:
    """Return a function that makes records of one random type."""
    fields: list[tuple[str, Make]] = []
    for name in {f"{chance.choice(_NOUNS)}_{chance.choice(_ASPECTS)}" for _ in range(keys)} | {"id", "url"}:
        kind = chance.random()
        make = _leaf(chance)
        if parts and kind < 0.10:
            make = chance.choice(parts)
        elif parts and kind < 0.15:
            make = _several(chance.choice(parts), chance.choice([1, 2, 8]))
        elif kind < 0.20:
            make = _several(make, 4)
        elif kind < 0.22:
            make = _map(make)
        fields.append((name, make))
    fields.sort(key=lambda field: field[0])
    nulls = {name for name, _ in fields if chance.random() < 0.1}
    layouts = [
        fields,
        *([one for one in fields if chance.random() < 0.9] for _ in range(chance.choice([0, 0, 1, 2]))),
    ]

    def made(inner: random.Random) -> dict[str, Any]:
        return {
            name: None if name in nulls and inner.random() < 0.5 else make(inner)
            for name, make in layouts[int(inner.random() * len(layouts))]
        }

    return made


def _several(make: Make, mean: float) -> Make:
    return lambda inner: [make(inner) for _ in range(min(100, int(inner.expovariate(1 / mean))))]


def _map(make: Make) -> Make:
    return lambda inner: {
        f"{_NOUNS[int(inner.random() * 40)]}_{int(inner.random() * 1e6)}": make(inner)
        for _ in range(int(inner.random() * 5))
    }


def log_lines(seed: int = 11) -> Iterator[bytes]:
    """Yield an endless log, one trace per line, in runs of three to twelve calls."""
    chance = random.Random(seed)
    small = [_record(chance, [], chance.randrange(5, 25)) for _ in range(RECORDS)]
    parts = small + [_record(chance, small, chance.randrange(10, 40)) for _ in range(RECORDS)]
    tools = [
        (f"{chance.choice(['get', 'list', 'find', 'create'])}_{chance.choice(_NOUNS)}_{number}", part)
        for number in range(TOOLS)
        for part in [_record(chance, parts, chance.randrange(4, 40))]
    ]
    run = 0
    while True:
        run += 1
        known: Any = chance.randrange(10**6)
        for seq in range(chance.randrange(3, 13)):
            name, make = tools[min(int(chance.expovariate(1 / 20)), TOOLS - 1)]
            value: Any = make(chance)
            arguments = {"id": known, "limit": chance.randrange(100)}
            known = found if isinstance(found := value.get("id"), int | str) else known
            kind = chance.random()
            result: Any = value
            if kind < 0.02:
                result = {"content": [{"type": "text", "text": _text(chance)}], "isError": kind < 0.01}
            elif kind < 0.35:
                result = {"content": [{"type": "text", "text": json.dumps(value)}]}
            at = 1.75e9 + run
            record = {
                "run": f"r{run}",
                "seq": seq,
                "tool": name,
                "at": at,
                "arguments": arguments,
                "result": result,
            }
            yield json.dumps(record).encode() + b"\n"


def write_log(path: Path, size: int, seed: int = 11) -> None:
    """Write a log. Its first fifth is repeated as other runs: reading takes as long, and writing much less."""
    with path.open("wb") as file:
        made = 0
        for line in log_lines(seed):
            made += file.write(line)
            if made >= size / _REPEATED:
                break
    with path.open("rb") as first, path.open("ab") as rest:
        for number in range(1, _REPEATED):
            first.seek(0)
            while first.tell() < made:
                rest.write(first.readline().replace(b'"run": "r', b'"run": "r%d-' % number, 1))
