"""What the check takes for a mistake, what for a doubt, and what for fine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from execution.check.checkup import TOOLS, Checkup
from halflap.execution.check.finding import mistakes_text
from support import some

if TYPE_CHECKING:
    from collections.abc import Iterator

FINE = Path(__file__).with_name("fine.txt").read_text().split("---\n")[1:]
ORDERS = "r = await mcp__shop__orders(customer_id='a')\n"
CLOSED = "r = await mcp__shop__closed()\n"


@pytest.fixture(scope="module")
def checkup() -> Iterator[Checkup]:
    with Checkup(*TOOLS) as opened:
        yield opened


@pytest.mark.parametrize("code", some(FINE, every=4))
def test_a_correct_program_is_not_refused(checkup: Checkup, code: str) -> None:
    checked = checkup.check(code)
    assert checked.skipped is None
    assert [str(one) for one in checked.mistakes] == []


@pytest.mark.parametrize(
    ("code", "rule", "said"),
    some([
        ("await mcp__shop__order(customer_id='a')", "unknown-tool", "Did you mean mcp__shop__orders"),
        ("await mcp_shop__orders(customer_id='a')", "unknown-tool", "Did you mean mcp__shop__orders"),
        ("await orders(customer_id='a')", "unknown-tool", "Did you mean mcp__shop__orders?"),
        ("await mcp__shop__nothing_like_it()", "unknown-tool", "Tools of shop: mcp__shop__anything"),
        ("await mcp__shop__orders(customer='a')", "unknown-argument", "Did you mean customer_id?"),
        ("await call_tool('mcp__shop__ordes', customer_id='a')", "unknown-tool", "Did you mean mcp__shop__orders"),
        ("await call_tool('mcp__shop__orders', customer='a')", "unknown-argument", "Did you mean customer_id?"),
        ("await call_tool('mcp__shop__orders', limit=3)", "missing-argument", "customer_id: missing."),
        ("await call_tool('mcp__shop__orders', customer_id=3)", "wrong-argument", "customer_id: expected string"),
        ("await mcp__shop__orders(**{'customer': 'a'})", "unknown-argument", "Did you mean customer_id?"),
        ("await mcp__shop__odd(**{'from': 'a'})", "missing-argument", "user-id: missing."),
        ("await mcp__shop__orders(limit=3)", "missing-argument", "customer_id: missing."),
        ("await mcp__shop__orders('a')", "unnamed-argument", "arguments of tools are named"),
        ("await mcp__shop__orders(customer_id=3)", "wrong-argument", "customer_id: expected string, received"),
        ("await mcp__shop__orders(customer_id=None)", "wrong-argument", "customer_id: expected string"),
        ("await mcp__shop__orders(customer_id='a', limit='3')", "wrong-argument", "limit: expected integer"),
        ("await mcp__shop__orders(customer_id='a', limit=True)", "wrong-argument", "limit: expected integer"),
        ("n = '3'\nawait mcp__shop__orders(customer_id='a', limit=n)", "wrong-argument", "limit: expected integer"),
        ("c = 3\nc += 1\nawait mcp__shop__orders(customer_id=c)", "wrong-argument", "customer_id: expected string"),
        ("await mcp__shop__orders(customer_id='a', status='shut')", "wrong-argument", "status: expected"),
        ("s = 'shut'\nawait mcp__shop__orders(customer_id='a', status=s)", "wrong-argument", '"open" | "closed"'),
        ("await mcp__shop__orders(customer_id='a', ids='a')", "wrong-argument", "ids: expected array"),
        ("await mcp__shop__orders(customer_id='a', ids=[1])", "wrong-argument", "ids[0]: expected string"),
        ("await mcp__shop__orders(customer_id='a', filter={'q': 1})", "wrong-argument", "filter.q: expected string"),
        (f"{ORDERS}await mcp__shop__orders(customer_id=r)", "wrong-argument", "customer_id: expected string"),
        (f"{ORDERS}print(r['ordres'])", "unknown-key", "Did you mean 'orders'?"),
        (f"{ORDERS}print(r['orders'][0]['totl'])", "unknown-key", "orders[] of the result of mcp__shop__orders"),
        (f"{ORDERS}print(r['orders'][0]['zebra'])", "unknown-key", "keys: order_id, total, status, note."),
        (f"{ORDERS}for o in r['orders']:\n    print(f\"{{o['zebra']:.2f}}\")", "unknown-key", "'zebra' is not in"),
        (f"{ORDERS}print(max(r['orders'], key=lambda o: o['zebra']))", "unknown-key", "'zebra' is not in"),
        ("s = await mcp__shop__summary(year=1)\nprint(s['revenue'])", "unknown-key", "Did you mean 'totalRevenue'?"),
        ("s = await mcp__shop__summary(year=1)\nprint(s['total_revenue'])", "unknown-key", "'totalRevenue'"),
        (f"{CLOSED}print(r['zebra'])", "unknown-key", "keys: name, tags, owner."),
        ("try:\n    r = await mcp__shop__closed()\n    print(r['zebra'])\nexcept Exception:\n    pass", "unknown-key", "'zebra'"),
        ("for e in (await mcp__shop__events())['events']:\n    print(e['zebra'])", "unknown-key", "'zebra' is not in events[]"),
        ("import asyncio\nfor r in await asyncio.gather(mcp__shop__closed(), return_exceptions=True):\n    if isinstance(r, Exception):\n        continue\n    print(r['zebra'])", "unknown-key", "'zebra'"),
        ("print((await mcp__shop__closed())['zebra'])", "unknown-key", "'zebra'"),
        ("r = await call_tool('mcp__shop__closed')\nprint(r['zebra'])", "unknown-key", "'zebra'"),
        ("async def get():\n    return await mcp__shop__closed()\nprint((await get())['zebra'])", "unknown-key", "'zebra'"),
        ("def f(o):\n    return o['zebra']\nprint(f(await mcp__shop__closed()))", "unknown-key", "'zebra'"),
        ("async def get():\n    return await mcp__shop__closed()\ndef f(o):\n    return o['zebra']\nx = await get()\nprint(f(x))",
         "unknown-key", "'zebra'"),
        ("async def gen():\n    yield await mcp__shop__closed()\nasync for r in gen():\n    print(r['zebra'])", "unknown-key", "'zebra'"),
        ("def walk(n):\n    print(n['zebra'])\n    for c in n['children']:\n        walk(c)\nwalk(await mcp__shop__tree())",
         "unknown-key", "keys: id, children"),
        (f"{ORDERS}print(r['orders']['total'])", "no-keys", "`r['orders']` is a list and has no key 'total'."),
        (f"{CLOSED}print(r['name']['first'])", "no-keys", "`r['name']` is a text"),
        ("r = await mcp__shop__names()\nprint(r['result'])", "no-keys", "`r` is a list"),
        ("r = mcp__shop__closed()\nprint(r['name'])", "not-awaited", "`r` is used without being awaited"),
        ("mcp__shop__closed()", "not-awaited", "Write `await mcp__shop__closed(…)`."),
        ("print(mcp__shop__closed())", "not-awaited", "Write `await mcp__shop__closed(…)`."),
        ("r = mcp__shop__closed()\nprint(f'{r}')", "not-awaited", "Write `await mcp__shop__closed(…)`."),
        ("r = mcp__shop__anything(q='a')", "not-awaited", "Write `await mcp__shop__anything(…)`."),
        ("import json\nprint(json.dumps(mcp__shop__closed()))", "not-awaited", "Write `await mcp__shop__closed(…)`."),
        ("rs = [mcp__shop__closed() for _ in 'ab']\nprint(rs[0]['name'])", "not-awaited", "without being awaited"),
        ("for n in mcp__shop__names():\n    print(n)", "not-awaited", "Write `await mcp__shop__names(…)`."),
        ("print(len(mcp__shop__names()))", "not-awaited", "Write `await mcp__shop__names(…)`."),
        ("import asyncio\na, b = asyncio.gather(mcp__shop__closed(), mcp__shop__names())\nprint(a)", "not-awaited",
         "Write `await asyncio.gather(…)`."),
        ("async def main():\n    print(1)\nmain()", "not-awaited", "Write `await main(…)`."),
        ("x = (", "syntax", "SyntaxError: '(' was never closed"),
        ("return 1", "syntax", "SyntaxError: 'return' outside function"),
    ], every=3),
)  # fmt: skip
def test_a_certain_mistake_is_found(checkup: Checkup, code: str, rule: str, said: str) -> None:
    checked = checkup.check(code)
    assert {one.rule for one in checked.mistakes} == {rule}
    assert any(said in str(one) for one in checked.mistakes)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "s = await mcp__shop__summary(year=1)\nprint(s['zebra'])",
            "'zebra' is not in the result of mcp__shop__summary",
        ),
        (f"{CLOSED}print(r['owner']['id'])", "`r['owner']` may also be something without 'id'."),
        (f"{ORDERS}print(r.orders)", "the result of mcp__shop__orders` has no attribute `orders`"),
        ("print(undefined_name)", "Name `undefined_name` used when not defined"),
        (f"{CLOSED}print(r['name'] + 1)", "Operator `+` is not supported"),
    ],
)
def test_what_is_not_certain_is_a_doubt(checkup: Checkup, code: str, said: str) -> None:
    checked = checkup.check(code)
    assert list(checked.mistakes) == []
    assert any(said in str(one) for one in checked.doubts)


@pytest.mark.parametrize(
    "code",
    [
        f"{CLOSED}print(r['zebra'])  # type: ignore",
        "await mcp__shop__orders(customer_id=3)  # type: ignore[arg-type]",
        "mcp__shop__closed()  # nothing is meant to happen  # type: ignore",
        "await mcp__shop__nothing_like_it()  # ty: ignore",
        "await mcp__shop__orders(\n    customer_id=3,  # type: ignore\n)",
    ],
)
def test_who_overrides_a_line_is_left_alone(checkup: Checkup, code: str) -> None:
    assert list(checkup.check(code).mistakes) == []


def test_an_override_before_all_else_is_none(checkup: Checkup) -> None:
    assert checkup.check(f"# type: ignore\n{CLOSED}print(r['zebra'])").mistakes


def test_a_text_that_looks_like_an_override_is_none(checkup: Checkup) -> None:
    assert checkup.check(f"{CLOSED}print(r['zebra'], '# type: ignore')").mistakes


def test_of_a_declaration_that_was_broken_nothing_is_certain() -> None:
    with Checkup(*TOOLS) as checkup:
        code = f"{CLOSED}print(r['zebra'])"
        assert checkup.check(code).mistakes
        checkup.breached.add("mcp__shop__closed")
        checked = checkup.check(code)
        assert not checked.mistakes
        assert "'zebra' is not in the result of mcp__shop__closed, as far as is known" in str(
            checked.doubts[0]
        )


def test_a_mistake_says_where_what_is_wrong_what_is_right_and_how_to_go_on(checkup: Checkup) -> None:
    checked = checkup.check(f"# a comment\n{ORDERS}for ö in r['orders']:\n    print('ü', ö['totl'], 'x')")
    assert mistakes_text(checked.mistakes) == (
        "The program was not run: the check found a mistake in it.\n"
        "line 4, column 18: 'totl' is not in orders[] of the result of mcp__shop__orders; "
        "keys: order_id, total, status, note. [check-unknown-key]\n"
        "    print('ü', ö['totl'], 'x')\n"
        "                 ^^^^^^\n"
        "  Did you mean 'total'?\n"
        "If the check is wrong, put `# type: ignore` at the end of that line."
    )


def test_all_mistakes_are_told_at_once(checkup: Checkup) -> None:
    code = "await mcp__shop__order()\nawait mcp__shop__orders(customer=1)\n" + f"{CLOSED}print(r['zebra'])"
    assert [(one.line, one.rule) for one in checkup.check(code).mistakes] == [
        (1, "unknown-tool"),
        (2, "unknown-argument"),
        (4, "unknown-key"),
    ]


def test_a_program_may_give_the_names_of_tools_another_meaning(checkup: Checkup) -> None:
    assert checkup.check("def mcp__shop__orders(x):\n    return x\nprint(mcp__shop__orders('a'))").ok
    assert checkup.check(
        "async def f(mcp__shop__closed):\n    mcp__shop__closed()\n    return 1\nprint(await f(print))"
    ).ok


def test_a_tool_of_a_server_that_has_not_been_listed_may_be_there(checkup: Checkup) -> None:
    checked = checkup.check("await mcp__late__orders(customer_id='a')")
    assert not checked.mistakes
    assert "mcp__late__orders" in str(checked.doubts[0])


def test_the_same_program_is_examined_once(checkup: Checkup, monkeypatch: pytest.MonkeyPatch) -> None:
    first = checkup.check(f"{CLOSED}print(r['name'], 'once')")
    monkeypatch.setattr(checkup.checker.examiner, "examine", None)
    assert checkup.check(f"{CLOSED}print(r['name'], 'once')") is first


def test_a_program_that_takes_too_long_or_is_too_large_is_not_checked(checkup: Checkup) -> None:
    assert "256 KB" in (checkup.check("x = 1\n" * 50_000).skipped or "")
    assert checkup.check("-" * 100_000 + "1").skipped or checkup.check("-" * 100_000 + "1").mistakes
    assert checkup.check(CLOSED).ok
