"""`suggest_workflow` over MCP."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from cli.program import configure
from halflap.demo import demo_config
from server.faces import ONE_FACE, client_of, face_id, served, stdio_face

if TYPE_CHECKING:
    from pathlib import Path

ASKED: dict[str, dict[str, Any]] = {
    "want": {"want": "mcp__sales__order_history", "have": {"query": "enterprise"}},
    "goal": {"goal": "orders of the top customers", "limit": 1},
    "field": {"want": "email", "have": {"customer_id": None}},
    "nothing": {"want": "zyzzyva"},
    "missing": {"want": "mcp__financial_data__query_financials"},
    "not at all": {},
    "too many": {"want": "email", "limit": 11},
    "wrong": {"wants": "email"},
    "no object": {"want": "email", "have": ["customer_id"]},
    "unknown": {"want": "mcp__sales__order_histroy"},
}


@pytest.fixture(scope="module", params=ONE_FACE, ids=face_id)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    transport, mode = request.param
    home: Path = tmp_path_factory.mktemp("suggestion")
    servers = [one for one in demo_config()["servers"] if one["name"] in {"sales", "financial_data"}]

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
            (tool,) = (one for one in (await client.list_tools()).tools if one.name == "suggest_workflow")
            found = {word: await client.call_tool("suggest_workflow", asked) for word, asked in ASKED.items()}
            program = found["want"].structured_content["suggestions"][0]["program"]
            ran = await client.call_tool("execute_program", {"code": program})
            return {"tool": tool, "ran": ran, **found}

    return asyncio.run(ask())


GOOD = ("want", "goal", "field", "nothing", "missing")


@pytest.mark.parametrize("word", GOOD)
def test_the_answer_is_what_is_declared_and_its_text_is_the_same(answers: dict[str, Any], word: str) -> None:
    answer = answers[word]
    assert not answer.is_error
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert answer.content[0].text == json.dumps(answer.structured_content, indent=2, ensure_ascii=False)
    jsonschema_rs.validate(answers["tool"].output_schema, answer.structured_content)


def test_the_program_can_be_run_as_it_is(answers: dict[str, Any]) -> None:
    ran = answers["ran"]
    assert not ran.is_error
    found = json.loads(ran.content[0].text.partition("\n")[2])
    assert found
    assert all("orders" in one for one in found)


def test_a_goal_gives_as_many_as_were_asked_for(answers: dict[str, Any]) -> None:
    (one,) = answers["goal"].structured_content["suggestions"]
    assert one["tools"] == ["mcp__sales__sales_top_customers", "mcp__sales__order_history"]


def test_what_cannot_be_supplied_is_said(answers: dict[str, Any]) -> None:
    missing = {one["parameter"] for one in answers["missing"].structured_content["missing"]}
    assert missing == {"ticker", "statement"}
    (nothing,) = answers["nothing"].structured_content["missing"]
    assert (nothing["tool"], nothing["parameter"]) == (None, "zyzzyva")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("not at all", "Say what is wanted"),
        ("too many", "limit"),
        ("wrong", "wants"),
        ("no object", "have"),
        ("unknown", "mcp__sales__order_history"),
    ],
)
def test_what_is_asked_wrongly_is_answered_with_what_is_wrong(
    answers: dict[str, Any], word: str, said: str
) -> None:
    assert answers[word].is_error
    assert said in answers[word].content[0].text


def test_it_says_that_it_changes_nothing(answers: dict[str, Any]) -> None:
    assert answers["tool"].annotations.read_only_hint is True
