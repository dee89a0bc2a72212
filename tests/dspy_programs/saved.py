"""Files of DSPy programs for tests, as `halflap programs export` would leave them."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dspy_programs.chat_server import Asked, ChatServer

WORKLET_INPUTS = {
    "workflow_description": "Process loan application",
    "case_context": "Amount: $50000, Credit score: 720",
}
WORKLET_OUTPUTS = {
    "worklet_id": "loan_standard",
    "rationale": "Standard loan process for amounts under $100k with good credit",
    "confidence": 0.94,
}


def field(name: str, kind: str = "string", **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"The {name.replace('_', ' ')}", "schema": {"type": kind, **schema}}


def predictor(name: str, inputs: list[Any], outputs: list[Any], kind: str = "Predict", **more: Any) -> Any:
    return {
        "name": name,
        "kind": kind,
        "instructions": f"Do what {name} does.",
        "inputs": inputs,
        "outputs": outputs,
        **more,
    }


def spec(name: str, *predictors: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1.0.0",
        "description": f"Does what {name} does.",
        "dspy_version": "3.4.1",
        "optimizer": "none",
        "validation_score": None,
        "serialized_at": "2026-02-28T00:00:00Z",
        "predictors": list(predictors),
        **more,
    }


def write(root: Path, described: Mapping[str, Any]) -> Path:
    """Write a program's file; an existing one is replaced whole."""
    root.mkdir(parents=True, exist_ok=True)
    path: Path = root / f"{described['name']}.json"
    beside = root / ".new"
    beside.write_text(json.dumps(described, indent=1))
    return beside.replace(path)


def worklet(name: str = "worklet_selector", **more: Any) -> dict[str, Any]:
    step = predictor(
        "select",
        [field("workflow_description"), field("case_context")],
        [field("worklet_id"), field("rationale"), field("confidence", "number", minimum=0, maximum=1)],
    )
    return spec(name, step, **more)


_SORT = predictor("sort", [field("message")], [field("topic", enum=["BILL", "OTHER"])], "ChainOfThought")
_REPLY = predictor(
    "reply", [field("message"), field("topic")], [field("answer"), field("score", "number", minimum=0)]
)


def triage(**changes: Any) -> dict[str, Any]:
    """Return a valid program with two steps, to be broken in one place."""
    return copy.deepcopy({**spec("triage", _SORT, _REPLY, version="1.2.0"), **changes})


def say_worklet(_asked: Asked) -> Mapping[str, Any]:
    """Play a model that has one answer to everything."""
    return WORKLET_OUTPUTS


def settings(root: Path, chat: ChatServer, *, key: str = "sk-test", **more: Any) -> dict[str, Any]:
    """Return a configuration with this folder, and this model."""
    lm = {"model": "openai/test", "api_base": chat.url, "api_key": key}
    programs = {"root": str(root), "lm": lm, **more.pop("programs", {})}
    return {"programs": programs, **more}
