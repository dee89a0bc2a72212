"""Between a program and its model: failures, the key, addresses and the cache."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import sqlite3
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.running import KEY, QUESTION, configured, echo, playing, program, running, step
from halflap.config import ProgramsConfig
from halflap.core.errors import ProgramError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]
TROUBLES = {
    "429": (Answer(status=429, headers={"retry-after": "100"}), "429"),
    "the key where the text is cut": (Answer("p" * 279 + f" {KEY} tail", status=401), r"\[api_key\]"),
    "not json": (Answer(raw=b"<html>"), r"programs\.lm\.api_base"),
    "redirect": (Answer(status=302, headers={"location": "http://127.0.0.1:9/?token=hidden"}), "302"),
    "cut off": (Answer(raw=b'{"choices": [', headers={"content-length": "1000", "connection": "close"}), r"127\.0\.0\.1"),
    "prose": (Answer("It is warm."), "reply, degrees"),
    "outside the schema": (Answer(said({"reply": "x", "degrees": 99})), "degrees"),
    "nested too deep": (Answer(said({"reply": "x", "degrees": "[" * 100_000})), "nested"),
}  # fmt: skip


async def test_bad_answers_are_explained_without_the_key_and_never_cached(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    degrees = {"name": "degrees", "schema": {"type": "integer", "maximum": 50}}
    asking = program(predictors=[step(outputs=[{"name": "reply"}, degrees])])
    good = {"reply": "Rome", "degrees": 31}
    passed: set[str] = set()

    def answer(asked: Asked) -> Any:
        trouble = asked.inputs["question"]
        return good if trouble in passed else TROUBLES[trouble][0]

    async with playing(tmp_path, answer) as (programs, _):
        for trouble, (_answer, reason) in TROUBLES.items():
            with pytest.raises(ProgramError, match=f"(?s){reason}") as caught:
                await programs.run(asking, {"question": trouble})
            assert KEY[:8] not in str(caught.value)
            assert "hidden" not in str(caught.value)
            passed.add(trouble)
            assert (await programs.run(asking, {"question": trouble})).outputs == good
    assert KEY[:8] not in caplog.text


async def test_transient_failures_are_retried(tmp_path: Path) -> None:
    troubles = [Answer(status=503), Answer(drop=True)]
    answer = lambda _: troubles.pop(0) if troubles else {"reply": "Rome"}  # noqa: E731
    async with playing(tmp_path, answer) as (programs, model):
        assert (await programs.run(program(), QUESTION)).outputs == {"reply": "Rome"}
    assert model.count == 3


async def test_a_slow_absent_or_missing_model_is_reported(tmp_path: Path) -> None:
    with chatting(lambda _: Answer(delay=100)) as model:
        for config, reason in (
            (configured(model.url, timeout=0.2), r"programs\.lm\.timeout"),
            (configured("http://127.0.0.1:9/v1"), "127.0.0.1:9/v1 cannot be reached"),
            (ProgramsConfig(), "programs:\n  lm:"),
        ):
            async with running(config, tmp_path) as programs:
                with pytest.raises(ProgramError, match=reason):
                    await programs.run(program(), QUESTION)
    assert model.count == 1


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with chatting(lambda _: {"reply": "elsewhere"}) as other:
        moved = Answer(status=307, headers={"location": f"{other.url}/chat/completions"})
        # LiteLLM has a client of its own for azure.
        async with playing(tmp_path, lambda _: moved, model="azure/tiny") as (programs, model):
            with pytest.raises(ProgramError):
                await programs.run(program(), QUESTION)
        assert (model.count >= 1, other.count) == (True, 0)


async def test_keys_and_proxies_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        async with playing(tmp_path, echo, api_key=None) as (programs, model):
            await programs.run(program(), QUESTION)
        assert not select.select([proxy], [], [], 0)[0]
    assert model.count == 1
    assert "sk-of-the-environment" not in str(model.requests[0].headers)


async def test_a_key_in_an_answer_is_redacted_and_the_cache_is_private(tmp_path: Path) -> None:
    async with playing(tmp_path, lambda _: {"reply": f"It is {KEY}."}) as (programs, _):
        for hit in (False, True):
            outcome = await programs.run(program(), QUESTION)
            assert (outcome.outputs, outcome.cache_hit) == ({"reply": "It is [api_key]."}, hit)
    folder = tmp_path / "dspy-cache"
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    assert QUESTION["question"].encode() not in kept
    assert (folder.stat().st_mode | (folder / "answers.sqlite").stat().st_mode) & 0o077 == 0


async def test_answers_are_reused_only_for_the_same_request(tmp_path: Path) -> None:
    second = step("judge", inputs=[{"name": "reply"}], outputs=[{"name": "verdict"}])
    both = program(predictors=[step(), second])

    async def hits(config: ProgramsConfig, *programs: Any) -> list[bool]:
        async with running(config, tmp_path) as opened:
            return [(await opened.run(one, QUESTION)).cache_hit for one in programs]

    with chatting(echo) as model, chatting(echo) as other:
        assert await hits(configured(model.url), program(), both, both) == [False, False, True]
        assert await hits(configured(model.url, api_key="another-key"), both) == [True]
        for changed in (
            configured(other.url),
            configured(model.url, temperature=0.3),
            configured(model.url, cache="off"),
        ):
            assert await hits(changed, program()) == [False]


async def test_a_damaged_answer_is_asked_for_again_and_an_unusable_cache_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "dspy-cache" / "answers.sqlite"

    def spoil() -> None:
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE answers SET outputs = '[{'")
            database.commit()

    async with playing(tmp_path, lambda _: {"reply": "Rome"}) as (programs, model):
        for hit in (False, False, True):
            assert (await programs.run(program(), QUESTION)).cache_hit is hit
            if model.count == 1:
                await asyncio.to_thread(spoil)
        await asyncio.to_thread(file.write_bytes, b"garbage" * 1000)
        for cache in (file.parent, file):
            async with running(configured(model.url, cache=cache), tmp_path) as others:
                with pytest.raises(ProgramError) as caught:
                    await others.run(program(), QUESTION)
            assert caught.value.seed_code == "CACHE_ERROR"
        assert model.count == 2
