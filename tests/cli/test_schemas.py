"""What was learned, as the commands show, export and import it."""

from __future__ import annotations

import ast
import asyncio
import logging
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import Done, configure, environment, halflap
from halflap import Gateway, load_config
from halflap.cli.app import app
from support import python_server, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


def inside(*arguments: str) -> Done:
    """Run a command without a process of its own: most of a run is loading the program."""
    out, err = BytesIO(), BytesIO()
    logger = logging.getLogger()
    before = (logger.level, logger.handlers[:])
    levels = {name: logging.getLogger(name).level for name in list(logger.manager.loggerDict)}
    with (
        redirect_stdout(TextIOWrapper(out, encoding="utf-8", write_through=True)),
        redirect_stderr(TextIOWrapper(err, encoding="utf-8", write_through=True)),
    ):
        code = app([*arguments, "-c", "halflap-test.json"], standalone_mode=False)
        written = out.getvalue().decode(), err.getvalue().decode()
    # A command sets up logging for its whole process, which is not its own here.
    logger.handlers[:] = before[1]
    logger.setLevel(before[0])
    for name in list(logger.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
    return Done(code or 0, *written)


@pytest.fixture(scope="module")
def done(place: Path) -> Iterator[dict[str, Done]]:
    show = ("schema", "show", ONE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, value in environment(place).items():
            patch.setenv(name, value)
        yield {
            "show": halflap(*show, "-c", "halflap-test.json", home=place),
            "show --json": inside(*show, "--json", "--history"),
            "python": inside(*show, "--python"),
            "json schema": inside(*show, "--json-schema"),
            "declared": inside("schema", "show", "mcp__s__breach"),
            "no schema": inside("schema", "show", "mcp__r__many", "--json-schema"),
            "two": inside(*show, "--json-schema", "--python"),
            "drift": inside("schema", "drift"),
            "drift --json": inside("schema", "drift", "--json"),
            "no drift": inside("schema", "drift", ONE),
            "export": inside("schema", "export"),
            "export -": inside("schema", "export", "-"),
            "stubs -": inside("schema", "stubs", "-o", "-"),
            "inspect": inside("inspect", ONE),
            "doctor": halflap("doctor", "--json", "-c", "halflap-test.json", home=place),
        }


def test_show_tells_each_place_and_where_it_is_known_from(done: dict[str, Done]) -> None:
    lines = [" ".join(line.split()) for line in done["show"].out.splitlines()]
    assert lines[0] == ONE
    assert "place what seen known" in lines
    assert "email string (email) always learned" in lines
    assert "address.city string always learned" in lines


def test_show_puts_what_is_declared_beside_what_was_seen(done: dict[str, Done]) -> None:
    lines = [" ".join(line.split()) for line in done["declared"].out.splitlines()]
    assert "count integer always declared and learned" in lines
    assert any("breaks what is declared" in line for line in lines)


def test_show_as_json_has_the_schemas_and_the_history(done: dict[str, Done]) -> None:
    told = done["show --json"].json
    assert (told["name"], told["outputSchema"], told["observations"]) == (ONE, None, 4)
    (version,) = told["history"]
    assert (version["current"], version["origins"], version["observations"]) == (True, ["live"], 4)


def test_show_as_python_is_a_module_with_the_type(done: dict[str, Done]) -> None:
    ast.parse(done["python"].out)
    assert f"class _{ONE}__gives(TypedDict):" in done["python"].out


def test_show_as_json_schema_has_the_counts(done: dict[str, Done]) -> None:
    schema = done["json schema"].json
    assert schema["x-halflap"]["observations"] == 4
    assert schema["properties"]["id"]["x-halflap"] == {"presence": 1.0, "observations": 4}


def test_what_nothing_was_learned_of_says_so(done: dict[str, Done]) -> None:
    assert (done["no schema"].code, done["no schema"].out) == (1, "")
    assert "Nothing was learned" in done["no schema"].err
    assert done["two"].code == 2


def test_drift_lists_changes_and_broken_declarations(done: dict[str, Done]) -> None:
    assert "mcp__r__odd  a: new type, was integer, is string" in done["drift"].out
    assert "mcp__s__breach  count: breaks what is declared" in done["drift"].out
    rows = done["drift --json"].json
    assert [(row["tool"], row["what"], row["current"]) for row in rows] == [
        ("mcp__r__odd", "new-type", True),
        ("mcp__s__breach", "breaks-declared-schema", True),
    ]
    assert (done["no drift"].out, done["no drift"].err) == ("", "Nothing has drifted.\n")


def test_inspect_shows_what_was_learned(done: dict[str, Done]) -> None:
    assert "Returns:\n  {active: boolean, address: {" in done["inspect"].out


def test_doctor_counts_what_is_declared_learned_and_unknown(done: dict[str, Done]) -> None:
    counted = done["doctor"].json
    assert counted["outputs"] == {"declared": 2, "learned": 2, "unknown": counted["tools"] - 4}


def test_what_is_exported_has_no_values_and_no_names_of_ours(done: dict[str, Done]) -> None:
    data = done["export"].json
    assert (data["format"], data["version"]) == ("halflap-learned", 1)
    assert {one["origin"].partition("/")[0] for one in data["learned"]} == {data["installation"]}
    assert "live" not in {one["origin"] for one in data["learned"]}
    assert "example.org" not in done["export"].out


def test_what_is_exported_can_be_imported_and_counts_once(done: dict[str, Done], tmp_path: Path) -> None:
    configure(tmp_path)
    take = ("schema", "import", "-", "--json", "-c", "halflap-test.json")
    for new in (66, 0):
        taken = halflap(*take, home=tmp_path, stdin=done["export"].out.encode())
        assert taken.json == {"tools": 3, "origins": 1, "observations": 66, "new": new, "own": 0}


def test_it_is_said_what_of_an_import_is_new(done: dict[str, Done], tmp_path: Path) -> None:
    configure(tmp_path)
    take = ("schema", "import", "-", "-c", "halflap-test.json")
    first, second = (halflap(*take, home=tmp_path, stdin=done["export"].out.encode()) for _ in range(2))
    assert first.err == ("Imported what was learned elsewhere: tools 3, results 66, of which 66 are new.\n")
    assert second.err == "None of the results in it are new: tools 3, results 66, which count already.\n"


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    taken = halflap("schema", "import", "-", home=tmp_path, stdin=b"[]")
    assert (taken.code, taken.out) == (1, "")
    assert taken.err == (
        "Error [shape-broken]: This is nothing that was learned. Take it from `halflap schema export`.\n"
    )


def test_a_dash_is_stdout_and_no_file(done: dict[str, Done], place: Path) -> None:
    assert done["export -"].json["learned"] == done["export"].json["learned"]
    assert "async def mcp__r__one(" in done["stubs -"].out
    assert not (place / "-").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    some(
        [
            (
                lambda text: text.replace('"observations":4', '"observations":' + "9" * 30),
                "observations is no count",
            ),
            (lambda text: text.replace('"first":', '"first":NaN,"second":', 1), "there is no NaN in it"),
            (lambda text: text.replace('"root":', '"root":' + "[" * 200_000, 1), "nested too deeply"),
            (lambda text: text.replace('"version":1', '"version":0', 1), "There is no version 0"),
            (lambda text: text[:-30], "not JSON"),
        ],
        every=2,
    ),
)
def test_what_is_damaged_is_refused_and_nothing_of_it_is_stored(
    done: dict[str, Done], tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    configure(tmp_path)
    file = tmp_path / "learned.json"
    file.write_text(change(done["export"].out))
    taken = halflap("schema", "import", str(file), "-c", "halflap-test.json", home=tmp_path)
    assert (taken.code, taken.out) == (1, "")
    assert told in taken.err
    assert "Nothing was imported" in taken.err
    assert halflap("schema", "export", "-c", "halflap-test.json", home=tmp_path).json["learned"] == []
