"""Nets written as a specification of the YAWL schemas, with everything that was kept put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.workflows.form import write_kept
from halflap.workflows.predicates import parse, to_xpath
from halflap.workflows.rule_form import write_rule
from halflap.workflows.yawl.extended import extended
from halflap.workflows.yawl.keeping import (
    OF_FLOW,
    OF_NET,
    OF_TASK,
    Store,
    flow_key,
    in_order,
    net_attributes,
    parted,
    set_attributes,
)
from halflap.workflows.yawl.noting import notes_of, specification_notes, told, unlike
from halflap.workflows.yawl.xml import Document, Element

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.workflows.net import Flow, Kept, Net, Task
    from halflap.workflows.specification import Specification
    from halflap.workflows.yawl.xml import Node

__all__ = ["along_with", "label_of", "listed_order", "places_of", "spaced", "task_values", "write_set"]

_MARKS = {"#comment", "#text"}


def write_set(specification: Specification) -> Document:
    """Write a specification as a `specificationSet`."""
    prefix = Store(specification.kept).text("", "#prefix") or ""
    marks = {*_MARKS, "#before", "#after", "#prefix", "#net"}
    back, along = parted(specification.kept, {"", "specification"}, marks, prefix)
    store = Store(back)
    version = specification.version
    attributes = store.attributes("") or set_attributes(version or "4.0")
    attributes |= {} if version is None else {"version": version}
    nets = {
        name: _Writer(net, prefix, specification, typed="xmlns:xsi" in attributes).net()
        for name, net in specification.nets.items()
    }
    inner: list[Node] = []
    for one in store.at("specification"):
        if one.name == "#net" and one.text in nets:
            inner.append(nets.pop(one.text))
        elif not one.name.startswith("@") and one.name != "extendedAttributes":
            inner += Store([one]).nodes(one.at)
    if not any(isinstance(one, Element) and one.name == f"{prefix}metaData" for one in inner):
        at = sum(
            isinstance(one, Element) and one.name in {f"{prefix}name", f"{prefix}documentation"}
            for one in inner
        )
        inner.insert(at, Element(f"{prefix}metaData"))
    inner += nets.values()
    # Where nothing is kept, that it is the usual version has to be said.
    usual = all(one.name == "extendedAttributes" for one in back)
    said: dict[str, Any] = {"version": version} if version == "4.0" and usual else {}
    said |= along_with(
        along, unlike(specification.notes, specification_notes(specification.kept, plain=usual))
    )
    inner += extended(said, store.foreign("specification"), prefix)
    own = Element(
        f"{prefix}specification",
        {"uri": specification.id} | store.attributes("specification") | {"uri": specification.id},
        tuple(inner),
    )
    others = [one for one in store.nodes("") if not isinstance(one, Element)]
    after = [one for one in store.nodes("") if isinstance(one, Element)]
    root = Element(f"{prefix}specificationSet", attributes, (*others, own, *after))
    return Document(root, store.markup("#before"), store.markup("#after"))


def along_with(kept: Sequence[Kept], notes: Sequence[str]) -> dict[str, Any]:
    """Give what is carried along in extended attributes: what has no place in the XML, and notes that do not follow from it."""
    return {
        **({"kept": [write_kept(one) for one in kept]} if kept else {}),
        **({"notes": list(notes)} if notes else {}),
    }


def listed_order(net: Net, written: Iterable[Flow]) -> dict[str, Any]:
    """Give the order of flows, where they would be read in another: as they are written, by their sources."""
    others = [name for name in net.conditions if name not in {net.input, net.output}]
    ranks = {name: at for at, name in enumerate((net.input, *net.tasks, *others, net.output))}
    if list(net.flows) == sorted(written, key=lambda flow: ranks[flow.source]):
        return {}
    return {"flows": [[one.source, one.target] for one in net.flows]}


def places_of(net: Net) -> set[str]:
    """Give the places of a net where something can be kept."""
    flows = {flow_key(flow.source, flow.target) for flow in net.flows}
    return {"", *net.tasks, *net.conditions} | flows


def label_of(label: str | None, kept: Element | None, name: str) -> list[Node]:
    """Write a label as a name; as it was written, if it still says the same."""
    if kept is not None and (kept.text or None) == label:
        return [kept]
    return [] if label is None else [Element(name, {}, (label.strip(),))]


def spaced(label: str | None) -> dict[str, Any]:
    """Give a label that begins or ends with spaces, which a name does not keep."""
    return {} if label is None or label == label.strip() else {"label": label}


def task_values(task: Task, *, silent: bool) -> dict[str, Any]:
    """Give what travels in extended attributes of a task; `silent` is what its label would be read as without."""
    values: dict[str, Any] = {} if (task.label is None) == silent else {"label": task.label}
    plain = {
        "duration": task.duration,
        "cost": task.cost,
        "reads": None if task.reads is None else sorted(task.reads),
        "writes": None if task.writes is None else sorted(task.writes),
        "resource": task.resource,
        "idempotent": task.idempotent,
        "tool": task.tool,
        "arguments": None if task.arguments is None else dict(task.arguments),
        "limit": task.limit,
        "each": task.each,
    }
    return values | spaced(task.label) | {key: value for key, value in plain.items() if value is not None}


class _Writer:
    """Writes one net."""

    def __init__(self, net: Net, prefix: str, specification: Specification, *, typed: bool) -> None:
        self._net = net
        self._typed = typed
        self._prefix = prefix
        self._root = net.id == specification.root
        self._nets = specification.nets
        back, self._along = parted(net.kept, places_of(net), {*_MARKS, "#element", "#control"}, prefix)
        self._store = Store(back)
        self._out = net.outgoing()

    def _named(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def net(self) -> Element:
        net, store = self._net, self._store
        beta = store.text("", "#element") == "rootNet" and self._root
        control = self._control()
        rules = {"rules": [write_rule(rule) for rule in net.rules]} if net.rules else {}
        more = listed_order(net, net.flows)
        more |= along_with(self._along, unlike(net.notes, notes_of(net, self._nets)))
        nodes: list[Node] = [
            *store.nodes("", {"name", "extendedAttributes", *_inside(store)}),
            *label_of(net.label, store.element("", "name"), self._named("name")),
            control,
            *extended(spaced(net.label) | rules | more, store.foreign(""), self._prefix),
        ]
        name = "rootNet" if beta else "decomposition"
        return Element(self._named(name), self._attributes(beta=beta), in_order(nodes, OF_NET, self._prefix))

    def _attributes(self, *, beta: bool) -> dict[str, str]:
        own = {"id": self._net.id}
        said = self._store.attributes("")
        if beta:
            return own | said | own
        if not said:
            return own | net_attributes(root=self._root, typed=self._typed)
        if self._root and len(self._nets) > 1 and said.get("isRootNet") not in {"true", "1"}:
            said["isRootNet"] = "true"
        elif not self._root and said.get("isRootNet") in {"true", "1"}:
            del said["isRootNet"]
        return own | said | own

    def _control(self) -> Element:
        net = self._net
        others = [name for name in net.conditions if name not in {net.input, net.output}]
        nodes: list[Node] = [
            self._condition(net.input, "inputCondition"),
            *(self._task(task) for task in net.tasks.values()),
            *(self._condition(name, "condition") for name in others),
            self._condition(net.output, "outputCondition"),
        ]
        for one in self._store.at(""):
            if one.name.startswith("processControlElements/"):
                nodes += Store([one]).nodes("")
        own = self._store.element("", "#control")
        return Element(
            self._named("processControlElements"), {} if own is None else own.attributes, tuple(nodes)
        )

    def _condition(self, name: str, kind: str) -> Element:
        store = self._store
        label = self._net.conditions[name].label
        nodes: list[Node] = [
            *store.nodes(name, {"name", "extendedAttributes"}),
            *label_of(label, store.element(name, "name"), self._named("name")),
            *(self._flow(flow) for flow in self._out[name]),
            *extended(spaced(label), store.foreign(name), self._prefix),
        ]
        attributes = {"id": name} | store.attributes(name) | {"id": name}
        return Element(self._named(kind), attributes, in_order(nodes, OF_TASK, self._prefix))

    def _task(self, task: Task) -> Element:
        store = self._store
        made_of = store.element(task.id, "decomposesTo") is not None
        values = task_values(task, silent=task.label is None and not made_of)
        gates = [self._gate(task.id, "join", task.join), self._gate(task.id, "split", task.split)]
        nodes: list[Node] = [
            *store.nodes(task.id, {"name", "join", "split", "extendedAttributes"}),
            *label_of(task.label, store.element(task.id, "name"), self._named("name")),
            *(self._flow(flow) for flow in self._out[task.id]),
            *gates,
            *extended(values, store.foreign(task.id), self._prefix),
        ]
        attributes = {"id": task.id} | store.attributes(task.id) | {"id": task.id}
        return Element(self._named("task"), attributes, in_order(nodes, OF_TASK, self._prefix))

    def _gate(self, task: str, key: str, code: str) -> Element:
        kept = self._store.element(task, key)
        if kept is not None and kept.attributes.get("code", "").lower() == code:
            return kept
        return Element(self._named(key), {"code": code})

    def _flow(self, flow: Flow) -> Element:
        at = flow_key(flow.source, flow.target)
        store = self._store
        ref = store.element(at, "nextElementRef") or Element(
            self._named("nextElementRef"), {"id": flow.target}
        )
        values: dict[str, Any] = {}
        predicate = self._predicate(flow, at, values)
        if flow.probability is not None:
            values["probability"] = flow.probability
        default = store.element(at, "isDefaultFlow")
        if default is None and flow.default:
            default = Element(self._named("isDefaultFlow"))
        used = {"nextElementRef", "predicate", "isDefaultFlow", "extendedAttributes"}
        nodes: list[Node] = [
            ref,
            *([] if predicate is None else [predicate]),
            *([] if default is None else [default]),
            *store.nodes(at, used),
            *extended(values, store.foreign(at), self._prefix),
        ]
        return Element(self._named("flowsInto"), store.attributes(at), in_order(nodes, OF_FLOW, self._prefix))

    def _predicate(self, flow: Flow, at: str, values: dict[str, Any]) -> Element | None:
        kept = self._store.element(at, "predicate")
        ordered = self._store.element(at, "predicateOrdering")
        task = self._net.tasks.get(flow.source)
        chooses = task is not None and task.split != "and"
        if kept is not None and (not chooses or told(kept.text, self._net.id) == flow.predicate):
            found: Element | None = kept
        elif flow.predicate is None:
            found = None
        else:
            xpath = to_xpath(parse(flow.predicate), self._net.id)
            found = None if xpath is None else Element(self._named("predicate"), {}, (xpath,))
        if flow.predicate is not None and (found is None or told(found.text, self._net.id) != flow.predicate):
            values["predicate"] = flow.predicate
        if flow.order is None and chooses and found is not None:
            rest = {key: value for key, value in found.attributes.items() if key != "ordering"}
            return Element(found.name, rest, found.children)
        if flow.order is None or not chooses:
            return found
        if ordered is not None and ordered.text == str(flow.order):
            return found
        if found is None:
            values["order"] = flow.order
            return None
        return Element(found.name, {**found.attributes, "ordering": str(flow.order)}, found.children)


def _inside(store: Store) -> set[str]:
    return {one.name for one in store.at("") if one.name.startswith("processControlElements/")}
