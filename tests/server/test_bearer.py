"""One bearer is one principal, however the header is spelled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from mcp import MCPError

from cli.program import halflap
from halflap.server.tokens import bearer_token, principal_of_token
from server.faces import client_of, served

if TYPE_CHECKING:
    from pathlib import Path

SPELLINGS = ["Bearer TOK", "bearer TOK", "BEARER TOK", "Bearer  TOK", "Bearer\tTOK", " Bearer TOK  "]


@pytest.mark.parametrize("header", SPELLINGS)
def test_every_spelling_is_the_same_bearer(header: str) -> None:
    assert bearer_token(header.encode()) == b"TOK"


@pytest.mark.parametrize("header", ["", "Bearer tok", "Bearer TOK x", "Basic TOK", "TOK", "BearerTOK"])
def test_another_token_is_another_bearer(header: str) -> None:
    assert bearer_token(header.encode()) != b"TOK"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer  ", "Basic TOK", "BearerTOK"])
def test_what_is_no_bearer_has_no_token(header: str) -> None:
    assert bearer_token(header.encode()) is None


def test_a_principal_says_nothing_of_the_token() -> None:
    assert "TOK" not in principal_of_token("TOK")
    assert principal_of_token("TOK") != principal_of_token("TOKE")


ANN, BOB = "ann-has-this-token", "bob-has-another-one"


@pytest.mark.slow
def test_people_with_tokens_of_their_own_see_their_own_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        with served(tmp_path, http={"tokens": {"ann": ANN, "bob": BOB}}) as face:
            assert face.token == "", "Nobody made a token that lets everybody in."
            for wrong in ("-", "ann", f"{ANN}x", ANN[:-1]):
                assert face.ask(Authorization=f"Bearer {wrong}").status_code == 401
            ann, bob = replace(face, token=ANN), replace(face, token=BOB)
            async with client_of(ann, "legacy") as client:
                result = await client.call_tool("execute_program", {"code": "print('of ann')"})
                assert result.meta is not None
                run = f"halflap://runs/{result.meta['halflap']['run']}/output"
            async with client_of(ann, "legacy", scheme="bearer  ") as client:
                (contents,) = (await client.read_resource(run)).contents
                assert getattr(contents, "text", "") == "of ann\n"
            async with client_of(bob, "legacy") as client:
                assert (await client.list_resources()).resources == []
                with pytest.raises(MCPError, match="no resource"):
                    await client.read_resource(run)

    asyncio.run(scenario())
    done = halflap("runs", "--json", home=tmp_path)
    assert [run["principal"] for run in done.json] == ["person:ann"]
