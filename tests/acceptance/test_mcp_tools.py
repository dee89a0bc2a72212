"""The MCP tools as clients see them: definitions, families, and every kind of answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from acceptance import golden
from acceptance.masks import answer, structure
from acceptance.questions import TOOLS
from acceptance.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OTHER_FACES = [
    ("http", "legacy"),
    pytest.param(("http", "auto"), marks=pytest.mark.slow),
    pytest.param(("stdio", "legacy"), marks=pytest.mark.slow),
]


@pytest.fixture(scope="session", params=OTHER_FACES, ids="-".join)
def other_session(
    request: pytest.FixtureRequest, session_at: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    return session_at(*request.param, brief=request.param == OTHER_FACES[0])


def answers(session: dict[str, Any], tool: str) -> dict[str, Any]:
    return {name: answer(one) for name, one in session["answers"][tool].items()}


def test_tools_are_defined_as_agreed(session: dict[str, Any]) -> None:
    golden.check("tools", {tool["name"]: structure(tool) for tool in session["tools"]})


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_answers_as_agreed(session: dict[str, Any], tool: str) -> None:
    golden.check(f"answers/{tool}", answers(session, tool))


@pytest.mark.slow
@pytest.mark.parametrize("families", [("core",), ("dspy",), ("gepa",), ("core", "gepa")], ids="-".join)
def test_clients_see_the_families_that_are_configured(
    session: dict[str, Any], families: tuple[str, ...], home: Path
) -> None:
    from acceptance import sessions  # noqa: PLC0415 -- as in the fixtures: it loads the MCP library

    every = [tool["name"] for tool in session["tools"]]
    expected = [
        name
        for name in every
        if (name.split("_")[0] if name.startswith(("dspy_", "gepa_")) else "core") in families
    ]
    assert asyncio.run(sessions.offered(home, *families)) == expected


def test_http_requests_are_let_in_or_refused_as_agreed(session_at: Callable[..., dict[str, Any]]) -> None:
    golden.check("http", session_at("http", "legacy", brief=True)["http"])


def test_resources_and_protocol_errors_are_as_agreed(session: dict[str, Any]) -> None:
    golden.check("answers/protocol", session["protocol"])


def test_no_golden_file_is_left_over() -> None:
    expected = {"tools", "http", "config_problems", "answers/protocol"}
    expected |= {f"answers/{tool}" for tool in TOOLS} | {f"commands/{name}" for name in SCENARIOS}
    files = golden.FOLDER.rglob("*.json")
    assert {str(file.relative_to(golden.FOLDER).with_suffix("")) for file in files} <= expected


def test_tools_are_defined_alike_at_every_face(
    session: dict[str, Any], other_session: dict[str, Any]
) -> None:
    assert other_session["tools"] == session["tools"]


def test_tools_answer_alike_at_every_face(session: dict[str, Any], other_session: dict[str, Any]) -> None:
    for tool in TOOLS:
        expected, others = answers(session, tool), answers(other_session, tool)
        assert others == {name: expected[name] for name in others}


def test_resources_and_protocol_errors_are_alike_at_every_face(
    session: dict[str, Any], other_session: dict[str, Any]
) -> None:
    assert other_session["protocol"] == session["protocol"]
