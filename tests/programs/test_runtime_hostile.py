"""Answers, environments, caches and files that are not as they should be: told plainly, and nothing else is harmed."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import LmConfig
from halflap.errors import ProgramFailedError, UsageError
from halflap.programs import answers as answers_module
from halflap.programs import runtime as runtime_module
from halflap.programs.answers import Answers
from halflap.programs.examples import Example, read_examples
from halflap.programs.export import load_object
from halflap.programs.library import Library
from halflap.programs.metrics import find_metric
from halflap.programs.optimize import optimize
from halflap.programs.secrecy import redacted
from halflap.values import CallContext
from programs.chat_server import Answer, Asked, chatting
from programs.running import KEY, QUESTION, configured, echo, of_type, predictor, runtime, stored
from support import PATIENCE, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


class TestAnswers:
    @pytest.mark.parametrize("depth", [200, 450, 600, 5_000])
    def test_one_that_is_nested_without_end_is_refused(
        self, depth: int, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        program = stored(predictors=[predictor(outputs=[{"name": "more", "schema": {"type": "object"}}])])
        answer = Answer('{"more": {"x": ' + "[" * depth + "]" * depth + "}}")

        async def story() -> None:
            with chatting(lambda _: answer) as model:
                async with runtime(configured(model.url, adapter="json"), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError):
                        await programs.execute(program, QUESTION, CallContext())
                    model.answer = lambda _: Answer('{"more": {"x": []}}')
                    # What could not be used was not kept.
                    outcome = await programs.execute(program, QUESTION, CallContext())
            assert outcome.outputs == {"more": {"x": []}}

        run(story())

    def test_a_servers_own_trouble_with_time_is_not_ours(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: Answer("the database timed out", status=500)) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match=r"failed \(status 500\)|database timed out"):
                        await programs.execute(stored(), QUESTION, CallContext())
            assert model.count == 3, "it may pass, so it is tried again"

        run(story())

    def test_the_key_is_not_in_what_a_crash_would_print(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(lambda _: Answer(f"Incorrect API key provided: {KEY}", status=401)) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError) as caught:
                        await programs.execute(stored(), QUESTION, CallContext())
            printed = "".join(traceback.format_exception(caught.value))
            assert "refused the key" in printed
            assert KEY not in printed

        run(story())

    @pytest.mark.parametrize("adapter", ["json", "chat"])
    def test_their_form_is_asked_for_where_json_is_wanted_of_a_server_of_ones_own(
        self, adapter: str, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        action = {"name": "action", "schema": {"enum": ["NONE", "REROUTE"]}}

        async def story() -> None:
            with chatting(lambda _: {"action": "NONE"}) as model:
                async with runtime(configured(model.url, adapter=adapter), tmp_path) as programs:
                    program = stored(predictors=[predictor(outputs=[action])])
                    first = await programs.execute(program, QUESTION, CallContext())
                    again = await programs.execute(program, QUESTION, CallContext())
            assert (first.cache_hit, again.cache_hit) == (False, True)
            (asked,) = model.requests
            if adapter == "chat":
                assert "response_format" not in asked.body
            else:
                form = asked.body["response_format"]
                assert form["type"] == "json_schema"
                schema = form["json_schema"]["schema"]
                assert schema["properties"]["action"]["enum"] == ["NONE", "REROUTE"]
                assert schema["required"] == ["action"]

        run(story())


class TestEnvironment:
    @pytest.mark.parametrize(
        ("model", "variable"),
        [
            ("ollama_chat/llama3.2", "OLLAMA_API_BASE"),
            ("ollama_chat/llama3.2", "OLLAMA_CHAT_BASE_URL"),
            ("text-completion-openai/x", "OPENAI_BASE_URL"),
            ("together_ai/x", "TOGETHERAI_API_BASE"),
            ("databricks/x", "LITELLM_PROXY_API_BASE"),
        ],
    )
    def test_a_place_that_it_names_is_refused_before_anything_is_asked(
        self,
        model: str,
        variable: str,
        run: Callable[..., Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("USE_LITELLM_PROXY", "True")

        async def story() -> None:
            with chatting(echo) as elsewhere:
                monkeypatch.setenv(variable, elsewhere.url)
                async with runtime(configured(None, model=model), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match=f"{variable} names another place"):
                        await programs.execute(stored(), QUESTION, CallContext())
            assert elsewhere.count == 0

        run(story())

    def test_what_belongs_to_another_provider_is_no_hindrance(
        self, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("AZURE_OPENAI_API_BASE", "OLLAMA_API_BASE", "LITELLM_PROXY_API_BASE"):
            monkeypatch.setenv(variable, "http://127.0.0.1:9")

        async def story() -> None:
            async with runtime(configured(None), tmp_path) as programs:
                model = await asyncio.to_thread(programs.model, "answerer")
            assert model.namespace == {"model": "openai/tiny", "api_base": None}

        run(story())

    def test_nothing_else_of_it_is_sent_along_and_no_key_follows_a_redirect(
        self, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"):
            monkeypatch.setenv(variable, "of-the-environment")

        async def story() -> None:
            with chatting(echo) as elsewhere:
                moved = {"location": f"{elsewhere.url}/chat/completions"}
                with chatting(lambda _: Answer(status=307, headers=moved)) as model:
                    async with runtime(configured(model.url), tmp_path) as programs:
                        with pytest.raises(ProgramFailedError):
                            await programs.execute(stored(), QUESTION, CallContext())
                assert model.requests
                assert "of-the-environment" not in str([one.headers for one in model.requests])
                assert KEY not in str([one.headers for one in elsewhere.requests])

        run(story())


def test_the_loop_goes_on_while_dspy_is_loaded(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second, while the first has it loaded, must not have everybody wait."""
    load = runtime_module.import_dspy
    begun, let_go = threading.Event(), threading.Event()

    def slow(name: str) -> None:
        begun.set()
        assert let_go.wait(PATIENCE), "the loop, which was to let it go on, has waited for it"
        load(name)

    monkeypatch.setattr(runtime_module, "import_dspy", slow)
    load("answerer")

    async def story() -> None:
        with chatting(echo) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                first = asyncio.create_task(programs.execute(stored(), QUESTION, CallContext()))
                while not begun.is_set():
                    await asyncio.sleep(0.01)
                others = asyncio.gather(
                    programs.execute(stored("other"), QUESTION, CallContext()),
                    programs.execute(stored(), {"question": "And there?"}, CallContext()),
                )
                # As far as they get by themselves.
                await asyncio.sleep(0.2)
                let_go.set()
                await asyncio.gather(first, others)

    run(story())


