"""`halflap schema`: show, drift, export and import."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import configure, halflap
from halflap import Gateway, load_config
from support import python_server

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

CONFIG = ("-c", "halflap-test.json")
ONE = "mcp__r__one"


def structured(value: Any) -> dict[str, Any]:
    return {"structuredContent": {"a": value}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("schemas")
    servers = [
        python_server(name, f"{kind}.py", protocol="legacy")
        for name, kind in (("r", "records"), ("s", "swift"))
    ]
    config = replace(load_config(configure(home, *servers)), data_dir=home / "data")

    async def call() -> None:
        async with Gateway.open(config) as gateway:
            for number in range(4):
                await gateway.call(ONE, number=number)
            for number in range(60):
                await gateway.call("mcp__r__odd", number=number, result=structured(number))
            await gateway.inspect(ONE)
            await gateway.call("mcp__r__odd", number=60, result=structured("sixty"))
            await gateway.call("mcp__s__breach")

    asyncio.run(call())
    return home


def run(place: Path, *words: str, **how: Any) -> Done:
    return halflap(*words, *CONFIG, home=place, **how)


def test_drift_lists_changes_and_violated_declarations(place: Path) -> None:
    rows = run(place, "schema", "drift", "--json").json
    assert [(row["tool"], row["what"], row["current"]) for row in rows] == [
        ("mcp__r__odd", "new-type", True),
        ("mcp__s__breach", "breaks-declared-schema", True),
    ]


def test_an_export_has_no_values_and_counts_once_where_it_is_imported(place: Path, tmp_path: Path) -> None:
    text = run(place, "schema", "export", "-").out
    assert "example.org" not in text
    configure(tmp_path)
    for new in (66, 0):
        taken = run(tmp_path, "schema", "import", "-", "--json", stdin=text.encode())
        assert taken.json == {"tools": 3, "origins": 1, "observations": 66, "new": new, "own": 0}
    damaged = text.replace('"root":', '"root":' + "[" * 200_000, 1)
    taken = run(tmp_path, "schema", "import", "-", stdin=damaged.encode())
    assert (taken.code, taken.out, "Error [" in taken.err) == (1, "", True)
