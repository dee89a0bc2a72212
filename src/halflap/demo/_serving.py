"""Serve functions as MCP tools over stdio, to clients of both protocol eras.

The protocol is implemented here because importing the MCP library takes over a second per server.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}

_NEWER, _OLDER = "2026-07-28", "2025-11-25"
_OLDEST = "2024-11-05"
_META = "io.modelcontextprotocol/"
_METHOD_NOT_FOUND, _INVALID_PARAMS = -32601, -32602
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,)}


class RefusedError(Exception):
    """The call is refused; the message says why, and what would work."""


class ProtocolError(Exception):
    """The request fails with a JSON-RPC error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ServedTool:
    name: str
    description: str
    answer: Callable[..., Any]
    """Takes the arguments by name, returns a JSON value or raises RefusedError."""
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, bool] | None = None

    def is_wrapped(self, version: str) -> bool:
        """Return whether the output is wrapped: before 2026-07-28 the root of a schema had to be an object."""
        schema = self.output_schema
        return schema is not None and schema.get("type") != "object" and version != _NEWER

    def definition(self, version: str) -> dict[str, Any]:
        output = self.output_schema
        if self.is_wrapped(version):
            output = {"type": "object", "properties": {"result": output}, "required": ["result"]}
        parts = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": output,
            "annotations": self.annotations or READ_ONLY,
        }
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(frozen=True)
class DemoServer:
    name: str
    tools: Sequence[ServedTool]
    instructions: str | None = None

    def serve(self) -> None:
        """Serve the tools over stdin and stdout until the client disconnects."""
        for line in sys.stdin:
            request = json.loads(line)
            if "id" not in request:
                continue
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
            try:
                answer["result"] = self.result(str(request["method"]), request.get("params") or {})
            except ProtocolError as error:
                answer["error"] = {"code": error.code, "message": str(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    def result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        version = (params.get("_meta") or {}).get(f"{_META}protocolVersion", _OLDER)
        if method == "tools/call":
            found = self._call(params, version)
        elif method == "tools/list":
            found = {"tools": [tool.definition(version) for tool in self.tools]}
        elif method in {"initialize", "server/discover"}:
            found = self._introduction(params, is_newer=method == "server/discover")
        elif method == "ping":
            found = {}
        else:
            raise ProtocolError(_METHOD_NOT_FOUND, f"Unknown method: {method}.")
        if version == _NEWER:
            found["resultType"] = "complete"
            found |= {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
        return found

    def _introduction(self, params: Mapping[str, Any], *, is_newer: bool) -> dict[str, Any]:
        about: dict[str, Any] = {"capabilities": {"tools": {}}}
        if self.instructions is not None:
            about["instructions"] = self.instructions
        info = {"name": self.name, "version": "1.0.0"}
        if is_newer:
            return {**about, "supportedVersions": [_NEWER], "_meta": {f"{_META}serverInfo": info}}
        asked = str(params.get("protocolVersion"))
        version = asked if _OLDEST <= asked <= _OLDER else _OLDER
        return {**about, "protocolVersion": version, "serverInfo": info}

    def _call(self, params: Mapping[str, Any], version: str) -> dict[str, Any]:
        tools = {tool.name: tool for tool in self.tools}
        tool = tools.get(params["name"])
        if tool is None:
            known = ", ".join(tools)
            raise ProtocolError(_INVALID_PARAMS, f"Unknown tool: {params['name']}. Known: {known}.")
        try:
            value = tool.answer(**_checked(tool.input_schema, params.get("arguments") or {}))
        except RefusedError as refusal:
            return {"content": [{"type": "text", "text": str(refusal)}], "isError": True}
        result: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(value, indent=2)}]}
        if tool.output_schema is not None:
            result["structuredContent"] = {"result": value} if tool.is_wrapped(version) else value
        return result


def _checked(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Validate arguments against a flat input schema."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    for name in schema.get("required", ()):
        if name not in arguments:
            raise RefusedError(f"Missing argument: {name}.")
    for name, value in arguments.items():
        if name not in properties:
            raise RefusedError(f"Unknown argument: {name}. Known: {', '.join(properties)}.")
        expected = properties[name]["type"]
        if not isinstance(value, _TYPES[expected]) or isinstance(value, bool):
            raise RefusedError(f"Argument {name} must be of type {expected}, not {json.dumps(value)}.")
        allowed = properties[name].get("enum")
        if allowed is not None and value not in allowed:
            raise RefusedError(f"Argument {name} must be one of {', '.join(allowed)}, not {value!r}.")
    # The schemas of `limit` have no minimum.
    if arguments.get("limit", 1) < 1:
        raise RefusedError(f"Argument limit must be at least 1, not {arguments['limit']}.")
    return arguments