class TestCache:
    KEY = "ab" + "0" * 62

    def test_a_folder_where_an_answer_should_be_costs_no_descriptor(self, tmp_path: Path) -> None:
        (tmp_path / "ab" / f"{self.KEY}.json").mkdir(parents=True)
        before = open_descriptors()
        for _ in range(20):
            assert Answers(tmp_path).stored(self.KEY) is None
        assert open_descriptors() == before

    def test_what_is_not_ours_is_never_removed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody may name a folder that has other things in it, or links that lead elsewhere."""
        elsewhere, folder = tmp_path / "elsewhere", tmp_path / "cache"
        others = [folder / "de" / "texts.json", folder / "ab" / "notes.json", folder / "ab" / ".hidden"]
        for other in [*others, elsewhere / f"{'cd' * 32}.json"]:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("{}")
            os.utime(other, (0, 0))
        (folder / "cd").symlink_to(elsewhere)
        unfinished = folder / "ab" / f".{self.KEY}.01234567"
        unfinished.write_text("{")
        os.utime(unfinished, (0, 0))
        kept = [f"ab{number:062x}" for number in range(8)]
        for age, key in enumerate(kept):
            Answers(folder).keep(key, ["x"])
            os.utime(folder / "ab" / f"{key}.json", (100 + age, 100 + age))
        monkeypatch.setattr(answers_module, "_MOST_ON_DISK", 5)
        Answers(folder).keep(f"ab{99:062x}", ["x"])
        assert all(other.exists() for other in [*others, elsewhere / f"{'cd' * 32}.json"])
        assert not unfinished.exists()
        left = sorted(one.name for one in (folder / "ab").glob("ab*.json"))
        assert left == sorted(f"{key}.json" for key in [*kept[-3:], f"ab{99:062x}"])


class TestOptimising:
    def library(self, folder: Path, **manifest: Any) -> Library:
        library = Library(folder / "library")
        program = stored(**manifest)
        library.save(program.manifest, program.state)
        return library

    def test_what_would_be_refused_when_it_is_run_scores_nothing(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        outputs = [{"name": "reply"}, of_type("sure", "number", minimum=0, maximum=1)]
        library = self.library(tmp_path, predictors=[predictor(outputs=outputs)])
        program = library.read().find("answerer")
        examples = [Example({"question": f"{n}"}, {"reply": f"{n}"}) for n in range(6)]

        def answer(asked: Asked) -> dict[str, Any]:
            return {"reply": asked.inputs["question"], "sure": 7}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    found = await optimize(
                        program, library, programs, examples=examples, context=CallContext(),
                        metric=find_metric("exact:reply", program.manifest),
                    )  # fmt: skip
            assert (found.old_score, found.score) == (0.0, 0.0)
            # And no demo was made of it: those that are there are the examples themselves.
            (state,) = found.stored.state.predictors.values()
            assert not [demo for demo in state.demos if "sure" in demo]

        run(story())

    def test_an_input_and_an_output_of_one_name_are_two(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        """A program may give a better form of what it takes; it must not learn by looking at the answer."""
        steps = [
            predictor("first", inputs=[{"name": "text"}], outputs=[{"name": "draft"}]),
            predictor("second", inputs=[{"name": "draft"}], outputs=[{"name": "text"}]),
        ]
        library = self.library(tmp_path, predictors=steps)
        program = library.read().find("answerer")
        examples = [Example({"text": f"given {n}"}, {"text": f"wanted {n}"}) for n in range(5)]

        def answer(asked: Asked) -> dict[str, Any]:
            (given,) = asked.inputs.values()
            return {asked.wanted[0]: given}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    await optimize(
                        program, library, programs, examples=examples, context=CallContext(),
                        metric=find_metric("exact", program.manifest),
                    )  # fmt: skip
            asked = {one.inputs["text"] for one in model.requests if "text" in one.inputs}
            assert asked == {f"given {n}" for n in range(5)}

        run(story())

    def test_a_line_ends_where_json_lines_end(self, tmp_path: Path) -> None:
        file = tmp_path / "data.jsonl"
        file.write_bytes(
            '\ufeff{"question": "a\u2028b\u0085c", "reply": "A"}\r\n{"question": "d", "reply": "D"}\n'.encode()
        )
        found = read_examples(file, stored().manifest)
        assert [one.inputs["question"] for one in found] == ["a\u2028b\u0085c", "d"]


class TestLoading:
    @pytest.mark.parametrize(
        ("text", "name", "told"),
        [
            ("import hostile_lo", "hostile_load:x", "it needs hostile_lo, which is not there"),
            ("import hostile_load.more", "hostile_load:x", "it needs hostile_load.more"),
            ("x = 1", "hostile_load:y", r"has no 'y'\. It has: x"),
            ("x = object()", "hostile_load:x.y", r"has no 'y'\. It has: nothing"),
            (
                "def __getattr__(name): raise OSError('gone')",
                "hostile_load:x",
                "cannot be had: OSError: gone",
            ),
            ("raise SystemExit(3)", "hostile_load:x", "cannot be imported: SystemExit"),
        ],
    )
    def test_what_is_wrong_with_a_module_is_said_of_the_right_one(
        self, text: str, name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "hostile_load.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "hostile_load", raising=False)
        with pytest.raises(UsageError, match=told):
            load_object(name, tmp_path)
        sys.modules.pop("hostile_load", None)

    def test_nothing_that_a_module_prints_when_it_is_looked_into_is_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "hostile_print.py").write_text("def __getattr__(name): print('noise'); return 1")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert load_object("hostile_print:x", tmp_path) == 1
        assert capsys.readouterr().out == ""


SECRET = "sk-verysecretkey12345"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"a {SECRET} b {SECRET}", "a [api_key] b [api_key]"),
        ("ends with ...verysecretkey12345", "ends with ...[api_key]"),
        ("cut to sk-verysecr…", "cut to [api_key]…"),
        ("middle secretkey here", "middle [api_key] here"),
        ("sk-very short", "sk-very short"),
        ("x" * 200_000 + SECRET, "x" * 200_000 + "[api_key]"),
    ],
    ids=["whole", "end", "beginning", "middle", "short", "far"],
)
def test_no_part_of_the_key_is_told(text: str, told: str) -> None:
    assert redacted(text, LmConfig(model="openai/m", api_key=SECRET)) == told
