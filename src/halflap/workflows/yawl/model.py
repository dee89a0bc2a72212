"""Specifications with a `processModel`: tasks that name the conditions before and after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.checking import ambiguous
from halflap.workflows.net import Condition, Flow, Kept, Net, Task
from halflap.workflows.rule_form import write_rule
from halflap.workflows.specification import Specification
from halflap.workflows.yawl.extended import (
    OF_CONDITIONS,
    OF_FLOWS,
    OF_NETS,
    OF_SPECIFICATIONS,
    OF_TASKS,
    extended,
    read_extended,
)
from halflap.workflows.yawl.keeping import Store, flow_key, keep_rest, parted
from halflap.workflows.yawl.noting import finished, merged_notes, notes_of, specification_notes, unlike
from halflap.workflows.yawl.reading import Problems, gate, in_listed_order, read_task_values
from halflap.workflows.yawl.writing import along_with, listed_order, places_of, task_values
from halflap.workflows.yawl.xml import Document, Element, compact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

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
        for rest in keep_rest(root, "", (), {"extendedAttributes"}, order=None)
    ]
    kept += [Kept("", "#after", mark.text) for mark in document.after]
    if models:
        kept += keep_rest(models[0], "model", (), {"net"})
    own, rest = read_extended(
        [one for one in root.elements if one.name == "extendedAttributes"], OF_SPECIFICATIONS
    )
    kept += [] if rest is None else [Kept("", "extendedAttributes", compact(rest))]
    if kept == _PLAIN:
        # As it is written where nobody says anything of it.
        kept = []
    kept += own.get("kept", ())
    nets: dict[str, Net] = {}
    seen: set[str] = set()
    for one in named:
        name = one.attributes.get("name", "")
        if not name.strip() or name in seen:
            problems.add(one, f"A net needs a name of its own, and has {name!r}.")
        seen.add(name)
        net = _Net(one, problems).read()
        if net is not None:
            nets[name] = net
    if problems:
        raise WorkflowError(problems, "This YAWL file is not read.")
    said = own.get("root") if own.get("root") in nets else None
    identity = own.get("id") or _identity(kept, nets)
    notes = merged_notes(own.get("notes", ()), _notes(kept, nets, said))
    return Specification(
        identity, said or next(iter(nets)), nets, own.get("version"), "processModel", tuple(kept), notes
    )


_PLAIN = [Kept("", "@xmlns", _SPACE), Kept("", "#model", "")]
"""What would be kept of a specification that was written from nets alone."""


def _identity(kept: Iterable[Kept], nets: Iterable[str]) -> str:
    """Give the id that a specification has, unless it says another: the name in its header, or the first net."""
    header = Store(kept).element("", "header")
    named = None if header is None else header.attributes.get("name")
    return named or next(iter(nets))


def _notes(kept: Iterable[Kept], nets: Collection[str], root: str | None) -> list[str]:
    notes = specification_notes(kept)
    if len(nets) > 1 and root is None:
        first = next(iter(nets))
        notes.append(
            f"There are {len(nets)} nets, and nothing says which is the root; the first, {first!r}, is taken."
        )
    return notes


class _Net:
    """Reads one net."""

    def __init__(self, element: Element, problems: Problems) -> None:
        self._element = element
        self._name = element.attributes.get("name", "")
        self._problems = problems
        self._kept: list[Kept] = []
        self._tasks: dict[str, Task] = {}
        self._conditions: dict[str, Condition] = {}
        self._flows: list[Flow] = []
        self._nameless = False
        """What names nothing that there is may mean a node that has no name of its own."""

    def _wrong(self, element: Element, message: str, node: Element | None = None) -> None:
        own = "" if node is None else node.attributes.get("name", "")
        of = [f"{node.name} {own!r}"] if node is not None and own.strip() else []
        self._problems.add(element, message, f"net {self._name!r}", *of)

    def read(self) -> Net | None:
        before = len(self._problems)
        element = self._element
        name = self._name
        self._kept += keep_rest(element, "", {"name"}, {*_NODES, "extendedAttributes"})
        ends = {kind: [one for one in element.elements if one.name == kind] for kind in _NODES[:2]}
        if any(len(end) != 1 for end in ends.values()):
            self._wrong(element, "The net needs one inputCondition and one outputCondition.")
            self._nameless = not all(ends.values())
        nodes: dict[str, Element] = {}
        order = ("inputCondition", "task", "condition", "outputCondition")
        listed = [one for kind in order for one in element.elements if one.name == kind]
        for one in listed:
            own = one.attributes.get("name", "")
            if not own.strip() or own in nodes:
                self._wrong(one, f"A {one.name} needs a name of its own, and has {own!r}.", one)
                self._nameless |= not own.strip()
            nodes[own] = one
            self._node(own, one)
        for one in listed:
            self._refs(one.attributes.get("name", ""), one, nodes)
        for _, message in ambiguous(self._flows, nodes):
            self._wrong(element, message)
        if len(self._problems) > before:
            return None
        # By where they come from, so that it is the same whatever order the tasks stand in.
        ranks = {own: at for at, own in enumerate(nodes)}
        flows = sorted(self._flows, key=lambda flow: ranks[flow.source])
        values = self._extended(element, "", OF_NETS)
        both = [end[0].attributes["name"] for end in ends.values()]
        return finished(
            Net(
                name,
                both[0],
                both[1],
                self._tasks,
                self._conditions,
                in_listed_order(flows, values.get("flows", ())),
                values.get("rules", ()),
                (*self._kept, *values.get("kept", ())),
                (),
                values.get("label"),
            ),
            (),
            values.get("notes", ()),
        )

    def _extended(self, element: Element, at: str, known: Collection[str]) -> dict[str, Any]:
        own = [one for one in element.elements if one.name == "extendedAttributes"]
        found, rest = read_extended(own, known, {*self._tasks, *self._conditions})
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
                self._wrong(
                    element, f"The {key}s of {name!r} is one of AND, XOR and OR, and not {said!r}.", element
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
                if not self._nameless:
                    self._wrong(one, f"{name!r} names {other!r}, which there is not.", element)
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
    back, along = parted(
        specification.kept, {"", "model"}, {"#comment", "#text", "#before", "#after", "#model"}
    )
    store = Store(back)
    nets: list[Node] = [_Writer(net).net() for net in specification.nets.values()]
    model = Element("processModel", store.attributes("model"), (*store.nodes("model"), *nets))
    inner: list[Node] = []
    for one in store.at(""):
        if one.name != "extendedAttributes":
            inner += [model] if one.name == "#model" else Store([one]).nodes("")
    if model not in inner:
        inner.append(model)
    inner += extended(_said(specification, along), store.foreign(""), "")
    root = Element("specification", store.attributes("") or {"xmlns": _SPACE}, tuple(inner))
    return Document(root, store.markup("#before"), store.markup("#after"))


def _said(specification: Specification, along: list[Kept]) -> dict[str, Any]:
    """Give what of a specification only extended attributes can say."""
    nets, kept = specification.nets, specification.kept
    root = None if specification.root == next(iter(nets)) else specification.root
    plain = {
        "id": None if specification.id == _identity(kept, nets) else specification.id,
        "root": root,
        "version": specification.version,
    }
    said = {key: value for key, value in plain.items() if value is not None}
    return said | along_with(along, unlike(specification.notes, _notes(kept, nets, root)))


class _Writer:
    """Writes one net."""

    def __init__(self, net: Net) -> None:
        self._net = net
        marks = {"#comment", "#text", "#joins", "#splits"}
        back, self._along = parted(net.kept, places_of(net), marks)
        self._store = Store(back)
        self._out = net.outgoing()
        self._into = net.incoming()

    def net(self) -> Element:
        net, store = self._net, self._store
        others = [name for name in net.conditions if name not in {net.input, net.output}]
        values: dict[str, Any] = {} if net.label is None else {"label": net.label}
        values |= {"rules": [write_rule(rule) for rule in net.rules]} if net.rules else {}
        values |= listed_order(net, self._written())
        values |= along_with(self._along, unlike(net.notes, notes_of(net, ())))
        children: list[Node] = [
            self._condition(net.input, "inputCondition"),
            self._condition(net.output, "outputCondition"),
            *(self._task(task) for task in net.tasks.values()),
            *(self._condition(name, "condition") for name in others),
            *store.nodes("", {"extendedAttributes"}),
            *extended(values, store.foreign(""), ""),
        ]
        return Element("net", {"name": net.id} | store.attributes("") | {"name": net.id}, tuple(children))

    def _written(self) -> Iterator[Flow]:
        """Give the flows as they are written: by the tasks that name them."""
        for task in self._net.tasks:
            yield from (flow for flow in self._into[task] if flow.source not in self._net.tasks)
            yield from self._out[task]

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
