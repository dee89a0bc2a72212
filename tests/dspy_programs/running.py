"""Programs to run in tests, and a runtime whose tools belong to the test."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.config import LmConfig, ProgramsConfig
from halflap.core.values import CallContext, Result, Tool
from halflap.dspy.library import Stored
from halflap.dspy.manifest import read_manifest
from halflap.dspy.runtime import Runtime
from halflap.dspy.state import read_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from dspy_programs.chat_server import Asked

KEY = "sk-of-the-test-0123456789"
QUESTION = {"question": "Where is it warm?"}


def echo(asked: Asked) -> dict[str, Any]:
    """Answer with what was asked."""
    return {name: f"{name} of {asked.inputs}" for name in asked.wanted}


def stored(name: str = "answerer", state: Mapping[str, Any] | None = None, **manifest: Any) -> Stored:
    """Give a program as it is read from its two files: by itself, one step that answers a question."""
    said = {
        "name": name,
        "version": "1.0.0",
        "description": "Answers.",
        "dspy_version": "3.4.1",
        "optimizer": "none",
        "validation_score": None,
        "serialized_at": "2026-02-28T00:00:00Z",
        "predictors": [predictor()],
        **manifest,
    }
    files = [json.dumps(said).encode()]
    read = read_manifest(files[0], name=name)
    empty: dict[str, Any] = {key: {"demos": []} for one in read.predictors for key in one.signatures}
    files.append(json.dumps(state or empty).encode())
    return Stored(
        read,
        read_state(files[1], read),
        sha256(b"".join(files)).hexdigest(),
        None,
        ("1.0.0",),
    )


def predictor(name: str = "answer", kind: str = "Predict", **settings: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "instructions": "Answer the question.",
        "inputs": [{"name": "question", "description": "What is asked"}],
        "outputs": [{"name": "reply", "description": "The answer"}],
        **settings,
    }


def of_type(name: str, kind: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "schema": {"type": kind, **rest}}


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


def configured(url: str | None, *, timeout: float = 300.0, cache: Any = None, **lm: Any) -> ProgramsConfig:
    model = LmConfig(**{"model": "openai/tiny", "api_base": url, "api_key": KEY, "timeout": 60.0, **lm})
    return ProgramsConfig(timeout_seconds=timeout, cache=cache, lm=model)


@asynccontextmanager
async def runtime(config: ProgramsConfig, folder: Path, tools: Tools | None = None) -> AsyncIterator[Runtime]:
    tools = tools or Tools()
    made = Runtime(config, call=tools.call, tool=tools.find, data_dir=folder)
    try:
        yield made
    finally:
        await made.aclose()
