"""docs/dspy-programs.md: its manifest can be used as it stands, and its tables have all that there is."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from halflap.programs import documents, fields, folders, manifest, state
from halflap.programs.library import Library
from halflap.programs.manifest import read_manifest
from support import ROOT

PAGE = (ROOT / "docs" / "dspy-programs.md").read_text(encoding="utf-8")
SCHEMA = json.loads(files("halflap").joinpath("programs/manifest.schema.json").read_bytes())


def keys(head: str) -> list[str]:
    """Give what is named in the first column of the table with this head."""
    table = PAGE.partition(f"| {head} | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    return re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines()))


def test_the_manifest_of_the_page_can_be_used_and_is_wired_as_the_page_says() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found = read_manifest(text.encode(), name="triage")
    assert [one.name for one in found.inputs] == ["message", "tone"]
    assert [one.name for one in found.outputs] == ["topic", "reply"]
    assert "The program above takes `message` and `tone`, and gives `topic` and `reply`." in PAGE
    assert found.wiring.predictors["draft"]["about"] == "sort.topic"
    assert found.input_schema["required"] == ["message"]


def test_the_programs_that_ship_are_listed_with_what_they_take_and_give() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (`.*)\|$", PAGE, re.MULTILINE))
    shelf = Library(None).read().programs
    for name, one in shelf.items():
        takes, gives = rows[name].split("|")
        assert re.findall(r"`(\w+)`( \(may be left out\))?", takes) == [
            (field.name, " (may be left out)" if "default" in field.schema else "")
            for field in one.manifest.inputs
        ]
        assert re.findall(r"`(\w+)`", gives) == [field.name for field in one.manifest.outputs]


def test_every_key_of_a_manifest_is_explained() -> None:
    page = PAGE.partition("A predictor:")
    first = re.findall(r"^\| `(\w+)` \|", page[0], re.MULTILINE)
    assert [one for one in first if one in manifest._KEYS] == list(manifest._KEYS)
    assert set(SCHEMA["properties"]) == set(manifest._KEYS)
    second = page[2].partition("A field has")[0]
    for key in manifest._OF_PREDICTOR:
        assert f"`{key}`" in second
    assert set(SCHEMA["$defs"]["predictor"]["properties"]) == set(manifest._OF_PREDICTOR)
    assert sorted(keys("keyword")) == sorted(fields._KEYWORDS)
    assert set(SCHEMA["$defs"]["schema"]["properties"]) == set(fields._KEYWORDS)


def test_the_limits_are_those_of_the_code() -> None:
    assert (folders._LARGEST["manifest.json"], folders._LARGEST["state.json"]) == (256 * 2**10, 4 * 2**20)
    assert (documents._DEEPEST, state._MOST_DEMOS, manifest._MOST_PREDICTORS) == (40, 100, 20)
    assert "256 KiB for a manifest, 4 MiB for a state, 40 levels, 100 demos" in PAGE


def test_the_schema_knows_the_reserved_names_and_the_limits_of_the_reader() -> None:
    reserved = SCHEMA["$defs"]["field"]["properties"]["name"]["not"]["anyOf"][0]["enum"]
    assert reserved == sorted(fields.RESERVED)
    assert SCHEMA["required"] == list(manifest._NEEDED)
    assert SCHEMA["properties"]["version"]["pattern"] == f"^{manifest.VERSION.pattern}$"
    assert SCHEMA["properties"]["predictors"]["maxItems"] == manifest._MOST_PREDICTORS
    assert SCHEMA["$defs"]["inputs"]["maxItems"] == fields._MOST_FIELDS
    assert SCHEMA["$defs"]["schema"]["properties"]["enum"]["maxItems"] == fields._MOST_OPTIONS
