"""What the check takes for a mistake, what for a doubt, and what for fine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from halflap.catalog import Snapshot
from halflap.core.values import Tool
from halflap.sandbox.check.reading import CheckSkipped
from sandbox.check.checkup import TOOLS, Checkup
from support import some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.sandbox.check.reading import Examined

FINE = Path(__file__).with_name("fine.txt").read_text().split("---\n")[1:]
ORDERS = "r = await mcp__shop__orders(customer_id='a')\n"
CLOSED = "r = await mcp__shop__closed()\n"


@pytest.fixture(scope="module")
def checkup() -> Iterator[Checkup]:
    with Checkup(*TOOLS) as opened:
        yield opened


def refused(checkup: Checkup, code: str) -> list[str]:
    checked = checkup.check(code)
    assert checked.skipped is None
    return [str(one) for one in checked.mistakes]


@pytest.mark.parametrize("first", some(range(0, len(FINE), 8), every=3))
def test_correct_programs_one_after_the_other_are_not_refused(checkup: Checkup, first: int) -> None:
    assert refused(checkup, "\n".join(FINE[first : first + 8])) == []


@pytest.mark.slow
@pytest.mark.parametrize("code", FINE)
def test_a_correct_program_is_not_refused(checkup: Checkup, code: str) -> None:
    assert refused(checkup, code) == []


CALLS = [
    ("await mcp__shop__order(customer_id='a')", "unknown-tool", "mcp__shop__orders"),
    ("await mcp_shop__orders(customer_id='a')", "unknown-tool", "mcp__shop__orders"),
    ("await orders(customer_id='a')", "unknown-tool", "mcp__shop__orders"),
    ("await mcp__shop__nothing_like_it()", "unknown-tool", "mcp__shop__anything"),
    ("await call_tool('mcp__shop__ordes', customer_id='a')", "unknown-tool", "mcp__shop__orders"),
    ("await mcp__shop__orders(customer='a')", "unknown-argument", "customer_id"),
    ("await call_tool('mcp__shop__orders', customer='a')", "unknown-argument", "customer_id"),
    ("await mcp__shop__orders(**{'customer': 'a'})", "unknown-argument", "customer_id"),
    ("await mcp__shop__orders(limit=3)", "missing-argument", "customer_id: missing"),
    ("await call_tool('mcp__shop__orders', limit=3)", "missing-argument", "customer_id: missing"),
    ("await mcp__shop__odd(**{'from': 'a'})", "missing-argument", "user-id: missing"),
    ("await mcp__shop__orders('a')", "unnamed-argument", ""),
    ("await mcp__shop__orders(customer_id=3)", "wrong-argument", "customer_id: expected string"),
    ("await mcp__shop__orders(customer_id=None)", "wrong-argument", "customer_id: expected string"),
    ("await call_tool('mcp__shop__orders', customer_id=3)", "wrong-argument", "customer_id: expected string"),
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
]  # fmt: skip
KEYS = [
    (f"{ORDERS}print(r['ordres'])", "unknown-key", "'orders'"),
    (f"{ORDERS}print(r['orders'][0]['totl'])", "unknown-key", "orders[] of the result of mcp__shop__orders"),
    (f"{ORDERS}print(r['orders'][0]['zebra'])", "unknown-key", "order_id, total, status, note"),
    (f"{ORDERS}for o in r['orders']:\n    print(f\"{{o['zebra']:.2f}}\")", "unknown-key", "'zebra'"),
    (f"{ORDERS}print(max(r['orders'], key=lambda o: o['zebra']))", "unknown-key", "'zebra'"),
    ("s = await mcp__shop__summary(year=1)\nprint(s['revenue'])", "unknown-key", "'totalRevenue'"),
    ("s = await mcp__shop__summary(year=1)\nprint(s['total_revenue'])", "unknown-key", "'totalRevenue'"),
    (f"{CLOSED}print(r['zebra'])", "unknown-key", "name, tags, owner"),
    ("try:\n    t = await mcp__shop__closed()\n    print(t['zebra'])\nexcept Exception:\n    pass", "unknown-key", "'zebra'"),
    ("for e in (await mcp__shop__events())['events']:\n    print(e['zebra'])", "unknown-key", "events[]"),
    ("import asyncio\nfor g in await asyncio.gather(mcp__shop__closed(), return_exceptions=True):\n    if isinstance(g, Exception):\n        continue\n    print(g['zebra'])", "unknown-key", "'zebra'"),
    ("print((await mcp__shop__closed())['zebra'])", "unknown-key", "'zebra'"),
    ("k = await call_tool('mcp__shop__closed')\nprint(k['zebra'])", "unknown-key", "'zebra'"),
    (f"{ORDERS}print(r['orders']['total'])", "no-keys", "a list"),
    (f"{CLOSED}print(r['name']['first'])", "no-keys", "a text"),
    ("l = await mcp__shop__names()\nprint(l['result'])", "no-keys", "a list"),
]  # fmt: skip
FUNCTIONS = [
    ("async def get1():\n    return await mcp__shop__closed()\nprint((await get1())['zebra'])", "unknown-key", "'zebra'"),
    ("def f1(o):\n    return o['zebra']\nprint(f1(await mcp__shop__closed()))", "unknown-key", "'zebra'"),
    ("async def get2():\n    return await mcp__shop__closed()\ndef f2(o):\n    return o['zebra']\nx = await get2()\nprint(f2(x))", "unknown-key", "'zebra'"),
    ("async def gen():\n    yield await mcp__shop__closed()\nasync for y in gen():\n    print(y['zebra'])", "unknown-key", "'zebra'"),
    ("def walk(n):\n    print(n['zebra'])\n    for c in n['children']:\n        walk(c)\nwalk(await mcp__shop__tree())", "unknown-key", "id, children"),
]  # fmt: skip
AWAITS = [
    ("r = mcp__shop__closed()\nprint(r['name'])", "not-awaited", "`r`"),
    ("mcp__shop__closed()", "not-awaited", "`await mcp__shop__closed(…)`"),
    ("print(mcp__shop__closed())", "not-awaited", "`await mcp__shop__closed(…)`"),
    ("q = mcp__shop__closed()\nprint(f'{q}')", "not-awaited", "`await mcp__shop__closed(…)`"),
    ("a = mcp__shop__anything(q='a')", "not-awaited", "`await mcp__shop__anything(…)`"),
    ("import json\nprint(json.dumps(mcp__shop__closed()))", "not-awaited", "`await mcp__shop__closed(…)`"),
    ("rs = [mcp__shop__closed() for _ in 'ab']\nprint(rs[0]['name'])", "not-awaited", ""),
    ("for n in mcp__shop__names():\n    print(n)", "not-awaited", "`await mcp__shop__names(…)`"),
    ("print(len(mcp__shop__names()))", "not-awaited", "`await mcp__shop__names(…)`"),
    ("import asyncio\nb, d = asyncio.gather(mcp__shop__closed(), mcp__shop__names())\nprint(b)", "not-awaited", "`await asyncio.gather(…)`"),
    ("async def main():\n    print(1)\nmain()", "not-awaited", "`await main(…)`"),
]  # fmt: skip


@pytest.mark.parametrize(
    "listed", [CALLS, KEYS, FUNCTIONS, AWAITS], ids=["calls", "keys", "functions", "awaits"]
)
def test_certain_mistakes_are_all_found_each_in_its_lines(
    checkup: Checkup, listed: list[tuple[str, str, str]]
) -> None:
    """All pieces are one program: ty reads it once, and each finding has its line."""
    found = checkup.check("\n".join(code for code, _, _ in listed)).mistakes
    wrong = []
    line = 1
    for code, rule, said in listed:
        after = line + code.count("\n") + 1
        here = [one for one in found if line <= one.line < after]
        if {one.rule for one in here} != {rule} or not any(said in str(one) for one in here):
            wrong.append((code, rule, [str(one) for one in here]))
        line = after
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("x = (", "syntax"),
        ("return 1", "syntax"),
        (f"# type: ignore\n{CLOSED}print(r['zebra'])", "unknown-key"),
        (f"{CLOSED}print(r['zebra'], '# type: ignore')", "unknown-key"),
    ],
    ids=["open", "return", "an override before all else", "a text that looks like an override"],
)
def test_a_program_with_one_mistake_has_that(checkup: Checkup, code: str, rule: str) -> None:
    assert [one.rule for one in checkup.check(code).mistakes] == [rule]


def test_a_finding_says_where_what_is_wrong_and_what_may_be_right(checkup: Checkup) -> None:
    checked = checkup.check(f"# a comment\n{ORDERS}for ö in r['orders']:\n    print('ü', ö['totl'], 'x')")
    (found,) = checked.mistakes
    assert (found.line, found.column, found.end_column, found.code) == (4, 18, 24, "check-unknown-key")
    assert "'totl'" in found.wrong
    assert "'total'" in found.right
    assert f"{found.source}\n{' ' * 17}^^^^^^\n" in str(found)


def test_what_is_not_certain_is_a_doubt(checkup: Checkup) -> None:
    code = (
        "s = await mcp__shop__summary(year=1)\nprint(s['zebra'])\n"
        f"{CLOSED}print(r['owner']['id'])\n"
        "o = await mcp__shop__orders(customer_id='a')\nprint(o.orders)\n"
        "print(undefined_name)\n"
        "print(r['name'] + 1)\n"
        "await mcp__late__orders(customer_id='a')"
    )
    checked = checkup.check(code)
    assert list(checked.mistakes) == []
    assert sorted({one.line for one in checked.doubts}) == [2, 4, 6, 7, 8, 9]


def test_a_line_that_is_overridden_is_left_alone(checkup: Checkup) -> None:
    code = (
        f"{CLOSED}print(r['zebra'])  # type: ignore\n"
        "await mcp__shop__orders(customer_id=3)  # type: ignore[arg-type]\n"
        "mcp__shop__closed()  # nothing is meant to happen  # type: ignore\n"
        "await mcp__shop__nothing_like_it()  # ty: ignore\n"
        "await mcp__shop__orders(\n    customer_id=3,  # type: ignore\n)"
    )
    assert list(checkup.check(code).mistakes) == []


@pytest.mark.parametrize("line", range(3))
def test_a_call_over_several_lines_is_overridden_at_any_of_them(checkup: Checkup, line: int) -> None:
    lines = ["await mcp__shop__orders(", "    limit=3,", ")"]
    assert [one.rule for one in checkup.check("\n".join(lines)).mistakes] == ["missing-argument"]
    lines[line] += "  # type: ignore"
    assert list(checkup.check("\n".join(lines)).mistakes) == []


def test_a_call_that_is_not_awaited_may_be_closed(checkup: Checkup) -> None:
    assert refused(checkup, "call = mcp__shop__closed()\ncall.close()\nmcp__shop__closed().close()") == []


def test_of_a_declaration_that_was_broken_nothing_is_certain() -> None:
    with Checkup(*TOOLS) as checkup:
        code = f"{CLOSED}print(r['zebra'])"
        assert checkup.check(code).mistakes
        checkup.breached.add("mcp__shop__closed")
        checked = checkup.check(code)
        assert not checked.mistakes
        assert "'zebra'" in str(checked.doubts[0])


def test_what_is_only_thought_is_no_mistake_if_it_cannot_be_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Checkup(*TOOLS) as checkup:
        checkup.breached.add("mcp__shop__closed")
        examine, asked = checkup.checker.examiner.examine, []

        async def first_alone(code: str, stubs: str) -> Examined:
            asked.append(stubs)
            if stubs != asked[0]:
                raise CheckSkipped("there is no time")
            return await examine(code, stubs)

        monkeypatch.setattr(checkup.checker.examiner, "examine", first_alone)
        checked = checkup.check(f"{CLOSED}await mcp__shop__orders(customer_id=r['tags'])")
        assert len(set(asked)) == 2
        assert not checked.mistakes
        assert [one.rule for one in checked.doubts] == ["wrong-argument"]


def test_a_program_may_give_the_names_of_tools_another_meaning(checkup: Checkup) -> None:
    assert checkup.check("def mcp__shop__orders(x):\n    return x\nprint(mcp__shop__orders('a'))").ok
    assert checkup.check(
        "async def f(mcp__shop__closed):\n    mcp__shop__closed()\n    return 1\nprint(await f(print))"
    ).ok


def test_the_same_program_is_examined_once(checkup: Checkup, monkeypatch: pytest.MonkeyPatch) -> None:
    first = checkup.check(f"{CLOSED}print(r['name'], 'once')")
    monkeypatch.setattr(checkup.checker.examiner, "examine", None)
    assert checkup.check(f"{CLOSED}print(r['name'], 'once')") is first


@pytest.mark.slow
def test_a_program_that_is_too_large_or_deep_is_skipped_and_the_next_is_checked(checkup: Checkup) -> None:
    assert checkup.check("x = 1\n" * 50_000).skipped
    deep = checkup.check("-" * 100_000 + "1")
    assert deep.skipped or deep.mistakes
    assert checkup.check(CLOSED).ok


def test_a_tool_that_is_not_there_is_looked_for_again_when_its_server_has_come() -> None:
    with Checkup(*TOOLS) as checkup:
        code = "await mcp__late__orders(customer_id='a')"
        assert checkup.check(code).ok
        other = Tool("mcp__late__other", "late", "other", "", {"type": "object"})
        checkup.snapshot = Snapshot(tools={one.name: one for one in (*TOOLS, other)})
        assert [one.rule for one in checkup.check(code).mistakes] == ["unknown-tool"]
