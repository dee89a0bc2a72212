"""Read a `specificationSet`, as the YAWL schemas from Beta to 4.0 have it, as nets."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

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
from halflap.workflows.yawl.xml import attributes_of, children, local, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from xml.etree.ElementTree import Element

    from halflap.workflows.yawl.xml import Document

__all__ = [
    "FLOW_KEYS",
    "NET_KEYS",
    "NODES",
    "TASK_KEYS",
    "finished",
    "gates",
    "is_net",
    "node_values",
    "read_process_model",
    "read_set",
]

NODES = ("inputCondition", "task", "condition", "outputCondition")
_BEHAVIOUR = FIXING | CANCELLATION
TASK_KEYS = frozenset(one.name for one in fields(Task)) - {"id", "join", "split"}
FLOW_KEYS = frozenset({"predicate", "probability", "default", "order"})
NET_KEYS = frozenset({"label", "rules", "notes", "kept"})
"""What YAWL has no element for is in `extendedAttributes`, each value as JSON."""


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


def gates(join_: str, split: str) -> dict[str, str] | None:
    found = {"join": (join_ or "xor").lower(), "split": (split or "and").lower()}
    return found if {*found.values()} <= {"and", "xor", "or"} else None


def node_values(kind: type, values: dict[str, Any], known: frozenset[str], **own: Any) -> Any:
    """Make a task, condition or flow of what its element and its extended attributes say.

    Attributes that are not ours, or not valid as ours, are ignored.
    """
    ours = {key: value for key, value in values.items() if key in known}
    while True:
        try:
            return validated(kind, {**own, **ours})
        except WorkflowError as error:
            wrong = {one.path.partition("[")[0].partition(".")[0] for one in error.problems} & ours.keys()
            if not wrong:
                raise
            ours = {key: value for key, value in ours.items() if key not in wrong}


class _Reader:
    """Reads one net; nodes in a fixed order, so that their order in the file does not matter."""

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
                own = {"id": name, "label": text_of(one, "name")}
                self.conditions[name] = node_values(
                    Condition, attributes_of(one), frozenset({"label"}), **own
                )
        for name, one in nodes.items():
            for flow in children(one, "flowsInto"):
                self.flow(name, flow, nodes)
        own_ = attributes_of(self.element)
        net = Net(
            self.name, ends[0], ends[1], self.tasks, self.conditions, tuple(self.flows), _rules(own_, self.tasks),
            tuple(self.kept), (), text_of(self.element, "name"),
        )  # fmt: skip
        return finished(net, self.subnets, own_.get("notes", ())) if not self.document.problems else net

    def task(self, name: str, element: Element, nets: Iterable[str]) -> None:
        codes = [
            one[0].get("code", "") if (one := children(element, key)) else "" for key in ("join", "split")
        ]
        found = gates(*codes)
        if found is None:
            self.wrong(element, f"Gates are and, xor or or, not {join(map(repr, codes))}.", f"task {name!r}")
            return
        decomposition = next((one.get("id", "") for one in children(element, "decomposesTo")), "")
        if decomposition in nets:
            self.subnets[name] = decomposition
        label = text_of(element, "name") or (name if decomposition else None)
        self.tasks[name] = node_values(Task, attributes_of(element), TASK_KEYS, id=name, label=label, **found)
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
        flow: Flow = node_values(Flow, values, FLOW_KEYS if chooses else frozenset({"probability"}), **own)
        self.flows.append(flow)
        xpath = text_of(element, "predicate")
        if chooses and flow.predicate is None and xpath is not None:
            self.kept.append(Kept("predicate", xpath, flow.key))


def _rules(values: dict[str, Any], tasks: dict[str, Task]) -> tuple[Rule, ...]:
    found: list[Rule] = validated(list[Rule], values.get("rules", []))
    return tuple(one for one in found if all(name in tasks for name in one.tasks))


def finished(net: Net, subnets: dict[str, str], notes: Iterable[str] = ()) -> Net:
    """Add notes about what the model does not follow, and what is wrong with the net."""
    found = [
        f"{task!r} decomposes to the net {name!r}, which is a workflow of its own."
        for task, name in subnets.items()
    ]
    beyond = dict.fromkeys(repr(one.at) for one in net.kept if one.name in _BEHAVIOUR)
    if beyond:
        where = join(beyond, limit=8)
        found.append(
            f"Timers, multiple instances or cancellation of {where} are kept; behaviour is analysed without."
        )
    xpaths = [repr(one.at) for one in net.kept if one.name == "predicate"]
    if xpaths:
        found.append(f"XPath predicates of {join(xpaths, limit=8)} are kept as text; any way may be taken.")
    found += [f"Not valid: {problem}" for problem in structure_problems(net)]
    return replace(net, notes=tuple(dict.fromkeys((*notes, *found))))


# The older form ----------------------------------------------------------------------------------------


def read_process_model(document: Document) -> Specification:
    root = document.root
    nets: dict[str, Net] = {}
    for element in [one for model in children(root, "processModel") for one in children(model, "net")]:
        name = element.get("name", "")
        if not name.strip() or name in nets:
            document.wrong(element, f"A net needs its own name, not {name!r}.")
        nets[name] = _net(document, element, name)
    if not nets:
        document.wrong(root, "A processModel needs a net.")
    document.check()
    header = children(root, "header")
    first = next(iter(nets))
    notes = [
        "The older processModel form is only read: exported, it becomes a specificationSet with its control flow."
    ]
    if len(nets) > 1:
        notes.append(
            f"Nothing states which of the {len(nets)} nets is the root; {first!r}, the first, is used."
        )
    return Specification(header[0].get("name") or first if header else first, first, nets, tuple(notes))


def _net(document: Document, element: Element, name: str) -> Net:
    tasks: dict[str, Task] = {}
    conditions: dict[str, Condition] = {}
    flows: list[Flow] = []
    ends: list[str] = []
    kinds = ("inputCondition", "task", "condition", "outputCondition")
    nodes = [one for kind in kinds for one in children(element, kind)]
    for one in nodes:
        own = one.get("name", "")
        if not own.strip() or own in tasks or own in conditions:
            document.wrong(one, f"Each node needs its own name, not {own!r}.", f"net {name!r}")
        found = gates(one.get("joins", ""), one.get("splits", ""))
        if one.tag != "task":
            conditions[own] = Condition(own)
            ends += [own] if one.tag in {kinds[0], kinds[-1]} else []
        elif found is None:
            document.wrong(one, "Gates are AND, XOR or OR.", f"net {name!r}", f"task {own!r}")
        else:
            tasks[own] = Task(own, own, found["join"], found["split"])  # type: ignore[arg-type]
    for one in nodes:
        own = one.get("name", "")
        for ref in children(one, "inputConditionRef", "outputConditionRef"):
            other = ref.get("name") or (ref.text or "").strip()
            if other not in tasks and other not in conditions:
                document.wrong(ref, f"{own!r} names {other!r}, which does not exist.", f"net {name!r}")
            into = ref.tag == "inputConditionRef"
            flows.append(Flow(other, own) if into else Flow(own, other))
    if len(ends) != 2:  # noqa: PLR2004 -- an input and an output
        document.wrong(element, "A net needs one inputCondition and one outputCondition.", f"net {name!r}")
        ends = ["", ""]
    ranks = {node.get("name", ""): at for at, node in enumerate(nodes)}
    ordered = tuple(sorted(dict.fromkeys(flows), key=lambda flow: ranks.get(flow.source, 0)))
    net = Net(name, ends[0], ends[1], tasks, conditions, ordered)
    return net if document.problems else finished(net, {})
