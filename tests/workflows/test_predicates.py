from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.predicates import (
    PRELUDE,
    BeyondError,
    evaluate,
    from_xpath,
    holds,
    names,
    parse,
    to_python,
    to_xpath,
    write,
)
from halflap.workflows.predicates.language import (
    Arithmetic,
    Comparison,
    Constant,
    Logic,
    Name,
    Negative,
    Not,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from halflap.workflows.predicates import Expression

NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e30, 1e30))
PATHS = st.sampled_from([("a",), ("b",), ("c", "d"), ("c", "e"), ("missing",), ("a", "b")])
SINGLE: SearchStrategy[Expression] = st.one_of(
    st.builds(Constant, st.one_of(NUMBERS, st.text(), st.booleans(), st.none())), st.builds(Name, PATHS)
)


def wider(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Not, inner),
        st.builds(Negative, inner),
        st.builds(Logic, st.sampled_from(["and", "or"]), parts),
        st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner, inner),
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
    )


EXPRESSIONS = st.recursive(SINGLE, wider, max_leaves=12)
VALUES = st.one_of(NUMBERS, st.sampled_from([0, 1, "", "x", True, False, None, [1], {"d": 1}]))
CASES = st.fixed_dictionaries(
    {
        "a": VALUES,
        "b": VALUES,
        "c": st.one_of(VALUES, st.fixed_dictionaries({"d": VALUES, "e": VALUES})),
    }
)


def looked_up(path: tuple[str, ...]) -> ast.expr:
    node: ast.expr = ast.Name("case", ast.Load())
    for name in path:
        node = ast.Subscript(node, ast.Constant(name), ast.Load())
    return node


def run(expression: Expression, case: dict[str, Any]) -> Any:
    node = ast.fix_missing_locations(ast.Expression(to_python(expression, looked_up)))
    program: dict[str, Any] = {}
    exec(compile(PRELUDE, "prelude", "exec"), program)
    # As text and back: a program is written out before it runs.
    return eval(ast.unparse(node), program | {"case": case})


@given(EXPRESSIONS)
def test_a_predicate_that_is_written_reads_back_as_the_same(expression: Expression) -> None:
    assert parse(write(expression)) == expression


@given(EXPRESSIONS, CASES)
@example(Logic("and", (Constant(False), Name(("missing",)))), {"a": 1, "b": 1, "c": 1})
@example(Comparison("==", Name(("a",)), Name(("b",))), {"a": 1, "b": True, "c": 1})
def test_the_program_decides_as_the_evaluator_does(expression: Expression, case: dict[str, Any]) -> None:
    try:
        expected: Any = holds(expression, case)
    except WorkflowError:
        expected = None
    try:
        found = run(expression, case)
    except (ValueError, LookupError, TypeError, ArithmeticError):
        found = None
    assert found is expected


@given(st.one_of(st.text(), st.text("ab.1+-*/<>=!()'\" and or not true")))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        expression = parse(text)
    except WorkflowError:
        return
    assert parse(write(expression)) == expression


@given(st.one_of(st.text(), st.text("/ab()=<>'1-* text() and or not number")))
def test_any_xpath_is_a_predicate_or_beyond_it(text: str) -> None:
    try:
        expression = from_xpath(text, "a")
    except BeyondError:
        return
    assert parse(write(expression)) == expression


@given(EXPRESSIONS)
def test_what_xpath_says_reads_back_as_the_same_but_for_true_and_false_in_quotes(
    expression: Expression,
) -> None:
    written = to_xpath(expression, "net")
    if written is None:
        return
    again = from_xpath(written, "net")
    # A name alone is compared with true, and the text "true" is true: from there on nothing changes.
    assert from_xpath(to_xpath(again, "net") or "", "net") == again
    assert names(again) == names(expression)


@pytest.mark.parametrize(
    ("xpath", "said"),
    [
        (
            "/Overall/PO_timedout/text()='false' and /Overall/POApproval/text()='true'",
            "PO_timedout == false and POApproval == true",
        ),
        ("/Payment/ShipmentPayment/Balance/text()>0", "ShipmentPayment.Balance > 0"),
        ("/data/want_flight = 'true'", "want_flight == true"),
        ("/n/state/text() = 'x'", 'state == "x"'),
        ('/n/state != "it\'s"', 'state != "it\'s"'),
        ("number(/n/x/text()) + 2 * 3 div 4 >= -5.5", "x + 2 * 3 / 4 >= -5.5"),
        ("not(/n/a = 'b' or true())", 'not (a == "b" or true)'),
        ("(/n/a = 1 or /n/b = 2) and false()", "(a == 1 or b == 2) and false"),
        ("false()", "false"),
        ("/n/a = 1 and (/n/b = 2 or (/n/c = 3))", "a == 1 and (b == 2 or c == 3)"),
    ],
)
def test_the_xpath_of_specifications_is_understood(xpath: str, said: str) -> None:
    root = xpath.partition("/")[2].partition("/")[0]
    assert write(from_xpath(xpath, root)) == said
    assert from_xpath(to_xpath(parse(said), "n") or "", "n") == parse(said)


