"""The functions of a generated program that end it where a result says itself that it is none: with the server's own words."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.graph.edge import Sign
from halflap.graph.failing import FAILED
from halflap.graph.syntax import assign, attribute, call, constant, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.loops import Loops
    from halflap.graph.syntax import Names
    from halflap.graph.workflow import Task, Workflow

__all__ = ["Refusals"]

_LONGEST = 80
_TEXTS = ("error", "errors", "message", "msg")
_GOOD_CODES = ("None", "0", "200", "201", "202", "204")


class Refusals:
    """Writes the calls of these functions, and the functions that were called."""

    def __init__(self, workflow: Workflow, loops: Loops, names: Names) -> None:
        self._workflow = workflow
        self._loops = loops
        self._names = names
        self._functions: dict[tuple[Sign, ...], str] = {}

    def is_needed(self, task: Task) -> bool:
        """Say whether anything is taken out of a result that may be none; else it is printed as it is."""
        return bool(self._signs(task)) and (
            task.paginates is not None
            or any(one.step == task.id for one in self._workflow.links())
            or any(one.step == task.id and one.path for one in self._workflow.wanted)
        )

    def check(self, task: Task, result: str) -> Iterator[ast.stmt]:
        """Write that a result is looked at."""
        if not self.is_needed(task):
            return
        signs = self._signs(task)
        if signs not in self._functions:
            self._functions[signs] = self._names.make("refuse_failure")
        tool = constant(visible(task.ports.tool, _LONGEST))
        yield ast.Expr(call(self._functions[signs], tool, load(result)))

    def written(self) -> Iterator[ast.stmt]:
        """Write the functions."""
        for signs, function in self._functions.items():
            tool, result, error = (self._names.make(one) for one in ("tool", "result", "error"))
            failed = [_condition(result, one) for one in signs]
            is_object = call("isinstance", load(result), load("dict"))
            failed_at_all = failed[0] if len(failed) == 1 else ast.BoolOp(ast.Or(), failed)
            keys = dict.fromkeys([*_TEXTS, *(one.key for one in signs if one.kind == "message")])
            texts: list[ast.expr] = [*(_get(result, key) for key in keys), constant("without a reason")]
            own = call(attribute(load(error), "get"), constant("message"))
            joined = call(attribute(constant("; "), "join"), call("map", load("str"), load(error)))
            told = call(attribute(constant("{} failed: {}"), "format"), load(tool), load(error))
            refuse: list[ast.stmt] = [
                assign(error, ast.BoolOp(ast.Or(), texts)),
                ast.If(
                    call("isinstance", load(error), load("dict")),
                    [assign(error, ast.BoolOp(ast.Or(), [own, _get(result, "message"), load(error)]))],
                    [ast.If(call("isinstance", load(error), load("list")), [assign(error, joined)], [])],
                ),
                ast.Raise(call("ValueError", told)),
            ]
            body: list[ast.stmt] = [ast.If(ast.BoolOp(ast.And(), [is_object, failed_at_all]), refuse, [])]
            parameters = [ast.arg(tool), ast.arg(result)]
            taken = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
            yield ast.FunctionDef(name=function, args=taken, body=body, decorator_list=[])

    def _signs(self, task: Task) -> tuple[Sign, ...]:
        """Give what says that a result is none: of messages, where what is needed is not there beside them."""
        envelope = task.ports.envelope
        signs = [] if envelope is None else [Sign("false", envelope.success)]
        signs += [one for one in task.ports.signs if one.kind != "message"]
        paths = [one.source for one in self._workflow.links() if one.step == task.id]
        paths += [one.path for one in self._workflow.wanted if one.step == task.id]
        needed = {
            path[0].key: None
            for path in paths
            if path and path[0].kind == "key" and not self._loops.is_sure(task.id, path[:1])
        }
        signs += [
            Sign("message", one.key, key)
            for one in task.ports.signs
            if one.kind == "message"
            for key in needed
        ]
        return tuple(dict.fromkeys(signs))


def _get(result: str, key: str) -> ast.expr:
    return call(attribute(load(result), "get"), constant(key))


def _condition(result: str, sign: Sign) -> ast.expr:
    value = _get(result, sign.key)
    nothing = ast.Compare(_get(result, sign.inner), [ast.Is()], [constant(None)])
    if sign.kind == "false":
        return ast.Compare(value, [ast.Is()], [constant(False)])
    if sign.kind == "word":
        lower = call(attribute(call("str", value), "lower"))
        return ast.Compare(lower, [ast.In()], [ast.Tuple([constant(one) for one in FAILED], ast.Load())])
    if sign.kind == "code":
        good = ast.Tuple([constant(one) for one in _GOOD_CODES], ast.Load())
        value = ast.Compare(call("str", value), [ast.NotIn()], [good])
    return ast.BoolOp(ast.And(), [nothing, value]) if sign.inner else value
