"""The parameters and return type of a script, read from its source without running or importing it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from halflap.core.errors import ScriptError
from halflap.core.text import clean
from halflap.scripts.annotations import AnnotationError, Annotations

_MAX_QUOTE = 80
_MAX_PROBLEMS = 20
_GUARDS = ("__name__ == '__main__'", "'__main__' == __name__")
_TOO_DEEP = "it is nested too deeply to be read."


@dataclass(frozen=True, slots=True)
class Definition:
    """A script's description, parameters and return type."""

    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    """Of `{"result": value}`; None if `main` has no return annotation."""
    has_main: bool = True
    """Whether to call `main`; otherwise the file runs as it is."""
    calls_main: int | None = None
    """The line in which the file uses `main` itself, if it does."""

    def as_tool(self, name: str) -> dict[str, Any]:
        """Return the MCP tool definition."""
        tool = {"name": name, "description": self.description, "inputSchema": dict(self.input_schema)}
        return tool if self.output_schema is None else {**tool, "outputSchema": dict(self.output_schema)}


def read_definition(code: str, *, as_file: bool = False) -> Definition:
    """Read a script; raise `ScriptError` with everything that is wrong, each with its line.

    With `as_file` it is a program that is run once, so a call of `main` under `if __name__ == "__main__":` counts, and
    then it does not matter what `main` takes.
    """
    try:
        tree = ast.parse(code)
        main = next((node for node in reversed(tree.body) if _is_main(node)), None)
        description = _docstring(tree)
        calls_main = None if main is None else _line_using_main(tree, with_guard=as_file)
        if main is None or calls_main is not None:
            nothing = {"type": "object", "properties": {}, "additionalProperties": False}
            return Definition(description, nothing, has_main=False, calls_main=calls_main)
        return _Reader(tree).read(main, description)
    except SyntaxError as error:
        raise ScriptError(f"line {error.lineno or 1}: not valid Python: {error.msg}.") from None
    except (ValueError, MemoryError, RecursionError):
        raise ScriptError(_TOO_DEEP) from None


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "main"


def _docstring(node: Any) -> str:
    return (ast.get_docstring(node) or "").strip()


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._annotations = Annotations(tree)
        self._problems: list[str] = []

    def read(self, main: Any, description: str) -> Definition:
        self._check_parameters(main.args)
        properties: dict[str, Any] = {}
        required: list[str] = []
        for parameter, default in _parameters(main.args):
            schema = self._schema(parameter.annotation, f"of the parameter {parameter.arg!r}")
            if default is None:
                required.append(parameter.arg)
            else:
                schema = self._with_default(schema, default, parameter.arg)
            properties[parameter.arg] = schema
        takes: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        takes = self._with_definitions({**takes, "required": required} if required else takes)
        schema = self._schema(main.returns, "of what main returns")
        returns = None
        if main.returns is not None and schema != {"type": "null"}:
            wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
            returns = self._with_definitions(wrapped)
        if self._problems:
            raise ScriptError("\n".join(self._problems))
        return Definition(_docstring(main) or description, takes, returns)

    def _check_parameters(self, arguments: ast.arguments) -> None:
        for parameter in arguments.posonlyargs:
            self._add(
                parameter,
                f"{parameter.arg!r} is positional-only. Scripts take keyword arguments: remove the `/`.",
            )
        if extra := arguments.vararg:
            self._add(extra, f"`*{extra.arg}` cannot be a parameter. Use `{extra.arg}: list[str]` instead.")
        if extra := arguments.kwarg:
            self._add(
                extra, f"`**{extra.arg}` cannot be a parameter. Use `{extra.arg}: dict[str, str]` instead."
            )

    def _schema(self, annotation: ast.expr | None, where: str) -> dict[str, Any]:
        try:
            return {} if annotation is None else self._annotations.schema(annotation)
        except AnnotationError as error:
            # For a field of a class, this is the line of the field.
            quoted = _quote(error.node)
            self._add(error.node, f"the annotation `{quoted}` {where} cannot be used. {error.advice}")
            return {}

    def _with_default(self, schema: dict[str, Any], default: ast.expr, name: str) -> dict[str, Any]:
        try:
            value = json.loads(json.dumps(ast.literal_eval(default), allow_nan=False))
        except (ValueError, TypeError, SyntaxError, MemoryError):
            quoted = _quote(default)
            self._add(
                default,
                f"the default `{quoted}` of {name!r} is computed. Write a JSON value, or use None and compute it in main.",
            )
            return schema
        null = {"type": "null"}
        if value is None and schema and null not in schema.get("anyOf", []):
            # Many write `limit: int = None` for `int | None`.
            about = {"description": schema["description"]} if "description" in schema else {}
            schema = {"anyOf": [schema, null], **about}
        return {**schema, "default": value}

    def _with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        used, self._annotations.definitions = self._annotations.definitions, {}
        return {**schema, "$defs": used} if used else schema

    def _add(self, node: ast.expr | ast.arg, message: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(f"line {getattr(node, 'lineno', 1)}: {message}")


def _quote(node: ast.expr) -> str:
    return " ".join(clean(ast.unparse(node), _MAX_QUOTE).split())


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield each parameter with its default or None."""
    missing = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    defaults = [*([None] * missing), *arguments.defaults][len(arguments.posonlyargs) :]
    yield from zip(arguments.args, defaults, strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _line_using_main(tree: ast.Module, *, with_guard: bool) -> int | None:
    """Return the line outside of `main` that uses it, if any; calling it again would run everything twice."""
    for statement in tree.body:
        if _is_main(statement) or (_is_guard(statement) and not with_guard):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == "main" and isinstance(node.ctx, ast.Load):
                return node.lineno
    return None


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in _GUARDS
