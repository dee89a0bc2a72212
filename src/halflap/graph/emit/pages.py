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
    from halflap.graph.emit.arguments import Arguments
    from halflap.graph.emit.loops import Loops
    from halflap.graph.paging import Pages
    from halflap.graph.ports import Ports
    from halflap.graph.workflow import Task, Workflow

__all__ = ["Functions"]

_MAX_PAGES = 200
_FROM_ADDRESS = """
def from_address(address, name):
    for part in address.partition('?')[2].partition('#')[0].split('&'):
        key, _, value = part.partition('=')
        letters = ''.join((one for one in decoded(key).lower() if one.isalnum()))
        if letters in (name, 'page' + name):
            return decoded(value)
    return None

def decoded(text):
    first, *rest = text.replace('+', ' ').split('%')
    data = first.encode()
    for part in rest:
        try:
            data += bytes.fromhex(part[:2] or '%') + part[2:].encode()
        except ValueError:
            data += ('%' + part).encode()
    return data.decode('utf-8', 'replace')
"""
"""Reads a parameter out of the address of the next page; programs have no library for it."""
_REFUSE_FAILURE = """
def refuse_failure(tool, result, flags, errors):
    if isinstance(result, dict) and (any((result.get(one) is False for one in flags)) or any((result.get(one) for one in errors))):
        reason = result.get('error') or result.get('errors') or result.get('message') or 'no reason given'
        if isinstance(reason, dict):
            reason = reason.get('message') or reason
        raise ValueError('{} failed: {}'.format(tool, reason))
"""
_PAGES = """
items = ITEMS_OF_WHOLE
BEFORE
for turn in range(max_pages):
    NEXT
    page = await CALL
    CHECK
    REFUSE_SAME
    items = ITEMS_OF_PAGE
    GROW
    result = page
else:
    raise ValueError(TOO_MANY)
"""


