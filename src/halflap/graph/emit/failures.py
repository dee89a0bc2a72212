"""Checks in a generated program that end it where a result itself says that the call failed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.graph.emit.syntax import assign, attribute, call, constant, function, load, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.emit.names import Names
    from halflap.graph.ports import Sign
    from halflap.graph.workflow import Task, Workflow

__all__ = ["Failures"]

_REASONS = ("error", "errors", "message", "msg")


class Failures:
    """Writes calls of the check, and the functions that they need."""

    def __init__(self, workflow: Workflow, names: Names) -> None:
        self._workflow = workflow
        self._names = names
        self._functions: dict[tuple[Sign, ...], str] = {}

    def is_needed(self, task: Task) -> bool:
        """Return whether anything is taken out of a result that may say that it failed; else it is printed as it is."""
        return bool(_signs(task)) and (
            task.paginates is not None
            or any(one.step == task.id for one in self._workflow.links())
            or any(one.step == task.id and one.path for one in self._workflow.wanted)
        )

    def check(self, task: Task, result: str) -> list[ast.stmt]:
        if not self.is_needed(task):
            return []
        signs = _signs(task)
        if signs not in self._functions:
            self._functions[signs] = self._names.make("refuse_failure")
        return [ast.Expr(call(self._functions[signs], constant(shown(task.ports.tool)), load(result)))]

    def written(self) -> Iterator[ast.stmt]:
        """Yield the functions that were used."""
        for signs, name in self._functions.items():
            tool, result, reason = (self._names.make(one) for one in ("tool", "result", "reason"))
            failed = [_condition(result, one) for one in signs]
            reasons: list[ast.expr] = [*(_get(result, key) for key in _REASONS), constant("no reason given")]
            inner = ast.BoolOp(
                ast.Or(), [call(attribute(load(reason), "get"), constant("message")), load(reason)]
            )
            told = call(attribute(constant("{} failed: {}"), "format"), load(tool), load(reason))
            body: list[ast.stmt] = [
                assign(reason, ast.BoolOp(ast.Or(), reasons)),
                ast.If(call("isinstance", load(reason), load("dict")), [assign(reason, inner)], []),
                ast.Raise(call("ValueError", told)),
            ]
            is_object = call("isinstance", load(result), load("dict"))
            any_failed = failed[0] if len(failed) == 1 else ast.BoolOp(ast.Or(), failed)
            yield function(
                name,
                [tool, result],
                [ast.If(ast.BoolOp(ast.And(), [is_object, any_failed]), body, [])],
                waits=False,
            )


def _signs(task: Task) -> tuple[Sign, ...]:
    return task.ports.signs


def _get(result: str, key: str) -> ast.expr:
    return call(attribute(load(result), "get"), constant(key))


def _condition(result: str, sign: Sign) -> ast.expr:
    value = _get(result, sign.key)
    if sign.kind == "false":
        return ast.Compare(value, [ast.Is()], [constant(False)])
    return value
