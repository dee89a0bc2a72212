"""The JSON form of a workflow, validated by pydantic: the dataclasses of `net` are its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from halflap.core.errors import WorkflowError
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
BAD_ARGUMENTS = "The arguments are invalid."
_MANY = 10_000
_UNION_TAGS = {"int", "float", "precedence", "response", "exclusion", "separation_of_duties", "required"}
"""What pydantic adds to a path for the members of a union."""
_UNION_ERRORS = {"union_tag_not_found", "union_tag_invalid"}
T = TypeVar("T")


@dataclass(frozen=True)
class _Net:
    """A net of tasks and conditions with one input and one output."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(title="Workflow", **STRICT)
    id: Name
    input: Annotated[Name, Field(description="The condition a case begins with.")]
    output: Annotated[Name, Field(description="The condition a case ends with.")]
    tasks: Annotated[tuple[Task, ...], Field(max_length=_MANY)]
    flows: Annotated[tuple[Flow, ...], Field(max_length=5 * _MANY)]
    label: Name | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(max_length=_MANY, description="The named ones; input and output may be left out."),
    ] = ()
    rules: Annotated[tuple[Rule, ...], Field(max_length=_MANY)] = ()
    kept: Annotated[
        tuple[Kept, ...], Field(max_length=5 * _MANY, description="What the form cannot express.")
    ] = ()
    notes: tuple[str, ...] = ()
    schema_: Annotated[str | None, Field(alias="$schema")] = None


@dataclass(frozen=True)
class _Specification:
    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    id: Name
    root: Name
    nets: tuple[_Net, ...]
    notes: tuple[str, ...] = ()
    yawl: Annotated[str | None, Field(description="The XML that the nets came from.")] = None
    schema_: Annotated[str | None, Field(alias="$schema")] = None


_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)
"""Cached, since making an adapter takes milliseconds."""


def net_schema() -> dict[str, Any]:
    """Return the JSON Schema of a net."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter(_Net).json_schema(mode="validation"),
    }


# Reading ----------------------------------------------------------------------------------------------


def decoded(data: bytes) -> str:
    """Return the text of a file in UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeError:
        raise WorkflowError([("", "It is not UTF-8. Save it as UTF-8.")]) from None


def parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise WorkflowError([("", f"It is neither JSON nor XML: {error}.")]) from None
    except RecursionError:
        raise WorkflowError([("", "It is nested too deeply.")]) from None


def validated(kind: type[T], value: Any, what: str = "This is not a valid workflow.") -> T:
    """Validate a JSON value as a dataclass; a `WorkflowError` that begins with `what` has every problem with its path."""
    try:
        # As JSON text: strict about types there, while lists may become sets and tuples.
        found: T = _adapter(kind).validate_json(json.dumps(value, allow_nan=False))
    except ValidationError as error:
        problems: dict[str, str] = {}
        for one in error.errors(include_url=False):
            # Of a union, what the first member requires.
            discriminator = (one["ctx"]["discriminator"].strip("'"),) if one["type"] in _UNION_ERRORS else ()
            problems.setdefault(_path((*one["loc"], *discriminator)), _message(one, kind))
        raise WorkflowError([*problems.items()], what) from None
    except (TypeError, ValueError, RecursionError):
        raise WorkflowError([("", "It is not JSON, or nested too deeply.")], what) from None
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
    if error["type"] == "union_tag_invalid":
        return f"Input should be one of {error['ctx']['expected_tags']}."
    return MISSING if error["type"] in {"missing", "union_tag_not_found"} else f"{error['msg']}."


def read_net(value: Any) -> Net:
    """Read a net from JSON."""
    return _net(validated(_Net, value), "")


def read_specification(value: Any) -> Specification:
    """Read a workflow with its sub-nets from JSON, or a single net."""
    if isinstance(value, dict) and "nets" not in value:
        return Specification.of(read_net(value))
    found = validated(_Specification, value)
    problems: list[tuple[str, str]] = []
    nets: dict[str, Net] = {}
    for at, one in enumerate(found.nets):
        if one.id in nets:
            problems.append((f"nets[{at}].id", f"There is already a net {one.id!r}."))
        try:
            nets[one.id] = _net(one, f"nets[{at}].")
        except WorkflowError as error:
            problems += error.problems
    names = [one.id for one in found.nets]
    if found.root not in names:
        hint = did_you_mean(found.root, names)
        problems.append(("root", f"There is no net {found.root!r}. {hint}".rstrip()))
    if problems:
        raise WorkflowError(problems)
    return Specification(found.id, found.root, nets, found.notes, found.yawl)


def _net(form: _Net, prefix: str) -> Net:
    problems: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    places = [(f"tasks[{at}]", task.id) for at, task in enumerate(form.tasks)]
    places += [(f"conditions[{at}]", one.id) for at, one in enumerate(form.conditions)]
    for where, node in places:
        if seen.setdefault(node, where) != where:
            problems.append((f"{where}.id", f"{node!r} is already the id of {seen[node]}."))
    tasks = {task.id: task for task in form.tasks}
    conditions = {one.id: one for one in form.conditions}
    for key, end in (("input", form.input), ("output", form.output)):
        if end in tasks:
            problems.append((key, f"{end!r} is a task. The {key} is a condition with its own id."))
        conditions.setdefault(end, Condition(end))
    net = Net(
        form.id, form.input, form.output, tasks, conditions, form.flows, form.rules, form.kept, form.notes, form.label,
    )  # fmt: skip
    problems = problems or list(structure_problems(net))
    if problems:
        raise WorkflowError([(f"{prefix}{path}", message) for path, message in problems])
    return net


# Writing ----------------------------------------------------------------------------------------------


def write_net(net: Net) -> dict[str, Any]:
    """Write a net as JSON; whatever is unknown or the default is left out."""
    ends = (Condition(net.input), Condition(net.output))
    conditions = tuple(one for one in net.conditions.values() if one not in ends)
    tasks = tuple(net.tasks.values())
    form = _Net(
        net.id, net.input, net.output, tasks, net.flows, net.label, conditions, net.rules, net.kept, net.notes
    )  # fmt: skip
    found: dict[str, Any] = _adapter(_Net).dump_python(
        form, mode="json", by_alias=True, exclude_defaults=True
    )
    for task in found["tasks"]:
        if task["label"] == task["id"]:
            del task["label"]
    return found


def write_specification(found: Specification) -> dict[str, Any]:
    """Write a workflow with its sub-nets as JSON; a single net without XML as that net."""
    if len(found.nets) == 1 and found.yawl is None and not found.notes and found.id == found.net.id:
        return write_net(found.net)
    more = {"notes": list(found.notes), "yawl": found.yawl}
    nets = [write_net(net) for net in found.nets.values()]
    return {
        "id": found.id,
        "root": found.root,
        "nets": nets,
        **{key: one for key, one in more.items() if one},
    }
