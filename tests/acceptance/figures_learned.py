"""Learned schemas: results replayed through a gateway, and values that a schema learned from them should reject."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from acceptance.figures_flows import airline_runs
from acceptance.figures_gateway import Replay, opened, replayed
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

Results = dict[str, list[Any]]
Path = tuple[str, ...]
FEWEST = 5
"""With fewer results of a tool, its required keys are uncertain."""
MUTANTS_PER_TOOL = 60
_OTHERS: tuple[Any, ...] = ("text", {"other": 1}, [1], True)


def airline_results() -> Results:
    """Return the results of every tool, as programs receive them."""
    results: Results = defaultdict(list)
    for call in (call for run in airline_runs().values() for call in run if not call["is_error"]):
        value = call["result"]
        results[call["tool"]].append(value if isinstance(value, dict | list | str) else json.dumps(value))
    return results


def webhook_results(*, as_one: bool = False) -> Results:
    """Return the payloads by event, or all of them as the results of one tool."""
    results: Results = defaultdict(list)
    with gzip.open(shared_data("webhooks.jsonl.gz"), "rt") as lines:
        for record in map(json.loads, lines):
            results["all" if as_one else f"on_{record['event']}"].append(record["payload"])
    return results


async def learned_schemas(results: Results) -> dict[str, Any]:
    """Replay results through a gateway, and return the learned schemas that `inspect` shows."""
    replay = Replay({"name": name, "inputSchema": {"type": "object"}} for name in results)
    async with opened({"replay": replay}) as gateway:
        await replayed(gateway, replay, [(name, {}, value) for name in results for value in results[name]])
        return {name: (await gateway.inspect(f"mcp__replay__{name}"))["observedSchema"] for name in results}


def accepted(schemas: dict[str, Any], results: Results) -> tuple[int, int]:
    """Count the values that the schema of their tool accepts, and all values."""
    validators = {name: jsonschema_rs.validator_for(schema) for name, schema in schemas.items()}
    verdicts = [validators[name].is_valid(value) for name in results for value in results[name]]
    return sum(verdicts), len(verdicts)


def rejected(schemas: dict[str, Any], results: Results) -> tuple[int, int]:
    count, whole = accepted(schemas, results)
    return whole - count, whole


def mutants(results: Results, random: Random) -> Results:
    """Break values at random places: remove a required key, or put in a null or a type that was never seen there."""
    made: Results = defaultdict(list)
    for name, values in sorted(results.items()):
        spots = [spot for value in values for spot in _spots(value)]
        times = Counter(path for path, _, _ in spots)
        holders = Counter({(): len(values)}) + Counter(
            path for path, _, inner in spots if isinstance(inner, dict)
        )
        types: dict[Path, set[type]] = defaultdict(set)
        for path, _, inner in spots:
            types[path].add(type(inner))
        for number in range(MUTANTS_PER_TOOL if len(values) >= FEWEST else 0):
            broken = copy.deepcopy(random.choice(values))
            places = list(_spots(broken))
            if number % 3 == 0:
                places = [
                    one for one in places if one[0][-1] != "[]" and times[one[0]] == holders[one[0][:-1]]
                ]
            elif number % 3 == 1:
                places = [one for one in places if type(None) not in types[one[0]]]
            if not places:
                continue
            path, (holder, key), _ = random.choice(places)
            if number % 3 == 0:
                del holder[key]
            else:
                others = [one for one in _OTHERS if type(one) not in types[path]]
                holder[key] = None if number % 3 == 1 else others[0]
            made[name].append(broken)
    return made


def _spots(value: Any, path: Path = ()) -> Iterator[tuple[Path, tuple[Any, Any], Any]]:
    """Yield every place within a value: its path, with `[]` for any item, its container and key, and its value."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in places:
        here = (*path, key if isinstance(key, str) else "[]")
        yield here, (value, key), inner
        yield from _spots(inner, here)