@pytest.mark.parametrize(
    ("xpath", "why"),
    [
        ("empty(/n/a)", "empty()"),
        ("/n/a", "whether something is there"),
        ("not(/n/a)", "whether something is there"),
        ("/n = 1", "a whole net"),
        ("/n/a[1] = 1", "'[1] = 1'"),
        ("/n/my-var = 1", "'my-var'"),
        ("/n/and = 1", "'and'"),
        ("/n/a < 'x'", "something else than a number"),
        ("count(/n/*) > 1", "/*) > 1"),
        ("timer(A) = 'expired'", "A) = "),
        ("/n/a = 1 = 2", "chained"),
        ("/Other/a = 1", "begins with 'Other', which is neither the net, 'n', nor 'data'"),
        ("/n/a = 1 and /N/b = 2", "begins with 'N'"),
        ("(/n/a = 1", "not closed"),
        ("(" * 60 + "true()" + ")" * 60, "deep"),
        ("true() or " * 500 + "true()", "4000 characters"),
        ("1=1 or " * 150 + "1=1", "more than 200 operators"),
        ("", "too early"),
    ],
)
def test_other_xpath_is_beyond_with_the_reason(xpath: str, why: str) -> None:
    with pytest.raises(BeyondError) as caught:
        from_xpath(xpath, "n")
    assert why in str(caught.value)


@pytest.mark.parametrize("said", ["x == null", "x == 1e30", "x + 1", '"a\'b\\"" == x', 'x < "b"'])
def test_what_xpath_has_no_words_for_is_not_written(said: str) -> None:
    assert to_xpath(parse(said), "n") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "It is empty."),
        ("a = 1", "Character 3, '=', does not belong there. Write == to compare."),
        ("a && b", "Write `and`."),
        ("!a", "Write `not`"),
        ("a < b < c", "expected `and`: comparisons cannot be chained"),
        ("(a", "a closing parenthesis"),
        ("a b", "there is 'b'; expected `and`, `or`"),
        ("a.not", "'not' in 'a.not' is a word of the language"),
        ("f(x)", "there is '('"),
        ("__import__('os')", "there is '('"),
        ("a[0]", "Only names with dots"),
        ("'open", "The text has no end."),
        ("lambda: 1", "':'"),
        (r"'\u12'", "four hexadecimal digits"),
        ("1" * 50, "too large"),
        ("1e999", "too large"),
        ("(" * 60 + "a" + ")" * 60, "nested more than 50 deep"),
        ("not " * 60 + "a", "nested more than 50 deep"),
        ("-" * 60 + "a", "nested more than 50 deep"),
        ("a + " * 300 + "a", "more than 200 operators"),
        ("a" * 5000, "5000 characters"),
    ],
)
def test_what_is_no_predicate_is_refused_with_the_place_and_what_to_write(text: str, says: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        parse(text)
    assert says in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 9 and 7 / 2 == 3.5", True),
        ("2 - 3 - 4 == -5", True),
        ("order.total > 10 and not order.paid", True),
        ('order.state == "new" or missing', True),
        ("order.total == true", False),
        ("1 == true", False),
        ("1 == 1.0", True),
        ('"a" < "b"', True),
        ("nothing == null", True),
        (r"'a\n\'\u00e9' == " + '"a\\n\'é"', True),
        ("not false and false", False),
    ],
)
def test_what_a_predicate_says(text: str, value: bool) -> None:
    case = {"order": {"total": 12, "paid": False, "state": "new"}, "nothing": None}
    assert evaluate(parse(text), case) is value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("totl > 1", "There is no 'totl' at hand. There is: state, total."),
        ("total.net > 1", "total is a number, and has no 'net'."),
        ("state > 1", "text and a number have no order"),
        ("total", "neither true nor false"),
        ("not state", "neither true nor false"),
        ("state + 1 == 2", "and no number"),
        ("total / 0 == 1", "divides by zero"),
        ("1e300 * 1e300 > 1", "too large"),
    ],
)
def test_what_cannot_be_decided_is_an_error_that_says_why(text: str, says: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        holds(parse(text), {"total": 1, "state": "new"})
    assert says in str(caught.value)
