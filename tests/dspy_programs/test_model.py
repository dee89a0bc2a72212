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
from dspy_programs.running import KEY, QUESTION, configured, echo, program, running, step
from halflap.config import ProgramsConfig
from halflap.core.errors import ProgramCacheError, ProgramFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"
)
slow = pytest.mark.slow

# Failures of the model --------------------------------------------------------------------------------

TROUBLES = {
    "429": (Answer(status=429, headers={"retry-after": "100"}), "429"),
    "401": (Answer("bad key " + KEY, status=401), r"programs\.lm\.api_key"),
    "the key where the text is cut": (Answer("p" * 279 + f" {KEY} tail", status=401), r"\[api_key\]"),
    "the key in an answer": (Answer("p" * 290 + KEY), r"reply.*\[api_key\]"),
    "404": (Answer(status=404), "404"),
    "not json": (Answer(raw=b"<html>"), r"programs\.lm\.api_base"),
    "redirect": (Answer(status=302, headers={"location": "http://127.0.0.1:9/?token=hidden"}), "302"),
    "no choices": (Answer(raw=b"{}"), "answered nothing"),
    "cut off": (Answer(raw=b'{"choices": [', headers={"content-length": "1000", "connection": "close"}), r"127\.0\.0\.1"),
    "prose": (Answer("It is warm."), "reply, degrees"),
    "one field missing": (Answer("[[ ## reply ## ]]\nRome"), "degrees"),
    "wrong type": (Answer("[[ ## reply ## ]]\nRome\n[[ ## degrees ## ]]\nhot"), "degrees"),
    "outside the schema": (Answer(said({"reply": "x", "degrees": 99})), "degrees"),
    "nested too deep": (Answer(said({"reply": "x", "degrees": "[" * 100_000})), "nested"),
}  # fmt: skip


