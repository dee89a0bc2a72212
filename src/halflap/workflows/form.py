"""The JSON form of a workflow: read with all problems at once, and written so that it reads back as the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.checking import Doubts, ambiguous, graph_problems, structure_problems
from halflap.workflows.fields import CONDITION, FLOW, KEPT, NET, TASK, Reader, meant
from halflap.workflows.net import Condition, Flow, Kept, Net, Task
from halflap.workflows.orblocks import or_blocks
from halflap.workflows.rule_form import placed_rules, write_rule
from halflap.workflows.specification import Specification
from halflap.workflows.structure import structure as tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["read_kept", "read_net", "read_specification", "write_kept", "write_net", "write_specification"]

_MOST = {"tasks": 10_000, "conditions": 10_000, "flows": 50_000, "rules": 10_000, "kept": 50_000}


def read_net(value: Any, *, structure: bool = True) -> Net:
    """Read a workflow from JSON; every problem at once, each with its path.

    Without `structure` only its form is looked at: a specification of others may have tasks that nothing leads to.
    """
    reader = Reader()
    net = _net(reader, value, "", structure=structure)
    if reader.problems or net is None:
        raise WorkflowError(reader.problems)
    return net


def read_specification(value: Any, *, structure: bool = True) -> Specification:
    """Read a workflow with its sub-nets from JSON, or a single net, which then is one without."""
    if isinstance(value, dict) and "nets" not in value:
        net = read_net(value, structure=structure)
        return Specification(net.id, net.id, {net.id: net})
    reader = Reader()
    fields = reader.object(
        value,
        "",
        {"id", "root", "nets", "version", "dialect", "kept", "notes", "$schema"},
        needed=("id", "root", "nets"),
    )
    if _too_many(reader, fields, ""):
        raise WorkflowError(reader.problems)
    nets: dict[str, Net] = {}
    listed = reader.list(fields, "nets", "")
    for at, one in enumerate(listed):
        read = _net(reader, one, f"nets[{at}]", structure=structure)
        if read is not None and read.id in nets:
            reader.add(f"nets[{at}].id", f"There is already a net {read.id!r}. Give each its own id.")
        elif read is not None:
            nets[read.id] = read
    root = reader.text(fields, "root", "")
    # A net that could not be read may be the one that is meant.
    names = {one["id"] for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)}
    if root and len(names) == len(listed) and root not in names:
        reader.add("root", f"There is no net {root!r}.{meant(root, names)}")
    found = Specification(
        reader.text(fields, "id", "") or "",
        root or "",
        nets,
        reader.text(fields, "version", ""),
        reader.choice(fields, "dialect", "", ("specificationSet", "processModel"), "specificationSet"),
        read_kept(reader, fields, ""),
        reader.texts(fields, "notes", ""),
    )
    if reader.problems:
        raise WorkflowError(reader.problems)
    return found


@dataclass
class _Lost:
    """What could not be read: nobody is told that something is not there, if it may be this."""

    names: set[str] = field(default_factory=set)
    """Ids of nodes that are written, and wrong."""
    nameless: bool = False
    """There are nodes of which nobody knows the id."""
    splits: set[str] = field(default_factory=set)
    gates: bool = False

    def node(self, written: Any) -> None:
        """Note a node that has no id that could be read."""
        if isinstance(written, str) and written:
            self.names.add(written)
        else:
            self.nameless = True


def _net(reader: Reader, value: Any, path: str, *, structure: bool) -> Net | None:
    before = len(reader.problems)
    fields = reader.object(value, path, NET, needed=("id", "input", "output", "tasks", "flows"))
    if not fields or _too_many(reader, fields, path):
        return None
    reader.text(fields, "$schema", path, empty=True)
    places: dict[str, str] = {}
    lost = _Lost(nameless=not all(isinstance(fields.get(key, []), list) for key in ("tasks", "conditions")))
    tasks = {task.id: task for task in _tasks(reader, fields, path, places, lost)}
    conditions = {one.id: one for one in _conditions(reader, fields, path, places, lost)}
    ends = _ends(reader, fields, path, tasks, lost)
    for end in filter(None, ends):
        conditions.setdefault(end, Condition(end))
    nodes = {*tasks, *conditions}
    known = None if lost.nameless else nodes | lost.names
    flows, doubted = _flows(reader, fields, path, known)
    for at, message in ambiguous(flows, nodes):
        reader.add(_joined(path, f"flows[{at}]"), message)
    rules = list(placed_rules(reader, fields, path, known, tasks))
    net = Net(
        reader.text(fields, "id", path) or "",
        ends[0],
        ends[1],
        tasks,
        conditions,
        flows,
        tuple(rule for _, rule in rules),
        read_kept(reader, fields, path),
        reader.texts(fields, "notes", path),
        reader.text(fields, "label", path),
    )
    if structure:
        listed = isinstance(fields.get("flows"), list)
        doubts = Doubts(
            ways=not listed or any(end not in nodes for flow in flows for end in (flow.source, flow.target)),
            sources=not listed or any(flow.source not in nodes for flow in flows),
            splits=frozenset(lost.splits),
            chances=doubted,
            rules=tuple(f"rules[{at}]" for at, _ in rules),
        )
        told = [one.path for one in reader.problems[before:]]
        for where, message in structure_problems(net, places, doubts):
            full = _joined(path, where)
            # Of a rule with a field that could not be read the rest would be told as a mistake, too.
            if not (where.startswith("rules[") and any(one.startswith(f"{full}.") for one in told)):
                reader.add(full, message)
        every = isinstance(fields.get("tasks"), list) and len(tasks) == len(fields["tasks"])
        if len(reader.problems) > before and every and not lost.gates:
            _or_gates(reader, net, path, doubts)
    return net if net.id else None


def _or_gates(reader: Reader, net: Net, path: str, doubts: Doubts) -> None:
    """Tell of or-gates that form no block beside what else is wrong; alone, they are told when that is asked for."""
    if doubts.ways or not net.input or not net.output or graph_problems(net) or tree_of(net).tree is not None:
        return
    try:
        or_blocks(net)
    except WorkflowError as error:
        for one in error.problems:
            reader.add(_joined(path, one.path), one.message)


def _ends(
    reader: Reader, fields: Mapping[str, Any], path: str, tasks: Mapping[str, Task], lost: _Lost
) -> list[str]:
    """Read the input and the output; '' for one that could not be."""
    found = []
    for key in ("input", "output"):
        end = reader.text(fields, key, path)
        if end is None:
            lost.node(fields.get(key))
        elif end in tasks:
            reader.add(
                _joined(path, key), f"{end!r} is a task. The {key} is a condition: give it an id of its own."
            )
            lost.nameless = True
            end = None
        found.append(end or "")
    lost.nameless |= found[0] == found[1]
    return found


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _too_many(reader: Reader, fields: Mapping[str, Any], path: str) -> bool:
    """Tell of lists that are longer than is read. What follows from not reading them is nobody's mistake."""
    long = [
        key for key, most in _MOST.items() if isinstance(fields.get(key), list) and len(fields[key]) > most
    ]
    for key in long:
        reader.add(_joined(path, key), f"There are {len(fields[key])}; at most {_MOST[key]} are read.")
    return bool(long)


