"""What a script takes and returns, read from its text: nothing in it is run or imported."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ScriptError
from halflap.core.text import clean
from halflap.scripts.annotations import Annotations, TooManyPartsError, UnknownAnnotationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Definition", "read_definition"]

_LONGEST_QUOTE = 80
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Definition:
    """What there is to know of a script before it runs."""

    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    """Of `{"result": value}`; None if `main` does not say what it returns."""
    has_main: bool = True
    """Whether `main` is to be called; else the file runs as it is."""
    calls_main: int | None = None
    """The line in which it calls `main` by itself, if it does."""

    def as_tool(self, name: str) -> dict[str, Any]:
        """Give it in the form in which servers define their tools."""
        tool: dict[str, Any] = {
            "name": name,
            "description": self.description,
            "inputSchema": dict(self.input_schema),
        }
        if self.output_schema is not None:
            tool["outputSchema"] = dict(self.output_schema)
        return tool


def read_definition(code: str, *, as_file: bool = False) -> Definition:
    """Read a script; raises `ScriptError` with everything that is wrong, each with its line.

    With `as_file` it is read as a program that is run once by itself, where what it does under
    `if __name__ == "__main__":` counts: if that calls `main`, whatever `main` takes is its own affair.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise ScriptError(f"line {error.lineno or 1}: it is not Python: {error.msg}.") from None
    except (ValueError, MemoryError, RecursionError):
        raise ScriptError(
            "it is not Python that can be read: something in it is nested too deeply."
        ) from None
    mains = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "main"
    ]
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    about = _docstring(tree)
    # A file that calls `main` by itself would do everything twice.
    calls_main = _calls_main(tree, guarded=as_file) if mains else None
    if not mains or calls_main is not None:
        return Definition(about, nothing, has_main=False, calls_main=calls_main)
    return _Reader(code, Annotations(tree)).read(mains[-1], about)


def _docstring(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return (ast.get_docstring(node) or "").strip()


@dataclass
class _Reader:
    code: str
    annotations: Annotations
    problems: list[str] = field(default_factory=list)

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
        if required:
            takes["required"] = required
        takes = self._with_definitions(takes)
        returns = self._returns(main.returns)
        if self.problems:
            raise self._error()
        return Definition(_docstring(main) or about, takes, returns)

    def _error(self) -> ScriptError:
        return ScriptError("\n".join(self.problems[:_MOST_PROBLEMS]))

    def _check_kinds(self, arguments: ast.arguments) -> None:
        for parameter in arguments.posonlyargs:
            self._add(
                parameter,
                f"{parameter.arg!r} comes before a `/`. A script's arguments have names: take the `/` out.",
            )
        if arguments.vararg is not None:
            name = arguments.vararg.arg
            self._add(arguments.vararg, f"`*{name}` cannot be a parameter. A list can: `{name}: list[str]`.")
        if arguments.kwarg is not None:
            name = arguments.kwarg.arg
            self._add(
                arguments.kwarg, f"`**{name}` cannot be a parameter. A dict can: `{name}: dict[str, str]`."
            )

    def _schema(self, annotation: ast.expr | None, where: str) -> dict[str, Any]:
        try:
            return self.annotations.schema(annotation)
        except TooManyPartsError as error:
            self._add(error.node, f"the annotation {where} cannot be used: {error.advice}")
            raise self._error() from None
        except UnknownAnnotationError as error:
            # In a class the place is that of its field, which is what has to be changed.
            self._add(
                error.node,
                f"the annotation `{self._quote(error.node)}` {where} cannot be used. {error.advice}",
            )
            return {}

    def _with_default(self, schema: dict[str, Any], default: ast.expr, name: str) -> dict[str, Any]:
        try:
            value = _as_json(ast.literal_eval(default))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            self._add(
                default,
                f"the default `{self._quote(default)}` of {name!r} is computed. It has to be written out, as JSON "
                "could hold it; or take None, and compute it in the function.",
            )
            return schema
        if value is None and schema and not _takes_null(schema):
            # `limit: int = None` is what many write for `int | None`.
            described = {key: schema[key] for key in ("description",) if key in schema}
            schema = {"anyOf": [schema, {"type": "null"}], **described}
        return {**schema, "default": value}

    def _returns(self, annotation: ast.expr | None) -> dict[str, Any] | None:
        self.annotations.definitions = {}
        schema = self._schema(annotation, "of what main returns")
        if annotation is None or schema == {"type": "null"}:
            return None
        return self._with_definitions(
            {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        )

    def _with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        known = self.annotations.definitions
        return {**schema, "$defs": dict(known)} if known else schema

    def _add(self, node: ast.expr | ast.arg, message: str) -> None:
        self.problems.append(f"line {getattr(node, 'lineno', 1)}: {message}")

    def _quote(self, node: ast.expr) -> str:
        # To find it takes time, and after so many nobody reads them.
        text = ast.get_source_segment(self.code, node) if len(self.problems) < _MOST_PROBLEMS else None
        return " ".join(clean(text or "…", _LONGEST_QUOTE).split())


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Give each parameter with its default, if it has one."""
    missing = len(arguments.args) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*([None] * missing), *arguments.defaults]
    # Those before a `/` have been complained of; their defaults come first.
    yield from zip(arguments.args, defaults[-len(arguments.args) :] if arguments.args else [], strict=False)
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
    """Give the line in which the file calls `main`, also by way of its other functions.

    What it does only when it is run by itself counts if `guarded` says so.
    """
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    # Apart from `main` itself: that it may call itself again says nothing.
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
            # `def start(): asyncio.run(main())`, and then `start()`: each is followed once.
            for function in [functions.pop(name) for name in called if name in functions]:
                unread += function.body
        unread += ast.iter_child_nodes(node)
    return None


def _called(call: ast.Call) -> set[str]:
    """Give the names of what is called: `main()`, and also `anyio.run(main)`."""
    if isinstance(call.func, ast.Name):
        return {call.func.id}
    if isinstance(call.func, ast.Attribute) and call.func.attr == "run":
        return {one.id for one in call.args if isinstance(one, ast.Name)}
    return set()


def _is_guard(node: ast.stmt) -> bool:
    """Recognise `if __name__ == "__main__":`, either way round."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )
