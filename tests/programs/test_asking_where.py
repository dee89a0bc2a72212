"""Where a DSPy program's model is asked and with which key: by the configuration alone, and the key stays there."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import ProgramFailedError
from halflap.programs.environment import environment_hidden
from halflap.values import CallContext
from programs.chat_server import Answer, chatting
from programs.running import KEY, QUESTION, configured, echo, runtime, stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")

WHOLE = json.dumps(
    {
        "id": "x", "object": "chat.completion", "created": 1, "model": "tiny",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "[[ ## reply ## ]]\nRome"}}
        ],
    }
).encode()  # fmt: skip
"""The body of an answer that would be read."""


class TestRedirects:
    @pytest.mark.parametrize(
        ("model_name", "status", "body"),
        [
            ("openai/tiny", 301, b"<html>"),
            ("openai/tiny", 302, None),
            ("openai/tiny", 308, WHOLE),
            ("hosted_vllm/tiny", 303, None),
            ("gemini/tiny", 307, None),
            ("azure/tiny", 301, b"<html>"),
            ("azure/tiny", 307, None),
        ],
    )
    def test_an_address_that_leads_elsewhere_is_told_and_neither_followed_nor_asked_again(
        self, status: int, body: bytes | None, model_name: str, tmp_path: Path
    ) -> None:
        """Whatever is in the reply: nothing, an error of the API, even an answer."""

        async def story() -> None:
            with chatting(lambda _: {"reply": "elsewhere"}) as other:
                place = other.url.removesuffix("/v1")
                moved = {"location": f"{other.url}/chat/completions?token=hidden"}
                with chatting(lambda _: Answer(status=status, raw=body, headers=moved)) as model:
                    async with runtime(configured(model.url, model=model_name), tmp_path) as programs:
                        with pytest.raises(
                            ProgramFailedError,
                            match=rf"leads elsewhere, to {place} \(status {status}\).*api_base",
                        ) as caught:
                            await programs.execute(stored(), QUESTION, CallContext())
                assert "hidden" not in str(caught.value)
                assert (model.count, other.count) == (1, 0)

        # Not by `run`: LiteLLM, which azure is asked with, reads certificates on the loop.
        asyncio.run(story())

    @pytest.mark.parametrize("model_name", ["openai/tiny", "azure/tiny"])
    @pytest.mark.parametrize(
        ("status", "location", "told"),
        [
            (304, "https://elsewhere.example/v1", r"answered with status 304, which is no answer"),
            (300, "https://elsewhere.example/v1", r"answered with status 300, which is no answer"),
            (301, "", r"leads elsewhere \(status 301\)"),
            (302, "http://[::bad", r"leads elsewhere \(status 302\)"),
        ],
    )
    def test_a_status_that_leads_nowhere_is_told_as_what_it_is_and_asked_once(
        self, status: int, location: str, told: str, model_name: str, tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: Answer(status=status, raw=b"", headers={"location": location})) as model:
                async with runtime(configured(model.url, model=model_name), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match=told):
                        await programs.execute(stored(), QUESTION, CallContext())
                assert model.count == 1

        asyncio.run(story())


class TestEnvironment:
    def test_keys_and_places_of_the_environment_are_not_used(
        self, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")

        async def story() -> None:
            with chatting(echo) as model:
                async with runtime(configured(model.url, api_key=None), tmp_path) as programs:
                    await programs.execute(stored(), QUESTION, CallContext())
                assert "sk-of-the-environment" not in str(model.requests[0].headers)
                for variable in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
                    with monkeypatch.context() as patch:
                        patch.setenv(variable, model.url)
                        for key in (None, KEY):
                            async with runtime(configured(None, api_key=key), tmp_path) as programs:
                                with pytest.raises(ProgramFailedError, match=variable):
                                    await programs.execute(stored(), QUESTION, CallContext())
                assert model.count == 1

        run(story())

    @pytest.mark.parametrize(
        ("model_name", "variable"),
        [
            ("openai/tiny", "OPENAI_API_KEY"),
            ("xai/grok", "XAI_API_KEY"),
            ("together-ai/x", "TOGETHER_AI_API_KEY"),
        ],
    )
    def test_without_a_key_in_the_configuration_none_is_sent_and_it_says_what_to_write(
        self,
        model_name: str,
        variable: str,
        run: Callable[..., Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv(variable, "sk-of-the-environment")

        async def story() -> None:
            with socket.create_server(("127.0.0.1", 0)) as proxy:
                monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
                async with runtime(configured(None, model=model_name, api_key=None), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError) as caught:
                        await programs.execute(stored(), QUESTION, CallContext())
                assert not select.select([proxy], [], [], 0)[0], "nobody was to be reached"
            line = f"  lm: {{model: {model_name}, api_key: '${{{variable}}}'}}"
            assert line in str(caught.value).splitlines()
            assert "sk-of-the-environment" not in str(caught.value)

        run(story())

    def test_a_model_on_this_machine_needs_no_key(
        self, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OLLAMA_API_KEY", "sk-of-the-environment")

        async def story() -> None:
            async with runtime(
                configured(None, model="ollama_chat/tiny", api_key=None), tmp_path
            ) as programs:
                model = await asyncio.to_thread(programs.model, "answerer")
            assert model.kwargs["api_base"] == "http://localhost:11434"
            assert model.kwargs["api_key"] == "none"

        run(story())

    def test_no_name_that_a_client_looks_for_in_the_environment_says_where_or_as_whom_to_ask(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """LiteLLM knows hundreds of them; DataRobot's address is one that no rule about names would find."""
        for variable in ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID", "AZURE_AD_TOKEN"):
            monkeypatch.setenv(variable, "of-the-environment")
        # The provider itself is not to be asked by a test.
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

        async def story() -> None:
            with chatting(echo) as elsewhere, chatting(echo) as model:
                monkeypatch.setenv("DATAROBOT_ENDPOINT", elsewhere.url)
                async with runtime(configured(None, model="datarobot/tiny"), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match="cannot be reached"):
                        await programs.execute(stored(), QUESTION, CallContext())
                assert elsewhere.count == 0
                async with runtime(configured(model.url, model="azure/tiny"), tmp_path) as programs:
                    await programs.execute(stored(), QUESTION, CallContext())
                assert "of-the-environment" not in str([one.headers for one in model.requests])

        # Not by `run`: LiteLLM reads certificates on the loop.
        asyncio.run(story())

    def test_the_environment_is_hidden_from_who_asks_and_from_nobody_else(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOME_API_KEY", "x")
        with environment_hidden(), ThreadPoolExecutor(1) as others:
            assert (os.environ.get("SOME_API_KEY"), "SOME_API_KEY" in os.environ) == (None, False)
            assert "SOME_API_KEY" not in dict(os.environ)
            assert len(os.environ) == len(list(os.environ))
            assert os.environ["PATH"]
            assert others.submit(os.environ.get, "SOME_API_KEY").result() == "x"
        assert os.environ["SOME_API_KEY"] == "x"


class TestTheKeyInAnswers:
    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (f"It is {KEY}, I think", "It is [api_key], I think"),
            (f"It begins with {KEY[:18]}", "It begins with [api_key]"),
            ("Keys begin with sk-of-the", "Keys begin with sk-of-the"),
        ],
    )
    def test_an_answer_that_repeats_the_key_is_given_and_kept_without_it(
        self, said: str, told: str, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: {"reply": said}) as model:
                async with runtime(configured(model.url, cache=tmp_path / "kept"), tmp_path) as programs:
                    first = await programs.execute(stored(), QUESTION, CallContext())
                async with runtime(configured(model.url, cache=tmp_path / "kept"), tmp_path) as programs:
                    again = await programs.execute(stored(), QUESTION, CallContext())
            assert (first.outputs, again.outputs) == ({"reply": told}, {"reply": told})
            assert (first.cache_hit, again.cache_hit, model.count) == (False, True, 1)

        run(story())
        (file,) = (tmp_path / "kept").rglob("*.json")
        assert KEY[:16] not in file.read_text()

    def test_a_word_in_the_place_of_a_key_is_a_word_in_an_answer(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: {"reply": "lm-studio runs it"}) as model:
                config = configured(model.url, api_key="lm-studio", cache="off")
                async with runtime(config, tmp_path) as programs:
                    outcome = await programs.execute(stored(), QUESTION, CallContext())
            assert outcome.outputs == {"reply": "lm-studio runs it"}

        run(story())
