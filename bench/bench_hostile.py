"""How much the worst results take to be looked at: 32 MiB each, made to cost as much as can be.

The claim: none takes more than 100 MiB beside its own value, and none more than 15 times as long as `orjson.loads`
takes to read it. Each is looked at in a process of its own. Its memory is what the process had at most (on Linux, by the
kernel's count) beyond what it had with the value in its hands; the time is processor time, the shape included.
"""

from __future__ import annotations

import gc
import random
import string
import subprocess
import sys
import time
import uuid
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from halflap.learn import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 32 << 20
MOST_MIB, MOST_TIMES = 100, 15
PAIRS = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=2)]
TAGS = ["__typename", "_type", "type", "kind", "object", "event", "op", "action", "role", "status", "state"]


def nested(names: list[str], depth: int) -> Any:
    return {name: nested(names, depth - 1) for name in names} if depth else 1


def filled(make: Callable[[random.Random], Any]) -> Iterator[Any]:
    """Yield items until they are of the size, all in one array."""
    chance = random.Random(5)
    left = SIZE
    while left > 0:
        item = make(chance)
        left -= len(orjson.dumps(item)) + 1
        yield item


def tree(chance: random.Random, depth: int, width: int, tags: float = 0.0) -> Any:
    if not depth:
        return 1
    kind = {"type": chance.choice(PAIRS)} if chance.random() < tags else {}
    return {**kind, **{chance.choice(PAIRS): tree(chance, depth - 1, width, tags) for _ in range(width)}}


def words(chance: random.Random) -> Any:
    """Make values that are kept, at very many places."""
    return {
        chance.choice(PAIRS[:90]): {chance.choice(PAIRS[:90]): {tag: letters(chance)[:30] for tag in TAGS}}
    }


def short_texts() -> Any:
    """Make values that are kept where all are, as many as can be at each of as many places as there can be."""
    chance = random.Random(5)
    return [
        {PAIRS[at // 900]: {PAIRS[at // 90 % 10]: {PAIRS[at % 90]: [letters(chance) for _ in range(16)]}}}
        for at in range(24_000)
    ]


def letters(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_letters, k=64))


def almost(chance: random.Random) -> str:
    """Make a key of which it takes long to say whether it is a name."""
    return "_".join(chance.choice(["abC", "cdEfghi", "efghi1", "Abcd"]) for _ in range(10))[:58] + "_12"


CASES: dict[str, Callable[[], Any]] = {
    "one object in another": lambda: nested(PAIRS[:90], 3) | {"more": nested(PAIRS[:90], 3)},
    "random trees": lambda: list(filled(lambda chance: tree(chance, 4, 9))),
    "random trees, deep": lambda: list(filled(lambda chance: tree(chance, 12, 2))),
    "random trees, tagged": lambda: list(filled(lambda chance: tree(chance, 4, 7, 0.7))),
    "names": lambda: {"".join(letters): 1 for letters in product(string.ascii_lowercase, repeat=5) if letters < ("g",)},
    "almost names": lambda: [{almost(chance): 1} for chance in [random.Random(3)] for _ in range(SIZE // 68)],
    "uuids": lambda: {str(uuid.UUID(int=number << 64)): 1 for number in range(SIZE // 41)},
    "tags and values": lambda: list(filled(words)),
    "short texts": short_texts,
    "empty objects": lambda: [dict.fromkeys(PAIRS[:96], 1), *({} for _ in range(SIZE // 3))],
    "empty objects, tagged": lambda: [
        *({"type": PAIRS[n], **dict.fromkeys(TAGS, "x y"), PAIRS[n]: 1} for n in range(15)),
        *({} for _ in range(SIZE // 3)),
    ],
    "empty arrays": lambda: [[] for _ in range(SIZE // 3)],
    "numbers": lambda: [1] * (SIZE // 2),
    "words": lambda: [PAIRS[number % 676] for number in range(SIZE // 5)],
    "a text": lambda: "a.b@" * (SIZE // 4),
}  # fmt: skip


def peak_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def measure(case: str) -> None:
    text = orjson.dumps(CASES[case]())[:]
    began = time.process_time()
    value = orjson.loads(text)
    reading = time.process_time() - began
    gc.collect()
    gc.freeze()
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_kib()
    began = time.process_time()
    watching = Observer(values=case == "short texts")
    watching.observe([value], [0])
    shape = watching.shape()
    took = time.process_time() - began
    print(len(text), reading, took, (peak_kib() - before) / 1024, shape.depth)


def main() -> int:
    print(
        "Looking at one result of about 32 MiB, as a ratio to orjson.loads on the same bytes (processor time)"
    )
    print(f"  {'':<24} {'bytes':>11} {'orjson':>8} {'halflap':>17} {'memory':>9}  levels kept")
    holds = True
    for case in CASES:
        command = [sys.executable, __file__, case]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        size, reading, took, mib = int(said[0]), *map(float, said[1:4])
        holds = holds and mib <= MOST_MIB and took <= MOST_TIMES * reading
        print(
            f"  {case:<24} {size:>11,} {reading:>6.2f} s {took:>6.2f} s {took / reading:>6.1f} x {mib:>5.0f} MiB  {said[4]}"
        )
    return 0 if holds else 1


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(sys.argv[1])
    else:
        sys.exit(main())
