"""What YAWL has no element for, and how it travels there: in `extendedAttributes`, each value as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.workflows.fields import Reader
from halflap.workflows.yawl.xml import Element, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.yawl.xml import Node

__all__ = ["OF_CONDITIONS", "OF_FLOWS", "OF_NETS", "OF_TASKS", "extended", "read_extended"]

OF_TASKS = (
    "label",
    "duration",
    "cost",
    "reads",
    "writes",
    "resource",
    "idempotent",
    "tool",
    "arguments",
    "limit",
    "each",
)
OF_FLOWS = ("predicate", "probability", "default", "order")
OF_CONDITIONS = ("label",)
OF_NETS = ("label", "rules")


def read_extended(elements: Iterable[Element], known: Iterable[str]) -> tuple[dict[str, Any], Element | None]:
    """Give the values that are ours, and an element with the rest, if there is any: somebody else's, or broken."""
    found: dict[str, Any] = {}
    rest: list[Node] = []
    attributes: dict[str, str] = {}
    name = ""
    for element in elements:
        name = name or element.name
        attributes |= element.attributes
        for child in element.children:
            pair = _pair(child, set(known)) if isinstance(child, Element) else None
            if pair is not None and pair[0] not in found:
                found[pair[0]] = pair[1]
            elif not isinstance(child, str) or child.strip():
                rest.append(child)
    return found, Element(name, attributes, tuple(rest)) if rest or attributes else None


def _pair(child: Element, known: set[str]) -> tuple[str, Any] | None:
    key = child.attributes.get("key")
    if stem(child.name) != "attribute" or key not in known or set(child.attributes) != {"key", "value"}:
        return None
    if child.children or key is None:
        return None
    try:
        value = json.loads(child.attributes["value"])
    except (ValueError, RecursionError):
        return None
    return (key, value) if key == "rules" or _fits(key, value) else None


def _fits(key: str, value: Any) -> bool:
    reader, one = Reader(), {key: value}
    match key:
        case "label":
            reader.text(one, key, "", null=True)
        case "duration" | "cost":
            reader.number(one, key, "")
        case "probability":
            reader.number(one, key, "", most=1)
        case "reads" | "writes":
            reader.names(one, key, "")
        case "idempotent" | "default":
            reader.boolean(one, key, "")
        case "arguments":
            reader.mapping(one, key, "")
        case "each":
            reader.items(one, key, "")
        case "limit" | "order":
            reader.whole(one, key, "", least=1 if key == "limit" else None)
        case "predicate":
            reader.predicate(one, key, "")
        case _:
            reader.text(one, key, "")
    return not reader.problems


def extended(values: Mapping[str, Any], rest: Element | None, prefix: str) -> list[Element]:
    """Write values, and beside them what was there of others; nothing at all is no element."""
    own = [
        Element(
            f"{prefix}attribute", {"key": key, "value": json.dumps(value, ensure_ascii=True, sort_keys=True)}
        )
        for key, value in values.items()
    ]
    if not own and rest is None:
        return []
    attributes = {} if rest is None else rest.attributes
    return [
        Element(f"{prefix}extendedAttributes", attributes, (*own, *(() if rest is None else rest.children)))
    ]
