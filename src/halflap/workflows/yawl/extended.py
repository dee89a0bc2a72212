"""What YAWL has no element for, and how it travels there: in `extendedAttributes`, each value as JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.fields import Reader
from halflap.workflows.form import read_kept
from halflap.workflows.rule_form import read_rules
from halflap.workflows.source import parse_source
from halflap.workflows.yawl.xml import Element, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from halflap.workflows.yawl.xml import Node

__all__ = [
    "OF_CONDITIONS",
    "OF_FLOWS",
    "OF_NETS",
    "OF_SPECIFICATIONS",
    "OF_TASKS",
    "extended",
    "not_read",
    "of_set",
    "read_extended",
]

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
OF_NETS = ("label", "rules", "flows", "kept", "notes")
OF_SPECIFICATIONS = ("id", "root", "version", "kept", "notes")
_PAIR = 2


def of_set(*, plain: bool) -> tuple[str, ...]:
    """Give what can be said of a `specificationSet`: its version only where nobody else has written one."""
    return ("version", "kept", "notes") if plain else ("kept", "notes")


def read_extended(
    elements: Iterable[Element], known: Collection[str], nodes: Collection[str] = ()
) -> tuple[dict[str, Any], Element | None]:
    """Give the values that are ours, and an element with the rest, if there is any: somebody else's, or broken.

    Rules are over `nodes`.
    """
    found: dict[str, Any] = {}
    rest: list[Node] = []
    attributes: dict[str, str] = {}
    name = ""
    for element in elements:
        name = name or element.name
        attributes |= element.attributes
        for child in element.children:
            key = _key(child, known)
            if key is not None and key not in found:
                value, problem = _value(key, child, nodes)
                if problem is None:
                    found[key] = value
                    continue
            if not isinstance(child, str) or child.strip():
                rest.append(child)
    return found, Element(name, attributes, tuple(rest)) if rest or attributes else None


def not_read(
    rest: Element, known: Collection[str], nodes: Collection[str]
) -> tuple[list[tuple[str, str, str]], bool]:
    """Of what was left over, give key, value and reason of each that could be ours; and whether there is more than those."""
    found: list[tuple[str, str, str]] = []
    for child in rest.children:
        key = _key(child, known)
        if key is not None and isinstance(child, Element):
            problem = _value(key, child, nodes)[1] or "There is another before it, which counts."
            found.append((key, child.attributes["value"], problem))
    return found, len(found) < len(rest.children) or bool(rest.attributes)


def _key(child: Node, known: Collection[str]) -> str | None:
    """Give the key of an attribute that is written like one of ours."""
    if not isinstance(child, Element) or child.children or stem(child.name) != "attribute":
        return None
    key = child.attributes.get("key")
    return key if key in known and set(child.attributes) == {"key", "value"} else None


def _value(key: str, child: Node, nodes: Collection[str]) -> tuple[Any, str | None]:
    """Give the value of an attribute of ours, or what is wrong with it."""
    assert isinstance(child, Element)
    try:
        value = parse_source(child.attributes["value"])
    except WorkflowError:
        return None, "It is no JSON; a text, say, stands in quotes."
    reader = Reader()
    read = _read(reader, key, value, nodes)
    return read, next(
        (f"{one.path}: {one.message}" if one.path != key else one.message for one in reader.problems), None
    )


def _pairs(reader: Reader, one: Mapping[str, Any], key: str, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for pair in reader.list(one, key, path):
        if isinstance(pair, list) and len(pair) == _PAIR and all(isinstance(end, str) for end in pair):
            found.append((pair[0], pair[1]))
        else:
            reader.add(key, "Expected pairs of ids, from and to.")
    return found


_READERS: Mapping[str, Callable[..., Any]] = {
    "label": partial(Reader.text, null=True),
    "duration": Reader.number,
    "cost": Reader.number,
    "probability": partial(Reader.number, most=1),
    "reads": Reader.names,
    "writes": Reader.names,
    "notes": Reader.texts,
    "idempotent": Reader.boolean,
    "default": Reader.boolean,
    "arguments": Reader.mapping,
    "each": Reader.items,
    "limit": partial(Reader.whole, least=1),
    "order": Reader.whole,
    "predicate": Reader.predicate,
    "flows": _pairs,
}


def _read(reader: Reader, key: str, value: Any, nodes: Collection[str]) -> Any:
    one = {key: value}
    if key == "rules":
        return read_rules(reader, one, "", nodes)
    if key == "kept":
        return read_kept(reader, one, "")
    read: Callable[..., Any] = _READERS.get(key, Reader.text)
    return read(reader, one, key, "")


def extended(values: Mapping[str, Any], rest: Element | None, prefix: str) -> list[Element]:
    """Write values, and beside them what was there of others; no key twice, and nothing at all is no element."""
    own = [
        Element(
            f"{prefix}attribute", {"key": key, "value": json.dumps(value, ensure_ascii=True, sort_keys=True)}
        )
        for key, value in values.items()
    ]
    if not own and rest is None:
        return []
    attributes = {} if rest is None else rest.attributes
    others = [] if rest is None else [one for one in rest.children if _key(one, values) is None]
    return [Element(f"{prefix}extendedAttributes", attributes, (*own, *others))]
