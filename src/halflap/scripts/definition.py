"""What a script takes and returns, read from its text: nothing in it is run or imported."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ScriptError
from halflap.core.text import clean
from halflap.scripts.annotations import Annotations, TooManyPartsError, UnknownAnnotationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Definition", "read_definition"]

_MAX_QUOTE = 80
_MAX_PROBLEMS = 20
_GUARDS = ("__name__ == '__main__'", "'__main__' == __name__")


@dataclass(frozen=True, slots=True)
class Definition:
    """What is known of a script before it runs."""

    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    """Of `{"result": value}`; None if `main` has no return annotation."""
    has_main: bool = True
    """Whether `main` is to be called; otherwise the file runs as it is."""
    calls_main: int | None = None
    """The line in which the file calls `main` itself, if it does."""

    def as_tool(self, name: str) -> dict[str, Any]:
        """Return it in the form in which servers define tools."""
        tool = {"name": name, "description": self.description, "inputSchema": dict(self.input_schema)}
        return tool if self.output_schema is None else {**tool, "outputSchema": dict(self.output_schema)}


def read_definition(code: str, *, as_file: bool = False) -> Definition:
    """Read a script; raise `ScriptError` with everything that is wrong, each with its line.

    With `as_file` it is a program that is run once: a call of `main` under `if __name__ == "__main__":` counts, and then it
    does not matter what `main` takes.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise ScriptError(f"line {error.lineno or 1}: it is not Python: {error.msg}.") from None
    except (ValueError, MemoryError, RecursionError):
        raise ScriptError("it cannot be read as Python: something in it is nested too deep.") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    mains = [node for node in functions if node.name == "main"]
    about = _docstring(tree)
    # A file that calls `main` itself would otherwise do everything twice.
    calls_main = _calls_main(tree, guarded=as_file) if mains else None
    if not mains or calls_main is not None:
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        return Definition(about, nothing, has_main=False, calls_main=calls_main)
    return _Reader(code, tree).read(mains[-1], about)


def _docstring(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return (ast.get_docstring(node) or "").strip()


class _Reader:
    def __init__(self, code: str, tree: ast.Module) -> None:
        self._code = code
        self._annotations = Annotations(tree)
        self._problems: list[str] = []

    def read(self, main: ast.FunctionDef | ast.AsyncFunctionDef, about: str) -> Definition:
        self._check_kinds(main.args)
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
        self._annotations.definitions = {}
        schema = self._schema(main.returns, "of what main returns")
        returns = None
        if main.returns is not None and schema != {"type": "null"}:
            wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
            returns = self._with_definitions(wrapped)
        if self._problems:
            raise self._error()
        return Definition(_docstring(main) or about, takes, returns)

    def _error(self) -> ScriptError:
        return ScriptError("\n".join(self._problems[:_MAX_PROBLEMS]))

    def _check_kinds(self, arguments: ast.arguments) -> None:
        for one in arguments.posonlyargs:
            self._add(one, f"{one.arg!r} is positional-only. Scripts take keyword arguments: remove the `/`.")
        for star, more, kind in (
            ("*", arguments.vararg, "list[str]"),
            ("**", arguments.kwarg, "dict[str, str]"),
        ):
            if more is not None:
                told = f"`{star}{more.arg}` cannot be a parameter. Use `{more.arg}: {kind}` instead."
                self._add(more, told)

    def _schema(self, annotation: ast.expr | None, where: str) -> dict[str, Any]:
        try:
            return {} if annotation is None else self._annotations.schema(annotation)
        except TooManyPartsError as error:
            self._add(error.node, f"the annotation {where} cannot be used. {error.advice}")
            raise self._error() from None
        except UnknownAnnotationError as error:
            # Inside a class, the line is that of the field, which has to be changed.
            told = f"the annotation `{self._quote(error.node)}` {where} cannot be used. {error.advice}"
            self._add(error.node, told)
            return {}

    def _with_default(self, schema: dict[str, Any], default: ast.expr, name: str) -> dict[str, Any]:
        try:
            value = _as_json(ast.literal_eval(default))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            told = f"the default `{self._quote(default)}` of {name!r} is computed. Write a JSON value, or use None and compute it in main."
            self._add(default, told)
            return schema
        if value is None and schema and not _takes_null(schema):
            # Many write `limit: int = None` for `int | None`.
            described = {key: schema[key] for key in ("description",) if key in schema}
            schema = {"anyOf": [schema, {"type": "null"}], **described}
        return {**schema, "default": value}

    def _with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        known = self._annotations.definitions
        return {**schema, "$defs": dict(known)} if known else schema

    def _add(self, node: ast.expr | ast.arg, message: str) -> None:
        self._problems.append(f"line {getattr(node, 'lineno', 1)}: {message}")

    def _quote(self, node: ast.expr) -> str:
        # Finding the text takes time, and problems beyond the limit are not shown.
        text = ast.get_source_segment(self._code, node) if len(self._problems) < _MAX_PROBLEMS else None
        return " ".join(clean(text or "…", _MAX_QUOTE).split())


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield each parameter with its default, if it has one."""
    missing = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    defaults = [*([None] * missing), *arguments.defaults][len(arguments.posonlyargs) :]
    yield from zip(arguments.args, defaults, strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema:
        return None in schema["enum"]
    if "anyOf" in schema:
        return any(_takes_null(one) for one in schema["anyOf"])
    return not schema or schema.get("type") == "null"


def _as_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_json(inner) for inner in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_json(inner) for key, inner in value.items()}
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("not JSON")


def _calls_main(tree: ast.Module, *, guarded: bool) -> int | None:
    """Return the line in which the file calls `main` when it is loaded, directly or through its other functions.

    With `guarded`, what is under `if __name__ == "__main__":` counts.
    """
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    functions.pop("main", None)
    unread: list[ast.AST] = [line for line in tree.body if guarded or not _is_guard(line)]
    while unread:
        node = unread.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            called = _called(node)
            if "main" in called:
                return node.lineno
            for name in called & functions.keys():
                unread += functions.pop(name).body
        unread += ast.iter_child_nodes(node)
    return None


def _called(call: ast.Call) -> set[str]:
    """Return the names of what is called: `main()`, and also `anyio.run(main)`."""
    if isinstance(call.func, ast.Name):
        return {call.func.id}
    if isinstance(call.func, ast.Attribute) and call.func.attr == "run":
        return {one.id for one in call.args if isinstance(one, ast.Name)}
    return set()


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).replace('"', "'") in _GUARDS
