"""The functions of a generated program for steps that need more than a call: pages, parts of a whole, failures."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from halflap.graph.emit.syntax import Names, code, expr, function, load, refuse, shown
from halflap.graph.naming import phrase, words_of
from halflap.graph.paths import Path, path_text
from halflap.graph.types import form_of
from halflap.schema import fields_of, object_types
from halflap.schema.stub import is_name

if TYPE_CHECKING:
    from halflap.graph.emit.values import Values
    from halflap.graph.paging import Pages
    from halflap.graph.workflow import Task, Workflow

_FROM_ADDRESS = """
def from_address(address, name):
    for key, value in parse_qsl(urlsplit(address).query):
        if ''.join((one for one in key.lower() if one.isalnum())) in (name, 'page' + name):
            return value
    return None
"""
"""Extracts a parameter from the address of the next page."""
_CALL = """
RESULT = await CALL
CHECK
PAGES
REFUSE_PART
return RESULT
"""
_PAGES = """
items = ITEMS_OF_RESULT
BEFORE
while True:
    NEXT
    page = await CALL
    CHECK
    REFUSE_SAME
    items = ITEMS_OF_PAGE
    GROW
    RESULT = page
    AFTER
"""


class Functions:
    """Writes the calls of steps, and a function for each step that needs more than a call."""

    def __init__(self, workflow: Workflow, values: Values, names: Names) -> None:
        self._workflow = workflow
        self._values = values
        self._names = names
        self._from_address = names.make("from_address")
        self._reads_addresses = False
        self._own: dict[str, str] = {}
        """The function of each step that has one."""

    def call(self, task: Task, arguments: dict[str, ast.expr]) -> ast.expr:
        """Write the call of a step."""
        if task.paginates is None and not task.more and not self._may_fail(task):
            return _tool_call(task.ports.tool, arguments)
        if task.id not in self._own:
            stem = "get" if task.paginates is None else "all"
            self._own[task.id] = self._names.make(f"{stem}_{self._values.results[task.id]}")
        return ast.Call(load(self._own[task.id]), list(arguments.values()), [])

    def written(self) -> list[ast.stmt]:
        """Return all functions that the calls need."""
        made = [self._function(one) for one in self._workflow.tasks if one.id in self._own]
        before: list[ast.stmt] = []
        if self._reads_addresses:
            before = code(f"from urllib.parse import parse_qsl, urlsplit\n{_FROM_ADDRESS}")
            before[1].name = self._from_address  # type: ignore[attr-defined]
        return [*before, *made]

    def _function(self, task: Task) -> ast.stmt:
        names = self._names.inside(*self._own.values(), self._from_address)
        given = {one: names.make(one) for one in self._values.names_of(task)}
        arguments: dict[str, ast.expr] = {one: load(own) for one, own in given.items()}
        whole = names.make("result")
        pages = task.paginates
        body = code(
            _CALL,
            RESULT=whole,
            CALL=_tool_call(task.ports.tool, arguments),
            CHECK=self._check(task, whole),
            PAGES=[] if pages is None else self._all_pages(task, pages, whole, arguments, names),
            REFUSE_PART=self._refuse_part(task, whole),
        )
        return function(self._own[task.id], given.values(), body)

    # Failures

    def _may_fail(self, task: Task) -> bool:
        """Return whether anything is taken out of a result that may say that it failed; else it is printed as it is."""
        return _failure(task, "result") is not None and (
            task.paginates is not None
            or any(one.step == task.id for one in self._workflow.links())
            or any(one.step == task.id and one.path for one in self._workflow.wanted)
        )

    def _check(self, task: Task, result: str) -> list[ast.stmt]:
        """End the program where a result itself says that the call failed."""
        failed = _failure(task, result) if self._may_fail(task) else None
        if failed is None:
            return []
        template = """
if isinstance(RESULT, dict) and FAILED:
    raise ValueError(MESSAGE.format(RESULT.get('error') or RESULT.get('message')))