def _objects(reader: Reader, fields: Mapping[str, Any], key: str, path: str) -> list[tuple[str, Any]]:
    found = reader.list(fields, key, path)
    return [(f"{_joined(path, key)}[{at}]", one) for at, one in enumerate(found)]


def _new_id(
    reader: Reader, fields: Mapping[str, Any], at: str, places: dict[str, str], lost: _Lost
) -> str | None:
    identity = reader.text(fields, "id", at)
    if identity is None:
        lost.node(fields.get("id"))
        return None
    if identity in places:
        reader.add(
            f"{at}.id",
            f"{identity!r} is already the id of {places[identity]}. Give each task and condition its own.",
        )
        lost.nameless = True
        return None
    # Structure is told by paths within the net.
    places[identity] = at.rpartition(".")[2] if at.startswith("nets[") else at
    return identity


def _tasks(
    reader: Reader, fields: Mapping[str, Any], path: str, places: dict[str, str], lost: _Lost
) -> Iterable[Task]:
    for at, value in _objects(reader, fields, "tasks", path):
        one = reader.object(value, at, TASK, needed=("id",))
        identity = _new_id(reader, one, at, places, lost)
        label = reader.text(one, "label", at, null=True)
        gates = {key: reader.choice(one, key, at, _KINDS, preset) for key, preset in _GATES}
        for key in gates:
            if key in one and one[key] not in _KINDS:
                lost.gates = True
                lost.splits |= {identity} if key == "split" and identity is not None else set()
        task = Task(
            identity or "",
            label if "label" in one else identity,
            gates["join"],
            gates["split"],
            reader.number(one, "duration", at),
            reader.number(one, "cost", at),
            reader.names(one, "reads", at),
            reader.names(one, "writes", at),
            reader.text(one, "resource", at),
            reader.boolean(one, "idempotent", at),
            reader.text(one, "tool", at),
            reader.mapping(one, "arguments", at),
            reader.whole(one, "limit", at, least=1),
            reader.items(one, "each", at),
        )
        if identity is not None:
            yield task


