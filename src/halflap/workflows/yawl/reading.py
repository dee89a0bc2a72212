"""Specifications as the YAWL schemas have them, from Beta to 4.0, read as nets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.workflows.checking import ambiguous
from halflap.workflows.net import Condition, Flow, Kept, Net, Task
from halflap.workflows.predicates import parse, to_xpath
from halflap.workflows.specification import Specification
from halflap.workflows.yawl.extended import (
    OF_CONDITIONS,
    OF_FLOWS,
    OF_NETS,
    OF_TASKS,
    of_set,
    read_extended,
)
from halflap.workflows.yawl.keeping import (
    OF_FLOW,
    OF_NET,
    OF_TASK,
    flow_key,
    keep_rest,
    net_attributes,
    set_attributes,
)
from halflap.workflows.yawl.noting import finished, merged_notes, specification_notes, told
from halflap.workflows.yawl.xml import Element, compact, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from halflap.workflows.yawl.xml import Document

__all__ = ["Problems", "gate", "in_listed_order", "read_set", "read_task_values"]

_NODES = ("inputCondition", "task", "condition", "outputCondition")
_OF_CONDITIONS = {"name", "flowsInto", "extendedAttributes"}


class Problems(list[WorkflowProblem]):
    """What keeps a specification from being read."""

    def add(self, element: Element, message: str, *within: str) -> None:
        """Note a problem at an element, within the net and the task that it is of: a file may be a single line."""
        self.append(WorkflowProblem(", ".join((f"line {element.line}", *within)), message))


def read_set(document: Document) -> Specification:
    """Read a `specificationSet` with one specification."""
    root = document.root
    prefix = root.name.removesuffix("specificationSet")
    problems = Problems()
    inner = [one for one in root.elements if one.name == f"{prefix}specification"]
    if len(inner) != 1:
        problems.add(
            root,
            f"There are {len(inner)} specifications in it. One is read: put each into a file of its own.",
        )
        raise WorkflowError(problems, "This YAWL file is not read.")
    specification = inner[0]
    kept = [Kept("", "#before", one.text) for one in document.before]
    kept += [Kept("", "#prefix", prefix)] if prefix else []
    kept += keep_rest(root, "", (), {"specification"}, prefix=prefix)
    kept += [Kept("", "#after", one.text) for one in document.after]
    elements: dict[str, Element] = {}
    listed = [child for child in specification.elements if _is_net(child, prefix)]
    for child in listed:
        name = child.attributes.get("id", "")
        if not name or name in elements:
            problems.add(child, f"A net needs an id of its own, and has {name!r}.")
        elements[name] = child
    root_name = _root(specification, elements, prefix, problems)
    kept += _of_specification(specification, prefix, elements)
    # As it is written where nobody says anything of it; only there is the version not that of the schema.
    plain = kept == _plain(elements)
    own, rest = read_extended(
        [one for one in specification.elements if one.name == f"{prefix}extendedAttributes"],
        of_set(plain=plain),
    )
    version = own.get("version") if plain else root.attributes.get("version")
    kept = [] if plain else kept
    if rest is not None:
        kept.append(Kept("specification", "extendedAttributes", compact(rest)))
    typed = "xmlns:xsi" in root.attributes
    nets: dict[str, Net] = {}
    for one in listed:
        name = one.attributes.get("id", "")
        net = _Net(one, prefix, problems, set(elements)).read(root=name == root_name, typed=typed)
        nets |= {} if net is None else {name: net}
    if problems:
        raise WorkflowError(problems, "This YAWL file is not read.")
    kept += own.get("kept", ())
    return Specification(
        specification.attributes.get("uri", "") or root_name,
        root_name,
        nets,
        version,
        "specificationSet",
        tuple(kept),
        merged_notes(own.get("notes", ()), specification_notes(kept, plain=plain)),
    )


def _of_specification(specification: Element, prefix: str, nets: dict[str, Element]) -> list[Kept]:
    found = keep_rest(
        specification, "specification", {"uri"}, {"extendedAttributes"}, prefix=prefix, order=None
    )
    by_text = {compact(one): name for name, one in nets.items()}
    # Where a net stood among what is kept is kept, too.
    return [Kept(one.at, "#net", by_text[one.text]) if one.text in by_text else one for one in found]


def _plain(nets: Iterable[str]) -> list[Kept]:
    """Give what would be kept of a specification that was written from nets alone."""
    head = [Kept("", f"@{key}", value) for key, value in set_attributes("4.0").items()]
    places = [Kept("specification", "#net", name) for name in nets]
    return [*head, Kept("specification", "metaData", "<metaData/>"), *places]


def _is_net(child: Element, prefix: str) -> bool:
    if child.name == f"{prefix}rootNet":
        return True
    typed = any(
        stem(key) == "type" and stem(value) == "NetFactsType" for key, value in child.attributes.items()
    )
    return child.name == f"{prefix}decomposition" and (
        typed or any(one.name == f"{prefix}processControlElements" for one in child.elements)
    )


def _root(specification: Element, nets: dict[str, Element], prefix: str, problems: Problems) -> str:
    said = [
        name
        for name, one in nets.items()
        if one.name == f"{prefix}rootNet" or one.attributes.get("isRootNet") in {"true", "1"}
    ]
    if len(said) == 1:
        return said[0]
    if not said and len(nets) == 1:
        return next(iter(nets))
    problems.add(specification, f'There are {len(said)} root nets. Mark one with isRootNet="true".')
    return ""


class _Net:
    """Reads one net; its nodes in a fixed order, so that it is the same whatever order they stand in."""

    def __init__(self, element: Element, prefix: str, problems: Problems, nets: set[str]) -> None:
        self._element = element
        self._prefix = prefix
        self._problems = problems
        self._nets = nets
        self._name = element.attributes.get("id", "")
        self._kept: list[Kept] = []
        self._tasks: dict[str, Task] = {}
        self._conditions: dict[str, Condition] = {}
        self._flows: list[Flow] = []
        self._kinds: dict[str, str] = {}
        self._nameless = False
        """A flow to nowhere may be one to a node that has no id of its own."""

    def read(self, *, root: bool, typed: bool) -> Net | None:
        before = len(self._problems)
        element, prefix = self._element, self._prefix
        controls = self._children(element, "processControlElements")
        names = self._children(element, "name")
        if len(controls) != 1 or len(names) > 1:
            self._wrong(element, "The net needs one processControlElements, and one name at most.")
        if not controls:
            return None
        known = {"name", "processControlElements", "extendedAttributes"}
        self._kept += [Kept("", "#element", "rootNet")] if element.name == f"{prefix}rootNet" else []
        said = {key: value for key, value in element.attributes.items() if key != "id"}
        usual = set(said) if said == net_attributes(root=root, typed=typed) else set()
        self._kept += keep_rest(element, "", {"id", *usual}, known, prefix=prefix, order=OF_NET)
        name = self._label(element, "")
        control = controls[0]
        if control.attributes:
            self._kept.append(Kept("", "#control", compact(Element(control.name, control.attributes))))
        for one in keep_rest(control, "", set(control.attributes), _NODES, prefix=prefix):
            inner = one.name if one.name.startswith("#") else f"processControlElements/{one.name}"
            self._kept.append(Kept("", inner, one.text))
        ends = self._nodes(controls)
        for _, message in ambiguous(self._flows, self._kinds):
            self._wrong(element, message)
        if len(self._problems) > before:
            return None
        values = self._extended(element, "", OF_NETS)
        net = Net(
            self._name,
            *ends,
            self._tasks,
            self._conditions,
            in_listed_order(self._flows, values.get("flows", ())),
            values.get("rules", ()),
            (*self._kept, *values.get("kept", ())),
            (),
            values.get("label", name),
        )
        return finished(net, self._nets, values.get("notes", ()))

    def _wrong(self, element: Element, message: str, node: str = "") -> None:
        of = [f"{self._kinds.get(node, 'task')} {node!r}"] if node.strip() else []
        self._problems.add(element, message, f"net {self._name!r}", *of)

    def _children(self, element: Element, name: str) -> list[Element]:
        return [one for one in element.elements if one.name == f"{self._prefix}{name}"]

    def _label(self, element: Element, at: str) -> str | None:
        names = self._children(element, "name")
        if not names:
            return None
        text = "".join(one for one in names[0].children if isinstance(one, str))
        if text.strip() and text == names[0].text and not names[0].attributes and not names[0].elements:
            return text
        # It says more than a label, or nothing: as it is written it stays.
        self._kept.append(Kept(at, "name", compact(names[0])))
        return names[0].text or None

    def _extended(self, element: Element, at: str, known: Collection[str]) -> dict[str, Any]:
        nodes = {*self._tasks, *self._conditions}
        found, rest = read_extended(self._children(element, "extendedAttributes"), known, nodes)
        if rest is not None:
            self._kept.append(Kept(at, "extendedAttributes", compact(rest)))
        return found

    def _nodes(self, controls: list[Element]) -> tuple[str, str]:
        """Read the nodes, also those of a net that is refused: all that is wrong is told at once."""
        listed = {
            kind: [one for control in controls for one in self._children(control, kind)] for kind in _NODES
        }
        ends = [listed[kind] for kind in ("inputCondition", "outputCondition")]
        if any(len(end) != 1 for end in ends):
            self._wrong(controls[0], "The net needs one inputCondition and one outputCondition.")
            self._nameless = not all(ends)
        nodes: dict[str, Element] = {}
        for kind in _NODES:
            for one in listed[kind]:
                name = one.attributes.get("id", "")
                self._kinds.setdefault(name, kind)
                if not name.strip() or name in nodes:
                    self._wrong(one, f"A {kind} needs an id of its own, and has {name!r}.", name)
                    self._nameless |= not name.strip()
                nodes[name] = one
        for kind in _NODES:
            for one in listed[kind]:
                self._node(one.attributes.get("id", ""), one, nodes)
        first, last = (end[0].attributes.get("id", "") if end else "" for end in ends)
        return first, last

    def _node(self, name: str, element: Element, nodes: dict[str, Element]) -> None:
        if stem(element.name) == "task":
            self._task(name, element)
        else:
            self._kept += keep_rest(element, name, {"id"}, _OF_CONDITIONS, prefix=self._prefix, order=OF_TASK)
            values = self._extended(element, name, OF_CONDITIONS)
            self._conditions[name] = Condition(name, values.get("label", self._label(element, name)))
        for flow in self._children(element, "flowsInto"):
            self._flow(name, flow, nodes)

    def _task(self, name: str, element: Element) -> None:
        known = {"name", "flowsInto", "join", "split", "extendedAttributes"}
        self._kept += keep_rest(element, name, {"id"}, known, prefix=self._prefix, order=OF_TASK)
        gates = {"join": "xor", "split": "and"}
        for key, preset in list(gates.items()):
            found = self._children(element, key)
            code = gate(found[0].attributes.get("code", "")) if len(found) == 1 else None
            if found and code is None:
                self._wrong(
                    found[0], f"The {key} of {name!r} is one of and, xor and or, and {_there(found)}.", name
                )
            gates[key] = code or preset
            if found and found[0] != Element(found[0].name, {"code": gates[key]}):
                self._kept.append(Kept(name, key, compact(found[0])))
        parts = self._children(element, "decomposesTo")
        label = self._label(element, name)
        if label is None and parts:
            label = name
        self._tasks[name] = read_task_values(name, label, gates, self._extended(element, name, OF_TASKS))

    def _flow(self, source: str, element: Element, nodes: dict[str, Element]) -> None:
        prefix = self._prefix
        refs = self._children(element, "nextElementRef")
        target = refs[0].attributes.get("id", "") if len(refs) == 1 else ""
        predicates = self._children(element, "predicate")
        if len(predicates) > 1:
            self._wrong(element, f"The flow out of {source!r} has several predicates.", source)
        if target not in nodes:
            if not target or not self._nameless:
                self._wrong(
                    element, f"The flow out of {source!r} leads to {target!r}, which there is not.", source
                )
            return
        at = flow_key(source, target)
        known = {"nextElementRef", "predicate", "isDefaultFlow", "extendedAttributes"}
        self._kept += keep_rest(element, at, (), known, prefix=prefix, order=OF_FLOW)
        if refs[0] != Element(refs[0].name, {"id": target}):
            self._kept.append(Kept(at, "nextElementRef", compact(refs[0])))
        task = self._tasks.get(source)
        chooses = task is not None and task.split != "and"
        values = self._extended(element, at, OF_FLOWS)
        predicate: str | None = None
        order: int | None = None
        for one in predicates:
            predicate = told(one.text, self._name) if chooses else None
            order = _whole(one.attributes.get("ordering")) if chooses else None
            if predicate is None or one != self._usual(one.name, predicate, order):
                self._kept.append(Kept(at, "predicate", compact(one)))
        for one in self._children(element, "predicateOrdering"):
            order = _whole(one.text) if chooses and order is None else order
        defaults = self._children(element, "isDefaultFlow")
        if defaults and (not chooses or defaults[0] != Element(defaults[0].name)):
            self._kept.append(Kept(at, "isDefaultFlow", compact(defaults[0])))
        self._flows.append(
            Flow(
                source,
                target,
                values.get("predicate", predicate),
                values.get("probability"),
                bool(values.get("default", defaults and chooses)),
                values.get("order", order),
            )
        )

    def _usual(self, name: str, predicate: str, order: int | None) -> Element | None:
        """Give a predicate as it would be written anyway."""
        xpath = to_xpath(parse(predicate), self._name)
        ordering = {} if order is None else {"ordering": str(order)}
        return None if xpath is None else Element(name, ordering, (xpath,))


def _there(gates: list[Element]) -> str:
    """Say what is there instead of one gate."""
    if len(gates) > 1:
        return f"there are {len(gates)} of them"
    code = gates[0].attributes.get("code")
    return "it has no code" if code is None else f"there is {code!r}"


def in_listed_order(flows: Iterable[Flow], listed: Iterable[tuple[str, str]]) -> tuple[Flow, ...]:
    """Put flows into an order that was written down; what is not in it comes last."""
    ranks = {pair: at for at, pair in enumerate(listed)}
    return tuple(sorted(flows, key=lambda one: ranks.get((one.source, one.target), len(ranks))))


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def gate(code: str) -> str | None:
    """Give a gate by its code, however it is written."""
    return code.lower() if code.lower() in {"and", "xor", "or"} else None


def read_task_values(name: str, label: str | None, gates: dict[str, str], values: dict[str, Any]) -> Task:
    """Make a task of what its element says, and of its extended attributes."""
    names = {key: None if values.get(key) is None else frozenset(values[key]) for key in ("reads", "writes")}
    return Task(
        name,
        values.get("label", label) if "label" in values else label,
        gates["join"],  # type: ignore[arg-type]
        gates["split"],  # type: ignore[arg-type]
        values.get("duration"),
        values.get("cost"),
        names["reads"],
        names["writes"],
        values.get("resource"),
        values.get("idempotent"),
        values.get("tool"),
        values.get("arguments"),
        values.get("limit"),
        values.get("each"),
    )
