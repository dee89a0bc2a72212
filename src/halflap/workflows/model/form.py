"""The JSON form of a workflow, validated by pydantic: the dataclasses of `net` are its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.core.suggest import did_you_mean
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.net import (
    STRICT,
    Condition,
    Flow,
    Kept,
    Name,
    Net,
    Rule,
    Specification,
    Task,
)

MISSING = "It is missing."
_MANY = 10_000
_UNION_TAGS = {"bool", "int", "float", "precedence", "response", "exclusion", "separation_of_duties"} | {
    "required"
}
"""What pydantic adds to a path for the members of a union."""
T = TypeVar("T")


@dataclass(frozen=True)
class _Net:
    """A net of tasks and conditions with one input and one output."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(title="Workflow", **STRICT)
    id: Name
    input: Annotated[Name, Field(description="The condition a case begins with.")]
    output: Annotated[Name, Field(description="The condition a case ends with.")]
    tasks: Annotated[list[Task], Field(max_length=_MANY)]
    flows: Annotated[list[Flow], Field(max_length=5 * _MANY)]
    label: Name | None = None
    conditions: Annotated[
        list[Condition],
        Field(max_length=_MANY, description="The named ones; input and output may be left out."),
    ] = field(default_factory=list)
    rules: Annotated[list[Rule], Field(max_length=_MANY)] = field(default_factory=list)
    kept: Annotated[list[Kept], Field(max_length=5 * _MANY, description="What the form cannot express.")] = (
        field(default_factory=list)
    )
    notes: list[str] = field(default_factory=list)
    schema_: Annotated[str | None, Field(alias="$schema")] = None


@dataclass(frozen=True)
class _Specification:
    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    id: Name
    root: Name
    nets: list[_Net]
    notes: list[str] = field(default_factory=list)
    yawl: Annotated[str | None, Field(description="The XML that the nets came from.")] = None
    schema_: Annotated[str | None, Field(alias="$schema")] = None


_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)
"""The adapter of a type; making one takes milliseconds."""


def net_schema() -> dict[str, Any]:
    """Return the JSON Schema of a net."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter(_Net).json_schema(mode="validation"),
    }


# Reading ----------------------------------------------------------------------------------------------


def decoded(data: bytes) -> str:
    """Return the text of a file: UTF-8, or UTF-16 with a byte order mark."""
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeError:
        raise WorkflowError([("", "It is not UTF-8. Save it as UTF-8.")]) from None


def parse_json(text: str) -> Any:
    """Parse JSON without duplicate keys, NaN or infinity."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except ValueError as error:
        raise WorkflowError([("", f"It is neither JSON nor XML: {error}.")]) from None
    except RecursionError:
        raise WorkflowError([("", "It is nested too deeply.")]) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} occurs twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def validated(kind: type[T], value: Any) -> T:
    """Validate a JSON value as a dataclass; a `WorkflowError` has every problem with its path."""
    try:
        # As JSON text: strict about types there, while lists may become sets and tuples.
        found: T = _adapter(kind).validate_json(json.dumps(value))
    except ValidationError as error:
        problems = [
            WorkflowProblem(_path(one["loc"]), _message(one, kind)) for one in error.errors(include_url=False)
        ]
        raise WorkflowError(list(dict.fromkeys(problems))) from None
    except (TypeError, RecursionError):
        raise WorkflowError([("", "It is not JSON, or nested too deeply.")]) from None
    return found


def _path(location: Sequence[str | int]) -> str:
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part not in _UNION_TAGS and "[" not in part:
            text += f".{part}" if text else part
    return text.encode("utf-8", "backslashreplace").decode()


