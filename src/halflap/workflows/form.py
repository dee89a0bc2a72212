"""The JSON form of a workflow: read with all problems at once, and written so that it reads back as the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz, process

from halflap.errors import WorkflowError
from halflap.workflows.checking import structure_problems
from halflap.workflows.fields import CONDITION, FLOW, KEPT, NET, TASK, Reader
from halflap.workflows.net import RULE_KINDS, Condition, Flow, Kept, Net, Rule, Task
from halflap.workflows.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["read_net", "read_rules", "read_specification", "write_net", "write_rule", "write_specification"]

_MOST_NODES = 10_000
_MOST_FLOWS = 50_000
_STRUCTURE = {"id", "from", "to", "input", "output", "tasks", "conditions", "flows", "join", "split", "kind"}


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
    nets: dict[str, Net] = {}
    for at, one in enumerate(reader.list(fields, "nets", "")):
        read = _net(reader, one, f"nets[{at}]", structure=structure)
        if read is not None and read.id in nets:
            reader.add(f"nets[{at}].id", f"There is already a net {read.id!r}. Give each its own id.")
        elif read is not None:
            nets[read.id] = read
    root = reader.text(fields, "root", "")
    if root and nets and root not in nets:
        reader.add("root", f"There is no net {root!r}.{_meant(root, nets)}")
    found = Specification(
        reader.text(fields, "id", "") or "",
        root or "",
        nets,
        reader.text(fields, "version", ""),
        reader.choice(fields, "dialect", "", ("specificationSet", "processModel"), "specificationSet"),
        _kept(reader, fields, ""),
        reader.texts(fields, "notes", ""),
    )
    if reader.problems:
        raise WorkflowError(reader.problems)
    return found


def _net(reader: Reader, value: Any, path: str, *, structure: bool) -> Net | None:
    before = len(reader.problems)
    fields = reader.object(value, path, NET, needed=("id", "input", "output", "tasks", "flows"))
    if not fields:
        return None
    places: dict[str, str] = {}
    tasks = {task.id: task for task in _tasks(reader, fields, path, places)}
    conditions = {one.id: one for one in _conditions(reader, fields, path, places)}
    ends = [reader.text(fields, key, path) for key in ("input", "output")]
    for key, end in zip(("input", "output"), ends, strict=True):
        if end in tasks:
            reader.add(
                _joined(path, key), f"{end!r} is a task. The {key} is a condition: give it an id of its own."
            )
        elif end:
            conditions.setdefault(end, Condition(end))
    known = {*tasks, *conditions}
    # Of what was not read for its number, every flow and rule would be told to lead nowhere.
    listed = [one for key in ("tasks", "conditions") if isinstance(one := fields.get(key), list)]
    whole = all(len(one) <= _MOST_NODES for one in listed)
    flows = _flows(reader, fields, path, known) if whole else ()
    rules = read_rules(reader, fields, path, known) if whole else ()
    kept = _kept(reader, fields, path)
    notes = reader.texts(fields, "notes", path)
    label = reader.text(fields, "label", path)
    identity = reader.text(fields, "id", path)
    if identity is None or ends[0] is None or ends[1] is None:
        return None
    net = Net(identity, ends[0], ends[1], tasks, conditions, flows, rules, kept, notes, label)
    # Where a node or a flow could not be read, what follows from that would be told as a mistake, too.
    if structure and not any(_of_structure(one.path) for one in reader.problems[before:]):
        told = {one.path.rpartition(".")[0] for one in reader.problems[before:]}
        for where, message in structure_problems(net, places):
            if not (where.startswith("rules[") and _joined(path, where) in told):
                reader.add(_joined(path, where), message)
    return net


def _of_structure(path: str) -> bool:
    key = path.rpartition(".")[2]
    return key.endswith("]") or key in _STRUCTURE


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _meant(name: str, known: Iterable[str]) -> str:
    near = process.extractOne(name, sorted(known), scorer=fuzz.ratio, score_cutoff=60)
    return "" if near is None else f" Did you mean {near[0]!r}?"


def _objects(
    reader: Reader, fields: Mapping[str, Any], key: str, path: str, most: int
) -> list[tuple[str, Any]]:
    found = reader.list(fields, key, path)
    if len(found) > most:
        reader.add(_joined(path, key), f"There are {len(found)}; at most {most} are read.")
        return []
    return [(f"{_joined(path, key)}[{at}]", one) for at, one in enumerate(found)]


def _new_id(reader: Reader, fields: Mapping[str, Any], at: str, places: dict[str, str]) -> str | None:
    identity = reader.text(fields, "id", at)
    if identity is None:
        return None
    if identity in places:
        reader.add(
            f"{at}.id",
            f"{identity!r} is already the id of {places[identity]}. Give each task and condition its own.",
        )
        return None
    # Structure is told by paths within the net.
    places[identity] = at.rpartition(".")[2] if at.startswith("nets[") else at
    return identity


def _tasks(reader: Reader, fields: Mapping[str, Any], path: str, places: dict[str, str]) -> Iterable[Task]:
    for at, value in _objects(reader, fields, "tasks", path, _MOST_NODES):
        one = reader.object(value, at, TASK, needed=("id",))
        identity = _new_id(reader, one, at, places)
        label = reader.text(one, "label", at, null=True)
        gates = [reader.choice(one, key, at, ("and", "xor", "or"), preset) for key, preset in _GATES]
        task = Task(
            identity or "",
            label if "label" in one else identity,
            gates[0],
            gates[1],
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


_GATES = (("join", "xor"), ("split", "and"))


def _conditions(
    reader: Reader, fields: Mapping[str, Any], path: str, places: dict[str, str]
) -> Iterable[Condition]:
    for at, value in _objects(reader, fields, "conditions", path, _MOST_NODES):
        one = reader.object(value, at, CONDITION, needed=("id",))
        identity = _new_id(reader, one, at, places)
        label = reader.text(one, "label", at)
        if identity is not None:
            yield Condition(identity, label)


def _flows(reader: Reader, fields: Mapping[str, Any], path: str, known: set[str]) -> tuple[Flow, ...]:
    found: list[Flow] = []
    for at, value in _objects(reader, fields, "flows", path, _MOST_FLOWS):
        one = reader.object(value, at, FLOW, needed=("from", "to"))
        ends = [_node(reader, one, key, at, known) for key in ("from", "to")]
        found.append(
            Flow(
                ends[0],
                ends[1],
                reader.predicate(one, "predicate", at),
                reader.number(one, "probability", at, most=1),
                reader.boolean(one, "default", at) or False,
                reader.whole(one, "order", at),
            )
        )
    return tuple(found)


def _node(reader: Reader, one: Mapping[str, Any], key: str, at: str, known: set[str]) -> str:
    node = reader.text(one, key, at) or ""
    if node and node not in known:
        reader.add(f"{at}.{key}", f"There is no task or condition {node!r}.{_meant(node, known)}")
    return node


_PAIR = ("tasks",)
_RULE_KEYS: dict[str, tuple[str, ...]] = {
    "precedence": ("first", "then"),
    "response": ("first", "then"),
    "exclusion": _PAIR,
    "separation_of_duties": _PAIR,
    "required": ("task",),
}


def read_rules(reader: Reader, fields: Mapping[str, Any], path: str, known: set[str]) -> tuple[Rule, ...]:
    """Read the rules; what names none of the known nodes is a problem."""
    found: list[Rule] = []
    for at, value in _objects(reader, fields, "rules", path, _MOST_NODES):
        if not isinstance(value, dict):
            reader.object(value, at, set())
            continue
        kind = reader.choice(value, "kind", at, tuple(RULE_KINDS), None)
        if kind is None:
            if "kind" not in value:
                reader.add(f"{at}.kind", f"It is missing. It is one of {', '.join(RULE_KINDS)}.")
            continue
        keys = _RULE_KEYS[kind]
        one = reader.object(value, at, {"kind", *keys}, needed=keys)
        tasks = (
            reader.texts(one, "tasks", at)
            if keys == _PAIR
            else tuple(text for key in keys if (text := reader.text(one, key, at)))
        )
        found.append(Rule(kind, tasks))
        for task in tasks:
            if task not in known:
                reader.add(f"{at}.{keys[-1]}", f"There is no task {task!r}.{_meant(task, known)}")
    return tuple(found)


def _kept(reader: Reader, fields: Mapping[str, Any], path: str) -> tuple[Kept, ...]:
    found: list[Kept] = []
    for at, value in _objects(reader, fields, "kept", path, _MOST_FLOWS):
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
    listed = [{"at": one.at, "name": one.name, "text": one.text} for one in kept]
    return {**({"kept": listed} if listed else {}), **({"notes": list(notes)} if notes else {})}


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


def write_rule(rule: Rule) -> dict[str, Any]:
    """Write a rule as JSON."""
    keys = _RULE_KEYS[rule.kind]
    if keys == _PAIR:
        return {"kind": rule.kind, "tasks": list(rule.tasks)}
    return {"kind": rule.kind, **dict(zip(keys, rule.tasks, strict=True))}
