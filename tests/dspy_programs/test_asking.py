"""Failures of a language model, and the cache of its answers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, chatting
from dspy_programs.running import KEY, QUESTION, configured, echo, of_type, predictor, runtime, stored
from halflap.core.errors import (
    ProgramFailedError,
    ProgramTimeoutError,
)
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.config import ProgramsConfig

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")

TROUBLES = {
    "429": (Answer(status=429, headers={"retry-after": "100"}), "429"),
    "401": (Answer("bad key " + KEY, status=401), r"programs\.lm\.api_key"),
    "the key where the text is cut": (Answer("p" * 279 + f" {KEY} tail", status=401), r"\[api_key\]"),
    "the key in an answer": (Answer("p" * 290 + KEY), r"`reply`.*\[api_key\]"),
    "404": (Answer(status=404), "404"),
    "not json": (Answer(raw=b"<html>"), r"programs\.lm\.api_base"),
    "no choices": (Answer(raw=b"{}"), r"programs\.lm\.api_base"),
    "cut off": (
        Answer(raw=b'{"choices": [', headers={"content-length": "1000", "connection": "close"}),
        r"http://127\.0\.0\.1:\d+/v1",
    ),
    "prose": (Answer("It is warm."), "`reply`, `degrees`"),
    "one field missing": (Answer("[[ ## reply ## ]]\nRome"), "`degrees`"),
    "wrong type": (Answer("[[ ## reply ## ]]\nRome\n[[ ## degrees ## ]]\nhot"), "`degrees`"),
}


class TestFailures:
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_a_bad_answer_is_reported_without_the_key(
        self, trouble: str, run: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        answer, told = TROUBLES[trouble]
        outputs = [{"name": "reply"}, of_type("degrees", "integer")]
        program = stored(predictors=[predictor(outputs=outputs)])

        async def story() -> None:
            with chatting(lambda _: answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match=f"(?s){told}") as caught:
                        await programs.execute(program, QUESTION, CallContext())
            assert KEY[:8] not in str(caught.value)

        run(story())
        assert KEY[:8] not in caplog.text

    def test_an_unreachable_model_is_reported_with_its_address(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            async with runtime(configured("http://127.0.0.1:9/v1"), tmp_path) as programs:
                with pytest.raises(
                    ProgramFailedError, match=r"127\.0\.0\.1:9/v1 cannot be reached.*api_base"
                ):
                    await programs.execute(stored(), QUESTION, CallContext())

        run(story())

    def test_transient_failures_are_retried(self, run: Callable[..., Any], tmp_path: Path) -> None:
        troubles = [Answer(status=503), Answer(drop=True)]

        async def story() -> None:
            with chatting(lambda _: troubles.pop(0) if troubles else {"reply": "Rome"}) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(stored(), QUESTION, CallContext())
            assert (outcome.outputs, model.count) == ({"reply": "Rome"}, 3)

        run(story())

    def test_a_slow_model_times_out(self, run: Callable[..., Any], tmp_path: Path) -> None:
        async def story() -> None:
            with chatting(lambda _: Answer("late", delay=1_000)) as model:
                async with runtime(configured(model.url, timeout=0.2 + load_time()), tmp_path) as programs:
                    with pytest.raises(ProgramTimeoutError):
                        await programs.execute(stored(), QUESTION, CallContext())
                async with runtime(configured(model.url, timeout=1_000), tmp_path) as programs:
                    deadline = asyncio.get_running_loop().time() + 0.3
                    with pytest.raises(ProgramTimeoutError):
                        await programs.execute(stored(), QUESTION, CallContext(deadline=deadline))
                async with runtime(replace_timeout(configured(model.url), 0.2), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match=r"within 0\.2 s.*programs\.lm\.timeout"):
                        await programs.execute(stored(), QUESTION, CallContext())
            # Nobody is asked again when there is no time left.
            assert model.count <= 3

        run(story())


def load_time() -> float:
    """Load DSPy, so that it counts in no test's limit."""
    from halflap.dspy.runtime import import_dspy  # noqa: PLC0415

    import_dspy("test")
    return 0.0


def replace_timeout(config: ProgramsConfig, seconds: float) -> ProgramsConfig:
    assert config.lm is not None
    return config.model_copy(update={"lm": config.lm.model_copy(update={"timeout": seconds})})