class Functions:
    """Writes the calls of steps, and a function for each step that needs more than a call."""

    def __init__(self, workflow: Workflow, loops: Loops, names: Names, arguments: Arguments) -> None:
        self._workflow = workflow
        self._loops = loops
        self._names = names
        self._arguments = arguments
        shared = ("max_pages", "from_address", "decoded", "refuse_failure")
        self._shared = {one: names.make(one) for one in shared}
        """What functions of several steps use, and its name in this program."""
        self._used: set[str] = set()
        self._own: dict[str, str] = {}
        """The function of each step that has one."""

    def call(self, task: Task, arguments: dict[str, ast.expr]) -> ast.expr:
        """Write the call of a step."""
        if task.paginates is None and not task.more and not self._may_fail(task):
            return _tool_call(task.ports.tool, arguments)
        if task.id not in self._own:
            name = self._loops.results[task.id].removesuffix("_results")
            self._own[task.id] = self._names.make(f"{'get' if task.paginates is None else 'all'}_{name}")
        return ast.Call(load(self._own[task.id]), list(arguments.values()), [])

    def written(self) -> list[ast.stmt]:
        """Return all functions that the calls need, and what those need."""
        made = [self._function(one) for one in self._workflow.tasks if one.id in self._own]
        before: list[ast.stmt] = []
        if "max_pages" in self._used:
            before += code(
                "MAX_PAGES = LIMIT", MAX_PAGES=self._shared["max_pages"], LIMIT=ast.Constant(_MAX_PAGES)
            )
        if "from_address" in self._used:
            before += code(_FROM_ADDRESS, **self._shared)
        if "refuse_failure" in self._used:
            before += code(_REFUSE_FAILURE, **self._shared)
        for one in before:
            if isinstance(one, ast.FunctionDef):
                one.name = self._shared[one.name]
        return [*before, *made]

    def _may_fail(self, task: Task) -> bool:
        """Return whether anything is taken out of a result that may say that it failed; else it is printed as it is."""
        return bool(_signs(task.ports)) and (
            task.paginates is not None
            or any(one.step == task.id for one in self._workflow.links())
            or any(one.step == task.id and one.path for one in self._workflow.wanted)
        )

    def _function(self, task: Task) -> ast.stmt:
        names = self._names.inside(*self._own.values(), *self._shared.values())
        given = {one: names.make(one) for one in self._arguments.names(task)}
        arguments: dict[str, ast.expr] = {one: load(own) for one, own in given.items()}
        whole = names.make("result")
        pages = (
            [] if task.paginates is None else self._all_pages(task, task.paginates, whole, arguments, names)
        )
        body = code(
            "RESULT = await CALL\nCHECK\nPAGES\nREFUSE_PART\nreturn RESULT",
            RESULT=whole,
            CALL=_tool_call(task.ports.tool, arguments),
            CHECK=self._check(task, whole),
            PAGES=pages,
            REFUSE_PART=self._refuse_part(task, whole),
        )
        return function(self._own[task.id], given.values(), body)

    def _check(self, task: Task, result: str) -> list[ast.stmt]:
        """End the program where a result itself says that the call failed."""
        if not self._may_fail(task):
            return []
        self._used.add("refuse_failure")

        def keys(kind: str) -> ast.expr:
            return ast.List(
                [ast.Constant(name) for one, name in _signs(task.ports) if one == kind], ast.Load()
            )

        return code(
            "REFUSE(TOOL, RESULT, FLAGS, ERRORS)",
            REFUSE=self._shared["refuse_failure"],
            TOOL=ast.Constant(shown(task.ports.tool)),
            RESULT=result,
            FLAGS=keys("false"),
            ERRORS=keys("error"),
        )

    def _all_pages(
        self, task: Task, pages: Pages, whole: str, arguments: Mapping[str, ast.expr], names: Names
    ) -> list[ast.stmt]:
        """Ask for one page after the other. The last page becomes the result, with the items of all of them."""
        self._used.add("max_pages")
        own = {one: names.make(one) for one in ("page", "turn", "items", "cursor", "seen")}
        own |= {"result": whole, "max_pages": self._shared["max_pages"]}
        tool = shown(task.ports.tool)
        by_cursor = pages.by == "cursor"
        value = load(own["cursor"]) if by_cursor else self._next_number(task, pages, own)
        same = expr("PAGE == items", PAGE=self._items(task, pages.lists[0], own["page"]), **own)
        return code(
            _PAGES,
            **own,
            ITEMS_OF_WHOLE=self._items(task, pages.lists[0], whole),
            BEFORE=code("seen = []", **own) if by_cursor else [],
            NEXT=self._find_cursor(task, pages, own) if by_cursor else self._break_at_end(task, pages, own),
            CALL=_tool_call(task.ports.tool, _with(arguments, pages.target, value)),
            CHECK=self._check(task, own["page"]),
            REFUSE_SAME=[] if by_cursor else refuse(same, f"{tool} returned the same page twice."),
            ITEMS_OF_PAGE=self._items(task, pages.lists[0], own["page"]),
            GROW=[one for path in pages.lists for one in self._grow(task, path, whole, own["page"])],
            TOO_MANY=ast.Constant(f"{tool} has more pages than {own['max_pages']} allows."),
        )

    def _break_at_end(self, task: Task, pages: Pages, own: Mapping[str, str]) -> list[ast.stmt]:
        ends = {"items": "len(ITEMS) >= (TOLD or 0)", "pages": "turn + 1 >= (TOLD or 0)", "done": "TOLD"}
        # An empty page is the last, whatever the first one promised.
        return code(
            f"if {ends.get(pages.tells, 'not TOLD')}:\n    break\nif not items:\n    break",
            **own,
            ITEMS=self._items(task, pages.lists[0], own["result"]),
            TOLD=self._got(task, own["result"], pages.source),
        )

    def _next_number(self, task: Task, pages: Pages, own: Mapping[str, str]) -> ast.expr:
        """Write what the call for the next page takes, where that is not a cursor."""
        if pages.by == "last":
            size = len(pages.lists[0]) + 1
            return self._loops.presence[task.id].read(
                expr("items[-1]", **own), pages.last[size:], pages.last[:size]
            )
        start = "turn + 1" if pages.by == "page" else "len(ITEMS)"
        items = self._items(task, pages.lists[0], own["result"])
        first = f" + {pages.first}" if pages.first else ""
        return expr(f"{start}{first}", **own, ITEMS=items)

    def _find_cursor(self, task: Task, pages: Pages, own: Mapping[str, str]) -> list[ast.stmt]:
        ends = "not cursor" if pages.ends is None else "not cursor or TOLD is LAST"
        path, last = pages.ends or ((), None)
        again = """
if cursor in seen:
    if items:
        raise ValueError(SAME)
    break
"""
        if "scroll" in words_of(pages.source[-1].key):
            # The same cursor leads from page to page, until one is empty.
            again = "if not items:\n    break"
        return code(
            f"cursor = CURSOR\nif {ends}:\n    break\nRESOLVE\n{again}\nseen.append(cursor)",
            **own,
            CURSOR=self._got(task, own["result"], pages.source),
            TOLD=self._got(task, own["result"], path) if path else load("None"),
            LAST=ast.Constant(last),
            RESOLVE=self._resolve(task, pages, own) if pages.may_be_address else [],
            SAME=ast.Constant(f"{shown(task.ports.tool)} returned the same cursor twice."),
        )

    def _resolve(self, task: Task, pages: Pages, own: Mapping[str, str]) -> list[ast.stmt]:
        """Take the parameter out of the address of the next page, where the cursor is one."""
        self._used.add("from_address")
        name = pages.target[-1].key
        slot = next(one for one in task.ports.slots if one.path == pages.target)
        template = """
if isinstance(cursor, str) and '?' in cursor:
    cursor = from_address(cursor, LETTERS)
    if cursor is None:
        raise ValueError(LACKS)
"""
        if form_of(slot.type).is_number:
            template += "    cursor = int(cursor)\n"
        lacks = f"{shown(task.ports.tool)} gives an address for the next page without {shown(name)}."
        return code(
            template,
            **own,
            from_address=self._shared["from_address"],
            LETTERS=ast.Constant("".join(one for one in name.lower() if one.isalnum())),
            LACKS=ast.Constant(lacks),
        )

    def _grow(self, task: Task, path: Path, whole: str, page: str) -> list[ast.stmt]:
        """Put the items so far before those of a page."""
        added = expr("SO_FAR + NEW", SO_FAR=self._items(task, path, whole), NEW=self._items(task, path, page))
        if not path:
            return code("PAGE = ADDED", PAGE=page, ADDED=added)
        presence = self._loops.presence[task.id]
        made: list[ast.stmt] = []
        for size in range(1, len(path)):
            if not presence.is_sure(path[:size]):
                absent = expr("HOLDER is None", HOLDER=self._got(task, page, path[:size]))
                made.append(ast.If(absent, [put(page, path[:size], ast.Dict([], []))], []))
        return [*made, put(page, path, added)]

    def _refuse_part(self, task: Task, whole: str) -> list[ast.stmt]:
        """Report that a result says that there is more."""
        tool = shown(task.ports.tool)
        says = {"done": "TOLD is False", "total": "COUNT < (TOLD or 0)", "full": "COUNT >= SIZE"}
        made: list[ast.stmt] = []
        for one in task.more:
            condition = expr(
                says.get(one.kind, "TOLD"),
                COUNT=expr("len(ITEMS)", ITEMS=self._items(task, one.array, whole)),
                SIZE=ast.Constant(one.size),
                TOLD=load(whole) if one.kind == "full" else self._got(task, whole, one.path),
            )
            message = f"{tool} says by {shown(path_text(one.path))} that there is more than it returned."
            if one.kind == "full":
                message = f"{tool} returned {one.size} items, as many as its {shown(one.limit)} allows: there may be more."
            made += refuse(condition, message)
        return made

    def _got(self, task: Task, value: str, path: Path) -> ast.expr:
        """Read a path of a page that may be missing there: the last page may lack what others have."""
        presence = self._loops.presence[task.id]
        inner = presence.read(load(value), path[:-1], empty=ast.Dict([], []))
        return expr("VALUE.get(KEY)", VALUE=inner, KEY=ast.Constant(path[-1].key))

    def _items(self, task: Task, path: Path, value: str) -> ast.expr:
        return self._loops.presence[task.id].read(load(value), path, empty=expr("[]"))


def _signs(ports: Ports) -> list[tuple[str, str]]:
    """Return the keys of a result that tell that the call failed: one that is false, or an error."""
    found = []
    for one in () if ports.result is None else fields_of(object_types(ports.result)):
        said, form = phrase(words_of(one.name)), form_of(one.type)
        if said in {"success", "ok"} and form.is_boolean:
            found.append(("false", one.name))
        elif said == "error" and form.kinds and not form.kinds & {"integer", "number"}:
            found.append(("error", one.name))
    return found


def put(name: str, path: Path, value: ast.expr) -> ast.stmt:
    """Set the value at a path, where everything around it is there."""
    holder = load(name)
    for step in path[:-1]:
        holder = ast.Subscript(holder, ast.Constant(step.key), ast.Load())
    return ast.Assign([ast.Subscript(holder, ast.Constant(path[-1].key), ast.Store())], value)


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
