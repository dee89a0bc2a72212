"""What a specification says and a net can't: kept as it is written, named in notes, and put back where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.net import Kept
from halflap.workflows.yawl.xml import Element, Markup, compact, nodes_of, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from halflap.workflows.yawl.xml import Node

__all__ = [
    "OF_FLOW",
    "OF_NET",
    "OF_TASK",
    "Store",
    "flow_key",
    "in_order",
    "keep_rest",
    "net_attributes",
    "noted",
    "own_name",
    "parted",
    "set_attributes",
]

_MOST_NAMED = 8
_SPACE = "http://www.yawlfoundation.org/yawlschema"
_TYPES = "http://www.w3.org/2001/XMLSchema-instance"

OF_NET = (
    "name",
    "documentation",
    "inputParam",
    "outputExpression",
    "outputParam",
    "logPredicate",
    "localVariable",
    "processControlElements",
    "externalDataGateway",
    "extendedAttributes",
)
OF_TASK = (
    "name",
    "documentation",
    "flowsInto",
    "join",
    "split",
    "defaultConfiguration",
    "configuration",
    "removesTokens",
    "removesTokensFromFlow",
    "startingMappings",
    "completedMappings",
    "enablementMappings",
    "timer",
    "resourcing",
    "customForm",
    "decomposesTo",
    "minimum",
    "maximum",
    "threshold",
    "creationMode",
    "miDataInput",
    "miDataOutput",
    "extendedAttributes",
)
OF_FLOW = (
    "nextElementRef",
    "predicate",
    "predicateOrdering",
    "isDefaultFlow",
    "documentation",
    "extendedAttributes",
)
"""The order of children, as the schemas have it."""

_TOPICS = {
    "decomposesTo": "decompositions",
    "removesTokens": "cancellation sets",
    "removesTokensFromFlow": "cancellation sets",
    "timer": "timers",
    "resourcing": "resourcing",
    "startingMappings": "data mappings",
    "completedMappings": "data mappings",
    "enablementMappings": "data mappings",
    "minimum": "multiple instances",
    "maximum": "multiple instances",
    "threshold": "multiple instances",
    "creationMode": "multiple instances",
    "miDataInput": "multiple instances",
    "miDataOutput": "multiple instances",
    "customForm": "forms",
    "configuration": "configurations",
    "defaultConfiguration": "configurations",
    "documentation": "documentation",
    "localVariable": "variables",
    "inputParam": "variables",
    "outputParam": "variables",
    "outputExpression": "variables",
    "@joins": "gates of conditions",
    "@splits": "gates of conditions",
    "extendedAttributes": "extended attributes of others",
    "decomposition": "decompositions",
    "#comment": "comments",
    "#before": "comments",
    "#after": "comments",
    "#text": "text between elements",
}
_SILENT = {
    "#prefix",
    "#model",
    "#joins",
    "#splits",
    "inputConditionRef",
    "outputConditionRef",
    "#element",
    "#control",
    "#net",
    "predicate",
    "isDefaultFlow",
    "predicateOrdering",
    "name",
}
"""How something is written, or told in a note of its own."""
_MARKUP = {"#comment", "#before", "#after"}
_OF_CONTROL = {"cancellation sets", "timers", "multiple instances", "gates of conditions"}


def set_attributes(version: str) -> dict[str, str]:
    """Give the attributes of a `specificationSet` that nobody else has written."""
    return {
        "xmlns": _SPACE,
        "xmlns:xsi": _TYPES,
        "version": version,
        "xsi:schemaLocation": f"{_SPACE} {_SPACE}/YAWL_Schema{version}.xsd",
    }


def net_attributes(*, root: bool, typed: bool) -> dict[str, str]:
    """Give the attributes of a net that nobody else has written; `typed` where the prefix xsi is declared above it."""
    return {
        **({"isRootNet": "true"} if root else {}),
        **({} if typed else {"xmlns:xsi": _TYPES}),
        "xsi:type": "NetFactsType",
    }


def flow_key(source: str, target: str) -> str:
    """Give the place of what is kept of a flow."""
    return f"{source} -> {target}"


def keep_rest(
    element: Element,
    at: str,
    attributes: Collection[str] = (),
    children: Collection[str] = (),
    *,
    prefix: str = "",
    order: Sequence[str] | None = (),
) -> list[Kept]:
    """Keep all of an element but what is understood of it: in its order, or in the order of the schema."""
    found = [Kept(at, f"@{key}", value) for key, value in element.attributes.items() if key not in attributes]
    listed = element.children if order is None else in_order(element.children, order, prefix)
    for child in listed:
        if isinstance(child, Markup):
            found.append(Kept(at, "#comment", child.text))
        elif isinstance(child, str):
            if child.strip():
                found.append(Kept(at, "#text", child))
        elif own_name(child, prefix) not in children:
            found.append(Kept(at, own_name(child, prefix) or child.name, compact(child)))
    return found


def _plain(one: Kept) -> bool:
    """Tell whether it is neither XML nor of XML, such as what a suggestion does and a net has no word for."""
    return not one.name.startswith(("@", "#")) and not one.text.lstrip().startswith("<")


def _agrees(one: Kept, prefix: str) -> bool:
    """Tell whether the text is the element that the name says, so that it is read as the same; what is broken is told later."""
    if one.name.startswith(("@", "#")):
        return True
    try:
        found = nodes_of(one.text)
    except WorkflowError:
        return True
    name = one.name.removeprefix("processControlElements/")
    return len(found) == 1 and isinstance(found[0], Element) and found[0].name in {name, f"{prefix}{name}"}


def parted(
    kept: Iterable[Kept], places: Collection[str], marks: Collection[str], prefix: str = ""
) -> tuple[list[Kept], list[Kept]]:
    """Part what can be put back where it was from what can only be carried along: of no place there, no XML, or another name."""
    back: list[Kept] = []
    along: list[Kept] = []
    for one in kept:
        known = not one.name.startswith("#") or one.name in marks
        fits = one.at in places and known and not _plain(one) and _agrees(one, prefix)
        (back if fits else along).append(one)
    return back, along


def own_name(element: Element, prefix: str) -> str | None:
    """Give the name of an element of YAWL, without its prefix; None for one of another vocabulary."""
    name = element.name.removeprefix(prefix)
    return name if element.name.startswith(prefix) and ":" not in name else None


def _read(kept: Kept) -> tuple[Node, ...]:
    """Read what was kept: it may have been through hands that changed it, so it is never just put back."""
    try:
        found = nodes_of(kept.text)
    except WorkflowError as error:
        raise _broken(kept, error.problems[0].message) from error
    if kept.name in _MARKUP and not all(isinstance(one, Markup) for one in found):
        raise _broken(kept, "it is no comment.")
    return found


def _broken(kept: Kept, why: str) -> WorkflowError:
    of = f" of {kept.at!r}" if kept.at else ""
    return WorkflowError(
        [("kept", f"What was kept as {kept.name!r}{of} cannot be put back: {why}")],
        "The workflow cannot be written as XML.",
    )


class Store:
    """What was kept, by place, to be put back."""

    def __init__(self, kept: Iterable[Kept]) -> None:
        self._by_place: dict[str, list[Kept]] = {}
        for one in kept:
            self._by_place.setdefault(one.at, []).append(one)

    def at(self, place: str) -> Sequence[Kept]:
        """Give all that was kept of a place."""
        return self._by_place.get(place, ())

    def text(self, place: str, name: str) -> str | None:
        """Give the text of one thing that was kept, if it was."""
        return next((one.text for one in self.at(place) if one.name == name), None)

    def element(self, place: str, name: str) -> Element | None:
        """Give one thing that was kept as an element, if it was."""
        kept = next((one for one in self.at(place) if one.name == name), None)
        found = () if kept is None else _read(kept)
        return next((one for one in found if isinstance(one, Element)), None)

    def markup(self, name: str) -> tuple[Markup, ...]:
        """Give the comments before or after the whole."""
        return tuple(
            node for one in self.at("") if one.name == name for node in _read(one) if isinstance(node, Markup)
        )

    def foreign(self, place: str) -> Element | None:
        """Give the extended attributes of others, all in one element."""
        found = [
            node
            for one in self.at(place)
            if one.name == "extendedAttributes"
            for node in _read(one)
            if isinstance(node, Element)
        ]
        if not found:
            return None
        attributes = {key: value for one in found for key, value in one.attributes.items()}
        return Element(found[0].name, attributes, tuple(child for one in found for child in one.children))

    def attributes(self, place: str) -> dict[str, str]:
        """Give the attributes that were kept of a place."""
        return {one.name[1:]: one.text for one in self.at(place) if one.name.startswith("@")}

    def nodes(self, place: str, without: Collection[str] = ()) -> list[Node]:
        """Give what else was kept of a place, comments and text first."""
        first: list[Node] = []
        rest: list[Node] = []
        for one in self.at(place):
            if one.name.startswith("@") or one.name in without:
                continue
            if one.name == "#text":
                first.append(one.text)
            elif one.name == "#comment":
                first += _read(one)
            elif not one.name.startswith("#"):
                rest += _read(one)
        return [*first, *rest]


def in_order(nodes: Iterable[Node], order: Sequence[str], prefix: str) -> tuple[Node, ...]:
    """Put children into the order of the schema; what it does not know comes last, comments and text first."""
    ranks = {f"{prefix}{name}": at for at, name in enumerate(order)}
    return tuple(
        sorted(nodes, key=lambda one: ranks.get(one.name, len(ranks)) if isinstance(one, Element) else -1)
    )


def noted(kept: Iterable[Kept], subnets: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Name what was kept, each topic once with the places where it stands."""
    places: dict[str, dict[str, None]] = {}
    for one in kept:
        if one.name in _SILENT or (one.name.startswith("@") and one.name not in _TOPICS) or _plain(one):
            continue
        if one.name == "decomposesTo" and any(one.at == task for task, _ in subnets):
            continue
        topic = _TOPICS.get(one.name, f"<{stem(one.name)}>")
        places.setdefault(topic, {})[one.at] = None
    notes = [f"{task!r} stands for the net {net!r}, which is not looked into." for task, net in subnets]
    for topic, listed in sorted(places.items()):
        of = [repr(place) for place in listed if place not in {"", "specification", "model"}]
        shown = ", ".join(of[:_MOST_NAMED]) + (
            f" and {len(of) - _MOST_NAMED} more" if len(of) > _MOST_NAMED else ""
        )
        where = f" of {shown}" if of else ""
        then = " They change what can happen; behaviour is told as if they were not there." * (
            topic in _OF_CONTROL
        )
        notes.append(f"Kept, and not part of the model: {topic}{where}.{then}")
    return notes