class TestCache:
    def test_a_run_is_a_cache_hit_only_if_every_answer_was_cached(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        second = predictor("judge", inputs=[{"name": "reply"}], outputs=[{"name": "verdict"}])
        program = stored(predictors=[predictor(), second])

        async def story() -> None:
            with chatting(echo) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    first = await programs.execute(stored(), QUESTION, CallContext())
                    partly = await programs.execute(program, QUESTION, CallContext())
                    wholly = await programs.execute(program, QUESTION, CallContext())
                async with runtime(configured(model.url), tmp_path) as another:
                    from_disk = await another.execute(program, QUESTION, CallContext())
                hits = [one.cache_hit for one in (first, partly, wholly, from_disk)]
                assert hits == [False, False, True, True]
                assert model.count == 2
                async with runtime(configured(model.url, cache="off"), tmp_path) as uncached:
                    assert not (await uncached.execute(program, QUESTION, CallContext())).cache_hit
                assert model.count == 4

        run(story())

    def test_answers_of_another_address_or_model_are_not_reused(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: {"reply": "one"}) as one, chatting(lambda _: {"reply": "two"}) as two:
                for config, reply in (
                    (configured(one.url), "one"),
                    (configured(two.url), "two"),
                    (configured(one.url, model="openai/large"), "one"),
                    (configured(one.url, temperature=0.3), "one"),
                ):
                    async with runtime(config, tmp_path) as programs:
                        outcome = await programs.execute(stored(), QUESTION, CallContext())
                    assert (outcome.outputs, outcome.cache_hit) == ({"reply": reply}, False)
                async with runtime(configured(one.url, api_key="another-key"), tmp_path) as programs:
                    assert (await programs.execute(stored(), QUESTION, CallContext())).cache_hit

        run(story())

    def test_the_cache_holds_no_secret_and_is_private(self, run: Callable[..., Any], tmp_path: Path) -> None:
        async def story() -> None:
            with chatting(lambda _: {"reply": "Rome"}) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    await programs.execute(stored(), QUESTION, CallContext())
            (kept,) = (tmp_path / "dspy-cache").rglob("*.json")
            assert kept.stat().st_mode & 0o077 == 0
            assert kept.parent.parent.stat().st_mode & 0o077 == 0
            assert KEY not in kept.read_text()
            assert QUESTION["question"] not in kept.read_text()

        run(story())

    @pytest.mark.parametrize(
        "damage",
        ["corrupt", "pickle", "folder is a file", "link", "huge"],
    )
    def test_a_broken_cache_is_logged_and_the_program_runs(
        self, damage: str, run: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        proof = tmp_path / "ran"
        folder = tmp_path / "dspy-cache"

        async def story() -> None:
            with chatting(lambda _: {"reply": "Rome"}) as model:
                if damage != "folder is a file":
                    async with runtime(configured(model.url), tmp_path) as programs:
                        await programs.execute(stored(), QUESTION, CallContext())
                _damage(folder, damage, proof)
                async with runtime(configured(model.url), tmp_path) as programs:
                    for _ in range(2):
                        outcome = await programs.execute(stored(), QUESTION, CallContext())
                        assert outcome.outputs == {"reply": "Rome"}

        with caplog.at_level(logging.WARNING):
            run(story())
        assert not proof.exists()
        assert any(one.startswith("CACHE_ERROR: ") for one in caplog.messages)


class _Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def _damage(folder: Path, how: str, proof: Path) -> None:
    if how == "folder is a file":
        folder.write_text("")
        return
    (kept,) = folder.rglob("*.json")
    whole = json.loads(kept.read_text())
    kept.unlink()
    match how:
        case "corrupt":
            kept.write_bytes(b"\x00garbage")
        case "pickle":
            kept.write_bytes(pickle.dumps(_Evil(proof)))
        case "link":
            elsewhere = folder / "elsewhere"
            elsewhere.write_text(json.dumps(whole))
            kept.symlink_to(elsewhere)
        case "huge":
            kept.write_text(json.dumps({**whole, "padding": "x" * 5_000_000}))


CHILD = """
import asyncio, dotenv, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from dspy_programs.running import *

pytestmark = pytest.mark.slow

dotenv.load_dotenv = lambda *_, **__: print("a file .env was read")
async def story():
    async with runtime(configured(sys.argv[1], model=sys.argv[4]), Path(sys.argv[2])) as programs:
        for question in ("one", "two"):
            try:
                print((await programs.execute(stored(), {"question": question}, CallContext())).outputs, file=sys.stderr)
            except Exception as error:
                print(type(error).__name__, error, file=sys.stderr)
asyncio.run(story())
print("litellm" in sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("through_litellm", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_is_printed_to_stdout_or_written_to_the_home(through_litellm: bool, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    home.mkdir()
    answers = [Answer("[[ ## reply ## ]]\nRome"), Answer(f"no {KEY}", status=401)]
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # What DSPy has no client of its own for, it leaves to LiteLLM.
    name = "azure/tiny" if through_litellm else "openai/tiny"
    with chatting(lambda _: answers.pop(0)) as model:
        tests = Path(__file__).parent.parent
        done = subprocess.run(
            [sys.executable, "-c", CHILD, model.url, tmp_path / "data", str(tests), name],
            capture_output=True, text=True, check=False, timeout=100, env=environment,
        )  # fmt: skip
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr
    assert "{'reply': 'Rome'}" in done.stderr
    assert "refused the key" in done.stderr
    assert KEY not in done.stderr
    assert str(through_litellm) in done.stderr.splitlines()
    assert not list(home.iterdir())
