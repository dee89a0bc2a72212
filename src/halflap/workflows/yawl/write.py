"""Write nets as a `specificationSet`: into the XML they came from, so that unknown elements are kept, or into a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

from halflap.workflows.model.form import write_net
from halflap.workflows.yawl.read import FLOW_KEYS, NET_KEYS, NODES, TASK_KEYS, is_net
from halflap.workflows.yawl.xml import children, extend, local, read_xml, text_of, written

if TYPE_CHECKING:
    from halflap.workflows.model.net import Condition, Flow, Net, Specification, Task

_SPACE = "http://www.yawlfoundation.org/yawlschema"
_TYPES = "http://www.w3.org/2001/XMLSchema-instance"
_FRESH = f"""<specificationSet xmlns="{_SPACE}" xmlns:xsi="{_TYPES}" version="4.0" xsi:schemaLocation="{_SPACE} {_SPACE}/YAWL_Schema4.0.xsd">
<specification><metaData/></specification></specificationSet>"""
_ORDER = (
    "name", "documentation", "flowsInto", "join", "split", "defaultConfiguration", "configuration", "removesTokens",
    "removesTokensFromFlow", "startingMappings", "completedMappings", "enablementMappings", "timer", "resourcing",
    "customForm", "decomposesTo", "minimum", "maximum", "threshold", "creationMode", "miDataInput", "miDataOutput",
    "extendedAttributes",
)  # fmt: skip
"""The children of a task, as the schemas order them."""


def write_yawl(specification: Specification) -> str:
    """Write a specification as XML."""
    root = read_xml(specification.yawl or _FRESH).root
    prefix = root.tag.removesuffix("specificationSet")
    inner = children(root, "specification")[0]
    inner.set("uri", specification.id)
    there = {one.get("id"): one for one in inner if is_net(one)}
    for name, net in specification.nets.items():
        element = there.get(name)
        if element is None:
            element = SubElement(inner, f"{prefix}decomposition", {"id": name})
            if name == specification.root:
                element.set("isRootNet", "true")
            element.set("xsi:type", "NetFactsType")
        _Writer(element, net, prefix).write()
    return written(root)


class _Writer:
    """Writes one net into its element."""

    def __init__(self, element: Element, net: Net, prefix: str) -> None:
        self.element = element
        self.net = net
        self.prefix = prefix
        self.outgoing = net.outgoing()
        self.form = write_net(net)
        self.stated = {task["id"]: task for task in self.form["tasks"]}
        self.xpaths = {one.at: one.text for one in net.kept if one.name == "predicate"}

    def made(self, name: str, text: str | None = None, **attributes: str) -> Element:
        found = Element(f"{self.prefix}{name}", attributes)
        found.text = text
        return found

    def write(self) -> None:
        net = self.net
        control = children(self.element, "processControlElements")
        if not control:
            control = [SubElement(self.element, f"{self.prefix}processControlElements")]
        old = {one.get("id", ""): one for one in control[0] if local(one.tag) in NODES}
        others = [one for one in control[0] if local(one.tag) not in NODES]
        middle = [one for one in net.conditions.values() if one.id not in {net.input, net.output}]
        control[0][:] = [
            *others,
            self.condition(net.conditions[net.input], old, "inputCondition"),
            *(self.task(task, old) for task in net.tasks.values()),
            *(self.condition(one, old, "condition") for one in middle),
            self.condition(net.conditions[net.output], old, "outputCondition"),
        ]
        rules = {"rules": self.form["rules"]} if net.rules else {}
        self.state(self.element, net.label, None, rules, NET_KEYS)

    def node(self, name: str, old: dict[str, Element], kind: str) -> Element:
        """Return the element of a node with its flows, without gates."""
        flows = self.flows(name, old)
        found = old.get(name)
        if found is None or local(found.tag) != kind:
            found = self.made(kind, id=name)
        found[:] = [one for one in found if local(one.tag) not in {"flowsInto", "join", "split"}]
        found.extend(flows)
        return found

    def state(
        self,
        element: Element,
        label: str | None,
        unnamed: str | None,
        values: dict[str, Any],
        known: frozenset[str],
    ) -> None:
        """Write a label, and the attributes without an element in YAWL. `unnamed` is the label of an element without a name."""
        if label is not None and label != (text_of(element, "name") or unnamed):
            for one in children(element, "name"):
                element.remove(one)
            element.insert(0, self.made("name", label))
        if label != (text_of(element, "name") or unnamed):
            values = {**values, "label": label}
        extend(element, self.prefix, values, known)

    def condition(self, condition: Condition, old: dict[str, Element], kind: str) -> Element:
        element = self.node(condition.id, old, kind)
        self.state(element, condition.label, None, {}, frozenset({"label"}))
        return element

    def task(self, task: Task, old: dict[str, Element]) -> Element:
        element = self.node(task.id, old, "task")
        element.extend([self.made("join", code=task.join), self.made("split", code=task.split)])
        unnamed = task.id if children(element, "decomposesTo") else None
        values = {key: value for key, value in self.stated[task.id].items() if key in TASK_KEYS - {"label"}}
        self.state(element, task.label, unnamed, values, TASK_KEYS)
        ranks = {name: at for at, name in enumerate(_ORDER)}
        element[:] = sorted(
            element, key=lambda one: ranks.get(local(one.tag), len(ranks)) if local(one.tag) else -1
        )
        return element

    def flows(self, source: str, old: dict[str, Element]) -> list[Element]:
        there: dict[str, Element] = {}
        for one in children(old[source], "flowsInto") if source in old else ():
            target = next((ref.get("id", "") for ref in children(one, "nextElementRef")), "")
            there[target] = one
        return [self.flow(flow, there.get(flow.target)) for flow in self.outgoing[source]]

    def flow(self, flow: Flow, old: Element | None) -> Element:
        element = self.made("flowsInto") if old is None else old
        values = {
            key: getattr(flow, key) for key in ("predicate", "probability") if getattr(flow, key) is not None
        }
        nodes = [self.made("nextElementRef", id=flow.target)]
        xpath = self.xpaths.get(flow.key)
        if xpath is not None:
            order = None if flow.order is None else str(flow.order)
            # Older schemas have an element for the order, newer ones an attribute.
            is_old = bool(children(element, "predicateOrdering"))
            attributes = {} if order is None or is_old else {"ordering": order}
            nodes.append(self.made("predicate", xpath, **attributes))
            nodes += [self.made("predicateOrdering", order)] if is_old else []
        elif flow.order is not None:
            values["order"] = flow.order
        nodes += [self.made("isDefaultFlow")] if flow.default else []
        element[:] = [*nodes, *(one for one in element if local(one.tag) not in _OF_FLOW)]
        extend(element, self.prefix, values, FLOW_KEYS)
        return element


_OF_FLOW = {"nextElementRef", "predicate", "predicateOrdering", "isDefaultFlow"}
