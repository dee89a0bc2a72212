"""Read the older `specification` with a `processModel`, whose tasks name the conditions before and after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.model.net import Condition, Flow, Net, Specification, Task
from halflap.workflows.yawl.read import finished, gates
from halflap.workflows.yawl.xml import children

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from halflap.workflows.yawl.xml import Document

__all__ = ["read_process_model"]


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
