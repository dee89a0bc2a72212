"""A valid program folder for tests, to be broken in one place each."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST: dict[str, Any] = {
    "name": "triage",
    "version": "1.2.0",
    "description": "Sorts a message.",
    "dspy_version": "3.4.1",
    "optimizer": "none",
    "validation_score": None,
    "serialized_at": "2026-02-28T00:00:00Z",
    "predictors": [
        {
            "name": "sort",
            "kind": "ChainOfThought",
            "instructions": "Sort the message.",
            "inputs": [{"name": "message", "description": "What came."}],
            "outputs": [
                {
                    "name": "topic",
                    "description": "What it is about.",
                    "schema": {"type": "string", "enum": ["BILL", "OTHER"]},
                }
            ],
        },
        {
            "name": "reply",
            "kind": "Predict",
            "instructions": "Write a reply.",
            "inputs": [{"name": "message"}, {"name": "topic"}],
            "outputs": [{"name": "answer"}, {"name": "score", "schema": {"type": "number", "minimum": 0}}],
        },
    ],
}

STATE: dict[str, Any] = {
    "sort.predict": {
        "traces": [],
        "train": [],
        "demos": [{"augmented": True, "message": "My bill?", "reasoning": "It says so.", "topic": "BILL"}],
        "signature": {
            "instructions": "Sort it well.",
            "fields": [
                {"prefix": "Message:", "description": "What came."},
                {"prefix": "Reasoning: Let's think step by step in order to", "description": "${reasoning}"},
                {"prefix": "Topic:", "description": "What it is about."},
            ],
        },
        "lm": None,
    },
    "reply": {"traces": [], "train": [], "demos": [], "signature": {"instructions": "Write."}, "lm": None},
    "metadata": {"dependency_versions": {"python": "3.11", "dspy": "3.4.1", "cloudpickle": "3.1"}},
}


def manifest(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(MANIFEST), **changes}


def state() -> dict[str, Any]:
    return copy.deepcopy(STATE)


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def put(root: Path, name: str = "triage", **changes: Any) -> Path:
    """Write a folder that is in order, but for what is changed in its manifest."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(as_bytes(manifest(name=name, **changes)))
    (folder / "state.json").write_bytes(as_bytes(STATE))
    return folder
