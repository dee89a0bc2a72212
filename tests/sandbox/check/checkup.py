"""A checker over tools that a test makes up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from halflap.catalog import Snapshot
from halflap.core.values import Tool
from halflap.sandbox.check.checker import Checker
from sandbox.check.room import Room

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox.check.finding import Checked

__all__ = ["TOOLS", "Checkup", "tool"]


def tool(name: str, takes: Mapping[str, Any], gives: Mapping[str, Any] | None = None) -> Tool:
    """Make a tool of the server `shop`."""
    return Tool(f"mcp__shop__{name}", "shop", name, f"Do {name}.", takes, gives, hash=name)


def _object(*required: str, closed: bool = False, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return made | ({"additionalProperties": False} if closed else {})


_TEXT, _WHOLE, _NUMBER, _FLAG = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))
_ROW = _object("order_id", "total", "status", closed=True, order_id=_TEXT, total=_NUMBER,
               status={"enum": ["open", "closed"]}, note={"type": ["string", "null"]})  # fmt: skip
_ORDERS = _object("orders", "has_more", orders={"type": "array", "items": _ROW}, has_more=_FLAG)
_TAGGED = {
    "oneOf": [
        _object("kind", "at", closed=True, kind={"const": "opened"}, at=_TEXT, by=_TEXT),
        _object("kind", "at", closed=True, kind={"const": "moved"}, at=_TEXT, old=_TEXT, new=_TEXT),
    ]
}

TOOLS = (
    tool("orders", _object("customer_id", customer_id=_TEXT, limit={"type": "integer", "default": 10},
                           status={"enum": ["open", "closed", "all"]}, ids={"type": "array", "items": _TEXT},
                           since={"type": ["string", "null"]}, exact=_FLAG, at_least=_NUMBER,
                           filter=_object(q=_TEXT)), _ORDERS),
    tool("summary", _object("year", year=_WHOLE), _object("totalRevenue", totalRevenue=_NUMBER, currency=_TEXT)),
    tool("closed", _object(), _object("name", "tags", closed=True, name=_TEXT, tags={"type": "array", "items": _TEXT},
                                      owner={"anyOf": [_object("id", id=_TEXT, closed=True), {"type": "null"}]})),
    tool("names", _object(), {"type": "object", "properties": {"result": {"type": "array", "items": _TEXT}}}),
    tool("prices", _object(), {"type": "object", "additionalProperties": _NUMBER}),
    tool("events", _object(), _object("events", events={"type": "array", "items": _TAGGED})),
    tool("mixed", _object(), _object("name", name=_TEXT) | {"additionalProperties": _WHOLE}),
    tool("either", _object(), {"anyOf": [{"type": "array", "items": _TEXT}, _object("items", items=_WHOLE)]}),
    tool("tree", _object(), {"$ref": "#/$defs/node", "$defs": {"node": _object(
        "id", "children", closed=True, id=_TEXT, children={"type": "array", "items": {"$ref": "#/$defs/node"}})}}),
    tool("anything", _object("q", q=_TEXT)),
    tool("odd", {"type": "object", "properties": {"from": _TEXT, "user-id": _TEXT, "n": _WHOLE},
                 "required": ["from", "user-id"]}),
    tool("free", {"type": "object", "additionalProperties": True}),
)  # fmt: skip
"""Tools that declare what they take and give in the ways that tools do."""


class Checkup:
    """Checks programs for tests."""

    def __init__(self, *tools: Tool) -> None:
        self.snapshot = Snapshot(tools={one.name: one for one in tools})
        self.configured = ("shop", "late")
        self.breached: set[str] = set()
        self._room = Room()

    def __enter__(self) -> Self:
        async def settle() -> None:
            """Return immediately: there are no servers to wait for."""

        self.checker = Checker(
            self._room.__enter__().examiner,
            seen_by=lambda _: cast("Any", self),
            settle=settle,
            is_breached=lambda one: one.name in self.breached,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._room.__exit__()

    def check(self, code: str) -> Checked:
        """Check a program."""
        checked: Checked = self._room.do(self.checker.check(code))
        return checked