"""
        # Braces would be fields of the format.
        tool = shown(task.ports.tool).replace("{", "{{").replace("}", "}}")
        return code(template, RESULT=result, FAILED=failed, MESSAGE=ast.Constant(f"{tool} failed: {{}}"))

    # Pages

    def _all_pages(
        self, task: Task, pages: Pages, whole: str, arguments: Mapping[str, ast.expr], names: Names
    ) -> list[ast.stmt]:
        """Request page after page. The result is the last page, with the items of all pages."""
        own = {one: names.make(one) for one in ("page", "items", "cursor", "last", "number")} | {
            "RESULT": whole
        }
        tool = shown(task.ports.tool)
        main = pages.lists[0]
        before = after = value = ""
        if pages.by == "cursor":
            before, value = "last = None", "cursor"
        elif pages.by == "page":
            before, value, after = f"number = {pages.first}", "number + 1", "number += 1"
        elif pages.by == "offset":
            value = f"len(ALL) + {pages.first}" if pages.first else "len(ALL)"
        following = (
            expr(value, ALL=self._items(task, main, whole), **own) if value else self._last(task, pages, own)
        )
        same = expr("items and PAGE == items", PAGE=self._items(task, main, own["page"]), **own)
        if pages.by == "cursor":
            cursor = self._got(task, own["page"], pages.source)
            same = expr("SAME and CURSOR == last", SAME=same, CURSOR=cursor, **own)
        return code(
            _PAGES,
            **own,
            ITEMS_OF_RESULT=self._items(task, main, whole),
            BEFORE=code(before, **own),
            NEXT=self._next(task, pages, own),
            CALL=_tool_call(task.ports.tool, _with(arguments, pages.target, following)),
            CHECK=self._check(task, own["page"]),
            REFUSE_SAME=refuse(same, f"{tool} returned the same page twice."),
            ITEMS_OF_PAGE=self._items(task, main, own["page"]),
            GROW=[self._grow(task, path, whole, own["page"]) for path in pages.lists],
            AFTER=code(after, **own),
        )

    def _next(self, task: Task, pages: Pages, own: Mapping[str, str]) -> list[ast.stmt]:
        """Leave the loop after the last page."""
        if pages.tells == "nothing":
            return code("if not items:\n    break", **own)
        told = self._got(task, own["RESULT"], pages.source)
        if pages.by != "cursor":
            count = "len(ALL) >= (TOLD or 0)"
            ends: dict[str, str] = {
                "items": count,
                "pages": f"number - {pages.first} + 1 >= (TOLD or 0)",
                "done": "TOLD",
            }
            # An empty page is the last, whatever the first one promised.
            template = f"if not items or {ends.get(pages.tells, 'not TOLD')}:\n    break"
            return code(template, **own, TOLD=told, ALL=self._items(task, pages.lists[0], own["RESULT"]))
        made = code("cursor = CURSOR", **own, CURSOR=told)
        if pages.ends is not None:
            path, value = pages.ends
            ends_here = expr(
                "TOLD is END", TOLD=self._got(task, own["RESULT"], path), END=ast.Constant(value)
            )
            made += code("if END:\n    break", END=ends_here)
        # Some cursors stay the same until a page is empty.
        made += code("if not cursor or (cursor == last and not items):\n    break\nlast = cursor", **own)
        return made + self._resolve(task, pages, own) if pages.may_be_address else made

    def _last(self, task: Task, pages: Pages, own: Mapping[str, str]) -> ast.expr:
        """Write the id of the last item."""
        size = len(pages.lists[0]) + 1
        return self._values.read(expr("items[-1]", **own), task.id, pages.last[size:], pages.last[:size])

    def _resolve(self, task: Task, pages: Pages, own: Mapping[str, str]) -> list[ast.stmt]:
        """Extract the parameter from the address of the next page, if the cursor is one."""
        self._reads_addresses = True
        name = pages.target[-1].key
        slot = next(one for one in task.ports.slots if one.path == pages.target)
        is_number = slot.form.is_number
        template = f"""
