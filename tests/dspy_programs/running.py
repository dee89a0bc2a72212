"""Programs to run in tests, and a runner whose tools belong to the test."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from dspy_programs import saved
from dspy_programs.chat_server import Asked, ChatServer, chatting
from halflap.config import LmConfig, ProgramsConfig
from halflap.core.values import CallContext, Result, Tool
from halflap.dspy.library import SavedProgram
from halflap.dspy.runner import Runner
from halflap.dspy.spec import read_spec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

KEY = "sk-of-the-test-0123456789"
QUESTION = {"question": "Where is it warm?"}


def echo(asked: Asked) -> dict[str, Any]:
    """Answer with what was asked."""
    return {name: f"{name} of {asked.inputs}" for name in asked.wanted}


def program(name: str = "answerer", **changes: Any) -> SavedProgram:
    """Return a program as it is read from its file; by default, one step that answers a question."""
    data = json.dumps({**saved.spec(name, step()), **changes}).encode()
    return SavedProgram(read_spec(data, name), sha256(data).hexdigest())


def step(name: str = "answer", kind: str = "Predict", **changes: Any) -> dict[str, Any]:
    made = saved.predictor(name, [saved.field("question")], [saved.field("reply")], kind)
    return {**made, **changes}


@dataclass
class Tools:
    """A catalogue of two tools; what was called, and with which context."""

    called: list[tuple[str, Mapping[str, Any], CallContext]] = field(default_factory=list)
    answer: Any = "ok"

    def find(self, name: str) -> Tool | None:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        if name not in {"mcp__desk__weather", "mcp__desk__mail"}:
            return None
        return Tool(name, "desk", name, f"Does {name}.", schema, hash=name)

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        self.called.append((name, arguments, context))
        answer = self.answer(name, arguments) if callable(self.answer) else self.answer
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Result) else Result(content=({"type": "text", "text": answer},))


def configured(url: str | None, *, cache: Any = None, **lm: Any) -> ProgramsConfig:
    model = LmConfig(**{"model": "openai/tiny", "api_base": url, "api_key": KEY, "timeout": 60.0, **lm})
    return ProgramsConfig(timeout_seconds=300.0, cache=cache, lm=model)


class Outcome(NamedTuple):
    outputs: dict[str, Any]
    metadata: dict[str, Any]

    @property
    def cache_hit(self) -> bool:
        return bool(self.metadata["cache_hit"])


@dataclass
class Running:
    runner: Runner
    tools: Tools

    async def run(
        self, program: SavedProgram, inputs: Mapping[str, Any], context: CallContext | None = None
    ) -> Outcome:
        return Outcome(*await self.runner.run(program, inputs, context or CallContext(), self.tools.call))

    @property
    def pid(self) -> int:
        assert self.runner._process is not None
        return self.runner._process._process.pid


@asynccontextmanager
async def running(config: ProgramsConfig, folder: Path, tools: Tools | None = None) -> AsyncIterator[Running]:
    tools = tools or Tools()
    runner = Runner(config, tool=tools.find, data_dir=folder)
    try:
        yield Running(runner, tools)
    finally:
        await runner.close()


@asynccontextmanager
async def playing(
    folder: Path, answer: Callable[[Asked], Any], tools: Tools | None = None, **lm: Any
) -> AsyncIterator[tuple[Running, ChatServer]]:
    """Run programs with a model that answers so."""
    with chatting(answer) as model:
        async with running(configured(model.url, **lm), folder, tools) as programs:
            yield programs, model