def _message(error: Any, whole: type) -> str:
    if error["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        schema = _adapter(whole).json_schema()
        parts = (schema, *schema.get("$defs", {}).values())
        known = {key for one in parts for key in one.get("properties", ())}
        return f"Unknown key. {did_you_mean(str(error['loc'][-1]), known)}".rstrip()
    return MISSING if error["type"] == "missing" else f"{error['msg']}."


def read_net(value: Any, *, structure: bool = True) -> Net:
    """Read a net from JSON. Without `structure` only the form is checked: files of others may have dead ends."""
    return _net(validated(_Net, value), "", structure=structure)


def read_specification(value: Any, *, structure: bool = True) -> Specification:
    """Read a workflow with its sub-nets from JSON, or a single net."""
    if isinstance(value, dict) and "nets" not in value:
        return Specification.of(read_net(value, structure=structure))
    found = validated(_Specification, value)
    problems: list[tuple[str, str]] = []
    nets: dict[str, Net] = {}
    for at, one in enumerate(found.nets):
        if one.id in nets:
            problems.append((f"nets[{at}].id", f"There is already a net {one.id!r}."))
        try:
            nets[one.id] = _net(one, f"nets[{at}].", structure=structure)
        except WorkflowError as error:
            problems += error.problems
    names = [one.id for one in found.nets]
    if found.root not in names:
        hint = did_you_mean(found.root, names)
        problems.append(("root", f"There is no net {found.root!r}. {hint}".rstrip()))
    if problems:
        raise WorkflowError(problems)
    return Specification(found.id, found.root, nets, tuple(found.notes), found.yawl)


def _net(form: _Net, prefix: str, *, structure: bool) -> Net:
    problems: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    places = [(f"tasks[{at}]", task.id) for at, task in enumerate(form.tasks)]
    places += [(f"conditions[{at}]", one.id) for at, one in enumerate(form.conditions)]
    for where, node in places:
        if seen.setdefault(node, where) != where:
            problems.append((f"{where}.id", f"{node!r} is already the id of {seen[node]}."))
    tasks = {task.id: task for task in form.tasks}
    conditions = {one.id: one for one in form.conditions}
    for key in ("input", "output"):
        end = getattr(form, key)
        if end in tasks:
            problems.append((key, f"{end!r} is a task. The {key} is a condition with its own id."))
        conditions.setdefault(end, Condition(end))
    net = Net(
        form.id, form.input, form.output, tasks, conditions, tuple(form.flows), tuple(form.rules),
        tuple(form.kept), tuple(form.notes), form.label,
    )  # fmt: skip
    problems = problems or list(structure_problems(net, seen, complete=structure))
    if problems:
        raise WorkflowError([(f"{prefix}{path}", message) for path, message in problems])
    return net


# Writing ----------------------------------------------------------------------------------------------


def write_net(net: Net) -> dict[str, Any]:
    """Write a net as JSON; whatever is unknown or the default is left out."""
    ends = (Condition(net.input), Condition(net.output))
    lists = {
        "tasks": [_written_task(task) for task in net.tasks.values()],
        "conditions": [_written(one) for one in net.conditions.values() if one not in ends],
        "flows": [_written(flow) for flow in net.flows],
        "rules": [_written(rule) for rule in net.rules],
        "kept": [_written(one) for one in net.kept],
        "notes": list(net.notes),
    }
    return {
        "id": net.id,
        **({} if net.label is None else {"label": net.label}),
        "input": net.input,
        "output": net.output,
        **{key: value for key, value in lists.items() if value or key in {"tasks", "flows"}},
    }


def write_specification(found: Specification) -> dict[str, Any]:
    """Write a workflow with its sub-nets as JSON; a single net that came from nowhere else by itself."""
    if len(found.nets) == 1 and found.yawl is None and not found.notes and found.id == found.net.id:
        return write_net(found.net)
    return {
        "id": found.id,
        "root": found.root,
        "nets": [write_net(net) for net in found.nets.values()],
        **({"notes": list(found.notes)} if found.notes else {}),
        **({} if found.yawl is None else {"yawl": found.yawl}),
    }


def _written(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = _adapter(type(value)).dump_python(
        value, mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
    )
    return found


def _written_task(task: Task) -> dict[str, Any]:
    found = {"id": task.id, "label": task.label, "join": task.join, "split": task.split, **_written(task)}
    for key in ("reads", "writes"):
        if key in found:
            found[key] = sorted(found[key])
    if task.label == task.id:
        del found["label"]
    return found
