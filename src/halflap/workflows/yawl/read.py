"""Read a `specificationSet`, as the YAWL schemas from Beta to 4.0 have it, or the older `processModel` form, as nets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any
from xml.etree.ElementTree import Element

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.form import validated
from halflap.workflows.model.net import (
    CANCELLATION,
    FIXING,
    Condition,
    Flow,
    Kept,
    Net,
    Rule,
    Specification,
    Task,
)
from halflap.workflows.yawl.xml import Document, attributes_of, children, local, text_of

NODES = ("inputCondition", "task", "condition", "outputCondition")
_BEHAVIOUR = FIXING | CANCELLATION
TASK_KEYS = frozenset(one.name for one in fields(Task)) - {"id", "join", "split"}
FLOW_KEYS = frozenset({"predicate", "probability", "default", "order"})
NET_KEYS = frozenset({"label", "rules"})
"""Attributes without an element in YAWL are in `extendedAttributes`, each value as JSON."""


def read_set(document: Document, source: str) -> Specification:
    root = document.root
    inner = children(root, "specification")
    if len(inner) != 1:
        document.wrong(root, f"It has {len(inner)} specifications; one per file is read.")
        document.check()
    elements: dict[str, Element] = {}
    for child in inner[0]:
        if is_net(child):
            name = child.get("id", "")
            if not name or name in elements:
                document.wrong(child, f"A net needs its own id, not {name!r}.")
            elements[name] = child
    roots = [
        name
        for name, one in elements.items()
        if local(one.tag) == "rootNet" or one.get("isRootNet") in {"true", "1"}
    ] or (list(elements) if len(elements) == 1 else [])
    if len(roots) != 1:
        document.wrong(inner[0], f'There are {len(roots)} root nets. Mark one with isRootNet="true".')
        document.check()
    nets = {name: _Reader(document, one).read(elements) for name, one in elements.items()}
    document.check()
    for name, net in nets.items():
        for problem in structure_problems(net):
            document.wrong(elements[name], str(problem), f"net {name!r}")
    document.check()
    return Specification(inner[0].get("uri") or roots[0], roots[0], nets, (), source)


def is_net(element: Element) -> bool:
    if local(element.tag) == "rootNet":
        return True
    typed = any(
        local(key) == "type" and local(value) == "NetFactsType" for key, value in element.attrib.items()
    )
    return local(element.tag) == "decomposition" and (
        typed or bool(children(element, "processControlElements"))
    )


def _values(kind: type, values: dict[str, Any], known: frozenset[str], **own: Any) -> Any:
    """Make a task, condition or flow from its element and its extended attributes.

    Unknown attributes are ignored; if a known one is invalid, all are.
    """
    ours = {key: value for key, value in values.items() if key in known}
    try:
        return validated(kind, {**own, **ours})
    except WorkflowError:
        return validated(kind, own)


class _Reader:
    """Reads one net; nodes are sorted by kind, so that the order of kinds in the file does not matter."""

    def __init__(self, document: Document, element: Element) -> None:
        self.document = document
        self.element = element
        self.name = element.get("id", "")
        self.kept: list[Kept] = []
        self.tasks: dict[str, Task] = {}
        self.conditions: dict[str, Condition] = {}
        self.flows: list[Flow] = []
        self.subnets: dict[str, str] = {}

    def wrong(self, element: Element, message: str, *within: str) -> None:
        self.document.wrong(element, message, f"net {self.name!r}", *within)

    def read(self, nets: Iterable[str]) -> Net:
        control = children(self.element, "processControlElements")
        if len(control) != 1:
            self.wrong(self.element, "A net needs one processControlElements.")
            return Net(self.name, "", "", {}, {}, ())
        listed = {kind: children(control[0], kind) for kind in NODES}
        ends = [
            listed[kind][0].get("id", "") if len(listed[kind]) == 1 else "" for kind in (NODES[0], NODES[-1])
        ]
        if not all(ends):
            self.wrong(control[0], "A net needs one inputCondition and one outputCondition.")
        nodes: dict[str, Element] = {}
        for kind in NODES:
            for one in listed[kind]:
                name = one.get("id", "")
                if not name.strip() or name in nodes:
                    self.wrong(one, f"A {kind} needs its own id, not {name!r}.")
                nodes[name] = one
        for name, one in nodes.items():
            if local(one.tag) == "task":
                self.task(name, one, nets)
            else:
                label = text_of(one, "name")
                self.conditions[name] = _values(
                    Condition, attributes_of(one), frozenset({"label"}), id=name, label=label
                )
        for name, one in nodes.items():
            for flow in children(one, "flowsInto"):
                self.flow(name, flow, nodes)
        label = text_of(self.element, "name")
        return Net(
            self.name, ends[0], ends[1], self.tasks, self.conditions, tuple(self.flows), self.rules(),
            tuple(self.kept), self.notes(), label,
        )  # fmt: skip

    def task(self, name: str, element: Element, nets: Iterable[str]) -> None:
        gates = {"join": "xor", "split": "and"}
        for one in children(element, *gates):
            gates[local(one.tag)] = one.get("code", "").lower() or gates[local(one.tag)]
        if not {*gates.values()} <= {"and", "xor", "or"}:
            self.wrong(element, f"Gates are and, xor or or, not {join(gates.values())}.", f"task {name!r}")
            return
        decomposition = next((one.get("id", "") for one in children(element, "decomposesTo")), "")
        if decomposition in nets:
            self.subnets[name] = decomposition
        label = text_of(element, "name") or (name if decomposition else None)
        self.tasks[name] = _values(Task, attributes_of(element), TASK_KEYS, id=name, label=label, **gates)
        self.kept += [
            Kept(local(one.tag), (one.text or "").strip() or one.get("id") or one.get("code") or "", name)
            for one in element
            if local(one.tag) in _BEHAVIOUR
        ]

    def flow(self, source: str, element: Element, nodes: dict[str, Element]) -> None:
        target = next((one.get("id", "") for one in children(element, "nextElementRef")), "")
        if target not in nodes:
            self.wrong(element, f"The flow out of {source!r} leads to {target!r}, which does not exist.")
            return
        own: dict[str, Any] = {"from": source, "to": target}
        chooses = source in self.tasks and self.tasks[source].split != "and"
        values = attributes_of(element)
        predicates = children(element, "predicate")
        if chooses:
            own["default"] = bool(children(element, "isDefaultFlow"))
            order = (predicates[0].get("ordering") if predicates else None) or text_of(
                element, "predicateOrdering"
            )
            own["order"] = int(order) if order is not None and order.isdigit() else None
        flow: Flow = _values(Flow, values, FLOW_KEYS if chooses else frozenset({"probability"}), **own)
        self.flows.append(flow)
        xpath = text_of(element, "predicate")
        if chooses and flow.predicate is None and xpath is not None:
            self.kept.append(Kept("predicate", xpath, flow.key))

    def rules(self) -> tuple[Rule, ...]:
        try:
            found = validated(list[Rule], attributes_of(self.element).get("rules", []))
        except WorkflowError:
            return ()
        return tuple(one for one in found if all(name in self.tasks for name in one.tasks))

    def notes(self) -> tuple[str, ...]:
        """Return what analysis ignores."""
        found = [
            f"{task!r} decomposes to the net {name!r}, which is one task here."
            for task, name in self.subnets.items()
        ]
        beyond = dict.fromkeys(repr(one.at) for one in self.kept if one.name in _BEHAVIOUR)
        if beyond:
            where = join(beyond, limit=8)
            found.append(f"Timers, multiple instances or cancellation of {where} are kept, but not analysed.")
        xpaths = [repr(one.at) for one in self.kept if one.name == "predicate"]
        if xpaths:
            where = join(xpaths, limit=8)
            found.append(f"XPath predicates of {where} are kept as text; any branch may be taken.")
        return tuple(found)


# The older form ---------------------------------------------------------------------------------------


def read_process_model(document: Document) -> Specification:
    """Read the older form: it is rewritten as a `specificationSet` and read like one."""
    root = document.root
    nets = [one for model in children(root, "processModel") for one in children(model, "net")]
    if not nets:
        document.wrong(root, "A processModel needs a net.")
        document.check()
    for net in nets:
        _modernise(document, net)
    document.check()
    nets[0].set("isRootNet", "true")
    header = children(root, "header")
    inner = Element("specification", {"uri": header[0].get("name", "") if header else ""})
    inner.extend(nets)
    root[:] = [inner]
    notes = [
        "The older processModel form is only read: exported, it becomes a specificationSet with its control flow."
    ]
    if len(nets) > 1:
        notes.append(f"Nothing states which of the {len(nets)} nets is the root; the first is used.")
    return replace(read_set(document, ""), notes=tuple(notes), yawl=None)


def _modernise(document: Document, net: Element) -> None:
    control = Element("processControlElements")
    control.extend(one for one in net if local(one.tag) in NODES)
    net.tag, net.attrib, net[:] = "decomposition", {"id": net.get("name", "")}, [control]
    nodes = {one.get("name", ""): one for one in control}
    flows: dict[tuple[str, str], Element] = {}
    for name, one in nodes.items():
        for ref in children(one, "inputConditionRef", "outputConditionRef"):
            other = ref.get("name") or (ref.text or "").strip()
            if other not in nodes:
                document.wrong(ref, f"{name!r} names {other!r}, which does not exist.")
            flows[(other, name) if local(ref.tag) == "inputConditionRef" else (name, other)] = ref
        codes = [Element(key, {"code": one.get(f"{key}s", "")}) for key in ("join", "split")]
        label = Element("name")
        label.text = name
        one.set("id", name)
        one[:] = [label, *codes] if local(one.tag) == "task" else []
    for source, target in flows:
        flow = Element("flowsInto")
        flow.append(Element("nextElementRef", {"id": target}))
        if source in nodes:
            nodes[source].append(flow)
