"""Specifications with a `processModel`: tasks that name the conditions before and after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.errors import WorkflowError
from halflap.workflows.fields import Reader
from halflap.workflows.net import Condition, Flow, Kept, Net, Rule, Task
from halflap.workflows.rule_form import read_rules, write_rule
from halflap.workflows.specification import Specification
from halflap.workflows.yawl.extended import (
    OF_CONDITIONS,
    OF_FLOWS,
    OF_NETS,
    OF_TASKS,
    extended,
    read_extended,
)
from halflap.workflows.yawl.keeping import Store, flow_key, keep_rest, noted
from halflap.workflows.yawl.reading import Problems, finished, gate, read_task_values
from halflap.workflows.yawl.writing import task_values
from halflap.workflows.yawl.xml import Document, Element, compact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.yawl.xml import Node

__all__ = ["read_model", "write_model"]

_SPACE = "http://www.yawlfoundation.org/yawl"
_NODES = ("inputCondition", "outputCondition", "task", "condition")


def read_model(document: Document) -> Specification:
    """Read a `specification` with one `processModel`."""
    root = document.root
    problems = Problems()
    models = [one for one in root.elements if one.name == "processModel"]
    elements = models[0].elements if len(models) == 1 else []
    named = [one for one in elements if one.name == "net"]
    if not named:
        problems.add(root, "It needs one <processModel> with a <net>.")
    kept = [Kept("", "#before", mark.text) for mark in document.before]
    # Where the nets stood among what is kept is kept, too.
    kept += [
        Kept("", "#model", "") if rest.name == "processModel" else rest
        for rest in keep_rest(root, "", order=None)
    ]
    kept += [Kept("", "#after", mark.text) for mark in document.after]
    if models:
        kept += keep_rest(models[0], "model", (), {"net"})
    nets: dict[str, Net] = {}
    for one in named:
        name = one.attributes.get("name", "")
        if not name.strip() or name in nets:
            problems.add(one, f"A net needs a name of its own, and has {name!r}.")
            continue
        net = _Net(one, problems).read()
        if net is not None:
            nets[name] = net
    if problems:
        raise WorkflowError(problems, "This YAWL file is not read.")
    header = next((one.attributes.get("name") for one in root.elements if one.name == "header"), None)
    notes = noted(kept)
    first = next(iter(nets))
    if len(nets) > 1:
        notes.append(
            f"There are {len(nets)} nets, and nothing says which is the root; the first, {first!r}, is taken."
        )
    return Specification(header or first, first, nets, None, "processModel", tuple(kept), tuple(notes))


class _Net:
    """Reads one net."""

    def __init__(self, element: Element, problems: Problems) -> None:
        self._element = element
        self._problems = problems
        self._kept: list[Kept] = []
        self._tasks: dict[str, Task] = {}
        self._conditions: dict[str, Condition] = {}
        self._flows: list[Flow] = []

    def read(self) -> Net | None:
        before = len(self._problems)
        element = self._element
        name = element.attributes["name"]
        self._kept += keep_rest(element, "", {"name"}, {*_NODES, "extendedAttributes"})
        values = self._extended(element, "", OF_NETS)
        ends = {kind: [one for one in element.elements if one.name == kind] for kind in _NODES[:2]}
        if any(len(listed) != 1 for listed in ends.values()):
            self._problems.add(element, f"The net {name!r} needs one inputCondition and one outputCondition.")
            return None
        nodes: dict[str, Element] = {}
        for kind in ("inputCondition", "task", "condition", "outputCondition"):
            for one in element.elements:
                if one.name != kind:
                    continue
                own = one.attributes.get("name", "")
                if not own.strip() or own in nodes:
                    self._problems.add(one, f"A {kind} needs a name of its own, and has {own!r}.")
                nodes[own] = one
                self._node(own, one)
        for own, one in nodes.items():
            self._refs(own, one, nodes)
        if len(self._problems) > before:
            return None
        # By where they come from, so that it is the same whatever order the tasks stand in.
        ranks = {own: at for at, own in enumerate(nodes)}
        flows = tuple(sorted(self._flows, key=lambda flow: (ranks[flow.source], ranks[flow.target])))
        rules = self._rules(values)
        kept = tuple(self._kept)
        both = [listed[0].attributes["name"] for listed in ends.values()]
        return finished(
            Net(
                name,
                both[0],
                both[1],
                self._tasks,
                self._conditions,
                flows,
                rules,
                kept,
                (),
                values.get("label"),
            ),
            (),
        )

    def _rules(self, values: dict[str, Any]) -> tuple[Rule, ...]:
        reader = Reader()
        rules = read_rules(reader, values, "", {*self._tasks, *self._conditions})
        if reader.problems:
            raw = extended({"rules": values["rules"]}, None, "")
            self._kept += [Kept("", "extendedAttributes", compact(one)) for one in raw]
            return ()
        return rules

    def _extended(self, element: Element, at: str, known: Iterable[str]) -> dict[str, Any]:
        own = [one for one in element.elements if one.name == "extendedAttributes"]
        found, rest = read_extended(own, known)
        self._kept += [] if rest is None else [Kept(at, "extendedAttributes", compact(rest))]
        return found

    def _node(self, name: str, element: Element) -> None:
        if element.name != "task":
            self._kept += keep_rest(element, name, {"name"}, {"extendedAttributes"})
            values = self._extended(element, name, OF_CONDITIONS)
            self._conditions[name] = Condition(name, values.get("label"))
            return
        known = {"inputConditionRef", "outputConditionRef", "extendedAttributes"}
        self._kept += keep_rest(element, name, {"name", "joins", "splits"}, known)
        gates = {"join": "xor", "split": "and"}
        for key, preset in gates.items():
            said = element.attributes.get(f"{key}s", preset)
            code = gate(said)
            if code is None:
                self._problems.add(
                    element, f"The {key}s of {name!r} is one of AND, XOR and OR, and not {said!r}."
                )
            gates[key] = code or preset
            if f"{key}s" in element.attributes and said != gates[key].upper():
                self._kept.append(Kept(name, f"#{key}s", said))
        values = self._extended(element, name, OF_TASKS)
        self._tasks[name] = read_task_values(name, name, gates, values)

    def _refs(self, name: str, element: Element, nodes: dict[str, Element]) -> None:
        for one in element.elements:
            if one.name not in {"inputConditionRef", "outputConditionRef"} or element.name != "task":
                continue
            other = one.attributes.get("name", one.text)
            if other not in nodes:
                self._problems.add(one, f"{name!r} names {other!r}, which there is not.")
                continue
            into = one.name == "inputConditionRef"
            ends = (other, name) if into else (name, other)
            at = flow_key(*ends)
            values = self._extended(one, at, OF_FLOWS)
            bare = Element(
                one.name,
                one.attributes,
                tuple(
                    child
                    for child in one.children
                    if not isinstance(child, Element) or child.name != "extendedAttributes"
                ),
            )
            if bare != _ref(other, into=into):
                self._kept.append(Kept(at, one.name, compact(bare)))
            self._flows.append(
                Flow(
                    *ends,
                    values.get("predicate"),
                    values.get("probability"),
                    bool(values.get("default")),
                    values.get("order"),
                )
            )


def _ref(name: str, *, into: bool) -> Element:
    """As most are written: what comes before as text, what comes after as an attribute."""
    return (
        Element("inputConditionRef", {}, (name,)) if into else Element("outputConditionRef", {"name": name})
    )


def write_model(specification: Specification) -> Document:
    """Write a specification with a `processModel`."""
    store = Store(specification.kept)
    nets: list[Node] = [_Writer(net).net() for net in specification.nets.values()]
    model = Element("processModel", store.attributes("model"), (*store.nodes("model"), *nets))
    inner: list[Node] = []
    for one in store.at(""):
        inner += [model] if one.name == "#model" else Store([one]).nodes("")
    if model not in inner:
        inner.append(model)
    root = Element("specification", store.attributes("") or {"xmlns": _SPACE}, tuple(inner))
    return Document(root, store.markup("#before"), store.markup("#after"))


class _Writer:
    """Writes one net."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._store = Store(net.kept)
        self._out = net.outgoing()
        self._into = net.incoming()

    def net(self) -> Element:
        net, store = self._net, self._store
        others = [name for name in net.conditions if name not in {net.input, net.output}]
        values: dict[str, Any] = {} if net.label is None else {"label": net.label}
        values |= {"rules": [write_rule(rule) for rule in net.rules]} if net.rules else {}
        children: list[Node] = [
            self._condition(net.input, "inputCondition"),
            self._condition(net.output, "outputCondition"),
            *(self._task(task) for task in net.tasks.values()),
            *(self._condition(name, "condition") for name in others),
            *store.nodes("", {"extendedAttributes"}),
            *extended(values, store.foreign(""), ""),
        ]
        return Element("net", {"name": net.id, **store.attributes("")}, tuple(children))

    def _condition(self, name: str, kind: str) -> Element:
        store = self._store
        label = self._net.conditions[name].label
        more = extended({} if label is None else {"label": label}, store.foreign(name), "")
        nodes = store.nodes(name, {"extendedAttributes"})
        return Element(kind, {"name": name, **store.attributes(name)}, (*nodes, *more))

    def _task(self, task: Task) -> Element:
        store = self._store
        gates = {"joins": task.join.upper(), "splits": task.split.upper()}
        for key, code in gates.items():
            kept = store.text(task.id, f"#{key}")
            gates[key] = kept if kept is not None and kept.upper() == code else code
        values = task_values(task, silent=False)
        if task.label not in {None, task.id}:
            values["label"] = task.label
        # A flow between tasks is written once, where it comes from.
        into = [flow for flow in self._into[task.id] if flow.source not in self._net.tasks]
        children: list[Node] = [
            *(self._flow(flow, into=True) for flow in into),
            *(self._flow(flow, into=False) for flow in self._out[task.id]),
            *store.nodes(task.id, {"extendedAttributes"}),
            *extended(values, store.foreign(task.id), ""),
        ]
        return Element("task", {"name": task.id, **gates, **store.attributes(task.id)}, tuple(children))

    def _flow(self, flow: Flow, *, into: bool) -> Element:
        at = flow_key(flow.source, flow.target)
        said = {
            "predicate": flow.predicate,
            "probability": flow.probability,
            "default": flow.default or None,
            "order": flow.order,
        }
        values = {key: value for key, value in said.items() if value is not None}
        name = "inputConditionRef" if into else "outputConditionRef"
        bare = self._store.element(at, name) or _ref(flow.source if into else flow.target, into=into)
        more = extended(values, self._store.foreign(at), "")
        return Element(bare.name, bare.attributes, (*bare.children, *more))
