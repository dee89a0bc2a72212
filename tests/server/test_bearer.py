"""One bearer is one principal, however the header is spelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cli.program import ECHO
from halflap.server.bearer import bearer_token, principal_of_header
from server.faces import client_of, served

if TYPE_CHECKING:
    from pathlib import Path

SPELLINGS = ["Bearer TOK", "bearer TOK", "BEARER TOK", "Bearer  TOK", "Bearer\tTOK", " Bearer TOK  "]


@pytest.mark.parametrize("header", SPELLINGS)
def test_every_spelling_is_the_same_bearer(header: str) -> None:
    assert bearer_token(header.encode()) == b"TOK"
    assert principal_of_header(header) == principal_of_header("Bearer TOK")


@pytest.mark.parametrize("header", ["", "Bearer tok", "Bearer TOK x", "Basic TOK", "TOK", "BearerTOK"])
def test_another_token_is_another_bearer(header: str) -> None:
    assert bearer_token(header.encode()) != b"TOK"
    assert principal_of_header(header) != principal_of_header("Bearer TOK")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer  ", "Basic TOK", "BearerTOK"])
def test_what_is_no_bearer_has_no_token(header: str) -> None:
    assert bearer_token(header.encode()) is None


def test_a_principal_says_nothing_of_the_token() -> None:
    assert "TOK" not in principal_of_header("Bearer TOK")


def test_a_run_is_read_by_the_same_bearer_in_another_spelling(tmp_path: Path) -> None:
    async def scenario() -> str:
        with served(tmp_path, ECHO) as face:
            async with client_of(face, "legacy") as client:
                result = await client.call_tool("execute_program", {"code": "print('mine')"})
                assert result.meta is not None
                run = result.meta["halflap"]["run"]
            async with client_of(face, "legacy", scheme="bearer  ") as client:
                (contents,) = (await client.read_resource(f"halflap://runs/{run}/output")).contents
                return str(getattr(contents, "text", ""))

    assert asyncio.run(scenario()) == "mine\n"