_KINDS = ("and", "xor", "or")
_GATES = (("join", "xor"), ("split", "and"))


def _conditions(
    reader: Reader, fields: Mapping[str, Any], path: str, places: dict[str, str], lost: _Lost
) -> Iterable[Condition]:
    for at, value in _objects(reader, fields, "conditions", path):
        one = reader.object(value, at, CONDITION, needed=("id",))
        identity = _new_id(reader, one, at, places, lost)
        label = reader.text(one, "label", at)
        if identity is not None:
            yield Condition(identity, label)


def _flows(
    reader: Reader, fields: Mapping[str, Any], path: str, known: set[str] | None
) -> tuple[tuple[Flow, ...], frozenset[int]]:
    """Read the flows, and tell of which the probability could not be."""
    found: list[Flow] = []
    doubted: set[int] = set()
    for at, value in _objects(reader, fields, "flows", path):
        one = reader.object(value, at, FLOW, needed=("from", "to"))
        ends = [_node(reader, one, key, at, known) for key in ("from", "to")]
        predicate = reader.predicate(one, "predicate", at)
        probability = reader.number(one, "probability", at, most=1)
        if probability is None and one.get("probability") is not None:
            doubted.add(len(found))
        if predicate is None and isinstance(one.get("predicate"), str):
            # That there is one counts, whatever it says: where nothing is chosen it has to go.
            predicate = one["predicate"]
        default, order = reader.boolean(one, "default", at), reader.whole(one, "order", at)
        found.append(Flow(ends[0], ends[1], predicate, probability, default or False, order))
    return tuple(found), frozenset(doubted)


def _node(reader: Reader, one: Mapping[str, Any], key: str, at: str, known: set[str] | None) -> str:
    node = reader.text(one, key, at) or ""
    if node and known is not None and node not in known:
        reader.add(f"{at}.{key}", f"There is no task or condition {node!r}.{meant(node, known)}")
    return node


def read_kept(reader: Reader, fields: Mapping[str, Any], path: str) -> tuple[Kept, ...]:
    """Read what was kept of another format."""
    found: list[Kept] = []
    for at, value in _objects(reader, fields, "kept", path):
        one = reader.object(value, at, KEPT, needed=("name", "text"))
        texts = [reader.text(one, key, at, empty=True) for key in ("at", "name", "text")]
        found.append(Kept(texts[0] or "", texts[1] or "", texts[2] or ""))
    return tuple(found)


def write_net(net: Net) -> dict[str, Any]:
    """Write a workflow as JSON; what is not known, or as it is anyway, is left out."""
    ends = {net.input, net.output}
    conditions = [
        _there({"id": one.id, "label": one.label})
        for one in net.conditions.values()
        if one.id not in ends or one.label is not None
    ]
    return {
        "id": net.id,
        **_there({"label": net.label}),
        "input": net.input,
        "output": net.output,
        "tasks": [_task(task) for task in net.tasks.values()],
        **({"conditions": conditions} if conditions else {}),
        "flows": [_flow(flow) for flow in net.flows],
        **({"rules": [write_rule(rule) for rule in net.rules]} if net.rules else {}),
        **_extras(net.kept, net.notes),
    }


def write_specification(found: Specification) -> dict[str, Any]:
    """Write a workflow with its sub-nets as JSON."""
    return {
        "id": found.id,
        **_there({"version": found.version}),
        "dialect": found.dialect,
        "root": found.root,
        "nets": [write_net(net) for net in found.nets.values()],
        **_extras(found.kept, found.notes),
    }


def _there(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _extras(kept: Iterable[Kept], notes: Iterable[str]) -> dict[str, Any]:
    listed = [write_kept(one) for one in kept]
    return {**({"kept": listed} if listed else {}), **({"notes": list(notes)} if notes else {})}


def write_kept(one: Kept) -> dict[str, Any]:
    """Write what was kept of another format as JSON."""
    return {"at": one.at, "name": one.name, "text": one.text}


def _task(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        **({} if task.label == task.id else {"label": task.label}),
        "join": task.join,
        "split": task.split,
        **_there(
            {
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
        ),
    }


def _flow(flow: Flow) -> dict[str, Any]:
    return {
        "from": flow.source,
        "to": flow.target,
        **_there({"predicate": flow.predicate, "probability": flow.probability}),
        **({"default": True} if flow.default else {}),
        **_there({"order": flow.order}),
    }