if isinstance(cursor, str) and '?' in cursor:
    cursor = from_address(cursor, LETTERS)
    if cursor is None:
        raise ValueError(LACKS)
{"    cursor = int(cursor)" if is_number else ""}"""
        lacks = f"{shown(task.ports.tool)} gives an address for the next page without {shown(name)}."
        letters = "".join(one for one in name.lower() if one.isalnum())
        return code(
            template,
            **own,
            from_address=self._from_address,
            LETTERS=ast.Constant(letters),
            LACKS=ast.Constant(lacks),
        )

    def _grow(self, task: Task, path: Path, whole: str, page: str) -> ast.stmt:
        """Put the items so far before those of a page."""
        target: ast.expr = load(page)
        for step in path:
            target = ast.Subscript(target, ast.Constant(step.key), ast.Load())
        if isinstance(target, ast.Subscript | ast.Name):
            target.ctx = ast.Store()
        so_far, new = self._items(task, path, whole), self._items(task, path, page)
        return ast.Assign([target], expr("SO_FAR + NEW", SO_FAR=so_far, NEW=new))

    def _refuse_part(self, task: Task, whole: str) -> list[ast.stmt]:
        """Report an incomplete result."""
        tool = shown(task.ports.tool)
        says = {"done": "TOLD is False", "items": "len(ITEMS) < (TOLD or 0)"}
        made: list[ast.stmt] = []
        for one in task.more:
            condition = expr(
                says.get(one.tells, "TOLD"),
                ITEMS=self._items(task, one.array, whole),
                TOLD=self._got(task, whole, one.path),
            )
            message = f"{tool} says by {shown(path_text(one.path))} that there is more than it returned."
            made += refuse(condition, message)
        return made

    def _got(self, task: Task, value: str, path: Path) -> ast.expr:
        """Read a path of a page that may be missing there: the last page may lack what others have."""
        inner = self._values.read(load(value), task.id, path[:-1], empty="{}")
        return expr("VALUE.get(KEY)", VALUE=inner, KEY=ast.Constant(path[-1].key))

    def _items(self, task: Task, path: Path, value: str) -> ast.expr:
        return self._values.read(load(value), task.id, path, empty="[]")


def _failure(task: Task, result: str) -> ast.expr | None:
    """Write the condition that a result says that the call failed: by a key that is false, or an error."""
    found: list[ast.expr] = []
    kind = task.ports.result
    for one in () if kind is None else fields_of(object_types(kind)):
        said, form = phrase(words_of(one.name)), form_of(one.type)
        key = ast.Constant(one.name)
        if said in {"success", "ok"} and form.is_boolean:
            found.append(expr("RESULT.get(KEY) is False", RESULT=result, KEY=key))
        elif said == "error" and form.kinds and not form.kinds & {"integer", "number"}:
            found.append(expr("RESULT.get(KEY)", RESULT=result, KEY=key))
    return ast.BoolOp(ast.Or(), found) if len(found) > 1 else found[0] if found else None


def _tool_call(tool: str, arguments: Mapping[str, ast.expr]) -> ast.expr:
    """Write the call of a tool, whatever it and its parameters are called."""
    named = [ast.keyword(name, value) for name, value in arguments.items() if is_name(name)]
    odd = {name: value for name, value in arguments.items() if not is_name(name)}
    if odd:
        named.append(ast.keyword(None, ast.Dict([ast.Constant(one) for one in odd], list(odd.values()))))
    if is_name(tool) and tool not in Names.OWN:
        return ast.Call(load(tool), [], named)
    return ast.Call(load("call_tool"), [ast.Constant(tool)], named)


def _with(arguments: Mapping[str, ast.expr], target: Path, value: ast.expr) -> dict[str, ast.expr]:
    """Return arguments with a value at a slot; in an object, beside what that has."""
    name = target[0].key
    if len(target) == 1:
        return {**arguments, name: value}
    known = arguments.get(name)
    keys: list[ast.expr | None] = [*([None] if known is not None else []), ast.Constant(target[1].key)]
    return {**arguments, name: ast.Dict(keys, [*([known] if known is not None else []), value])}