@slow
def test_bad_answers_are_explained_without_the_key_and_never_cached(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    degrees = {"name": "degrees", "schema": {"type": "integer", "maximum": 50}}
    asking = program(predictors=[step(outputs=[{"name": "reply"}, degrees])])
    good = {"reply": "Rome", "degrees": 31}
    passed: set[str] = set()

    def answer(asked: Asked) -> Any:
        trouble = asked.inputs["question"]
        return good if trouble in passed else TROUBLES[trouble][0]

    async def story() -> None:
        with chatting(answer) as model:
            async with running(configured(model.url), tmp_path) as programs:
                for trouble, (_, told) in TROUBLES.items():
                    with pytest.raises(ProgramFailedError, match=f"(?s){told}") as caught:
                        await programs.run(asking, {"question": trouble})
                    assert KEY[:8] not in str(caught.value)
                    assert "hidden" not in str(caught.value)
                    passed.add(trouble)
                    assert (await programs.run(asking, {"question": trouble})).outputs == good

    run(story())
    assert KEY[:8] not in caplog.text


@slow
def test_transient_failures_are_retried_and_a_slow_or_absent_model_is_reported(
    run: Run, tmp_path: Path
) -> None:
    troubles = [Answer(status=503), Answer(drop=True)]

    async def story() -> None:
        with chatting(lambda _: troubles.pop(0) if troubles else {"reply": "Rome"}) as model:
            async with running(configured(model.url, model="openai/a"), tmp_path) as programs:
                assert (await programs.run(program(), QUESTION)).outputs == {"reply": "Rome"}
            assert model.count == 3
            model.answer = lambda _: Answer(delay=100)
            async with running(configured(model.url, timeout=0.2), tmp_path) as programs:
                with pytest.raises(ProgramFailedError, match=r"0\.2 s.*programs\.lm\.timeout"):
                    await programs.run(program(), QUESTION)
            assert model.count == 4
        async with running(configured("http://127.0.0.1:9/v1"), tmp_path) as programs:
            with pytest.raises(ProgramFailedError, match=r"127\.0\.0\.1:9/v1 cannot be reached"):
                await programs.run(program(), QUESTION)

    run(story())


# Key and address --------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("model_name", ["openai/tiny", "azure/tiny"])
def test_a_redirect_is_not_followed(model_name: str, run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        with chatting(lambda _: {"reply": "elsewhere"}) as other:
            moved = {"location": f"{other.url}/chat/completions"}
            with chatting(lambda _: Answer(status=307, headers=moved)) as model:
                async with running(configured(model.url, model=model_name), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError):
                        await programs.run(program(), QUESTION)
            assert (model.count >= 1, other.count) == (True, 0)

    run(story())


@slow
def test_keys_addresses_and_proxies_of_the_environment_are_not_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")

    async def story() -> None:
        with chatting(echo) as model, socket.create_server(("127.0.0.1", 0)) as proxy:
            for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
                monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
            async with running(configured(model.url, api_key=None), tmp_path) as programs:
                await programs.run(program(), QUESTION)
            assert "sk-of-the-environment" not in str(model.requests[0].headers)
            assert not select.select([proxy], [], [], 0)[0]
            assert model.count == 1

    run(story())


def test_a_missing_model_or_a_conflicting_address_is_explained(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(config: ProgramsConfig) -> str:
        async with running(config, tmp_path) as programs:
            with pytest.raises(ProgramFailedError) as caught:
                await programs.run(program(), QUESTION)
        return str(caught.value)

    assert "programs:\n  lm:" in run(refused(ProgramsConfig()))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "OPENAI_BASE_URL" in run(refused(configured(None)))


@slow
def test_a_key_in_an_answer_is_redacted_and_the_cache_is_private(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        with chatting(lambda _: {"reply": f"It is {KEY}."}) as model:
            for hit in (False, True):
                async with running(configured(model.url), tmp_path) as programs:
                    outcome = await programs.run(program(), QUESTION)
                assert (outcome.outputs, outcome.cache_hit) == ({"reply": "It is [api_key]."}, hit)

    run(story())
    folder = tmp_path / "dspy-cache"
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    assert QUESTION["question"].encode() not in kept
    assert (folder.stat().st_mode | (folder / "answers.sqlite").stat().st_mode) & 0o077 == 0


# The cache --------------------------------------------------------------------------------------------


@slow
def test_answers_are_reused_only_for_the_same_request(run: Run, tmp_path: Path) -> None:
    second = step("judge", inputs=[{"name": "reply"}], outputs=[{"name": "verdict"}])
    both = program(predictors=[step(), second])

    async def story() -> None:
        with chatting(echo) as model, chatting(echo) as other:

            async def hits(config: ProgramsConfig, *programs: Any) -> list[bool]:
                async with running(config, tmp_path) as opened:
                    return [(await opened.run(one, QUESTION)).cache_hit for one in programs]

            assert await hits(configured(model.url), program(), both, both) == [False, False, True]
            assert await hits(configured(model.url, api_key="another-key"), both) == [True]
            for changed in (
                configured(other.url),
                configured(model.url, model="openai/large"),
                configured(model.url, temperature=0.3),
                configured(model.url, cache="off"),
            ):
                assert await hits(changed, program()) == [False]

    run(story())


@slow
def test_a_damaged_answer_is_asked_for_again_and_an_unusable_cache_is_an_error(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "dspy-cache" / "answers.sqlite"

    def spoil() -> None:
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE answers SET outputs = '[{'")
            database.commit()

    async def story() -> None:
        with chatting(lambda _: {"reply": "Rome"}) as model:
            async with running(configured(model.url), tmp_path) as programs:
                for hit in (False, False, True):
                    outcome = await programs.run(program(), QUESTION)
                    assert (outcome.outputs, outcome.cache_hit) == ({"reply": "Rome"}, hit)
                    if model.count == 1:
                        await asyncio.to_thread(spoil)
            await asyncio.to_thread(file.write_bytes, b"garbage" * 1000)
            for cache in (file.parent, file):
                async with running(configured(model.url, cache=cache), tmp_path) as programs:
                    with pytest.raises(ProgramCacheError, match=r"programs\.cache") as caught:
                        await programs.run(program(), QUESTION)
                assert caught.value.seed_code == "CACHE_ERROR"
            assert model.count == 2

    run(story())
