"""The predicates of flows: parsed or refused, and decided by the Python they become."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.predicates import PRELUDE, parse, to_python

CASE = {
    "order": {"total": 12, "paid": False, "state": "new"},
    "nothing": None,
    "total": 1,
    "state": "new",
    "in": {"class": "try"},
    "from": False,
}


def run(text: str, case: dict[str, Any]) -> Any:
    program: dict[str, Any] = {"_look": lambda path, _: reduce(lambda value, name: value[name], path, case)}
    exec(compile(PRELUDE, "prelude", "exec"), program)
    return eval(ast.unparse(to_python(parse(text), "")), program)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 9 and 7 / 2 == 3.5", True),
        ("2 - 3 - 4 == -5", True),
        ("order.total > 10 and not order.paid", True),
        ('order.state == "new" or missing', True),
        ("1 < total + 1 < 3", True),
        ("1 == 1.0", True),
        ('"a" < "b"', True),
        ("nothing == null", True),
        (r"'a\n\'\u00e9' == " + '"a\\n\'é"', True),
        ("not false and false", False),
        ("true", True),
        ("in.class == 'try' and not from", True),
    ],
)
def test_what_a_predicate_says(text: str, value: bool) -> None:
    assert run(text, CASE) is value


@pytest.mark.parametrize(
    "text",
    ["totl > 1", "total.net > 1", "state > 1", "total", "not state", "state + 1 == 2", "total / 0 == 1", "order and true",
     "null < 1"],
)  # fmt: skip
def test_what_cannot_be_decided_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, ArithmeticError)):
        run(text, CASE)


@pytest.mark.parametrize(
    "text",
    ["", "a = 1", "a && b", "(a", "a b", "f(x)", "__import__('os')", "a[0]", "'open", "lambda: 1", "true.x",
     r"'\u12'", "1e999", "(" * 300 + "a" + ")" * 300, "a + " * 900 + "a", "a" * 5000, "a if b else c", "a := 1", "f'{a}'",
     "[a]", "a is b", "a in b", "a ** b", "b'x' == a", "'x'.y == 1", "a; b", "x\n== 1", "\x00"],
)  # fmt: skip
def test_what_is_no_predicate_is_refused(text: str) -> None:
    with pytest.raises(WorkflowError):
        parse(text)


@given(st.one_of(st.text(), st.text("ab.1+-*/<>=!()'\" and or not true")))
def test_any_text_is_parsed_or_refused_and_what_is_parsed_can_only_look_at_its_names(text: str) -> None:
    try:
        expression = parse(text)
    except WorkflowError:
        return
    found = to_python(expression, "")
    called = {
        node.func.id
        for node in ast.walk(found)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called <= {"_true", "_look"}
    assert not any(isinstance(node, ast.Attribute) for node in ast.walk(found))
