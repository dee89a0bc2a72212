from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from cli.program import at_once, configure, halflap
from halflap.demo import demo_config
from server.faces import ONE_FACE, client_of, face_id, served, stdio_face

if TYPE_CHECKING:
    from pathlib import Path

ASKED: dict[str, dict[str, Any]] = {
    "by words": {"query": "who are our best customers by revenue"},
    "by name": {"query": "mcp__doc_retrieval__get_doc"},
    "by misspelt name": {"query": "order_histroy"},
    "limited": {"query": "customer", "limit": 2},
    "one server": {"query": "search", "server": "doc_retrieval"},
    "no such server": {"query": "search", "server": "nowhere"},
    "nothing": {"query": "zyzzyva quux"},
    "too many": {"query": "x", "limit": 1000},
    "empty": {"query": "  "},
}


@pytest.fixture(scope="module", params=ONE_FACE, ids=face_id)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    transport, mode = request.param
    home: Path = tmp_path_factory.mktemp("search")
    servers = demo_config()["servers"]

    async def ask() -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            if transport == "stdio":
                errors = stack.enter_context((home / "errors").open("w"))
                config = configure(home, *servers)
                client = await stack.enter_async_context(stdio_face(config, home, mode=mode, errors=errors))
            else:
                client = await stack.enter_async_context(
                    client_of(stack.enter_context(served(home, *servers)), mode)
                )
            (tool,) = (one for one in (await client.list_tools()).tools if one.name == "search_tools")
            found = {word: await client.call_tool("search_tools", query) for word, query in ASKED.items()}
            return {"tool": tool, **found}

    return asyncio.run(ask())


def names(answers: dict[str, Any], word: str) -> list[str]:
    return [hit["name"] for hit in answers[word].structured_content["tools"]]


def test_a_tool_is_found_by_what_it_does(answers: dict[str, Any]) -> None:
    assert names(answers, "by words")[0] == "mcp__sales__sales_top_customers"


def test_a_name_is_found_first(answers: dict[str, Any]) -> None:
    assert names(answers, "by name")[0] == "mcp__doc_retrieval__get_doc"
    assert names(answers, "by misspelt name")[0] == "mcp__sales__order_history"


def test_a_hit_has_name_line_signature_and_score(answers: dict[str, Any]) -> None:
    (hit, *_) = answers["by name"].structured_content["tools"]
    assert hit == {
        "name": "mcp__doc_retrieval__get_doc",
        "description": "Fetch one internal document by its doc_id from search_docs.",
        "signature": "mcp__doc_retrieval__get_doc(doc_id: string)",
        "score": 1.0,
    }


def test_no_more_are_given_than_asked_for(answers: dict[str, Any]) -> None:
    assert len(names(answers, "limited")) == 2


def test_one_server_can_be_asked_for(answers: dict[str, Any]) -> None:
    assert names(answers, "one server")
    assert all(name.startswith("mcp__doc_retrieval__") for name in names(answers, "one server"))


def test_a_server_that_is_not_there_is_an_error_that_names_the_known(answers: dict[str, Any]) -> None:
    assert answers["no such server"].is_error
    assert "doc_retrieval, financial_data, sales" in answers["no such server"].content[0].text


def test_nothing_found_is_an_empty_list(answers: dict[str, Any]) -> None:
    assert not answers["nothing"].is_error
    assert names(answers, "nothing") == []


def test_an_empty_query_is_an_error(answers: dict[str, Any]) -> None:
    assert answers["empty"].is_error
    assert "The query is empty." in answers["empty"].content[0].text


def test_a_limit_out_of_bounds_is_an_error(answers: dict[str, Any]) -> None:
    assert answers["too many"].is_error
    assert "limit: expected at most 100, received 1000" in answers["too many"].content[0].text


def test_the_structured_content_is_the_text_and_fits_the_declared_schema(answers: dict[str, Any]) -> None:
    answer = answers["by words"]
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert answer.content[0].text == json.dumps(answer.structured_content, indent=2, ensure_ascii=False)
    jsonschema_rs.validate(answers["tool"].output_schema, answer.structured_content)


def test_the_command_finds_the_same(tmp_path: Path) -> None:
    config = configure(tmp_path, *(one for one in demo_config()["servers"] if one["name"] == "sales"))
    done = halflap("search", "-c", config, "top", "customers", "--json", "-n", "3", home=tmp_path)
    assert done.json[0]["name"] == "mcp__sales__sales_top_customers"
    runs = at_once(
        {
            "shown": ("search", "-c", config, "top", "customers"),
            "nothing": ("search", "-c", config, "zyzzyva"),
        },
        tmp_path,
    )
    assert "mcp__sales__sales_top_customers(period?: " in runs["shown"].out.splitlines()[0]
    assert runs["nothing"].err.startswith("Nothing fits.")
