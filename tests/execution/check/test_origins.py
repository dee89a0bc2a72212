from __future__ import annotations

import ast

import pytest

from execution.check.origins import Origins
from execution.check.source import Source
from halflap.schema import Type, compact
from halflap.schema.kinds import Field

ROW = Type("object", fields=(Field("id", Type("integer"), required=True),))
PAGE = Type("object", fields=(Field("rows", Type("array", items=ROW), required=True),))
DECLARED = {"page": PAGE, "free": None}


def origin(code: str) -> str | None:
    """Say what the last expression of a program is."""
    source = Source(code)
    last = source.tree.body[-1]
    assert isinstance(last, ast.Expr)
    found = Origins(source, DECLARED).of(last.value)
    return None if found is None or found.awaitable else compact(found.type)


@pytest.mark.parametrize(
    "code",
    [
        "(await page())['rows'][0]['id']",
        "r = await page()\nr = r['rows']\nr = r[-1]\nr['id']",
        "import asyncio\nrs = await asyncio.gather(*(page() for _ in 'ab'))\nrs[0]['rows'][0]['id']",
        "import asyncio\na, b = await asyncio.gather(page(), free())\na['rows'][1]['id']",
        "import asyncio\nt = asyncio.create_task(page())\n(await t)['rows'][0]['id']",
        "sorted((await page())['rows'], key=len)[::-1][0]['id']",
        "[max(p['rows'], key=len) for p in [await page() for _ in 'ab']][0]['id']",
        "for i, row in enumerate((await page())['rows']): pass\nrow['id']",
        "p = await page()\nwhile p:\n    p = await page()\np['rows'][0]['id']",
    ],
)
def test_a_value_is_followed_from_its_call(code: str) -> None:
    assert origin(code) == "integer"


@pytest.mark.parametrize(
    "code",
    [
        "page()['rows']",
        "(await free())['rows']",
        "(await page())['other']",
        "def f(p): return p\nf(await page())['rows']",
        "all = []\nall.extend((await page())['rows'])\nall[0]['id']",
        "p = await page()\nif p:\n    p = {}\np['rows']",
        "p: dict = await page()\np['rows']",
        "out = {'a': await page()}\nout['a']['rows']",
        "for row, rest in (await page())['rows']: pass\nrow['id']",
    ],
)
def test_what_is_not_certain_is_unknown(code: str) -> None:
    assert origin(code) is None
