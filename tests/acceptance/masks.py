"""Masks: remove values that differ between runs, and wording, which may change freely."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any


def _keys(names: str) -> frozenset[str]:
    return frozenset(names.split())


WORDING = _keys("""
    blocked blocks_problem change comments description detail details do error fix
    inconclusive_because instructions lastError meaning message note notes problem reason reasons
    right suggestion summary text title todo unreadable warnings what why wrong
""")
"""Keys whose texts are prose; only the codes in brackets are kept."""

VARYING = _keys("""
    bytes codeHash confidence cost cpuMs cpu_ms definition definitionHash dspy_version durationMs duration_ms
    evaluations execution_time_ms gain lastObserved latencyMs loaded_at maintainability
    memoryBytes memory_bytes outputBytes output_bytes
    protocolVersion python run sandbox schemaVersion score seconds serialized_at serverInfo since skippedBytes source_hash startSeconds
    startedAt strength token tokens total_score total_time_ms version weight
""")
"""Keys whose values are times, sizes, estimates, identifiers, hashes and versions."""

OUTLINED = _keys("""
    edges evidence fixes gain learning mermaid optimized_workflow patch program
    raw recommendations sandbox store tokens unjudged
""")
"""Keys of large values, reduced to their field names."""

RUN = re.compile(r"\b[0-9a-f]{28}\b")
CODE = re.compile(r"\[([a-z]+(?:-[a-z]+)+)\]")


def masked(value: Any, *, keep: frozenset[str] = frozenset()) -> Any:
    """Mask a JSON value; the keys to keep are exempt."""
    if isinstance(value, list):
        return [masked(one, keep=keep) for one in value]
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str):
        return RUN.sub("<run>", value)
    if not isinstance(value, dict):
        return value
    hidden = [key for key, one in value.items() if key not in keep and _is_hidden(key, one)]
    shown = {key: _member(key, one, keep) for key, one in value.items() if key not in hidden}
    return {**shown, "<masked>": " ".join(sorted(hidden))} if hidden else shown


def _is_hidden(key: str, value: Any) -> bool:
    if key in WORDING and value:
        texts = value if isinstance(value, list) else [value]
        return all(isinstance(one, str) and not CODE.search(one) for one in texts)
    return key in VARYING and not isinstance(value, dict | list)


def _member(key: str, value: Any, keep: frozenset[str]) -> Any:
    if key in WORDING - keep and isinstance(value, str) and value:
        return " ".join(f"[{code}]" for code in CODE.findall(value))
    if key in OUTLINED - keep and value and (outline := _outline(value)):
        return outline
    return masked(value, keep=keep)


def _outline(value: Any) -> str | None:
    """List the fields of an object, or of the objects in a list."""
    if isinstance(value, str):
        return "<text>"
    rows = value if isinstance(value, list) else [value]
    if not all(isinstance(row, dict) for row in rows):
        return None
    names = sorted({name for row in rows for name in row})
    return f"<{'list of ' if isinstance(value, list) else ''}{', '.join(names)}>"


def structure(definition: Any) -> Any:
    """Return a tool's definition, or a schema, without titles and descriptions."""
    if isinstance(definition, list):
        return [structure(one) for one in definition]
    if not isinstance(definition, dict):
        return definition
    prose = [key for key in ("title", "description") if isinstance(definition.get(key), str)]
    return {key: structure(one) for key, one in definition.items() if key not in prose}


def answer(result: dict[str, Any]) -> dict[str, Any]:
    """Mask the result of an MCP tool: whether and how it failed, its fields, and its text."""
    first, *others = result["content"]
    shown: dict[str, Any] = {"isError": result["isError"]}
    if meta := (result.get("_meta") or {}).get("halflap"):
        shown["meta"] = masked({**meta, "calls": _calls(meta["calls"])} if "calls" in meta else meta)
    if "text" not in first:
        shown["first"] = first
    elif (fields := result.get("structuredContent")) is None:
        shown["text"] = _text(first["text"])
    else:
        shown["fields"] = masked(fields)
        shown["text"] = "<the fields as JSON>" if first["text"] == _written(fields) else "<other>"
    return {**shown, "others": others} if others else shown


def _calls(calls: list[dict[str, Any]]) -> list[str]:
    """Write each call as one line, and equal calls only once."""
    lines = Counter(f"{call['tool']}: {call['outcome']}" for call in calls)
    return [f"{line} ({count} times)" if count > 1 else line for line, count in lines.items()]


def _written(fields: Any) -> str:
    wrapped = set(fields) == {"result"}
    return json.dumps(fields["result"] if wrapped else fields, indent=2, ensure_ascii=False)


def _text(text: str) -> str:
    """Keep the output of a program; keep the bracketed heading and the codes of a failure."""
    if text.startswith("[Script executed successfully]") and len(text) < 300:
        return text
    head = re.match(r"\[[^]]*\]", text)
    codes = sorted(set(CODE.findall(text[head.end() :] if head else text)))
    return " ".join([head[0] if head else "", "<text>", *(f"[{code}]" for code in codes)]).strip()
