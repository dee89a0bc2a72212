"""The address and the key of a model come from the configuration alone, and the key stays there."""

from __future__ import annotations

import asyncio
import select
import socket
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, chatting
from dspy_programs.running import KEY, QUESTION, configured, echo, runtime, stored
from halflap.core.errors import ProgramFailedError
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


class TestRedirects:
    def test_a_redirect_is_reported_and_not_followed(self, tmp_path: Path) -> None:
        """Whatever is in the reply: nothing, an error of the API, even an answer."""
        model_name = "openai/tiny"
        status = 302
        body = None

        async def story() -> None:
            with chatting(lambda _: {"reply": "elsewhere"}) as other:
                place = other.url.removesuffix("/v1")
                moved = {"location": f"{other.url}/chat/completions?token=hidden"}
                with chatting(lambda _: Answer(status=status, raw=body, headers=moved)) as model:
                    async with runtime(configured(model.url, model=model_name), tmp_path) as programs:
                        with pytest.raises(
                            ProgramFailedError,
                            match=rf"{place}.*{status}.*api_base",
                        ) as caught:
                            await programs.execute(stored(), QUESTION, CallContext())
                assert "hidden" not in str(caught.value)
                assert (model.count, other.count) == (1, 0)

        # Not by `run`: LiteLLM, which azure is asked with, reads certificates on the loop.
        asyncio.run(story())


class TestEnvironment:
    def test_keys_and_addresses_of_the_environment_are_not_used(
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

    def test_without_a_configured_key_nothing_is_sent(
        self, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model_name = "openai/tiny"
        variable = "OPENAI_API_KEY"
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


class TestTheKeyInAnswers:
    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (f"It is {KEY}, I think", "It is [api_key], I think"),
            (f"It begins with {KEY[:18]}", "It begins with [api_key]"),
        ],
    )
    def test_a_key_in_an_answer_is_redacted(
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
