"""`halflap schema`: show, drift, export and import."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import Done, configure, halflap
from halflap import Gateway, load_config
from support import python_server, some

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORDS = python_server("r", "records.py", protocol="legacy")
SWIFT = python_server("s", "swift.py", protocol="legacy")
ONE = "mcp__r__one"


def structured(value: Any) -> dict[str, Any]:
    return {"structuredContent": {"a": value}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("schemas")
    config = replace(load_config(configure(home, RECORDS, SWIFT)), data_dir=home / "data")

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


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    show, config = ("schema", "show", ONE), ("-c", "halflap-test.json")
    asked: dict[str, tuple[str, ...]] = {
        "show": show,
        "drift --json": ("schema", "drift", "--json"),
        "export": ("schema", "export", "-"),
        "inspect": ("inspect", ONE),
        "doctor": ("doctor", "--json"),
    }
    return {name: halflap(*words, *config, home=place) for name, words in asked.items()}


def test_show_has_what_was_learned_and_how_often(done: dict[str, Done]) -> None:
    lines = [line.strip() for line in done["show"].out.splitlines()]
    assert lines[0] == ONE
    assert any(line.startswith("learned: {") and "email: string" in line for line in lines)
    assert "results: 4" in lines


def test_drift_lists_changes_and_violated_declarations(done: dict[str, Done]) -> None:
    assert [(row["tool"], row["what"], row["current"]) for row in done["drift --json"].json] == [
        ("mcp__r__odd", "new-type", True),
        ("mcp__s__breach", "breaks-declared-schema", True),
    ]


def test_inspect_and_doctor_include_what_was_learned(done: dict[str, Done]) -> None:
    assert "{active: boolean, address: {" in done["inspect"].out
    counted = done["doctor"].json
    assert counted["outputs"] == {"declared": 2, "learned": 2, "unknown": counted["tools"] - 4}


def test_an_export_has_no_values_and_no_local_origin(done: dict[str, Done]) -> None:
    data = done["export"].json
    assert (data["format"], data["version"]) == ("halflap-learned", 1)
    assert {one["origin"].partition("/")[0] for one in data["learned"]} == {data["installation"]}
    assert "live" not in {one["origin"] for one in data["learned"]}
    assert "example.org" not in done["export"].out


def test_an_export_can_be_imported_and_counts_once(done: dict[str, Done], tmp_path: Path) -> None:
    configure(tmp_path)
    take = ("schema", "import", "-", "--json", "-c", "halflap-test.json")
    for new in (66, 0):
        taken = halflap(*take, home=tmp_path, stdin=done["export"].out.encode())
        assert taken.json == {"tools": 3, "origins": 1, "observations": 66, "new": new, "own": 0}


@pytest.mark.parametrize(
    "change",
    some(
        [
            lambda text: text.replace('"observations":4', '"observations":' + "9" * 30),
            lambda text: text.replace('"first":', '"first":NaN,"second":', 1),
            lambda text: text.replace('"root":', '"root":' + "[" * 200_000, 1),
            lambda text: text.replace('"version":1', '"version":0', 1),
            lambda _: "[]",
        ],
        every=2,
    ),
)
def test_a_damaged_export_is_refused_whole(
    done: dict[str, Done], tmp_path: Path, change: Callable[[str], str]
) -> None:
    configure(tmp_path)
    file = tmp_path / "learned.json"
    file.write_text(change(done["export"].out))
    taken = halflap("schema", "import", str(file), "-c", "halflap-test.json", home=tmp_path)
    assert (taken.code, taken.out) == (1, "")
    assert "Error [" in taken.err
    assert halflap("schema", "export", "-c", "halflap-test.json", home=tmp_path).json["learned"] == []
